// SPDX-License-Identifier: Apache-2.0
//
// A thread of the load generator: non-blocking connections on one epoll, each with a ring of requests that are written,
// answered and replaced in order. What a request is comes from a role: load_produce.c, load_fetch.c, load_small.c.
//
//   ring of a connection:   answered | waiting for an answer | being sent | free
//                                    ^ oldest                ^ unsent     ^ next
//
// Closed loop: `depth` requests are always under way. Open loop: request number n of the run is planned for start +
// n / rate, whether or not earlier ones were answered; connection i sends numbers i, i + connections, ... so the plan
// of a worker goes round its connections, and a tick of its timer touches only those that are due.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "histogram.h"
#include "wire/writer.h"

struct load_cluster;
struct load_connection;
struct load_options;
struct load_worker;

enum {
  LOAD_PREFIX_SIZE = 12, ///< size 4, api key 2, version 2, correlation id 4: what is written anew for each request
  LOAD_DRAIN_MS = 10000, ///< how long answers may take after the end
};

/// A request on its way.
struct load_slot {
  uint8_t prefix[LOAD_PREFIX_SIZE]; ///< start of the frame
  const uint8_t *body;              ///< the rest; borrowed from the role or from `own`
  size_t body_size;                 ///< bytes of it
  struct wire_writer own;           ///< a body made for this request alone
  int64_t planned_ns;               ///< monotonic time that latency counts from
  int32_t partition;                ///< produce: where to
  uint64_t first_value;             ///< produce: number of the first record
};

/// What a kind of run does. Functions get the connection that it is about.
struct load_role {
  int16_t key;                                       ///< api key
  int16_t version;                                   ///< of the request
  void (*open)(struct load_connection *connection);  ///< prepares `connection->state`
  void (*close)(struct load_connection *connection); ///< frees it
  /// Fills body, and partition and first_value; false: nothing to send any more.
  bool (*prepare)(struct load_connection *connection, struct load_slot *slot);
  /// Looks at the answer, from its header on (NULL: acks=0, it was sent); 0, 1 for one that does not count because it
  /// only says that there is nothing new, or an error of the wire reader.
  int (*answered)(struct load_connection *connection, struct load_slot *slot, const uint8_t *bytes, size_t size);
};

/// One connection. Owned by its worker.
struct load_connection {
  struct load_worker *worker; ///< whose thread it is on
  int index;                  ///< number in the run
  int fd;                     ///< -1: closed
  int32_t *partitions;        ///< partitions it serves, all led by the same broker; owned
  int partition_count;        ///< how many
  int broker;                 ///< index of their leader
  void *state;                ///< the role's
  struct load_slot *slots;    ///< ring
  uint32_t slot_count;        ///< a power of two, at least the depth
  uint32_t oldest;            ///< first that is not answered
  uint32_t unsent;            ///< first that is not wholly sent
  uint32_t next;              ///< first free
  size_t sent_bytes;          ///< of `unsent`
  int64_t begun;              ///< requests prepared so far
  bool is_blocked;            ///< waits for EPOLLOUT
  bool is_done;               ///< nothing more will be sent: the role's word, --requests, or a lost connection
  uint8_t *input;             ///< bytes received and not yet handled; NULL: the worker's buffer will do
  size_t input_start;         ///< first of them
  size_t input_end;           ///< one past the last
  size_t input_room;          ///< bytes allocated
};

/// What is counted.
struct load_counts {
  int64_t requests;         ///< answered (acks=0: sent)
  int64_t records;          ///< in good answers
  int64_t bytes;            ///< of their batches
  int64_t errors;           ///< bad answers, and batches that --verify found bad
  int64_t empty;            ///< fetch answers without records
  int64_t disconnects;      ///< connections lost
  int64_t unsent;           ///< planned and never sent
  int64_t unanswered;       ///< no answer within LOAD_DRAIN_MS after the end
  char first_error[128];    ///< what the first error was
  int64_t last_ns;          ///< monotonic time of the last answer
  struct histogram latency; ///< ns
};

/// One thread.
struct load_worker {
  const struct load_options *options;  ///< of the run
  const struct load_cluster *cluster;  ///< of the run
  const struct load_role *role;        ///< what it does
  struct load_connection *connections; ///< its own
  int connection_count;                ///< how many
  double rate;                         ///< requests a second of the whole run; 0: closed loop
  int run_connections;                 ///< of the whole run, for the plan of an open loop
  int active_count;                    ///< connections that are not done
  int64_t outstanding;                 ///< requests begun and not answered
  int64_t due_number;                  ///< open loop: next of this worker's plan, round and round its connections
  int64_t start_ns;                    ///< monotonic time at which the run starts
  int64_t end_ns;                      ///< monotonic time after which nothing is sent
  int64_t run_number;                  ///< of this run in the file of acknowledged records
  void *acked;                         ///< FILE of acknowledged records, or NULL; stdio locks it
  pthread_t thread;                    ///< the thread
  int epoll_fd;                        ///< of its connections and its timer
  int timer_fd;                        ///< next planned request
  struct arena arena;                  ///< of one answer
  uint8_t *input;                      ///< lent to the connection whose turn it is
  struct load_counts counts;           ///< results
  int error;                           ///< could not start: ERR_*, and `why`
  char why[512];                       ///< for the error
};

extern const struct load_role load_produce_role;
extern const struct load_role load_fetch_role;
extern const struct load_role load_api_versions_role;
extern const struct load_role load_raw_fetch_role; ///< `fetch --raw`: what `limit send` gives

/// Shares the connections of a run out over partitions and workers, and opens them. Workers are zeroed but for what
/// comes before `connections`.
///
/// @return 0 or ERR_*
int load_workers_open(struct load_worker *workers, int count);

/// Runs until the end and until all is answered; the thread's function.
void *load_worker_run(void *worker);

void load_worker_close(struct load_worker *worker);

/// Counts an error; the first one is kept as text.
void load_count_error(struct load_counts *counts, const char *format, ...) __attribute__((format(printf, 2, 3)));
