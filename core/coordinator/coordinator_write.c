// SPDX-License-Identifier: Apache-2.0
//
// What shards give out: answers, and records, which go to the partition's appender. One batch of a shard is under way
// at a time; what comes meanwhile is the next one, so that the busier a shard is, the more records share a write.
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/slog.h"
#include "coordinator/coordinator_private.h"
#include "coordinator/group_request.h"
#include "event/loop.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "record/batch.h"
#include "record/codec.h"
#include "replica/partition.h"
#include "wire/error_codes.h"

enum {
  WRITE_RECORD_OVERHEAD = 40, ///< bytes that a record takes in a batch beside its key and value, at most
  WRITE_ROOM_MIN = 16,
};

static void write_done(struct append_job *job);

/// What a failed append is to a client of the group, as Kafka has it.
static int16_t write_error(int result)
{
  switch (result) {
    case ERR_NOT_LEADER:
    case ERR_FENCED_LEADER_EPOCH:
    case ERR_UNKNOWN_LEADER_EPOCH:
    case ERR_NOT_FOUND:
    case ERR_STORAGE_OFFLINE:
    case ERR_NO_SPACE:
    case ERR_NO_FILES:
    case ERR_READ_ONLY:
    case ERR_IO:
      return WIRE_NOT_COORDINATOR;
    case ERR_NOT_ENOUGH_REPLICAS:
    case ERR_TIMEOUT:
      return WIRE_COORDINATOR_NOT_AVAILABLE;
    default:
      return WIRE_UNKNOWN_SERVER_ERROR;
  }
}

/// Bytes that a write takes in a batch, at most.
static size_t write_size(const struct group_write *write)
{
  const uint8_t *key = NULL;
  const uint8_t *value = NULL;
  int32_t key_size = 0;
  int32_t value_size = 0;
  size_t size = 0;
  for (int32_t i = 0; group_write_record(write, i, &key, &key_size, &value, &value_size); i++) {
    size += (size_t)key_size + (size_t)(value_size > 0 ? value_size : 0) + WRITE_RECORD_OVERHEAD;
  }
  return size;
}

/// Adds a write to the batch. @param wall_ms  of its records
static void write_add(struct coordinator_shard *entry, struct group_write *write, int64_t wall_ms)
{
  struct record_input record = {.timestamp = wall_ms};
  for (int32_t i = 0; group_write_record(write, i, &record.key, &record.key_size, &record.value, &record.value_size);
       i++) {
    CHECK(batch_builder_add(&entry->batch, &record) == 0);
  }
  if (entry->write_count == entry->write_room) {
    entry->write_room = entry->write_room > 0 ? entry->write_room * 2 : WRITE_ROOM_MIN;
    entry->writes = mem_realloc(entry->writes, (size_t)entry->write_room * sizeof(struct group_write *));
  }
  entry->writes[entry->write_count++] = write;
}

/// Bytes that a batch may have: max.message.bytes of the topic.
static size_t write_limit(const struct metadata_image *image)
{
  const struct metadata_topic *topic = metadata_image_topic(image, COORDINATOR_TOPIC, sizeof COORDINATOR_TOPIC - 1);
  int32_t limit = topic != NULL ? topic->config.max_message_bytes : 0;
  return limit > 0 ? (size_t)limit : 0;
}

/// Fills the batch with what waits, oldest first. A write is never divided: what is too large by itself fails.
///
/// @return false: there is nothing
static bool write_gather(struct coordinator_shard *entry, int64_t now_ms)
{
  const struct metadata_image *image = metadata_cache_get(entry->worker->coordinator->options.metadata);
  size_t limit = write_limit(image);
  struct batch_options options;
  batch_options_init(&options);
  options.codec = image->config->offsets_topic_compression_codec;
  batch_builder_reset(&entry->batch, &options);
  for (;;) {
    struct group_write *write = entry->carry != NULL ? entry->carry : group_shard_take_write(entry->shard);
    entry->carry = NULL;
    if (write == NULL) {
      return entry->write_count > 0;
    }
    size_t size = write_size(write) + (entry->write_count > 0 ? batch_builder_size(&entry->batch) : BATCH_HEADER_SIZE);
    if (size <= limit) {
      write_add(entry, write, event_loop_wall_ms(entry->worker->loop));
    } else if (entry->write_count > 0) {
      entry->carry = write;
      return true;
    } else {
      slog_warn(
          "partition %d of __consumer_offsets: what belongs together takes %zu bytes, more than max.message.bytes",
          entry->index, size);
      group_shard_written(entry->shard, write, WIRE_UNKNOWN_SERVER_ERROR, now_ms);
    }
  }
}

/// Gives the batch back to the shard.
static void write_finish(struct coordinator_shard *entry, int16_t error)
{
  int64_t now_ms = coordinator_now_ms(entry->worker);
  int32_t count = entry->write_count;
  entry->write_count = 0;
  for (int32_t i = 0; i < count; i++) {
    group_shard_written(entry->shard, entry->writes[i], error, now_ms);
  }
}

static void write_done(struct append_job *job)
{
  struct coordinator_shard *entry = CONTAINER_OF(job, struct coordinator_shard, job);
  struct coordinator_counters *counters = &entry->worker->counters;
  entry->is_writing = false;
  if (job->result < 0) {
    metric_count(&counters->failed_writes, 1);
    slog_debug("partition %d of __consumer_offsets: a batch was not written: %s", entry->index,
               error_text(job->result));
  }
  if (entry->state != COORDINATOR_READY) {
    coordinator_settled(entry); // the writes ended with the shard
    return;
  }
  // A failed flush refuses what is in the log already: it counts the next time that this is read, so it has to now.
  // Of a disk that is offline nothing is read until the next start, and nothing written.
  entry->is_in_doubt =
      job->result < 0 && job->result != ERR_STORAGE_OFFLINE && job->batch.result == 0 && job->batch.base_offset >= 0;
  write_finish(entry, job->result < 0 ? write_error(job->result) : WIRE_NONE);
  coordinator_mark(entry);
}

/// Writes what waits, unless a batch is under way.
static void write_start(struct coordinator_shard *entry)
{
  int64_t now_ms = coordinator_now_ms(entry->worker);
  if (entry->is_writing || entry->is_in_doubt || !write_gather(entry, now_ms)) {
    return;
  }
  uint8_t *bytes = NULL;
  size_t size = 0;
  int result = batch_builder_finish(&entry->batch, &bytes, &size);
  if (result < 0) {
    slog_error("partition %d of __consumer_offsets: %s", entry->index, error_last()->message);
    write_finish(entry, WIRE_UNKNOWN_SERVER_ERROR);
    coordinator_mark(entry);
    return;
  }
  metric_count(&entry->worker->counters.batches, 1);
  metric_count(&entry->worker->counters.records, entry->batch.record_count);
  entry->is_writing = true;
  entry->job = (struct append_job){
      .reply = entry->worker->loop,
      .done = write_done,
      .leader_epoch = entry->leader_epoch,
      .batch = {.bytes = bytes,
                .size = size,
                .last_offset_delta = entry->batch.next_delta - 1,
                .base_offset = -1,
                .max_timestamp = entry->batch.max_timestamp},
  };
  partition_submit(entry->part, &entry->job);
}

// ---- timers ----

static void flush_timer(struct timer *timer)
{
  struct coordinator_shard *entry = CONTAINER_OF(timer, struct coordinator_shard, timer);
  entry->timer_ms = INT64_MAX;
  group_shard_run_timers(entry->shard, coordinator_now_ms(entry->worker));
  coordinator_mark(entry);
}

/// Sets the loop's timer to the shard's next one.
static void flush_arm(struct coordinator_shard *entry)
{
  int64_t next_ms = group_shard_next_ms(entry->shard);
  if (next_ms == entry->timer_ms) {
    return;
  }
  entry->timer_ms = next_ms;
  if (next_ms == INT64_MAX) {
    timer_stop(entry->worker->loop, &entry->timer);
    return;
  }
  int64_t delay_ms = next_ms - coordinator_now_ms(entry->worker);
  timer_start(entry->worker->loop, &entry->timer, delay_ms > 0 ? delay_ms : 0, flush_timer);
}

// ---- answers ----

static void flush_answers(struct coordinator_shard *entry)
{
  struct event_loop *here = entry->worker->loop;
  for (struct group_request *request; (request = group_shard_take_answer(entry->shard)) != NULL;) {
    if (request->reply == here) {
      request->done(request);
    } else {
      coordinator_send_back(request);
    }
  }
}

/// Tells the metrics what the shard holds.
static void flush_count(struct coordinator_shard *entry)
{
  struct group_shard_counts counts = {0};
  if (entry->state == COORDINATOR_READY) {
    group_shard_count(entry->shard, &counts);
  }
  struct coordinator_counters *counters = &entry->worker->counters;
  metric_count(&counters->groups, counts.groups - entry->counted.groups);
  metric_count(&counters->offsets, counts.offsets - entry->counted.offsets);
  entry->counted = counts;
}

void coordinator_flush(struct coordinator_shard *entry)
{
  flush_answers(entry);
  if (entry->state != COORDINATOR_READY) {
    flush_count(entry);
    return;
  }
  write_start(entry);
  flush_answers(entry);
  coordinator_search_mark(entry);
  flush_arm(entry);
  flush_count(entry);
}
