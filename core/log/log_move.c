// SPDX-License-Identifier: Apache-2.0
#include "log/log_move.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/log_move_private.h"
#include "log/log_private.h"
#include "log/partition_metadata.h"
#include "os/dir.h"
#include "os/file.h"

enum {
  MOVE_SWITCH_BYTES = 1024 * 1024, // most that the appender copies
  MOVE_MARK_SIZE = 32,             // of the mark's file, at most
};

static const char move_mark[] = "luka.moved";

// --- the folder ------------------------------------------------------------------------------------------------------

int log_move_new(struct log *log, const char *dir, struct log_move **move)
{
  CHECK(epoch_is_inside());
  TRY(dir_make_new(dir));
  int result = uuid_is_zero(&log->topic_id) ? 0 : partition_metadata_write(dir, &log->topic_id);
  if (result < 0) {
    struct error_detail detail = *error_last();
    dir_remove_all(dir);
    return error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  struct log_move *made = mem_zalloc(sizeof *made);
  made->log = log;
  made->dir = mem_strdup(dir);
  made->buffer = mem_alloc(MOVE_BUFFER_BYTES);
  made->cuts = atomic_load(&log->cuts);
  atomic_init(&made->end_offset, log_start_offset(log));
  *move = made;
  return 0;
}

void log_move_delete(struct log_move *move)
{
  mem_free(move->segs);
  mem_free(move->buffer);
  mem_free(move->dir);
  mem_free(move);
}

int64_t log_move_size(const struct log_move *move)
{
  return atomic_load(&move->size_bytes);
}

int64_t log_move_end_offset(const struct log_move *move)
{
  return atomic_load(&move->end_offset);
}

bool log_move_is_source_to_blame(const struct log_move *move)
{
  return move->is_source_to_blame;
}

static char *mark_path(const char *dir)
{
  return mem_printf("%s/%s", dir, move_mark);
}

int64_t log_move_mark(const char *dir)
{
  char *path = mark_path(dir);
  char *text = NULL;
  size_t size = 0;
  int64_t mark = 0;
  int result = file_read_all(path, MOVE_MARK_SIZE, &text, &size);
  if (result == 0) {
    mark = strtoll(text, NULL, 10);
    mem_free(text);
  }
  mem_free(path);
  // What cannot be read, or says nothing, is a mark all the same.
  return result == ERR_NOT_FOUND ? 0 : mark < 1 || mark == INT64_MAX ? 1 : mark;
}

int log_move_remove_mark(const char *dir)
{
  char *path = mark_path(dir);
  int result = dir_remove_file(path);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result < 0 ? result : dir_sync(dir);
}

int log_move_blame(struct log_move *move, bool is_source, int result)
{
  if (result < 0) {
    move->is_source_to_blame = is_source;
  }
  return result;
}

int log_move_fail(struct log_move *move, int result)
{
  if (move->is_source_to_blame || result >= 0 || result == ERR_AGAIN) {
    return log_fail(move->log, result);
  }
  struct error_detail detail = *error_last();
  if (detail.code != result || strstr(detail.message, move->dir) != NULL) {
    return result;
  }
  return error_record(result, 0, detail.file, detail.line, "%s: %.*s", move->dir, ERROR_MESSAGE_SIZE / 2,
                      detail.message);
}

// --- the switch ------------------------------------------------------------------------------------------------------

/// Copies a file that the copy does not have yet. It gets its name when it is whole.
static int copy_missing(struct log_move *move, const char *name)
{
  char *to = mem_printf("%s/%s", move->dir, name);
  bool is_there = access(to, F_OK) == 0;
  mem_free(to);
  return is_there ? 0 : log_move_copy_file(move, name);
}

static int copy_snapshot(void *arg, const char *name, bool is_dir)
{
  struct log_move *move = arg;
  int64_t offset = 0;
  if (is_dir || !segment_parse_name(name, ".snapshot", &offset)) {
    return 0;
  }
  return copy_missing(move, name);
}

/// What a recovery cut off and kept (log_cut.c).
static int copy_cut(void *arg, const char *name, bool is_dir)
{
  return is_dir || strstr(name, ".log.cut") == NULL ? 0 : copy_missing(arg, name);
}

/// Calls `copy_one` for all names of the log's folder.
static int copy_names(struct log_move *move, int (*copy_one)(void *arg, const char *name, bool is_dir))
{
  move->is_source_to_blame = true; // for the list; a file that is copied says whose its failure is
  return dir_list(log_dir(move->log), copy_one, move);
}

/// Copies what is not a segment's: snapshots of producers, the list of leader epochs; and writes the mark.
static int copy_rest(struct log_move *move)
{
  TRY(copy_names(move, copy_snapshot));
  TRY(log_move_blame(move, false, leader_epochs_write_copy(&move->log->epochs, move->dir)));
  char *path = mark_path(move->dir);
  char *text = mem_printf("%" PRId64 "\n", log_move_mark(log_dir(move->log)) + 1);
  int result = file_replace(path, text, strlen(text));
  mem_free(text);
  mem_free(path);
  return log_move_blame(move, false, result);
}

static int copy_all(struct log_move *move)
{
  int result = 1;
  while (result > 0) {
    result = log_move_copy(move, INT64_MAX);
  }
  return result;
}

static int sync_all(struct log_move *move)
{
  for (int i = 0; i < move->count; i++) {
    TRY(log_move_sync(move, &move->segs[i]));
  }
  return 0;
}

static int prepare_locked(struct log_move *move)
{
  uint64_t cuts = 0;
  do {
    TRY(copy_all(move));
    TRY(copy_rest(move));
    TRY(sync_all(move));
    TRY(log_move_blame(move, false, dir_sync(move->dir)));
    // What came during that is above the recovery point and need not be on disk. Without it a busy log would always
    // have too much left for the appender. But a truncation has the copy begin anew, all of it.
    cuts = move->cuts;
    TRY(copy_all(move));
  } while (move->cuts != cuts);
  return 0;
}

int log_move_prepare(struct log_move *move)
{
  CHECK(epoch_is_inside());
  struct log *log = move->log;
  // Most of it without the lock, on which flushes wait, and with them who wants his records on disk.
  TRY(copy_names(move, copy_cut));
  TRY(copy_all(move));
  TRY(sync_all(move));
  // No flush may raise the recovery point beyond what is copied below.
  pthread_mutex_lock(&log->flush_lock);
  int result = log->has_sync_failed
                   ? log_move_blame(move, true, error_set(ERR_IO, "%s: an fsync failed before", log_dir(log)))
                   : prepare_locked(move);
  atomic_store(&log->is_switching, result == 0);
  pthread_mutex_unlock(&log->flush_lock);
  return result;
}

void log_move_release(struct log_move *move)
{
  struct log *log = move->log;
  // Holding an appender, perhaps on a worker: who flushes may have the lock for as long as the disk takes. Who is just
  // about to wait for the switch then misses the signal, and waits a second for nothing.
  atomic_store(&log->is_switching, false);
  if (pthread_mutex_trylock(&log->flush_lock) == 0) {
    pthread_cond_broadcast(&log->switched);
    pthread_mutex_unlock(&log->flush_lock);
  }
}

/// A segment of the log as the copy has it.
static struct segment *switched_segment(struct log *log, const struct segment *seg, const struct move_segment *part)
{
  const struct log_config *config = log_get_config(log);
  struct segment *fresh = segment_new(seg->base_offset, config, seg->created_ms);
  atomic_store(&fresh->size, atomic_load(&seg->size));
  atomic_store(&fresh->max_timestamp, atomic_load(&seg->max_timestamp));
  atomic_store(&fresh->max_timestamp_offset, atomic_load(&seg->max_timestamp_offset));
  atomic_store(&fresh->modified_ms, atomic_load(&seg->modified_ms));
  atomic_store(&fresh->is_reported, atomic_load(&seg->is_reported));
  fresh->first_timestamp = seg->first_timestamp;
  fresh->jitter_ms = seg->jitter_ms;
  fresh->bytes_since_index = seg->bytes_since_index;
  offset_index_create(&fresh->offset_index, atomic_load(&seg->offset_index.count), config->segment_index_bytes);
  time_index_create(&fresh->time_index, atomic_load(&seg->time_index.count), &seg->time_index.last,
                    config->segment_index_bytes);
  atomic_store(&fresh->is_index_dirty, part->synced[1] != part->copied[1] || part->synced[2] != part->copied[2]);
  return fresh;
}

/// Whether little enough is missing in the copy for the appender to add it.
static bool is_small_rest(const struct log_move *move, const struct segment_list *list)
{
  int64_t rest = log_size_bytes(move->log);
  for (int i = 0; i < move->count; i++) {
    rest -= move->segs[i].copied[0];
  }
  return rest <= MOVE_SWITCH_BYTES && list->count <= move->count + 1;
}

/// Makes the copy complete, as long as nothing is appended.
static int complete(struct log_move *move, const struct segment_list *list)
{
  TRY(log_move_drop_gone(move, list, move->cuts, 1));
  if (!is_small_rest(move, list)) {
    return ERR_AGAIN;
  }
  TRY(log_move_blame(move, true, segment_finish_indexes(log_active(move->log), log_dir(move->log), false)));
  for (int i = 0; i < list->count; i++) {
    struct segment *seg = list->segments[i];
    struct move_segment *part = log_move_segment(move, seg->base_offset);
    if (!part->is_whole) {
      int64_t budget = INT64_MAX;
      // As the active one: nothing is synced.
      TRY(log_move_copy_segment(move, seg, part, true, &budget));
    }
  }
  return 0;
}

/// Puts the copy's files in the place of the log's. Cannot fail.
static void switch_files(struct log_move *move, const struct segment_list *list, const char *new_dir)
{
  struct log *log = move->log;
  struct segment_list *fresh = segment_list_new(list->count);
  for (int i = 0; i < list->count; i++) {
    fresh->segments[i] =
        switched_segment(log, list->segments[i], log_move_segment(move, list->segments[i]->base_offset));
  }
  // The path first: who finds a new segment must not open the old file for it.
  log_set_path(log, new_dir);
  log_publish_list(log, fresh);
  for (int i = 0; i < list->count; i++) {
    segment_retire(list->segments[i]);
  }
  leader_epochs_set_unwritten(&log->epochs);
  atomic_store(&log->is_dir_dirty, true);
  atomic_store(&log->is_parent_dirty, true);
}

int log_move_switch(struct log_move *move, const char *new_dir)
{
  CHECK(epoch_is_inside());
  struct log *log = move->log;
  // Who flushes waits without the lock, so that it is free unless somebody has lost patience.
  if (pthread_mutex_trylock(&log->flush_lock) != 0) {
    log_move_release(move);
    return ERR_AGAIN;
  }
  const struct segment_list *list = log_list(log);
  int result = ERR_AGAIN;
  if (log->is_broken) {
    result = log_move_blame(
        move, true, error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log)));
  } else if (atomic_load(&log->is_switching) && atomic_load(&log->cuts) == move->cuts) {
    result = complete(move, list);
    if (result == 0) {
      result = log_move_blame(move, false, dir_rename(move->dir, new_dir));
    }
    if (result == 0) {
      switch_files(move, list, new_dir);
    }
  }
  atomic_store(&log->is_switching, false);
  pthread_cond_broadcast(&log->switched);
  pthread_mutex_unlock(&log->flush_lock);
  return log_move_fail(move, result);
}

int log_move_settle(struct log_move *move)
{
  CHECK(epoch_is_inside());
  struct log *log = move->log;
  TRY(log_flush(log, INT64_MAX));
  pthread_mutex_lock(&log->flush_lock);
  int result = log_sync_names(log);
  pthread_mutex_unlock(&log->flush_lock);
  return log_fail(log, result);
}
