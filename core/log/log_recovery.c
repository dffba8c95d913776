// SPDX-License-Identifier: Apache-2.0
//
// Bringing one segment up at start. What is known to be on disk is taken over with its indexes; what may have been torn
// by a crash is read batch by batch and cut at the first bad one.
//
//                       clean start                      after a crash
//   older segment       indexes plausible: taken over    below the recovery point: the same
//   the newest one      headers after the last entry     from the last index entry below the recovery point on: every
//                                                        batch is checked, the indexes are made anew
//   whatever fails      its headers are walked, or, if these do not fit, all of it is checked as after a crash
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/index_file.h"
#include "log/log_private.h"
#include "os/file.h"

enum {
  RECOVERY_STEP_BYTES = 256 * 1024, ///< read at a time while checking CRCs
};

/// Work on one segment.
struct segment_recovery {
  struct log_recovery *recovery; ///< of the whole log
  struct segment *seg;           ///< the segment
  const char *dir;               ///< its folder
  char *path;                    ///< of its .log file; owned
  int fd;                        ///< the same
  int64_t size;                  ///< bytes of the file
  int64_t next_base;             ///< base offset of the next segment
  int64_t pos;                   ///< all before is good
  int64_t next_offset;           ///< offset after the last good batch
  bool is_exact;                 ///< a batch came before, so contiguous offsets can be asked for
  const char *fault;             ///< what is wrong at `pos`; NULL: nothing
  bool is_overlap;               ///< the fault is only that the next segment has these offsets too
  uint8_t *buffer;               ///< for checking; owned
};

static int recover(struct segment_recovery *work, bool is_last);
static int load_indexes(struct segment_recovery *work, bool *is_good);
static int walk_headers(struct segment_recovery *work, bool is_indexing);
static int check_batches(struct segment_recovery *work);
static int begin_check(struct segment_recovery *work);
static int cut_off(struct segment_recovery *work);

int log_recover_segment(struct log_recovery *recovery, struct segment *seg, bool is_last, int64_t next_base,
                        bool *is_cut)
{
  const char *dir = log_dir(recovery->log);
  struct segment_recovery work = {
      .recovery = recovery,
      .seg = seg,
      .dir = dir,
      .path = segment_path(dir, seg->base_offset, ".log"),
      .fd = -1,
      .next_base = next_base,
      .next_offset = seg->base_offset,
  };
  int result = file_open(work.path, FILE_WRITE, &work.fd);
  if (result == ERR_READ_ONLY || result == ERR_PERMISSION) {
    result = file_open(work.path, FILE_READ, &work.fd);
  }
  struct stat status = {0};
  if (result == 0 && fstat(work.fd, &status) != 0) {
    result = error_set(ERR_IO, "cannot ask the size of %s", work.path);
  }
  work.size = status.st_size;
  if (result == 0 && work.size > INT32_MAX) {
    result = error_set(ERR_CORRUPT, "%s has %" PRId64 " bytes, more than a segment can", work.path, work.size);
  }
  if (result == 0) {
    atomic_store(&seg->modified_ms, (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000);
    result = recover(&work, is_last);
  }
  if (result == 0) {
    recovery->next_offset = work.next_offset;
    *is_cut = work.fault != NULL && !work.is_overlap && work.next_offset < next_base && !is_last;
  }
  file_close(work.fd);
  mem_free(work.path);
  mem_free(work.buffer);
  return result;
}

static int recover(struct segment_recovery *work, bool is_last)
{
  struct segment *seg = work->seg;
  bool is_good = false;
  bool is_known = work->recovery->is_clean || work->next_base <= work->recovery->recovery_point;
  if (is_known) {
    TRY(load_indexes(work, &is_good));
    if (is_good && !is_last) {
      atomic_store(&seg->size, work->size);
      work->next_offset = work->next_base;
      return 0;
    }
    // The headers after the last index entry, or all of them if there is no index to trust.
    TRY(walk_headers(work, !is_good));
    if (is_good && work->fault == NULL && seg->time_index.last.relative_offset > 0 &&
        seg->base_offset + seg->time_index.last.relative_offset >= work->next_offset) {
      is_good = false; // An entry for an offset that the log does not have.
      TRY(walk_headers(work, true));
    }
    if (work->fault == NULL) {
      return is_good ? 0 : segment_finish_indexes(seg, work->dir, !is_last);
    }
    slog_warn("%s: not what a clean shutdown leaves (%s at byte %" PRId64 "), checking all of it", work->path,
              work->fault, work->pos);
  }
  TRY(begin_check(work));
  TRY(check_batches(work));
  if (work->fault != NULL) {
    TRY(cut_off(work));
  }
  // A full disk must not keep the log from opening: entries that cannot be written stay in memory.
  int result = segment_finish_indexes(seg, work->dir, !is_last);
  if (result == ERR_NO_SPACE) {
    slog_warn("%s: its indexes cannot be written whole: %s", work->path, error_last()->message);
    result = 0;
  }
  return result;
}

// --- indexes ---------------------------------------------------------------------------------------------------------

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

/// Takes the indexes over if they are plausible; otherwise leaves them empty, in memory.
static int load_indexes(struct segment_recovery *work, bool *is_good)
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
  offset_index_create(&seg->offset_index, count, size_limit);
  time_index_create(&seg->time_index, time_count, &entry, size_limit);
  if (*is_good) {
    work->pos = pos;
    atomic_store(&seg->max_timestamp, entry.timestamp);
    atomic_store(&seg->max_timestamp_offset, entry.timestamp >= 0 ? seg->base_offset + entry.relative_offset : -1);
  }
  return 0;
}

/// Empties the index files, before entries are added anew.
static int clear_indexes(struct segment_recovery *work)
{
  struct segment *seg = work->seg;
  int32_t size_limit = log_get_config(work->recovery->log)->segment_index_bytes;
  offset_index_create(&seg->offset_index, 0, size_limit);
  time_index_create(&seg->time_index, 0, &(struct time_index_entry){-1, 0}, size_limit);
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

// --- walking headers -------------------------------------------------------------------------------------------------

/// What is wrong with the place of a batch among the others; NULL: nothing.
static const char *offset_fault(struct segment_recovery *work, const struct batch_header *header)
{
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  work->is_overlap = false;
  if (header->base_offset < work->next_offset) {
    return "its offsets go back";
  }
  if (header->base_offset > work->next_offset && work->is_exact && work->recovery->is_contiguous) {
    return "offsets are missing before it";
  }
  if (last_offset >= work->next_base) {
    work->is_overlap = true;
    return "it overlaps with the next segment";
  }
  if (last_offset - work->seg->base_offset > INT32_MAX) {
    return "its offsets do not belong in this segment";
  }
  return NULL;
}

/// Takes a batch as good.
static void accept_batch(struct segment_recovery *work, const struct batch_header *header, bool is_indexing)
{
  struct segment *seg = work->seg;
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  int64_t size = (int64_t)header->size;
  int64_t timestamp = header_timestamp(header);
  if (is_indexing) {
    segment_add(seg, work->dir, log_get_config(work->recovery->log)->index_interval_bytes, work->pos, size, last_offset,
                timestamp);
  } else {
    if (timestamp > atomic_load(&seg->max_timestamp)) {
      atomic_store(&seg->max_timestamp_offset, last_offset);
      atomic_store(&seg->max_timestamp, timestamp);
    }
    seg->bytes_since_index += size;
    atomic_store(&seg->size, work->pos + size);
  }
  work->pos += size;
  work->next_offset = last_offset + 1;
  work->is_exact = true;
}

/// The first batch's timestamp decides when the segment is closed.
static void load_first_timestamp(struct segment_recovery *work)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, work->fd, 0, work->size, true);
  if (header_scan_next(&scan, &header, &pos) > 0) {
    work->seg->first_timestamp = header_timestamp(&header);
  }
}

/// Walks the headers from `pos` to the end of the file. What does not fit is left in `fault`; only sick disks are
/// errors.
static int walk_headers(struct segment_recovery *work, bool is_indexing)
{
  if (is_indexing) {
    TRY(clear_indexes(work));
    work->pos = 0;
  }
  work->next_offset = work->seg->base_offset;
  atomic_store(&work->seg->size, work->pos);
  load_first_timestamp(work);
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, work->fd, work->pos, work->size, true);
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
    work->fault = offset_fault(work, &header);
    if (work->fault != NULL) {
      return 0;
    }
    accept_batch(work, &header, is_indexing);
  }
  if (result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT) {
    work->fault = "no whole batch";
    return 0;
  }
  return result;
}

// --- checking batches ------------------------------------------------------------------------------------------------

/// Finds the last index entry that is known to be on disk and points at a batch, so that the check can begin there.
///
/// @return 1, 0 when there is none, ERR_*
static int find_start(struct segment_recovery *work, struct batch_header *header, uint32_t *number, int64_t *pos)
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

/// Keeps the time-index entries up to an offset; UINT32_MAX entries: they make no sense.
static int load_time_prefix(struct segment_recovery *work, int64_t relative_offset, uint32_t *count,
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
  *count = is_whole ? kept : UINT32_MAX;
  mem_free(entries);
  mem_free(path);
  return result;
}

/// Sets up the check: where it begins, and indexes that hold only what is before.
static int begin_check(struct segment_recovery *work)
{
  struct segment *seg = work->seg;
  struct leader_epochs *epochs = &work->recovery->log->epochs;
  int32_t size_limit = log_get_config(work->recovery->log)->segment_index_bytes;
  struct batch_header header = {0};
  uint32_t number = 0;
  int64_t pos = 0;
  uint32_t time_count = 0;
  struct time_index_entry last = {-1, 0};
  work->fault = NULL;
  work->is_overlap = false;
  work->is_exact = false;
  work->pos = 0;
  work->next_offset = seg->base_offset;
  seg->first_timestamp = -1;
  int found = work->recovery->is_clean ? 0 : find_start(work, &header, &number, &pos);
  TRY(found);
  if (found > 0) {
    int64_t last_offset = header.base_offset + header.last_offset_delta;
    TRY(load_time_prefix(work, last_offset - seg->base_offset, &time_count, &last));
  }
  if (found == 0 || time_count == UINT32_MAX) {
    leader_epochs_truncate_end(epochs, seg->base_offset);
    return clear_indexes(work);
  }
  leader_epochs_truncate_end(epochs, header.base_offset);
  offset_index_create(&seg->offset_index, number, size_limit);
  time_index_create(&seg->time_index, time_count, &last, size_limit);
  atomic_store(&seg->max_timestamp, last.timestamp);
  atomic_store(&seg->max_timestamp_offset, seg->base_offset + last.relative_offset);
  seg->is_index_long = true;
  // The entry of the batch that the check begins with is made anew.
  seg->bytes_since_index = INT64_MAX / 2;
  work->pos = pos;
  work->next_offset = header.base_offset;
  atomic_store(&seg->size, pos);
  load_first_timestamp(work);
  return segment_trim_indexes(seg, work->dir);
}

/// CRC-32C of a batch in the file.
static int read_crc(struct segment_recovery *work, const struct batch_header *header, uint32_t *crc)
{
  if (work->buffer == NULL) {
    work->buffer = mem_alloc(RECOVERY_STEP_BYTES);
  }
  int64_t pos = work->pos + BATCH_ATTRIBUTES_POS;
  int64_t end = work->pos + (int64_t)header->size;
  *crc = 0;
  while (pos < end) {
    size_t step = end - pos < RECOVERY_STEP_BYTES ? (size_t)(end - pos) : RECOVERY_STEP_BYTES;
    TRY(file_read_at(work->fd, work->buffer, step, pos));
    *crc = crc32c_update(*crc, work->buffer, step);
    pos += (int64_t)step;
  }
  return 0;
}

/// True when a message of format 0 or 1 lies at the start of the file, by its CRC-32: a log that is too old for us, not
/// a damaged one.
static bool is_old_format(struct segment_recovery *work)
{
  uint8_t prefix[BATCH_PREFIX_SIZE];
  if (work->pos != 0 || file_read_at(work->fd, prefix, sizeof prefix, 0) < 0) {
    return false;
  }
  int64_t size = batch_size(prefix);
  if (size > work->size || size > INT32_MAX || size < BATCH_PREFIX_SIZE) {
    return false;
  }
  uint8_t *bytes = mem_alloc((size_t)size);
  bool is_old = file_read_at(work->fd, bytes, (size_t)size, 0) == 0 &&
                crc32(0, bytes + 16, (uInt)(size - 16)) == bytes_get_u32(bytes + 12);
  mem_free(bytes);
  return is_old;
}

/// Checks batch by batch up to the first bad one, or the end of the file.
static int check_batches(struct segment_recovery *work)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, work->fd, work->pos, work->size, true);
  for (;;) {
    int result = header_scan_next(&scan, &header, &pos);
    if (result == ERR_UNSUPPORTED_FORMAT && is_old_format(work)) {
      return error_set(ERR_UNSUPPORTED_FORMAT, "%s holds records of format 0 or 1, which are not supported",
                       work->path);
    }
    if (result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT) {
      work->fault = result == ERR_TRUNCATED ? "the batch is cut short" : "no batch";
      return 0;
    }
    if (result <= 0) {
      return result;
    }
    uint32_t crc = 0;
    TRY(read_crc(work, &header, &crc));
    work->is_overlap = false;
    work->fault = crc != header.crc ? "wrong CRC" : header.record_count < 0 ? "no batch" : offset_fault(work, &header);
    if (work->fault != NULL) {
      return 0;
    }
    leader_epochs_assign(&work->recovery->log->epochs, header.leader_epoch, header.base_offset);
    accept_batch(work, &header, true);
  }
}

// --- cutting ---------------------------------------------------------------------------------------------------------

/// Cuts the file after the last good batch. A full disk does not keep the log from opening: then the cut bytes are
/// lost.
static int cut_off(struct segment_recovery *work)
{
  char *kept = log_keep_rest(work->path, work->fd, work->pos, work->size);
  slog_warn("%s: dropped %" PRId64 " bytes from byte %" PRId64 " on, after offset %" PRId64 ": %s; %s%s", work->path,
            work->size - work->pos, work->pos, work->next_offset - 1, work->fault,
            kept == NULL ? "not kept" : "kept in ", kept == NULL ? "" : kept);
  mem_free(kept);
  TRY(file_truncate(work->fd, work->pos));
  work->size = work->pos;
  return 0;
}
