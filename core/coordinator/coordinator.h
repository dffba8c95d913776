// SPDX-License-Identifier: Apache-2.0
//
// Groups on their threads. Partition p of __consumer_offsets, a shard, lives on worker p modulo the number of workers.
// What is asked goes to that worker by mail (at once when it is the same), and its answer back. A shard is loaded from
// its log on the pool, when this broker becomes the leader of its partition, and lives until it is no more. Nothing is
// locked: a request, an answer and a loaded shard change their owner by mail.
//
//   api (worker) --coordinator_submit()--> shard's worker: group_shard_handle() ... group_shard_written() --mail--> api
//                                             |  at the end of the turn: all records of the turn as one batch
//                                             +--partition_submit()--> replica/append --mail--+
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/types.h"

struct coordinator;
struct event_loop;
struct group_change;
struct group_request;
struct metadata_cache;
struct metadata_image;
struct metric_samples;
struct pool;
struct replica_manager;

/// The topic that groups and offsets are kept in.
#define COORDINATOR_TOPIC "__consumer_offsets"

/// Everything is borrowed for the coordinator's life.
struct coordinator_options {
  int32_t broker_id;                 ///< this broker
  struct metadata_cache *metadata;   ///< topics, configuration
  struct replica_manager *replicas;  ///< partitions
  struct pool *pool;                 ///< for loading
  struct event_loop *const *workers; ///< the workers' loops
  int worker_count;                  ///< how many
  /// Told of what has happened to a group (coordinator/shard.h), on its worker; NULL: nobody
  void (*changed)(void *arg, const struct group_change *change);
  void *changed_arg; ///< for it
};

/// Owned: coordinator_delete().
struct coordinator *coordinator_new(const struct coordinator_options *options);

/// Frees it, when no loop runs any more. NULL is fine.
void coordinator_delete(struct coordinator *coordinator);

/// An image was published: shards whose partition this broker leads now are loaded, those of others end, and offsets of
/// topics that are gone are deleted. Control thread.
void coordinator_published(struct coordinator *coordinator, const struct metadata_image *image);

/// The partition of a group: Kafka's hash (of the id as Java has it, UTF-16) modulo the partitions of the topic.
///
/// @return -1: the topic is not there
int32_t coordinator_shard_of(const struct metadata_image *image, struct wire_string group);

/// Gives a request to its shard. Any worker; never blocks. `done` runs on `request->reply`, at the end of a turn, never
/// in this call. Without such a shard the answer is NOT_COORDINATOR, while it is loaded COORDINATOR_LOAD_IN_PROGRESS,
/// when it could not be COORDINATOR_NOT_AVAILABLE.
///
/// @param request  taken; its `shard` is that of coordinator_shard_of()
void coordinator_submit(struct coordinator *coordinator, struct group_request *request);

/// The end of a worker's turn: what its shards have to say leaves, what they have to write is written, all records of
/// the turn as one batch. @param index  its number
void coordinator_turn(struct coordinator *coordinator, int index);

/// The time by which groups are served, on a worker's thread: it follows the wall clock, but does not jump with it.
/// Milliseconds since 1970.
int64_t coordinator_clock_ms(struct coordinator *coordinator, int worker);

/// The server stops: all that waits in shards of this worker is answered, and nothing waits any more. On each worker,
/// when it drains. @param index  its number
void coordinator_drain(struct coordinator *coordinator, int index);

/// Source of metrics "group.*" (base/metrics.h). Any thread. @param arg  the coordinator
void coordinator_collect(void *arg, struct metric_samples *out);
