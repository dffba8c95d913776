// SPDX-License-Identifier: Apache-2.0
//
// Where the cluster's metadata is kept: a small tree of versioned nodes, in the manner of ZooKeeper. metastore_local.h
// keeps it in one file for a single broker; every caller above sees this interface only, so a single broker is a
// cluster of one. Nodes hold the JSON of Kafka's ZooKeeper layout.
//
// All calls are made on the loop that the store was opened with (control), and every answer comes back there, in the
// order of the requests; nothing blocks. Before that loop runs, metastore_call() does the same in place.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"

struct event_loop;
struct metastore;
struct metastore_request;
struct metastore_watch;

enum metastore_op_kind {
  METASTORE_GET,      ///< reads data and stat
  METASTORE_CHILDREN, ///< reads the names below a node, sorted
  METASTORE_CREATE,
  METASTORE_SET,
  METASTORE_DELETE, ///< ERR_NOT_EMPTY when the node has children
  METASTORE_CHECK,  ///< fails the whole request unless the node has this version
};

enum metastore_create_flags {
  METASTORE_PERSISTENT = 0,
  METASTORE_EPHEMERAL = 1,  ///< vanishes with the session that made it
  METASTORE_SEQUENTIAL = 2, ///< ten digits of a counter of the parent are appended to the name
};

enum {
  METASTORE_ANY_VERSION = -1,
  METASTORE_DATA_MAX = 1 << 20, ///< bytes of one node's data, ZooKeeper's own limit
};

/// What a store knows about a node beside its data.
struct metastore_stat {
  int32_t version;     ///< 0 when created, plus one by each set
  int64_t create_zxid; ///< number of the change that created it; the broker epoch, for nodes under /brokers/ids
  int64_t change_zxid; ///< number of the change that last set it
  int64_t owner;       ///< session of an ephemeral node, 0: persistent
};

/// One step of a request. Reading and writing steps are not mixed in one request.
struct metastore_op {
  enum metastore_op_kind kind; ///< in
  int flags;                   ///< in: enum metastore_create_flags, for create
  const char *path;            ///< in: "/a/b", borrowed until done; out: the name given, for sequential ones (arena)
  const void
      *data; ///< in for create and set, borrowed until done; out for get (in the arena, NUL-terminated); NULL: no data
  size_t size;     ///< bytes of `data`
  int32_t version; ///< in: expected by set, delete and check, or METASTORE_ANY_VERSION
  int result;      ///< out: 0, ERR_NOT_FOUND, ERR_EXISTS, ERR_BAD_VERSION, ERR_NOT_EMPTY, ERR_LIMIT; ERR_AGAIN for
                   ///< steps of a write that were undone or not tried
  struct metastore_stat stat;    ///< out: for get, create and set
  const char *const *names;      ///< out: for children (arena)
  size_t name_count;             ///< out: for children
  struct metastore_watch *watch; ///< in: armed by this read, or NULL
};

typedef void (*metastore_done_fn)(struct metastore_request *request);

/// Embed it; zeroed, then filled in by the caller. Taken from metastore_submit() until `done` is called.
struct metastore_request {
  struct metastore_op *ops; ///< the steps, borrowed until done. Writes are atomic: all or none
  size_t op_count;          ///< how many
  metastore_done_fn done;   ///< called once on the store's loop
  void *arg;                ///< the caller's
  int result; ///< out: 0 when all was done; for reads, the first failure that is not ERR_NOT_FOUND; for writes, the
              ///< reason
  size_t failed_op;        ///< out: the step that made a write fail
  const char *message;     ///< out: a sentence for the log when the store itself failed, NULL otherwise (arena)
  struct arena arena;      ///< what the answer points to; freed by metastore_request_clear()
  struct metastore *store; ///< the store's
  struct list node;        ///< the store's: its place in the queue
};

/// Fires once, on the store's loop, when what its read saw has changed: the data or existence (get; also armed on a
/// missing node), or the set of names (children). Arm it again by another read.
struct metastore_watch {
  struct list node;                             ///< the store's
  char *path;                                   ///< the store's
  bool is_children;                             ///< the store's
  void (*fired)(struct metastore_watch *watch); ///< called once for each arming
  void *arg;                                    ///< the caller's
};

/// What an implementation provides; use the functions below.
struct metastore_vtable {
  void (*submit)(struct metastore *store, struct metastore_request *request);
  void (*call)(struct metastore *store, struct metastore_request *request);
  void (*close)(struct metastore *store);
};

/// Start of every store; owner: the control loop's thread.
struct metastore {
  const struct metastore_vtable *vtable; ///< the implementation
  struct event_loop *loop;               ///< where answers come back
  struct list watches;                   ///< armed ones
  int64_t session;                       ///< owner that its ephemeral nodes get
  void (*lost)(void *arg); ///< called on the loop when the session is over and its ephemerals are gone, or NULL
  void *lost_arg;          ///< for `lost`
};

/// Runs a request; its answer is a call of `request->done` on the store's loop, never before this returns.
void metastore_submit(struct metastore *store, struct metastore_request *request);

/// Runs a request in place, without calling `done`. Waits for the disk or the network: only before the loop runs, or
/// after it has ended.
///
/// @return request->result
int metastore_call(struct metastore *store, struct metastore_request *request);

/// Frees what the answer points to; the request may be used again afterwards.
void metastore_request_clear(struct metastore_request *request);

/// Disarms; harmless when not armed (zeroed is not armed).
void metastore_watch_cancel(struct metastore_watch *watch);

/// For implementations, once a request has its answer: arms the watches of a read, or fires those that a write
/// concerns.
void metastore_settle(struct metastore *store, struct metastore_request *request);

/// Fires what watches a path, for implementations: `is_children` for a change of the names below it.
void metastore_watch_fire(struct metastore *store, const char *path, bool is_children);

/// Closes and frees the store; ephemeral nodes of its session vanish, at the latest when it is opened again. No request
/// may be under way, unless loop and pool have ended: then it is dropped. NULL is fine.
void metastore_close(struct metastore *store);

/// The persistent nodes, NULL-terminated and parents first, that Kafka's tools expect and every store has from the
/// start.
const char *const *metastore_standard_paths(void);

/// Whether a text is a path: "/" or "/name/name...", no empty name, no "." or "..", no byte below space, at most 480
/// bytes.
bool metastore_path_is_valid(const char *path);
