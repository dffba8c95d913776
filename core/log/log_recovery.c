// SPDX-License-Identifier: Apache-2.0
//
// Bringing one segment up at start. What is known to be on disk is taken over with its indexes; what may have been torn
// by a crash is read batch by batch and cut at the first bad one.
//
//                       clean start                      after a crash
//   older segment       indexes fit: taken over          below the recovery point: the same
//   the newest one      headers after the last entry     from the last index entry below the recovery point on: every
//                                                        batch is checked, the indexes are made anew
//   whatever fails      its headers are walked, or, if these do not fit, all of it is checked as after a crash
//
// A segment that ends at the recovery point may have been flushed before it was closed, so before its indexes were
// whole and synced: it is checked from its last index entry on. One that ends below was closed when the flush came that
// raised the recovery point, and its indexes went to disk with it (log_flush()).
//
// Messages of formats 0 and 1, where a file begins with one or the check comes upon one, are converted before anything
// is decided (log_old_format.c).
//
// Offsets that are missing are a fault where the crash may have taken them. What was on disk before, with the hole in
// it, is left as it is: the topic may have been compacted once, or a disk lost a part of it; log_open.c says so.
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_recovery_private.h"
#include "os/dir.h"
#include "os/file.h"

enum {
  RECOVERY_STEP_BYTES = 256 * 1024, ///< read at a time while checking CRCs
  SPARE_BYTES = 64 * 1024,          ///< blocks beyond the end that are not for the file system's own use
  STAT_BLOCK_BYTES = 512,           ///< what stat(2) counts in
};

static int refuse_old_format(const struct segment_recovery *work, int64_t pos);
static int recover(struct segment_recovery *work, bool is_last);
static int walk_headers(struct segment_recovery *work, bool is_indexing);
static int check_batches(struct segment_recovery *work);
static int begin_check(struct segment_recovery *work);
static int assign_epochs(struct segment_recovery *work);
static void check_hole(struct segment_recovery *work, bool is_last, bool *is_cut);
static void add_hole(struct log_holes *holes, int64_t offset, int64_t end_offset);
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
      .indexed_offset = -1,
      .is_on_disk = recovery->is_clean || next_base <= recovery->recovery_point,
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
    result = refuse_old_format(&work, 0);
  }
  if (result == 0) {
    atomic_store(&seg->modified_ms, (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000);
    result = recover(&work, is_last);
    int64_t blocks_pos = (int64_t)status.st_blocks * STAT_BLOCK_BYTES;
    if (is_last && blocks_pos > atomic_load(&seg->size) + SPARE_BYTES) {
      seg->reserved_pos = blocks_pos; // a crash left what segment_reserve() had allotted
    }
  }
  if (result == 0 && recovery->is_missing_epochs && !work.has_epochs) {
    result = assign_epochs(&work);
  }
  if (result == 0) {
    check_hole(&work, is_last, is_cut);
    recovery->next_offset = work.next_offset;
  }
  file_close(work.fd);
  mem_free(work.path);
  mem_free(work.buffer);
  return result;
}

/// Says so where a message of an old format lies, and the segment has to be converted first. After that, what still
/// looks like one cannot be read.
static int refuse_old_format(const struct segment_recovery *work, int64_t pos)
{
  bool is_old = false;
  if (!work->recovery->is_converted) {
    TRY(log_check_old_message(work->fd, pos, work->size, &is_old));
  }
  return is_old ? error_set(ERR_UNSUPPORTED_FORMAT, "%s holds a message of format 0 or 1 at byte %" PRId64, work->path,
                            pos)
                : 0;
}

static int recover(struct segment_recovery *work, bool is_last)
{
  struct segment *seg = work->seg;
  bool is_good = false;
  bool is_known = work->recovery->is_clean || work->next_base < work->recovery->recovery_point;
  if (is_known) {
    TRY(recovery_load_indexes(work, &is_good));
    if (is_good) {
      TRY(recovery_check_entries(work, &is_good));
      work->pos = is_good ? work->pos : 0;
    }
    if (is_good && !is_last) {
      TRY(recovery_check_end(work, &is_good));
      if (is_good) {
        return 0;
      }
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

// --- walking headers -------------------------------------------------------------------------------------------------

/// What is wrong with the place of a batch among the others; NULL: nothing.
static const char *offset_fault(struct segment_recovery *work, const struct batch_header *header)
{
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  work->is_overlap = false;
  if (header->base_offset < work->next_offset) {
    return "its offsets go back";
  }
  bool is_hole = header->base_offset > work->next_offset && work->is_exact && work->recovery->is_contiguous;
  bool is_hole_on_disk = work->recovery->is_clean || header->base_offset <= work->recovery->recovery_point;
  if (is_hole && !is_hole_on_disk) {
    return "offsets are missing before it";
  }
  if (last_offset >= work->next_base) {
    work->is_overlap = true;
    return "it overlaps with the next segment";
  }
  if (last_offset - work->seg->base_offset > INT32_MAX) {
    return "its offsets do not belong in this segment";
  }
  if (is_hole) {
    add_hole(&work->holes, work->next_offset, header->base_offset);
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
    TRY(recovery_clear_indexes(work));
    work->pos = 0;
  }
  work->next_offset = work->seg->base_offset;
  work->is_exact = false;
  work->holes = (struct log_holes){0};
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
  work->holes = (struct log_holes){0};
  work->pos = 0;
  work->next_offset = seg->base_offset;
  seg->first_timestamp = -1;
  int found = work->recovery->is_clean ? 0 : recovery_find_start(work, &header, &number, &pos);
  TRY(found);
  if (found > 0) {
    int64_t last_offset = header.base_offset + header.last_offset_delta;
    TRY(recovery_load_time_prefix(work, last_offset - seg->base_offset, pos, &time_count, &last));
  }
  if (found == 0 || time_count == UINT32_MAX) {
    leader_epochs_truncate_end(epochs, seg->base_offset);
    work->has_epochs = true;
    return recovery_clear_indexes(work);
  }
  leader_epochs_truncate_end(epochs, header.base_offset);
  segment_reset_indexes(seg, number, time_count, &last, size_limit);
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

/// Checks batch by batch up to the first bad one, or the end of the file.
static int check_batches(struct segment_recovery *work)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  if (log_config_waits_for_disk(log_get_config(work->recovery->log))) {
    // After a failed fsync the page cache may show records that are not on disk, and the next fsync would succeed.
    file_drop_cache(work->fd, work->pos);
  }
  header_scan_begin(&scan, work->fd, work->pos, work->size, true);
  for (;;) {
    int result = header_scan_next(&scan, &header, &pos);
    if (result == ERR_UNSUPPORTED_FORMAT) {
      TRY(refuse_old_format(work, scan.pos));
    }
    if (result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT) {
      work->fault = result == ERR_TRUNCATED ? "the batch is cut short" : "no batch begins there";
      return 0;
    }
    if (result <= 0) {
      return result;
    }
    uint32_t crc = 0;
    TRY(read_crc(work, &header, &crc));
    work->is_overlap = false;
    work->fault = crc != header.crc         ? "wrong CRC"
                  : header.record_count < 0 ? "no batch begins there"
                                            : offset_fault(work, &header);
    if (work->fault != NULL) {
      return 0;
    }
    leader_epochs_assign(&work->recovery->log->epochs, header.leader_epoch, header.base_offset);
    accept_batch(work, &header, true);
  }
}

/// Tells the log the leader epochs of all batches, where the file that lists them is missing.
static int assign_epochs(struct segment_recovery *work)
{
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  header_scan_begin(&scan, work->fd, 0, atomic_load(&work->seg->size), true);
  int result = 0;
  while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
    leader_epochs_assign(&work->recovery->log->epochs, header.leader_epoch, header.base_offset);
  }
  return result;
}

// --- holes and cuts -------------------------------------------------------------------------------------------------

static void add_hole(struct log_holes *holes, int64_t offset, int64_t end_offset)
{
  if (holes->count++ == 0) {
    holes->offset = offset;
    holes->end_offset = end_offset;
  }
}

/// Decides what becomes of the next segments, when this one does not reach to them.
static void check_hole(struct segment_recovery *work, bool is_last, bool *is_cut)
{
  struct log_recovery *recovery = work->recovery;
  if (work->holes.count > 0) {
    add_hole(&recovery->holes, work->holes.offset, work->holes.end_offset);
    recovery->holes.count += work->holes.count - 1;
  }
  bool is_hole = !is_last && work->next_offset < work->next_base && (recovery->is_contiguous || work->fault != NULL);
  // Below log start nothing is read any more, and what follows is not given up for it.
  *is_cut = is_hole && !work->is_on_disk && work->next_base > recovery->start_offset;
  if (*is_cut && work->fault == NULL) {
    slog_warn("%s: ends before offset %" PRId64 ", where %" PRId64 " should follow: the next segments are cut off",
              work->path, work->next_offset, work->next_base - 1);
  } else if (is_hole && !*is_cut && work->next_base > recovery->start_offset) {
    add_hole(&recovery->holes, work->next_offset, work->next_base);
  }
}

/// Takes the whole file aside when nothing in it is good, and puts an empty one in its place: a full disk has room for
/// that.
static int set_file_aside(struct segment_recovery *work, char **kept)
{
  char *cut = log_cut_path(work->path);
  if (cut == NULL) {
    return ERR_LIMIT;
  }
  int fd = -1;
  int result = dir_rename(work->path, cut);
  if (result == 0) {
    result = file_open(work->path, FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &fd);
  }
  if (result < 0) {
    mem_free(cut);
    return result;
  }
  file_close(work->fd);
  work->fd = fd;
  *kept = cut;
  return 0;
}

/// Cuts the file after the last good batch. What is cut stays beside it; when that cannot be, the log does not open:
/// it may be all that is left of acknowledged records.
static int cut_off(struct segment_recovery *work)
{
  char *kept = NULL;
  int result = log_keep_rest(work->path, work->fd, work->pos, work->size, &kept);
  if (result == ERR_NO_SPACE && work->pos == 0) {
    result = set_file_aside(work, &kept);
  }
  if (result < 0) {
    struct error_detail detail = *error_last();
    return error_record(result, 0, detail.file, detail.line,
                        "%s: %" PRId64 " bytes from byte %" PRId64 " on are to be cut (%s), but cannot be kept: %.*s",
                        work->path, work->size - work->pos, work->pos, work->fault, ERROR_MESSAGE_SIZE / 2,
                        detail.message);
  }
  atomic_store(&work->recovery->log->is_dir_dirty, true);
  if (work->pos == 0) {
    slog_warn("%s: dropped %" PRId64 " bytes, all there are: %s; kept in %s", work->path, work->size, work->fault,
              kept);
  } else {
    slog_warn("%s: dropped %" PRId64 " bytes from byte %" PRId64 " on, after offset %" PRId64 ": %s; kept in %s",
              work->path, work->size - work->pos, work->pos, work->next_offset - 1, work->fault, kept);
  }
  mem_free(kept);
  TRY(file_truncate(work->fd, work->pos));
  work->size = work->pos;
  return 0;
}
