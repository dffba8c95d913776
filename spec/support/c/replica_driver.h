// SPDX-License-Identifier: Apache-2.0
//
// Drives a partition from several threads, for specs: LuaJIT cannot be called back on a foreign thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// What a run of appends found.
struct replica_append_probe {
  int64_t appended;       ///< jobs that succeeded
  int64_t failed;         ///< jobs that did not
  int64_t refused;        ///< of these, those refused for their epoch
  int64_t end_offset;     ///< log end afterwards
  int64_t high_watermark; ///< of the snapshot afterwards
  int64_t visible_bytes;  ///< counter afterwards
  int64_t misordered;     ///< a loop's later job got a lower offset than its earlier one
  int64_t duplicates;     ///< offsets given twice
  int64_t misplaced;      ///< completions on another thread than the one that asked
  int64_t gaps;           ///< offsets below the end that nobody was given
  int64_t torn;           ///< snapshots whose fields do not belong together
};

/// Who submits.
enum replica_append_how {
  REPLICA_APPEND_LOOP,   ///< each loop, one after another
  REPLICA_APPEND_GATHER, ///< each loop gathers, and submits now and then (replica/append_gather.h)
  REPLICA_APPEND_THREAD, ///< a thread for each loop, which is none itself, and now and then waits for a change
  REPLICA_APPEND_MIXED,  ///< all three side by side, one after the other
};

/// Appends `jobs` one-record batches from each of `loops` loops to one partition in `dir`, while another thread reads
/// snapshots.
///
/// @param refused_each  0, or each so manieth batch has a leader epoch that is not the partition's
/// @param how           enum replica_append_how
int replica_append_run(const char *dir, int loops, int jobs, int refused_each, int how,
                       struct replica_append_probe *probe);

/// What a run of waiting found.
struct replica_watch_probe {
  int64_t appended; ///< batches appended
  int64_t fired;    ///< times the watch fired or was ready at once
  int64_t early;    ///< times it fired below its threshold
  int64_t is_done;  ///< 1: the waiter saw the last byte
};

/// A waiter on one loop waits for each batch in turn, while another loop appends `count` of them as fast as it can.
int replica_watch_run(const char *dir, int count, struct replica_watch_probe *probe);

/// Tells waiters when the partition is deleted: returns how often a watch with an unreachable threshold fired.
int replica_watch_delete_run(const char *dir);
