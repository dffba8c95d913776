// SPDX-License-Identifier: Apache-2.0
#include "log/segment.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/index_file.h"
#include "log/log.h"
#include "log/map_guard.h"
#include "os/dir.h"
#include "os/file.h"

const char *const segment_suffixes[] = {".log", ".index", ".timeindex", ".txnindex", ".snapshot", NULL};

enum {
  RESERVE_WRITE_BYTES = 32 * 1024,      // writes that are too small to gain by it
  RESERVE_SEGMENT_BYTES = 1024 * 1024,  // segments that may not grow much more
  RESERVE_STEP_MIN_BYTES = 256 * 1024,  // what one call allots: a call costs as much as 2 to 5 batches gain
  RESERVE_STEP_BYTES = 4 * 1024 * 1024, // more brings nothing
  RESERVE_SHARE = 8,                    // of the segment's size
};

static int segment_write_indexes(struct segment *seg, const char *dir);
static int64_t segment_draw_jitter(const struct log_config *config);

struct segment *segment_new(int64_t base_offset, const struct log_config *config, int64_t now_ms)
{
  struct segment *seg = mem_zalloc(sizeof *seg);
  seg->base_offset = base_offset;
  seg->name_suffix = "";
  atomic_init(&seg->max_timestamp, -1);
  atomic_init(&seg->max_timestamp_offset, -1);
  atomic_init(&seg->modified_ms, now_ms);
  seg->first_timestamp = -1;
  seg->created_ms = now_ms;
  seg->jitter_ms = segment_draw_jitter(config);
  offset_index_create(&seg->offset_index, 0, config->segment_index_bytes);
  time_index_create(&seg->time_index, 0, &(struct time_index_entry){-1, 0}, config->segment_index_bytes);
  return seg;
}

void segment_free(struct segment *seg)
{
  log_file_detach(&seg->file);
  offset_index_destroy(&seg->offset_index);
  time_index_destroy(&seg->time_index);
  mem_free(seg);
}

void segment_reset_indexes(struct segment *seg, uint32_t offset_count, uint32_t time_count,
                           const struct time_index_entry *last, int32_t size_limit)
{
  offset_index_destroy(&seg->offset_index);
  time_index_destroy(&seg->time_index);
  offset_index_create(&seg->offset_index, offset_count, size_limit);
  time_index_create(&seg->time_index, time_count, last, size_limit);
}

static void segment_free_retired(struct epoch_retired *retired)
{
  segment_free(CONTAINER_OF(retired, struct segment, retired));
}

void segment_retire(struct segment *seg)
{
  epoch_retire(&seg->retired, segment_free_retired);
}

struct segment_list *segment_list_new(int count)
{
  struct segment_list *list = mem_zalloc(sizeof *list + (size_t)count * sizeof list->segments[0]);
  list->count = count;
  return list;
}

static void segment_list_free_retired(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct segment_list, retired));
}

void segment_list_retire(struct segment_list *list)
{
  epoch_retire(&list->retired, segment_list_free_retired);
}

int segment_list_floor(const struct segment_list *list, int64_t offset)
{
  if (list->segments[list->count - 1]->base_offset <= offset) {
    return list->count - 1;
  }
  int low = 0;
  int high = list->count - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (list->segments[middle]->base_offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

char *segment_path(const char *dir, int64_t base_offset, const char *suffix)
{
  return mem_printf("%s/%020" PRId64 "%s", dir, base_offset, suffix);
}

bool segment_parse_name(const char *name, const char *suffix, int64_t *base_offset)
{
  if (strspn(name, "0123456789") != SEGMENT_NAME_DIGITS || strcmp(name + SEGMENT_NAME_DIGITS, suffix) != 0 ||
      name[0] != '0') {
    return false;
  }
  // Nineteen digits after a zero: may still be above the largest offset.
  uint64_t value = strtoull(name, NULL, 10);
  if (value > INT64_MAX - 1) {
    return false;
  }
  *base_offset = (int64_t)value;
  return true;
}

int segment_create_files(const struct segment *seg, const char *dir, const struct log_config *config)
{
  int result = 0;
  for (int i = 0; i < 3 && result == 0; i++) {
    char *path = segment_path(dir, seg->base_offset, segment_suffixes[i]);
    int fd = -1;
    result = file_open(path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &fd);
    if (result == 0 && i == 0 && config->preallocate) {
      result = file_reserve(fd, 0, config->segment_bytes);
    }
    file_close(fd);
    mem_free(path);
  }
  for (int i = 0; i < 3 && result < 0; i++) {
    char *path = segment_path(dir, seg->base_offset, segment_suffixes[i]);
    struct error_detail detail = *error_last();
    dir_remove_file(path);
    error_record(result, 0, detail.file, detail.line, "%s", detail.message);
    mem_free(path);
  }
  return result;
}

void segment_reserve(struct segment *seg, int fd, int64_t pos, int64_t size, const struct log_config *config)
{
  if (size < RESERVE_WRITE_BYTES || pos < RESERVE_SEGMENT_BYTES || pos + size <= seg->reserved_pos ||
      config->preallocate) {
    return;
  }
  int64_t step = pos / RESERVE_SHARE;
  step = step < RESERVE_STEP_MIN_BYTES ? RESERVE_STEP_MIN_BYTES : step;
  step = step > RESERVE_STEP_BYTES ? RESERVE_STEP_BYTES : step;
  int64_t from = seg->reserved_pos > pos ? seg->reserved_pos : pos;
  int64_t end = pos + size + step;
  if (end > config->segment_bytes) {
    end = config->segment_bytes;
  }
  if (end <= from || file_reserve(fd, from, end - from) < 0) {
    end = INT64_MAX; // The segment ends here, or there is no room: not asked for again.
  }
  seg->reserved_pos = end;
}

int segment_unreserve(struct segment *seg, int fd, const struct log_config *config)
{
  int64_t size = atomic_load_explicit(&seg->size, memory_order_relaxed);
  if (seg->reserved_pos <= size && !config->preallocate) {
    return 0;
  }
  seg->reserved_pos = 0;
  return file_unreserve(fd, size);
}

int segment_rename_deleted(int64_t base_offset, const char *dir, bool is_replaced)
{
  int result = 0;
  for (int i = 0; segment_suffixes[i] != NULL; i++) {
    if (is_replaced && strcmp(segment_suffixes[i], ".snapshot") == 0) {
      continue;
    }
    char *path = segment_path(dir, base_offset, segment_suffixes[i]);
    char *deleted = mem_printf("%s.deleted", path);
    int renamed = dir_rename(path, deleted);
    if (renamed == ERR_NO_SPACE) {
      renamed = dir_remove_file(path); // The new name may take a block; a full disk must still give some back.
    }
    if (renamed < 0 && renamed != ERR_NOT_FOUND && result == 0) {
      result = renamed;
    }
    mem_free(deleted);
    mem_free(path);
  }
  return result;
}

void segment_add(struct segment *seg, const char *dir, int32_t index_interval_bytes, int64_t pos, int64_t size,
                 int64_t last_offset, int64_t timestamp)
{
  if (timestamp > atomic_load_explicit(&seg->max_timestamp, memory_order_relaxed)) {
    atomic_store_explicit(&seg->max_timestamp_offset, last_offset, memory_order_relaxed);
    atomic_store_explicit(&seg->max_timestamp, timestamp, memory_order_release);
  }
  if (pos == 0) {
    seg->first_timestamp = timestamp;
  }
  if (seg->bytes_since_index > index_interval_bytes) {
    if (offset_index_is_waiting(&seg->offset_index) || time_index_is_waiting(&seg->time_index)) {
      // Tried again with the next entries when it fails; an index may have holes, its segment may not be closed with
      // them.
      segment_write_indexes(seg, dir);
    }
    offset_index_add(&seg->offset_index, last_offset - seg->base_offset, pos);
    time_index_add(&seg->time_index, atomic_load_explicit(&seg->max_timestamp, memory_order_relaxed),
                   atomic_load_explicit(&seg->max_timestamp_offset, memory_order_relaxed) - seg->base_offset, false);
    seg->bytes_since_index = 0;
  }
  seg->bytes_since_index += size;
  atomic_store_explicit(&seg->size, pos + size, memory_order_release);
}

/// Path of one of its files as it is called now. Owned: mem_free().
static char *segment_own_path(const struct segment *seg, const char *dir, const char *suffix)
{
  return mem_printf("%s/%020" PRId64 "%s%s", dir, seg->base_offset, suffix, seg->name_suffix);
}

/// Writes what the indexes keep in memory.
static int segment_write_indexes(struct segment *seg, const char *dir)
{
  if (atomic_load(&seg->offset_index.count) != atomic_load(&seg->offset_index.written) ||
      atomic_load(&seg->time_index.count) != atomic_load(&seg->time_index.written)) {
    atomic_store(&seg->is_index_dirty, true);
  }
  // The time index first: recovery keeps the entries up to the offset-index entry that it begins with.
  char *path = segment_own_path(seg, dir, ".timeindex");
  int result = time_index_write(&seg->time_index, path);
  mem_free(path);
  TRY(result);
  path = segment_own_path(seg, dir, ".index");
  result = offset_index_write(&seg->offset_index, path);
  mem_free(path);
  return result;
}

int segment_finish_indexes(struct segment *seg, const char *dir, bool is_closing)
{
  int64_t max_timestamp = atomic_load_explicit(&seg->max_timestamp, memory_order_relaxed);
  if (is_closing && max_timestamp >= 0) {
    int64_t offset = atomic_load_explicit(&seg->max_timestamp_offset, memory_order_relaxed);
    time_index_add(&seg->time_index, max_timestamp, offset - seg->base_offset, true);
  }
  return segment_write_indexes(seg, dir);
}

int segment_trim_indexes(struct segment *seg, const char *dir)
{
  if (!seg->is_index_long) {
    return 0;
  }
  char *path = segment_path(dir, seg->base_offset, ".index");
  int result = index_file_trim(path, OFFSET_INDEX_ENTRY_SIZE, atomic_load(&seg->offset_index.count));
  mem_free(path);
  TRY(result);
  path = segment_path(dir, seg->base_offset, ".timeindex");
  result = index_file_trim(path, TIME_INDEX_ENTRY_SIZE, atomic_load(&seg->time_index.count));
  mem_free(path);
  TRY(result);
  seg->is_index_long = false;
  atomic_store(&seg->is_index_dirty, true);
  return 0;
}

int segment_truncate_indexes(struct segment *seg, struct log_file *file, const char *dir, int64_t end_offset,
                             int64_t end_pos)
{
  int64_t relative_end = end_offset - seg->base_offset;
  uint32_t written = atomic_load(&seg->offset_index.written);
  uint32_t time_written = atomic_load(&seg->time_index.written);
  size_t map_size = 0;
  const uint8_t *map = log_file_index(file, &map_size);
  int64_t found_pos = 0;
  map_guard_begin(map, map_size);
  int64_t last = offset_index_floor_pos(&seg->offset_index, map, map_size, end_pos - 1, &found_pos);
  if (map_guard_end()) {
    return log_file_fail_index(file);
  }
  char *time_path = segment_path(dir, seg->base_offset, ".timeindex");
  char *path = segment_path(dir, seg->base_offset, ".index");
  int result = time_index_truncate(&seg->time_index, time_path, relative_end);
  if (result == 0) {
    offset_index_truncate(&seg->offset_index, (uint32_t)(last + 1));
    // Zeros count as no entry after a crash. The files are not cut: a reader may be looking at the mapping.
    result = index_file_zero(path, OFFSET_INDEX_ENTRY_SIZE, (uint32_t)(last + 1), written);
  }
  if (result == 0) {
    result = index_file_zero(time_path, TIME_INDEX_ENTRY_SIZE, atomic_load(&seg->time_index.count), time_written);
  }
  mem_free(path);
  mem_free(time_path);
  seg->is_index_long = true;
  atomic_store(&seg->is_index_dirty, true);
  seg->bytes_since_index = 0;
  return result;
}

int segment_sync_indexes(struct segment *seg, const char *dir)
{
  if (!atomic_exchange(&seg->is_index_dirty, false)) {
    return 0;
  }
  int result = 0;
  for (int i = 1; i < 3 && result == 0; i++) {
    char *path = segment_own_path(seg, dir, segment_suffixes[i]);
    result = index_file_sync(path);
    mem_free(path);
  }
  if (result < 0) {
    atomic_store(&seg->is_index_dirty, true);
  }
  return result;
}

/// One question to the index.
struct index_lookup {
  bool is_by_pos;       ///< by position, else by offset
  int64_t wanted;       ///< relative offset, or position
  uint32_t below;       ///< only entries before this one count
  int64_t number;       ///< out: of the entry, -1: none
  int64_t entry_offset; ///< out: its relative offset; by offset only
  int64_t pos;          ///< out: its position, 0: none
  int64_t next_pos;     ///< out: position of the entry after it, -1: none; by offset only
};

/// Runs one lookup in the mapped index, guarded.
static int segment_search_index(struct segment *seg, struct log_file *file, bool may_wait, struct index_lookup *lookup)
{
  size_t map_size = 0;
  const uint8_t *map = log_file_index(file, &map_size);
  size_t written =
      (size_t)atomic_load_explicit(&seg->offset_index.written, memory_order_acquire) * OFFSET_INDEX_ENTRY_SIZE;
  if (map != NULL) {
    TRY(log_file_warm_index(file, written < map_size ? written : map_size, may_wait));
  }
  map_guard_begin(map, map_size);
  struct offset_index *index = &seg->offset_index;
  if (lookup->is_by_pos) {
    lookup->number = offset_index_floor_pos(index, map, map_size, lookup->wanted, &lookup->pos);
  } else {
    lookup->number = offset_index_floor_below(index, map, map_size, lookup->below, lookup->wanted,
                                              &lookup->entry_offset, &lookup->pos);
    lookup->next_pos = offset_index_pos(index, map, map_size, lookup->number + 1);
  }
  return map_guard_end() ? log_file_fail_index(file) : 0;
}

/// Tries the batch of the entry after the floor: where batches are large it is the wanted one, most of all for a reader
/// who goes on, as regions end at entries (log_read.c). One small read then finds what else takes two of some KiB.
///
/// @return 1: the scan stands there; 0: it does not have the offset; ERR_AGAIN, ERR_IO
static int segment_scan_next_entry(const struct segment *seg, const struct index_lookup *lookup,
                                   struct header_scan *scan)
{
  bool is_floor = lookup->pos > 0 && lookup->entry_offset == lookup->wanted;
  if (is_floor || lookup->next_pos - lookup->pos <= HEADER_SCAN_BYTES - BATCH_HEADER_SIZE ||
      lookup->next_pos >= scan->end) {
    return 0;
  }
  struct batch_header header;
  int64_t pos = 0;
  scan->pos = lookup->next_pos;
  scan->step = BATCH_HEADER_SIZE;
  int result = header_scan_next(scan, &header, &pos);
  scan->step = HEADER_SCAN_BYTES;
  scan->pos = pos;
  if (result <= 0) {
    return result == ERR_AGAIN || result == ERR_IO ? result : 0;
  }
  int64_t offset = seg->base_offset + lookup->wanted;
  return header.base_offset <= offset && offset <= header.base_offset + header.last_offset_delta;
}

int segment_scan(struct segment *seg, struct log_file *file, int64_t offset, int64_t end, bool may_wait,
                 struct header_scan *scan, bool *is_wrong)
{
  enum { WRONG_ENTRIES_MAX = 16 }; // with more of them, nothing the index says is worth reading
  struct index_lookup lookup = {.wanted = offset - seg->base_offset, .below = UINT32_MAX};
  for (int i = 0; i < WRONG_ENTRIES_MAX; i++) {
    TRY(segment_search_index(seg, file, may_wait, &lookup));
    header_scan_begin(scan, log_file_fd(file), lookup.pos, end, may_wait);
    int found = i == 0 ? segment_scan_next_entry(seg, &lookup, scan) : 0;
    if (found != 0) {
      return found < 0 ? found : 0;
    }
    scan->pos = lookup.pos;
    if (lookup.pos == 0) {
      return 0;
    }
    struct batch_header header;
    int64_t pos = 0;
    int result = header_scan_next(scan, &header, &pos);
    if (result == ERR_AGAIN || result == ERR_IO) {
      return result;
    }
    // An entry names the batch that ends with its offset, or with older Kafkas the first of several written at once.
    if (result > 0 && header.base_offset + header.last_offset_delta <= seg->base_offset + lookup.entry_offset) {
      scan->pos = lookup.pos;
      return 0;
    }
    if (is_wrong != NULL) {
      *is_wrong = true;
    }
    // Farther back each time: a bad block has many wrong entries, and a worker may not scan all of a segment for them.
    int64_t below = lookup.number - ((INT64_C(1) << i) - 1);
    lookup.below = below > 0 ? (uint32_t)below : 0;
  }
  header_scan_begin(scan, log_file_fd(file), 0, end, may_wait);
  return 0;
}

void segment_report_index(struct segment *seg, const char *dir)
{
  if (!atomic_exchange(&seg->is_index_wrong, true)) {
    slog_warn("%s/%020" PRId64 ".index: has entries that name no batch: they are passed over", dir, seg->base_offset);
  }
}

int segment_lookup_pos(struct segment *seg, struct log_file *file, int64_t pos, bool may_wait, int64_t *found_pos)
{
  struct index_lookup lookup = {.is_by_pos = true, .wanted = pos};
  TRY(segment_search_index(seg, file, may_wait, &lookup));
  *found_pos = lookup.pos;
  return 0;
}

int segment_load_timestamps(struct segment *seg, struct log_file *file)
{
  const struct time_index_entry *last = &seg->time_index.last;
  int64_t max_timestamp = last->timestamp;
  int64_t max_offset = last->timestamp >= 0 ? seg->base_offset + last->relative_offset : -1;
  int64_t size = atomic_load_explicit(&seg->size, memory_order_relaxed);
  int64_t pos = 0;
  struct header_scan scan;
  TRY(segment_scan(seg, file, max_offset < 0 ? seg->base_offset : max_offset, size, true, &scan, NULL));
  struct batch_header header;
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
    if (header_timestamp(&header) > max_timestamp) {
      max_timestamp = header_timestamp(&header);
      max_offset = header.base_offset + header.last_offset_delta;
    }
  }
  TRY(result);
  seg->first_timestamp = -1;
  header_scan_begin(&scan, log_file_fd(file), 0, size, true);
  result = header_scan_next(&scan, &header, &pos);
  TRY(result);
  if (result > 0) {
    seg->first_timestamp = header_timestamp(&header);
  }
  atomic_store_explicit(&seg->max_timestamp_offset, max_offset, memory_order_relaxed);
  atomic_store_explicit(&seg->max_timestamp, max_timestamp, memory_order_release);
  return 0;
}

/// A part of segment_jitter_ms, so that the segments of many partitions do not all roll at once.
static int64_t segment_draw_jitter(const struct log_config *config)
{
  int64_t most = config->segment_jitter_ms < config->segment_ms ? config->segment_jitter_ms : config->segment_ms;
  uint64_t number = 0;
  if (most <= 0 || getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
    return 0;
  }
  return (int64_t)(number % (uint64_t)most);
}
