// SPDX-License-Identifier: Apache-2.0
//
// Appends of one turn of a worker's loop, gathered by partition. With many connections a turn brings many small
// batches, and each by itself would cost a write, an index look-up and a hand-over of offsets; gathered they are
// submitted as one row, which the appender writes with one pwritev. Nothing waits for it: answers leave at the end of
// the turn, and that is when what was gathered is submitted.
//
//   on_frame() ... append_gather_add()      the appender is free or busy, it does not matter
//   on_turn()      append_gather_submit()   before answers are sent
//
// Jobs of a partition stay in the order in which they were added. Between partitions there is no order, as there is
// none between appenders.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct append_job;
struct partition;
struct uuid;

enum {
  APPEND_GATHER_SLOTS = 64,         ///< partitions gathered for at a time, a power of two
  APPEND_GATHER_BYTES = 256 * 1024, ///< bytes of a row that wait for no more. The file system asks 30 %
                                    ///< less per byte than for 64 KiB, and they are still in the cache
  APPEND_GATHER_JOBS = 64,          ///< likewise jobs, as many as one write takes
};

/// What waits for one partition.
struct append_row {
  struct partition *part;    ///< borrowed until its jobs are submitted; NULL: nothing waits
  struct append_job *newest; ///< the last one; each `next` is the one before
  struct append_job *oldest; ///< the first one
  size_t bytes;              ///< of their batches
  int32_t count;             ///< jobs
  bool is_listed;            ///< in `used`
};

/// Embed it in a worker's state; zero-initialised is an empty one. Owned by the worker's thread.
struct append_gather {
  struct append_row rows[APPEND_GATHER_SLOTS]; ///< by a hash of the partition's address
  uint8_t used[APPEND_GATHER_SLOTS];           ///< rows that have jobs, in the order in which they got their first
  int used_count;                              ///< how many
  bool is_submitting;                          ///< jobs are being done
};

/// Adds an append, to be submitted at the end of the turn, or now when there is enough. The same rules as for
/// partition_submit(): it may be done when this returns. Not from inside `done`.
///
/// @param part  borrowed until the job is done: found in this turn, or referenced by the caller
/// @param job   taken
void append_gather_add(struct append_gather *gather, struct partition *part, struct append_job *job);

/// Submits all that was gathered; what is done on this loop is done when this returns. Must be called before the turn
/// ends.
void append_gather_submit(struct append_gather *gather);

/// Submits what was gathered for a topic: whoever goes another way to the appenders of its partitions must not overtake
/// it.
void append_gather_submit_topic(struct append_gather *gather, const struct uuid *topic_id);
