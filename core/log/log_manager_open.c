// SPDX-License-Identifier: Apache-2.0
//
// One log: opened, or lost with its directory. Deletion is in log_manager_delete.c.
//
//   (none) -> OPENING -> OPEN -> DELETING -> (none)
//                |
//                +----> FAILED (its folder is there but does not open), or (none)
//
// Who wants a name that somebody opens or deletes waits for it: that is the disk's time, so on the pool.
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "log/partition_metadata.h"
#include "os/clock.h"
#include "os/dir.h"

bool log_manager_is_disk_failure(int code)
{
  return code == ERR_IO || code == ERR_READ_ONLY;
}

struct log_dir *log_manager_dir_of(const struct log_manager *mgr, const struct log *log)
{
  const char *folder = log_dir(log);
  const char *slash = strrchr(folder, '/');
  size_t length = (size_t)(slash - folder);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    if (strlen(mgr->dirs[i].path) == length && memcmp(mgr->dirs[i].path, folder, length) == 0) {
      return &mgr->dirs[i];
    }
  }
  check_failed("a log lies in one of the data directories", __FILE__, __LINE__);
}

bool log_manager_may_pass(int error)
{
  return error == ERR_NO_SPACE || error == ERR_NO_FILES;
}

bool log_manager_is_full(const struct log_manager *mgr, const struct log_dir *dir)
{
  int64_t free_bytes = atomic_load(&dir->space_free_bytes);
  return free_bytes >= 0 && free_bytes <= mgr->reserve_bytes;
}

struct log_dir *log_manager_least_loaded(struct log_manager *mgr, const bool *is_tried)
{
  struct log_dir *best = NULL;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    if (atomic_load(&dir->is_offline) || (is_tried != NULL && is_tried[i])) {
      continue;
    }
    bool is_better = best == NULL || dir->log_count < best->log_count;
    if (best != NULL && log_manager_is_full(mgr, dir) != log_manager_is_full(mgr, best)) {
      is_better = log_manager_is_full(mgr, best);
    }
    best = is_better ? dir : best;
  }
  return best;
}

void log_manager_fail(struct log_manager *mgr, struct log_dir *dir, int cause)
{
  if (atomic_exchange(&dir->is_offline, true)) {
    return;
  }
  const char *why = error_last()->code == cause ? error_last()->message : error_text(cause);
  slog_error("data directory %s is offline until the next start: %s", dir->path, why);
  if (mgr->hooks.dir_failed != NULL) {
    mgr->hooks.dir_failed(mgr->hooks.told_arg, dir->path, why);
  }
  size_t count = 0;
  struct log_entry **entries = log_entries_take(mgr, dir, &count);
  for (size_t i = 0; i < count && mgr->hooks.log_failed != NULL; i++) {
    mgr->hooks.log_failed(mgr->hooks.arg, entries[i]->owner, entries[i]->log, cause);
  }
  log_entries_release(mgr, entries, count);
}

void log_manager_tell_failed(struct log_manager *mgr, struct log_entry *entry)
{
  pthread_mutex_lock(&mgr->lock);
  bool is_lost = entry->state == LOG_ENTRY_OPEN && atomic_load(&log_entry_dir(entry)->is_offline);
  entry->users += is_lost ? 1 : 0;
  pthread_mutex_unlock(&mgr->lock);
  if (!is_lost) {
    return;
  }
  if (mgr->hooks.log_failed != NULL) {
    mgr->hooks.log_failed(mgr->hooks.arg, entry->owner, entry->log, ERR_STORAGE_OFFLINE);
  }
  pthread_mutex_lock(&mgr->lock);
  entry->users--;
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
}

void log_manager_fail_dir(struct log_manager *mgr, struct log *log, int cause)
{
  if (log_manager_is_disk_failure(cause)) {
    log_manager_fail(mgr, log_manager_dir_of(mgr, log), cause);
  }
}

int log_manager_write_recovery_point(struct log_manager *mgr, struct log *log)
{
  return log_checkpoints_write(mgr, log_manager_dir_of(mgr, log), LOG_DIR_RECOVERY_POINTS);
}

bool log_manager_is_offline(const struct log_manager *mgr, const struct log *log)
{
  return atomic_load(&log_manager_dir_of(mgr, log)->is_offline);
}

int log_manager_set_aside(struct log_dir *dir, const char *topic, int32_t partition, const char *why)
{
  char *from = log_dir_partition_path(dir, topic, partition);
  char *to = log_dir_suffix_path(dir, topic, partition, "stray");
  int result = dir_rename(from, to);
  if (result == 0) {
    slog_warn("%s is not served, %s: renamed to %s", from, why, strrchr(to, '/') + 1);
  } else {
    slog_error("%s is not served, %s; it stays where it is: %s", from, why, error_last()->message);
  }
  mem_free(from);
  mem_free(to);
  return result;
}

/// The checkpointed high watermark, where the log's offsets allow it.
static int64_t clamp_high_watermark(const struct log_entry *entry, const struct log *log)
{
  int64_t offset = entry->offsets[LOG_DIR_HIGH_WATERMARKS];
  int64_t start_offset = log_start_offset(log);
  int64_t end_offset = log_end_offset(log);
  return offset < start_offset ? start_offset : offset > end_offset ? end_offset : offset;
}

/// Fills in what log_open() gets; -1 stands for a checkpoint without a line.
static void fill_args(struct log_entry *entry, const struct log_wanted *wanted, bool is_found, bool is_clean,
                      struct log_open_args *args)
{
  int64_t recovery_point = entry->offsets[LOG_DIR_RECOVERY_POINTS];
  int64_t start_offset = entry->offsets[LOG_DIR_START_OFFSETS];
  args->config = *wanted->config;
  args->config.is_compacted = args->config.is_compacted || entry->may_have_holes;
  args->topic_id = wanted->topic_id;
  args->recovery_point = is_found && recovery_point > 0 ? recovery_point : 0;
  args->log_start_offset = is_found && start_offset > 0 ? start_offset : 0;
  args->clean_offset = is_found ? entry->offsets[LOG_DIR_CLEAN_OFFSETS] : -1;
  args->now_ms = clock_wall_ms();
  args->is_clean = is_found && is_clean;
  args->on_deleted = log_manager_on_deleted;
  args->on_rolled = log_manager_on_rolled;
  args->on_unflushed = log_manager_on_unflushed;
  args->on_filled = log_manager_on_filled;
  args->on_cut = log_manager_on_cut;
  args->arg = entry;
}

/// Publishes the outcome of an opening.
static void settle(struct log_entry *entry, struct log_wanted *wanted, bool is_found, struct log *log, int result)
{
  struct log_manager *mgr = entry->mgr;
  wanted->log = log;
  wanted->error = result;
  if (result == 0) {
    wanted->high_watermark = clamp_high_watermark(entry, log);
  }
  pthread_mutex_lock(&mgr->lock);
  if (result == 0) {
    entry->log = log;
    entry->owner = wanted->owner;
    entry->flushed_end = log_end_offset(log);
    entry->topic_id = wanted->topic_id;
    entry->state = LOG_ENTRY_OPEN;
  } else if (is_found) {
    entry->topic_id = wanted->topic_id;
    entry->state = LOG_ENTRY_FAILED;
  } else {
    log_table_remove(mgr, entry);
  }
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
}

/// Writes the recovery point of a log that was cut below it: what is appended next would lie below it unchecked. Nobody
/// may append before.
static int lower_recovery_point(struct log_manager *mgr, struct log_entry *entry, const struct log *log)
{
  int64_t recovery_point = log_recovery_point(log);
  pthread_mutex_lock(&mgr->lock);
  bool is_lower = entry->offsets[LOG_DIR_RECOVERY_POINTS] > recovery_point;
  if (is_lower) {
    entry->offsets[LOG_DIR_RECOVERY_POINTS] = recovery_point;
    mgr->writers[log_entry_dir(entry) - mgr->dirs].is_stale[LOG_DIR_RECOVERY_POINTS] = true;
  }
  pthread_mutex_unlock(&mgr->lock);
  return is_lower ? log_checkpoints_write(mgr, log_entry_dir(entry), LOG_DIR_RECOVERY_POINTS) : 0;
}

int log_manager_open_entry(struct log_manager *mgr, struct log_entry *entry, struct log_wanted *wanted, bool is_found,
                           bool is_clean, const struct uuid *found_id)
{
  struct log_dir *dir = log_entry_dir(entry);
  char *path = log_dir_partition_path(dir, entry->topic, entry->partition);
  struct log_open_args args = {.dir = path};
  if (is_found && found_id != NULL) {
    args.found_id = *found_id;
  }
  fill_args(entry, wanted, is_found, is_clean, &args);
  struct log *log = NULL;
  int result = 0;
  if (atomic_load(&dir->is_offline)) {
    result = error_set(ERR_STORAGE_OFFLINE, "data directory %s is offline", dir->path);
  }
  if (result == 0 && !is_found) {
    result = log_checkpoints_settle(mgr, dir);
  }
  if (result == 0 && !is_found) {
    result = dir_make_new(path);
    args.is_folder_new = result == 0;
  }
  if (result == 0) {
    result = log_open(&args, &log);
  }
  if (result == 0 && is_found) {
    result = lower_recovery_point(mgr, entry, log);
  }
  if (result == 0) {
    // Also where there was no folder: its name may not have been on disk yet.
    result = log_manager_replay(mgr, log, entry->partition);
  }
  if (result == 0 && log_config_waits_for_disk(&args.config)) {
    // Readers see all of it from now on. What a crash left in the page cache is not on disk yet.
    result = log_flush(log, INT64_MAX);
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    if (log != NULL) {
      log_discard(log);
      log = NULL;
    }
    if (log_manager_is_disk_failure(result)) {
      log_manager_fail(mgr, dir, result);
    } else if (args.is_folder_new) {
      dir_remove_all(path);
    }
    error_set(result, "%s", detail.message);
  }
  mem_free(path);
  settle(entry, wanted, is_found, log, result);
  return result;
}

/// Looks for a folder that the table does not know: of a creation or deletion that a failure cut short. One of the
/// wanted topic is used, others are set aside.
static int look_for_folder(struct log_manager *mgr, struct log_entry *entry, const struct log_wanted *wanted,
                           bool *is_found)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    char *path = log_dir_partition_path(dir, entry->topic, entry->partition);
    bool is_there = !atomic_load(&dir->is_offline) && dir_exists(path);
    struct uuid id = {0};
    int result = is_there ? log_read_topic_id(path, &id) : ERR_NOT_FOUND;
    bool is_same = result == 0 && (uuid_is_zero(&wanted->topic_id) || partition_metadata_is_of(&id, &wanted->topic_id));
    is_same = is_same || result == ERR_NOT_FOUND;
    mem_free(path);
    if (!is_there) {
      continue;
    }
    if (!is_same || *is_found) {
      TRY(log_manager_set_aside(dir, entry->topic, entry->partition, "it is of another topic of that name"));
      continue;
    }
    *is_found = true;
    pthread_mutex_lock(&mgr->lock);
    log_table_move(entry, dir);
    pthread_mutex_unlock(&mgr->lock);
  }
  return 0;
}

/// Takes over the entry of a log that did not open. One of the same topic is tried again with what is known of it; of
/// another topic only the name counts. While holding the lock.
static int claim_failed(struct log_manager *mgr, const struct log_wanted *wanted, struct log_entry *entry,
                        struct log_dir *fresh, bool *is_found)
{
  *is_found = uuid_is_zero(&wanted->topic_id) || uuid_equal(&wanted->topic_id, &entry->topic_id);
  if (*is_found) {
    entry->state = LOG_ENTRY_OPENING;
    return 0;
  }
  if (fresh == NULL) {
    return error_set(ERR_STORAGE_OFFLINE, "%s-%" PRId32 " has no data directory that works", wanted->topic,
                     wanted->partition);
  }
  for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
    entry->offsets[which] = -1;
    mgr->writers[log_entry_dir(entry) - mgr->dirs].is_stale[which] = true;
  }
  entry->state = LOG_ENTRY_OPENING;
  log_table_move(entry, fresh);
  return 0;
}

/// Gets hold of the entry of a name, in state OPENING.
static int claim_name(struct log_manager *mgr, const struct log_wanted *wanted, const bool *is_tried,
                      struct log_entry **entry, bool *is_found)
{
  int result = 0;
  pthread_mutex_lock(&mgr->lock);
  struct log_entry *found = NULL;
  while ((found = log_table_find(&mgr->table, wanted->topic, wanted->partition)) != NULL &&
         (found->state == LOG_ENTRY_OPENING || found->state == LOG_ENTRY_DELETING)) {
    pthread_cond_wait(&mgr->changed, &mgr->lock);
  }
  struct log_dir *dir = found == NULL ? log_manager_take_wish(mgr, wanted->topic, wanted->partition, is_tried) : NULL;
  dir = dir != NULL ? dir : log_manager_least_loaded(mgr, is_tried);
  size_t offline = mgr->missing_count;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    offline += atomic_load(&mgr->dirs[i].is_offline);
  }
  if (found != NULL && found->state == LOG_ENTRY_OPEN) {
    result = error_set(ERR_EXISTS, "%s-%" PRId32 " is open", wanted->topic, wanted->partition);
  } else if (found != NULL) {
    result = claim_failed(mgr, wanted, found, offline > 0 && !wanted->is_new ? NULL : dir, is_found);
  } else if (dir == NULL || (offline > 0 && !wanted->is_new)) {
    result = error_set(ERR_STORAGE_OFFLINE, "%s-%" PRId32 " has no data directory that works", wanted->topic,
                       wanted->partition);
  } else {
    found = log_table_add(mgr, wanted->topic, wanted->partition, dir);
  }
  pthread_mutex_unlock(&mgr->lock);
  *entry = found;
  return result;
}

/// Opens a log once. `is_tried` learns the directory in which a new one was tried; `is_last` says whether a failure is
/// the log's own and no other directory would do better.
static int open_once(struct log_manager *mgr, struct log_wanted *wanted, bool *is_tried, bool *is_last)
{
  struct log_entry *entry = NULL;
  bool is_found = false;
  *is_last = true;
  wanted->error = claim_name(mgr, wanted, is_tried, &entry, &is_found);
  TRY(wanted->error);
  if (!is_found) {
    int result = look_for_folder(mgr, entry, wanted, &is_found);
    if (result < 0) {
      settle(entry, wanted, false, NULL, result);
      return result;
    }
  }
  is_tried[log_entry_dir(entry) - mgr->dirs] = true;
  int result = log_manager_open_entry(mgr, entry, wanted, is_found, false, NULL);
  *is_last = is_found || !(log_manager_is_disk_failure(result) || log_manager_may_pass(result));
  return result;
}

int log_manager_open_log(struct log_manager *mgr, struct log_wanted *wanted)
{
  wanted->log = NULL;
  log_manager_ask_space(mgr);
  bool *is_tried = mem_array(mgr->dir_count, sizeof *is_tried);
  // A directory that fails over a new log, or is full, is not the last word while another one works.
  bool is_last = false;
  int result = open_once(mgr, wanted, is_tried, &is_last);
  while (!is_last) {
    struct error_detail first = *error_last();
    int next = open_once(mgr, wanted, is_tried, &is_last);
    if (next == ERR_STORAGE_OFFLINE && log_manager_may_pass(result)) {
      // All were tried: that the disk is full says more.
      wanted->error = error_set(result, "%s", first.message);
      break;
    }
    result = next;
  }
  mem_free(is_tried);
  return result;
}
