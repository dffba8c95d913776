// SPDX-License-Identifier: Apache-2.0
//
// The four checkpoints of a directory: what goes into each, and when a file has to be written again. A file is written
// by one thread at a time; the entries are gathered before, by one thread for all directories because a log that moves
// belongs to several, so that a later write never has older offsets.
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "log/segment.h"
#include "os/dir.h"

/// Whether a directory's checkpoints have lines of a log: one that moves has them in both, until the old folder is
/// gone.
static bool has_lines_in(const struct log_entry *entry, const struct log_dir *dir)
{
  const struct log_mover *mover = entry->mover;
  return log_entry_dir(entry) == dir || (mover != NULL && (mover->from == dir || mover->to == dir));
}

static bool lies_in(const struct log_entry *entry, const struct log_dir *dir)
{
  return dir == NULL || log_entry_dir(entry) == dir;
}

static struct log_entry **take(struct log_manager *mgr, const struct log_dir *dir,
                               bool (*is_wanted)(const struct log_entry *entry, const struct log_dir *dir),
                               size_t *count)
{
  pthread_mutex_lock(&mgr->lock);
  struct log_entry **entries = mem_array(mgr->table.count + 1, sizeof(struct log_entry *));
  size_t taken = 0;
  for (size_t i = 0; i < mgr->table.count; i++) {
    struct log_entry *entry = mgr->table.entries[i];
    if (entry->state == LOG_ENTRY_OPEN && is_wanted(entry, dir)) {
      entry->users++;
      entries[taken++] = entry;
    }
  }
  pthread_mutex_unlock(&mgr->lock);
  *count = taken;
  return entries;
}

struct log_entry **log_entries_take(struct log_manager *mgr, const struct log_dir *wanted, size_t *count)
{
  return take(mgr, wanted, lies_in, count);
}

void log_entries_release(struct log_manager *mgr, struct log_entry **entries, size_t count)
{
  pthread_mutex_lock(&mgr->lock);
  for (size_t i = 0; i < count; i++) {
    entries[i]->users--;
  }
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
  mem_free(entries);
}

/// The offset that goes into a checkpoint now; -1: no line. Calls hooks, so not while holding the lock.
static int64_t current_offset(struct log_manager *mgr, const struct log_entry *entry, enum log_dir_checkpoint which)
{
  struct log *log = entry->log;
  if (which == LOG_DIR_RECOVERY_POINTS) {
    return log_recovery_point(log);
  }
  if (which == LOG_DIR_CLEAN_OFFSETS) {
    return log_clean_offset(log);
  }
  if (which == LOG_DIR_START_OFFSETS) {
    // As Kafka: only where the segments' names do not say it.
    struct log_segment_info first;
    int64_t start_offset = log_start_offset(log);
    return log_segments(log, &first, 1) == 1 && start_offset > first.base_offset ? start_offset : -1;
  }
  int64_t high_watermark = -1;
  if (mgr->hooks.high_watermark != NULL) {
    high_watermark = mgr->hooks.high_watermark(mgr->hooks.arg, entry->owner, entry->log);
  }
  return high_watermark >= 0 ? high_watermark : entry->offsets[LOG_DIR_HIGH_WATERMARKS];
}

/// Stops at the name of a segment below an offset.
static int find_below(void *arg, const char *name, bool is_dir)
{
  int64_t base_offset = 0;
  return !is_dir && segment_parse_name(name, ".log", &base_offset) && base_offset < *(int64_t *)arg;
}

/// A log's start offset line may go when its segments' names say the same, and do so after a power cut as well: else
/// the deleted records would be back.
static int drop_start_offset(const struct log_entry *entry, bool *is_done)
{
  struct log_segment_info first = {0};
  if (log_segments(entry->log, &first, 1) != 1) {
    return 0;
  }
  // Deleted segments leave the list before they are renamed.
  int result = dir_list(log_dir(entry->log), find_below, &first.base_offset);
  if (result == 0) {
    result = dir_sync(log_dir(entry->log));
    *is_done = result == 0;
  }
  return result < 0 ? result : 0;
}

/// Has the directories of a log write its lines: it may lie in one, and have a copy in another. While holding the lock.
static void mark_lines_stale(struct log_manager *mgr, const struct log_entry *entry, enum log_dir_checkpoint which)
{
  mgr->writers[log_entry_dir(entry) - mgr->dirs].is_stale[which] = true;
  if (entry->mover != NULL) {
    mgr->writers[entry->mover->from - mgr->dirs].is_stale[which] = true;
    mgr->writers[entry->mover->to - mgr->dirs].is_stale[which] = true;
  }
}

/// Brings the entries that have lines in a directory up to date; those that changed are stale then.
///
/// @param[out] failure  the failure of the disk that kept a line from going, untouched when there was none
static void refresh(struct log_manager *mgr, struct log_dir *dir, enum log_dir_checkpoint which, int *failure)
{
  size_t count = 0;
  struct log_entry **entries = take(mgr, dir, has_lines_in, &count);
  int64_t *offsets = mem_array(count + 1, sizeof(int64_t));
  for (size_t i = 0; i < count; i++) {
    offsets[i] = current_offset(mgr, entries[i], which);
    int64_t old = entries[i]->offsets[which];
    if (which == LOG_DIR_START_OFFSETS && offsets[i] < 0 && old >= 0) {
      bool is_done = false;
      int result = drop_start_offset(entries[i], &is_done);
      offsets[i] = is_done ? -1 : old;
      if (log_manager_is_disk_failure(result)) {
        log_manager_fail(mgr, log_entry_dir(entries[i]), result);
        *failure = log_entry_dir(entries[i]) == dir ? result : *failure;
      }
    }
  }
  pthread_mutex_lock(&mgr->lock);
  for (size_t i = 0; i < count; i++) {
    if (entries[i]->offsets[which] != offsets[i]) {
      entries[i]->offsets[which] = offsets[i];
      mark_lines_stale(mgr, entries[i], which);
    }
  }
  pthread_mutex_unlock(&mgr->lock);
  log_entries_release(mgr, entries, count);
  mem_free(offsets);
}

/// The lines of a checkpoint; topics stay valid as long as the caller is inside the epoch. While holding the lock.
static struct checkpoint_entry *gather(struct log_manager *mgr, const struct log_dir *dir,
                                       enum log_dir_checkpoint which, size_t *count)
{
  struct checkpoint_entry *lines = mem_array(mgr->table.count + 1, sizeof *lines);
  size_t used = 0;
  for (size_t i = 0; i < mgr->table.count; i++) {
    const struct log_entry *entry = mgr->table.entries[i];
    if (has_lines_in(entry, dir) && entry->state != LOG_ENTRY_DELETING && entry->offsets[which] >= 0) {
      lines[used].topic = entry->topic;
      lines[used].partition = entry->partition;
      lines[used++].offset = entry->offsets[which];
    }
  }
  *count = used;
  return lines;
}

int log_checkpoints_write(struct log_manager *mgr, struct log_dir *dir, enum log_dir_checkpoint which)
{
  struct log_dir_writer *writer = &mgr->writers[dir - mgr->dirs];
  pthread_mutex_lock(&mgr->lock);
  while (writer->is_writing[which] || mgr->is_gathering[which]) {
    pthread_cond_wait(&mgr->changed, &mgr->lock);
  }
  writer->is_writing[which] = true;
  mgr->is_gathering[which] = true;
  pthread_mutex_unlock(&mgr->lock);

  int failure = 0;
  refresh(mgr, dir, which, &failure);
  size_t count = 0;
  struct checkpoint_entry *lines = NULL;
  pthread_mutex_lock(&mgr->lock);
  if (writer->is_stale[which] && failure == 0) {
    lines = gather(mgr, dir, which, &count);
    writer->is_stale[which] = false;
  }
  mgr->is_gathering[which] = false;
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);

  int result = failure;
  if (lines != NULL) {
    char *path = log_dir_checkpoint_path(dir, which);
    result = checkpoint_write(path, lines, count);
    mem_free(path);
    mem_free(lines);
  }
  pthread_mutex_lock(&mgr->lock);
  writer->is_stale[which] = writer->is_stale[which] || result < 0;
  writer->is_writing[which] = false;
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, dir, result);
  } else if (result < 0) {
    slog_warn("%s; it is tried again later", error_last()->message);
  }
  return result;
}

int log_checkpoints_settle(struct log_manager *mgr, struct log_dir *dir)
{
  const struct log_dir_writer *writer = &mgr->writers[dir - mgr->dirs];
  for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
    pthread_mutex_lock(&mgr->lock);
    bool is_needed = writer->is_stale[which] || writer->is_writing[which];
    pthread_mutex_unlock(&mgr->lock);
    if (is_needed) {
      TRY(log_checkpoints_write(mgr, dir, which));
    }
  }
  return 0;
}

int log_checkpoints_write_all(struct log_manager *mgr, enum log_dir_checkpoint which)
{
  int first = 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (!atomic_load(&mgr->dirs[i].is_offline)) {
      int result = log_checkpoints_write(mgr, &mgr->dirs[i], which);
      first = first == 0 ? result : first;
    }
  }
  return first;
}
