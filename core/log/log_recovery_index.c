// SPDX-License-Identifier: Apache-2.0
//
// The index files of a segment at start: whether they are plausible, and from which entry on the batches have to be
// checked. An index may have been written in part, or not been synced, when a crash came; so what it says is compared
// with the headers in the segment, and it is made anew where the two differ. Called by log_recovery.c alone.
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/index_file.h"
#include "log/log_recovery_private.h"
#include "os/file.h"

/// Number of entries before the zeros that a preallocated or truncated index ends with. A lone entry of zeros counts.
static int count_entries(int fd, size_t entry_size, int64_t file_size_bytes, uint32_t *count)
{
  static const uint8_t zeros[TIME_INDEX_ENTRY_SIZE];
  uint32_t low = 0;
  uint32_t high = (uint32_t)(file_size_bytes / (int64_t)entry_size);
  bool is_alone = high == 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    uint8_t entry[TIME_INDEX_ENTRY_SIZE];
    TRY(file_read_at(fd, entry, entry_size, (int64_t)(entry_size * middle)));
    if (memcmp(entry, zeros, entry_size) != 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *count = is_alone ? 1 : low;
  return 0;
}

/// Reads how many entries an index file has and the last of them; cuts zeros off. `count` is UINT32_MAX when it is
/// missing or no index.
static int load_index_file(const struct segment_recovery *work, const char *suffix, size_t entry_size, uint32_t *count,
                           uint8_t last[TIME_INDEX_ENTRY_SIZE])
{
  char *path = segment_path(work->dir, work->seg->base_offset, suffix);
  int fd = -1;
  int64_t size = 0;
  *count = UINT32_MAX;
  int result = file_open(path, FILE_READ, &fd);
  if (result == 0) {
    result = file_size(fd, &size);
  }
  if (result == 0 && size % (int64_t)entry_size == 0 && size <= INT32_MAX) {
    uint32_t found = 0;
    result = count_entries(fd, entry_size, size, &found);
    if (result == 0 && found > 0) {
      result = file_read_at(fd, last, entry_size, (int64_t)(entry_size * (found - 1)));
    }
    if (result == 0 && size != (int64_t)(entry_size * found)) {
      result = index_file_trim(path, entry_size, found);
      result = result == ERR_READ_ONLY || result == ERR_PERMISSION ? 0 : result;
    }
    *count = result == 0 ? found : UINT32_MAX;
  }
  file_close(fd);
  mem_free(path);
  return result == ERR_NOT_FOUND ? 0 : result;
}

int recovery_load_indexes(struct segment_recovery *work, bool *is_good)
{
  struct segment *seg = work->seg;
  int32_t size_limit = log_get_config(work->recovery->log)->segment_index_bytes;
  uint8_t last[TIME_INDEX_ENTRY_SIZE] = {0};
  uint8_t time_last[TIME_INDEX_ENTRY_SIZE] = {0};
  uint32_t count = 0;
  uint32_t time_count = 0;
  TRY(load_index_file(work, ".index", OFFSET_INDEX_ENTRY_SIZE, &count, last));
  TRY(load_index_file(work, ".timeindex", TIME_INDEX_ENTRY_SIZE, &time_count, time_last));
  int64_t relative_offset = 0;
  int64_t pos = 0;
  struct time_index_entry entry = {-1, 0};
  *is_good = count != UINT32_MAX && time_count != UINT32_MAX;
  if (*is_good && count > 0) {
    offset_index_decode(last, &relative_offset, &pos);
    *is_good =
        relative_offset > 0 && pos > 0 && pos < work->size && relative_offset < work->next_base - seg->base_offset;
  }
  if (*is_good && time_count > 0) {
    time_index_decode(time_last, &entry);
    *is_good = entry.timestamp >= 0 && entry.relative_offset >= 0 &&
               entry.relative_offset < work->next_base - seg->base_offset;
  }
  // A closed segment without any entry was closed without its last one, unless its records have no timestamps.
  *is_good = *is_good && (time_count > 0 || count == 0) && (time_count > 0 || work->size == 0);
  if (!*is_good) {
    entry = (struct time_index_entry){-1, 0};
    count = 0;
    time_count = 0;
  }
  segment_reset_indexes(seg, count, time_count, &entry, size_limit);
  if (*is_good) {
    work->pos = pos;
    work->indexed_offset = count > 0 ? seg->base_offset + relative_offset : -1;
    atomic_store(&seg->max_timestamp, entry.timestamp);
    atomic_store(&seg->max_timestamp_offset, entry.timestamp >= 0 ? seg->base_offset + entry.relative_offset : -1);
  }
  return 0;
}

/// Position of the last offset-index entry whose offset is at most `relative_offset`, 0: none.
static int find_indexed_pos(const struct segment_recovery *work, int64_t relative_offset, int64_t *pos)
{
  uint32_t low = 0;
  uint32_t high = atomic_load(&work->seg->offset_index.count);
  *pos = 0;
  if (high == 0) {
    return 0; // most segments of a broker with thousands of partitions: no file is opened for that
  }
  char *path = segment_path(work->dir, work->seg->base_offset, ".index");
  int fd = -1;
  int result = file_open(path, FILE_READ, &fd);
  while (result == 0 && low < high) {
    uint32_t middle = low + (high - low) / 2;
    uint8_t entry[OFFSET_INDEX_ENTRY_SIZE];
    int64_t entry_offset = 0;
    int64_t entry_pos = 0;
    result = file_read_at(fd, entry, sizeof entry, (int64_t)middle * OFFSET_INDEX_ENTRY_SIZE);
    if (result == 0) {
      offset_index_decode(entry, &entry_offset, &entry_pos);
      if (entry_offset <= relative_offset) {
        *pos = entry_pos;
        low = middle + 1;
      } else {
        high = middle;
      }
    }
  }
  file_close(fd);
  mem_free(path);
  return result;
}

int recovery_check_entries(struct segment_recovery *work, bool *is_good)
{
  struct segment *seg = work->seg;
  const struct time_index_entry *last = &seg->time_index.last;
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  int result = 0;
  if (work->indexed_offset >= 0) {
    header_scan_begin(&scan, work->fd, work->pos, work->size, true);
    // The batch that ends there may be the last of several: older Kafkas have one entry for all that came at once.
    int64_t last_offset = -1;
    while (last_offset < work->indexed_offset && (result = header_scan_next(&scan, &header, &pos)) > 0) {
      last_offset = header.base_offset + header.last_offset_delta;
    }
    *is_good = last_offset == work->indexed_offset;
  }
  if (*is_good && last->timestamp >= 0) {
    int64_t offset = seg->base_offset + last->relative_offset;
    TRY(find_indexed_pos(work, last->relative_offset, &pos));
    header_scan_begin(&scan, work->fd, pos, work->size, true);
    result = header_scan_find(&scan, offset, &header, &pos);
    *is_good = result > 0 && header.base_offset <= offset && header_timestamp(&header) == last->timestamp;
  }
  return result == ERR_IO ? result : 0;
}

int recovery_check_end(struct segment_recovery *work, bool *is_good)
{
  struct segment *seg = work->seg;
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, work->fd, work->pos, work->size, true);
  work->next_offset = seg->base_offset;
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0 && header.base_offset >= work->next_offset) {
    work->next_offset = header.base_offset + header.last_offset_delta + 1;
    if (header_timestamp(&header) > atomic_load(&seg->max_timestamp)) {
      *is_good = false; // It was closed without the entry that ends a time index.
    }
  }
  if (result > 0 || result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT) {
    *is_good = false;
    return 0;
  }
  TRY(result);
  if (seg->time_index.last.timestamp >= 0 &&
      seg->base_offset + seg->time_index.last.relative_offset >= work->next_offset) {
    *is_good = false; // An entry for an offset that the segment does not have.
  }
  atomic_store(&seg->size, work->size);
  return 0;
}

int recovery_clear_indexes(struct segment_recovery *work)
{
  struct segment *seg = work->seg;
  int32_t size_limit = log_get_config(work->recovery->log)->segment_index_bytes;
  segment_reset_indexes(seg, 0, 0, &(struct time_index_entry){-1, 0}, size_limit);
  atomic_store(&seg->max_timestamp, -1);
  atomic_store(&seg->max_timestamp_offset, -1);
  atomic_store(&seg->size, 0);
  seg->bytes_since_index = 0;
  char *path = segment_path(work->dir, seg->base_offset, ".index");
  int result = index_file_trim(path, OFFSET_INDEX_ENTRY_SIZE, 0);
  mem_free(path);
  path = segment_path(work->dir, seg->base_offset, ".timeindex");
  if (result == 0) {
    result = index_file_trim(path, TIME_INDEX_ENTRY_SIZE, 0);
  }
  mem_free(path);
  return result;
}

int recovery_find_start(struct segment_recovery *work, struct batch_header *header, uint32_t *number, int64_t *pos)
{
  uint32_t count = 0;
  uint8_t last[TIME_INDEX_ENTRY_SIZE];
  TRY(load_index_file(work, ".index", OFFSET_INDEX_ENTRY_SIZE, &count, last));
  if (count == UINT32_MAX || count == 0) {
    return 0;
  }
  char *path = segment_path(work->dir, work->seg->base_offset, ".index");
  uint8_t *entries = mem_alloc((size_t)count * OFFSET_INDEX_ENTRY_SIZE);
  int result = index_file_read(path, OFFSET_INDEX_ENTRY_SIZE, 0, entries, count);
  uint32_t good = result == 0 ? offset_index_valid(entries, count, work->size) : 0;
  int64_t relative_offset = 0;
  while (good > 0) {
    offset_index_decode(entries + (size_t)(good - 1) * OFFSET_INDEX_ENTRY_SIZE, &relative_offset, pos);
    if (work->seg->base_offset + relative_offset < work->recovery->recovery_point) {
      break;
    }
    good--;
  }
  mem_free(entries);
  mem_free(path);
  if (result < 0 || good == 0) {
    return result;
  }
  struct header_scan scan;
  header_scan_begin(&scan, work->fd, *pos, work->size, true);
  if (header_scan_next(&scan, header, pos) <= 0 ||
      header->base_offset + header->last_offset_delta != work->seg->base_offset + relative_offset) {
    return 0;
  }
  *number = good - 1;
  return 1;
}

/// Looks whether a batch between the one of a time-index entry and `end_pos` is newer than the entry says.
static int check_time_prefix(struct segment_recovery *work, const struct time_index_entry *last, int64_t end_pos,
                             bool *is_whole)
{
  uint32_t count = 0;
  uint8_t entry[TIME_INDEX_ENTRY_SIZE];
  TRY(load_index_file(work, ".index", OFFSET_INDEX_ENTRY_SIZE, &count, entry));
  count = count == UINT32_MAX ? 0 : count;
  // The position to begin from: of the last offset-index entry at or before the time-index entry.
  char *path = segment_path(work->dir, work->seg->base_offset, ".index");
  uint8_t *entries = mem_alloc((size_t)count * OFFSET_INDEX_ENTRY_SIZE + 1);
  int result = index_file_read(path, OFFSET_INDEX_ENTRY_SIZE, 0, entries, count);
  mem_free(path);
  int64_t pos = 0;
  for (uint32_t i = 0; result == 0 && i < count; i++) {
    int64_t relative_offset = 0;
    int64_t entry_pos = 0;
    offset_index_decode(entries + (size_t)i * OFFSET_INDEX_ENTRY_SIZE, &relative_offset, &entry_pos);
    if (relative_offset > last->relative_offset || entry_pos > end_pos) {
      break;
    }
    pos = entry_pos;
  }
  mem_free(entries);
  TRY(result);
  struct header_scan scan;
  struct batch_header header;
  header_scan_begin(&scan, work->fd, pos, end_pos, true);
  while ((result = header_scan_next(&scan, &header, &pos)) > 0 && header_timestamp(&header) <= last->timestamp) {
  }
  *is_whole = result == 0;
  return result == ERR_IO ? result : 0;
}

int recovery_load_time_prefix(struct segment_recovery *work, int64_t relative_offset, int64_t end_pos, uint32_t *count,
                              struct time_index_entry *last)
{
  uint8_t bytes[TIME_INDEX_ENTRY_SIZE];
  TRY(load_index_file(work, ".timeindex", TIME_INDEX_ENTRY_SIZE, count, bytes));
  if (*count == UINT32_MAX || *count == 0) {
    *count = UINT32_MAX;
    return 0;
  }
  char *path = segment_path(work->dir, work->seg->base_offset, ".timeindex");
  uint8_t *entries = mem_alloc((size_t)*count * TIME_INDEX_ENTRY_SIZE);
  int result = index_file_read(path, TIME_INDEX_ENTRY_SIZE, 0, entries, *count);
  uint32_t good = result == 0 ? time_index_valid(entries, *count) : 0;
  uint32_t kept = 0;
  while (kept < good) {
    struct time_index_entry entry;
    time_index_decode(entries + (size_t)kept * TIME_INDEX_ENTRY_SIZE, &entry);
    if (entry.relative_offset > relative_offset) {
      break;
    }
    *last = entry;
    kept++;
  }
  // Entries that end early although the offset was not reached would hide a larger timestamp.
  bool is_whole = kept > 0 && (kept < good || good == *count);
  if (result == 0 && is_whole && kept == good && last->relative_offset < relative_offset) {
    result = check_time_prefix(work, last, end_pos, &is_whole);
  }
  *count = is_whole ? kept : UINT32_MAX;
  mem_free(entries);
  mem_free(path);
  return result;
}
