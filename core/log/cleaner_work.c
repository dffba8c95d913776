// SPDX-License-Identifier: Apache-2.0
//
// What a thread of the cleaner does: it looks at all logs that are compacted, takes the one with the largest share of
// new bytes among those that are due, and makes a pass over it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/cleaner_offset_map.h"
#include "log/cleaner_private.h"
#include "log/log.h"
#include "log/log_transactions.h"
#include "os/clock.h"

enum {
  IO_BYTES_MIN = 4096,            ///< read or written at a time, at least
  IO_BYTES_MAX = 64 * 1024 * 1024 ///< and at most
};

/// A log, and what there is to clean in it.
struct candidate {
  struct log_entry *entry;    ///< one of whose users the thread is; NULL: none
  struct log_clean_look look; ///< when it was looked at
};

/// A pass on its way.
struct work {
  struct cleaner_thread *thread;       ///< who makes it
  struct log_entry *entry;             ///< of the log
  struct log_entry_cleaning *cleaning; ///< its own
};

// --- which log -------------------------------------------------------------------------------------------------------

/// Whether a log may be cleaned now, as far as its entry says. While holding the manager's lock.
static bool may_clean(const struct log_entry *entry, int64_t now_ms)
{
  const struct log_entry_cleaning *cleaning = entry->cleaning;
  bool is_left_alone =
      cleaning != NULL && (cleaning->is_running || cleaning->is_uncleanable || cleaning->not_before_ms > now_ms);
  return entry->state == LOG_ENTRY_OPEN && entry->mover == NULL && !is_left_alone &&
         !atomic_load(&log_entry_dir(entry)->is_offline);
}

/// What consumers of committed records may see ends here; -1: unknown.
static int64_t stable_offset(struct log_manager *mgr, const struct log_entry *entry)
{
  int64_t high_watermark = mgr->hooks.high_watermark(mgr->hooks.arg, entry->owner, entry->log);
  int64_t unstable_offset = log_first_unstable_offset(entry->log);
  return high_watermark < unstable_offset ? high_watermark : unstable_offset;
}

/// Looks at one log. @return whether it is due
static bool look_at(struct log_manager *mgr, struct log_entry *entry, struct log_clean_look *look)
{
  int64_t stable = stable_offset(mgr, entry);
  if (stable < 0) {
    return false;
  }
  int result = log_clean_look(entry->log, stable, clock_wall_ms(), look);
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, log_entry_dir(entry), result);
  }
  return result == 0 && look->is_due;
}

/// Finds the dirtiest log of those that are due, and makes it the thread's.
static struct candidate take_dirtiest(struct cleaner *cleaner)
{
  struct log_manager *mgr = cleaner->mgr;
  struct candidate best = {0};
  double dirtiest = 0;
  size_t count = 0;
  struct log_entry **entries = log_entries_take(mgr, NULL, &count);
  for (size_t i = 0; i < count; i++) {
    struct log_entry *entry = entries[i];
    if (!log_get_config(entry->log)->is_compacting) {
      continue;
    }
    pthread_mutex_lock(&mgr->lock);
    bool may = may_clean(entry, clock_mono_ms());
    pthread_mutex_unlock(&mgr->lock);
    struct log_clean_look look;
    if (may && look_at(mgr, entry, &look)) {
      dirtiest = look.dirty_ratio > dirtiest ? look.dirty_ratio : dirtiest;
      if (best.entry == NULL || look.dirty_ratio > best.look.dirty_ratio) {
        best = (struct candidate){entry, look};
      }
    }
    // Headers may have been read: what others retire meanwhile does not wait for all logs.
    epoch_leave();
    epoch_enter();
  }
  if (best.entry != NULL) {
    pthread_mutex_lock(&mgr->lock);
    struct log_entry *entry = best.entry;
    if (may_clean(entry, clock_mono_ms())) {
      if (entry->cleaning == NULL) {
        entry->cleaning = mem_zalloc(sizeof *entry->cleaning);
        entry->cleaning->finished_ms = entry->cleaning->failed_ms = -1;
      }
      entry->cleaning->is_running = true;
      entry->users++;
    } else {
      best.entry = NULL; // another thread was faster
    }
    pthread_mutex_unlock(&mgr->lock);
  }
  log_entries_release(mgr, entries, count);
  atomic_store_explicit(&cleaner->counts.dirtiest, (int64_t)(dirtiest * 100), memory_order_relaxed);
  return best;
}

// --- hooks of a pass -------------------------------------------------------------------------------------------------

/// Whether a pass is still wanted.
static bool is_wanted(const struct work *work)
{
  const struct log_entry *entry = work->entry;
  struct log_manager *mgr = entry->mgr;
  if (cleaner_is_over(work->thread)) {
    return false;
  }
  pthread_mutex_lock(&mgr->lock);
  bool is_there =
      entry->state == LOG_ENTRY_OPEN && entry->mover == NULL && !atomic_load(&log_entry_dir(entry)->is_offline);
  pthread_mutex_unlock(&mgr->lock);
  return is_there && log_get_config(entry->log)->is_compacting;
}

static int work_pace(void *arg, int64_t bytes)
{
  struct work *work = arg;
  struct cleaner_turn turn = cleaner_charge(work->thread, bytes);
  epoch_leave();
  bool goes_on = true;
  bool is_due = false;
  do {
    is_due = cleaner_wait(work->thread, &turn);
    epoch_enter();
    goes_on = is_wanted(work);
    epoch_leave();
  } while (goes_on && !is_due);
  epoch_enter();
  atomic_fetch_add_explicit(&work->cleaning->done_bytes, bytes, memory_order_relaxed);
  return goes_on ? 0 : error_set(ERR_AGAIN, "%s: is not to be cleaned any more", log_dir(work->entry->log));
}

/// A cleaned segment needs room beside those that it replaces. It may take half of the reserve, as it gives back more
/// than that in the end, or a full disk would stay full.
static int work_check_space(void *arg, int64_t bytes)
{
  struct work *work = arg;
  struct log_manager *mgr = work->entry->mgr;
  const struct log_dir *dir = log_entry_dir(work->entry);
  log_manager_ask_space(mgr);
  int64_t free_bytes = atomic_load(&dir->space_free_bytes);
  if (free_bytes >= 0 && free_bytes - bytes < atomic_load(&mgr->reserve_bytes) / 2) {
    return error_set(ERR_NO_SPACE, "%s: %" PRId64 " bytes are free, too few to write %" PRId64 " anew", dir->path,
                     free_bytes, bytes);
  }
  return 0;
}

/// A step for an appender.
struct appender_step {
  struct cleaner *cleaner;          ///< whose lock and condition
  void (*change)(void *change_arg); ///< the step
  void *change_arg;                 ///< for it
  bool is_done;                     ///< it was called, or will not be. Guarded by the cleaner's lock
  bool is_gone;                     ///< the log is gone
};

/// With the appender held, on any thread.
static void run_step(void *work_arg, struct log *log, int64_t high_watermark)
{
  (void)high_watermark;
  struct appender_step *step = work_arg;
  struct cleaner *cleaner = step->cleaner;
  step->is_gone = log == NULL;
  if (log != NULL) {
    step->change(step->change_arg);
  }
  pthread_mutex_lock(&cleaner->lock);
  step->is_done = true;
  pthread_cond_broadcast(&cleaner->changed);
  pthread_mutex_unlock(&cleaner->lock);
}

static int work_with_appender(void *arg, void (*change)(void *change_arg), void *change_arg)
{
  struct work *work = arg;
  struct log_entry *entry = work->entry;
  struct log_manager *mgr = entry->mgr;
  struct cleaner *cleaner = work->thread->cleaner;
  struct appender_step step = {.cleaner = cleaner, .change = change, .change_arg = change_arg};
  mgr->hooks.with_appender(mgr->hooks.arg, entry->owner, entry->log, run_step, &step);
  epoch_leave();
  pthread_mutex_lock(&cleaner->lock);
  while (!step.is_done) {
    pthread_cond_wait(&cleaner->changed, &cleaner->lock);
  }
  pthread_mutex_unlock(&cleaner->lock);
  epoch_enter();
  return step.is_gone ? error_set(ERR_AGAIN, "the log is gone") : 0;
}

// --- a pass ----------------------------------------------------------------------------------------------------------

static void fill_settings(struct work *work, struct log_clean_settings *settings)
{
  struct cleaner *cleaner = work->thread->cleaner;
  pthread_mutex_lock(&cleaner->lock);
  struct log_cleaner_config config = cleaner->config;
  pthread_mutex_unlock(&cleaner->lock);
  int threads = config.threads > 0 ? config.threads : 1;
  int64_t map_bytes = config.dedupe_buffer_bytes / threads;
  int64_t io_bytes = config.io_buffer_bytes / threads / 2; // one to read, one to write
  io_bytes = io_bytes < IO_BYTES_MIN ? IO_BYTES_MIN : io_bytes;
  *settings = (struct log_clean_settings){
      .map_bytes = (size_t)(map_bytes < CLEANER_OFFSET_MAP_MIN ? CLEANER_OFFSET_MAP_MIN : map_bytes),
      .map_load = config.load_factor > 0 ? config.load_factor : 1,
      .io_bytes = (size_t)(io_bytes > IO_BYTES_MAX ? IO_BYTES_MAX : io_bytes),
      .pace = work_pace,
      .check_space = work_check_space,
      .with_appender = work_with_appender,
      .arg = work,
  };
}

static void add_count(_Atomic(int64_t) *count, int64_t by)
{
  atomic_fetch_add_explicit(count, by, memory_order_relaxed);
}

static void count_pass(struct cleaner *cleaner, const struct log_clean_counts *done, int result, int64_t took_ms)
{
  struct cleaner_counts *counts = &cleaner->counts;
  bool is_failure = result < 0 && result != ERR_AGAIN;
  add_count(&counts->passes, result == 0);
  add_count(&counts->failures, is_failure);
  add_count(&counts->read_bytes, done->mapped_bytes + done->read_bytes);
  add_count(&counts->written_bytes, done->written_bytes);
  add_count(&counts->read_records, done->read_records);
  add_count(&counts->kept_records, done->kept_records);
  add_count(&counts->keyless_records, done->keyless_records);
  add_count(&counts->full_maps, done->is_full);
  add_count(&counts->busy_ms, took_ms);
}

/// Tells of a pass that failed. One that may do better later is told of once in a while only.
static void report_failure(struct work *work, int result, bool is_new)
{
  const struct log_entry *entry = work->entry;
  const char *message = error_last()->message;
  if (log_clean_is_damage(result)) {
    slog_error("%s-%" PRId32 " is not compacted until the next start: %s", entry->topic, entry->partition, message);
  } else if (is_new) {
    slog_warn("%s-%" PRId32 " is not compacted now: %s", entry->topic, entry->partition, message);
  }
}

/// Notes what became of a pass. The entry is not the thread's any more afterwards.
static void settle(struct work *work, const struct log_clean_counts *counts, int result, int64_t took_ms)
{
  struct log_entry *entry = work->entry;
  struct log_manager *mgr = entry->mgr;
  struct log_entry_cleaning *cleaning = work->cleaning;
  struct error_detail detail = *error_last();
  bool is_failure = result < 0 && result != ERR_AGAIN;
  struct cleaner *cleaner = work->thread->cleaner;
  pthread_mutex_lock(&cleaner->lock);
  int64_t backoff_ms = cleaner->config.backoff_ms;
  pthread_mutex_unlock(&cleaner->lock);
  pthread_mutex_lock(&mgr->lock);
  bool is_new = is_failure && strncmp(cleaning->error, detail.message, LOG_CLEANING_ERROR_SIZE - 1) != 0;
  if (result == 0) {
    cleaning->finished_ms = clock_wall_ms();
    cleaning->took_ms = took_ms;
    cleaning->counts = *counts;
    cleaning->failed_ms = -1;
    cleaning->error[0] = '\0';
  } else if (is_failure) {
    cleaning->failed_ms = clock_wall_ms();
    cleaning->is_uncleanable = log_clean_is_damage(result);
    snprintf(cleaning->error, sizeof cleaning->error, "%.*s", LOG_CLEANING_ERROR_SIZE - 1, detail.message);
  }
  cleaning->not_before_ms = result == 0 ? 0 : clock_mono_ms() + backoff_ms;
  cleaning->is_running = false;
  if (entry->mover != NULL) {
    log_mover_wake(entry->mover);
  }
  pthread_mutex_unlock(&mgr->lock);
  if (is_failure) {
    report_failure(work, result, is_new);
    if (log_manager_is_disk_failure(result)) {
      log_manager_fail(mgr, log_entry_dir(entry), result);
    }
  }
  pthread_mutex_lock(&mgr->lock);
  entry->users--;
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
}

static void report_pass(const struct log_entry *entry, const struct log_clean_counts *counts, int64_t took_ms)
{
  slog_info("compacted %s-%" PRId32 " up to offset %" PRId64 " in %" PRId64 " ms: %" PRId64 " of %" PRId64
            " records stay, %" PRId64 " of %" PRId64 " bytes, in %d segments instead of %d%s",
            entry->topic, entry->partition, counts->end_offset, took_ms, counts->kept_records, counts->read_records,
            counts->written_bytes, counts->read_bytes, counts->segments_after, counts->segments_before,
            counts->is_full ? "; the rest does not fit into log.cleaner.dedupe.buffer.size, and follows" : "");
}

bool cleaner_work(struct cleaner_thread *thread)
{
  struct cleaner *cleaner = thread->cleaner;
  struct log_manager *mgr = cleaner->mgr;
  if (mgr->hooks.with_appender == NULL || mgr->hooks.high_watermark == NULL) {
    return false;
  }
  struct candidate candidate = take_dirtiest(cleaner);
  if (candidate.entry == NULL) {
    return false;
  }
  struct log_entry *entry = candidate.entry;
  struct work work = {.thread = thread, .entry = entry, .cleaning = entry->cleaning};
  struct log_clean_settings settings;
  struct log_clean_counts counts = {0};
  int64_t began_ms = clock_mono_ms();
  fill_settings(&work, &settings);
  atomic_store(&work.cleaning->done_bytes, 0);
  atomic_store(&work.cleaning->total_bytes, 2 * candidate.look.clean_bytes + 3 * candidate.look.dirty_bytes);
  add_count(&cleaner->counts.busy_threads, 1);
  // The checkpoint says that offsets may be missing before some are.
  log_note_cleaning(entry->log, candidate.look.first_dirty_offset);
  int result = log_checkpoints_write(mgr, log_entry_dir(entry), LOG_DIR_CLEAN_OFFSETS);
  if (result == 0) {
    result = log_clean(entry->log, &candidate.look, clock_wall_ms(), &settings, &counts);
  }
  if (result == 0) {
    result = log_checkpoints_write(mgr, log_entry_dir(entry), LOG_DIR_CLEAN_OFFSETS);
  }
  int64_t took_ms = clock_mono_ms() - began_ms;
  if (result == 0) {
    report_pass(entry, &counts, took_ms);
  }
  count_pass(cleaner, &counts, result, took_ms);
  add_count(&cleaner->counts.busy_threads, -1);
  settle(&work, &counts, result, took_ms);
  return result == 0;
}

// --- being looked at -------------------------------------------------------------------------------------------------

int log_manager_cleaning(struct log_manager *mgr, struct log *log, int64_t stable, struct log_cleaning *cleaning)
{
  CHECK(epoch_is_inside());
  struct log_clean_look look = {0};
  bool is_known = stable >= 0 && log_clean_look(log, stable, clock_wall_ms(), &look) == 0;
  *cleaning = (struct log_cleaning){
      .is_compacting = log_get_config(log)->is_compacting,
      .clean_offset = log_clean_offset(log),
      .end_offset = is_known ? look.end_offset : -1,
      .clean_bytes = look.clean_bytes,
      .dirty_bytes = look.dirty_bytes,
      .finished_ms = -1,
      .failed_ms = -1,
  };
  pthread_mutex_lock(&mgr->lock);
  const struct log_entry *entry = log_table_find_log(&mgr->table, log);
  const struct log_entry_cleaning *done = entry == NULL ? NULL : entry->cleaning;
  if (done != NULL) {
    cleaning->is_running = done->is_running;
    cleaning->is_uncleanable = done->is_uncleanable;
    cleaning->done_bytes = done->is_running ? atomic_load(&done->done_bytes) : 0;
    cleaning->total_bytes = done->is_running ? atomic_load(&done->total_bytes) : 0;
    cleaning->finished_ms = done->finished_ms;
    cleaning->took_ms = done->took_ms;
    cleaning->read_bytes = done->counts.read_bytes;
    cleaning->written_bytes = done->counts.written_bytes;
    cleaning->read_records = done->counts.read_records;
    cleaning->kept_records = done->counts.kept_records;
    cleaning->failed_ms = done->failed_ms;
    memcpy(cleaning->error, done->error, sizeof cleaning->error);
  }
  pthread_mutex_unlock(&mgr->lock);
  return entry == NULL ? ERR_NOT_FOUND : 0;
}
