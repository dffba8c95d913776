// SPDX-License-Identifier: Apache-2.0
//
// The protocol's front desk: what handlers work with, and what network/ calls. core/broker makes one `struct api`,
// fills it in and gives its callbacks to the server.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "network/connection.h"

struct broker_config;
struct controller;
struct event_loop;
struct fetch_session;
struct fetch_sessions;
struct log_manager;
struct metadata_cache;
struct pool;
struct replica_manager;
struct request;
struct worker;

/// Borrowed by all handlers; constant while the server runs.
struct api {
  int32_t broker_id;                ///< this broker
  struct metadata_cache *metadata;  ///< the image of the cluster
  struct controller *controller;    ///< topic changes go there
  struct replica_manager *replicas; ///< partitions with a replica here
  struct log_manager *logs;         ///< data directories
  struct pool *pool;                ///< for what waits for disks
};

/// One worker's part; owned by its thread.
struct api_worker {
  struct api *api;                 ///< borrowed
  struct worker *worker;           ///< borrowed
  struct event_loop *loop;         ///< the worker's
  int index;                       ///< the worker's number
  struct request *free_requests;   ///< for reuse, linked by `state`
  int free_count;                  ///< how many
  struct list waiting;             ///< fetches in purgatory, so that a drain finds them
  struct fetch_sessions *sessions; ///< fetch sessions of connections of this worker
  bool is_draining;                ///< the server stops: nothing waits any more
  int64_t bad_request_logged_ms;   ///< when a refused request was last logged
  _Atomic(int64_t) give_up_ms; ///< what the pool has not begun by then, on clock_mono_ms(), is left; far away until the
                               ///< server drains
};

/// One connection's part, owned by its worker.
struct api_client {
  struct list requests;          ///< unanswered ones, oldest first
  int request_count;             ///< how many
  int produce_count;             ///< how many of them are Produce
  int hold_count;                ///< batches on their way round by the pool: a later Produce must not overtake them
  struct fetch_session *session; ///< the fetch session it used last, or NULL
  char software[64];             ///< name and version that ApiVersions gave, for logs; empty: not told
};

typedef void (*api_handle_fn)(struct request *req);

/// Who serves an api key, and which versions.
struct api_handler {
  int16_t key;          ///< api key
  int16_t min_version;  ///< oldest version served
  int16_t max_version;  ///< newest version served
  api_handle_fn handle; ///< serves it; owns the request
};

/// All handlers, by rising key.
const struct api_handler *api_handlers(int *count);

/// The broker's configuration that is in force now, part of the metadata image; borrowed until the end of the turn.
/// Once clients are served.
const struct broker_config *api_config(const struct api *api);

/// The handler of a key, or NULL.
const struct api_handler *api_handler_find(int16_t key);

/// What the server calls; `arg` is the api.
void api_callbacks(struct api *api, struct connection_callbacks *callbacks);
