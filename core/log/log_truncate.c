// SPDX-License-Identifier: Apache-2.0
//
// Taking records away: from the end (truncation, on followers), from the start (retention, DeleteRecords), or all.
//
// Truncation and readers: the lower end is published first; then `cuts` is counted; then the file is looked at. A
// reader that took its reference before is seen there, and the file is left to it: what stays is copied to a new file
// of the same name. A reader that takes it later sees that `cuts` changed and begins anew (log_read.c).
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"

/// Where a log is cut.
struct cut {
  int64_t offset; ///< new end
  int index;      ///< segment that becomes the last one
  int64_t pos;    ///< bytes of it that stay
};

static int cut_find(struct log *log, int64_t offset, struct cut *cut);
static int cut_segments(struct log *log, int kept, int64_t now_ms);
static int cut_file(struct log *log, const struct cut *cut, int64_t now_ms);

// --- deleted segments ------------------------------------------------------------------------------------------------

void log_deleted_free(struct log_deleted *deleted)
{
  mem_free(deleted->stem);
  mem_free(deleted);
}

int log_deleted_remove(struct log_deleted *deleted)
{
  int result = 0;
  for (int i = 0; segment_suffixes[i] != NULL; i++) {
    char *path = mem_printf("%s%s.deleted", deleted->stem, segment_suffixes[i]);
    int removed = dir_remove_file(path);
    if (removed < 0 && removed != ERR_NOT_FOUND && result == 0) {
      result = removed;
    }
    mem_free(path);
  }
  log_deleted_free(deleted);
  return result;
}

int log_delete_files(struct log *log, int64_t base_offset, int64_t size, int64_t now_ms, bool is_replaced)
{
  TRY(segment_rename_deleted(base_offset, log_dir(log), is_replaced));
  atomic_store(&log->is_dir_dirty, true);
  struct log_deleted *deleted = mem_zalloc(sizeof *deleted);
  int64_t delay_ms = log_get_config(log)->file_delete_delay_ms;
  deleted->due_ms = delay_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + delay_ms;
  deleted->size_bytes = size;
  deleted->base_offset = base_offset;
  deleted->is_replaced = is_replaced;
  deleted->stem = segment_path(log_dir(log), base_offset, "");
  if (log->on_deleted != NULL) {
    log->on_deleted(log->arg, deleted);
    return 0;
  }
  return log_deleted_remove(deleted);
}

// --- the end ---------------------------------------------------------------------------------------------------------

/// Publishes a lower end and counts the cut. Readers that come later do not reach beyond it.
static void cut_publish(struct log *log, int64_t offset, int64_t segment_base, int64_t pos)
{
  pthread_mutex_lock(&log->flush_lock);
  log_publish_end(log, offset, segment_base, pos);
  if (atomic_load(&log->start_offset) > offset) {
    atomic_store(&log->start_offset, offset);
  }
  if (atomic_load(&log->recovery_point) > offset) {
    atomic_store(&log->recovery_point, offset);
  }
  if (atomic_load(&log->synced_offset) > offset) {
    atomic_store(&log->synced_offset, offset);
  }
  if (atomic_load(&log->clean_offset) > offset) {
    atomic_store(&log->clean_offset, offset);
  }
  tail_clear(&log->tail);
  log_snapshots_drop(log);
  atomic_store(&log->journaled_offset, 0);
  atomic_fetch_add(&log->cuts, 1);
  atomic_store(&log->is_cutting, false);
  pthread_mutex_unlock(&log->flush_lock);
}

int log_truncate_to(struct log *log, int64_t offset, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  if (log->is_broken) {
    return error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log));
  }
  if (offset < 0) {
    return error_set(ERR_INVALID, "cannot truncate %s to offset %" PRId64, log_dir(log), offset);
  }
  if (offset < log_list(log)->segments[0]->base_offset) {
    return log_truncate_all(log, offset, offset, now_ms);
  }
  struct cut cut;
  if (offset >= log_end_offset(log)) {
    leader_epochs_truncate_end(&log->epochs, offset);
    return 0;
  }
  TRY(cut_find(log, offset, &cut));
  TRY(log_clean_cancel_swap(log));
  TRY(log_forget_synced(log));
  struct segment *seg = log_list(log)->segments[cut.index];
  cut_publish(log, cut.offset, seg->base_offset, cut.pos);
  leader_epochs_truncate_end(&log->epochs, cut.offset);
  int result = cut_segments(log, cut.index + 1, now_ms);
  if (result == 0 && cut.pos < atomic_load(&seg->size)) {
    result = cut_file(log, &cut, now_ms);
  }
  if (result == 0) {
    result = log_producers_load(log, now_ms);
  }
  // Again: a copy of the log that is being made may have met some files before, and some after they were changed.
  atomic_fetch_add(&log->cuts, 1);
  log->is_broken = result < 0;
  return log_fail(log, result);
}

int log_truncate_all(struct log *log, int64_t end_offset, int64_t log_start_offset, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  if (end_offset < 0 || log_start_offset < end_offset) {
    return error_set(ERR_INVALID, "cannot begin %s anew at offset %" PRId64, log_dir(log), end_offset);
  }
  TRY(log_clean_cancel_swap(log));
  TRY(log_forget_synced(log));
  log->is_broken = true;
  cut_publish(log, end_offset, end_offset, 0);
  // Nothing is readable now; what is on disk counts from here.
  atomic_store(&log->start_offset, log_start_offset);
  atomic_store(&log->recovery_point, end_offset);
  leader_epochs_truncate_end(&log->epochs, 0);
  struct segment_list *list = log_list(log);
  int64_t sizes = 0;
  for (int i = list->count - 1; i >= 0; i--) {
    struct segment *seg = list->segments[i];
    sizes += atomic_load(&seg->size);
    TRY(log_delete_files(log, seg->base_offset, atomic_load(&seg->size), now_ms, false));
  }
  const struct log_config *config = log_get_config(log);
  struct segment *seg = segment_new(end_offset, config, now_ms);
  int result = segment_create_files(seg, log_dir(log), config);
  if (result < 0) {
    segment_free(seg);
    return result;
  }
  struct segment_list *fresh = segment_list_new(1);
  fresh->segments[0] = seg;
  log_publish_list(log, fresh);
  for (int i = 0; i < list->count; i++) {
    segment_retire(list->segments[i]);
  }
  atomic_fetch_sub(&log->size_bytes, sizes);
  atomic_store(&log->is_dir_dirty, true);
  int forgotten = log_producers_reset(log);
  atomic_fetch_add(&log->cuts, 1); // as above
  TRY(forgotten);
  log->is_broken = false;
  return 0;
}

/// Finds where to cut for `offset`, which lies in the log: a batch that holds it goes whole.
static int cut_find(struct log *log, int64_t offset, struct cut *cut)
{
  struct segment_list *list = log_list(log);
  int index = segment_list_floor(list, offset);
  struct segment *seg = list->segments[index];
  struct log_file *file = NULL;
  TRY(log_open_segment(log, seg, &file));
  int64_t pos = 0;
  struct header_scan scan;
  struct batch_header header = {0};
  int found = segment_scan(seg, file, offset, atomic_load(&seg->size), true, &scan, NULL);
  if (found == 0) {
    found = header_scan_find(&scan, offset, &header, &pos);
  }
  log_file_unref(file);
  if (found < 0) {
    return found;
  }
  *cut = (struct cut){.offset = offset, .index = index, .pos = atomic_load(&seg->size)};
  if (found > 0) {
    cut->pos = pos;
    cut->offset = header.base_offset < offset ? header.base_offset : offset;
  }
  return 0;
}

/// Takes away the segments from number `kept` on, newest first, so that a crash leaves no hole.
static int cut_segments(struct log *log, int kept, int64_t now_ms)
{
  struct segment_list *list = log_list(log);
  if (kept == list->count) {
    return 0;
  }
  struct segment_list *fresh = segment_list_new(kept);
  for (int i = 0; i < kept; i++) {
    fresh->segments[i] = list->segments[i];
  }
  log_publish_list(log, fresh);
  int result = 0;
  for (int i = list->count - 1; i >= kept; i--) {
    struct segment *seg = list->segments[i];
    int64_t size = atomic_load(&seg->size);
    atomic_fetch_sub(&log->size_bytes, size);
    int64_t base_offset = seg->base_offset;
    segment_retire(seg);
    // Once one stays, so do the older ones: the next start must not find a hole.
    result = result < 0 ? result : log_delete_files(log, base_offset, size, now_ms, false);
  }
  struct segment *seg = list->segments[kept - 1];
  seg->created_ms = now_ms;
  return result;
}

/// Copies the first bytes of a file to another one, sharing blocks where the file system can.
static int copy_bytes(int from_fd, int to_fd, int64_t size)
{
  enum { COPY_STEP_BYTES = 256 * 1024 };
  off_t from_pos = 0;
  off_t to_pos = 0;
  while (from_pos < size) {
    ssize_t n = copy_file_range(from_fd, &from_pos, to_fd, &to_pos, (size_t)(size - from_pos), 0);
    if (n <= 0) {
      break; // Not supported here, or a real error that shows below.
    }
  }
  char *step = mem_alloc(COPY_STEP_BYTES);
  int result = 0;
  while (from_pos < size && result == 0) {
    size_t wanted = size - from_pos < COPY_STEP_BYTES ? (size_t)(size - from_pos) : COPY_STEP_BYTES;
    result = file_read_at(from_fd, step, wanted, from_pos);
    if (result == 0) {
      result = file_write_at(to_fd, step, wanted, from_pos);
    }
    from_pos += (off_t)wanted;
  }
  mem_free(step);
  return result;
}

/// Puts a copy of the first bytes of a file in its place; the old one stays with those who have it open.
static int replace_by_copy(const char *path, int64_t size)
{
  char *temporary = mem_printf("%s.tmp", path);
  int from_fd = -1;
  int to_fd = -1;
  int result = file_open(path, FILE_READ, &from_fd);
  if (result == 0) {
    result = file_open(temporary, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &to_fd);
  }
  if (result == 0) {
    result = copy_bytes(from_fd, to_fd, size);
  }
  // The name is that of bytes which may count as on disk.
  if (result == 0) {
    result = file_sync(to_fd);
  }
  if (result == 0) {
    result = dir_rename(temporary, path);
  }
  file_close(from_fd);
  file_close(to_fd);
  mem_free(temporary);
  return result;
}

/// Cuts a segment whose file readers hold: new files, and a new segment in the list.
static int cut_held_file(struct log *log, struct segment *seg, const struct cut *cut, int64_t now_ms)
{
  const char *dir = log_dir(log);
  const struct log_config *config = log_get_config(log);
  TRY(segment_finish_indexes(seg, dir, false));
  for (int i = 0; i < 3; i++) {
    char *path = segment_path(dir, seg->base_offset, segment_suffixes[i]);
    int64_t size = i == 0   ? cut->pos
                   : i == 1 ? (int64_t)atomic_load(&seg->offset_index.count) * OFFSET_INDEX_ENTRY_SIZE
                            : (int64_t)atomic_load(&seg->time_index.count) * TIME_INDEX_ENTRY_SIZE;
    int result = replace_by_copy(path, size);
    mem_free(path);
    TRY(result);
  }
  struct segment *fresh = segment_new(seg->base_offset, config, now_ms);
  offset_index_create(&fresh->offset_index, atomic_load(&seg->offset_index.count), config->segment_index_bytes);
  time_index_create(&fresh->time_index, atomic_load(&seg->time_index.count), &seg->time_index.last,
                    config->segment_index_bytes);
  atomic_store(&fresh->size, cut->pos);
  atomic_store(&fresh->is_index_dirty, true);
  struct log_file *file = NULL;
  int result = log_open_segment(log, fresh, &file);
  if (result == 0) {
    result = segment_truncate_indexes(fresh, file, dir, cut->offset, cut->pos);
  }
  if (result == 0) {
    result = segment_load_timestamps(fresh, file);
  }
  log_file_unref(file);
  if (result < 0) {
    segment_free(fresh);
    return result;
  }
  struct segment_list *old = log_list(log);
  struct segment_list *list = segment_list_new(old->count);
  for (int i = 0; i < old->count; i++) {
    list->segments[i] = i == cut->index ? fresh : old->segments[i];
  }
  log_publish_list(log, list);
  segment_retire(seg);
  return 0;
}

/// Cuts the file of what is now the last segment.
static int cut_file(struct log *log, const struct cut *cut, int64_t now_ms)
{
  struct segment *seg = log_list(log)->segments[cut->index];
  int64_t size = atomic_load(&seg->size);
  int result = 0;
  if (log_file_is_held(&seg->file)) {
    result = cut_held_file(log, seg, cut, now_ms);
  } else {
    struct log_file *file = NULL;
    TRY(log_open_segment(log, seg, &file));
    result = file_truncate(log_file_fd(file), cut->pos);
    seg->reserved_pos = 0;
    if (result == 0) {
      result = segment_truncate_indexes(seg, file, log_dir(log), cut->offset, cut->pos);
    }
    atomic_store(&seg->size, cut->pos);
    if (result == 0) {
      result = segment_load_timestamps(seg, file);
    }
    log_file_unref(file);
  }
  atomic_fetch_sub(&log->size_bytes, size - cut->pos);
  atomic_store(&log->is_dir_dirty, true);
  return result;
}

// --- the start -------------------------------------------------------------------------------------------------------

int log_set_start_offset(struct log *log, int64_t offset)
{
  CHECK(epoch_is_inside());
  if (offset > log_end_offset(log)) {
    return error_set(ERR_OFFSET_OUT_OF_RANGE, "offset %" PRId64 " is above the end of %s", offset, log_dir(log));
  }
  if (offset > log_start_offset(log)) {
    atomic_store(&log->start_offset, offset);
    leader_epochs_truncate_start(&log->epochs, offset);
  }
  return 0;
}

int log_delete_before(struct log *log, int64_t offset, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  struct segment_list *list = log_list(log);
  int gone = 0;
  while (gone < list->count - 1 && list->segments[gone + 1]->base_offset <= offset) {
    gone++;
  }
  if (gone == 0) {
    return 0;
  }
  TRY(log_clean_drop_swap(log));
  struct segment_list *fresh = segment_list_new(list->count - gone);
  for (int i = gone; i < list->count; i++) {
    fresh->segments[i - gone] = list->segments[i];
  }
  TRY(log_set_start_offset(log, fresh->segments[0]->base_offset));
  log_publish_list(log, fresh);
  int result = 0;
  for (int i = 0; i < gone; i++) {
    struct segment *seg = list->segments[i];
    int64_t base_offset = seg->base_offset;
    int64_t size = atomic_load(&seg->size);
    atomic_fetch_sub(&log->size_bytes, size);
    segment_retire(seg);
    // Once one stays, so do the newer ones: the next start must not find a hole.
    result = result < 0 ? result : log_delete_files(log, base_offset, size, now_ms, false);
  }
  return result < 0 ? result : gone;
}
