// SPDX-License-Identifier: Apache-2.0
//
// The local metastore: requests wait in a queue on the control loop and run on the pool, all that wait as one job, one
// job at a time. So the tree is used by one thread at a time, and answers come back in order.
//
//   control: submit -> queue -> batch ---pool job: run each---> control: settle watches, done; next batch
#include "metadata/metastore_local.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "event/pool.h"
#include "metadata/metastore_local_private.h"
#include "os/dir.h"
#include "os/file.h"

enum { FORMAT_TEXT_MAX = 64, STANDARD_MAX = 32, SESSION = 1 };

static const char format_path[] = "/luka/format";

/// The store; owner: the control thread, but for `tree` and the requests of `batch` while the job runs.
struct metastore_local {
  struct metastore base;  ///< first
  struct pool *pool;      ///< where the job runs
  struct pool_job job;    ///< runs the batch
  bool is_busy;           ///< the job is under way
  struct list queue;      ///< requests that wait for the next batch
  struct list batch;      ///< requests of the job
  struct local_tree tree; ///< the file
  char *path;             ///< its path
  int lock_fd;            ///< holds the lock against other processes
};

static void store_submit(struct metastore *base, struct metastore_request *request);
static void store_call(struct metastore *base, struct metastore_request *request);
static void store_close(struct metastore *base);

static const struct metastore_vtable vtable = {store_submit, store_call, store_close};

static struct metastore_local *store_of(struct metastore *base)
{
  return (struct metastore_local *)base;
}

static void run_request(struct metastore_local *store, struct metastore_request *request)
{
  request->result = local_tree_run(&store->tree, request, store->base.session);
  bool is_ordinary = request->result == 0 || request->result == ERR_NOT_FOUND || request->result == ERR_EXISTS ||
                     request->result == ERR_BAD_VERSION || request->result == ERR_NOT_EMPTY ||
                     request->result == ERR_LIMIT;
  if (!is_ordinary) {
    request->message = arena_printf(&request->arena, "%s", error_last()->message);
  }
}

static void store_call(struct metastore *base, struct metastore_request *request)
{
  struct metastore_local *store = store_of(base);
  CHECK(!store->is_busy);
  run_request(store, request);
  metastore_settle(base, request);
}

static void batch_start(struct metastore_local *store);

static void batch_work(struct pool_job *job)
{
  struct metastore_local *store = CONTAINER_OF(job, struct metastore_local, job);
  LIST_EACH(&store->batch, node) {
    run_request(store, CONTAINER_OF(node, struct metastore_request, node));
  }
}

static void batch_done(struct pool_job *job)
{
  struct metastore_local *store = CONTAINER_OF(job, struct metastore_local, job);
  while (!list_is_empty(&store->batch)) {
    struct metastore_request *request = CONTAINER_OF(store->batch.next, struct metastore_request, node);
    list_remove(&request->node);
    metastore_settle(&store->base, request);
    request->done(request);
  }
  store->is_busy = false;
  if (!list_is_empty(&store->queue)) {
    batch_start(store);
  }
}

static void batch_start(struct metastore_local *store)
{
  store->is_busy = true;
  while (!list_is_empty(&store->queue)) {
    struct list *node = store->queue.next;
    list_remove(node);
    list_append(&store->batch, node);
  }
  pool_submit(store->pool, &store->job, batch_work, store->base.loop, batch_done);
}

static void store_submit(struct metastore *base, struct metastore_request *request)
{
  struct metastore_local *store = store_of(base);
  CHECK(store->pool != NULL && request->done != NULL);
  list_append(&store->queue, &request->node);
  if (!store->is_busy) {
    batch_start(store);
  }
}

static void store_close(struct metastore *base)
{
  struct metastore_local *store = store_of(base);
  local_tree_close(&store->tree);
  file_close(store->lock_fd);
  mem_free(store->path);
  mem_free(store);
}

// ---- opening ----

/// Refuses a file of a newer format.
static int check_format(struct metastore_local *store, bool *is_new)
{
  struct metastore_op get = {.kind = METASTORE_GET, .path = format_path};
  struct metastore_request request = {.ops = &get, .op_count = 1};
  int result = metastore_call(&store->base, &request);
  if (result == 0 && get.result == ERR_NOT_FOUND) {
    *is_new = true;
    metastore_request_clear(&request);
    return 0;
  }
  json_int_t version = 0;
  if (result == 0) {
    json_t *json = json_loadb(get.data ? get.data : "", get.size, 0, NULL);
    version = json_integer_value(json_object_get(json, "version"));
    json_decref(json);
    *is_new = false;
  }
  metastore_request_clear(&request);
  if (result == 0 && version < 1) {
    return error_set(ERR_CORRUPT, "metastore %s: its format version cannot be read", store->path);
  }
  if (version > METASTORE_LOCAL_FORMAT) {
    return error_set(ERR_UNSUPPORTED_VERSION, "metastore %s has format %lld, this program knows %d: use a newer one",
                     store->path, (long long)version, METASTORE_LOCAL_FORMAT);
  }
  return result;
}

/// Makes what is missing of the standard nodes, and the format node of a new file.
static int create_standard(struct metastore_local *store, bool is_new)
{
  char format[FORMAT_TEXT_MAX];
  const char *const *paths = metastore_standard_paths();
  struct metastore_op reads[STANDARD_MAX] = {{0}};
  struct metastore_op writes[STANDARD_MAX] = {{0}};
  struct metastore_request request = {.ops = reads};
  for (size_t i = 0; paths[i]; i++) {
    CHECK(i + 1 < STANDARD_MAX);
    reads[request.op_count++] = (struct metastore_op){.kind = METASTORE_GET, .path = paths[i]};
  }
  int result = metastore_call(&store->base, &request);
  size_t missing = 0;
  for (size_t i = 0; result == 0 && i < request.op_count; i++) {
    if (reads[i].result == ERR_NOT_FOUND) {
      writes[missing++] = (struct metastore_op){.kind = METASTORE_CREATE, .path = paths[i]};
    }
  }
  metastore_request_clear(&request);
  if (is_new) {
    int length = snprintf(format, sizeof format, "{\"version\":%d}", METASTORE_LOCAL_FORMAT);
    writes[missing++] =
        (struct metastore_op){.kind = METASTORE_CREATE, .path = format_path, .data = format, .size = (size_t)length};
  }
  if (result == 0 && missing > 0) {
    request = (struct metastore_request){.ops = writes, .op_count = missing};
    result = metastore_call(&store->base, &request);
    metastore_request_clear(&request);
  }
  return result;
}

static int sync_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash) {
    return dir_sync(".");
  }
  char *folder = mem_strdup(path);
  folder[slash == path ? 1 : slash - path] = '\0';
  int result = dir_sync(folder);
  mem_free(folder);
  return result;
}

static int open_file(struct metastore_local *store, bool *is_made)
{
  int64_t size = 0;
  TRY(file_open(store->path, FILE_WRITE | FILE_CREATE, &store->lock_fd));
  int result = file_lock(store->lock_fd);
  if (result == ERR_BUSY) {
    return error_set(ERR_BUSY, "metastore %s is in use by another process", store->path);
  }
  TRY(result);
  TRY(file_size(store->lock_fd, &size));
  TRY(local_tree_open(&store->tree, store->path));
  *is_made = size == 0;
  return size == 0 ? sync_folder(store->path) : 0;
}

int metastore_local_open(const char *path, struct event_loop *loop, struct pool *pool, struct metastore **store,
                         bool *created)
{
  struct metastore_local *local = mem_zalloc(sizeof *local);
  local->base.vtable = &vtable;
  local->base.loop = loop;
  local->base.session = SESSION;
  list_create(&local->base.watches);
  list_create(&local->queue);
  list_create(&local->batch);
  local->pool = pool;
  local->path = mem_strdup(path);
  local->lock_fd = -1;

  bool is_made = false;
  bool is_new = false;
  int result = open_file(local, &is_made);
  result = result < 0 ? result : check_format(local, &is_new);
  result = result < 0 ? result : local_tree_purge(&local->tree);
  result = result < 0 ? result : create_standard(local, is_new);
  if (result < 0) {
    store_close(&local->base);
    return result;
  }
  if (created) {
    *created = is_made;
  }
  *store = &local->base;
  return 0;
}
