// SPDX-License-Identifier: Apache-2.0
//
// Reads a partition of __consumer_offsets into its shard, on the pool. The worker goes on meanwhile, and answers that
// the shard is being loaded; then the shard is handed over to it.
//
// What makes no sense is left out and counted: a record that a newer broker wrote, or a batch that is damaged, must not
// keep all other groups from their work. What cannot be read at all is tried again, as the disk may come back.
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "coordinator/coordinator_private.h"
#include "coordinator/records.h"
#include "event/loop.h"
#include "log/log.h"
#include "log/log_file.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "os/clock.h"
#include "os/file.h"
#include "record/batch.h"
#include "record/iterate.h"
#include "replica/partition.h"

enum {
  LOAD_RETRY_MS = 5000,          ///< until a failed load is tried again
  LOAD_UNPACK_BYTES = 256 << 20, ///< that one batch may unpack to
  LOAD_LINES = 5,                ///< about damage, for each load
  LOAD_MARKER_ABORT = 0,         ///< types of transaction markers
  LOAD_MARKER_COMMIT = 1,
  LOAD_MARKER_KEY_SIZE = 4,
};

/// One load, on the pool.
struct load {
  struct coordinator_shard *entry; ///< whose it is
  struct batch_iterator records;   ///< of the batch at hand
  struct record_buffer bytes;      ///< what was read
  int64_t next_offset;             ///< where the next read begins
  int32_t read_bytes;              ///< offsets.load.buffer.size
};

/// Something is left out; says so, unless it was said often enough.
static void load_leave_out(struct load *load, int64_t offset)
{
  if (load->entry->load.left_out++ < LOAD_LINES) {
    slog_warn("partition %d of __consumer_offsets: offset %lld is left out: %s", load->entry->index, (long long)offset,
              error_last()->message);
  }
}

/// A transaction's end.
static void load_marker(struct load *load, const struct batch_header *header, const struct record_view *record)
{
  if (record->key == NULL || record->key_size < LOAD_MARKER_KEY_SIZE) {
    return;
  }
  uint16_t type = bytes_get_u16(record->key + 2);
  if (type == LOAD_MARKER_ABORT || type == LOAD_MARKER_COMMIT) {
    group_shard_replay_end(load->entry->shard, header->producer_id, type == LOAD_MARKER_COMMIT);
  }
}

static void load_record(struct load *load, const struct batch_header *header, const struct record_view *record)
{
  if ((header->attributes & BATCH_CONTROL) != 0) {
    load_marker(load, header, record);
    return;
  }
  int result = ERR_INVALID_RECORD;
  if (record->key == NULL) {
    error_set(result, "a record of __consumer_offsets has no key");
  } else {
    bool is_transactional = (header->attributes & BATCH_TRANSACTIONAL) != 0;
    result = group_shard_replay(load->entry->shard, is_transactional ? header->producer_id : RECORD_NO_PRODUCER,
                                record->key, record->key_size, record->value, record->value_size);
  }
  load->entry->load.records++;
  if (result < 0 && result != ERR_UNSUPPORTED_VERSION) {
    load_leave_out(load, record->offset);
  }
}

/// Replays a batch that is whole.
static void load_batch(struct load *load, const uint8_t *bytes, size_t size)
{
  struct batch_header header;
  int result = batch_check(bytes, size, &header);
  if (result == 0) {
    result = batch_iterator_open(&load->records, bytes, size, LOAD_UNPACK_BYTES);
  }
  struct record_view record;
  int more = result < 0 ? result : 1;
  while (more > 0) {
    more = batch_iterator_next(&load->records, &record);
    // What a reader wants from here on begins inside the first batch where the log start does.
    if (more > 0 && record.offset >= load->next_offset) {
      load_record(load, &load->records.header, &record);
    }
  }
  if (more < 0) {
    load_leave_out(load, load->next_offset);
  }
  batch_iterator_close(&load->records);
}

/// Replays the whole batches of what was read.
///
/// @param[out] missing  bytes of the batch that begins there and was not read whole; 0: nothing is known
/// @return 0, ERR_CORRUPT_BATCH
static int load_batches(struct load *load, size_t *missing)
{
  size_t at = 0;
  *missing = 0;
  while (load->bytes.size - at >= BATCH_PREFIX_SIZE) {
    const uint8_t *bytes = load->bytes.bytes + at;
    int64_t size = batch_size(bytes);
    if (size < BATCH_HEADER_SIZE) {
      return error_set(ERR_CORRUPT_BATCH, "a stored batch has an impossible size");
    }
    if ((size_t)size > load->bytes.size - at) {
      *missing = (size_t)size;
      break;
    }
    int64_t last = batch_last_offset(bytes);
    load_batch(load, bytes, (size_t)size);
    load->next_offset = last >= load->next_offset ? last + 1 : load->next_offset;
    at += (size_t)size;
  }
  return 0;
}

/// Reads and replays one piece of the log.
///
/// @return 1 when there may be more, 0 at the end, ERR_*
static int load_piece(struct load *load, struct log *log, int64_t end_offset, bool *is_first_whole)
{
  struct log_slice slice = {0};
  struct log_read_args args = {
      .offset = load->next_offset,
      .limit_offset = end_offset,
      .max_bytes = load->read_bytes,
      .whole_first_batch = true,
  };
  TRY(log_read_cold(log, &args, &slice));
  int64_t before = load->next_offset;
  bool is_found = slice.length > 0;
  int result = 0;
  record_buffer_reset(&load->bytes, INT32_MAX);
  if (is_found) {
    result = record_buffer_reserve(&load->bytes, (size_t)slice.length);
    if (result == 0) {
      load->bytes.size = (size_t)slice.length;
      result = file_read_at(log_file_fd(slice.file), load->bytes.bytes, load->bytes.size, slice.pos);
    }
  }
  size_t missing = 0;
  if (result == 0) {
    result = load_batches(load, &missing);
  }
  *is_first_whole = missing == 0 || load->next_offset > before;
  log_slice_release(&slice);
  if (result < 0) {
    return result;
  }
  return is_found && load->next_offset > before ? 1 : 0;
}

static int load_log(struct load *load)
{
  struct coordinator_shard *entry = load->entry;
  struct partition_state state;
  partition_read_state(entry->part, &state);
  TRY(partition_check_leader(&state));
  struct log *log = entry->part->log;
  load->next_offset = state.log_start_offset;
  // As far as it goes, not only what is safe: what is there now comes before all that is written from now on.
  int64_t end_offset = log_end_offset(log);
  int more = 1;
  while (more > 0 && load->next_offset < end_offset &&
         !atomic_load_explicit(&entry->is_load_cancelled, memory_order_relaxed)) {
    bool is_whole = true;
    more = load_piece(load, log, end_offset, &is_whole);
    if (more == 0 && !is_whole) {
      return error_set(ERR_CORRUPT_BATCH, "a stored batch is cut");
    }
    if (more == ERR_OFFSET_OUT_OF_RANGE && log_start_offset(log) > load->next_offset) {
      load->next_offset = log_start_offset(log); // deleted meanwhile
      more = 1;
    }
  }
  return more < 0 ? more : 0;
}

static void load_work(struct pool_job *job)
{
  struct coordinator_shard *entry = CONTAINER_OF(job, struct coordinator_shard, load_job);
  struct load load = {.entry = entry};
  int64_t start_ms = clock_mono_ms();
  const struct metadata_image *image = metadata_cache_get(entry->worker->coordinator->options.metadata);
  load.read_bytes = image->config->offsets_load_buffer_size;
  record_buffer_init(&load.bytes, INT32_MAX);
  entry->load = (struct coordinator_load){0};
  entry->load.result = load_log(&load);
  if (entry->load.result < 0 && !entry->has_load_failed) { // it is tried every few seconds, perhaps for days
    slog_error("partition %d of __consumer_offsets cannot be loaded, its groups are not served: %s", entry->index,
               error_last()->code == entry->load.result ? error_last()->message : error_text(entry->load.result));
  }
  record_buffer_destroy(&load.bytes);
  entry->load.duration_ms = clock_mono_ms() - start_ms;
}

// ---- on the worker ----

static void load_again(struct timer *timer)
{
  struct coordinator_shard *entry = CONTAINER_OF(timer, struct coordinator_shard, timer);
  coordinator_load_start(entry);
}

/// A load that failed has left half a state behind.
static void load_reset(struct coordinator_shard *entry)
{
  struct group_shard *old = entry->shard;
  entry->shard = group_shard_again(old);
  group_shard_delete(old);
}

/// The last of the loads that went on together is done: says so.
static void load_report(struct coordinator_worker *worker)
{
  if (--worker->load_count == 0 && worker->load_records > 0) {
    slog_info("loaded %lld records of groups and offsets in %lld ms", (long long)worker->load_records,
              (long long)(event_loop_now_ms(worker->loop) - worker->load_since_ms));
  }
}

static void load_done(struct pool_job *job)
{
  struct coordinator_shard *entry = CONTAINER_OF(job, struct coordinator_shard, load_job);
  struct coordinator_worker *worker = entry->worker;
  entry->is_loading = false;
  metric_count(&worker->counters.loading, -1);
  metric_count(&worker->counters.loaded, entry->load.records);
  metric_count(&worker->counters.load_ms, entry->load.duration_ms);
  worker->load_records += entry->load.records;
  load_report(worker);
  if (entry->state == COORDINATOR_ENDED) {
    coordinator_settled(entry);
    return;
  }
  if (entry->load.result < 0) {
    entry->state = COORDINATOR_FAILED;
    entry->has_load_failed = true;
    load_reset(entry);
    timer_start(worker->loop, &entry->timer, LOAD_RETRY_MS, load_again);
    return;
  }
  if (entry->load.left_out > LOAD_LINES) {
    slog_warn("partition %d of __consumer_offsets: %lld records and batches in all were left out", entry->index,
              (long long)entry->load.left_out);
  }
  if (entry->has_load_failed) {
    slog_info("partition %d of __consumer_offsets is loaded, its groups are served again", entry->index);
    entry->has_load_failed = false;
  }
  entry->state = COORDINATOR_READY;
  metric_count(&worker->counters.shards, 1);
  int64_t now_ms = coordinator_now_ms(worker);
  coordinator_configure(entry, metadata_cache_get(worker->coordinator->options.metadata));
  group_shard_loaded(entry->shard, now_ms);
  group_shard_topics_deleted(entry->shard, (const char *const *)entry->deleted, entry->deleted_count, now_ms);
  coordinator_load_forget(entry);
  group_shard_topics_changed(entry->shard, now_ms);
  coordinator_mark(entry);
}

void coordinator_load_start(struct coordinator_shard *entry)
{
  struct coordinator_worker *worker = entry->worker;
  entry->state = COORDINATOR_LOADING;
  entry->is_loading = true;
  if (worker->load_count++ == 0) {
    worker->load_since_ms = event_loop_now_ms(worker->loop);
    worker->load_records = 0;
  }
  metric_count(&worker->counters.loading, 1);
  pool_submit_long(worker->coordinator->options.pool, &entry->load_job, load_work, worker->loop, load_done);
}

void coordinator_load_deleted(struct coordinator_shard *entry, const char *const *names, int32_t count)
{
  size_t total = (size_t)entry->deleted_count + (size_t)count;
  entry->deleted = mem_realloc(entry->deleted, total * sizeof(char *));
  for (int32_t i = 0; i < count; i++) {
    entry->deleted[entry->deleted_count++] = mem_strdup(names[i]);
  }
}

void coordinator_load_forget(struct coordinator_shard *entry)
{
  for (int32_t i = 0; i < entry->deleted_count; i++) {
    mem_free(entry->deleted[i]);
  }
  mem_free(entry->deleted);
  entry->deleted = NULL;
  entry->deleted_count = 0;
}
