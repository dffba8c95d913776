// SPDX-License-Identifier: Apache-2.0
//
// What moves between directories left behind when the last process ended:
//
//   <topic>-<partition> twice, with other marks  the switch was made: the one with the higher mark is the log (see
//                                                log_move.h), the other one goes
//   <topic>-<partition>.<id>-future              it was not: the copy goes, and the move begins anew
//
// Start-up thread.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log_manager_private.h"
#include "log/log_move.h"
#include "os/dir.h"

static struct log_dir *dir_of_found(struct log_manager *mgr, const struct log_found *found)
{
  struct log_dir *dir = mgr->dirs;
  while (dir->path != found->dir) {
    dir++;
  }
  return dir;
}

static int64_t mark_of_found(struct log_manager *mgr, const struct log_found *found)
{
  char *path = log_dir_partition_path(dir_of_found(mgr, found), found->topic, found->partition);
  int64_t mark = log_move_mark(path);
  mem_free(path);
  return mark;
}

int log_manager_keep_moved(struct log_manager *mgr, const struct log_found *found, const struct log_found *other)
{
  if (!uuid_equal(&found->topic_id, &other->topic_id) || mark_of_found(mgr, found) <= mark_of_found(mgr, other)) {
    return 0;
  }
  mgr->rests = mem_realloc(mgr->rests, (mgr->rest_count + 1) * sizeof *mgr->rests);
  // What the other one won against before is the new one's to win against now.
  for (size_t i = 0; i < mgr->rest_count; i++) {
    struct log_rest *rest = &mgr->rests[i];
    if (rest->partition == other->partition && strcmp(rest->topic, other->topic) == 0) {
      rest->winner = dir_of_found(mgr, found);
    }
  }
  mgr->rests[mgr->rest_count++] = (struct log_rest){
      .topic = mem_strdup(other->topic),
      .partition = other->partition,
      .dir = dir_of_found(mgr, other),
      .winner = dir_of_found(mgr, found),
  };
  return 1;
}

int64_t log_manager_rest_start_offset(const struct log_manager *mgr, const char *topic, int32_t partition)
{
  int64_t offset = -1;
  for (size_t i = 0; i < mgr->rest_count; i++) {
    const struct log_rest *rest = &mgr->rests[i];
    if (rest->partition == partition && strcmp(rest->topic, topic) == 0) {
      checkpoint_find(&rest->dir->checkpoints[LOG_DIR_START_OFFSETS], topic, partition, &offset);
    }
  }
  return offset;
}

static void add_leftover(struct log_dir *dir, char *path)
{
  dir->leftovers = mem_realloc(dir->leftovers, (dir->leftover_count + 1) * sizeof *dir->leftovers);
  dir->leftovers[dir->leftover_count++] = path;
}

/// Renames an old folder once the one that counts is sure to be found under its name.
static int settle_rest(const struct log_rest *rest)
{
  char *from = log_dir_partition_path(rest->dir, rest->topic, rest->partition);
  char *to = log_dir_suffix_path(rest->dir, rest->topic, rest->partition, "delete");
  int result = dir_sync(rest->winner->path);
  if (result == 0) {
    result = dir_rename(from, to);
  }
  if (result == 0) {
    slog_info("%s was moved to %s before the last stop", from, rest->winner->path);
    add_leftover(rest->dir, to);
    to = NULL;
    result = dir_sync(rest->dir->path);
  }
  mem_free(from);
  mem_free(to);
  return result;
}

/// Whether an older folder of a partition may still be somewhere: here, or in a directory that cannot be looked into.
static bool may_have_older(const struct log_manager *mgr, const struct log_rest *rest)
{
  bool may_have = mgr->missing_count > 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    may_have = may_have || atomic_load(&mgr->dirs[i].is_offline);
  }
  for (size_t i = 0; i < mgr->rest_count; i++) {
    const struct log_rest *other = &mgr->rests[i];
    bool is_same = other->partition == rest->partition && strcmp(other->topic, rest->topic) == 0;
    may_have = may_have || (is_same && !other->is_settled);
  }
  return may_have;
}

void log_manager_settle_rests(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->rest_count; i++) {
    struct log_rest *rest = &mgr->rests[i];
    rest->is_settled = settle_rest(rest) == 0;
    if (!rest->is_settled) {
      slog_warn("the old folder of %s-%" PRId32 " stays in %s until the next start: %s", rest->topic, rest->partition,
                rest->dir->path, error_last()->message);
    }
  }
  // A mark goes last: without it an older folder, which may have one, would win.
  for (size_t i = 0; i < mgr->rest_count; i++) {
    const struct log_rest *rest = &mgr->rests[i];
    char *kept = log_dir_partition_path(rest->winner, rest->topic, rest->partition);
    if (!may_have_older(mgr, rest) && log_move_remove_mark(kept) < 0) {
      slog_warn("%s", error_last()->message);
    }
    mem_free(kept);
  }
}

void log_rests_destroy(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->rest_count; i++) {
    mem_free(mgr->rests[i].topic);
  }
  mem_free(mgr->rests);
  mgr->rests = NULL;
  mgr->rest_count = 0;
}

/// Begins one move anew. @return false when the folder is left alone
static bool resume(struct log_manager *mgr, struct log_dir *dir, struct log_dir_future *future)
{
  struct log_entry *entry = log_table_find(&mgr->table, future->topic, future->partition);
  if (entry == NULL || entry->state != LOG_ENTRY_OPEN ||
      (!uuid_is_zero(&future->topic_id) && !uuid_equal(&future->topic_id, &entry->topic_id))) {
    return false;
  }
  if (log_entry_dir(entry) != dir && entry->mover == NULL) {
    log_mover_begin(mgr, entry, dir);
  }
  add_leftover(dir, future->path);
  future->path = NULL;
  return true;
}

void log_manager_resume(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    size_t left = 0;
    for (size_t j = 0; j < dir->future_count && !atomic_load(&dir->is_offline); j++) {
      pthread_mutex_lock(&mgr->lock);
      left += dir->futures[j].path != NULL && (mgr->was_adopting || !resume(mgr, dir, &dir->futures[j]));
      pthread_mutex_unlock(&mgr->lock);
    }
    if (left > 0) {
      slog_warn("%zu -future folders in %s are left alone", left, dir->path);
    }
  }
}
