// SPDX-License-Identifier: Apache-2.0
//
// luka.producer.type=sync: one flush for all that waits in the logs of a directory.
//
//   appender: log_manager_sync -> waiting      pool: commit: [waits for more] gather, write, fdatasync -> done
//                    \-> waiting meanwhile ................................................ -> the next commit
//
// The records are in their segments' page cache already; the journal (sync_journal.h) gets a copy, and the segments are
// brought to disk later, when a half of the journal is full (release). A crash between the two is what the replay at
// the next start is for (log_manager_replay.c). Nothing is lost when there is no journal, as while it is made, when
// both halves are full, or when a log has too much: then done() says so, or nothing is taken, and a segment is flushed.
//
// How long a flush waits for more. Where the disk takes its time, all that comes meanwhile shares the next flush. On a
// fast disk few come meanwhile, and each flush would serve a few. So a flush waits until five eighths of those are
// there that took part in the last one or waited behind it, who are as many clients as there are in any case; and not
// longer than two flushes take, or a millisecond. Who is alone, or one of two, never waits.
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log_manager_private.h"
#include "log/log_private.h"
#include "os/clock.h"

enum {
  JOURNAL_WAIT_MAX_NS = 1000000,      // that a flush waits for more
  JOURNAL_RETRY_MS = 10000,           // after the file could not be made for want of space
  JOURNAL_COMMIT_BYTES = 1024 * 1024, // gathered for one flush; what waits beyond it comes with the next
};

static const char JOURNAL_NAME[] = "luka.sync-journal";

char *log_journal_path(const struct log_dir *dir)
{
  return mem_printf("%s/%s", dir->path, JOURNAL_NAME);
}

void log_journals_create(struct log_manager *mgr)
{
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  mgr->journals = mem_array(mgr->dir_count, sizeof *mgr->journals);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_journal *journal = &mgr->journals[i];
    *journal = (struct log_journal){.mgr = mgr, .dir = &mgr->dirs[i], .file = {.fd = -1}};
    pthread_mutex_init(&journal->lock, NULL);
    pthread_mutex_init(&journal->io_lock, NULL);
    pthread_cond_init(&journal->more, &attr);
    journal->waiting_end = &journal->waiting;
  }
  pthread_condattr_destroy(&attr);
}

void log_journals_destroy(struct log_manager *mgr)
{
  for (size_t i = 0; mgr->journals != NULL && i < mgr->dir_count; i++) {
    struct log_journal *journal = &mgr->journals[i];
    sync_journal_close(&journal->file);
    sync_group_destroy(&journal->group);
    pthread_cond_destroy(&journal->more);
    pthread_mutex_destroy(&journal->io_lock);
    pthread_mutex_destroy(&journal->lock);
  }
  mem_free(mgr->journals);
  mem_free(mgr->replays);
}

static struct log_journal *journal_of(const struct log_manager *mgr, const struct log *log)
{
  return &mgr->journals[log_manager_dir_of(mgr, log) - mgr->dirs];
}

// --- making the file -------------------------------------------------------------------------------------------------

static void journal_set_state(struct log_journal *journal, enum log_journal_state state)
{
  pthread_mutex_lock(&journal->lock);
  journal->state = state;
  pthread_mutex_unlock(&journal->lock);
}

/// Whether the file would take of the space that is to stay free. After log_manager_ask_space().
static bool journal_is_too_large(const struct log_journal *journal)
{
  int64_t free_bytes = atomic_load(&journal->dir->space_free_bytes);
  return free_bytes >= 0 && free_bytes - INT64_C(2) * SYNC_JOURNAL_HALF_BYTES <= journal->mgr->reserve_bytes;
}

/// Takes the file that is there, which is empty as far as anybody is concerned, or makes it.
static int journal_prepare(struct log_journal *journal)
{
  char *path = log_journal_path(journal->dir);
  int result = sync_journal_open(path, &journal->file);
  if (result == 0 && journal->file.half_bytes == SYNC_JOURNAL_HALF_BYTES) {
    result = sync_journal_reset(&journal->file);
  } else {
    sync_journal_close(&journal->file);
    log_manager_ask_space(journal->mgr);
    result = journal_is_too_large(journal) ? error_set(ERR_NO_SPACE, "no space but what is kept free")
                                           : sync_journal_create(path, SYNC_JOURNAL_HALF_BYTES, &journal->file);
  }
  mem_free(path);
  return result;
}

static void journal_make(struct pool_job *job)
{
  struct log_journal *journal = CONTAINER_OF(job, struct log_journal, make);
  pthread_mutex_lock(&journal->io_lock);
  int result = journal_prepare(journal);
  journal->is_other_free = true;
  pthread_mutex_unlock(&journal->io_lock);
  if (result < 0) {
    slog_warn("%s: no sync journal, so that topics with luka.producer.type=sync take a flush each: %s",
              journal->dir->path, error_last()->message);
  }
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(journal->mgr, journal->dir, result);
  }
  journal_set_state(journal, result == 0                    ? LOG_JOURNAL_READY
                             : log_manager_may_pass(result) ? LOG_JOURNAL_NONE
                                                            : LOG_JOURNAL_UNUSED);
}

/// Whether a log may wait for the journal. Has it made, if it was not there yet. While holding the lock.
static bool journal_is_ready(struct log_journal *journal)
{
  int64_t now_ms = journal->state == LOG_JOURNAL_NONE ? clock_mono_ms() : 0;
  if (journal->state == LOG_JOURNAL_NONE && (journal->made_ms == 0 || now_ms - journal->made_ms >= JOURNAL_RETRY_MS)) {
    journal->made_ms = now_ms;
    bool is_taken = log_manager_submit(journal->mgr, &journal->make, journal_make);
    journal->state = is_taken ? LOG_JOURNAL_MAKING : LOG_JOURNAL_NONE;
  }
  return journal->state == LOG_JOURNAL_READY;
}

// --- emptying a half -------------------------------------------------------------------------------------------------

/// Flushes a log as far as it went into a journal. @return whether nothing of a journal is needed for it
static bool release_log(struct log_manager *mgr, struct log_entry *entry)
{
  struct log *log = entry->log;
  int64_t journaled_offset = log_journaled_offset(log);
  int64_t end_offset = log_end_offset(log);
  // What was gathered while records were cut off may say more than there is.
  journaled_offset = journaled_offset < end_offset ? journaled_offset : end_offset;
  if (journaled_offset <= log_recovery_point(log) || atomic_load(&log_entry_dir(entry)->is_offline)) {
    return true;
  }
  log_manager_flush(mgr, entry, log, journaled_offset);
  return log_recovery_point(log) >= journaled_offset || log_journaled_offset(log) < journaled_offset;
}

/// On the pool: brings to disk what the other half has, so that it may be written. All logs that ever went into a
/// journal are looked at, wherever they lie: one may have moved away from this directory.
static void journal_release(struct pool_job *job)
{
  struct log_journal *journal = CONTAINER_OF(job, struct log_journal, release);
  size_t count = 0;
  pthread_mutex_lock(&journal->io_lock);
  uint64_t turns = journal->turns;
  pthread_mutex_unlock(&journal->io_lock);
  // Taken, so that none is missed because the table changes meanwhile; what is deleted waits for us.
  struct log_entry **entries = log_entries_take(journal->mgr, NULL, &count);
  bool is_free = true;
  for (size_t i = 0; i < count; i++) {
    epoch_leave();
    epoch_enter();
    is_free = release_log(journal->mgr, entries[i]) && is_free;
  }
  log_entries_release(journal->mgr, entries, count);
  pthread_mutex_lock(&journal->io_lock);
  // After a turn the other half is one that was still written while logs were flushed here: it takes another pass.
  if (journal->turns == turns) {
    journal->is_other_free = is_free;
  }
  pthread_mutex_unlock(&journal->io_lock);
  atomic_store(&journal->is_releasing, false);
}

static void journal_submit_release(struct log_journal *journal)
{
  if (!atomic_exchange(&journal->is_releasing, true) &&
      !log_manager_submit(journal->mgr, &journal->release, journal_release)) {
    atomic_store(&journal->is_releasing, false);
  }
}

/// Has room for the group in the file. @return false: not now. Holding io_lock
static bool journal_has_room(struct log_journal *journal)
{
  if (sync_journal_fits(&journal->file, &journal->group)) {
    return true;
  }
  bool is_free = journal->is_other_free;
  if (is_free) {
    sync_journal_turn(&journal->file);
    journal->is_other_free = false;
    journal->turns++;
  }
  journal_submit_release(journal);
  return is_free;
}

// --- one flush -------------------------------------------------------------------------------------------------------

/// Waits until enough wait. Holding the lock.
static void commit_wait(struct log_journal *journal)
{
  int64_t wait_ns = 2 * journal->flush_ns;
  wait_ns = wait_ns < JOURNAL_WAIT_MAX_NS ? wait_ns : JOURNAL_WAIT_MAX_NS;
  int64_t until_ns = clock_mono_ns() + wait_ns;
  struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  journal->target = journal->crowd - journal->crowd * 3 / 8;
  journal->is_gathering = true;
  while (journal->appends < journal->target &&
         pthread_cond_timedwait(&journal->more, &journal->lock, &until) != ETIMEDOUT) {
  }
  journal->is_gathering = false;
}

/// Gathers what the waiting logs have; the `result` of one that does not go into the group is not 0.
///
/// @return those for whom there is no room left; the others stay in `waiting`
static struct log_sync *commit_gather(struct log_journal *journal, struct log_sync *waiting)
{
  struct log_sync **end = &waiting;
  journal->group.size = 0;
  journal->group.count = 0;
  while (*end != NULL && journal->group.size < JOURNAL_COMMIT_BYTES) {
    struct log_sync *sync = *end;
    struct log *log = sync->find(sync);
    bool is_here = log != NULL && log_manager_dir_of(journal->mgr, log) == journal->dir;
    bool is_taken =
        is_here && log_sync_gather(log, sync->partition, LOG_SYNC_BYTES_MAX, &journal->group, &sync->range) == 0;
    sync->result = is_taken ? 0 : ERR_AGAIN;
    end = &sync->next;
  }
  struct log_sync *rest = *end;
  *end = NULL;
  return rest;
}

/// Writes what was gathered.
static int commit_write(struct log_journal *journal)
{
  if (journal->group.count == 0) {
    return 0;
  }
  if (!journal_has_room(journal)) {
    return ERR_AGAIN;
  }
  int result = sync_journal_write(&journal->file, &journal->group);
  if (result == ERR_NO_SPACE || result == ERR_NO_FILES) {
    return ERR_AGAIN; // Nothing was flushed, so nothing is lost: as if there were no journal.
  }
  if (result < 0) {
    // What it was to bring to disk is not known to be there: nothing more counts.
    journal_set_state(journal, LOG_JOURNAL_UNUSED);
    struct error_detail detail = *error_last();
    result = error_record(ERR_IO, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  return result;
}

static void commit_run(struct log_journal *journal)
{
  pthread_mutex_lock(&journal->lock);
  commit_wait(journal);
  struct log_sync *waiting = journal->waiting;
  int64_t appends = journal->appends;
  journal->waiting = NULL;
  journal->waiting_end = &journal->waiting;
  journal->appends = 0;
  pthread_mutex_unlock(&journal->lock);

  int64_t began_ns = clock_mono_ns();
  pthread_mutex_lock(&journal->io_lock);
  struct log_sync *rest = commit_gather(journal, waiting);
  int result = commit_write(journal);
  pthread_mutex_unlock(&journal->io_lock);
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(journal->mgr, journal->dir, result); // Not while holding a lock: it asks for appenders.
  }

  pthread_mutex_lock(&journal->lock);
  int64_t took_ns = clock_mono_ns() - began_ns;
  journal->flush_ns += (took_ns - journal->flush_ns) / 8;
  journal->crowd = appends + journal->appends;
  if (rest != NULL) {
    struct log_sync **end = &rest;
    while (*end != NULL) {
      end = &(*end)->next;
    }
    *end = journal->waiting;
    journal->waiting_end = journal->waiting == NULL ? end : journal->waiting_end;
    journal->waiting = rest;
  }
  pthread_mutex_unlock(&journal->lock);
  while (waiting != NULL) {
    struct log_sync *sync = waiting;
    waiting = sync->next;
    sync->done(sync, sync->result < 0 ? sync->result : result);
  }
}

/// On the pool: one flush, then a job of its own for the next, so that others have their turn.
static void journal_commit(struct pool_job *job)
{
  struct log_journal *journal = CONTAINER_OF(job, struct log_journal, commit);
  bool is_going = true;
  while (is_going) {
    commit_run(journal);
    pthread_mutex_lock(&journal->lock);
    is_going = journal->waiting != NULL;
    // When the broker stops nothing more is submitted: those who wait are served here.
    if (is_going && log_manager_submit(journal->mgr, &journal->commit, journal_commit)) {
      is_going = false;
    } else {
      journal->is_running = is_going;
    }
    pthread_mutex_unlock(&journal->lock);
  }
}

// --- who waits -------------------------------------------------------------------------------------------------------

/// Counts appends; wakes who waits for them. While holding the lock.
static void journal_count(struct log_journal *journal, int32_t appends)
{
  journal->appends += appends;
  if (journal->is_gathering && journal->appends >= journal->target) {
    pthread_cond_signal(&journal->more);
  }
}

bool log_manager_sync(struct log_manager *mgr, struct log *log, struct log_sync *sync, int32_t appends)
{
  struct log_journal *journal = journal_of(mgr, log);
  pthread_mutex_lock(&journal->lock);
  bool is_taken = journal_is_ready(journal);
  if (is_taken && !journal->is_running) {
    is_taken = log_manager_submit(mgr, &journal->commit, journal_commit);
    journal->is_running = is_taken;
  }
  if (is_taken) {
    sync->next = NULL;
    *journal->waiting_end = sync;
    journal->waiting_end = &sync->next;
    journal_count(journal, appends);
  }
  pthread_mutex_unlock(&journal->lock);
  return is_taken;
}

void log_manager_sync_more(struct log_manager *mgr, struct log *log, int32_t appends)
{
  struct log_journal *journal = journal_of(mgr, log);
  pthread_mutex_lock(&journal->lock);
  journal_count(journal, appends);
  pthread_mutex_unlock(&journal->lock);
}

int log_manager_on_cut(void *arg, struct log *log)
{
  const struct log_entry *entry = arg;
  struct log_manager *mgr = entry->mgr;
  int result = 0;
  for (size_t i = 0; i < mgr->dir_count && result == 0; i++) {
    // Each of them, as the log may have moved.
    struct log_journal *journal = &mgr->journals[i];
    pthread_mutex_lock(&journal->lock);
    bool is_ready = journal->state == LOG_JOURNAL_READY;
    pthread_mutex_unlock(&journal->lock);
    if (!is_ready || atomic_load(&journal->dir->is_offline)) {
      continue;
    }
    pthread_mutex_lock(&journal->io_lock);
    struct sync_entry forget = {.partition = entry->partition, .kind = SYNC_ENTRY_FORGET};
    log_topic_id(log, &forget.topic_id);
    journal->group.size = 0;
    journal->group.count = 0;
    sync_group_reserve(&journal->group, 0);
    sync_group_add(&journal->group, &forget);
    result = commit_write(journal);
    pthread_mutex_unlock(&journal->io_lock);
  }
  return result;
}
