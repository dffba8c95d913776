// SPDX-License-Identifier: Apache-2.0
//
// Offsets by time: ListOffsets with a timestamp or with the largest one. The time index gives a place to begin, headers
// tell which batches to look into, and the record is found inside the batch, unpacked if need be. Waits for the disk:
// on the pool, inside the epoch; takes no lock, and begins anew when a truncation came in between.
#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/file.h"
#include "record/iterate.h"

/// What a search works on.
struct time_search {
  struct log *log;                 ///< the log
  struct log_position end;         ///< its end when the search began
  const struct segment_list *list; ///< its segments
  int64_t start_offset;            ///< first readable offset
  struct segment *seg;             ///< the segment being searched
  struct log_file *file;           ///< its file, referenced
  int64_t seg_end;                 ///< readable bytes in it
  bool is_index_wrong;             ///< an entry of its index was passed over
};

typedef int (*time_search_fn)(struct time_search *search, int64_t timestamp, struct log_time_offset *found);

static int search_by_time(struct time_search *search, int64_t timestamp, struct log_time_offset *found);
static int search_max(struct time_search *search, int64_t timestamp, struct log_time_offset *found);

static const struct log_time_offset time_none = {.timestamp = -1, .offset = -1, .leader_epoch = -1};

/// Runs a search until no truncation came in between.
static int search_retrying(struct log *log, time_search_fn search_fn, int64_t timestamp, int64_t limit_offset,
                           struct log_time_offset *found)
{
  CHECK(epoch_is_inside());
  struct log_time_offset one = time_none;
  for (;;) {
    uint64_t cuts = atomic_load(&log->cuts);
    const struct log_path *path = atomic_load(&log->path);
    struct time_search search = {.log = log};
    log_end_position(log, &search.end);
    search.start_offset = log_start_offset(log);
    search.list = log_list(log);
    one = time_none;
    int result = search_fn(&search, timestamp, &one);
    log_file_unref(search.file);
    // As in log_read.c: a segment that was deleted meanwhile, a disk that the log has left.
    bool is_deleted = result == ERR_NOT_FOUND && search.list != log_list(log);
    bool is_left = result == ERR_IO && path != atomic_load(&log->path);
    if (atomic_load(&log->cuts) != cuts || is_deleted || is_left) {
      continue;
    }
    if (search.is_index_wrong) {
      segment_report_index(search.seg, log_dir(log));
    }
    if (result < 0) {
      return log_fail(log, result);
    }
    *found = one.offset < limit_offset ? one : time_none;
    return 0;
  }
}

int log_offset_by_time(struct log *log, int64_t timestamp, int64_t limit_offset, struct log_time_offset *found)
{
  return search_retrying(log, search_by_time, timestamp, limit_offset, found);
}

int log_max_timestamp(struct log *log, int64_t limit_offset, struct log_time_offset *found)
{
  return search_retrying(log, search_max, 0, limit_offset, found);
}

// --- inside a segment ------------------------------------------------------------------------------------------------

/// Takes up a segment; ERR_NOT_FOUND when it was deleted.
static int search_enter(struct time_search *search, struct segment *seg)
{
  log_file_unref(search->file);
  search->file = NULL;
  search->seg = seg;
  search->is_index_wrong = false;
  search->seg_end = seg->base_offset == search->end.segment_base ? search->end.pos : atomic_load(&seg->size);
  return log_open_segment(search->log, seg, &search->file);
}

/// Begins to scan headers at or before the batch with `offset`, or the last one of the search.
static int search_scan(struct time_search *search, int64_t offset, struct header_scan *scan)
{
  // What came since the search began is in the indexes, too.
  offset = offset < search->end.offset ? offset : search->end.offset - 1;
  return segment_scan(search->seg, search->file, offset, search->seg_end, true, scan, &search->is_index_wrong);
}

/// Looks into a batch for the first record from log start on that is at least as new as `timestamp`; failing that, with
/// `or_newest`, for its newest record. Records that cannot be read do not end the search: the batch
/// then counts with what its header says.
///
/// @return 1, 0 when there is none, ERR_*
static int search_batch(struct time_search *search, const struct batch_header *header, int64_t pos, int64_t timestamp,
                        bool or_newest, struct log_time_offset *found)
{
  uint8_t *bytes = mem_alloc(header->size);
  struct batch_iterator records = {0};
  struct record_view record;
  size_t limit = (size_t)log_get_config(search->log)->max_message_bytes;
  limit = (limit > header->size ? limit : header->size) * BATCH_UNPACK_RATIO;
  int result = file_read_at(log_file_fd(search->file), bytes, header->size, pos);
  if (result == 0) {
    result = batch_iterator_open(&records, bytes, header->size, limit);
  }
  int is_found = 0;
  while (result == 0 && (result = batch_iterator_next(&records, &record)) > 0) {
    bool is_new_enough = record.timestamp >= timestamp;
    result = 0;
    if (record.offset < search->start_offset) {
      continue;
    }
    if (is_new_enough || (or_newest && (!is_found || record.timestamp > found->timestamp))) {
      *found = (struct log_time_offset){record.timestamp, record.offset, header->leader_epoch};
      is_found = 1;
    }
    if (is_new_enough) {
      break;
    }
  }
  batch_iterator_close(&records);
  mem_free(bytes);
  if (!is_found && (result == ERR_DECOMPRESS || result == ERR_INVALID_RECORD || result == ERR_LIMIT)) {
    int64_t newest = header_timestamp(header);
    is_found = or_newest || newest >= timestamp;
    if (is_found) {
      int64_t offset = header->base_offset > search->start_offset ? header->base_offset : search->start_offset;
      *found = (struct log_time_offset){newest, offset, header->leader_epoch};
    }
    result = 0;
  }
  return result < 0 ? result : is_found;
}

/// Looks whether the batch that a time-index entry names has its timestamp: beginning from a damaged one, the search
/// would pass over what it looks for.
static int search_check_entry(struct time_search *search, const struct time_index_entry *entry, bool *is_right)
{
  int64_t offset = search->seg->base_offset + entry->relative_offset;
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  if (offset >= search->end.offset) {
    *is_right = offset < log_end_offset(search->log);
    return 0;
  }
  TRY(search_scan(search, offset, &scan));
  int result = header_scan_find(&scan, offset, &header, &pos);
  *is_right = result > 0 && header.base_offset <= offset && header_timestamp(&header) == entry->timestamp;
  return result == ERR_IO ? result : 0;
}

/// Finds the first record of the segment that is at least as new as `timestamp`.
static int search_segment(struct time_search *search, int64_t timestamp, struct log_time_offset *found)
{
  struct segment *seg = search->seg;
  struct time_index_entry entry = {-1, 0};
  char *path = segment_path(log_dir(search->log), seg->base_offset, ".timeindex");
  int indexed = time_index_floor(&seg->time_index, path, timestamp, &entry);
  mem_free(path);
  int64_t from_offset = search->start_offset;
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  if (indexed > 0 && seg->base_offset + entry.relative_offset > from_offset) {
    bool is_right = false;
    TRY(search_check_entry(search, &entry, &is_right));
    from_offset = is_right ? seg->base_offset + entry.relative_offset : from_offset;
  }
  TRY(search_scan(search, from_offset, &scan));
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
    // A batch whose maximum was never set has to be looked into.
    if (header.base_offset + header.last_offset_delta < search->start_offset ||
        (header.max_timestamp >= 0 && header.max_timestamp < timestamp)) {
      continue;
    }
    int inside = search_batch(search, &header, pos, timestamp, false, found);
    if (inside != 0) {
      return inside;
    }
  }
  return result;
}

static int search_by_time(struct time_search *search, int64_t timestamp, struct log_time_offset *found)
{
  int index = segment_list_floor(search->list, search->start_offset);
  for (index = index < 0 ? 0 : index; index < search->list->count; index++) {
    struct segment *seg = search->list->segments[index];
    if (atomic_load(&seg->max_timestamp) < timestamp) {
      continue;
    }
    int result = search_enter(search, seg);
    if (result == ERR_NOT_FOUND) {
      continue;
    }
    TRY(result);
    result = search_segment(search, timestamp, found);
    if (result != 0) {
      return result < 0 ? result : 0;
    }
  }
  return 0;
}

// --- the largest timestamp -------------------------------------------------------------------------------------------

/// Largest timestamp in the segment that holds log start, counting from there only.
static int search_visible_max(struct time_search *search, int64_t *max_timestamp)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  TRY(search_scan(search, search->start_offset, &scan));
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
    int64_t timestamp = header_timestamp(&header);
    if (header.base_offset + header.last_offset_delta < search->start_offset) {
      continue;
    }
    if (header.base_offset < search->start_offset && timestamp > *max_timestamp) {
      struct log_time_offset newest = time_none;
      TRY(search_batch(search, &header, pos, INT64_MAX, true, &newest));
      timestamp = newest.timestamp;
    }
    *max_timestamp = timestamp > *max_timestamp ? timestamp : *max_timestamp;
  }
  return result;
}

/// Finds the first record with the largest timestamp of the segment, which is `timestamp`.
static int search_newest(struct time_search *search, int64_t timestamp, struct log_time_offset *found)
{
  int64_t last_offset = atomic_load(&search->seg->max_timestamp_offset);
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  int64_t from_offset = last_offset > search->start_offset ? last_offset : search->start_offset;
  // Where the batch should be; failing that, from the start.
  for (int round = 0; round < 2; round++) {
    TRY(search_scan(search, round == 0 ? from_offset : search->start_offset, &scan));
    int result = 0;
    while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
      if (header.base_offset + header.last_offset_delta < search->start_offset ||
          header_timestamp(&header) < timestamp) {
        continue;
      }
      int inside = search_batch(search, &header, pos, timestamp, round == 1, found);
      if (inside != 0) {
        return inside;
      }
    }
    TRY(result);
  }
  return 0;
}

static int search_max(struct time_search *search, int64_t timestamp, struct log_time_offset *found)
{
  (void)timestamp;
  int64_t max_timestamp = -1;
  struct segment *newest = NULL;
  int index = segment_list_floor(search->list, search->start_offset);
  for (index = index < 0 ? 0 : index; index < search->list->count; index++) {
    struct segment *seg = search->list->segments[index];
    int64_t seg_max = atomic_load(&seg->max_timestamp);
    if (seg_max > max_timestamp && seg->base_offset < search->start_offset) {
      int result = search_enter(search, seg);
      if (result == ERR_NOT_FOUND) {
        continue;
      }
      TRY(result);
      seg_max = -1;
      TRY(search_visible_max(search, &seg_max));
    }
    if (seg_max > max_timestamp) {
      max_timestamp = seg_max;
      newest = seg;
    }
  }
  if (newest == NULL) {
    return 0;
  }
  int result = search_enter(search, newest);
  if (result == 0) {
    result = search_newest(search, max_timestamp, found);
  }
  return result < 0 && result != ERR_NOT_FOUND ? result : 0;
}
