// SPDX-License-Identifier: Apache-2.0
//
// What lies in a topic's logs, and what retention would do with it, for administrators. Looked at on the pool, as a
// topic may have many segments; no lock and no appender is taken, no disk is waited for:
//
//   any loop: replica_inspect -> pool: each partition and its segments -> the same loop: done
//
// What is seen of a partition is of one moment for each segment, not for all of them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "event/pool.h"
#include "log/log.h"
#include "replica/partition.h"

struct event_loop;
struct metadata_cache;
struct replica_inspection;
struct replica_manager;

enum {
  REPLICA_INSPECT_TOPIC_SIZE = 256,     ///< longest topic name that can be asked for, with its NUL
  REPLICA_INSPECT_SEGMENTS_MAX = 100000 ///< segments of one answer; further ones are left out
};

/// A segment, and what the next pass would do with it.
struct replica_segment {
  struct log_segment_info info;         ///< what it is
  struct log_retention_verdict verdict; ///< what becomes of it; a segment that stays for now has in due_ms the wall
                                        ///< time of the pass that would take it
};

/// A partition of the topic.
struct replica_view {
  int32_t partition;                ///< its number
  bool is_here;                     ///< this broker has a replica; nothing else is set if not
  struct partition_state state;     ///< role and offsets
  int64_t end_offset;               ///< log end offset; this and what follows: only with a role
  int64_t recovery_point;           ///< everything below is on disk
  int64_t size_bytes;               ///< of all segments
  int64_t retention_ms;             ///< what its log goes by; -1: no limit
  int64_t retention_bytes;          ///< likewise
  const char *dir;                  ///< its folder; in the inspection's arena, NULL without a role
  struct replica_segment *segments; ///< oldest first; in the inspection's arena
  int segment_count;                ///< how many
  bool is_cut;                      ///< there are more
};

typedef void (*replica_inspection_fn)(struct replica_inspection *inspection);

/// A question. Embed it, zeroed; taken from replica_inspect() until `done` is called.
struct replica_inspection {
  struct pool_job job;                    ///< on the pool
  struct replica_manager *manager;        ///< borrowed
  struct metadata_cache *metadata;        ///< borrowed
  replica_inspection_fn done;             ///< called once
  char topic[REPLICA_INSPECT_TOPIC_SIZE]; ///< name
  int32_t partition;                      ///< number, -1: all
  struct arena arena;                     ///< the answer's memory
  int result; ///< out: 0; ERR_NOT_FOUND: there is no such topic; ERR_OFFSET_OUT_OF_RANGE: or no such partition
  int32_t partition_count;    ///< out: partitions that the topic has
  int64_t now_ms;             ///< out: wall time at which it was looked at
  int64_t next_pass_ms;       ///< out: wall time of the next retention pass, -1: none is made
  struct replica_view *views; ///< out: in the arena, by partition
  int32_t count;              ///< out: how many
  int segment_count;          ///< out: segments of all of them
};

/// Looks at a topic's partitions. Any loop, while the pool runs.
///
/// @param topic      name, cut if it is too long to be one
/// @param partition  number, -1: all
/// @param reply      loop that `done` runs on; then replica_inspection_destroy()
void replica_inspect(struct replica_inspection *inspection, struct replica_manager *manager,
                     struct metadata_cache *metadata, struct pool *pool, const char *topic, int32_t partition,
                     struct event_loop *reply, replica_inspection_fn done);

/// Frees what was found.
void replica_inspection_destroy(struct replica_inspection *inspection);
