// SPDX-License-Identifier: Apache-2.0
#include "log/log_move.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "log/partition_metadata.h"
#include "os/dir.h"
#include "os/errinj.h"
#include "os/file.h"

enum {
  MOVE_STEP_BYTES = 1024 * 1024,   // copied at a time
  MOVE_BUFFER_BYTES = 128 * 1024,  // where the kernel does not copy by itself
  MOVE_SWITCH_BYTES = 1024 * 1024, // most that the appender copies
  MOVE_FILES = 4,                  // of a segment that only grow: .log, .index, .timeindex, .txnindex
  MOVE_TXN_INDEX = 3,              // of these, the one that is often missing
};

static const char move_mark[] = "luka.moved";

/// What the copy has of a segment.
struct move_segment {
  int64_t base_offset;        ///< which segment
  int64_t copied[MOVE_FILES]; ///< bytes of its files, in the order of segment_suffixes
  int64_t synced[MOVE_FILES]; ///< of these, bytes that are on disk; -1: the file was never synced
  int64_t batches_pos;        ///< end of the last whole batch in it
  int64_t end_offset;         ///< offset after that batch
  bool is_whole;              ///< it was closed when it was copied: nothing will follow
  bool is_listed;             ///< the log still has it; while the lists are compared
};

struct log_move {
  struct log *log;             ///< borrowed
  char *dir;                   ///< the new folder, owned
  uint64_t cuts;               ///< truncations of the log that the copy knows of
  struct move_segment *segs;   ///< by base offset, owned
  int count;                   ///< segments
  int room;                    ///< slots allocated
  char *buffer;                ///< MOVE_BUFFER_BYTES, owned
  bool is_source_to_blame;     ///< see log_move_is_source_to_blame()
  _Atomic(int64_t) size_bytes; ///< of whole batches
  _Atomic(int64_t) end_offset; ///< after the last of them
};

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

bool log_move_is_marked(const char *dir)
{
  char *path = mark_path(dir);
  bool is_marked = access(path, F_OK) == 0;
  mem_free(path);
  return is_marked;
}

int log_move_remove_mark(const char *dir)
{
  char *path = mark_path(dir);
  int result = dir_remove_file(path);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result < 0 ? result : dir_sync(dir);
}

/// Notes whose disk a failure comes from. @return `result`
static int blame(struct log_move *move, bool is_source, int result)
{
  if (result < 0) {
    move->is_source_to_blame = is_source;
  }
  return result;
}

/// Puts the folder before the message of a failure, as log_fail() does; of the copy or of the log, whoever is to blame.
static int move_fail(struct log_move *move, int result)
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

// --- bytes -----------------------------------------------------------------------------------------------------------

/// Copies a region of one file to the same place of another, sharing blocks where the file systems can. An error of
/// copy_file_range(2) does not tell whose it is, so the region is read and written again.
static int copy_region(struct log_move *move, int from_fd, int to_fd, int64_t pos, int64_t end)
{
  bool is_injected = errinj_check(ERRINJ_FILE_COPY) != 0;
  while (pos < end && !is_injected) {
    off_t from_pos = pos;
    off_t to_pos = pos;
    ssize_t n = copy_file_range(from_fd, &from_pos, to_fd, &to_pos, (size_t)(end - pos), 0);
    if (n <= 0) {
      break;
    }
    pos += n;
  }
  while (pos < end) {
    size_t wanted = end - pos < MOVE_BUFFER_BYTES ? (size_t)(end - pos) : MOVE_BUFFER_BYTES;
    TRY(blame(move, true, file_read_at(from_fd, move->buffer, wanted, pos)));
    TRY(blame(move, false, file_write_at(to_fd, move->buffer, wanted, pos)));
    pos += (int64_t)wanted;
  }
  return 0;
}

/// Copies more of one file of a segment, up to `size` bytes of it.
///
/// @param from_fd  the segment's file; -1: opened here
/// @param[in,out] budget  bytes that may be copied still
static int copy_file(struct log_move *move, struct move_segment *part, int which, int from_fd, int64_t size,
                     int64_t *budget)
{
  if (part->copied[which] >= size && (size > 0 || which == MOVE_TXN_INDEX)) {
    return 0;
  }
  char *to = segment_path(move->dir, part->base_offset, segment_suffixes[which]);
  char *from = segment_path(log_dir(move->log), part->base_offset, segment_suffixes[which]);
  int to_fd = -1;
  int opened_fd = -1;
  int result = blame(move, false, file_open(to, FILE_WRITE | FILE_CREATE, &to_fd));
  if (result == 0 && from_fd < 0 && size > 0) {
    result = blame(move, true, file_open(from, FILE_READ, &opened_fd));
    from_fd = opened_fd;
  }
  while (result == 0 && part->copied[which]<size && * budget> 0) {
    int64_t pos = part->copied[which];
    int64_t end = size - pos > MOVE_STEP_BYTES ? pos + MOVE_STEP_BYTES : size;
    result = copy_region(move, from_fd, to_fd, pos, end);
    if (result == 0) {
      part->copied[which] = end;
      *budget -= end - pos;
    }
  }
  file_close(opened_fd);
  file_close(to_fd);
  mem_free(from);
  mem_free(to);
  return result;
}

/// Copies a small file that is replaced whole or never changes; a missing one is fine.
static int copy_whole(struct log_move *move, const char *name)
{
  char *from = mem_printf("%s/%s", log_dir(move->log), name);
  char *to = mem_printf("%s/%s", move->dir, name);
  int from_fd = -1;
  int to_fd = -1;
  int64_t size = 0;
  int result = blame(move, true, file_open(from, FILE_READ, &from_fd));
  bool is_missing = result == ERR_NOT_FOUND;
  if (result == 0) {
    result = blame(move, true, file_size(from_fd, &size));
  }
  if (result == 0) {
    result = blame(move, false, file_open(to, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &to_fd));
  }
  if (result == 0) {
    result = copy_region(move, from_fd, to_fd, 0, size);
  }
  if (result == 0) {
    result = blame(move, false, file_sync(to_fd));
  }
  file_close(from_fd);
  file_close(to_fd);
  mem_free(from);
  mem_free(to);
  return is_missing ? 0 : result;
}

// --- segments --------------------------------------------------------------------------------------------------------

/// Removes the files of a segment from the copy.
static int remove_copy(struct log_move *move, int64_t base_offset)
{
  int result = 0;
  for (int i = 0; segment_suffixes[i] != NULL && result == 0; i++) {
    char *path = segment_path(move->dir, base_offset, segment_suffixes[i]);
    result = dir_remove_file(path);
    result = result == ERR_NOT_FOUND ? 0 : blame(move, false, result);
    mem_free(path);
  }
  return result;
}

/// Takes out of the copy what the log does not have any more: all of it after a truncation.
///
/// @param cuts  truncations of the log, counted before the list was looked at
/// @param most  segments that may go now; ERR_AGAIN when there are more
static int drop_gone(struct log_move *move, const struct segment_list *list, uint64_t cuts, int most)
{
  int at = 0;
  for (int i = 0; i < move->count; i++) {
    int64_t base_offset = move->segs[i].base_offset;
    while (at < list->count && list->segments[at]->base_offset < base_offset) {
      at++;
    }
    move->segs[i].is_listed = cuts == move->cuts && at < list->count && list->segments[at]->base_offset == base_offset;
  }
  int kept = 0;
  int result = 0;
  for (int i = 0; i < move->count; i++) {
    if (!move->segs[i].is_listed && result == 0) {
      result = most-- > 0 ? remove_copy(move, move->segs[i].base_offset) : ERR_AGAIN;
      if (result == 0) {
        continue;
      }
    }
    move->segs[kept++] = move->segs[i];
  }
  move->count = kept;
  if (result == 0) {
    move->cuts = cuts;
  }
  return result;
}

/// What the copy has of a segment; a new one comes last, as segments are begun at the end.
static struct move_segment *find_copy(struct log_move *move, int64_t base_offset)
{
  int low = 0;
  int high = move->count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (move->segs[middle].base_offset < base_offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < move->count && move->segs[low].base_offset == base_offset) {
    return &move->segs[low];
  }
  if (move->count == move->room) {
    move->room = move->room * 2 + 16;
    move->segs = mem_realloc(move->segs, (size_t)move->room * sizeof *move->segs);
  }
  memmove(&move->segs[low + 1], &move->segs[low], (size_t)(move->count - low) * sizeof *move->segs);
  move->count++;
  move->segs[low] =
      (struct move_segment){.base_offset = base_offset, .end_offset = base_offset, .synced = {-1, -1, -1, -1}};
  return &move->segs[low];
}

/// Brings what was copied of a segment to disk.
static int sync_copy(struct log_move *move, struct move_segment *part)
{
  for (int i = 0; i < MOVE_FILES; i++) {
    if (part->synced[i] == part->copied[i] || (i == MOVE_TXN_INDEX && part->copied[i] == 0)) {
      continue;
    }
    char *path = segment_path(move->dir, part->base_offset, segment_suffixes[i]);
    int fd = -1;
    int result = file_open(path, FILE_WRITE, &fd);
    if (result == 0) {
      result = file_sync(fd);
    }
    file_close(fd);
    mem_free(path);
    TRY(blame(move, false, result));
    part->synced[i] = part->copied[i];
  }
  return 0;
}

/// Finds the end of the last whole batch among the bytes that were copied.
static int find_end(struct log_move *move, struct segment *seg, struct log_file *file, struct move_segment *part)
{
  int64_t copied = part->copied[0];
  int64_t pos = 0;
  struct header_scan scan;
  struct batch_header header;
  if (copied == part->batches_pos) {
    return 0;
  }
  TRY(blame(move, true, segment_lookup_pos(seg, file, copied - 1, true, &pos)));
  pos = pos > part->batches_pos ? pos : part->batches_pos;
  header_scan_begin(&scan, log_file_fd(file), pos, atomic_load(&seg->size), true);
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0 && pos + (int64_t)header.size <= copied) {
    part->batches_pos = pos + (int64_t)header.size;
    part->end_offset = header.base_offset + header.last_offset_delta + 1;
  }
  return result == ERR_IO ? blame(move, true, result) : 0; // what is odd was so before; the copy is as the log
}

/// Bytes of a segment's index of aborted transactions, which few have.
static int64_t txn_index_size(const struct log *log, const struct segment *seg)
{
  char *path = segment_path(log_dir(log), seg->base_offset, segment_suffixes[MOVE_TXN_INDEX]);
  struct stat status;
  int64_t size = stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
  mem_free(path);
  return size;
}

/// Copies more of a segment.
///
/// @param is_active  it may grow
static int copy_segment(struct log_move *move, struct segment *seg, struct move_segment *part, bool is_active,
                        int64_t *budget)
{
  int64_t size = atomic_load(&seg->size);
  struct log_file *file = NULL;
  TRY(blame(move, true, log_open_segment(move->log, seg, &file)));
  int64_t sizes[MOVE_FILES] = {
      size,
      (int64_t)atomic_load(&seg->offset_index.written) * OFFSET_INDEX_ENTRY_SIZE,
      (int64_t)atomic_load(&seg->time_index.written) * TIME_INDEX_ENTRY_SIZE,
      txn_index_size(move->log, seg),
  };
  int result = copy_file(move, part, 0, log_file_fd(file), size, budget);
  if (result == 0) {
    result = find_end(move, seg, file, part);
  }
  log_file_unref(file);
  for (int i = 1; i < MOVE_FILES && result == 0 && *budget > 0; i++) {
    result = copy_file(move, part, i, -1, sizes[i], budget);
  }
  bool is_complete = true;
  for (int i = 0; i < MOVE_FILES; i++) {
    is_complete = is_complete && part->copied[i] == sizes[i];
  }
  if (result == 0 && is_complete && !is_active) {
    TRY(sync_copy(move, part));
    part->is_whole = true;
  }
  return result;
}

/// Copies more of every segment that is not complete.
///
/// @return 1 when the budget was used up, 0
static int copy_segments(struct log_move *move, const struct segment_list *list, int64_t budget)
{
  int64_t size = 0;
  int64_t end_offset = log_start_offset(move->log);
  int result = 0;
  for (int i = 0; i < list->count && result == 0; i++) {
    struct segment *seg = list->segments[i];
    struct move_segment *part = find_copy(move, seg->base_offset);
    if (!part->is_whole) {
      result = budget <= 0 ? 1 : copy_segment(move, seg, part, i == list->count - 1, &budget);
    }
    size += part->batches_pos;
    end_offset = part->end_offset > end_offset ? part->end_offset : end_offset;
  }
  atomic_store(&move->size_bytes, size);
  atomic_store(&move->end_offset, end_offset);
  return result == 0 && budget <= 0 ? 1 : result;
}

int log_move_copy(struct log_move *move, int64_t budget_bytes)
{
  CHECK(epoch_is_inside());
  uint64_t cuts = atomic_load(&move->log->cuts);
  const struct segment_list *list = log_list(move->log);
  TRY(drop_gone(move, list, cuts, INT32_MAX));
  int result = copy_segments(move, list, budget_bytes);
  // A file that is gone belonged to a segment that was deleted meanwhile.
  if (result == ERR_NOT_FOUND && move->is_source_to_blame && list != log_list(move->log)) {
    return 1;
  }
  return move_fail(move, result);
}

// --- the switch ------------------------------------------------------------------------------------------------------

static int copy_snapshot(void *arg, const char *name, bool is_dir)
{
  struct log_move *move = arg;
  int64_t offset = 0;
  if (is_dir || !segment_parse_name(name, ".snapshot", &offset)) {
    return 0;
  }
  char *to = mem_printf("%s/%s", move->dir, name);
  bool is_there = access(to, F_OK) == 0;
  mem_free(to);
  return is_there ? 0 : copy_whole(move, name);
}

/// Copies what is not a segment's: snapshots of producers, the list of leader epochs; and writes the mark.
static int copy_rest(struct log_move *move)
{
  TRY(blame(move, true, dir_list(log_dir(move->log), copy_snapshot, move)));
  TRY(blame(move, false, leader_epochs_write_copy(&move->log->epochs, move->dir)));
  char *path = mark_path(move->dir);
  int result = file_replace(path, "1\n", 2);
  mem_free(path);
  return blame(move, false, result);
}

static int prepare_locked(struct log_move *move)
{
  int result = 1;
  while (result > 0) {
    result = log_move_copy(move, INT64_MAX);
  }
  TRY(result);
  TRY(copy_rest(move));
  for (int i = 0; i < move->count; i++) {
    TRY(sync_copy(move, &move->segs[i]));
  }
  return blame(move, false, dir_sync(move->dir));
}

int log_move_prepare(struct log_move *move)
{
  CHECK(epoch_is_inside());
  struct log *log = move->log;
  // No flush may raise the recovery point beyond what is copied below.
  pthread_mutex_lock(&log->flush_lock);
  int result = prepare_locked(move);
  log->is_switching = result == 0;
  pthread_mutex_unlock(&log->flush_lock);
  return result;
}

static void release_locked(struct log *log)
{
  log->is_switching = false;
  pthread_cond_broadcast(&log->switched);
}

void log_move_release(struct log_move *move)
{
  pthread_mutex_lock(&move->log->flush_lock);
  release_locked(move->log);
  pthread_mutex_unlock(&move->log->flush_lock);
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
  TRY(drop_gone(move, list, move->cuts, 1));
  if (!is_small_rest(move, list)) {
    return ERR_AGAIN;
  }
  TRY(blame(move, true, segment_finish_indexes(log_active(move->log), log_dir(move->log), false)));
  for (int i = 0; i < list->count; i++) {
    struct segment *seg = list->segments[i];
    struct move_segment *part = find_copy(move, seg->base_offset);
    if (!part->is_whole) {
      int64_t budget = INT64_MAX;
      // As the active one: nothing is synced.
      TRY(copy_segment(move, seg, part, true, &budget));
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
    fresh->segments[i] = switched_segment(log, list->segments[i], find_copy(move, list->segments[i]->base_offset));
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
    return ERR_AGAIN;
  }
  const struct segment_list *list = log_list(log);
  int result = ERR_AGAIN;
  if (log->is_broken) {
    result = blame(move, true,
                   error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log)));
  } else if (log->is_switching && atomic_load(&log->cuts) == move->cuts) {
    result = complete(move, list);
    if (result == 0) {
      result = blame(move, false, dir_rename(move->dir, new_dir));
    }
    if (result == 0) {
      switch_files(move, list, new_dir);
    }
  }
  release_locked(log);
  pthread_mutex_unlock(&log->flush_lock);
  return move_fail(move, result);
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
