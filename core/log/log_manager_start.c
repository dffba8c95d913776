// SPDX-License-Identifier: Apache-2.0
//
// Start: every wanted log is opened, on several threads a directory, and what nobody wants is set aside.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "log/partition_metadata.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/thread.h"

enum { EMPTY_NAMED_MAX = 10 };

/// What becomes of a folder that was found.
enum found_use {
  FOUND_STRAY,       ///< nobody wants it
  FOUND_OTHER_TOPIC, ///< somebody wants its name, for another topic id
  FOUND_WANTED,      ///< it is opened
  FOUND_STUCK,       ///< of the first two, and cannot be renamed: it stays, and nothing is made in its place
};

/// One log to open.
struct opening {
  struct log_entry *entry;   ///< in state OPENING
  struct log_wanted *wanted; ///< where results go
  bool is_found;             ///< its folder is there
  struct uuid found_id;      ///< what its partition.metadata says; zero: unknown
};

/// The logs of one directory, which several threads open.
struct opening_list {
  struct log_manager *mgr;  ///< whose
  struct opening *openings; ///< owned
  size_t count;             ///< openings
  size_t room;              ///< slots
  _Atomic(size_t) next;     ///< the first that no thread has taken
};

static int find_order(const void *key, const void *item)
{
  const struct log_wanted *wanted = key;
  const struct log_found *found = item;
  int order = strcmp(wanted->topic, found->topic);
  return order != 0 ? order : (wanted->partition > found->partition) - (wanted->partition < found->partition);
}

static struct log_dir *dir_named(struct log_manager *mgr, const char *path)
{
  struct log_dir *dir = mgr->dirs;
  while (dir->path != path) {
    dir++;
  }
  return dir;
}

/// Notes the copies of a partition that a move left unfinished for removal.
static void delete_futures(struct log_manager *mgr, const char *topic, int32_t partition, const struct uuid *topic_id)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    for (size_t j = 0; j < dir->future_count; j++) {
      struct log_dir_future *future = &dir->futures[j];
      if (future->path != NULL && future->partition == partition && strcmp(future->topic, topic) == 0 &&
          uuid_equal(&future->topic_id, topic_id)) {
        dir->leftovers = mem_realloc(dir->leftovers, (dir->leftover_count + 1) * sizeof *dir->leftovers);
        dir->leftovers[dir->leftover_count++] = future->path;
        future->path = NULL;
      }
    }
  }
}

int log_manager_delete_found(struct log_manager *mgr, const char *topic, int32_t partition, const struct uuid *topic_id)
{
  delete_futures(mgr, topic, partition, topic_id);
  struct log_wanted key = {.topic = topic, .partition = partition};
  struct log_found *found = bsearch(&key, mgr->found, mgr->found_count, sizeof *mgr->found, find_order);
  if (found == NULL || (!uuid_is_zero(&found->topic_id) && !uuid_equal(&found->topic_id, topic_id))) {
    return 0;
  }
  struct log_dir *dir = dir_named(mgr, found->dir);
  char *from = log_dir_partition_path(dir, topic, partition);
  char *to = log_dir_suffix_path(dir, topic, partition, "delete");
  int result = dir_rename(from, to);
  mem_free(from);
  if (result < 0) {
    mem_free(to);
    return result;
  }
  dir->leftovers = mem_realloc(dir->leftovers, (dir->leftover_count + 1) * sizeof *dir->leftovers);
  dir->leftovers[dir->leftover_count++] = to;
  size_t at = (size_t)(found - mgr->found);
  memmove(found, found + 1, (mgr->found_count - at - 1) * sizeof *found);
  mgr->found_count--;
  return 0;
}

static void add_opening(struct opening_list *list, struct log_entry *entry, struct log_wanted *wanted,
                        const struct log_found *found)
{
  if (list->count == list->room) {
    list->room = list->room == 0 ? 16 : list->room * 2;
    list->openings = mem_realloc(list->openings, list->room * sizeof *list->openings);
  }
  list->openings[list->count++] = (struct opening){.entry = entry, .wanted = wanted, .is_found = found != NULL};
  if (found != NULL) {
    list->openings[list->count - 1].found_id = found->topic_id;
  }
}

/// Gives wanted logs that lie in a directory to that one's list; notes which folders were wanted.
static void match_found(struct log_manager *mgr, struct log_wanted *wanted, size_t count, struct opening_list *lists,
                        enum found_use *use)
{
  for (size_t i = 0; i < count; i++) {
    wanted[i].log = NULL;
    wanted[i].error = ERR_NOT_FOUND;
    const struct log_found *found = bsearch(&wanted[i], mgr->found, mgr->found_count, sizeof *mgr->found, find_order);
    if (found == NULL) {
      continue;
    }
    if (!uuid_is_zero(&wanted[i].topic_id) && !uuid_is_zero(&found->topic_id) &&
        !partition_metadata_is_of(&found->topic_id, &wanted[i].topic_id)) {
      use[found - mgr->found] = FOUND_OTHER_TOPIC;
      continue;
    }
    if (use[found - mgr->found] == FOUND_WANTED) {
      wanted[i].error = error_set(ERR_EXISTS, "%s-%" PRId32 " is wanted twice", wanted[i].topic, wanted[i].partition);
      continue;
    }
    use[found - mgr->found] = FOUND_WANTED;
    wanted[i].error = 0;
    struct log_dir *dir = dir_named(mgr, found->dir);
    struct log_entry *entry = log_table_add(mgr, wanted[i].topic, wanted[i].partition, dir);
    for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
      checkpoint_find(&dir->checkpoints[which], entry->topic, entry->partition, &entry->offsets[which]);
    }
    int64_t start_offset = log_manager_rest_start_offset(mgr, entry->topic, entry->partition);
    if (start_offset > entry->offsets[LOG_DIR_START_OFFSETS]) {
      entry->offsets[LOG_DIR_START_OFFSETS] = start_offset;
    }
    entry->may_have_holes = mgr->was_adopting || entry->offsets[LOG_DIR_CLEAN_OFFSETS] >= 0;
    add_opening(&lists[dir - mgr->dirs], entry, &wanted[i], found);
  }
}

/// Marks the checkpoints that have lines of partitions that are not there any more; nothing that is made in their
/// directory may find such a line after a crash.
static void mark_stale(struct log_manager *mgr)
{
  for (size_t i = 0; i < mgr->dir_count; i++) {
    for (int which = 0; which < LOG_DIR_CHECKPOINT_COUNT; which++) {
      size_t used = 0;
      for (size_t j = 0; j < mgr->table.count; j++) {
        used += mgr->table.entries[j]->dir == &mgr->dirs[i] && mgr->table.entries[j]->offsets[which] >= 0;
      }
      mgr->writers[i].is_stale[which] = used != mgr->dirs[i].checkpoints[which].count;
      checkpoint_destroy(&mgr->dirs[i].checkpoints[which]);
    }
  }
}

/// Renames what nobody wants; what Kafka left is not ours to rename.
static void set_strays_aside(struct log_manager *mgr, enum found_use *use)
{
  for (size_t i = 0; i < mgr->found_count; i++) {
    const struct log_found *found = &mgr->found[i];
    struct log_dir *dir = dir_named(mgr, found->dir);
    if (use[i] == FOUND_WANTED || atomic_load(&dir->is_offline)) {
      continue;
    }
    if (mgr->was_adopting) {
      slog_warn("%s/%s-%" PRId32 " is not served and left alone", dir->path, found->topic, found->partition);
      use[i] = FOUND_STUCK;
      continue;
    }
    const char *why = use[i] == FOUND_OTHER_TOPIC ? "it is of another topic of that name" : "no topic has it here";
    int result = log_manager_set_aside(dir, found->topic, found->partition, why);
    use[i] = result < 0 ? FOUND_STUCK : use[i];
    if (log_manager_is_disk_failure(result)) {
      log_manager_fail(mgr, dir, result);
    }
  }
}

/// True when a folder that could not be set aside has the name of a wanted log.
static bool is_stuck(const struct log_manager *mgr, const struct log_wanted *wanted, const enum found_use *use)
{
  const struct log_found *found = bsearch(wanted, mgr->found, mgr->found_count, sizeof *mgr->found, find_order);
  return found != NULL && use[found - mgr->found] == FOUND_STUCK;
}

/// Says that a partition that should have records has none; the first ones by name.
static void report_empty(const struct log_wanted *wanted, size_t nth)
{
  if (nth <= EMPTY_NAMED_MAX) {
    slog_warn("%s-%" PRId32 " has no folder in any data directory and starts empty: its data directory may be missing",
              wanted->topic, wanted->partition);
  }
}

/// Places what has no folder yet, in the least loaded directories.
static void place_missing(struct log_manager *mgr, struct log_wanted *wanted, size_t count, struct opening_list *lists,
                          const enum found_use *use)
{
  size_t offline = mgr->missing_count;
  size_t empty = 0;
  log_manager_ask_space(mgr);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    offline += atomic_load(&mgr->dirs[i].is_offline);
  }
  for (size_t i = 0; i < count; i++) {
    if (wanted[i].error != ERR_NOT_FOUND) {
      continue;
    }
    struct log_dir *dir = log_manager_least_loaded(mgr, NULL);
    if (log_table_find(&mgr->table, wanted[i].topic, wanted[i].partition) != NULL) {
      wanted[i].error = ERR_EXISTS;
    } else if (is_stuck(mgr, &wanted[i], use)) {
      wanted[i].error = error_set(ERR_EXISTS, "%s-%" PRId32 " has a folder of another topic in its place",
                                  wanted[i].topic, wanted[i].partition);
      slog_error("cannot open the log: %s", error_last()->message);
    } else if (dir == NULL || (offline > 0 && !wanted[i].is_new)) {
      wanted[i].error =
          error_set(ERR_STORAGE_OFFLINE, "%s-%" PRId32 " may lie in a directory that is offline or missing",
                    wanted[i].topic, wanted[i].partition);
    } else {
      if (!wanted[i].is_new) {
        report_empty(&wanted[i], ++empty);
      }
      add_opening(&lists[dir - mgr->dirs], log_table_add(mgr, wanted[i].topic, wanted[i].partition, dir), &wanted[i],
                  NULL);
    }
  }
  if (empty > EMPTY_NAMED_MAX) {
    slog_warn("%zu more partitions have no folder in any data directory and start empty", empty - EMPTY_NAMED_MAX);
  }
}

/// Brings a log that Kafka wrote to disk as it is now: the next start may then take what lies below its recovery point
/// for granted, holes included, and checks the rest as its own.
static int settle_adopted(struct log *log)
{
  int result = log_flush(log, log_end_offset(log));
  return result == ERR_NO_SPACE ? 0 : result;
}

static void open_some(struct opening_list *list)
{
  for (size_t i; (i = atomic_fetch_add(&list->next, 1)) < list->count;) {
    struct opening *opening = &list->openings[i];
    const struct log_wanted *wanted = opening->wanted;
    int result = log_manager_open_entry(list->mgr, opening->entry, opening->wanted, opening->is_found,
                                        opening->entry->dir->was_clean, &opening->found_id);
    if (result == 0 && list->mgr->was_adopting && opening->is_found && settle_adopted(wanted->log) < 0) {
      log_manager_fail_dir(list->mgr, wanted->log, error_last()->code);
    }
    if (result < 0) {
      slog_error("cannot open the log of %s-%" PRId32 ": %s", wanted->topic, wanted->partition, error_last()->message);
    }
  }
}

static void *run_open(void *arg)
{
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  epoch_enter();
  open_some(arg);
  epoch_leave();
  epoch_unregister();
  return NULL;
}

/// Opens all lists at once; a directory's list by up to `recovery_threads` threads.
static void open_all(struct log_manager *mgr, struct opening_list *lists)
{
  size_t per_dir = (size_t)atomic_load(&mgr->recovery_threads);
  size_t most = mgr->dir_count * per_dir;
  pthread_t *threads = mem_array(most, sizeof *threads);
  size_t started = 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    for (size_t t = 0; t < per_dir && t < lists[i].count; t++) {
      if (thread_start(&threads[started], "luka-recover", run_open, &lists[i]) < 0) {
        break;
      }
      started++;
    }
  }
  for (size_t i = 0; i < mgr->dir_count; i++) {
    open_some(&lists[i]);
  }
  for (size_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
  mem_free(threads);
}

/// Makes the new logs that did not fit in their directory in another one.
static void try_elsewhere(struct log_manager *mgr, const struct opening_list *lists)
{
  for (size_t i = 0; i < mgr->dir_count && mgr->dir_count > 1; i++) {
    for (size_t j = 0; j < lists[i].count; j++) {
      struct log_wanted *wanted = lists[i].openings[j].wanted;
      if (!lists[i].openings[j].is_found && log_manager_may_pass(wanted->error)) {
        log_manager_open_log(mgr, wanted);
      }
    }
  }
}

/// Removes the marker of each directory, so that an end without log_manager_stop() is seen as a crash.
static int remove_markers(struct log_manager *mgr)
{
  size_t working = 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_dir *dir = &mgr->dirs[i];
    if (atomic_load(&dir->is_offline)) {
      continue;
    }
    int result = clean_shutdown_remove(dir->path);
    if (log_manager_is_disk_failure(result)) {
      log_manager_fail(mgr, dir, result);
    } else {
      TRY(result);
      working++;
    }
  }
  return working > 0 ? 0 : error_set(ERR_IO, "no data directory works");
}

static void report(const struct log_manager *mgr, const struct log_wanted *wanted, size_t count, int64_t started_ms)
{
  size_t opened = 0;
  for (size_t i = 0; i < count; i++) {
    opened += wanted[i].log != NULL;
  }
  size_t unclean = 0;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    unclean += !mgr->dirs[i].was_clean && mgr->dirs[i].folder_count > 0;
  }
  if (count > 0) {
    slog_info("%zu of %zu logs opened in %" PRId64 " ms%s", opened, count, clock_mono_ms() - started_ms,
              unclean > 0 ? ", after a stop that was not clean" : "");
  }
}

int log_manager_start(struct log_manager *mgr, struct log_wanted *wanted, size_t count, bool is_adopting)
{
  int64_t started_ms = clock_mono_ms();
  mgr->was_adopting = is_adopting;
  int result = remove_markers(mgr);
  if (result < 0) {
    for (size_t i = 0; i < count; i++) {
      wanted[i].log = NULL;
      wanted[i].error = result;
    }
    return result;
  }
  struct opening_list *lists = mem_array(mgr->dir_count, sizeof *lists);
  enum found_use *use = mem_array(mgr->found_count + 1, sizeof *use);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    lists[i].mgr = mgr;
    mgr->dirs[i].is_started = !atomic_load(&mgr->dirs[i].is_offline);
  }
  log_manager_settle_rests(mgr);
  match_found(mgr, wanted, count, lists, use);
  mark_stale(mgr);
  set_strays_aside(mgr, use);
  place_missing(mgr, wanted, count, lists, use);
  log_manager_find_replays(mgr);
  open_all(mgr, lists);
  try_elsewhere(mgr, lists);
  log_manager_settle_replays(mgr, wanted, count);
  if (is_adopting) {
    log_checkpoints_write_all(mgr, LOG_DIR_RECOVERY_POINTS); // What fails is said there, and is written again later.
  }
  report(mgr, wanted, count, started_ms);
  for (size_t i = 0; i < mgr->dir_count; i++) {
    mem_free(lists[i].openings);
  }
  mem_free(lists);
  mem_free(use);
  mem_free(mgr->found);
  mgr->found = NULL;
  mgr->found_count = 0;
  log_rests_destroy(mgr);
  log_manager_resume(mgr);
  return 0;
}
