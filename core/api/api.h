// SPDX-License-Identifier: Apache-2.0
//
// The protocol's front desk: what handlers work with, and what network/ calls. core/broker makes one `struct api`,
// fills it in and gives its callbacks to the server.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/latency.h"
#include "base/list.h"
#include "network/connection.h"
#include "network/server.h"
#include "policy/probes.h"
#include "replica/append_gather.h"
#include "wire/error_codes.h"

struct beat_cache;
struct broker_config;
struct config_entry;
struct connect_ask;
struct controller;
struct coordinator;
struct event_loop;
struct fetch_session;
struct fetch_sessions;
struct hooks;
struct log_manager;
struct metadata_cache;
struct metric_samples;
struct policy_cache;
struct policy_runners;
struct pool;
struct produce_divider;
struct replica_manager;
struct request;
struct rights_memory;
struct worker;

enum {
  API_HANDLERS_MAX = 128,    ///< requests that are served
  API_CLIENT_TEXT_SIZE = 64, ///< name of a client, cut, with its NUL
  API_ANSWERED_MAX = 256,    ///< answers whose time is taken together
};

/// What one worker has answered, since the start. Written by the worker alone (base/metrics.h).
///
/// A request's time begins with the turn in which its last byte was read, and ends with the turn in which it is
/// answered, when its answer goes to the connection. What it waited for on purpose is part of that: records for a
/// Fetch, other members for a JoinGroup.
struct api_counters {
  _Atomic(int64_t) requests[API_HANDLERS_MAX]; ///< answered requests, by place in the table of handlers
  _Atomic(int64_t) errors[API_HANDLERS_MAX];   ///< of these, those whose answer has an error in it
  _Atomic(int64_t) codes[WIRE_ERROR_MAX + 2];  ///< the same by enum wire_error plus one, the first one of an answer
  _Atomic(int64_t) refused;                    ///< requests that were no such, or not served: connections closed
  struct latency latency[API_HANDLERS_MAX];    ///< times of answered requests, by place in the table of handlers
};

/// Requests that were answered in this turn: one look at the clock at its end does for all.
struct api_answered {
  int count;                            ///< how many
  int64_t arrived_ns[API_ANSWERED_MAX]; ///< see struct frame
  int place[API_ANSWERED_MAX];          ///< in the table of handlers
};

/// Borrowed by all handlers; constant while the server runs, but for `counters`.
struct api {
  int32_t broker_id;                      ///< this broker
  const struct config_entry *own_configs; ///< what the broker was started as, under Kafka's names, sorted by them
  int own_config_count;                   ///< how many
  struct metadata_cache *metadata;        ///< the image of the cluster
  struct controller *controller;          ///< topic changes go there
  _Atomic(struct coordinator *)
      coordinator;                     ///< groups; NULL until the broker has made it, which is before clients come
  struct replica_manager *replicas;    ///< partitions with a replica here
  struct log_manager *logs;            ///< data directories
  struct pool *pool;                   ///< for what waits for disks
  const struct policy_cache *policies; ///< functions of the configuration's user
  struct probes probes;                ///< users' functions that look at requests, traces
  struct hooks *hooks;                 ///< functions that are asked before something happens, and told after
  struct policy_runners *runners;      ///< threads for those on records; NULL: there are none
  _Atomic(struct api_counters *) counters[SERVER_WORKERS_MAX]; ///< of each worker between its start and its end
};

/// One worker's part; owned by its thread.
struct api_worker {
  struct api *api;                 ///< borrowed
  struct worker *worker;           ///< borrowed
  struct event_loop *loop;         ///< the worker's
  int index;                       ///< the worker's number
  struct request *free_requests;   ///< for reuse, linked by `state`
  int free_count;                  ///< how many
  struct list probed;              ///< requests that functions are asked about, or that they hold
  struct list authorizing;         ///< requests that have questions left for client.authorize (api/authorize.c)
  int authorize_count;             ///< questions of theirs under way
  int64_t rights_bytes;            ///< memory of what connections remember of the answers (api/rights.h)
  struct list waiting;             ///< fetches in purgatory, so that a drain finds them
  struct fetch_sessions *sessions; ///< fetch sessions of connections of this worker
  struct beat_cache *beats;        ///< members whose heartbeats are answered here
  bool is_draining;                ///< the server stops: nothing waits any more
  struct append_gather appends;    ///< of this turn, submitted at its end
  struct produce_divider *divider; ///< for topics that choose partitions themselves
  struct api_counters counters;    ///< what was answered
  struct api_answered answered;    ///< in this turn
  int64_t authorize_logged_ms;     ///< when a denial was last logged
  int64_t probe_logged_ms;         ///< when a request that went on without its functions was last logged
  int64_t bad_request_logged_ms;   ///< when a refused request was last logged
  _Atomic(int64_t) give_up_ms; ///< what the pool has not begun by then, on clock_mono_ms(), is left; far away until the
                               ///< server drains
};

/// One connection's part, owned by its worker.
struct api_client {
  struct list requests;            ///< unanswered ones, oldest first
  int request_count;               ///< how many
  int produce_count;               ///< how many of them are Produce
  int hold_count;                  ///< batches on their way round by the pool: a later Produce must not overtake them
  struct fetch_session *session;   ///< the fetch session it used last, or NULL
  struct rights_memory *rights;    ///< what client.authorize has decided; owned, NULL: nothing yet
  struct connect_ask *connect_ask; ///< whether it may be here is being asked; NULL: no more, or never
  char software[API_CLIENT_TEXT_SIZE]; ///< name and version that ApiVersions gave; empty: not told
  char id[API_CLIENT_TEXT_SIZE];       ///< client id of the first request that had one; empty: none had
};

typedef void (*api_handle_fn)(struct request *req);

/// Who serves an api key, and which versions.
struct api_handler {
  int16_t key;          ///< api key
  int16_t min_version;  ///< oldest version served
  int16_t max_version;  ///< newest version served
  api_handle_fn handle; ///< serves it; owns the request
};

/// The place of a handler in api_handlers().
int api_handler_place(const struct api_handler *handler);

/// All handlers, by rising key.
const struct api_handler *api_handlers(int *count);

/// The broker's configuration that is in force now, part of the metadata image; borrowed until the end of the turn.
/// Once clients are served.
const struct broker_config *api_config(const struct api *api);

/// The handler of a key, or NULL.
const struct api_handler *api_handler_find(int16_t key);

/// What the server calls; `arg` is the api.
void api_callbacks(struct api *api, struct connection_callbacks *callbacks);

/// Source of metrics "request.*" (base/metrics.h). Any thread, while the server runs. @param arg  struct api
void api_collect(void *arg, struct metric_samples *out);
