// SPDX-License-Identifier: Apache-2.0
//
// A partition's appender: everything that changes the log or the role of a partition is a job, and jobs run one after
// another. The appender is handed over, never waited for:
//
//   push the job on the partition's lock-free stack
//   try to take the appender
//     busy: somebody runs jobs right now and looks at the stack again before it lets go; go on with other work
//     mine: run all that waits, appends that follow each other in one log_append(); let go; look at the stack again
//
// A share of a divided batch that is not written leaves a gap: replica/gaps.h.
//
// An append is done when it is written, or where the topic asks for a flush, when that has been (replica/flush.h).
//
// Whoever has run jobs for APPEND_ROUNDS rounds passes the appender to the loop of the next job's owner, so that no
// worker is kept for ever by the others' appends. A thread that is no loop (policy/runner.h) passes it to that of its
// append at once: there it meets what else comes until then, as in replica/append_gather.h, and it goes on meanwhile.
// An appender that was passed on is anybody's who comes first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/mail.h"
#include "log/log.h"

struct event_loop;
struct partition;
struct append_job;
typedef void (*append_job_fn)(struct append_job *job);

/// One append, or one other change. Embed it; taken from partition_submit() until `done` is called.
struct append_job {
  struct append_job *next;  ///< for the partition's stack and lists
  struct mail mail;         ///< carries the completion to `reply`
  struct partition *part;   ///< set by partition_submit(); referenced until `done` returns
  struct event_loop *reply; ///< loop on which `done` runs; NULL: wherever the job ran, in its turn
  append_job_fn change;     ///< NULL: an append; otherwise called while holding the appender, must not block on a disk
  append_job_fn done;       ///< called once; NULL: nobody wants to know
  struct log_batch batch;   ///< the batch; its offsets are filled in
  const struct append_job *after; ///< an earlier one of its row: it is refused when that one is; NULL: none
  bool is_unacknowledged;         ///< acks=0: done when it is written, as nobody asks whether it is safe
  struct append_job *released;    ///< out of `change`: held appends (replica/flush.h) to finish, linked by `next`
  int32_t leader_epoch;           ///< epoch the client believes in, -1: any
  int64_t append_time_ms;         ///< out: wall clock of the append
  int64_t log_start_offset;       ///< out: log start when the append began
  int result;                     ///< out: 0, ERR_NOT_LEADER, ERR_STORAGE_OFFLINE, ERR_NO_SPACE, ERR_IO ...
};

/// Gives a job to the partition's appender. Any thread that is a loop or runs inside the epoch. The job may be done
/// when this returns only if `reply` is NULL or the calling loop.
void partition_submit(struct partition *part, struct append_job *job);

/// The same for several jobs at once, for append_gather.h: nothing comes between them. Each has its `part` set.
///
/// @param newest  the last of the row; each job's `next` is the one before it
/// @param oldest  the first of the row
/// @param count   jobs in the row, at least 1
void partition_submit_row(struct partition *part, struct append_job *newest, struct append_job *oldest, int32_t count);

/// Why a batch would not be appended now, as far as that can be told without the appender: for whoever divides one, and
/// wants it written as a whole. Any thread inside the epoch.
///
/// @return 0, ERR_NOT_LEADER, ERR_STORAGE_OFFLINE, ERR_NOT_FOUND, ERR_OUT_OF_ORDER_SEQUENCE
int partition_check_append(struct partition *part, const uint8_t *bytes);
