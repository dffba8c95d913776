// SPDX-License-Identifier: Apache-2.0
//
// Copying the segments of a log that moves: each file grows to what the log's has, piece by piece.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/log_move_private.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/errinj.h"
#include "os/file.h"

enum { MOVE_STEP_BYTES = 1024 * 1024 }; // copied at a time

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
    TRY(log_move_blame(move, true, file_read_at(from_fd, move->buffer, wanted, pos)));
    TRY(log_move_blame(move, false, file_write_at(to_fd, move->buffer, wanted, pos)));
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
  int result = log_move_blame(move, false, file_open(to, FILE_WRITE | FILE_CREATE, &to_fd));
  if (result == 0 && from_fd < 0 && size > 0) {
    result = log_move_blame(move, true, file_open(from, FILE_READ, &opened_fd));
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

int log_move_copy_file(struct log_move *move, const char *name)
{
  char *from = mem_printf("%s/%s", log_dir(move->log), name);
  char *to = mem_printf("%s/%s", move->dir, name);
  char *temporary = mem_printf("%s.tmp", to);
  int from_fd = -1;
  int to_fd = -1;
  int64_t size = 0;
  int result = log_move_blame(move, true, file_open(from, FILE_READ, &from_fd));
  bool is_missing = result == ERR_NOT_FOUND;
  if (result == 0) {
    result = log_move_blame(move, true, file_size(from_fd, &size));
  }
  if (result == 0) {
    result = log_move_blame(move, false, file_open(temporary, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &to_fd));
  }
  if (result == 0) {
    result = copy_region(move, from_fd, to_fd, 0, size);
  }
  if (result == 0) {
    result = log_move_blame(move, false, file_sync(to_fd));
  }
  if (result == 0) {
    result = log_move_blame(move, false, dir_rename(temporary, to));
  }
  file_close(from_fd);
  file_close(to_fd);
  mem_free(from);
  mem_free(to);
  mem_free(temporary);
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
    result = result == ERR_NOT_FOUND ? 0 : log_move_blame(move, false, result);
    mem_free(path);
  }
  return result;
}

int log_move_drop_gone(struct log_move *move, const struct segment_list *list, uint64_t cuts, int most)
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

struct move_segment *log_move_segment(struct log_move *move, int64_t base_offset)
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

int log_move_sync(struct log_move *move, struct move_segment *part)
{
  for (int i = 0; i < MOVE_FILES; i++) {
    if (part->synced[i] == part->copied[i] || (i == MOVE_TXN_INDEX && part->copied[i] == 0)) {
      continue;
    }
    char *path = segment_path(move->dir, part->base_offset, segment_suffixes[i]);
    int result = file_sync_path(path);
    mem_free(path);
    TRY(log_move_blame(move, false, result));
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
  TRY(log_move_blame(move, true, segment_lookup_pos(seg, file, copied - 1, true, &pos)));
  pos = pos > part->batches_pos ? pos : part->batches_pos;
  header_scan_begin(&scan, log_file_fd(file), pos, atomic_load(&seg->size), true);
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0 && pos + (int64_t)header.size <= copied) {
    part->batches_pos = pos + (int64_t)header.size;
    part->end_offset = header.base_offset + header.last_offset_delta + 1;
  }
  return result == ERR_IO ? log_move_blame(move, true, result) : 0; // what is odd was so before; the copy is as the log
}

/// Bytes of a segment's index of aborted transactions, which few have.
static int txn_index_size(const struct log *log, const struct segment *seg, int64_t *size)
{
  char *path = segment_path(log_dir(log), seg->base_offset, segment_suffixes[MOVE_TXN_INDEX]);
  struct stat status = {0};
  int result = 0;
  if (stat(path, &status) != 0 && errno != ENOENT) {
    result = error_set_errno(errno, "cannot look at %s", path);
  }
  mem_free(path);
  *size = (int64_t)status.st_size;
  return result;
}

int log_move_copy_segment(struct log_move *move, struct segment *seg, struct move_segment *part, bool is_active,
                          int64_t *budget)
{
  int64_t size = atomic_load(&seg->size);
  int64_t txn_size = 0;
  struct log_file *file = NULL;
  TRY(log_move_blame(move, true, txn_index_size(move->log, seg, &txn_size)));
  TRY(log_move_blame(move, true, log_open_segment(move->log, seg, &file)));
  int64_t sizes[MOVE_FILES] = {
      size,
      (int64_t)atomic_load(&seg->offset_index.written) * OFFSET_INDEX_ENTRY_SIZE,
      (int64_t)atomic_load(&seg->time_index.written) * TIME_INDEX_ENTRY_SIZE,
      txn_size,
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
    TRY(log_move_sync(move, part));
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
    struct move_segment *part = log_move_segment(move, seg->base_offset);
    if (!part->is_whole) {
      result = budget <= 0 ? 1 : log_move_copy_segment(move, seg, part, i == list->count - 1, &budget);
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
  TRY(log_move_drop_gone(move, list, cuts, INT32_MAX));
  int result = copy_segments(move, list, budget_bytes);
  // A file that is gone belonged to a segment that was deleted meanwhile, one that is shorter was truncated.
  bool is_gone = result == ERR_NOT_FOUND && list != log_list(move->log);
  bool is_cut = (result == ERR_NOT_FOUND || result == ERR_TRUNCATED) && cuts != atomic_load(&move->log->cuts);
  if (move->is_source_to_blame && (is_gone || is_cut)) {
    return 1;
  }
  return log_move_fail(move, result);
}
