// SPDX-License-Identifier: Apache-2.0
#include "log/log_clean.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "log/header_scan.h"
#include "log/log_clean_private.h"
#include "os/file.h"

enum {
  GROUP_SEGMENTS_MAX = 64, ///< renamed in one step of the appender
};

// --- looking ---------------------------------------------------------------------------------------------------------

/// Where the next pass begins: what was cleaned may have been deleted or cut meanwhile.
static int64_t first_dirty(const struct log *log)
{
  int64_t start_offset = log_start_offset(log);
  int64_t offset = log_clean_offset(log);
  return offset < start_offset || offset > log_end_offset(log) ? start_offset : offset;
}

/// Wall time that a segment's newest record counts with.
static int64_t newest_ms(const struct segment *seg)
{
  int64_t timestamp = atomic_load_explicit(&seg->max_timestamp, memory_order_acquire);
  return timestamp >= 0 ? timestamp : atomic_load_explicit(&seg->modified_ms, memory_order_relaxed);
}

/// The first segment that may not be cleaned: that of the stable offset, the active one, or one with records that are
/// younger than min.compaction.lag.ms.
static int find_limit(const struct segment_list *list, const struct log_config *config, int first,
                      int64_t stable_offset, int64_t now_ms)
{
  int limit = segment_list_floor(list, stable_offset);
  limit = limit < list->count - 1 ? limit : list->count - 1;
  for (int i = first; i < limit && config->min_compaction_lag_ms > 0; i++) {
    if (newest_ms(list->segments[i]) > now_ms - config->min_compaction_lag_ms) {
      return i;
    }
  }
  return limit < first ? first : limit;
}

/// Timestamp of the first batch of a segment, -1: none.
static int first_timestamp(struct log *log, struct segment *seg, int64_t *timestamp)
{
  struct log_file *file = NULL;
  struct header_scan scan;
  struct batch_header header;
  int64_t pos = 0;
  *timestamp = -1;
  if (atomic_load(&seg->size) == 0) {
    return 0;
  }
  TRY(log_open_segment(log, seg, &file));
  header_scan_begin(&scan, log_file_fd(file), 0, atomic_load(&seg->size), true);
  scan.step = BATCH_HEADER_SIZE;
  int result = header_scan_next(&scan, &header, &pos);
  log_file_unref(file);
  if (result > 0) {
    *timestamp = header_timestamp(&header);
  }
  return result == ERR_IO ? result : 0; // what else is odd is found by the pass
}

/// How much longer than max.compaction.lag.ms the oldest dirty record has waited.
static int find_overdue(struct log *log, const struct segment_list *list, const struct log_config *config, int first,
                        int64_t now_ms, int64_t *overdue_ms)
{
  *overdue_ms = 0;
  for (int i = first; i < list->count - 1 && config->max_compaction_lag_ms < INT64_MAX; i++) {
    int64_t timestamp = -1;
    int result = first_timestamp(log, list->segments[i], &timestamp);
    if (result == ERR_NOT_FOUND) {
      continue; // deleted meanwhile
    }
    TRY(result);
    int64_t waited_ms = timestamp > 0 && timestamp < now_ms ? now_ms - timestamp : 0;
    if (waited_ms - config->max_compaction_lag_ms > *overdue_ms) {
      *overdue_ms = waited_ms - config->max_compaction_lag_ms;
    }
  }
  return 0;
}

int log_clean_look(struct log *log, int64_t stable_offset, int64_t now_ms, struct log_clean_look *look)
{
  CHECK(epoch_is_inside());
  const struct log_config *config = log_get_config(log);
  *look = (struct log_clean_look){.first_dirty_offset = first_dirty(log)};
  const struct segment_list *list = log_list(log);
  int first = segment_list_floor(list, look->first_dirty_offset);
  first = first < 0 ? 0 : first;
  int limit = find_limit(list, config, first, stable_offset, now_ms);
  look->end_offset = list->segments[limit]->base_offset;
  for (int i = 0; i < limit; i++) {
    int64_t size = atomic_load_explicit(&list->segments[i]->size, memory_order_acquire);
    look->clean_bytes += i < first ? size : 0;
    look->dirty_bytes += i < first ? 0 : size;
  }
  TRY(find_overdue(log, list, config, first, now_ms, &look->overdue_ms));
  int64_t bytes = look->clean_bytes + look->dirty_bytes;
  look->dirty_ratio = bytes > 0 ? (double)look->dirty_bytes / (double)bytes : 0;
  look->is_due = look->dirty_bytes > 0 && (look->overdue_ms > 0 || look->dirty_ratio > config->min_dirty_ratio);
  return 0;
}

void log_note_cleaning(struct log *log, int64_t first_offset)
{
  int64_t never = -1;
  atomic_compare_exchange_strong(&log->clean_offset, &never, first_offset);
}

// --- the pass --------------------------------------------------------------------------------------------------------

bool log_clean_is_damage(int result)
{
  return result == ERR_CORRUPT_BATCH || result == ERR_INVALID_RECORD || result == ERR_DECOMPRESS ||
         result == ERR_LIMIT || result == ERR_TRUNCATED || result == ERR_UNSUPPORTED_FORMAT ||
         result == ERR_UNSUPPORTED_CODEC || result == ERR_NOMEM || result == ERR_INVALID;
}

int clean_pace(struct log_clean *pass, int64_t bytes)
{
  return pass->settings->pace == NULL ? 0 : pass->settings->pace(pass->settings->arg, bytes);
}

int clean_fail_batch(const struct log_clean *pass, const struct batch_header *header, int result)
{
  struct error_detail detail = *error_last();
  if (!log_clean_is_damage(result)) {
    return result;
  }
  return error_record(result, 0, detail.file, detail.line, "%s: the batch at offset %" PRId64 ": %.*s", pass->dir,
                      header->base_offset, ERROR_MESSAGE_SIZE / 2,
                      detail.code == result ? detail.message : error_text(result));
}

/// A step for the appender.
struct step {
  struct log_clean *pass;             ///< whose
  int (*run)(struct log_clean *pass); ///< the step
  int result;                         ///< out
  struct error_detail detail;         ///< out: of a failure; it may be another thread's
};

static void run_step(void *arg)
{
  struct step *step = arg;
  step->result = step->run(step->pass);
  step->detail = *error_last();
}

int clean_with_appender(struct log_clean *pass, int (*run)(struct log_clean *pass))
{
  struct step step = {.pass = pass, .run = run};
  const struct log_clean_settings *settings = pass->settings;
  if (settings->with_appender == NULL) {
    return run(pass);
  }
  TRY(settings->with_appender(settings->arg, run_step, &step));
  if (step.result < 0) {
    error_record(step.result, 0, step.detail.file, step.detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1,
                 step.detail.message);
  }
  return step.result;
}

static int compare_producers(const void *a, const void *b)
{
  int64_t left = ((const struct clean_producer *)a)->id;
  int64_t right = ((const struct clean_producer *)b)->id;
  return (left > right) - (left < right);
}

/// Who wrote to the log, and where his last record is.
static void take_producers(struct log_clean *pass)
{
  const struct producers *producers = &pass->log->producers;
  pass->producers = mem_array((size_t)producers->count + 1, sizeof *pass->producers);
  LIST_EACH(&producers->by_age, node) {
    const struct producer *producer = CONTAINER_OF(node, struct producer, node);
    pass->producers[pass->producer_count++] = (struct clean_producer){
        .id = producer->id,
        .last_offset = producer->count > 0 ? producer->batches[producer->count - 1].last_offset : -1,
        .epoch = producer->epoch,
    };
  }
  qsort(pass->producers, (size_t)pass->producer_count, sizeof *pass->producers, compare_producers);
}

/// With the appender: what the pass goes by, as of one moment.
static int begin(struct log_clean *pass)
{
  const struct log *log = pass->log;
  const struct segment_list *list = log_list(log);
  if (log->is_broken) {
    return error_set(ERR_AGAIN, "%s: an earlier failure left its files in disorder", pass->dir);
  }
  pass->cuts = atomic_load(&log->cuts);
  pass->segs = mem_array((size_t)list->count, sizeof *pass->segs);
  for (int i = 0; i < list->count - 1 && list->segments[i]->base_offset < pass->limit_offset; i++) {
    const struct segment *seg = list->segments[i];
    int64_t index_bytes = (int64_t)atomic_load(&seg->offset_index.count) * OFFSET_INDEX_ENTRY_SIZE;
    int64_t time_bytes = (int64_t)atomic_load(&seg->time_index.count) * TIME_INDEX_ENTRY_SIZE;
    pass->segs[pass->seg_count++] = (struct clean_segment){
        .base_offset = seg->base_offset,
        .next_base = list->segments[i + 1]->base_offset,
        .size = atomic_load(&seg->size),
        .index_bytes = index_bytes > time_bytes ? index_bytes : time_bytes,
        .modified_ms = atomic_load(&seg->modified_ms),
    };
  }
  bool is_whole = pass->seg_count > 0 && pass->segs[pass->seg_count - 1].next_base == pass->limit_offset;
  if (!is_whole || list->segments[0]->base_offset > pass->first_offset) {
    return error_set(ERR_AGAIN, "%s: has changed since it was looked at", pass->dir);
  }
  take_producers(pass);
  return 0;
}

/// With the appender: what was cleaned is so from now on.
static int end(struct log_clean *pass)
{
  struct log *log = pass->log;
  if (atomic_load(&log->cuts) != pass->cuts) {
    return error_set(ERR_AGAIN, "%s: was cut while it was cleaned", pass->dir);
  }
  atomic_store(&log->clean_offset, pass->mapped_offset);
  return 0;
}

/// Notes the keys of a batch. @return 1 when the map is full, 0, ERR_*
static int map_batch(struct log_clean *pass, const struct batch_header *header, const uint8_t *bytes)
{
  int64_t last_offset = header->base_offset + header->last_offset_delta;
  bool is_old = last_offset < pass->first_offset;
  if ((header->attributes & BATCH_CONTROL) != 0) {
    clean_txn_take_control(&pass->txn, header, bytes);
  } else if (!clean_txn_take_data(&pass->txn, header) && !is_old) {
    struct record_view record;
    TRY(batch_iterator_open(&pass->records, bytes, header->size, clean_unpack_limit(pass, header)));
    int more = 0;
    while ((more = batch_iterator_next(&pass->records, &record)) > 0) {
      if (record.key_size < 0 || record.offset < pass->first_offset) {
        continue;
      }
      if (!cleaner_offset_map_put(&pass->map, record.key, (size_t)record.key_size, record.offset)) {
        pass->mapped_offset = record.offset > pass->mapped_offset ? record.offset : pass->mapped_offset;
        return 1;
      }
    }
    TRY(more);
  }
  if (!is_old) {
    pass->mapped_offset = last_offset + 1;
  }
  return 0;
}

/// Notes the keys of a segment. @return 1 when the map is full, 0, ERR_*
static int map_segment(struct log_clean *pass, const struct clean_segment *seg)
{
  struct batch_header header;
  const uint8_t *bytes = NULL;
  clean_txn_enter(&pass->txn, pass->log, seg);
  TRY(clean_reader_open(&pass->reader, seg));
  int more = 0;
  while ((more = clean_reader_next(&pass->reader, &header, &bytes)) > 0) {
    int full = map_batch(pass, &header, bytes);
    if (full != 0) {
      return clean_fail_batch(pass, &header, full);
    }
  }
  TRY(more);
  pass->mapped_offset = seg->next_base;
  return 0;
}

/// Notes the newest offset of every key, from the first dirty offset on.
static int map_all(struct log_clean *pass)
{
  int full = 0;
  pass->mapped_offset = pass->first_offset;
  for (int i = 0; i < pass->seg_count && full == 0; i++) {
    if (pass->segs[i].next_base > pass->first_offset) {
      full = map_segment(pass, &pass->segs[i]);
      TRY(full);
      pass->counts->mapped_bytes += pass->segs[i].size;
    }
  }
  clean_reader_close(&pass->reader);
  clean_txn_reset(&pass->txn);
  pass->counts->is_full = full > 0;
  pass->counts->keys = (int64_t)pass->map.count;
  return 0;
}

/// Counts the segments from number `first` on that become one: as Kafka groups them, by what a segment may hold.
static int group_size(const struct log_clean *pass, int first)
{
  const struct clean_segment *head = &pass->segs[first];
  int64_t bytes = head->size;
  int64_t index_bytes = head->index_bytes;
  int count = 1;
  for (int i = first + 1; i < pass->seg_count && count < GROUP_SEGMENTS_MAX; i++, count++) {
    const struct clean_segment *seg = &pass->segs[i];
    bytes += seg->size;
    index_bytes += seg->index_bytes;
    if (seg->base_offset >= pass->mapped_offset || bytes > pass->config.segment_bytes ||
        index_bytes > pass->config.segment_index_bytes || seg->next_base - 1 - head->base_offset > INT32_MAX) {
      break;
    }
  }
  return count;
}

static int clean_groups(struct log_clean *pass)
{
  for (int i = 0; i < pass->seg_count && pass->segs[i].base_offset < pass->mapped_offset;) {
    int count = group_size(pass, i);
    TRY(clean_group(pass, i, count));
    i += count;
  }
  return 0;
}

static int run(struct log_clean *pass)
{
  TRY(clean_with_appender(pass, begin));
  // What makes older records superfluous has to be on disk before these go.
  TRY(log_flush(pass->log, pass->limit_offset));
  TRY(map_all(pass));
  TRY(clean_groups(pass));
  return clean_with_appender(pass, end);
}

int log_clean(struct log *log, const struct log_clean_look *look, int64_t now_ms,
              const struct log_clean_settings *settings, struct log_clean_counts *counts)
{
  CHECK(epoch_is_inside());
  struct log_clean pass = {
      .log = log,
      .settings = settings,
      .counts = counts,
      .config = *log_get_config(log),
      .dir = mem_strdup(log_dir(log)),
      .now_ms = now_ms,
      .first_offset = look->first_dirty_offset,
      .limit_offset = look->end_offset,
      .reader = {.fd = -1},
  };
  *counts = (struct log_clean_counts){.first_offset = look->first_dirty_offset, .end_offset = look->first_dirty_offset};
  pass.reader.pass = &pass;
  cleaner_offset_map_create(&pass.map, settings->map_bytes, settings->map_load);
  int result = run(&pass);
  struct error_detail detail = *error_last();
  if (result == 0) {
    counts->end_offset = pass.mapped_offset;
  }
  clean_reader_close(&pass.reader);
  mem_free(pass.reader.window);
  cleaner_offset_map_destroy(&pass.map);
  clean_txn_destroy(&pass.txn);
  batch_iterator_close(&pass.records);
  record_buffer_destroy(&pass.plain);
  record_buffer_destroy(&pass.packed);
  mem_free(pass.producers);
  mem_free(pass.segs);
  mem_free(pass.dir);
  return result < 0 ? error_record(result, 0, detail.file, detail.line, "%.*s", ERROR_MESSAGE_SIZE - 1, detail.message)
                    : 0;
}
