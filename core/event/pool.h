// SPDX-License-Identifier: Apache-2.0
//
// The pool: plain threads for what may wait for a disk. A job runs on one of them, inside the epoch, and its completion
// is mailed back to the loop that wants it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/mail.h"

struct event_loop;
struct metric_samples;
struct pool;
struct pool_job;
typedef void (*pool_fn)(struct pool_job *job);

/// Embed it; taken from pool_submit() or pool_submit_long() until `done` is called (or `work` is, when there is no
/// `done`).
struct pool_job {
  struct pool_job *next;    ///< next in the queue
  struct mail mail;         ///< carries the completion
  struct event_loop *reply; ///< loop that `done` runs on; NULL with no `done`
  pool_fn work;             ///< runs on a pool thread; may wait for disks, holds no lock over I/O
  pool_fn done;             ///< runs on `reply`, or NULL
  uint64_t order;           ///< private: when it was submitted
  bool is_long;             ///< private: by pool_submit_long()
};

/// Starts up to `threads` (>= 1) threads; fewer, with a line in the log, when the system refuses some. Owned:
/// pool_delete(). NULL, with the error recorded, when it refuses all.
struct pool *pool_new(int threads);

/// Runs everything submitted, then ends the threads. Only when nobody submits any more, jobs included. NULL is fine.
void pool_delete(struct pool *pool);

/// Queues a job, first come first served. Any thread, a pool thread too; never waits for a disk.
void pool_submit(struct pool *pool, struct pool_job *job, pool_fn work, struct event_loop *reply, pool_fn done);

/// The same for a job that may take seconds (a sync of a large segment, a search through a log, a compression) and that
/// no client's short request should wait behind: such jobs never have all threads at once. Only where there is one
/// thread it takes turns.
void pool_submit_long(struct pool *pool, struct pool_job *job, pool_fn work, struct event_loop *reply, pool_fn done);

/// Source of metrics "pool.*" (base/metrics.h). Any thread. @param arg  the pool
void pool_collect(void *arg, struct metric_samples *out);
