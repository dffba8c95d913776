// SPDX-License-Identifier: Apache-2.0
//
// The producers of a log through its life: judged at the append, kept in snapshot files, found again at the start.
//
//   roll, clean close   <next offset>.snapshot: everybody as of that offset. Packed by the appender, written by the
//                       next flush, on the pool
//   open, truncation    the newest readable snapshot at or below the end, then the headers of the batches after it
//
// A snapshot is a shortcut: without one, or with a torn one, all headers are read. So a full disk may keep one from
// being written, and nothing is lost. Snapshots go with the segment of the same name; those above the end describe what
// is no longer there and are removed before anything else can take those offsets.
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"

enum { SNAPSHOT_BYTES_MAX = 64 * 1024 * 1024 }; // more than PRODUCERS_MAX can take

/// A snapshot that waits to be written.
struct log_snapshot {
  struct log_snapshot *next; ///< older one
  int64_t offset;            ///< it holds what came before this offset
  size_t size;               ///< bytes
  uint8_t *bytes;            ///< owned
};

// --- appending -------------------------------------------------------------------------------------------------------

/// What a batch in memory says of its producer.
static void read_batch(const struct log_batch *batch, struct producer_append *append)
{
  *append = (struct producer_append){
      .producer_id = (int64_t)bytes_get_u64(batch->bytes + BATCH_PRODUCER_ID_POS),
      .base_offset = batch->base_offset,
      .timestamp = batch->max_timestamp,
      .divided_ms = batch->divided_ms,
      .first_sequence = (int32_t)bytes_get_u32(batch->bytes + BATCH_BASE_SEQUENCE_POS),
      .offset_delta = batch->last_offset_delta,
      .epoch = (int16_t)bytes_get_u16(batch->bytes + BATCH_PRODUCER_EPOCH_POS),
      .is_control = batch_is_control(batch->bytes),
      .is_transactional = batch_is_transactional(batch->bytes),
  };
}

static bool is_tracked(const struct producer_append *append)
{
  return append->producer_id >= 0 && (append->is_control || append->first_sequence >= 0);
}

/// Tells in a batch what the log knows of it. @return whether it is new
static bool judge(const struct log *log, struct log_batch *batch, struct producer_append *append)
{
  int verdict = producers_check(&log->producers, append);
  if (verdict == 0) {
    return true;
  }
  batch->result = verdict < 0 ? verdict : 0;
  batch->is_duplicate = verdict == PRODUCER_DUPLICATE;
  batch->base_offset = verdict < 0 ? -1 : append->base_offset;
  batch->stored_timestamp = append->timestamp;
  return false;
}

int log_judge(const struct log *log, struct log_batch *batch)
{
  struct producer_append append;
  read_batch(batch, &append);
  batch->is_duplicate = false;
  batch->result = 0;
  if (is_tracked(&append)) {
    judge(log, batch, &append);
  }
  return batch->result;
}

bool log_producers_admit(struct log *log, struct log_batch *batch, int64_t now_ms, int mark)
{
  struct producer_append append;
  read_batch(batch, &append);
  if (!is_tracked(&append)) {
    return true;
  }
  if (judge(log, batch, &append)) {
    producers_add(&log->producers, &append, now_ms, mark);
    return true;
  }
  return false;
}

void log_producers_note(struct log *log, const struct log_batch *batch, int64_t now_ms, int mark)
{
  struct producer_append append;
  read_batch(batch, &append);
  if (is_tracked(&append)) {
    producers_add(&log->producers, &append, now_ms, mark);
  }
}

bool log_has_expired_producers(const struct log *log, int64_t now_ms, int64_t expiration_ms)
{
  int64_t oldest_ms = producers_oldest_ms(&log->producers);
  return oldest_ms != INT64_MAX && now_ms - oldest_ms >= expiration_ms;
}

int32_t log_producer_count(const struct log *log)
{
  return log->producers.count;
}

void log_producer_list(const struct log *log, struct log_producer_info *infos)
{
  int32_t count = 0;
  LIST_EACH(&log->producers.by_age, node) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    infos[count++] = (struct log_producer_info){
        .id = producer->id,
        .timestamp = producer->timestamp,
        .last_sequence = producer->count > 0 ? producer->batches[producer->count - 1].last_sequence : -1,
        .epoch = producer->epoch,
    };
  }
}

int log_expire_producers(struct log *log, int64_t now_ms, int64_t expiration_ms)
{
  return producers_expire(&log->producers, now_ms, expiration_ms);
}

// --- writing snapshots -----------------------------------------------------------------------------------------------

static void snapshots_free(struct log_snapshot *snapshot)
{
  while (snapshot != NULL) {
    struct log_snapshot *next = snapshot->next;
    mem_free(snapshot->bytes);
    mem_free(snapshot);
    snapshot = next;
  }
}

void log_snapshots_drop(struct log *log)
{
  snapshots_free(atomic_exchange(&log->snapshots, NULL));
}

void log_snapshot_take(struct log *log, int64_t offset)
{
  if (offset <= log->snapshot_offset) {
    return;
  }
  struct log_snapshot *snapshot = mem_zalloc(sizeof *snapshot);
  snapshot->offset = offset;
  snapshot->bytes = producers_pack(&log->producers, &snapshot->size);
  log->snapshot_offset = offset;
  snapshot->next = atomic_load_explicit(&log->snapshots, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&log->snapshots, &snapshot->next, snapshot)) {
  }
}

int log_snapshots_write(struct log *log)
{
  struct log_snapshot *snapshots = atomic_exchange(&log->snapshots, NULL);
  int result = 0;
  for (const struct log_snapshot *snapshot = snapshots; snapshot != NULL && result == 0; snapshot = snapshot->next) {
    char *path = segment_path(log_dir(log), snapshot->offset, ".snapshot");
    result = file_replace(path, snapshot->bytes, snapshot->size);
    mem_free(path);
    if (result == ERR_NO_SPACE) {
      slog_warn("%s: no snapshot of the producers at offset %" PRId64 ": %s; the next start reads more headers",
                log_dir(log), snapshot->offset, error_last()->message);
      result = 0;
    } else if (result == ERR_NOT_FOUND) {
      result = 0; // The log was deleted or moved meanwhile.
    }
  }
  snapshots_free(snapshots);
  return result;
}

// --- finding them again ----------------------------------------------------------------------------------------------

/// Offsets of the snapshots in a folder.
struct snapshot_list {
  int64_t *offsets; ///< newest first, owned
  int count;        ///< how many
  int room;         ///< slots allocated
};

static int list_add(void *arg, const char *name, bool is_dir)
{
  struct snapshot_list *list = arg;
  int64_t offset = 0;
  if (is_dir || !segment_parse_name(name, ".snapshot", &offset)) {
    return 0;
  }
  if (list->count == list->room) {
    list->room = list->room * 2 + 16;
    list->offsets = mem_realloc(list->offsets, (size_t)list->room * sizeof *list->offsets);
  }
  list->offsets[list->count++] = offset;
  return 0;
}

static int compare_newest_first(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left < right) - (left > right);
}

static int remove_snapshot(struct log *log, int64_t offset)
{
  char *path = segment_path(log_dir(log), offset, ".snapshot");
  int result = dir_remove_file(path);
  mem_free(path);
  atomic_store(&log->is_dir_dirty, true);
  return result == ERR_NOT_FOUND ? 0 : result;
}

/// Reads one snapshot. @return 1; 0 when it is no good, which is logged; ERR_IO ...
static int load_snapshot(struct log *log, int64_t offset, int64_t now_ms)
{
  char *path = segment_path(log_dir(log), offset, ".snapshot");
  char *bytes = NULL;
  size_t size = 0;
  int result = file_read_all(path, SNAPSHOT_BYTES_MAX, &bytes, &size);
  if (result == 0) {
    result = producers_unpack(&log->producers, (const uint8_t *)bytes, size, now_ms);
    mem_free(bytes);
  }
  if (result == ERR_CORRUPT || result == ERR_UNSUPPORTED_VERSION || result == ERR_LIMIT || result == ERR_TRUNCATED) {
    slog_warn("%s: not used: %s; what it says is read from the batches", path, error_last()->message);
    result = 0;
  } else if (result == 0) {
    result = 1;
  }
  mem_free(path);
  return result;
}

static bool is_segment_base(const struct segment_list *segments, int64_t offset)
{
  int index = segment_list_floor(segments, offset);
  return index >= 0 && segments->segments[index]->base_offset == offset;
}

/// Loads the newest snapshot that can be read; removes what lies above the end or before all segments (batches that
/// came after it are gone: it would have producers wait for sequences of long ago), and, of those that no segment
/// begins with, what is older than the one that was loaded.
///
/// @param[out] offset  its offset, -1: none
static int load_newest(struct log *log, struct snapshot_list *list, int64_t now_ms, int64_t *offset)
{
  int64_t end_offset = log_end_offset(log);
  *offset = -1;
  for (int i = 0; i < list->count; i++) {
    int64_t found = list->offsets[i];
    if (found > end_offset || found < log_list(log)->segments[0]->base_offset) {
      TRY(remove_snapshot(log, found));
    } else if (*offset < 0) {
      int loaded = load_snapshot(log, found, now_ms);
      TRY(loaded);
      *offset = loaded > 0 ? found : -1;
    } else if (!is_segment_base(log_list(log), found)) {
      TRY(remove_snapshot(log, found));
    }
  }
  return 0;
}

/// Adds the producers of a segment's batches from an offset on.
///
/// @param[out] has_transactions  set when one of them is of a transaction
static int replay_segment(struct log *log, const struct segment *seg, int64_t from_offset, int64_t now_ms,
                          bool *has_transactions)
{
  char *path = segment_path(log_dir(log), seg->base_offset, ".log");
  int fd = -1;
  int result = file_open(path, FILE_READ, &fd);
  if (result == 0) {
    struct header_scan scan;
    struct batch_header header;
    int64_t pos = 0;
    header_scan_begin(&scan, fd, 0, atomic_load(&seg->size), true);
    while ((result = header_scan_next(&scan, &header, &pos)) > 0) {
      struct producer_append append = {
          .producer_id = header.producer_id,
          .base_offset = header.base_offset,
          .timestamp = header.max_timestamp,
          .first_sequence = header.base_sequence,
          .offset_delta = header.last_offset_delta,
          .epoch = header.producer_epoch,
          .is_control = (header.attributes & BATCH_CONTROL) != 0,
          .is_transactional = (header.attributes & BATCH_TRANSACTIONAL) != 0,
      };
      if (header.base_offset >= from_offset && is_tracked(&append)) {
        producers_add(&log->producers, &append, now_ms, -1);
        *has_transactions = *has_transactions || append.is_transactional;
      }
    }
  }
  file_close(fd);
  if (result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT) {
    slog_warn("%s: its batches cannot be followed to the end, so that producers may be missing: %s", path,
              error_last()->message);
    result = 0;
  }
  mem_free(path);
  return result;
}

int log_producers_reset(struct log *log)
{
  struct snapshot_list list = {0};
  producers_clear(&log->producers);
  log_transactions_clear(log);
  log->snapshot_offset = log_end_offset(log);
  int result = dir_list(log_dir(log), list_add, &list);
  for (int i = 0; i < list.count && result >= 0; i++) {
    result = remove_snapshot(log, list.offsets[i]);
  }
  mem_free(list.offsets);
  return result;
}

int log_producers_load(struct log *log, int64_t now_ms)
{
  struct snapshot_list list = {0};
  int64_t offset = -1;
  producers_clear(&log->producers);
  log->snapshot_offset = -1;
  int result = dir_list(log_dir(log), list_add, &list);
  if (result >= 0 && list.count > 0) {
    qsort(list.offsets, (size_t)list.count, sizeof *list.offsets, compare_newest_first);
    result = load_newest(log, &list, now_ms, &offset);
  }
  mem_free(list.offsets);
  TRY(result);
  const struct segment_list *segments = log_list(log);
  int64_t end_offset = log_end_offset(log);
  // An empty log needs no snapshot.
  log->snapshot_offset = offset > segments->segments[0]->base_offset ? offset : segments->segments[0]->base_offset;
  int first = offset < 0 ? 0 : segment_list_floor(segments, offset);
  bool has_transactions = false;
  for (int i = first < 0 ? 0 : first; i < segments->count && offset < end_offset; i++) {
    TRY(replay_segment(log, segments->segments[i], offset, now_ms, &has_transactions));
  }
  return log_transactions_load(log, offset, has_transactions);
}
