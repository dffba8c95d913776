// SPDX-License-Identifier: Apache-2.0
//
// The local metastore: requests wait in a queue on the control loop and run on the pool, all that wait as one job, one
// job at a time. So the tree is used by one thread at a time, and answers come back in order.
//
//   control: submit -> queue -> batch ---pool job: run each---> control: settle watches, done; next batch
#include "metadata/metastore_local.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/pool.h"
#include "metadata/metastore_local_private.h"
#include "os/dir.h"
#include "os/file.h"

enum { STANDARD_MAX = 32, SESSION = 1 };

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

/// Makes what is missing of the standard nodes.
static int create_standard(struct metastore_local *store)
{
  const char *const *paths = metastore_standard_paths();
  struct metastore_op reads[STANDARD_MAX] = {{0}};
  struct metastore_op writes[STANDARD_MAX] = {{0}};
  struct metastore_request request = {.ops = reads};
  for (size_t i = 0; paths[i]; i++) {
    CHECK(i < STANDARD_MAX);
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
  if (result == 0 && missing > 0) {
    request = (struct metastore_request){.ops = writes, .op_count = missing};
    result = metastore_call(&store->base, &request);
    bool is_unexplained = result < 0 && request.message == NULL;
    const char *path = writes[request.failed_op].path;
    metastore_request_clear(&request);
    if (is_unexplained) {
      return error_set(result, "metastore %s: cannot create node %s: %s", store->path, path, error_text(result));
    }
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

static int lock_file(const struct metastore_local *store, int fd)
{
  int result = file_lock(fd);
  return result == ERR_BUSY ? error_set(ERR_BUSY, "metastore %s is in use by another process", store->path) : result;
}

/// Opens the file that is there, if there is more than its name.
static int open_file(struct metastore_local *store, bool *is_empty)
{
  int result = file_open(store->path, FILE_WRITE, &store->lock_fd);
  if (result == ERR_NOT_FOUND) {
    *is_empty = true;
    return 0;
  }
  TRY(result);
  TRY(lock_file(store, store->lock_fd));
  TRY(local_check_file(store->lock_fd, store->path, is_empty));
  if (*is_empty) {
    return 0;
  }
  TRY(local_tree_open(&store->tree, store->path, store->path));
  TRY(local_tree_purge(&store->tree));
  return create_standard(store);
}

/// Makes the file under another name, so that there is either none or a whole one. What a start that was cut short left
/// under that name is made again.
static int create_file(struct metastore_local *store)
{
  int fd = -1;
  char *made = mem_printf("%s.new", store->path);
  int result = file_open(made, FILE_WRITE | FILE_CREATE, &fd);
  result = result < 0 ? result : lock_file(store, fd);
  result = result < 0 ? result : file_truncate(fd, 0);
  result = result < 0 ? result : local_tree_open(&store->tree, made, store->path);
  result = result < 0 ? result : create_standard(store);
  result = result < 0 ? result : dir_rename(made, store->path);
  mem_free(made);
  file_close(store->lock_fd);
  store->lock_fd = fd;
  return result;
}

/// Sets blocks aside behind the end of the file, so that commits go on when the disk is full: of a deletion that makes
/// room again, and of the next start.
static void reserve_room(const struct metastore_local *store)
{
  enum { ROOM_BYTES = 1024 * 1024 };
  int64_t size = 0;
  int result = file_size(store->lock_fd, &size);
  if (result == 0) {
    result = file_reserve(store->lock_fd, size, ROOM_BYTES);
  }
  if (result < 0) {
    slog_warn("metastore %s: no room can be set aside for times when the disk is full: %s", store->path,
              error_last()->message);
  }
}

int metastore_local_open(const char *path, bool may_create, struct event_loop *loop, struct pool *pool,
                         struct metastore **store)
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

  bool is_empty = false;
  int result = open_file(local, &is_empty);
  if (result == 0 && is_empty) {
    result = may_create
                 ? create_file(local)
                 : error_set(ERR_NOT_FOUND, "metastore %s is %s", path, local->lock_fd < 0 ? "missing" : "empty");
  }
  // Also for a file that is there: the start that made it may have been cut short before.
  if (result == 0 && may_create) {
    result = sync_folder(path);
  }
  if (result < 0) {
    struct error_detail error = *error_last();
    store_close(&local->base);
    return error_record(result, 0, error.file, error.line, "%s", error.message);
  }
  reserve_room(local);
  *store = &local->base;
  return 0;
}
