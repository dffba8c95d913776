// SPDX-License-Identifier: Apache-2.0
//
// What the manager does by itself: timers of the control loop start jobs on the pool. A tick finds its earlier job
// still running and is skipped; a job that finds nothing changed writes nothing.
//
//   retention        asks each log whether something may go, and only then for its appender
//   flush            brings logs to disk that were written since, then writes the recovery points
//   start offsets, high watermarks   write their checkpoint
//   moves            has those that wait for space try again, while there are any; on the loop, as it does no I/O
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "event/loop.h"
#include "log/cleaner.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "log/retention.h"
#include "os/clock.h"

enum { RETENTION_FIRST_MS = 30000, MOVES_RETRY_MS = 1000 };

/// A retention pass over one log that waits for its appender.
struct retention_pass {
  struct log_manager *mgr; ///< whose
  char *topic;             ///< owned
  int32_t partition;       ///< partition number
  bool is_policy;          ///< a policy decides what is deleted
};

/// A flush that waits for the pool.
struct flush_job {
  struct pool_job job;     ///< on the pool
  struct log_entry *entry; ///< referenced
  int64_t offset;          ///< bring everything below to disk
};

/// With the appender held, on any thread; the log is NULL when its partition has gone.
static void retention_work(void *work_arg, struct log *log, int64_t high_watermark)
{
  struct retention_pass *pass = work_arg;
  if (log != NULL && high_watermark >= 0) {
    struct retention_result done;
    int64_t expiration_ms = atomic_load(&pass->mgr->producer_expiration_ms);
    if (expiration_ms > 0) {
      log_expire_producers(log, clock_wall_ms(), expiration_ms);
    }
    int result =
        pass->is_policy ? 0 : retention_run(log, pass->topic, pass->partition, clock_wall_ms(), high_watermark, &done);
    if (result < 0 && result != ERR_STORAGE_OFFLINE) {
      slog_warn("retention of %s-%" PRId32 " failed: %s", pass->topic, pass->partition, error_last()->message);
      log_manager_fail_dir(pass->mgr, log, result);
    }
  }
  mem_free(pass->topic);
  mem_free(pass);
}

static void run_retention(struct log_manager *mgr)
{
  if (mgr->hooks.with_appender == NULL || mgr->hooks.high_watermark == NULL) {
    return;
  }
  size_t count = 0;
  struct log_entry **entries = log_entries_take(mgr, NULL, &count);
  for (size_t i = 0; i < count; i++) {
    struct log_entry *entry = entries[i];
    if (atomic_load(&log_entry_dir(entry)->is_offline)) {
      continue;
    }
    int64_t high_watermark = mgr->hooks.high_watermark(mgr->hooks.arg, entry->owner, entry->log);
    int64_t now_ms = clock_wall_ms();
    int64_t expiration_ms = atomic_load(&mgr->producer_expiration_ms);
    bool has_expired = expiration_ms > 0 && log_has_expired_producers(entry->log, now_ms, expiration_ms);
    if (high_watermark < 0) {
      continue;
    }
    bool is_policy = mgr->hooks.retention != NULL &&
                     mgr->hooks.retention(mgr->hooks.retention_arg, entry->owner, entry->log, high_watermark);
    if (!has_expired && (is_policy || !retention_is_due(entry->log, now_ms, high_watermark))) {
      continue;
    }
    struct retention_pass *pass = mem_zalloc(sizeof *pass);
    pass->mgr = mgr;
    pass->topic = mem_strdup(entry->topic);
    pass->partition = entry->partition;
    pass->is_policy = is_policy;
    mgr->hooks.with_appender(mgr->hooks.arg, entry->owner, entry->log, retention_work, pass);
  }
  log_entries_release(mgr, entries, count);
}

struct log *log_manager_log_of(struct log_manager *mgr, const struct log_entry *entry)
{
  pthread_mutex_lock(&mgr->lock);
  bool is_open = entry->state == LOG_ENTRY_OPEN && !atomic_load(&log_entry_dir(entry)->is_offline);
  struct log *log = is_open ? entry->log : NULL;
  pthread_mutex_unlock(&mgr->lock);
  return log;
}

/// Tells the owner of a log that was flushed, if it may wait for that.
static void tell_flushed(struct log_manager *mgr, struct log_entry *entry, struct log *log)
{
  if (mgr->hooks.log_flushed == NULL || !log_config_waits_for_disk(log_get_config(log))) {
    return;
  }
  pthread_mutex_lock(&mgr->lock);
  bool is_open = entry->state == LOG_ENTRY_OPEN && entry->log == log;
  entry->users += is_open ? 1 : 0;
  pthread_mutex_unlock(&mgr->lock);
  if (!is_open) {
    return;
  }
  mgr->hooks.log_flushed(mgr->hooks.arg, entry->owner, log);
  pthread_mutex_lock(&mgr->lock);
  entry->users--;
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
}

/// A log that was deleted meanwhile is nobody's loss.
void log_manager_flush(struct log_manager *mgr, struct log_entry *entry, struct log *log, int64_t offset)
{
  int result = log_flush(log, offset);
  if (result == 0) {
    tell_flushed(mgr, entry, log);
  } else if (log_manager_log_of(mgr, entry) == log) {
    if (log_manager_is_disk_failure(result)) {
      log_manager_fail(mgr, log_entry_dir(entry), result);
    } else {
      slog_warn("cannot flush %s-%" PRId32 ": %s", entry->topic, entry->partition, error_last()->message);
    }
  }
}

/// A log that has grown since the last pass is brought to disk up to its active segment, as the kernel is busy with the
/// rest anyway; one that has not, as a whole. So a busy log costs one fsync a segment, and a quiet one is recovered at
/// once.
static void flush_if_needed(struct log_manager *mgr, struct log_entry *entry, struct log *log)
{
  int64_t end_offset = log_end_offset(log);
  bool is_quiet = entry->flushed_end == end_offset;
  entry->flushed_end = end_offset;
  int64_t target = is_quiet ? end_offset : log_active_base_offset(log);
  if (target > log_recovery_point(log)) {
    log_manager_flush(mgr, entry, log, target);
  }
}

void log_manager_each(struct log_manager *mgr,
                      void (*visit)(struct log_manager *mgr, struct log_entry *entry, struct log *log))
{
  for (size_t i = 0;; i++) {
    epoch_leave();
    epoch_enter();
    pthread_mutex_lock(&mgr->lock);
    struct log_entry *entry = i < mgr->table.count ? mgr->table.entries[i] : NULL;
    pthread_mutex_unlock(&mgr->lock);
    if (entry == NULL) {
      break;
    }
    struct log *log = log_manager_log_of(mgr, entry);
    if (log != NULL) {
      visit(mgr, entry, log);
    }
  }
}

static void run_flush(struct log_manager *mgr)
{
  log_manager_each(mgr, flush_if_needed);
  log_checkpoints_write_all(mgr, LOG_DIR_RECOVERY_POINTS);
}

void log_manager_write_start_offsets(struct log_manager *mgr)
{
  log_checkpoints_write_all(mgr, LOG_DIR_START_OFFSETS);
}

static void run_high_watermarks(struct log_manager *mgr)
{
  if (mgr->hooks.high_watermark != NULL) {
    log_checkpoints_write_all(mgr, LOG_DIR_HIGH_WATERMARKS);
  }
}

static void run_flush_job(struct pool_job *job)
{
  struct flush_job *flushing = CONTAINER_OF(job, struct flush_job, job);
  struct log_entry *entry = flushing->entry;
  struct log_manager *mgr = entry->mgr;
  struct log *log = log_manager_log_of(mgr, entry);
  if (log != NULL && flushing->offset > log_recovery_point(log)) {
    log_manager_flush(mgr, entry, log, flushing->offset);
  }
  pthread_mutex_lock(&mgr->lock);
  log_entry_unref(entry);
  pthread_mutex_unlock(&mgr->lock);
  mem_free(flushing);
}

void log_manager_on_rolled(void *arg, struct log *log, int64_t offset)
{
  struct log_entry *entry = arg;
  struct log_manager *mgr = entry->mgr;
  if (mgr->hooks.rolled != NULL) {
    mgr->hooks.rolled(mgr->hooks.told_arg, entry->topic, entry->partition, log_active_base_offset(log));
  }
  if (log_get_config(log)->flush_messages == 1) {
    return; // the append that rolled is flushed by who waits for it (replica/flush.h)
  }
  struct flush_job *flushing = mem_zalloc(sizeof *flushing);
  flushing->entry = entry;
  flushing->offset = offset;
  pthread_mutex_lock(&mgr->lock);
  bool is_running = mgr->is_running;
  if (is_running) {
    entry->refs++;
    pool_submit_long(mgr->pool, &flushing->job, run_flush_job, NULL, NULL);
  }
  pthread_mutex_unlock(&mgr->lock);
  if (!is_running) {
    mem_free(flushing); // before the timers run or after they stopped: log_close() will flush
  }
}

bool log_manager_submit(struct log_manager *mgr, struct pool_job *job, void (*work)(struct pool_job *job))
{
  pthread_mutex_lock(&mgr->lock);
  bool is_running = mgr->is_running;
  if (is_running) {
    pool_submit_long(mgr->pool, job, work, NULL, NULL);
  }
  pthread_mutex_unlock(&mgr->lock);
  return is_running;
}

void log_manager_on_deleted(void *arg, struct log_deleted *deleted)
{
  struct log_entry *entry = arg;
  const struct log_manager_hooks *hooks = &entry->mgr->hooks;
  if (hooks->segment_deleted != NULL && !deleted->is_replaced) {
    hooks->segment_deleted(hooks->told_arg, entry->topic, entry->partition, deleted->base_offset, deleted->size_bytes);
  }
  deletion_add_segment(&entry->mgr->deletions, deleted);
}

static void work_run(struct pool_job *job)
{
  struct log_work *work = CONTAINER_OF(job, struct log_work, job);
  work->run(work->mgr);
  atomic_store(&work->is_running, false);
}

static void work_tick(struct timer *timer);

/// Has the work start in `delay_ms`, and not when it would have.
static void work_arm(struct log_work *work, int64_t delay_ms)
{
  int64_t now_ms = clock_wall_ms();
  int64_t due_ms = delay_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + delay_ms;
  atomic_store_explicit(&work->due_ms, due_ms, memory_order_relaxed);
  timer_start(work->mgr->loop, &work->timer, delay_ms, work_tick);
}

static void work_tick(struct timer *timer)
{
  struct log_work *work = CONTAINER_OF(timer, struct log_work, timer);
  work_arm(work, work->interval_ms);
  if (!atomic_exchange(&work->is_running, true)) {
    pool_submit_long(work->mgr->pool, &work->job, work_run, NULL, NULL);
  }
}

/// Moves try again as long as there are any; without one the timer stands still, so that an idle broker sleeps.
static void moves_tick(struct timer *timer)
{
  struct log_manager *mgr = CONTAINER_OF(timer, struct log_manager, moves_timer);
  pthread_mutex_lock(&mgr->lock);
  mgr->is_retrying_moves = mgr->movers != NULL;
  bool is_going_on = mgr->is_retrying_moves;
  pthread_mutex_unlock(&mgr->lock);
  if (is_going_on) {
    timer_start(mgr->loop, &mgr->moves_timer, MOVES_RETRY_MS, moves_tick);
    log_movers_retry(mgr);
  }
}

/// On the control loop, which alone ends the timer, in log_manager_pause().
static void moves_begin(struct mail *mail)
{
  struct log_manager *mgr = CONTAINER_OF(mail, struct log_manager, moves_mail);
  if (mgr->is_running) {
    timer_start(mgr->loop, &mgr->moves_timer, MOVES_RETRY_MS, moves_tick);
  }
}

void log_manager_note_move(struct log_manager *mgr)
{
  if (mgr->is_running && !mgr->is_retrying_moves) {
    mgr->is_retrying_moves = true;
    event_loop_post(mgr->loop, &mgr->moves_mail);
  }
}

/// Kafka takes 0 for "always"; a timer has to let others run.
static int64_t at_least_1(int64_t interval_ms)
{
  return interval_ms < 1 ? 1 : interval_ms;
}

void log_work_create(struct log_manager *mgr, const struct log_manager_config *config)
{
  mgr->work[LOG_WORK_RETENTION].run = run_retention;
  mgr->work[LOG_WORK_RETENTION].interval_ms = config->retention_check_ms;
  mgr->work[LOG_WORK_FLUSH].run = run_flush;
  mgr->work[LOG_WORK_FLUSH].interval_ms = config->flush_checkpoint_ms;
  mgr->work[LOG_WORK_START_OFFSETS].run = log_manager_write_start_offsets;
  mgr->work[LOG_WORK_START_OFFSETS].interval_ms = config->start_offset_checkpoint_ms;
  mgr->work[LOG_WORK_HIGH_WATERMARKS].run = run_high_watermarks;
  mgr->work[LOG_WORK_HIGH_WATERMARKS].interval_ms = config->high_watermark_checkpoint_ms;
  mgr->moves_mail.run = moves_begin;
  log_flush_timer_create(mgr);
  for (int i = 0; i < LOG_WORK_COUNT; i++) {
    mgr->work[i].mgr = mgr;
    atomic_init(&mgr->work[i].due_ms, -1);
    mgr->work[i].interval_ms = at_least_1(mgr->work[i].interval_ms);
  }
}

void log_manager_set_intervals(struct log_manager *mgr, const struct log_manager_intervals *intervals)
{
  const int64_t wanted[] = {
      [LOG_WORK_RETENTION] = at_least_1(intervals->retention_check_ms),
      [LOG_WORK_FLUSH] = at_least_1(intervals->flush_checkpoint_ms),
      [LOG_WORK_START_OFFSETS] = at_least_1(intervals->start_offset_checkpoint_ms),
      [LOG_WORK_HIGH_WATERMARKS] = at_least_1(intervals->high_watermark_checkpoint_ms),
  };
  pthread_mutex_lock(&mgr->lock);
  bool is_running = mgr->is_running;
  pthread_mutex_unlock(&mgr->lock);
  for (int i = 0; i < LOG_WORK_COUNT; i++) {
    struct log_work *work = &mgr->work[i];
    atomic_store_explicit(&work->interval_ms, wanted[i], memory_order_relaxed);
    // What is due sooner stays: intervals that change again and again would put it off for ever.
    if (is_running && wanted[i] < atomic_load_explicit(&work->due_ms, memory_order_relaxed) - clock_wall_ms()) {
      work_arm(work, wanted[i]);
    }
  }
}

void log_manager_run(struct log_manager *mgr)
{
  CHECK(mgr->loop != NULL);
  pthread_mutex_lock(&mgr->lock);
  mgr->is_running = true;
  if (mgr->movers != NULL) {
    log_manager_note_move(mgr);
  }
  pthread_mutex_unlock(&mgr->lock);
  for (int i = 0; i < LOG_WORK_COUNT; i++) {
    struct log_work *work = &mgr->work[i];
    bool is_early = i == LOG_WORK_RETENTION && work->interval_ms > RETENTION_FIRST_MS;
    work_arm(work, is_early ? RETENTION_FIRST_MS : work->interval_ms);
  }
  log_flush_timer_run(mgr);
  deletion_start(&mgr->deletions);
  log_movers_retry(mgr);
  cleaner_run(mgr->cleaner);
  for (size_t i = 0; i < mgr->dir_count && !mgr->was_adopting; i++) {
    const struct log_dir *dir = &mgr->dirs[i];
    for (size_t j = 0; j < dir->leftover_count; j++) {
      deletion_add(&mgr->deletions, dir->leftovers[j], 0);
    }
  }
}

void log_manager_retention_times(const struct log_manager *mgr, int64_t *next_ms, int64_t *interval_ms)
{
  const struct log_work *work = &mgr->work[LOG_WORK_RETENTION];
  int64_t due_ms = atomic_load_explicit(&work->due_ms, memory_order_relaxed);
  *next_ms = due_ms == INT64_MAX ? -1 : due_ms;
  *interval_ms = atomic_load_explicit(&work->interval_ms, memory_order_relaxed);
}

void log_manager_pause(struct log_manager *mgr)
{
  CHECK(mgr->loop != NULL);
  for (int i = 0; i < LOG_WORK_COUNT; i++) {
    timer_stop(mgr->loop, &mgr->work[i].timer);
    atomic_store_explicit(&mgr->work[i].due_ms, -1, memory_order_relaxed);
  }
  timer_stop(mgr->loop, &mgr->moves_timer);
  log_flush_timer_pause(mgr);
  deletion_stop(&mgr->deletions);
  cleaner_pause(mgr->cleaner);
  pthread_mutex_lock(&mgr->lock);
  mgr->is_running = false;
  pthread_mutex_unlock(&mgr->lock);
}
