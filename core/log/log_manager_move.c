// SPDX-License-Identifier: Apache-2.0
//
// Logs that move to another directory (KIP-113): what AlterReplicaLogDirs asked for, done on the pool in small steps
// while the log is written and read.
//
//   COPYING    pool: some MiB at a time into <topic>-<partition>.<id>-future; then all of it on disk
//   WAITING    for space or files; a timer tries again
//   SWITCHING  for the appender
//   SETTLING   with the appender: the copy becomes the log, its folder gets the partition's name; then
//              pool: the switch on disk, the checkpoints of the new directory, the old folder is renamed -delete
//   RESTING    the last of these could not be done for want of space or files; a timer tries again
//
// At any moment a crash leaves one folder that counts: the old one as long as the copy is called -future, and the copy
// from then on, which has a higher mark (log_move.h), so that the next start renames the old one if that was not done
// yet. A -future folder that a start finds is removed, and the move begins anew.
//
// A move ends by itself when its log is deleted, when its directory or the new one fails, or when somebody asks for
// another directory. Its entry waits for steps under way (`users`) before it goes.
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/cleaner_private.h"
#include "log/log.h"
#include "log/log_clean.h"
#include "log/log_manager_private.h"
#include "log/log_move.h"
#include "os/dir.h"

enum { MOVER_STEP_BYTES = 8 * 1024 * 1024 }; // copied by one job

static void mover_step(struct pool_job *job);
static void mover_settle(struct pool_job *job);

static struct log_dir *dir_at(struct log_manager *mgr, const char *path)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (strcmp(mgr->dirs[i].path, path) == 0) {
      return &mgr->dirs[i];
    }
  }
  return NULL;
}

// --- movers ----------------------------------------------------------------------------------------------------------

/// Has the next step done on the pool, or by the next timer or start when nothing runs now. While holding the lock.
static void mover_submit(struct log_mover *mover)
{
  mover->state = LOG_MOVER_COPYING;
  if (mover->mgr->is_running) {
    pool_submit_long(mover->mgr->pool, &mover->job, mover_step, NULL, NULL);
  } else {
    mover->state = LOG_MOVER_WAITING;
  }
}

struct log_mover *log_mover_begin(struct log_manager *mgr, struct log_entry *entry, struct log_dir *to)
{
  struct log_mover *mover = mem_zalloc(sizeof *mover);
  mover->mgr = mgr;
  mover->entry = entry;
  mover->from = log_entry_dir(entry);
  mover->to = to;
  mover->path = log_dir_suffix_path(to, entry->topic, entry->partition, "future");
  entry->refs++;
  entry->mover = mover;
  mover->next = mgr->movers;
  mgr->movers = mover;
  log_manager_note_move(mgr);
  mover_submit(mover);
  return mover;
}

static void mover_free(struct log_mover *mover)
{
  if (mover->copy != NULL) {
    log_move_delete(mover->copy);
  }
  mem_free(mover->path);
  mem_free(mover);
}

/// Takes a mover out of everything, and frees it. While holding the lock.
static void mover_remove(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  struct log_mover **link = &mgr->movers;
  while (*link != mover) {
    link = &(*link)->next;
  }
  *link = mover->next;
  if (mover->entry->mover == mover) {
    mover->entry->mover = NULL;
  }
  // Each of the two directories had lines for it.
  for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
    mgr->writers[mover->to - mgr->dirs].is_stale[which] = true;
    mgr->writers[mover->from - mgr->dirs].is_stale[which] = true;
  }
  log_entry_unref(mover->entry);
  pthread_cond_broadcast(&mgr->changed);
  mover_free(mover);
}

static void release_user(struct log_manager *mgr, struct log_entry *entry)
{
  entry->users--;
  pthread_cond_broadcast(&mgr->changed);
}

/// It becomes one of its entry's users, so that a deletion waits for it. While holding the lock.
static void mover_use(struct log_mover *mover)
{
  mover->is_using = true;
  mover->entry->users++;
}

/// It stops to be one of its entry's users, if it is. While holding the lock.
static void mover_release(struct log_mover *mover)
{
  if (mover->is_using) {
    mover->is_using = false;
    release_user(mover->mgr, mover->entry);
  }
}

/// Whether a move may go on: its log is there and both disks work. While holding the lock.
static bool mover_may_go_on(const struct log_mover *mover)
{
  return !mover->is_cancelled && !mover->is_over && mover->entry->state == LOG_ENTRY_OPEN &&
         !atomic_load(&mover->from->is_offline) && !atomic_load(&mover->to->is_offline);
}

/// Ends a move that did not come to its switch. What was copied goes, unless the old directory has failed: should it
/// work again after the next start, the move goes on.
static void mover_end(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  pthread_mutex_lock(&mgr->lock);
  bool is_wanted = !mover->is_cancelled && mover->entry->state == LOG_ENTRY_OPEN;
  pthread_mutex_unlock(&mgr->lock);
  bool is_kept = atomic_load(&mover->to->is_offline) || (is_wanted && atomic_load(&mover->from->is_offline));
  if (!is_kept && dir_exists(mover->path)) {
    char *path = log_dir_suffix_path(mover->to, mover->entry->topic, mover->entry->partition, "delete");
    if (dir_rename(mover->path, path) == 0) {
      deletion_add(&mgr->deletions, path, mgr->file_delete_delay_ms);
    } else {
      slog_warn("%s stays until the next start: %s", mover->path, error_last()->message);
    }
    mem_free(path);
  }
  pthread_mutex_lock(&mgr->lock);
  mover_remove(mover);
  pthread_mutex_unlock(&mgr->lock);
}

/// A step failed. @return true when it is worth trying again later
static bool mover_may_retry(struct log_mover *mover, int result)
{
  const struct log_entry *entry = mover->entry;
  struct error_detail detail = *error_last();
  if (log_manager_may_pass(result)) {
    if (!mover->is_reported) {
      slog_warn("moving %s-%" PRId32 " to %s has to wait: %s", entry->topic, entry->partition, mover->to->path,
                detail.message);
    }
    mover->is_reported = true;
    return true;
  }
  slog_error("cannot move %s-%" PRId32 " to %s: %s", entry->topic, entry->partition, mover->to->path, detail.message);
  if (log_manager_is_disk_failure(result) && mover->culprit != NULL) {
    error_record(result, 0, detail.file, detail.line, "%s", detail.message);
    log_manager_fail(mover->mgr, mover->culprit, result);
  }
  return false;
}

/// Notes whose disk a failure of the copy came from. @return `result`
static int mover_blame(struct log_mover *mover, int result)
{
  mover->culprit = log_move_is_source_to_blame(mover->copy) ? mover->from : mover->to;
  return result;
}

// --- copying ---------------------------------------------------------------------------------------------------------

/// Writes the checkpoints of the new directory, with the log's lines in them: the copy must not come to life without. A
/// disk that fails is taken offline there.
static int mover_checkpoint(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  mover->culprit = NULL;
  if (mover->entry->may_have_holes) {
    log_note_cleaning(mover->entry->log, 0); // the new directory has no recovery point yet to take holes for granted by
  }
  for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
    if (which == LOG_DIR_CLEAN_OFFSETS && log_clean_offset(mover->entry->log) < 0) {
      continue; // it was never cleaned: there is nothing to say
    }
    TRY(log_checkpoints_write(mgr, log_entry_dir(mover->entry), which));
    pthread_mutex_lock(&mgr->lock);
    mgr->writers[mover->to - mgr->dirs].is_stale[which] = true;
    pthread_mutex_unlock(&mgr->lock);
    TRY(log_checkpoints_write(mgr, mover->to, which));
  }
  return 0;
}

/// One step. @return 1: more to copy; 0: ready for the switch; ERR_*
static int mover_copy(struct log_mover *mover, struct log *log)
{
  struct log_manager *mgr = mover->mgr;
  log_manager_ask_space(mgr);
  if (log_manager_is_full(mgr, mover->to)) {
    return error_set(ERR_NO_SPACE, "%s is full up to the reserve", mover->to->path);
  }
  if (mover->copy == NULL) {
    mover->has_older = log_move_mark(log_dir(log)) > 0;
    mover->culprit = mover->to;
    struct log_move *copy = NULL;
    TRY(log_move_new(log, mover->path, &copy));
    pthread_mutex_lock(&mgr->lock);
    mover->copy = copy;
    pthread_mutex_unlock(&mgr->lock);
    slog_info("moving %s-%" PRId32 " from %s to %s", mover->entry->topic, mover->entry->partition, mover->from->path,
              mover->to->path);
  }
  int result = log_move_copy(mover->copy, MOVER_STEP_BYTES);
  if (result != 0) {
    return mover_blame(mover, result);
  }
  TRY(mover_checkpoint(mover));
  return mover_blame(mover, log_move_prepare(mover->copy));
}

/// The switch did not come about: the move goes on, or somebody wanted the log elsewhere while it was tried. While
/// holding the lock.
static void mover_go_back(struct log_mover *mover, bool is_failed)
{
  struct log_entry *entry = mover->entry;
  struct log_dir *wanted = mover->then;
  mover->then = NULL;
  mover->is_over = mover->is_over || is_failed;
  if (wanted != NULL && wanted != mover->to) {
    mover->is_cancelled = true;
    entry->mover = NULL;
    if (wanted != log_entry_dir(entry) && entry->state == LOG_ENTRY_OPEN) {
      log_mover_begin(mover->mgr, entry, wanted);
    }
  }
  mover_submit(mover);
}

/// With the appender held, on any thread; the log is NULL when its partition is gone or offline.
static void mover_switch(void *work_arg, struct log *log, int64_t high_watermark)
{
  (void)high_watermark;
  struct log_mover *mover = work_arg;
  struct log_manager *mgr = mover->mgr;
  struct log_entry *entry = mover->entry;
  pthread_mutex_lock(&mgr->lock);
  bool may_go_on = log != NULL && mover_may_go_on(mover);
  if (may_go_on) {
    // From here on nobody gives it up, or begins another move beside it.
    mover->state = LOG_MOVER_SETTLING;
    mover_use(mover);
  } else if (log == NULL) {
    mover->is_over = true;
  }
  pthread_mutex_unlock(&mgr->lock);
  int result = ERR_AGAIN;
  if (may_go_on) {
    char *path = log_dir_partition_path(mover->to, entry->topic, entry->partition);
    result = mover_blame(mover, log_move_switch(mover->copy, path));
    mem_free(path);
  } else if (log != NULL) {
    log_move_release(mover->copy);
  }
  bool is_failed = result < 0 && result != ERR_AGAIN && !mover_may_retry(mover, result);
  pthread_mutex_lock(&mgr->lock);
  if (result == 0) {
    log_table_move(entry, mover->to);
    entry->refs++;
    if (mgr->is_running) {
      // Not as a long job: deletions, which are long ones, may wait for this.
      pool_submit(mgr->pool, &mover->job, mover_settle, NULL, NULL);
    } else {
      mover_release(mover); // log_movers_stop() goes on, unless the log is deleted before
      mover->state = LOG_MOVER_RESTING;
    }
  } else {
    mover_release(mover);
    mover_go_back(mover, is_failed);
  }
  pthread_mutex_unlock(&mgr->lock);
  if (result == 0) {
    // The mover may be gone by now.
    log_manager_tell_failed(mgr, entry);
    pthread_mutex_lock(&mgr->lock);
    log_entry_unref(entry);
    pthread_mutex_unlock(&mgr->lock);
  }
}

static void mover_step(struct pool_job *job)
{
  struct log_mover *mover = CONTAINER_OF(job, struct log_mover, job);
  struct log_manager *mgr = mover->mgr;
  struct log_entry *entry = mover->entry;
  pthread_mutex_lock(&mgr->lock);
  struct log *log = mover_may_go_on(mover) ? entry->log : NULL;
  bool is_cleaned = log != NULL && entry->cleaning != NULL && entry->cleaning->is_running;
  if (is_cleaned) {
    // Its files get other names meanwhile. The pass sees the move, ends and wakes this; no other begins.
    mover->state = LOG_MOVER_WAITING;
  } else if (log != NULL) {
    entry->users++;
  }
  pthread_mutex_unlock(&mgr->lock);
  if (log == NULL) {
    mover_end(mover);
  }
  if (log == NULL || is_cleaned) {
    return;
  }
  int result = mover_copy(mover, log);
  bool is_over = result < 0 && !mover_may_retry(mover, result);
  if (result == 0) {
    pthread_mutex_lock(&mgr->lock);
    mover->state = LOG_MOVER_SWITCHING;
    pthread_mutex_unlock(&mgr->lock);
    mgr->hooks.with_appender(mgr->hooks.arg, entry->owner, log, mover_switch, mover);
    // The mover may be gone by now; the entry is ours.
  }
  pthread_mutex_lock(&mgr->lock);
  release_user(mgr, entry);
  if (result > 0) {
    mover_submit(mover);
  } else if (result < 0 && !is_over) {
    mover->state = LOG_MOVER_WAITING;
  }
  pthread_mutex_unlock(&mgr->lock);
  if (is_over) {
    mover_end(mover);
  }
}

void log_mover_wake(struct log_mover *mover)
{
  if (mover->state == LOG_MOVER_WAITING && mover->mgr->is_running) {
    mover_submit(mover);
  } else if (mover->state == LOG_MOVER_RESTING && mover->mgr->is_running && mover->entry->state == LOG_ENTRY_OPEN) {
    mover->state = LOG_MOVER_SETTLING;
    mover_use(mover);
    pool_submit(mover->mgr->pool, &mover->job, mover_settle, NULL, NULL);
  }
}

void log_movers_usage(struct log_manager *mgr, const struct log_dir *dir,
                      void (*each_log)(void *arg, const struct log_usage *log), void *arg)
{
  pthread_mutex_lock(&mgr->lock);
  for (const struct log_mover *mover = mgr->movers; mover != NULL; mover = mover->next) {
    const struct log_entry *entry = mover->entry;
    if (mover->to != dir || mover->is_cancelled || mover->is_over || mover->state == LOG_MOVER_SETTLING ||
        mover->state == LOG_MOVER_RESTING || entry->state != LOG_ENTRY_OPEN) {
      continue;
    }
    int64_t end_offset = mover->copy == NULL ? 0 : log_move_end_offset(mover->copy);
    struct log_usage one = {.topic = entry->topic, .partition = entry->partition, .is_future = true};
    one.bytes = mover->copy == NULL ? 0 : log_move_size(mover->copy);
    one.lag = log_end_offset(entry->log) - end_offset;
    each_log(arg, &one);
  }
  pthread_mutex_unlock(&mgr->lock);
}

void log_movers_retry(struct log_manager *mgr)
{
  pthread_mutex_lock(&mgr->lock);
  for (struct log_mover *mover = mgr->movers; mover != NULL; mover = mover->next) {
    log_mover_wake(mover);
  }
  pthread_mutex_unlock(&mgr->lock);
}

// --- after the switch ------------------------------------------------------------------------------------------------

/// Gives up the old folder: from here on only the new one has the partition's name.
static int settle_old(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  struct log_entry *entry = mover->entry;
  char *old = log_dir_partition_path(mover->from, entry->topic, entry->partition);
  char *path = log_dir_suffix_path(mover->from, entry->topic, entry->partition, "delete");
  int result = dir_rename(old, path);
  if (result == 0) {
    deletion_add(&mgr->deletions, path, mgr->file_delete_delay_ms);
  }
  mem_free(old);
  mem_free(path);
  // It may have been renamed when this was tried before.
  return result == 0 || result == ERR_NOT_FOUND ? dir_sync(mover->from->path) : result;
}

/// The switch on disk, then the old folder goes. A disk that fails here leaves the old folder without what came after
/// the switch: it must not come to life again.
///
/// @return false: to be tried again
static bool settle(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  struct log_entry *entry = mover->entry;
  int result = log_move_settle(mover->copy);
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, mover->to, result);
  }
  if (result == 0) {
    result = mover_checkpoint(mover);
  }
  if (log_manager_is_disk_failure(result) || atomic_load(&mover->to->is_offline)) {
    log_manager_set_aside(mover->from, entry->topic, entry->partition, "its log was just moved to a disk that fails");
    return true;
  }
  result = result < 0 ? result : settle_old(mover);
  if (result == 0) {
    slog_info("%s-%" PRId32 " lies in %s now", entry->topic, entry->partition, mover->to->path);
    // The mark tells two folders of one name apart, and only the new one is left.
    if (!mover->has_older && log_move_remove_mark(log_dir(entry->log)) < 0) {
      slog_warn("%s", error_last()->message);
    }
    return true;
  }
  if (!mover->is_reported) {
    slog_warn("%s-%" PRId32 " was moved to %s, but its old folder stays in %s: %s", entry->topic, entry->partition,
              mover->to->path, mover->from->path, error_last()->message);
    mover->is_reported = true;
  }
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, mover->from, result);
  }
  return !log_manager_may_pass(result);
}

/// Ends a move that is done, and begins the next one if somebody has asked for that meanwhile; or has it rest. It is
/// one of its entry's users.
static void mover_finish(struct log_mover *mover)
{
  struct log_manager *mgr = mover->mgr;
  struct log_entry *entry = mover->entry;
  bool is_done = settle(mover);
  pthread_mutex_lock(&mgr->lock);
  struct log_dir *wanted = mover->then;
  mover_release(mover);
  if (is_done) {
    entry->refs++;
    mover_remove(mover);
    if (wanted != NULL && wanted != log_entry_dir(entry) && entry->state == LOG_ENTRY_OPEN) {
      log_mover_begin(mgr, entry, wanted);
    }
    log_entry_unref(entry);
  } else {
    mover->state = LOG_MOVER_RESTING;
  }
  pthread_mutex_unlock(&mgr->lock);
}

void log_mover_drop(struct log_manager *mgr, struct log_entry *entry)
{
  pthread_mutex_lock(&mgr->lock);
  struct log_mover *mover = entry->mover;
  bool is_resting = mover != NULL && mover->state == LOG_MOVER_RESTING;
  if (is_resting) {
    mover->state = LOG_MOVER_SETTLING; // ours
  }
  pthread_mutex_unlock(&mgr->lock);
  if (!is_resting) {
    return;
  }
  if (!atomic_load(&mover->from->is_offline) && settle_old(mover) < 0) {
    slog_warn("an old folder of %s-%" PRId32 ", which is deleted, stays in %s: %s", entry->topic, entry->partition,
              mover->from->path, error_last()->message);
  }
  pthread_mutex_lock(&mgr->lock);
  mover_remove(mover);
  pthread_mutex_unlock(&mgr->lock);
}

static void mover_settle(struct pool_job *job)
{
  mover_finish(CONTAINER_OF(job, struct log_mover, job));
}

void log_movers_stop(struct log_manager *mgr)
{
  for (struct log_mover *mover = mgr->movers; mover != NULL;) {
    struct log_mover *next = mover->next;
    if (mover->state == LOG_MOVER_SETTLING || mover->state == LOG_MOVER_RESTING) {
      mover->then = NULL;
      if (!mover->is_using) {
        mover_use(mover);
      }
      mover_finish(mover);
    }
    mover = next;
  }
  log_movers_forget(mgr);
}

void log_movers_forget(struct log_manager *mgr)
{
  while (mgr->movers != NULL) {
    struct log_mover *mover = mgr->movers;
    mgr->movers = mover->next;
    if (mover->entry->mover == mover) {
      mover->entry->mover = NULL;
    }
    log_entry_unref(mover->entry);
    mover_free(mover);
  }
}

// --- asking ----------------------------------------------------------------------------------------------------------

/// Decides what becomes of an open log that is wanted in a directory. While holding the lock.
static void move_open_log(struct log_manager *mgr, struct log_entry *entry, struct log_dir *to)
{
  struct log_mover *mover = entry->mover;
  if (mover != NULL && (mover->state == LOG_MOVER_SETTLING || mover->state == LOG_MOVER_RESTING)) {
    mover->then = to;
    return;
  }
  if (mover != NULL && mover->to == to) {
    return;
  }
  if (mover != NULL) {
    mover->is_cancelled = true;
    entry->mover = NULL;
    log_mover_wake(mover);
  }
  if (log_entry_dir(entry) != to) {
    log_mover_begin(mgr, entry, to);
  }
}

int log_manager_move_log(struct log_manager *mgr, const char *topic, int32_t partition, const char *path)
{
  struct log_dir *to = dir_at(mgr, path);
  if (to == NULL) {
    return error_set(ERR_NO_LOG_DIR, "no data directory is called %s", path);
  }
  if (atomic_load(&to->is_offline)) {
    return error_set(ERR_STORAGE_OFFLINE, "data directory %s is offline", path);
  }
  int result = 0;
  pthread_mutex_lock(&mgr->lock);
  struct log_entry *entry = log_table_find(&mgr->table, topic, partition);
  if (entry != NULL && entry->state == LOG_ENTRY_OPEN) {
    if (atomic_load(&log_entry_dir(entry)->is_offline)) {
      result = error_set(ERR_STORAGE_OFFLINE, "%s-%" PRId32 " is offline", topic, partition);
    } else {
      move_open_log(mgr, entry, to);
    }
  } else if (entry != NULL && entry->state == LOG_ENTRY_FAILED) {
    result = error_set(ERR_STORAGE_OFFLINE, "%s-%" PRId32 " is offline", topic, partition);
  } else {
    log_manager_put_wish(mgr, topic, partition, to);
    result = error_set(ERR_NOT_FOUND, "%s-%" PRId32 " is not here", topic, partition);
  }
  pthread_mutex_unlock(&mgr->lock);
  return result;
}
