// SPDX-License-Identifier: Apache-2.0
//
// Finding the region of a file that answers a fetch. No lock: the end is taken first, then the segment list, which is
// at least as new; the file is referenced; then the counter of truncations is looked at again. A truncation publishes
// the lower end, then counts, then looks for holders of the file. So either it sees our reference and leaves the bytes
// alone, or we see that it counted and begin anew (both sides are sequentially consistent).
//
//   place of the first batch:  tail in memory -> offset index -> headers from there on
//   place of the limit:        the end itself -> tail -> offset index -> headers
#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/file.h"

/// One attempt to read.
struct read_attempt {
  struct log *log;                  ///< the log
  const struct log_read_args *args; ///< what is wanted
  struct log_position end;          ///< the end as it was at first
  int64_t limit_offset;             ///< the wanted limit, at most the end
  const struct segment_list *list;  ///< the segments
  struct segment *seg;              ///< the one being looked at
  int64_t seg_end;                  ///< readable bytes in it
  struct log_file *file;            ///< its file, referenced; NULL: not yet
  bool may_wait;                    ///< on the pool
  bool is_index_wrong;              ///< an entry of the segment's index was passed over
};

/// The first batch of the region.
struct read_place {
  int64_t base_offset; ///< its first offset
  int64_t pos;         ///< its position
  int64_t size;        ///< its bytes
};

static int read_once(struct read_attempt *attempt, struct log_slice *slice);

/// A failure of a disk that the log has left meanwhile (log_move.h) is none of the one where it is now.
static bool read_is_left(const struct log *log, const struct log_path *path, int result)
{
  return result == ERR_IO && path != atomic_load(&log->path);
}

static int read_retrying(struct log *log, const struct log_read_args *args, bool may_wait, struct log_slice *slice)
{
  CHECK(epoch_is_inside());
  for (;;) {
    uint64_t cuts = atomic_load(&log->cuts);
    const struct log_path *path = atomic_load(&log->path);
    struct read_attempt attempt = {.log = log, .args = args, .may_wait = may_wait};
    *slice = (struct log_slice){.base_offset = args->offset};
    int result = read_once(&attempt, slice);
    if (slice->file == NULL) {
      log_file_unref(attempt.file);
    }
    // A segment whose file is gone was deleted after the list was taken: the new list, and log start, tell more.
    bool is_deleted = result == ERR_NOT_FOUND && attempt.list != log_list(log);
    if (atomic_load(&log->cuts) == cuts && !is_deleted && !read_is_left(log, path, result)) {
      if (attempt.is_index_wrong) {
        segment_report_index(attempt.seg, log_dir(log));
      }
      return log_fail(log, result);
    }
    log_slice_release(slice);
  }
}

int log_read(struct log *log, const struct log_read_args *args, struct log_slice *slice)
{
  return read_retrying(log, args, false, slice);
}

int log_read_cold(struct log *log, const struct log_read_args *args, struct log_slice *slice)
{
  for (;;) {
    const struct log_path *path = atomic_load(&log->path);
    TRY(read_retrying(log, args, true, slice));
    int result = log_slice_load(slice);
    if (result < 0) {
      log_slice_release(slice);
    }
    if (!read_is_left(log, path, result)) {
      return result;
    }
  }
}

// --- slices ----------------------------------------------------------------------------------------------------------

bool log_slice_probe(struct log_slice *slice)
{
  if (slice->length == 0 || slice->is_warm) {
    return true;
  }
  int fd = log_file_fd(slice->file);
  int64_t pos = slice->pos;
  int64_t size = slice->length;
  log_file_round(&pos, &size);
  int64_t end = 0;
  if (file_size(fd, &end) == 0) {
    size = pos + size < end ? size : end - pos;
    slice->is_warm = size > 0 && file_is_cached(fd, pos, (size_t)size);
  }
  if (slice->is_warm) {
    log_file_touch(slice->file, pos, size);
  } else {
    slice->is_warm = file_is_cached(fd, slice->pos, (size_t)slice->length);
  }
  return slice->is_warm;
}

int log_slice_load(struct log_slice *slice)
{
  if (slice->length == 0 || slice->is_warm) {
    return 0;
  }
  int64_t pos = slice->pos;
  int64_t size = slice->length;
  log_file_round(&pos, &size);
  TRY(file_load(log_file_fd(slice->file), pos, (size_t)size));
  log_file_touch(slice->file, pos, size);
  slice->is_warm = true;
  return 0;
}

void log_slice_copy(const struct log_slice *slice, struct log_slice *copy)
{
  *copy = *slice;
  if (copy->file != NULL) {
    log_file_ref(copy->file);
  }
}

bool log_slice_is_current(const struct log *log, const struct log_slice *slice)
{
  const struct segment_list *list = log_list(log);
  int index = segment_list_floor(list, slice->segment_base);
  return index >= 0 && slice->file != NULL && atomic_load(&list->segments[index]->file) == slice->file;
}

void log_slice_release(struct log_slice *slice)
{
  log_file_unref(slice->file);
  slice->file = NULL;
  slice->length = 0;
}

// --- places ----------------------------------------------------------------------------------------------------------

/// Makes the file of the segment available.
static int read_open(struct read_attempt *attempt)
{
  if (attempt->file == NULL) {
    attempt->file = log_file_get(&attempt->seg->file);
  }
  if (attempt->file != NULL) {
    return 0;
  }
  return attempt->may_wait ? log_open_segment(attempt->log, attempt->seg, &attempt->file) : ERR_AGAIN;
}

/// Finds the first batch of the segment whose last offset is at least `offset`, through the index.
///
/// @return 1, 0 when there is none, ERR_*
static int read_search(struct read_attempt *attempt, int64_t offset, struct read_place *place)
{
  TRY(read_open(attempt));
  struct header_scan scan;
  TRY(segment_scan(attempt->seg, attempt->file, offset, attempt->seg_end, attempt->may_wait, &scan,
                   &attempt->is_index_wrong));
  struct batch_header header;
  int found = header_scan_find(&scan, offset, &header, &place->pos);
  if (found > 0) {
    place->base_offset = header.base_offset;
    place->size = (int64_t)header.size;
  }
  return found;
}

/// The same; the tail is asked first.
static int read_find(struct read_attempt *attempt, int64_t offset, struct read_place *place)
{
  struct tail_batch batch;
  int64_t segment_base = attempt->seg->base_offset;
  if (!tail_find(&attempt->log->tail, offset, &batch)) {
    return read_search(attempt, offset, place);
  }
  if (batch.segment_base > segment_base) {
    return 0;
  }
  if (batch.last_offset < offset || batch.segment_base < segment_base) {
    // A hole in the offsets: the batch after it is the one. In this segment it is the next one in the file.
    int64_t next_pos = batch.segment_base == segment_base ? batch.pos + batch.size : 0;
    if (next_pos >= attempt->seg_end) {
      return 0;
    }
    if (!tail_find_pos(&attempt->log->tail, segment_base, next_pos, &batch) || batch.pos != next_pos) {
      return read_search(attempt, offset, place);
    }
  }
  *place = (struct read_place){.base_offset = batch.base_offset, .pos = batch.pos, .size = batch.size};
  return 1;
}

/// How many bytes of a segment may be read at all.
static int64_t read_segment_end(const struct read_attempt *attempt)
{
  const struct segment *seg = attempt->seg;
  return seg->base_offset == attempt->end.segment_base ? attempt->end.pos
                                                       : atomic_load_explicit(&seg->size, memory_order_acquire);
}

/// Finds the first batch to give out, in the segment of the wanted offset or, when nothing is left there, a later one.
static int read_find_first(struct read_attempt *attempt, struct read_place *place)
{
  int64_t offset = attempt->args->offset;
  int index = segment_list_floor(attempt->list, offset);
  for (index = index < 0 ? 0 : index; index < attempt->list->count; index++) {
    attempt->seg = attempt->list->segments[index];
    if (attempt->seg->base_offset >= attempt->limit_offset) {
      return 0;
    }
    attempt->seg_end = read_segment_end(attempt);
    attempt->is_index_wrong = false;
    log_file_unref(attempt->file);
    attempt->file = NULL;
    int found = read_find(attempt, offset, place);
    if (found != 0) {
      return found;
    }
  }
  return 0;
}

/// Finds where the region has to end for the sake of the limit.
///
/// @param enough  a position at or beyond which the exact place does not matter any more
static int read_find_limit(struct read_attempt *attempt, int64_t enough, int64_t *limit_pos)
{
  *limit_pos = attempt->seg_end;
  int index = segment_list_floor(attempt->list, attempt->limit_offset);
  if (attempt->limit_offset == attempt->end.offset ||
      (index >= 0 && attempt->list->segments[index]->base_offset > attempt->seg->base_offset)) {
    return 0;
  }
  struct tail_batch batch;
  if (!tail_find(&attempt->log->tail, attempt->limit_offset, &batch)) {
    // What ends before the limit may be read in any case; that may be plenty.
    struct header_scan scan;
    TRY(segment_scan(attempt->seg, attempt->file, attempt->limit_offset - 1, attempt->seg_end, attempt->may_wait, &scan,
                     &attempt->is_index_wrong));
    if (scan.pos >= enough) {
      *limit_pos = scan.pos;
      return 0;
    }
  }
  struct read_place place;
  int found = read_find(attempt, attempt->limit_offset, &place);
  if (found > 0) {
    *limit_pos = place.pos;
  }
  return found < 0 ? found : 0;
}

/// Shortens a region that would end inside a batch to the end of the batch before, if that is known without reading.
static int64_t read_align(struct read_attempt *attempt, int64_t pos, int64_t length)
{
  struct tail_batch batch;
  if (tail_find_pos(&attempt->log->tail, attempt->seg->base_offset, pos + length, &batch)) {
    int64_t aligned = batch.pos + batch.size <= pos + length ? batch.pos + batch.size - pos : batch.pos - pos;
    return aligned > 0 ? aligned : length;
  }
  int64_t known_pos = 0;
  if (segment_lookup_pos(attempt->seg, attempt->file, pos + length, attempt->may_wait, &known_pos) == 0 &&
      known_pos - pos >= length / 4 * 3 && known_pos > pos) {
    return known_pos - pos;
  }
  return length;
}

static int read_once(struct read_attempt *attempt, struct log_slice *slice)
{
  const struct log_read_args *args = attempt->args;
  struct log *log = attempt->log;
  log_end_position(log, &attempt->end);
  slice->segment_base = attempt->end.segment_base;
  slice->pos = attempt->end.pos;
  if (args->offset < log_start_offset(log) || args->offset > attempt->end.offset) {
    return error_set(ERR_OFFSET_OUT_OF_RANGE, "offset %" PRId64 " is not in %s", args->offset, log_dir(log));
  }
  attempt->limit_offset = args->limit_offset < attempt->end.offset ? args->limit_offset : attempt->end.offset;
  if (args->offset >= attempt->limit_offset) {
    return 0;
  }
  attempt->list = log_list(log);
  struct read_place place = {0};
  int found = read_find_first(attempt, &place);
  if (found <= 0 || place.base_offset >= attempt->limit_offset) {
    return found < 0 ? found : 0;
  }
  int64_t wanted = args->max_bytes;
  if (place.size > wanted) {
    wanted = args->whole_first_batch ? place.size : 0;
  }
  slice->segment_base = attempt->seg->base_offset;
  slice->pos = place.pos;
  if (wanted == 0) {
    slice->is_cut = true;
    return 0;
  }
  TRY(read_open(attempt));
  int64_t limit_pos = 0;
  TRY(read_find_limit(attempt, place.pos + wanted, &limit_pos));
  int64_t length = limit_pos - place.pos;
  if (length < place.size) {
    return 0; // The limit lies inside the first batch.
  }
  if (length > wanted) {
    slice->is_cut = true;
    length = wanted > place.size ? read_align(attempt, place.pos, wanted) : wanted;
  }
  if (length < place.size) {
    length = place.size;
  }
  slice->file = attempt->file;
  slice->length = (int32_t)length;
  slice->base_offset = place.base_offset;
  slice->is_warm = log_file_is_warm(attempt->file, place.pos, length);
  return 0;
}

int log_find_position(struct log *log, int64_t offset, struct log_position *position)
{
  CHECK(epoch_is_inside());
  struct log_position end;
  log_end_position(log, &end);
  if (offset < log_start_offset(log) || offset > end.offset) {
    return error_set(ERR_OFFSET_OUT_OF_RANGE, "offset %" PRId64 " is not in %s", offset, log_dir(log));
  }
  struct tail_batch batch;
  if (offset == end.offset) {
    *position = end;
    return 0;
  }
  if (!tail_find(&log->tail, offset, &batch)) {
    return ERR_AGAIN;
  }
  int64_t pos = batch.last_offset < offset ? batch.pos + batch.size : batch.pos;
  *position = (struct log_position){.offset = offset, .segment_base = batch.segment_base, .pos = pos};
  return 0;
}
