// SPDX-License-Identifier: Apache-2.0
//
// What all metastores share: calling the implementation, watches, paths. On the store's loop, or at start-up.
#include "metadata/metastore.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"

enum { PATH_MAX_BYTES = 480 };

void metastore_submit(struct metastore *store, struct metastore_request *request)
{
  request->store = store;
  request->message = NULL;
  store->vtable->submit(store, request);
}

int metastore_call(struct metastore *store, struct metastore_request *request)
{
  request->store = store;
  request->message = NULL;
  store->vtable->call(store, request);
  return request->result;
}

void metastore_request_clear(struct metastore_request *request)
{
  arena_destroy(&request->arena);
  request->message = NULL;
}

void metastore_close(struct metastore *store)
{
  if (!store) {
    return;
  }
  while (!list_is_empty(&store->watches)) {
    metastore_watch_cancel(CONTAINER_OF(store->watches.next, struct metastore_watch, node));
  }
  store->vtable->close(store);
}

static void watch_arm(struct metastore *store, struct metastore_watch *watch, const char *path, bool is_children)
{
  metastore_watch_cancel(watch);
  watch->path = mem_strdup(path);
  watch->is_children = is_children;
  list_append(&store->watches, &watch->node);
}

void metastore_watch_cancel(struct metastore_watch *watch)
{
  if (watch->path) {
    list_remove(&watch->node);
    mem_free(watch->path);
    watch->path = NULL;
  }
}

void metastore_watch_fire(struct metastore *store, const char *path, bool is_children)
{
  // Taken off first: a callback may arm or cancel any watch.
  struct list fired;
  list_create(&fired);
  LIST_EACH_SAFE(&store->watches, node) {
    struct metastore_watch *watch = CONTAINER_OF(node, struct metastore_watch, node);
    if (watch->is_children == is_children && strcmp(watch->path, path) == 0) {
      list_remove(node);
      list_append(&fired, node);
    }
  }
  while (!list_is_empty(&fired)) {
    struct metastore_watch *watch = CONTAINER_OF(fired.next, struct metastore_watch, node);
    metastore_watch_cancel(watch);
    watch->fired(watch);
  }
}

static void fire_parent(struct metastore *store, const char *path)
{
  char parent[PATH_MAX_BYTES + 1];
  const char *slash = strrchr(path, '/');
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  CHECK(length <= PATH_MAX_BYTES);
  memcpy(parent, path, length);
  parent[length] = '\0';
  metastore_watch_fire(store, parent, true);
}

void metastore_settle(struct metastore *store, struct metastore_request *request)
{
  for (size_t i = 0; i < request->op_count; i++) {
    struct metastore_op *op = &request->ops[i];
    bool is_read = op->kind == METASTORE_GET || op->kind == METASTORE_CHILDREN;
    if (is_read && op->watch && (op->result == 0 || (op->kind == METASTORE_GET && op->result == ERR_NOT_FOUND))) {
      watch_arm(store, op->watch, op->path, op->kind == METASTORE_CHILDREN);
    }
    if (is_read || request->result != 0 || op->kind == METASTORE_CHECK || list_is_empty(&store->watches)) {
      continue;
    }
    metastore_watch_fire(store, op->path, false);
    if (op->kind != METASTORE_SET) {
      fire_parent(store, op->path);
    }
  }
}

const char *const *metastore_standard_paths(void)
{
  static const char *const paths[] = {
      "/admin",
      "/admin/delete_topics",
      "/brokers",
      "/brokers/ids",
      "/brokers/seqid",
      "/brokers/topics",
      "/config",
      "/config/brokers",
      "/config/changes",
      "/config/client-metrics",
      "/config/clients",
      "/config/groups",
      "/config/ips",
      "/config/topics",
      "/config/users",
      "/consumers",
      "/isr_change_notification",
      "/latest_producer_id_block",
      "/log_dir_event_notification",
      "/luka",
      NULL,
  };
  return paths;
}

bool metastore_path_is_valid(const char *path)
{
  size_t length = strnlen(path, PATH_MAX_BYTES + 1);
  if (path[0] != '/' || length > PATH_MAX_BYTES) {
    return false;
  }
  if (length == 1) {
    return true;
  }
  for (const char *at = path; *at;) {
    const char *name = at + 1;
    const char *end = strchrnul(name, '/');
    size_t size = (size_t)(end - name);
    if (size == 0 || (size == 1 && name[0] == '.') || (size == 2 && name[0] == '.' && name[1] == '.')) {
      return false;
    }
    for (const char *c = name; c < end; c++) {
      if ((unsigned char)*c < ' ' || *c == 0x7f) {
        return false;
      }
    }
    at = end;
  }
  return true;
}
