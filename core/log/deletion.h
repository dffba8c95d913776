// SPDX-License-Identifier: Apache-2.0
//
// Delayed removal: files of deleted logs and segments stay for file.delete.delay.ms, for those who read them by name,
// then go. The queue is in order of time, and one timer of the control loop serves its head; the removal itself runs on
// the pool. What is still queued when the broker stops stays on disk under its -delete or .deleted name and is removed
// at the next start.
//
//   add (any thread) --mail--> control loop: timer --> pool: remove what is due --mail--> control loop ...
//
// Lock: `lock` guards the queue; it is never held over I/O, and nothing is locked while it is held.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/mail.h"
#include "event/pool.h"
#include "event/timer.h"

struct deletion;
struct event_loop;
struct log_deleted;

/// The queue. Embed it; nothing in it may be freed before the loop and the pool have ended.
struct deletion_queue {
  pthread_mutex_t lock;    ///< guards the members down to `is_started`
  struct deletion *first;  ///< due first
  struct deletion *last;   ///< due last
  bool is_scheduled;       ///< mail, timer or job is on its way
  bool is_armed;           ///< of these it is the timer
  bool is_started;         ///< removals may be scheduled
  struct event_loop *loop; ///< control loop; NULL: what is added stays until the next start
  struct pool *pool;       ///< runs the removals
  struct timer timer;      ///< for the head; only on the loop
  struct mail mail;        ///< asks the loop to start the timer
  struct pool_job job;     ///< removes what is due
};

void deletion_create(struct deletion_queue *queue, struct event_loop *loop, struct pool *pool);

/// Forgets what is queued. After the loop and the pool have ended.
void deletion_destroy(struct deletion_queue *queue);

/// Queues the removal of a file, or of a folder with all in it, in `delay_ms` from now. Any thread.
void deletion_add(struct deletion_queue *queue, const char *path, int64_t delay_ms);

/// Queues the removal of a deleted segment's files for when they are due. Any thread. @param deleted  taken
void deletion_add_segment(struct deletion_queue *queue, struct log_deleted *deleted);

/// Lets removals happen, also of what was queued before. On the loop's thread.
void deletion_start(struct deletion_queue *queue);

/// Schedules nothing more. On the loop's thread; a removal may still run on the pool.
void deletion_stop(struct deletion_queue *queue);
