// SPDX-License-Identifier: Apache-2.0
//
// What the sync journals had when the last process ended, at start. After a clean stop all is in the segments and the
// journals are emptied. After a crash each log, once it is recovered, gets from them what it has not, and is brought to
// disk; then they are emptied. A log may find its records in another directory's journal: it has moved just before.
//
// What belongs to a log that did not open stays in its journal, which is not used then until a start finds the log.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/log.h"
#include "log/log_manager_private.h"
#include "os/clock.h"
#include "os/dir.h"

/// Where entries are put while a journal is read.
struct replay_list {
  struct log_manager *mgr;     ///< whose
  struct log_journal *journal; ///< which is read
  size_t first;                ///< of its entries
  size_t room;                 ///< slots
};

static int compare_key(const struct sync_entry *a, const struct sync_entry *b)
{
  int order = memcmp(a->topic_id.bytes, b->topic_id.bytes, sizeof a->topic_id.bytes);
  return order != 0 ? order : (a->partition > b->partition) - (a->partition < b->partition);
}

static int compare_replays(const void *left, const void *right)
{
  const struct sync_entry *a = &((const struct log_replay *)left)->entry;
  const struct sync_entry *b = &((const struct log_replay *)right)->entry;
  int order = compare_key(a, b);
  return order != 0 ? order : (a->base_offset > b->base_offset) - (a->base_offset < b->base_offset);
}

static int note_entry(void *arg, const struct sync_entry *entry)
{
  struct replay_list *list = arg;
  struct log_manager *mgr = list->mgr;
  if (entry->kind == SYNC_ENTRY_FORGET) {
    size_t kept = list->first;
    for (size_t i = list->first; i < mgr->replay_count; i++) {
      if (compare_key(&mgr->replays[i].entry, entry) != 0) {
        mgr->replays[kept++] = mgr->replays[i];
      }
    }
    mgr->replay_count = kept;
    return 0;
  }
  if (mgr->replay_count == list->room) {
    list->room = list->room == 0 ? 256 : list->room * 2;
    mgr->replays = mem_realloc(mgr->replays, list->room * sizeof *mgr->replays);
  }
  mgr->replays[mgr->replay_count++] = (struct log_replay){.entry = *entry, .journal = list->journal};
  return 0;
}

/// Reads one directory's journal, or empties it when nothing of it is needed.
static int find_in(struct replay_list *list, const char *path)
{
  struct log_journal *journal = list->journal;
  if (access(path, F_OK) != 0 && errno == ENOENT) {
    return 0;
  }
  int result = sync_journal_open(path, &journal->file);
  if (result == ERR_CORRUPT) {
    slog_error("%s; what can be read of it is used", error_last()->message);
    result = 0;
  }
  TRY(result);
  if (journal->dir->was_clean) {
    return 0;
  }
  struct sync_reading reading;
  list->first = list->mgr->replay_count;
  TRY(sync_journal_read(&journal->file, note_entry, list, &reading));
  if (reading.missing > 0) {
    slog_error("%s: %" PRIu64 " of its groups are damaged and left out", path, reading.missing);
  }
  journal->is_kept = list->mgr->replay_count > list->first;
  return 0;
}

/// Takes the directory of a journal offline.
static void fail_dir(struct log_journal *journal, const char *what)
{
  struct error_detail detail = *error_last();
  log_manager_fail(journal->mgr, journal->dir,
                   error_record(ERR_IO, 0, detail.file, detail.line, "its sync journal cannot be %s: %.*s", what,
                                ERROR_MESSAGE_SIZE / 2, detail.message));
}

void log_manager_find_replays(struct log_manager *mgr)
{
  struct replay_list list = {.mgr = mgr};
  for (size_t i = 0; i < mgr->dir_count; i++) {
    list.journal = &mgr->journals[i];
    if (atomic_load(&mgr->dirs[i].is_offline)) {
      continue;
    }
    char *path = log_journal_path(&mgr->dirs[i]);
    char *unfinished = mem_printf("%s.tmp", path);
    dir_remove_file(unfinished); // As large as the file; whoever makes the next one would replace it.
    int result = find_in(&list, path);
    mem_free(unfinished);
    mem_free(path);
    if (result < 0) {
      // Records may be missing that were acknowledged: nothing of that disk is served without them.
      fail_dir(list.journal, "read");
    }
  }
  if (mgr->replay_count > 0) {
    qsort(mgr->replays, mgr->replay_count, sizeof *mgr->replays, compare_replays);
  }
}

/// The entries of a log. @return how many
static size_t find_replays(const struct log_manager *mgr, const struct uuid *topic_id, int32_t partition,
                           const struct log_replay **first)
{
  const struct sync_entry key = {.topic_id = *topic_id, .partition = partition};
  size_t low = 0;
  size_t high = mgr->replay_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_key(&mgr->replays[middle].entry, &key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *first = mgr->replays + low;
  size_t end = low;
  while (end < mgr->replay_count && compare_key(&mgr->replays[end].entry, &key) == 0) {
    end++;
  }
  return end - low;
}

int log_manager_replay(struct log_manager *mgr, struct log *log, int32_t partition)
{
  struct uuid topic_id;
  log_topic_id(log, &topic_id);
  const struct log_replay *replays = NULL;
  size_t count = mgr->replay_count == 0 ? 0 : find_replays(mgr, &topic_id, partition, &replays);
  if (count == 0) {
    return 0;
  }
  int64_t from_offset = log_end_offset(log);
  int64_t total = 0;
  int result = 0;
  for (size_t i = 0; i < count && result == 0; i++) {
    // One after another, as they may lie in several files.
    int64_t records = 0;
    size_t run = 1;
    while (i + run < count && replays[i + run].journal == replays[i].journal) {
      run++;
    }
    struct sync_entry *entries = mem_array(run, sizeof *entries);
    for (size_t j = 0; j < run; j++) {
      entries[j] = replays[i + j].entry;
    }
    result = log_sync_replay(log, replays[i].journal->file.fd, entries, run, clock_wall_ms(), &records);
    mem_free(entries);
    total += records;
    i += run - 1;
  }
  if (total > 0) {
    slog_info("%s: %" PRId64 " records from offset %" PRId64 " on come from the sync journal", log_dir(log), total,
              from_offset);
  }
  // What the log had already may be in the page cache alone, and the journal will be emptied.
  return result < 0 ? result : log_flush(log, INT64_MAX);
}

/// Whether a log that did not open is the one of an entry.
static bool is_waited_for(const struct log_manager *mgr, const struct log_wanted *wanted, struct log_journal *journal)
{
  const struct log_replay *replays = NULL;
  size_t count = find_replays(mgr, &wanted->topic_id, wanted->partition, &replays);
  for (size_t i = 0; i < count; i++) {
    if (replays[i].journal == journal) {
      return true;
    }
  }
  return false;
}

/// Empties a journal, or removes one that cannot be emptied.
static void empty(struct log_journal *journal)
{
  int result = journal->file.half_bytes == SYNC_JOURNAL_HALF_BYTES ? sync_journal_reset(&journal->file) : ERR_CORRUPT;
  sync_journal_close(&journal->file);
  if (result == 0) {
    return;
  }
  char *path = log_journal_path(journal->dir);
  result = dir_remove_file(path);
  result = result < 0 ? result : dir_sync(journal->dir->path);
  mem_free(path);
  if (result < 0) {
    fail_dir(journal, "emptied");
  }
}

void log_manager_settle_replays(struct log_manager *mgr, const struct log_wanted *wanted, size_t count)
{
  bool is_kept = false;
  for (size_t i = 0; i < mgr->dir_count; i++) {
    struct log_journal *journal = &mgr->journals[i];
    if (journal->file.fd < 0 || atomic_load(&journal->dir->is_offline)) {
      continue;
    }
    size_t waiting = 0;
    for (size_t j = 0; j < count && journal->is_kept; j++) {
      waiting += wanted[j].log == NULL && is_waited_for(mgr, &wanted[j], journal);
    }
    if (waiting == 0) {
      journal->is_kept = false;
      empty(journal);
    } else {
      is_kept = true;
      journal->state = LOG_JOURNAL_UNUSED;
      slog_warn("%s: its sync journal is kept as it is: %zu partitions that did not open may need it",
                journal->dir->path, waiting);
    }
  }
  if (!is_kept) {
    mem_free(mgr->replays);
    mgr->replays = NULL;
    mgr->replay_count = 0;
  }
}
