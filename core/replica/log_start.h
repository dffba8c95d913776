// SPDX-License-Identifier: Apache-2.0
//
// Raising a partition's log start offset because a client asked for it (DeleteRecords, KIP-107). The records below are
// gone at once for every reader; the segments that lie wholly below go with the next retention pass.
//
//   worker: log_start_submit -> appender: checked, raised, published, waiters woken -> worker: done
//   pool:   replica_manager_write_log_starts, log_start_check -> worker: the answer
//
// What was deleted stays deleted over a crash only once the checkpoint is written, so an answer waits for that.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "replica/append.h"

struct event_loop;
struct log_start_job;
struct partition;
struct replica_manager;

/// One partition's turn. Embed it; taken from log_start_submit() until `done` is called.
struct log_start_job {
  struct append_job job; ///< `result`: 0, or the error; `part` is the partition while `done` runs
  int64_t offset;        ///< in: the new log start; -1: the high watermark
  int64_t low_watermark; ///< out: log start offset afterwards
  bool is_raised;        ///< out: it was lower before
};

/// Has the partition's appender raise the log start offset. Any loop.
///
/// The job's result is 0 also when the log starts above `offset` already, ERR_NOT_LEADER, ERR_NOT_FOUND,
/// ERR_STORAGE_OFFLINE, ERR_POLICY_VIOLATION (a log that is only compacted), ERR_OFFSET_OUT_OF_RANGE (negative, or
/// above the high watermark).
///
/// @param reply  loop on which `done` runs
void log_start_submit(struct partition *part, struct log_start_job *start, struct event_loop *reply,
                      append_job_fn done);

/// Whether what was raised is still this broker's to promise, after its checkpoint was written. Inside the
/// epoch.
///
/// @return 0, ERR_STORAGE_OFFLINE (its disk failed), ERR_NOT_LEADER, ERR_NOT_FOUND (the topic was deleted)
int log_start_check(struct replica_manager *manager, const struct partition *part);
