// SPDX-License-Identifier: Apache-2.0
//
// Appending. The order of publication is what lets readers do without locks:
//
//   bytes in the file -> index entries and largest timestamp -> positions in the tail -> the end
//
// so whoever sees an end finds everything below it. Nothing is published for bytes whose write failed; they are cut
// off, or overwritten by the next append.
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "log/log_private.h"
#include "os/file.h"

/// What the active segment will look like after the batches gathered so far; for deciding where it ends.
struct append_plan {
  int64_t size;              ///< bytes
  int64_t first_timestamp;   ///< of its first batch, -1: none
  int64_t max_timestamp;     ///< largest so far
  int64_t time_index_last;   ///< timestamp of the last time-index entry
  int64_t bytes_since_index; ///< after the last index entry
  uint32_t index_count;      ///< offset-index entries
  uint32_t time_index_count; ///< time-index entries
};

static int append_gather(struct log *log, struct log_batch *batches, int count, int64_t now_ms, int mark);
static int append_write(struct log *log, struct log_batch *batches, int count, int64_t now_ms);
static int64_t append_timestamp(const struct log_batch *batch);

/// Fails all batches of a row.
static void append_fail(struct log_batch *batches, int count, int result)
{
  for (int i = 0; i < count; i++) {
    batches[i].result = result;
  }
}

/// Tells the producers of batches.
static void append_note(struct log *log, const struct log_batch *batches, int count, int64_t now_ms, int mark)
{
  for (int i = 0; i < count; i++) {
    if (batch_has_producer(batches[i].bytes)) {
      log_producers_note(log, &batches[i], now_ms, mark < 0 ? -1 : mark + i);
    }
  }
}

/// Appends batches that have their offsets, segment by segment.
///
/// @param mark  of the first batch, whose producers know of it already; -1: they are told when it is written
static int append_all(struct log *log, struct log_batch *batches, int count, int64_t now_ms, int mark)
{
  int done = 0;
  while (done < count) {
    int taken = append_gather(log, batches + done, count - done, now_ms, mark < 0 ? -1 : mark + done);
    int result = taken < 0 ? taken : append_write(log, batches + done, taken, now_ms);
    if (result == ERR_NOT_FOUND || result == ERR_PERMISSION) {
      // The files of an open log are gone, or nobody may write them any more: to the log the disk is gone.
      struct error_detail detail = *error_last();
      result = error_record(ERR_IO, 0, detail.file, detail.line, "%s: %.*s", log_dir(log), ERROR_MESSAGE_SIZE / 2,
                            detail.message);
    }
    if (result < 0) {
      append_fail(batches + done, count - done, result);
      return result;
    }
    if (mark < 0) {
      append_note(log, batches + done, taken, now_ms, -1);
    }
    done += taken;
  }
  return 0;
}

/// Has the producers forget what was not written of a row.
static void append_undo_producers(struct log *log, const struct log_batch *batches, int first, int end)
{
  while (first < end && batches[first].result == 0) {
    first++;
  }
  producers_undo(&log->producers, first);
}

int log_append(struct log *log, struct log_batch *batches, int count, int32_t leader_epoch, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  if (log->is_broken) {
    append_fail(batches, count, ERR_STORAGE_OFFLINE);
    return error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log));
  }
  int32_t segment_bytes = log_get_config(log)->segment_bytes;
  int result = 0;
  // Rows of batches between those that fit into no segment.
  for (int first = 0; first < count;) {
    int end = first;
    int64_t offset = log_end_offset(log);
    bool is_admitted = true;
    producers_begin(&log->producers);
    while (end < count && batches[end].size <= (size_t)segment_bytes) {
      struct log_batch *batch = &batches[end];
      batch->base_offset = offset;
      batch->is_duplicate = false;
      batch->result = 0;
      is_admitted = !batch_has_producer(batch->bytes) || log_producers_admit(log, batch, now_ms, end);
      if (!is_admitted) {
        break;
      }
      end++;
      batch_set_offsets(batch->bytes, offset, leader_epoch);
      offset += batch->last_offset_delta + INT64_C(1);
    }
    if (end > first) {
      log_assign_leader_epoch(log, leader_epoch);
      int appended = append_all(log, batches + first, end - first, now_ms, first);
      if (appended < 0) {
        append_fail(batches + end, count - end, appended);
        append_undo_producers(log, batches, first, end);
        return appended;
      }
    }
    if (!is_admitted) {
      end++; // Stored before, or refused: its result is there, and it is not written.
    } else if (end < count) {
      batches[end].result = error_set(ERR_LIMIT, "a batch of %zu bytes is larger than a segment (%" PRId32 ") of %s",
                                      batches[end].size, segment_bytes, log_dir(log));
      result = result < 0 ? result : batches[end].result;
      end++;
    }
    first = end;
  }
  return result;
}

int log_append_as_follower(struct log *log, struct log_batch *batches, int count, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  if (log->is_broken) {
    append_fail(batches, count, ERR_STORAGE_OFFLINE);
    return error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log));
  }
  int64_t offset = log_end_offset(log);
  for (int i = 0; i < count; i++) {
    struct log_batch *batch = &batches[i];
    batch->result = 0;
    if (batch->base_offset < offset || batch->base_offset > INT64_MAX - 1 - batch->last_offset_delta) {
      append_fail(batches, count, ERR_OFFSET_OUT_OF_RANGE);
      return error_set(ERR_OFFSET_OUT_OF_RANGE,
                       "a batch with base offset %" PRId64 " cannot follow offset %" PRId64 " in %s",
                       batch->base_offset, offset - 1, log_dir(log));
    }
    if (batch->size > INT32_MAX) {
      append_fail(batches, count, ERR_LIMIT);
      return error_set(ERR_LIMIT, "a batch of %zu bytes", batch->size);
    }
    offset = batch->base_offset + batch->last_offset_delta + 1;
  }
  for (int i = 0; i < count; i++) {
    leader_epochs_assign(&log->epochs, batch_leader_epoch(batches[i].bytes), batches[i].base_offset);
  }
  return append_all(log, batches, count, now_ms, -1);
}

// --- where a segment ends --------------------------------------------------------------------------------------------

static void append_plan_begin(struct append_plan *plan, const struct segment *seg)
{
  *plan = (struct append_plan){
      .size = atomic_load_explicit(&seg->size, memory_order_relaxed),
      .first_timestamp = seg->first_timestamp,
      .max_timestamp = atomic_load_explicit(&seg->max_timestamp, memory_order_relaxed),
      .time_index_last = seg->time_index.last.timestamp,
      .bytes_since_index = seg->bytes_since_index,
      .index_count = atomic_load_explicit(&seg->offset_index.count, memory_order_relaxed),
      .time_index_count = atomic_load_explicit(&seg->time_index.count, memory_order_relaxed),
  };
}

/// Accounts for a batch as segment_add() will.
static void append_plan_add(struct append_plan *plan, const struct log_batch *batch, int32_t index_interval_bytes)
{
  int64_t timestamp = append_timestamp(batch);
  if (plan->size == 0) {
    plan->first_timestamp = timestamp;
  }
  if (timestamp > plan->max_timestamp) {
    plan->max_timestamp = timestamp;
  }
  if (plan->bytes_since_index > index_interval_bytes) {
    plan->index_count++;
    if (plan->max_timestamp > plan->time_index_last) {
      plan->time_index_count++;
      plan->time_index_last = plan->max_timestamp;
    }
    plan->bytes_since_index = 0;
  }
  plan->bytes_since_index += (int64_t)batch->size;
  plan->size += (int64_t)batch->size;
}

/// Kafka's rule for closing a segment before a batch. Time is counted in record timestamps where there are any.
static bool append_is_roll_due(const struct append_plan *plan, const struct segment *seg,
                               const struct log_config *config, const struct log_batch *batch, int64_t now_ms)
{
  if (batch->base_offset + batch->last_offset_delta - seg->base_offset > INT32_MAX) {
    return true;
  }
  if (plan->size == 0) {
    return false;
  }
  int64_t waited_ms =
      plan->first_timestamp >= 0 ? append_timestamp(batch) - plan->first_timestamp : now_ms - seg->created_ms;
  return plan->size > config->segment_bytes - (int64_t)batch->size || plan->size + (int64_t)batch->size > INT32_MAX ||
         waited_ms > config->segment_ms - seg->jitter_ms || plan->index_count >= seg->offset_index.room ||
         plan->time_index_count + 1 >= seg->time_index.room;
}

/// Counts the batches that go into the active segment, which is a new one when the first does not fit.
///
/// @param mark  as append_all() has it
/// @return at least 1, or ERR_* when no segment could be begun
static int append_gather(struct log *log, struct log_batch *batches, int count, int64_t now_ms, int mark)
{
  const struct log_config *config = log_get_config(log);
  struct segment *seg = log_active(log);
  struct append_plan plan;
  append_plan_begin(&plan, seg);
  if (append_is_roll_due(&plan, seg, config, &batches[0], now_ms)) {
    // The snapshot taken here must not know of what is not written yet.
    if (mark >= 0) {
      producers_undo(&log->producers, mark);
    }
    TRY(log_roll_to(log, batches[0].base_offset, now_ms));
    if (mark >= 0) {
      append_note(log, batches, count, now_ms, mark);
    }
    seg = log_active(log);
    append_plan_begin(&plan, seg);
  }
  int taken = 0;
  do {
    append_plan_add(&plan, &batches[taken++], config->index_interval_bytes);
  } while (taken < count && !append_is_roll_due(&plan, seg, config, &batches[taken], now_ms));
  return taken;
}

// --- writing ---------------------------------------------------------------------------------------------------------

/// The timestamp that a batch counts with; a maximum that was never set gives way to the base timestamp.
static int64_t append_timestamp(const struct log_batch *batch)
{
  int64_t timestamp = batch->max_timestamp;
  if (timestamp < 0) {
    timestamp = (int64_t)bytes_get_u64(batch->bytes + BATCH_BASE_TIMESTAMP_POS);
  }
  return timestamp >= 0 ? timestamp : -1;
}

/// Writes batches at the end of the active segment; on failure what was written is cut off again.
static int append_write_bytes(struct log *log, struct log_file *file, const struct log_batch *batches, int count,
                              int64_t pos)
{
  if (log->parts_room < count) {
    log->parts = mem_realloc(log->parts, (size_t)count * sizeof *log->parts);
    log->parts_room = count;
  }
  for (int i = 0; i < count; i++) {
    log->parts[i] = (struct iovec){.iov_base = batches[i].bytes, .iov_len = batches[i].size};
  }
  int result = file_write_vector_at(log_file_fd(file), log->parts, count, pos);
  if (result < 0) {
    log_fail(log, result);
    struct error_detail detail = *error_last();
    // Bytes that stay would count as batches at the next start.
    log->is_broken = file_truncate(log_file_fd(file), pos) < 0;
    log_active(log)->reserved_pos = 0;
    return error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message);
  }
  return 0;
}

/// Bytes of a row of batches.
static int64_t append_bytes(const struct log_batch *batches, int count)
{
  int64_t bytes = 0;
  for (int i = 0; i < count; i++) {
    bytes += (int64_t)batches[i].size;
  }
  return bytes;
}

/// Writes batches into the active segment, with one write, and publishes them.
static int append_write(struct log *log, struct log_batch *batches, int count, int64_t now_ms)
{
  struct segment *seg = log_active(log);
  int64_t pos = atomic_load_explicit(&seg->size, memory_order_relaxed);
  struct log_file *file = NULL;
  TRY(log_open_segment(log, seg, &file));
  const struct log_config *config = log_get_config(log);
  segment_reserve(seg, log_file_fd(file), pos, append_bytes(batches, count), config);
  int result = append_write_bytes(log, file, batches, count, pos);
  if (result < 0) {
    log_file_unref(file);
    return result;
  }
  const char *dir = log_dir(log);
  int64_t end_pos = pos;
  int64_t end_offset = 0;
  for (int i = 0; i < count; i++) {
    const struct log_batch *batch = &batches[i];
    struct tail_batch place = {.base_offset = batch->base_offset,
                               .last_offset = batch->base_offset + batch->last_offset_delta,
                               .segment_base = seg->base_offset,
                               .pos = end_pos,
                               .size = (int64_t)batch->size};
    segment_add(seg, dir, config->index_interval_bytes, end_pos, place.size, place.last_offset,
                append_timestamp(batch));
    tail_push(&log->tail, &place);
    end_pos += place.size;
    end_offset = place.last_offset + 1;
  }
  atomic_store_explicit(&seg->modified_ms, now_ms, memory_order_relaxed);
  atomic_fetch_add_explicit(&log->size_bytes, end_pos - pos, memory_order_relaxed);
  log_file_touch_written(file, pos, end_pos - pos);
  log_publish_end(log, end_offset, seg->base_offset, end_pos);
  log_note_unflushed(log, config);
  if (pos >> LOG_WRITE_BACK_SHIFT != end_pos >> LOG_WRITE_BACK_SHIFT && log->on_filled != NULL) {
    log->on_filled(log->arg);
  }
  log_file_unref(file);
  return 0;
}

// --- rolling ---------------------------------------------------------------------------------------------------------

/// Ends the active segment: its last time-index entry, its indexes written, spare blocks given back.
static int append_close_segment(struct log *log, struct segment *seg)
{
  TRY(segment_finish_indexes(seg, log_dir(log), true));
  if (seg->reserved_pos > 0 || log_get_config(log)->preallocate) {
    TRY(log_unreserve(log, seg));
  }
  return 0;
}

int log_roll_to(struct log *log, int64_t base_offset, int64_t now_ms)
{
  const struct log_config *config = log_get_config(log);
  struct segment_list *list = log_list(log);
  TRY(append_close_segment(log, log_active(log)));
  struct segment *seg = segment_new(base_offset, config, now_ms);
  int result = segment_create_files(seg, log_dir(log), config);
  if (result < 0) {
    segment_free(seg);
    return result;
  }
  atomic_store(&log->is_dir_dirty, true);
  struct segment_list *fresh = segment_list_new(list->count + 1);
  for (int i = 0; i < list->count; i++) {
    fresh->segments[i] = list->segments[i];
  }
  fresh->segments[list->count] = seg;
  log_publish_list(log, fresh);
  log_snapshot_take(log, base_offset);
  if (log->on_rolled != NULL) {
    log->on_rolled(log->arg, log, log_end_offset(log));
  }
  return 0;
}

int log_roll(struct log *log, int64_t now_ms)
{
  CHECK(epoch_is_inside());
  if (log->is_broken) {
    return error_set(ERR_STORAGE_OFFLINE, "%s: an earlier failure left its files in disorder", log_dir(log));
  }
  if (atomic_load_explicit(&log_active(log)->size, memory_order_relaxed) == 0) {
    return 0;
  }
  return log_roll_to(log, log_end_offset(log), now_ms);
}
