// SPDX-License-Identifier: Apache-2.0
//
// flush.ms: brings to disk what was appended so long ago. The first append to a topic that has it starts a timer of the
// control loop, whose job on the pool looks at all logs, flushes those whose time is over, and has the timer go on
// while anything waits. So nothing happens while nothing is written, and nobody pays who does not ask for it.
//
//   appender: first record -> mail -> control: timer -> pool: look, flush -> control: timer ... until nothing waits
//
// As in Kafka the time counts from a log's last flush, so that no record waits longer than flush.ms, and the first
// after a pause waits for less. Kafka looks every log.flush.scheduler.interval.ms, which by default is never.
#include <stddef.h>

#include "base/list.h"
#include "event/loop.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "os/clock.h"

enum {
  FLUSH_TIMER_MIN_MS = 10,   // between two looks; otherwise as often as the shortest flush.ms asks
  FLUSH_TIMER_MAX_MS = 1000, // logs come and go, and their configs change
};

/// Has the control loop start the timer, while the broker runs. Whoever set `is_going` calls it.
static void flush_timer_go(struct log_manager *mgr)
{
  pthread_mutex_lock(&mgr->lock);
  if (mgr->is_running) {
    event_loop_post(mgr->loop, &mgr->flush_timer.mail);
  } else {
    // Before the start log_flush_timer_run() will look, after the stop log_close() flushes.
    atomic_store(&mgr->flush_timer.is_going, false);
  }
  pthread_mutex_unlock(&mgr->lock);
}

void log_manager_on_unflushed(void *arg)
{
  const struct log_entry *entry = arg;
  struct log_flush_timer *timer = &entry->mgr->flush_timer;
  // Whoever clears `is_wanted` looks at the logs afterwards, or sees that it is set again before all stands still.
  atomic_exchange(&timer->is_wanted, true);
  if (!atomic_load(&timer->is_going) && !atomic_exchange(&timer->is_going, true)) {
    timer->wait_ms = FLUSH_TIMER_MIN_MS;
    flush_timer_go(entry->mgr);
  }
}

/// Flushes a log if its time is over, and notes when the next one's is.
static void flush_timer_look(struct log_manager *mgr, struct log_entry *entry, struct log *log)
{
  struct log_flush_timer *timer = &mgr->flush_timer;
  int64_t flush_ms = log_get_config(log)->flush_ms;
  if (flush_ms == INT64_MAX) {
    return;
  }
  int64_t left_ms = flush_ms - (clock_mono_ms() - log_flushed_ms(log));
  bool is_waiting = log_unflushed_offsets(log) > 0;
  if (is_waiting && left_ms <= 0) {
    log_manager_flush(mgr, entry, log, INT64_MAX);
    is_waiting = log_unflushed_offsets(log) > 0;
    left_ms = flush_ms;
  }
  timer->has_more = timer->has_more || is_waiting;
  left_ms = is_waiting ? left_ms : flush_ms;
  timer->wait_ms = left_ms < timer->wait_ms ? left_ms : timer->wait_ms;
}

/// On the pool.
static void flush_timer_work(struct pool_job *job)
{
  struct log_manager *mgr = CONTAINER_OF(job, struct log_manager, flush_timer.job);
  struct log_flush_timer *timer = &mgr->flush_timer;
  timer->wait_ms = FLUSH_TIMER_MAX_MS;
  timer->has_more = false;
  atomic_exchange(&timer->is_wanted, false);
  log_manager_each(mgr, flush_timer_look);
  timer->wait_ms = timer->wait_ms < FLUSH_TIMER_MIN_MS ? FLUSH_TIMER_MIN_MS : timer->wait_ms;
  if (!timer->has_more) {
    atomic_store(&timer->is_going, false);
    if (!atomic_load(&timer->is_wanted) || atomic_exchange(&timer->is_going, true)) {
      return;
    }
    timer->wait_ms = FLUSH_TIMER_MIN_MS;
  }
  flush_timer_go(mgr);
}

static void flush_timer_due(struct timer *due)
{
  struct log_manager *mgr = CONTAINER_OF(due, struct log_manager, flush_timer.timer);
  pool_submit_long(mgr->pool, &mgr->flush_timer.job, flush_timer_work, NULL, NULL);
}

/// On the control loop.
static void flush_timer_arm(struct mail *mail)
{
  struct log_manager *mgr = CONTAINER_OF(mail, struct log_manager, flush_timer.mail);
  // Only this thread ends it, in log_manager_pause().
  if (mgr->is_running) {
    timer_start(mgr->loop, &mgr->flush_timer.timer, mgr->flush_timer.wait_ms, flush_timer_due);
  }
}

void log_flush_timer_create(struct log_manager *mgr)
{
  mgr->flush_timer.mail.run = flush_timer_arm;
}

void log_flush_timer_run(struct log_manager *mgr)
{
  struct log_entry *waiting = NULL;
  pthread_mutex_lock(&mgr->lock);
  for (size_t i = 0; i < mgr->table.count && waiting == NULL; i++) {
    struct log_entry *entry = mgr->table.entries[i];
    bool is_timed = entry->state == LOG_ENTRY_OPEN && log_get_config(entry->log)->flush_ms < INT64_MAX;
    waiting = is_timed && log_unflushed_offsets(entry->log) > 0 ? entry : NULL;
  }
  pthread_mutex_unlock(&mgr->lock);
  if (waiting != NULL) {
    log_manager_on_unflushed(waiting);
  }
}

void log_flush_timer_pause(struct log_manager *mgr)
{
  timer_stop(mgr->loop, &mgr->flush_timer.timer);
}
