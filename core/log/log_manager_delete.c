// SPDX-License-Identifier: Apache-2.0
//
// One log deleted: its folder is renamed to -delete, which is on disk before the deletion counts as done, and its files
// go later. A log that did not open has a folder as well.
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "os/dir.h"

/// Has a renamed folder removed when its time has come, and its new name on disk: a folder that is back under its old
/// name after a power cut would be in the way of a new topic.
static int finish_rename(struct log_manager *mgr, const struct log_dir *dir, const char *path)
{
  CHECK(dir != NULL);
  deletion_add(&mgr->deletions, path, mgr->file_delete_delay_ms);
  return dir_sync(dir->path);
}

/// Takes an entry in state DELETING out of the table, and its lines out of the checkpoints of its directory.
static void forget(struct log_manager *mgr, struct log_entry *entry)
{
  pthread_mutex_lock(&mgr->lock);
  for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
    mgr->writers[log_entry_dir(entry) - mgr->dirs].is_stale[which] = true;
  }
  entry->log = NULL;
  log_table_remove(mgr, entry);
  pthread_cond_broadcast(&mgr->changed);
  pthread_mutex_unlock(&mgr->lock);
}

int log_manager_delete_log(struct log_manager *mgr, struct log *log)
{
  pthread_mutex_lock(&mgr->lock);
  struct log_entry *entry = log_table_find_log(&mgr->table, log);
  CHECK(entry != NULL && entry->state == LOG_ENTRY_OPEN);
  entry->state = LOG_ENTRY_DELETING;
  if (entry->mover != NULL) {
    log_mover_wake(entry->mover);
  }
  while (entry->users > 0) {
    pthread_cond_wait(&mgr->changed, &mgr->lock);
  }
  pthread_mutex_unlock(&mgr->lock);
  log_mover_drop(mgr, entry);

  struct log_dir *dir = log_entry_dir(entry);
  int result = 0;
  if (atomic_load(&dir->is_offline)) {
    result = error_set(ERR_STORAGE_OFFLINE, "data directory %s is offline", dir->path);
  } else {
    char *path = log_dir_suffix_path(dir, entry->topic, entry->partition, "delete");
    result = log_rename(log, path);
    if (result == 0) {
      slog_debug("%s-%" PRId32 " is deleted: its files go in %" PRId64 " ms", entry->topic, entry->partition,
                 mgr->file_delete_delay_ms);
      result = finish_rename(mgr, dir, path);
    }
    mem_free(path);
  }
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, dir, result);
  }
  log_discard(log);
  forget(mgr, entry);
  return result;
}

/// Gets hold of a name, in state DELETING; of an entry that failed or of none. `failed` is the directory of the former.
static int claim_failed(struct log_manager *mgr, const char *topic, int32_t partition, const struct uuid *topic_id,
                        struct log_entry **entry, struct log_dir **failed)
{
  int result = 0;
  pthread_mutex_lock(&mgr->lock);
  struct log_entry *found = NULL;
  while ((found = log_table_find(&mgr->table, topic, partition)) != NULL &&
         (found->state == LOG_ENTRY_OPENING || found->state == LOG_ENTRY_DELETING)) {
    pthread_cond_wait(&mgr->changed, &mgr->lock);
  }
  *failed = NULL;
  if (found != NULL && found->state == LOG_ENTRY_OPEN) {
    result = error_set(ERR_EXISTS, "%s-%" PRId32 " is open", topic, partition);
  } else if (found == NULL) {
    found = log_table_add(mgr, topic, partition, &mgr->dirs[0]);
  } else if (uuid_equal(&found->topic_id, topic_id)) {
    *failed = found->dir;
  } else if (!uuid_is_zero(&found->topic_id)) {
    found = NULL; // another topic's by now
  }
  if (result == 0 && found != NULL) {
    found->state = LOG_ENTRY_DELETING;
  }
  pthread_mutex_unlock(&mgr->lock);
  *entry = result == 0 ? found : NULL;
  return result;
}

/// Deletes the partition's folder in one directory, if it is the topic's.
///
/// @param is_failed  the log did not open from here: a folder whose topic id cannot be read is the one
static int delete_in(struct log_manager *mgr, struct log_dir *dir, const struct log_entry *entry,
                     const struct uuid *topic_id, bool is_failed)
{
  char *from = log_dir_partition_path(dir, entry->topic, entry->partition);
  char *to = log_dir_suffix_path(dir, entry->topic, entry->partition, "delete");
  int result = 0;
  if (dir_exists(from)) {
    struct uuid id = {0};
    int read = log_read_topic_id(from, &id);
    bool is_ours = read == 0 ? uuid_equal(&id, topic_id) : is_failed || read == ERR_NOT_FOUND;
    result = log_manager_is_disk_failure(read) ? read : is_ours ? dir_rename(from, to) : 0;
    if (result == 0 && is_ours) {
      slog_debug("%s is deleted, though it did not open: its files go in %" PRId64 " ms", from,
                 mgr->file_delete_delay_ms);
      result = finish_rename(mgr, dir, to);
    }
  }
  mem_free(from);
  mem_free(to);
  if (log_manager_is_disk_failure(result)) {
    log_manager_fail(mgr, dir, result);
  }
  return result;
}

int log_manager_delete_failed(struct log_manager *mgr, const char *topic, int32_t partition,
                              const struct uuid *topic_id)
{
  struct log_entry *entry = NULL;
  struct log_dir *failed = NULL;
  TRY(claim_failed(mgr, topic, partition, topic_id, &entry, &failed));
  if (entry == NULL) {
    return 0;
  }
  int first = 0;
  struct error_detail detail = {0};
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    int result = 0;
    if (!atomic_load(&dir->is_offline)) {
      result = delete_in(mgr, dir, entry, topic_id, dir == failed);
    } else if (failed != NULL && dir == failed) {
      result = error_set(ERR_STORAGE_OFFLINE, "data directory %s is offline", dir->path);
    }
    if (result < 0 && first == 0) {
      first = result;
      detail = *error_last();
    }
  }
  forget(mgr, entry);
  return first == 0 ? 0 : error_set(first, "%s", detail.message);
}
