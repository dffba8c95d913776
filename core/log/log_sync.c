// SPDX-License-Identifier: Apache-2.0
//
// A log and the sync journal of its directory: what is not on disk yet goes into a group, and after a crash comes back.
//
// The journal gets the bytes that the segment has, read from the page cache: whole batches, checked on the way, from
// where everything is on disk up to the log's end. So what the journal has of a log is always a piece of it, and what
// comes back is appended where the log ends, or left out where the log has it already.
#include <inttypes.h>
#include <stddef.h>

#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "log/sync_journal.h"
#include "os/file.h"
#include "record/batch.h"

int64_t log_durable_offset(const struct log *log)
{
  int64_t recovery_point = log_recovery_point(log);
  int64_t synced_offset = atomic_load_explicit(&log->synced_offset, memory_order_acquire);
  return synced_offset > recovery_point ? synced_offset : recovery_point;
}

int64_t log_journaled_offset(const struct log *log)
{
  return atomic_load(&log->journaled_offset);
}

bool log_sync_done(struct log *log, const struct log_sync_range *range)
{
  if (atomic_load(&log->cuts) != range->cuts) {
    return false;
  }
  if (range->end_offset > atomic_load_explicit(&log->synced_offset, memory_order_relaxed)) {
    atomic_store_explicit(&log->synced_offset, range->end_offset, memory_order_release);
  }
  return true;
}

int log_forget_synced(struct log *log)
{
  // Until the cut is made (cut_publish()) the journal gets nothing more. Said before anything is looked at: who gathers
  // meanwhile says first that the journal has something, then looks whether he may.
  atomic_store(&log->is_cutting, true);
  int result = 0;
  if (atomic_load(&log->journaled_offset) != 0 && log->on_cut != NULL) {
    // What the journal does not say any more has to be in the segments: a crash may come before the cut.
    result = log_flush(log, INT64_MAX);
    result = result < 0 ? result : log->on_cut(log->arg, log);
  }
  atomic_store(&log->is_cutting, result == 0);
  return result;
}

// --- to the journal --------------------------------------------------------------------------------------------------

/// Checks that batches follow one another from an offset on. A last one that is cut is left out.
///
/// @param[in,out] offset  of the first batch; after the last one
/// @param[out] size       of the whole ones
static int gather_check(const uint8_t *bytes, size_t length, int64_t *offset, size_t *size)
{
  size_t at = 0;
  int64_t next = *offset;
  while (at < length) {
    struct batch_header header;
    int result = batch_check(bytes + at, length - at, &header);
    if (result == ERR_TRUNCATED && at > 0) {
      break;
    }
    TRY(result);
    if (header.base_offset != next) {
      return ERR_LIMIT;
    }
    next = header.base_offset + header.last_offset_delta + 1;
    at += header.size;
  }
  *offset = next;
  *size = at;
  return 0;
}

/// Reads what follows `offset` in one segment into the group's room.
static int gather_slice(struct log *log, int64_t *offset, int64_t end_offset, int64_t room, uint8_t *bytes,
                        size_t *size)
{
  struct log_read_args args = {.offset = *offset, .limit_offset = end_offset, .max_bytes = (int32_t)room};
  struct log_slice slice = {0};
  TRY(log_read_cold(log, &args, &slice));
  int result = slice.length == 0 || slice.base_offset != *offset
                   ? ERR_LIMIT
                   : file_read_at(log_file_fd(slice.file), bytes, (size_t)slice.length, slice.pos);
  if (result == 0) {
    result = gather_check(bytes, (size_t)slice.length, offset, size);
  }
  log_slice_release(&slice);
  return result;
}

int log_sync_gather(struct log *log, int32_t partition, int64_t limit, struct sync_group *group,
                    struct log_sync_range *range)
{
  CHECK(epoch_is_inside());
  // Before anything else is looked at, so that a truncation that comes later is seen by log_sync_done().
  uint64_t cuts = atomic_load(&log->cuts);
  int64_t base_offset = log_durable_offset(log);
  int64_t end_offset = log_end_offset(log);
  if (uuid_is_zero(&log->topic_id) || atomic_load(&log->is_cutting)) {
    return ERR_LIMIT;
  }
  int64_t offset = base_offset;
  int64_t used = 0;
  while (offset < end_offset) {
    // The room is there for all that may come, so that nothing moves in between.
    uint8_t *room = sync_group_reserve(group, (size_t)limit);
    size_t size = 0;
    // Whatever is unusual is for log_flush(), which says what it is.
    if (used >= limit || gather_slice(log, &offset, end_offset, limit - used, room + used, &size) < 0) {
      return ERR_LIMIT;
    }
    used += (int64_t)size;
  }
  *range = (struct log_sync_range){.end_offset = offset, .bytes = used, .cuts = cuts};
  if (used == 0) {
    return 0;
  }
  struct sync_entry entry = {.topic_id = log->topic_id,
                             .partition = partition,
                             .kind = SYNC_ENTRY_RECORDS,
                             .base_offset = base_offset,
                             .end_offset = offset,
                             .log_start_offset = log_start_offset(log),
                             .length = (uint32_t)used};
  // Before the journal has it: whoever empties a journal flushes at least so far.
  if (offset > atomic_load(&log->journaled_offset)) {
    atomic_store(&log->journaled_offset, offset);
  }
  // A truncation that began meanwhile may have found that there is nothing to forget (log_forget_synced()).
  if (atomic_load(&log->is_cutting) || atomic_load(&log->cuts) != cuts) {
    return ERR_LIMIT;
  }
  sync_group_add(group, &entry);
  return 0;
}

// --- from the journal ------------------------------------------------------------------------------------------------

/// A replay on its way.
struct replay {
  struct log *log;     ///< is appended to
  uint8_t *bytes;      ///< batches of the entry at hand
  int64_t now_ms;      ///< wall time
  int64_t last_offset; ///< base offset of the last batch that the log has already, -1: none
  uint32_t last_crc;   ///< its checksum
  bool is_joined;      ///< the journal was found to continue what the log has
  int64_t records;     ///< appended
};

/// Whether the log has a batch, and not another one in its place.
static int replay_has(struct log *log, int64_t offset, uint32_t crc, bool *has)
{
  struct log_read_args args = {
      .offset = offset, .limit_offset = log_end_offset(log), .max_bytes = 1, .whole_first_batch = true};
  struct log_slice slice = {0};
  *has = offset < log_start_offset(log); // Deleted: nothing to compare with.
  if (*has) {
    return 0;
  }
  TRY(log_read_cold(log, &args, &slice));
  uint8_t bytes[BATCH_HEADER_SIZE];
  struct batch_header header;
  int result =
      slice.length < BATCH_HEADER_SIZE ? 0 : file_read_at(log_file_fd(slice.file), bytes, sizeof bytes, slice.pos);
  *has = result == 0 && slice.length >= BATCH_HEADER_SIZE && batch_header_peek(bytes, sizeof bytes, &header) == 0 &&
         header.base_offset == offset && header.crc == crc;
  log_slice_release(&slice);
  return result;
}

/// Whether compaction may have written anew, or taken, the batch at an offset: it cannot be compared then. The active
/// segment is never cleaned, and its name is on disk before the one before it is.
static bool may_be_cleaned(const struct log *log, int64_t offset)
{
  return log_get_config(log)->is_compacted && offset < log_active_base_offset(log);
}

/// Says that what the journal has is not what follows in the log.
static int replay_refuse(const struct replay *replay, int64_t offset, const char *why)
{
  slog_error("%s: ends at offset %" PRId64 "; what the sync journal has from offset %" PRId64 " on is left out: %s",
             log_dir(replay->log), log_end_offset(replay->log), offset, why);
  return 1;
}

/// Appends one batch, or leaves it out. @param at  its place in the bytes  @return 1: nothing more of this log
static int replay_batch(struct replay *replay, const struct sync_entry *entry, size_t at,
                        const struct batch_header *header)
{
  struct log *log = replay->log;
  int64_t end_offset = log_end_offset(log);
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  if (last_offset < end_offset) {
    replay->last_offset = header->base_offset;
    replay->last_crc = header->crc;
    return 0;
  }
  if (!replay->is_joined && replay->last_offset >= 0 && !may_be_cleaned(log, replay->last_offset)) {
    bool has = false;
    TRY(replay_has(log, replay->last_offset, replay->last_crc, &has));
    if (!has) {
      return replay_refuse(replay, replay->last_offset, "the log has other records there");
    }
  }
  bool is_empty = log_start_offset(log) == end_offset;
  if (header->base_offset != end_offset) {
    // All that the log had was deleted, so that it begins anew at its start offset: in the midst of this batch, or, as
    // nobody had noted the start yet, below it.
    bool is_within = is_empty && header->base_offset < end_offset;
    bool is_above = header->base_offset > end_offset && entry->log_start_offset >= end_offset &&
                    entry->log_start_offset >= header->base_offset;
    if (!is_within && !is_above) {
      return replay_refuse(replay, header->base_offset,
                           header->base_offset < end_offset ? "the log ends within a batch of it" : "some are missing");
    }
    int64_t start_offset = is_within ? end_offset : entry->log_start_offset;
    TRY(log_truncate_all(log, header->base_offset, start_offset, replay->now_ms));
  }
  replay->is_joined = true;
  struct log_batch batch = {.bytes = replay->bytes + at,
                            .size = header->size,
                            .last_offset_delta = header->last_offset_delta,
                            .max_timestamp = header->max_timestamp,
                            .base_offset = header->base_offset};
  TRY(log_append_as_follower(log, &batch, 1, replay->now_ms));
  replay->records += header->last_offset_delta + INT64_C(1);
  return 0;
}

/// Takes the batches of one entry. @return 1: nothing more of this log
static int replay_entry(struct replay *replay, int fd, const struct sync_entry *entry)
{
  uint8_t *bytes = mem_alloc(entry->length);
  int result = file_read_at(fd, bytes, entry->length, entry->pos);
  size_t at = 0;
  replay->bytes = bytes;
  while (result == 0 && at < entry->length) {
    struct batch_header header;
    if (batch_check(bytes + at, entry->length - at, &header) < 0) {
      result = replay_refuse(replay, entry->base_offset, "no whole batch");
      break;
    }
    result = replay_batch(replay, entry, at, &header);
    at += header.size;
  }
  mem_free(bytes);
  return result;
}

int log_sync_replay(struct log *log, int fd, const struct sync_entry *entries, size_t count, int64_t now_ms,
                    int64_t *records)
{
  CHECK(epoch_is_inside());
  struct replay replay = {.log = log, .now_ms = now_ms, .last_offset = -1};
  int result = 0;
  for (size_t i = 0; i < count && result == 0; i++) {
    result = replay_entry(&replay, fd, &entries[i]);
  }
  *records = replay.records;
  return log_fail(log, result > 0 ? 0 : result);
}
