// SPDX-License-Identifier: Apache-2.0
//
// A tree of versioned nodes in LMDB. The key of a node is its parent's path, a NUL and its name, so that the children
// of a node are neighbours, sorted by name; the value is a header and the data. A write is one transaction: all steps
// or none, and a new seal. Runs on the pool, or at start-up; one caller at a time.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "metadata/metastore_local_private.h"
#include "os/dir.h"
#include "os/errinj.h"

enum {
  MAP_SIZE_FIRST = 16 << 20,
  SEQUENCE_DIGITS = 10,
  FREE_LEAST_BYTES = 4 << 20, // with less, a write that came out short is one that found the disk full
};

/// Turns an LMDB result into an error with a sentence.
static int tree_error(const struct local_tree *tree, int rc, const char *what)
{
  switch (rc) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
    case MDB_INVALID:
    case MDB_INCOMPATIBLE:
      return local_damaged(tree->path, "damaged");
    case MDB_VERSION_MISMATCH:
      return error_set(ERR_UNSUPPORTED_VERSION, "metastore %s: %s: %s", tree->path, what, mdb_strerror(rc));
    case MDB_MAP_FULL:
      return error_set(ERR_NO_SPACE, "metastore %s: %s: larger than %zu bytes", tree->path, what, tree->map_size);
    default:
      break;
  }
  if (rc > 0) {
    return error_set_errno(rc, "metastore %s: %s", tree->path, what);
  }
  return error_set(ERR_IO, "metastore %s: %s: %s", tree->path, what, mdb_strerror(rc));
}

static MDB_val key_of(char *buffer, const char *path)
{
  return (MDB_val){local_key_of(buffer, path), buffer};
}

/// Reads a node; it is borrowed until the next write of the transaction.
static int node_get(const struct local_tree *tree, MDB_txn *txn, const char *path, struct local_node *node)
{
  char buffer[LOCAL_KEY_MAX + 1];
  MDB_val key = key_of(buffer, path);
  MDB_val value;
  int rc = mdb_get(txn, tree->nodes, &key, &value);
  if (rc == MDB_NOTFOUND) {
    return ERR_NOT_FOUND;
  }
  if (rc != 0) {
    return tree_error(tree, rc, "read");
  }
  if (!local_node_decode(key.mv_data, key.mv_size, value.mv_data, value.mv_size, node)) {
    char what[160];
    snprintf(what, sizeof what, "damaged (node %.100s)", path);
    return local_damaged(tree->path, what);
  }
  return 0;
}

static int node_put(const struct local_tree *tree, MDB_txn *txn, const char *path, const struct local_node *node)
{
  char buffer[LOCAL_KEY_MAX + 1];
  MDB_val key = key_of(buffer, path);
  MDB_val value;
  // Made apart: the data may lie in a page that a reservation would move.
  uint8_t *bytes = local_node_encode(key.mv_data, key.mv_size, node, &value.mv_size);
  value.mv_data = bytes;
  int rc = mdb_put(txn, tree->nodes, &key, &value, 0);
  mem_free(bytes);
  return rc == 0 || rc == MDB_MAP_FULL ? rc : tree_error(tree, rc, "write");
}

static bool is_disk_full(const struct local_tree *tree)
{
  const char *made = NULL;
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
  int result = dir_space(tree->path, &free_bytes, &total_bytes);
  // A file that is being made has another name.
  if (result < 0 && mdb_env_get_path(tree->env, &made) == 0) {
    result = dir_space(made, &free_bytes, &total_bytes);
  }
  return result == 0 && free_bytes < FREE_LEAST_BYTES;
}

/// Commits a transaction that changed something. @return 0 or what LMDB says
static int commit_change(const struct local_tree *tree, MDB_txn *txn)
{
  uint8_t bytes[LOCAL_SEAL_BYTES];
  local_seal_encode(mdb_txn_id(txn), bytes);
  MDB_val key = {strlen(LOCAL_SEAL), LOCAL_SEAL};
  MDB_val value = {sizeof bytes, bytes};
  int rc = mdb_put(txn, tree->main, &key, &value, 0);
  int injected = rc == 0 ? errinj_check(ERRINJ_FILE_SYNC) : rc;
  if (injected != 0) {
    mdb_txn_abort(txn);
    return injected;
  }
  rc = mdb_txn_commit(txn);
  // LMDB says EIO for a write that came out short.
  return rc == EIO && is_disk_full(tree) ? ENOSPC : rc;
}

/// Calls `each` for the names below a node until it returns non-zero.
static int each_child(const struct local_tree *tree, MDB_txn *txn, const char *path,
                      int (*each)(void *arg, const char *name, size_t length), void *arg)
{
  char buffer[LOCAL_KEY_MAX + 1];
  size_t prefix = strlen(path) + 1;
  memcpy(buffer, path, prefix);
  MDB_cursor *cursor = NULL;
  int rc = mdb_cursor_open(txn, tree->nodes, &cursor);
  if (rc != 0) {
    return tree_error(tree, rc, "read");
  }
  MDB_val key = {prefix, buffer};
  MDB_val value;
  int result = 0;
  for (rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE); rc == 0 && result == 0;
       rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
    if (key.mv_size <= prefix || memcmp(key.mv_data, buffer, prefix) != 0) {
      break;
    }
    result = each(arg, (const char *)key.mv_data + prefix, key.mv_size - prefix);
  }
  mdb_cursor_close(cursor);
  if (rc != 0 && rc != MDB_NOTFOUND) {
    return tree_error(tree, rc, "read");
  }
  return result;
}

// ---- reading ----

/// The names that a read gathers.
struct names {
  struct arena *arena;
  const char **list;
  size_t count;
  size_t room;
};

static int add_name(void *arg, const char *name, size_t length)
{
  struct names *names = arg;
  if (names->count == names->room) {
    size_t room = names->room * 2 + 16;
    const char **list = arena_alloc(names->arena, room * sizeof *list);
    if (names->count > 0) {
      memcpy(list, names->list, names->count * sizeof *list);
    }
    names->list = list;
    names->room = room;
  }
  names->list[names->count++] = arena_strndup(names->arena, name, length);
  return 0;
}

static int read_op(const struct local_tree *tree, MDB_txn *txn, struct metastore_op *op, struct arena *arena)
{
  struct local_node node = {0};
  if (!metastore_path_is_valid(op->path)) {
    return error_set(ERR_INVALID, "'%s' is not a metastore path", op->path);
  }
  TRY(node_get(tree, txn, op->path, &node));
  op->stat = node.stat;
  if (op->kind == METASTORE_GET) {
    op->data = node.has_data ? arena_strndup(arena, (const char *)node.data, node.size) : NULL;
    op->size = node.size;
    return 0;
  }
  struct names names = {.arena = arena};
  TRY(each_child(tree, txn, op->path, add_name, &names));
  op->names = names.list;
  op->name_count = names.count;
  return 0;
}

static int run_reads(struct local_tree *tree, struct metastore_request *request)
{
  MDB_txn *txn = NULL;
  int rc = mdb_txn_begin(tree->env, NULL, MDB_RDONLY, &txn);
  if (rc != 0) {
    return tree_error(tree, rc, "read");
  }
  int result = 0;
  for (size_t i = 0; i < request->op_count; i++) {
    struct metastore_op *op = &request->ops[i];
    op->result = read_op(tree, txn, op, &request->arena);
    if (result == 0 && op->result != 0 && op->result != ERR_NOT_FOUND) {
      result = op->result;
      request->failed_op = i;
    }
  }
  mdb_txn_abort(txn);
  return result;
}

// ---- writing ----

static int find_one(void *arg, const char *name, size_t length)
{
  (void)arg;
  (void)name;
  (void)length;
  return ERR_NOT_EMPTY;
}

static void parent_of(char *parent, const char *path)
{
  const char *slash = strrchr(path, '/');
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  memcpy(parent, path, length);
  parent[length] = '\0';
}

static int create_op(struct local_tree *tree, MDB_txn *txn, struct metastore_op *op, struct arena *arena,
                     int64_t session)
{
  char parent_path[LOCAL_KEY_MAX + 1];
  struct local_node parent;
  struct local_node node;
  const char *path = op->path;
  if (path[1] == '\0') {
    return ERR_EXISTS;
  }
  parent_of(parent_path, path);
  TRY(node_get(tree, txn, parent_path, &parent));
  if (parent.stat.owner != 0) {
    return error_set(ERR_INVALID, "metastore node %s is ephemeral and cannot have children", parent_path);
  }
  if (op->flags & METASTORE_SEQUENTIAL) {
    path = arena_printf(arena, "%s%0*u", path, SEQUENCE_DIGITS, parent.counter);
    if (!metastore_path_is_valid(path)) {
      return ERR_LIMIT;
    }
    parent.counter++;
    int rc = node_put(tree, txn, parent_path, &parent);
    if (rc != 0) {
      return rc;
    }
  }
  int found = node_get(tree, txn, path, &node);
  if (found != ERR_NOT_FOUND) {
    return found == 0 ? ERR_EXISTS : found;
  }
  bool is_ephemeral = op->flags & METASTORE_EPHEMERAL;
  int64_t zxid = (int64_t)mdb_txn_id(txn);
  node = (struct local_node){
      .stat = {.create_zxid = zxid, .change_zxid = zxid, .owner = is_ephemeral ? session : 0},
      .has_data = op->data != NULL,
      .data = op->data,
      .size = op->data ? op->size : 0,
  };
  if (is_ephemeral) {
    MDB_val key = {strlen(path), (void *)path};
    uint8_t bytes[LOCAL_EPHEMERAL_BYTES];
    local_ephemeral_encode(key.mv_data, key.mv_size, bytes);
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_put(txn, tree->ephemerals, &key, &value, 0);
    if (rc != 0) {
      return rc == MDB_MAP_FULL ? rc : tree_error(tree, rc, "write");
    }
  }
  op->stat = node.stat;
  op->path = path;
  return node_put(tree, txn, path, &node);
}

static int set_op(struct local_tree *tree, MDB_txn *txn, struct metastore_op *op)
{
  struct local_node node;
  TRY(node_get(tree, txn, op->path, &node));
  if (op->version != METASTORE_ANY_VERSION && op->version != node.stat.version) {
    return ERR_BAD_VERSION;
  }
  node.stat.version = node.stat.version == INT32_MAX ? 0 : node.stat.version + 1;
  node.stat.change_zxid = (int64_t)mdb_txn_id(txn);
  node.has_data = op->data != NULL;
  node.data = op->data;
  node.size = op->data ? op->size : 0;
  op->stat = node.stat;
  return node_put(tree, txn, op->path, &node);
}

static int delete_op(struct local_tree *tree, MDB_txn *txn, const struct metastore_op *op)
{
  char buffer[LOCAL_KEY_MAX + 1];
  struct local_node node;
  if (op->path[1] == '\0') {
    return error_set(ERR_INVALID, "the metastore's root cannot be deleted");
  }
  TRY(node_get(tree, txn, op->path, &node));
  if (op->version != METASTORE_ANY_VERSION && op->version != node.stat.version) {
    return ERR_BAD_VERSION;
  }
  TRY(each_child(tree, txn, op->path, find_one, NULL));
  MDB_val key = key_of(buffer, op->path);
  int rc = mdb_del(txn, tree->nodes, &key, NULL);
  if (rc == 0 && node.stat.owner != 0) {
    key = (MDB_val){strlen(op->path), (void *)op->path};
    rc = mdb_del(txn, tree->ephemerals, &key, NULL);
  }
  return rc == 0 || rc == MDB_MAP_FULL ? rc : tree_error(tree, rc, "delete");
}

static int check_op(struct local_tree *tree, MDB_txn *txn, const struct metastore_op *op)
{
  struct local_node node;
  TRY(node_get(tree, txn, op->path, &node));
  return op->version == METASTORE_ANY_VERSION || op->version == node.stat.version ? 0 : ERR_BAD_VERSION;
}

static int write_op(struct local_tree *tree, MDB_txn *txn, struct metastore_op *op, struct arena *arena,
                    int64_t session)
{
  if (!metastore_path_is_valid(op->path)) {
    return error_set(ERR_INVALID, "'%s' is not a metastore path", op->path);
  }
  if (op->data && op->size > METASTORE_DATA_MAX) {
    return ERR_LIMIT;
  }
  switch (op->kind) {
    case METASTORE_CREATE:
      return create_op(tree, txn, op, arena, session);
    case METASTORE_SET:
      return set_op(tree, txn, op);
    case METASTORE_DELETE:
      return delete_op(tree, txn, op);
    case METASTORE_CHECK:
      return check_op(tree, txn, op);
    case METASTORE_GET:
    case METASTORE_CHILDREN:
      break;
  }
  return error_set(ERR_INVALID, "a metastore request cannot both read and write");
}

static int tree_grow(struct local_tree *tree)
{
  if (tree->map_size >= LOCAL_MAP_SIZE_LAST) {
    return tree_error(tree, MDB_MAP_FULL, "write");
  }
  int rc = mdb_env_set_mapsize(tree->env, tree->map_size * 2);
  if (rc != 0) {
    return tree_error(tree, rc, "grow");
  }
  tree->map_size *= 2;
  return 0;
}

/// One attempt at a write; MDB_MAP_FULL: nothing was done, grow and try again.
static int try_writes(struct local_tree *tree, struct metastore_request *request, int64_t session)
{
  MDB_txn *txn = NULL;
  int rc = mdb_txn_begin(tree->env, NULL, 0, &txn);
  if (rc != 0) {
    return rc == MDB_MAP_FULL ? rc : tree_error(tree, rc, "write");
  }
  bool is_change = false;
  for (size_t i = 0; i < request->op_count; i++) {
    struct metastore_op *op = &request->ops[i];
    is_change = is_change || op->kind != METASTORE_CHECK;
    op->result = write_op(tree, txn, op, &request->arena, session);
    if (op->result != 0) {
      mdb_txn_abort(txn);
      request->failed_op = i;
      return op->result;
    }
  }
  if (!is_change) {
    mdb_txn_abort(txn);
    return 0;
  }
  rc = commit_change(tree, txn);
  return rc == 0 || rc == MDB_MAP_FULL ? rc : tree_error(tree, rc, "commit");
}

static int run_writes(struct local_tree *tree, struct metastore_request *request, int64_t session)
{
  // A sequential create replaces its path; another attempt starts from the one that was asked for.
  const char **paths = mem_array(request->op_count, sizeof *paths);
  for (size_t i = 0; i < request->op_count; i++) {
    paths[i] = request->ops[i].path;
  }
  int result;
  while ((result = try_writes(tree, request, session)) == MDB_MAP_FULL) {
    for (size_t i = 0; i < request->op_count; i++) {
      request->ops[i].path = paths[i];
    }
    result = tree_grow(tree);
    if (result < 0) {
      break;
    }
  }
  for (size_t i = 0; result != 0 && i < request->op_count; i++) {
    request->ops[i].path = paths[i];
    request->ops[i].result = i == request->failed_op ? result : ERR_AGAIN;
  }
  mem_free(paths);
  return result;
}

int local_tree_run(struct local_tree *tree, struct metastore_request *request, int64_t session)
{
  request->failed_op = 0;
  if (request->op_count == 0) {
    return 0;
  }
  enum metastore_op_kind first = request->ops[0].kind;
  bool is_read = first == METASTORE_GET || first == METASTORE_CHILDREN;
  for (size_t i = 1; is_read && i < request->op_count; i++) {
    if (request->ops[i].kind != METASTORE_GET && request->ops[i].kind != METASTORE_CHILDREN) {
      request->failed_op = i;
      return error_set(ERR_INVALID, "a metastore request cannot both read and write");
    }
  }
  return is_read ? run_reads(tree, request) : run_writes(tree, request, session);
}

// ---- opening ----

/// Removes the node of an ephemeral's record. @return 0 or what LMDB says
static int purge_one(struct local_tree *tree, MDB_txn *txn, const MDB_val *path)
{
  char text[LOCAL_KEY_MAX + 1];
  char buffer[LOCAL_KEY_MAX + 1];
  if (path->mv_size > LOCAL_KEY_MAX) {
    return MDB_CORRUPTED;
  }
  memcpy(text, path->mv_data, path->mv_size);
  text[path->mv_size] = '\0';
  if (!metastore_path_is_valid(text)) {
    return MDB_CORRUPTED;
  }
  MDB_val key = key_of(buffer, text);
  int rc = mdb_del(txn, tree->nodes, &key, NULL);
  return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

int local_tree_purge(struct local_tree *tree)
{
  MDB_txn *txn = NULL;
  MDB_cursor *cursor = NULL;
  int rc = mdb_txn_begin(tree->env, NULL, 0, &txn);
  if (rc != 0) {
    return tree_error(tree, rc, "write");
  }
  rc = mdb_cursor_open(txn, tree->ephemerals, &cursor);
  int count = 0;
  MDB_val path;
  MDB_val value;
  while (rc == 0 && (rc = mdb_cursor_get(cursor, &path, &value, MDB_NEXT)) == 0) {
    rc = purge_one(tree, txn, &path);
    count++;
  }
  if (cursor) {
    mdb_cursor_close(cursor);
  }
  rc = rc == MDB_NOTFOUND ? 0 : rc;
  if (rc == 0 && count > 0) {
    rc = mdb_drop(txn, tree->ephemerals, 0);
  }
  if (rc != 0 || count == 0) {
    mdb_txn_abort(txn);
  } else {
    rc = commit_change(tree, txn);
  }
  return rc == 0 ? 0 : tree_error(tree, rc, "remove ephemeral nodes");
}

/// Opens the two tables, and makes them and the root when the file is new.
static int open_tables(struct local_tree *tree)
{
  MDB_txn *txn = NULL;
  int rc = mdb_txn_begin(tree->env, NULL, 0, &txn);
  if (rc != 0) {
    return tree_error(tree, rc, "open");
  }
  rc = mdb_dbi_open(txn, NULL, 0, &tree->main);
  rc = rc != 0 ? rc : mdb_dbi_open(txn, LOCAL_NODES, MDB_CREATE, &tree->nodes);
  rc = rc != 0 ? rc : mdb_dbi_open(txn, LOCAL_EPHEMERALS, MDB_CREATE, &tree->ephemerals);
  if (rc != 0) {
    mdb_txn_abort(txn);
    return tree_error(tree, rc, "open");
  }
  struct local_node root = {.has_data = true};
  int result = node_get(tree, txn, "/", &root);
  if (result == 0) {
    // Committed without a change, so that the tables stay open.
    rc = mdb_txn_commit(txn);
    return rc == 0 ? 0 : tree_error(tree, rc, "open");
  }
  result = result == ERR_NOT_FOUND ? node_put(tree, txn, "/", &root) : result;
  if (result != 0) {
    mdb_txn_abort(txn);
    return result < 0 ? result : tree_error(tree, result, "open");
  }
  rc = commit_change(tree, txn);
  return rc == 0 ? 0 : tree_error(tree, rc, "open");
}

/// LMDB found its own pages broken, and would abort. What is committed is on disk, and checked at the next start.
static void tree_assert(MDB_env *env, const char *text)
{
  const struct local_tree *tree = mdb_env_get_userctx(env);
  local_damaged(tree->path, "damaged");
  slog_error("%s (%s)", error_last()->message, text);
  _exit(EXIT_FAILURE);
}

/// Sees to it that half of the address space is free, so that what opening writes finds room.
static int make_room(struct local_tree *tree)
{
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(tree->env, &info);
  mdb_env_stat(tree->env, &stat);
  tree->map_size = info.me_mapsize;
  while ((info.me_last_pgno + 1) * stat.ms_psize > tree->map_size / 2) {
    TRY(tree_grow(tree));
  }
  return 0;
}

int local_tree_open(struct local_tree *tree, const char *file, const char *path)
{
  tree->path = path;
  tree->map_size = MAP_SIZE_FIRST;
  int rc = mdb_env_create(&tree->env);
  if (rc != 0) {
    return tree_error(tree, rc, "open");
  }
  rc = mdb_env_set_userctx(tree->env, tree);
  rc = rc != 0 ? rc : mdb_env_set_assert(tree->env, tree_assert);
  rc = rc != 0 ? rc : mdb_env_set_maxdbs(tree->env, 2);
  rc = rc != 0 ? rc : mdb_env_set_mapsize(tree->env, tree->map_size);
  rc = rc != 0 ? rc : mdb_env_open(tree->env, file, MDB_NOSUBDIR | MDB_NOLOCK, 0644);
  int result = rc != 0 ? tree_error(tree, rc, "open") : make_room(tree);
  result = result < 0 ? result : open_tables(tree);
  if (result < 0) {
    local_tree_close(tree);
  }
  return result;
}

void local_tree_close(struct local_tree *tree)
{
  if (tree->env) {
    mdb_env_close(tree->env);
    tree->env = NULL;
  }
}
