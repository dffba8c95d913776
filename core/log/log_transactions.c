// SPDX-License-Identifier: Apache-2.0
#include "log/log_transactions.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slog.h"
#include "log/header_scan.h"
#include "log/log_private.h"
#include "os/dir.h"
#include "os/file.h"
#include "record/iterate.h"

enum {
  TXN_ENTRY_SIZE = 34,
  TXN_FILE_MAX = 256 * 1024 * 1024,    ///< bytes of a file that is still read: 8 million aborted transactions
  TXN_SNAPSHOT_MAX = 64 * 1024 * 1024, ///< bytes of a snapshot that is still read
  TXN_MARKER_MAX = 64 * 1024,          ///< bytes of a marker's batch that is still looked into
  TXN_MARKER_KEY_SIZE = 4,             ///< version 2, type 2
  TXN_MARKER_ABORT = 0,
};

/// What is found while a log is loaded.
struct txn_work {
  struct log *log;               ///< whose
  struct producers producers;    ///< who has a transaction open
  struct aborted_entry *entries; ///< so far, owned
  size_t count;                  ///< entries
  size_t room;                   ///< slots
  int64_t from_offset;           ///< from here on the batches count
  int64_t *snapshots;            ///< offsets of the snapshots, in no order; owned
  size_t snapshot_count;         ///< how many
  bool has_files;                ///< there are *.txnindex files
};

// --- reading ---------------------------------------------------------------------------------------------------------

int64_t log_first_unstable_offset(const struct log *log)
{
  return atomic_load_explicit(&log->first_unstable_offset, memory_order_acquire);
}

/// Where the segment ends that a slice lies in.
static int64_t segment_end(const struct log *log, int64_t segment_base)
{
  const struct segment_list *list = log_list(log);
  int next = segment_list_floor(list, segment_base) + 1;
  return next < list->count ? list->segments[next]->base_offset : log_end_offset(log);
}

int32_t log_aborted_transactions(const struct log *log, const struct log_slice *slice, int64_t offset,
                                 struct log_aborted *out, int32_t room)
{
  const struct log_aborted_list *list = atomic_load_explicit(&log->aborted, memory_order_acquire);
  if (list == NULL) {
    return 0;
  }
  int64_t end_offset = segment_end(log, slice->segment_base);
  int32_t low = 0;
  int32_t high = list->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (list->entries[middle].last_offset < offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int32_t count = 0;
  for (int32_t i = low; i < list->count; i++) {
    const struct aborted_entry *entry = &list->entries[i];
    if (entry->first_offset < end_offset) {
      if (count < room) {
        out[count] = (struct log_aborted){entry->producer_id, entry->first_offset};
      }
      count++;
    }
    if (entry->last_stable_offset >= end_offset) {
      break; // All that ended later began later.
    }
  }
  return count;
}

static void free_list(struct epoch_retired *retired)
{
  mem_free(CONTAINER_OF(retired, struct log_aborted_list, retired));
}

static void publish(struct log *log, const struct txn_work *work)
{
  struct log_aborted_list *fresh = NULL;
  if (work->count > 0) {
    fresh = mem_zalloc(sizeof *fresh + work->count * sizeof fresh->entries[0]);
    fresh->count = (int32_t)work->count;
    memcpy(fresh->entries, work->entries, work->count * sizeof fresh->entries[0]);
  }
  struct log_aborted_list *old = atomic_exchange(&log->aborted, fresh);
  if (old != NULL) {
    epoch_retire(&old->retired, free_list);
  }
}

void log_transactions_destroy(struct log *log)
{
  mem_free(atomic_load(&log->aborted));
}

void log_transactions_clear(struct log *log)
{
  struct txn_work none = {0};
  publish(log, &none);
  atomic_store(&log->first_unstable_offset, INT64_MAX);
}

void log_transactions_replace(struct log *log, int64_t base_offset, int64_t end_offset,
                              const struct aborted_entry *kept, size_t count)
{
  const struct log_aborted_list *list = atomic_load_explicit(&log->aborted, memory_order_acquire);
  if (list == NULL) {
    return;
  }
  struct txn_work work = {.entries = mem_array((size_t)list->count, sizeof *work.entries)};
  size_t at = 0;
  for (int32_t i = 0; i < list->count; i++) {
    const struct aborted_entry *entry = &list->entries[i];
    bool is_outside = entry->last_offset < base_offset || entry->last_offset >= end_offset;
    while (at < count && kept[at].last_offset < entry->last_offset) {
      at++;
    }
    if (is_outside || (at < count && kept[at].last_offset == entry->last_offset)) {
      work.entries[work.count++] = *entry;
    }
  }
  publish(log, &work);
  mem_free(work.entries);
}

// --- the files -------------------------------------------------------------------------------------------------------

static void add_entry(struct txn_work *work, const struct aborted_entry *entry)
{
  if (work->count == work->room) {
    work->room = work->room == 0 ? 16 : work->room * 2;
    work->entries = mem_realloc(work->entries, work->room * sizeof *work->entries);
  }
  work->entries[work->count++] = *entry;
}

static int64_t next_base(const struct log *log, int index)
{
  const struct segment_list *list = log_list(log);
  return index + 1 < list->count ? list->segments[index + 1]->base_offset : log_end_offset(log);
}

/// Adds the entries of a segment's file; what does not fit makes it useless.
static bool take_entries(struct txn_work *work, int index, const uint8_t *bytes, size_t size)
{
  int64_t base_offset = log_list(work->log)->segments[index]->base_offset;
  int64_t end_offset = next_base(work->log, index);
  size_t before = work->count;
  bool is_good = size % TXN_ENTRY_SIZE == 0;
  for (size_t at = 0; at < size && is_good; at += TXN_ENTRY_SIZE) {
    struct aborted_entry entry = {
        .producer_id = (int64_t)bytes_get_u64(bytes + at + 2),
        .first_offset = (int64_t)bytes_get_u64(bytes + at + 10),
        .last_offset = (int64_t)bytes_get_u64(bytes + at + 18),
        .last_stable_offset = (int64_t)bytes_get_u64(bytes + at + 26),
    };
    bool is_rising = work->count == before || entry.last_offset > work->entries[work->count - 1].last_offset;
    is_good = bytes_get_u16(bytes + at) == 0 && entry.producer_id >= 0 && entry.first_offset >= 0 &&
              entry.first_offset <= entry.last_offset && entry.last_offset >= base_offset &&
              entry.last_offset < end_offset && is_rising;
    if (is_good) {
      add_entry(work, &entry);
    }
  }
  work->count = is_good ? work->count : before;
  return is_good;
}

static int read_file(const struct log *log, int index, char **bytes, size_t *size)
{
  char *path = segment_path(log_dir(log), log_list(log)->segments[index]->base_offset, ".txnindex");
  int result = file_read_all(path, TXN_FILE_MAX, bytes, size);
  mem_free(path);
  return result;
}

/// Takes the files of the segments below `from_offset`. @param[out] is_good  false: one of them makes no sense
static int take_files(struct txn_work *work, bool *is_good)
{
  const struct segment_list *list = log_list(work->log);
  *is_good = true;
  for (int i = 0; i < list->count && *is_good && list->segments[i]->base_offset < work->from_offset; i++) {
    char *bytes = NULL;
    size_t size = 0;
    int result = read_file(work->log, i, &bytes, &size);
    if (result == ERR_LIMIT || result == ERR_TRUNCATED) {
      *is_good = false;
    } else if (result < 0 && result != ERR_NOT_FOUND) {
      return result;
    } else if (result == 0) {
      *is_good = take_entries(work, i, (const uint8_t *)bytes, size);
      mem_free(bytes);
    }
    if (!*is_good) {
      slog_warn("%s: the .txnindex of the segment at offset %" PRId64
                " makes no sense: it is made anew from the batches",
                log_dir(work->log), list->segments[i]->base_offset);
    }
  }
  while (work->count > 0 && work->entries[work->count - 1].last_offset >= work->from_offset) {
    work->count--;
  }
  return 0;
}

uint8_t *log_transactions_pack(const struct aborted_entry *entries, size_t count, size_t *size)
{
  uint8_t *bytes = mem_zalloc(count * TXN_ENTRY_SIZE + 1);
  *size = count * TXN_ENTRY_SIZE;
  for (size_t i = 0; i < count; i++) {
    uint8_t *at = bytes + i * TXN_ENTRY_SIZE;
    bytes_put_u64(at + 2, (uint64_t)entries[i].producer_id);
    bytes_put_u64(at + 10, (uint64_t)entries[i].first_offset);
    bytes_put_u64(at + 18, (uint64_t)entries[i].last_offset);
    bytes_put_u64(at + 26, (uint64_t)entries[i].last_stable_offset);
  }
  return bytes;
}

/// Writes a segment's file if it does not say what was found.
static int write_file(struct log *log, int index, const struct aborted_entry *entries, size_t count)
{
  char *old = NULL;
  size_t old_size = 0;
  int result = read_file(log, index, &old, &old_size);
  if (result < 0 && result != ERR_NOT_FOUND && result != ERR_LIMIT && result != ERR_TRUNCATED) {
    return result;
  }
  size_t size = 0;
  uint8_t *bytes = log_transactions_pack(entries, count, &size);
  bool is_same =
      result == 0 ? old_size == size && memcmp(old, bytes, size) == 0 : result == ERR_NOT_FOUND && count == 0;
  mem_free(result == 0 ? old : NULL);
  result = 0;
  if (!is_same) {
    char *path = segment_path(log_dir(log), log_list(log)->segments[index]->base_offset, ".txnindex");
    result = file_replace(path, bytes, size);
    mem_free(path);
  }
  mem_free(bytes);
  return result;
}

/// Writes the files of the segments whose batches were looked at.
static int write_files(struct txn_work *work)
{
  const struct segment_list *list = log_list(work->log);
  size_t at = 0;
  for (int i = 0; i < list->count; i++) {
    int64_t end_offset = next_base(work->log, i);
    size_t first = at;
    while (at < work->count && work->entries[at].last_offset < end_offset) {
      at++;
    }
    if (end_offset <= work->from_offset) {
      continue;
    }
    int result = write_file(work->log, i, at > first ? work->entries + first : NULL, at - first);
    if (result == ERR_NO_SPACE || result == ERR_READ_ONLY || result == ERR_PERMISSION) {
      slog_warn("%s: its .txnindex is not written: %s", log_dir(work->log), error_last()->message);
      return 0;
    }
    TRY(result);
  }
  return 0;
}

// --- the batches -----------------------------------------------------------------------------------------------------

/// Offset of the first record of the oldest open transaction, INT64_MAX: none.
static int64_t first_open(const struct txn_work *work)
{
  int64_t first = INT64_MAX;
  LIST_EACH(&work->producers.by_age, node) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    if (producer->txn_first_offset >= 0 && producer->txn_first_offset < first) {
      first = producer->txn_first_offset;
    }
  }
  return first;
}

/// Whether a control batch says that a transaction was aborted; one that cannot be read does not.
static int is_abort(int fd, const struct batch_header *header, int64_t pos, bool *is_abort_marker)
{
  *is_abort_marker = false;
  if (header->size > TXN_MARKER_MAX) {
    return 0;
  }
  uint8_t *bytes = mem_alloc(header->size);
  struct batch_iterator records = {0};
  struct record_view record;
  int result = file_read_at(fd, bytes, header->size, pos);
  if (result == 0 && batch_iterator_open(&records, bytes, header->size, TXN_MARKER_MAX) == 0 &&
      batch_iterator_next(&records, &record) > 0 && record.key_size >= TXN_MARKER_KEY_SIZE) {
    *is_abort_marker = bytes_get_u16(record.key + 2) == TXN_MARKER_ABORT;
  }
  batch_iterator_close(&records);
  mem_free(bytes);
  return result == ERR_TRUNCATED ? 0 : result;
}

/// Takes a marker: its producer's transaction is over.
static void end_transaction(struct txn_work *work, const struct producer_append *marker, bool is_aborted)
{
  const struct producer *producer = producers_find(&work->producers, marker->producer_id);
  int64_t first_offset = producer == NULL ? -1 : producer->txn_first_offset;
  producers_add(&work->producers, marker, 0, -1);
  if (first_offset >= 0 && is_aborted) {
    int64_t last_offset = marker->base_offset + marker->offset_delta;
    int64_t open_offset = first_open(work);
    add_entry(work, &(struct aborted_entry){
                        .producer_id = marker->producer_id,
                        .first_offset = first_offset,
                        .last_offset = last_offset,
                        .last_stable_offset = open_offset < last_offset + 1 ? open_offset : last_offset + 1});
  }
}

static int take_batch(struct txn_work *work, int fd, const struct batch_header *header, int64_t pos)
{
  bool is_control = (header->attributes & BATCH_CONTROL) != 0;
  bool is_transactional = (header->attributes & BATCH_TRANSACTIONAL) != 0;
  if (!is_transactional || header->producer_id < 0 || header->base_offset < work->from_offset) {
    return 0;
  }
  struct producer_append append = {
      .producer_id = header->producer_id,
      .base_offset = header->base_offset,
      .first_sequence = header->base_sequence < 0 ? 0 : header->base_sequence,
      .offset_delta = header->last_offset_delta,
      .epoch = header->producer_epoch,
      .is_control = is_control,
      .is_transactional = true,
  };
  if (!is_control) {
    producers_add(&work->producers, &append, 0, -1);
    return 0;
  }
  bool is_aborted = false;
  TRY(is_abort(fd, header, pos, &is_aborted));
  end_transaction(work, &append, is_aborted);
  return 0;
}

static int take_segment(struct txn_work *work, const struct segment *seg)
{
  char *path = segment_path(log_dir(work->log), seg->base_offset, ".log");
  int fd = -1;
  int result = file_open(path, FILE_READ, &fd);
  if (result == 0) {
    struct header_scan scan;
    struct batch_header header;
    int64_t pos = 0;
    header_scan_begin(&scan, fd, 0, atomic_load(&seg->size), true);
    while (result == 0 && (result = header_scan_next(&scan, &header, &pos)) > 0) {
      result = take_batch(work, fd, &header, pos);
    }
  }
  file_close(fd);
  mem_free(path);
  bool is_end = result == ERR_CORRUPT_BATCH || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT;
  return is_end ? 0 : result; // log_producers.c says so
}

static int take_batches(struct txn_work *work)
{
  const struct segment_list *list = log_list(work->log);
  for (int i = 0; i < list->count; i++) {
    if (next_base(work->log, i) > work->from_offset) {
      TRY(take_segment(work, list->segments[i]));
    }
  }
  return 0;
}

// --- loading ---------------------------------------------------------------------------------------------------------

static int take_name(void *arg, const char *name, bool is_dir)
{
  struct txn_work *work = arg;
  int64_t offset = 0;
  if (!is_dir && segment_parse_name(name, ".snapshot", &offset)) {
    if ((work->snapshot_count & (work->snapshot_count - 1)) == 0) {
      size_t room = work->snapshot_count == 0 ? 1 : work->snapshot_count * 2;
      work->snapshots = mem_realloc(work->snapshots, room * sizeof *work->snapshots);
    }
    work->snapshots[work->snapshot_count++] = offset;
  }
  work->has_files = work->has_files || (!is_dir && segment_parse_name(name, ".txnindex", &offset));
  return 0;
}

/// Loads the newest good snapshot at or below an offset, and begins there; else at the log's first segment, with nobody
/// known.
static int begin_at(struct txn_work *work, int64_t limit_offset)
{
  int64_t first_base = log_list(work->log)->segments[0]->base_offset;
  work->from_offset = first_base;
  producers_clear(&work->producers);
  for (;;) {
    int64_t newest = -1;
    for (size_t i = 0; i < work->snapshot_count; i++) {
      int64_t offset = work->snapshots[i];
      newest = offset <= limit_offset && offset >= first_base && offset > newest ? offset : newest;
    }
    if (newest < 0) {
      return 0;
    }
    char *path = segment_path(log_dir(work->log), newest, ".snapshot");
    char *bytes = NULL;
    size_t size = 0;
    int result = file_read_all(path, TXN_SNAPSHOT_MAX, &bytes, &size);
    mem_free(path);
    if (result == 0) {
      result = producers_unpack(&work->producers, (const uint8_t *)bytes, size, 0);
      mem_free(bytes);
    }
    if (result == 0) {
      work->from_offset = newest;
      return 0;
    }
    if (result == ERR_IO || result == ERR_NO_FILES || result == ERR_PERMISSION) {
      return result;
    }
    limit_offset = newest - 1;
  }
}

static int load(struct txn_work *work, int64_t replayed_from, bool has_transactions)
{
  TRY(dir_list(log_dir(work->log), take_name, work));
  TRY(begin_at(work, log_recovery_point(work->log)));
  // The usual case: the batches were looked at already from there on, and have no transactions.
  if (!work->has_files && !has_transactions && replayed_from <= work->from_offset && first_open(work) == INT64_MAX) {
    return 0;
  }
  bool is_good = false;
  TRY(take_files(work, &is_good));
  if (!is_good) {
    work->count = 0;
    TRY(begin_at(work, log_list(work->log)->segments[0]->base_offset));
  }
  TRY(take_batches(work));
  return write_files(work);
}

int log_transactions_load(struct log *log, int64_t replayed_from, bool has_transactions)
{
  struct txn_work work = {.log = log};
  producers_create(&work.producers);
  int result = load(&work, replayed_from, has_transactions);
  if (result == 0) {
    publish(log, &work);
    atomic_store(&log->first_unstable_offset, first_open(&work));
  }
  producers_destroy(&work.producers);
  mem_free(work.entries);
  mem_free(work.snapshots);
  return result;
}
