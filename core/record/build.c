// SPDX-License-Identifier: Apache-2.0
#include "record/build.h"

#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "record/batch.h"
#include "record/codec.h"

enum {
  BATCH_SIZE_MAX = 0x7fffffff, // sizes on the wire and in the log are signed 32 bits
};

static int64_t measure_blob(int32_t size);
static int64_t measure_body(const struct batch_builder *builder, const struct record_input *record, int64_t delta);
static uint8_t *put_blob(uint8_t *at, const uint8_t *bytes, int32_t size);
static void begin_batch(struct batch_builder *builder, const struct batch_options *options);
static uint16_t make_attributes(const struct batch_options *options);

void batch_options_init(struct batch_options *options)
{
  *options = (struct batch_options){
      .append_time_ms = BATCH_NO_TIMESTAMP,
      .producer_id = BATCH_NO_PRODUCER_ID,
      .leader_epoch = BATCH_NO_LEADER_EPOCH,
      .base_sequence = BATCH_NO_SEQUENCE,
      .producer_epoch = BATCH_NO_PRODUCER_EPOCH,
      .codec = CODEC_NONE,
      .level = CODEC_LEVEL_DEFAULT,
      .limit_bytes = BATCH_SIZE_MAX,
  };
}

void batch_builder_init(struct batch_builder *builder, const struct batch_options *options)
{
  *builder = (struct batch_builder){0};
  begin_batch(builder, options);
}

void batch_builder_reset(struct batch_builder *builder, const struct batch_options *options)
{
  begin_batch(builder, options);
}

int batch_builder_add(struct batch_builder *builder, const struct record_input *record)
{
  bool is_first = builder->record_count == 0;
  int64_t base = is_first ? record->timestamp : builder->base_timestamp;
  int64_t timestamp_delta = (int64_t)((uint64_t)record->timestamp - (uint64_t)base);
  int64_t body = measure_body(builder, record, timestamp_delta);
  if (body < 0) {
    return error_set(ERR_INVALID, "record with a negative header count or header key size");
  }
  if (builder->next_delta == INT32_MAX || body > BATCH_SIZE_MAX) {
    return ERR_LIMIT;
  }
  TRY(record_buffer_reserve(&builder->plain, (size_t)varint_size_i32((int32_t)body) + (size_t)body));
  uint8_t *at = builder->plain.bytes + builder->plain.size;
  at += varint_put_i32(at, (int32_t)body);
  *at++ = 0; // attributes
  at += varint_put_i64(at, timestamp_delta);
  at += varint_put_i32(at, builder->next_delta);
  at = put_blob(at, record->key, record->key_size);
  at = put_blob(at, record->value, record->value_size);
  at += varint_put_i32(at, record->header_count);
  for (int32_t i = 0; i < record->header_count; i++) {
    const struct record_header_input *header = &record->headers[i];
    at = put_blob(at, header->key, header->key_size);
    at = put_blob(at, header->value, header->value_size);
  }
  builder->plain.size = (size_t)(at - builder->plain.bytes);
  builder->base_timestamp = base;
  if (record->timestamp > builder->max_timestamp) {
    builder->max_timestamp = record->timestamp;
  }
  builder->next_delta++;
  builder->record_count++;
  return 0;
}

int batch_builder_skip(struct batch_builder *builder, int32_t count)
{
  if (count < 0) {
    return error_set(ERR_INVALID, "cannot skip %d offsets", count);
  }
  if (count > INT32_MAX - builder->next_delta) {
    return ERR_LIMIT;
  }
  builder->next_delta += count;
  return 0;
}

size_t batch_builder_size(const struct batch_builder *builder)
{
  return builder->plain.size;
}

int batch_builder_finish(struct batch_builder *builder, uint8_t **bytes, size_t *size)
{
  const struct batch_options *options = &builder->options;
  struct record_buffer *batch = &builder->plain;
  if (builder->next_delta == 0) {
    return error_set(ERR_INVALID, "a batch of no records at no offset");
  }
  if (options->codec != CODEC_NONE && builder->record_count > 0) {
    batch = &builder->packed;
    record_buffer_reset(batch, (size_t)BATCH_SIZE_MAX * 2); // room for the codec's worst case
    TRY(record_buffer_reserve(batch, BATCH_HEADER_SIZE));
    batch->size = BATCH_HEADER_SIZE;
    TRY(codec_compress(options->codec, options->level, builder->plain.bytes + BATCH_HEADER_SIZE,
                       builder->plain.size - BATCH_HEADER_SIZE, batch));
    if (batch->size > BATCH_SIZE_MAX) {
      return error_set(ERR_LIMIT, "batch of %zu bytes after compression", batch->size);
    }
  }
  struct batch_header header = {
      .base_offset = options->base_offset,
      .base_timestamp = builder->base_timestamp,
      .max_timestamp = options->append_time_ms >= 0 ? options->append_time_ms : builder->max_timestamp,
      .producer_id = options->producer_id,
      .size = batch->size,
      .leader_epoch = options->leader_epoch,
      .last_offset_delta = builder->next_delta - 1,
      .base_sequence = options->base_sequence,
      .record_count = builder->record_count,
      .producer_epoch = options->producer_epoch,
      .attributes = make_attributes(options),
      .magic = BATCH_FORMAT_MAX,
  };
  if (builder->record_count == 0) {
    header.attributes &= (uint16_t)~BATCH_CODEC_MASK;
  }
  batch_header_write(batch->bytes, &header);
  *bytes = batch->bytes;
  *size = batch->size;
  return 0;
}

void batch_builder_destroy(struct batch_builder *builder)
{
  record_buffer_destroy(&builder->plain);
  record_buffer_destroy(&builder->packed);
}

/// Bytes of a length and what it counts.
static int64_t measure_blob(int32_t size)
{
  return size < 0 ? 1 : (int64_t)varint_size_i32(size) + size;
}

/// Bytes of a record without its length; -1 if the record is not possible.
static int64_t measure_body(const struct batch_builder *builder, const struct record_input *record, int64_t delta)
{
  if (record->header_count < 0) {
    return -1;
  }
  int64_t size = 1 + varint_size_i64(delta) + varint_size_i32(builder->next_delta);
  size += measure_blob(record->key_size) + measure_blob(record->value_size) + varint_size_i32(record->header_count);
  for (int32_t i = 0; i < record->header_count; i++) {
    if (record->headers[i].key_size < 0) {
      return -1;
    }
    size += measure_blob(record->headers[i].key_size) + measure_blob(record->headers[i].value_size);
  }
  return size;
}

static uint8_t *put_blob(uint8_t *at, const uint8_t *bytes, int32_t size)
{
  if (size < 0) {
    return at + varint_put_i32(at, -1);
  }
  at += varint_put_i32(at, size);
  if (size > 0) {
    memcpy(at, bytes, (size_t)size);
  }
  return at + size;
}

static void begin_batch(struct batch_builder *builder, const struct batch_options *options)
{
  size_t limit = options->limit_bytes < BATCH_HEADER_SIZE ? BATCH_HEADER_SIZE : options->limit_bytes;
  builder->options = *options;
  builder->base_timestamp = builder->max_timestamp = BATCH_NO_TIMESTAMP;
  builder->record_count = builder->next_delta = 0;
  record_buffer_reset(&builder->plain, limit < BATCH_SIZE_MAX ? limit : BATCH_SIZE_MAX);
  record_buffer_hint(&builder->plain, BATCH_HEADER_SIZE);
  builder->plain.size = BATCH_HEADER_SIZE;
}

static uint16_t make_attributes(const struct batch_options *options)
{
  return (uint16_t)((options->codec & BATCH_CODEC_MASK) | (options->append_time_ms >= 0 ? BATCH_APPEND_TIME : 0) |
                    (options->is_transactional ? BATCH_TRANSACTIONAL : 0) | (options->is_control ? BATCH_CONTROL : 0));
}
