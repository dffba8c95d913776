// SPDX-License-Identifier: Apache-2.0
//
// A cleaned segment in the place of old ones, in steps between which a crash may come:
//
//   *.cleaned               all of it is on disk                          removed at the next start
//   *.swap, .log last       appender; then the folder goes to disk        put in place at the next start
//   the list                appender: readers find the new segment from here on
//   old files *.deleted     appender, at once after that                  removed at the next start
//   *.swap without suffix   appender, .log last; then the folder goes to disk
//
// While files are called *.swap the log must not be cut: what is cut would be back after a crash. So a truncation first
// removes them (log_clean_cancel_swap), as does a deletion at the log's start (log_clean_drop_swap), and the step that
// would put them in place finds that out.
//
// Readers: log->cuts is counted when the new list is there, before any file gets another name. So who has the old list
// and opened the new file under an old segment's name sees that it was counted, and begins anew (log_read.c). Who has
// the new list finds the file open, held here until it has its name. Positions of the newest batches (tail.h) that lie
// in an old segment are forgotten before the new list is there: they are looked up after the list.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "log/log_clean_private.h"
#include "log/log_transactions.h"
#include "os/dir.h"

enum { SWAP_SUFFIXES = 4 }; // .log, .index, .timeindex, .txnindex: the first ones of segment_suffixes

static char *named(const char *dir, int64_t base_offset, int which, const char *suffix)
{
  char name[32];
  snprintf(name, sizeof name, "%s%s", segment_suffixes[which], suffix);
  return segment_path(dir, base_offset, name);
}

/// Renames the files of a new segment, .log last: as long as that has its old name, nothing counts.
static int rename_all(const char *dir, int64_t base_offset, bool has_txn_index, const char *from, const char *to)
{
  int result = 0;
  for (int i = SWAP_SUFFIXES - 1; i >= 0 && result == 0; i--) {
    if (i == SWAP_SUFFIXES - 1 && !has_txn_index) {
      continue;
    }
    char *old = named(dir, base_offset, i, from);
    char *fresh = named(dir, base_offset, i, to);
    result = dir_rename(old, fresh);
    mem_free(old);
    mem_free(fresh);
  }
  return result;
}

/// Removes files of a new segment, .log first: without it the others are nothing. @return the first failure
static int remove_all(const char *dir, int64_t base_offset, const char *suffix)
{
  int result = 0;
  for (int i = 0; i < SWAP_SUFFIXES; i++) {
    char *path = named(dir, base_offset, i, suffix);
    int removed = dir_remove_file(path);
    result = result < 0 || removed == ERR_NOT_FOUND ? result : removed;
    mem_free(path);
  }
  return result;
}

void clean_swap_discard(const struct log_clean *pass, const struct clean_swap *swap)
{
  struct error_detail detail = *error_last();
  // What cannot be removed now is at the next start.
  remove_all(pass->dir, swap->fresh->base_offset, ".cleaned");
  error_record(detail.code, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
}

int log_clean_drop_swap(struct log *log)
{
  if (log->swap_base < 0) {
    return 0;
  }
  TRY(remove_all(log_dir(log), log->swap_base, ".swap"));
  atomic_store(&log->is_dir_dirty, true);
  log->swap_base = -1;
  return 0;
}

int log_clean_cancel_swap(struct log *log)
{
  if (log->swap_base < 0) {
    return 0;
  }
  TRY(remove_all(log_dir(log), log->swap_base, ".swap"));
  TRY(dir_sync(log_dir(log)));
  log->swap_base = -1;
  return 0;
}

/// Where the old segments are in the log's list; -1: not all of them, or the log has changed otherwise.
static int find_old(const struct log_clean *pass, const struct clean_swap *swap)
{
  const struct log *log = pass->log;
  const struct segment_list *list = log_list(log);
  int64_t base_offset = pass->segs[swap->first].base_offset;
  int at = segment_list_floor(list, base_offset);
  if (log->is_broken || atomic_load(&log->cuts) != pass->cuts || strcmp(log_dir(log), pass->dir) != 0 || at < 0 ||
      at + swap->count >= list->count) {
    return -1;
  }
  for (int i = 0; i < swap->count; i++) {
    const struct clean_segment *old = &pass->segs[swap->first + i];
    if (list->segments[at + i]->base_offset != old->base_offset ||
        atomic_load(&list->segments[at + i]->size) != old->size) {
      return -1;
    }
  }
  return at;
}

/// First step of the appender: from here on the new segment counts after a crash.
static int stage(struct log_clean *pass)
{
  const struct clean_swap *swap = pass->swap;
  struct log *log = pass->log;
  int64_t base_offset = swap->fresh->base_offset;
  if (find_old(pass, swap) < 0) {
    return error_set(ERR_AGAIN, "%s: has changed while it was cleaned", pass->dir);
  }
  TRY(log_clean_drop_swap(log)); // one that could not be removed before
  atomic_store(&log->is_dir_dirty, true);
  int result = rename_all(pass->dir, base_offset, swap->has_txn_index, ".cleaned", ".swap");
  if (result < 0) {
    struct error_detail detail = *error_last();
    remove_all(pass->dir, base_offset, ".swap");
    return error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  log->swap_base = base_offset;
  return 0;
}

/// Publishes the list with the new segment.
static void publish(struct log_clean *pass, int at)
{
  const struct clean_swap *swap = pass->swap;
  struct log *log = pass->log;
  struct segment_list *old = log_list(log);
  struct segment_list *list = segment_list_new(old->count - swap->count + 1);
  for (int i = 0, to = 0; i < old->count; i++) {
    if (i <= at || i >= at + swap->count) {
      list->segments[to++] = i == at ? swap->fresh : old->segments[i];
    }
  }
  const struct clean_segment *last = &pass->segs[swap->first + swap->count - 1];
  struct tail_batch newest_old;
  if (tail_find(&log->tail, last->next_base - 1, &newest_old)) {
    tail_clear(&log->tail);
  }
  // After a roll the end is that of the segment before, as long as nothing is appended.
  struct log_position end;
  log_end_position(log, &end);
  if (end.segment_base >= swap->fresh->base_offset && end.segment_base < last->next_base) {
    log_publish_end(log, end.offset, old->segments[old->count - 1]->base_offset, 0);
  }
  log_transactions_replace(log, swap->fresh->base_offset, last->next_base, pass->txn.kept, pass->txn.kept_count);
  log_publish_list(log, list);
  atomic_fetch_add(&log->cuts, 1);
}

/// The old files go, and the new ones get their names.
static int swap_files(struct log_clean *pass)
{
  const struct clean_swap *swap = pass->swap;
  struct log *log = pass->log;
  for (int i = 0; i < swap->count; i++) {
    const struct clean_segment *old = &pass->segs[swap->first + i];
    // The snapshot of the producers that has the new segment's name stays right.
    TRY(log_delete_files(log, old->base_offset, old->size, pass->now_ms, i == 0));
  }
  return rename_all(pass->dir, swap->fresh->base_offset, swap->has_txn_index, ".swap", "");
}

/// Removes the files of a new segment that is not put in place. Appender.
///
/// @param result  why it is not
/// @return the same; or, when they cannot be removed, why: the log still has a swap then, which the next start would
///         finish, and whoever cuts the log has to remove first
static int give_up(const struct log_clean *pass, int result)
{
  struct log *log = pass->log;
  struct error_detail detail = *error_last();
  if (strcmp(log_dir(log), pass->dir) != 0) {
    log->swap_base = -1; // the folder that they are in is none of the log's any more
  } else {
    TRY(log_clean_drop_swap(log));
  }
  return error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
}

/// Opens the new segment's file under the name that it has now.
static int open_fresh(const struct log_clean *pass, struct segment *fresh, struct log_file **file)
{
  char *path = named(pass->dir, fresh->base_offset, 0, ".swap");
  char *index_path = named(pass->dir, fresh->base_offset, 1, ".swap");
  size_t map_bytes = (size_t)fresh->offset_index.room * OFFSET_INDEX_ENTRY_SIZE;
  int result = log_file_open(&fresh->file, path, index_path, map_bytes, file);
  mem_free(path);
  mem_free(index_path);
  return result;
}

/// Second step of the appender.
static int commit(struct log_clean *pass)
{
  struct clean_swap *swap = pass->swap;
  struct log *log = pass->log;
  struct segment *fresh = swap->fresh;
  int at = swap->is_given_up ? -1 : find_old(pass, swap);
  if (log->swap_base != fresh->base_offset) {
    return error_set(ERR_AGAIN, "%s: was cut while it was cleaned", pass->dir);
  }
  struct log_file *file = NULL;
  int result =
      at < 0 ? error_set(ERR_AGAIN, "%s: has changed while it was cleaned", pass->dir) : open_fresh(pass, fresh, &file);
  if (result < 0) {
    return give_up(pass, result);
  }
  struct segment_list *list = log_list(log);
  int64_t old_bytes = 0;
  fresh->name_suffix = "";
  publish(pass, at);
  swap->is_in_list = true;
  for (int i = 0; i < swap->count; i++) {
    old_bytes += atomic_load(&list->segments[at + i]->size);
    segment_retire(list->segments[at + i]);
  }
  atomic_fetch_add(&log->size_bytes, atomic_load(&fresh->size) - old_bytes);
  result = swap_files(pass);
  // Again: a copy of the log that is being made may have met some files before, and some after they were renamed.
  pass->cuts = atomic_fetch_add(&log->cuts, 1) + 1;
  atomic_store(&log->is_dir_dirty, true);
  log->swap_base = -1;
  if (result < 0) {
    // Files with wrong names: the next start puts that right, nobody may use them before. So the new one stays open.
    struct error_detail detail = *error_last();
    log->is_broken = true;
    log->misnamed = file;
    error_record(ERR_IO, 0, detail.file, detail.line, "%s: a cleaned segment cannot be put in place: %.*s", pass->dir,
                 ERROR_MESSAGE_SIZE / 2, detail.message);
    return ERR_IO;
  }
  log_file_unref(file);
  return 0;
}

static int sync_names(struct log_clean *pass)
{
  struct log *log = pass->log;
  pthread_mutex_lock(&log->flush_lock);
  int result = log_sync_names(log);
  pthread_mutex_unlock(&log->flush_lock);
  return result;
}

int clean_swap(struct log_clean *pass, struct clean_swap *swap)
{
  pass->swap = swap;
  int result = clean_with_appender(pass, stage);
  if (result < 0) {
    clean_swap_discard(pass, swap);
    segment_free(swap->fresh);
    return result;
  }
  int synced = sync_names(pass);
  struct error_detail detail = *error_last();
  swap->is_given_up = synced < 0;
  result = clean_with_appender(pass, commit);
  if (!swap->is_in_list) {
    segment_free(swap->fresh);
  }
  if (synced < 0) {
    return error_record(synced, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  return result < 0 ? result : sync_names(pass);
}
