// SPDX-License-Identifier: Apache-2.0
#include "record/batch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"

static uint32_t batch_compute_crc(const uint8_t *bytes, size_t size);

int batch_header_peek(const uint8_t *bytes, size_t available, struct batch_header *out)
{
  if (available < BATCH_PREFIX_SIZE) {
    return error_set(ERR_TRUNCATED, "batch header cut after %zu bytes", available);
  }
  int32_t length = (int32_t)bytes_get_u32(bytes + BATCH_LENGTH_POS);
  int8_t magic = batch_magic(bytes);
  if (length < BATCH_LENGTH_MIN) {
    return error_set(ERR_CORRUPT_BATCH, "batch length %" PRId32 " is impossible", length);
  }
  if (magic < 0 || magic > BATCH_FORMAT_MAX) {
    return error_set(ERR_CORRUPT_BATCH, "there is no record format %d", magic);
  }
  if (magic < BATCH_FORMAT_MAX) {
    return error_set(ERR_UNSUPPORTED_FORMAT, "record format %d", magic);
  }
  size_t size = (size_t)length + BATCH_OVERHEAD_SIZE;
  if (size < BATCH_HEADER_SIZE) {
    return error_set(ERR_CORRUPT_BATCH, "batch of %zu bytes is smaller than its header", size);
  }
  if (available < BATCH_HEADER_SIZE) {
    return error_set(ERR_TRUNCATED, "batch header cut after %zu bytes", available);
  }
  *out = (struct batch_header){
      .base_offset = batch_base_offset(bytes),
      .base_timestamp = (int64_t)bytes_get_u64(bytes + BATCH_BASE_TIMESTAMP_POS),
      .max_timestamp = batch_max_timestamp(bytes),
      .producer_id = batch_producer_id(bytes),
      .size = size,
      .crc = bytes_get_u32(bytes + BATCH_CRC_POS),
      .leader_epoch = batch_leader_epoch(bytes),
      .last_offset_delta = batch_last_offset_delta(bytes),
      .base_sequence = (int32_t)bytes_get_u32(bytes + BATCH_BASE_SEQUENCE_POS),
      .record_count = batch_record_count(bytes),
      .producer_epoch = (int16_t)bytes_get_u16(bytes + BATCH_PRODUCER_EPOCH_POS),
      .attributes = batch_attributes(bytes),
      .magic = magic,
  };
  return 0;
}

int batch_header_read(const uint8_t *bytes, size_t size, struct batch_header *out)
{
  struct batch_header header = {0};
  TRY(batch_header_peek(bytes, size, &header));
  if (header.size > size) {
    return error_set(ERR_TRUNCATED, "batch of %zu bytes cut after %zu", header.size, size);
  }
  *out = header;
  return 0;
}

int batch_check(const uint8_t *bytes, size_t size, struct batch_header *out)
{
  struct batch_header header = {0};
  TRY(batch_header_read(bytes, size, &header));
  if (header.base_offset < 0 || header.last_offset_delta < 0 ||
      header.base_offset > INT64_MAX - header.last_offset_delta - 1 || header.record_count < 0) {
    return error_set(ERR_CORRUPT_BATCH, "batch with base offset %" PRId64 ", last delta %" PRId32 ", count %" PRId32,
                     header.base_offset, header.last_offset_delta, header.record_count);
  }
  uint32_t crc = batch_compute_crc(bytes, header.size);
  if (crc != header.crc) {
    return error_set(ERR_CORRUPT_BATCH, "batch at offset %" PRId64 " has CRC %08" PRIx32 ", stored %08" PRIx32,
                     header.base_offset, crc, header.crc);
  }
  if (out != NULL) {
    *out = header;
  }
  return 0;
}

void batch_set_offsets(uint8_t *bytes, int64_t base_offset, int32_t leader_epoch)
{
  bytes_put_u64(bytes + BATCH_BASE_OFFSET_POS, (uint64_t)base_offset);
  bytes_put_u32(bytes + BATCH_LEADER_EPOCH_POS, (uint32_t)leader_epoch);
}

bool batch_set_timestamps(uint8_t *bytes, size_t size, bool is_append_time, int64_t max_timestamp)
{
  const uint16_t kept = BATCH_CODEC_MASK | BATCH_TRANSACTIONAL | BATCH_CONTROL | BATCH_DELETE_HORIZON;
  uint16_t attributes = batch_attributes(bytes);
  bool was_append_time = (attributes & BATCH_APPEND_TIME) != 0;
  if (was_append_time == is_append_time && batch_max_timestamp(bytes) == max_timestamp) {
    return false;
  }
  attributes &= kept;
  if (is_append_time) {
    attributes |= BATCH_APPEND_TIME;
  }
  bytes_put_u16(bytes + BATCH_ATTRIBUTES_POS, attributes);
  bytes_put_u64(bytes + BATCH_MAX_TIMESTAMP_POS, (uint64_t)max_timestamp);
  bytes_put_u32(bytes + BATCH_CRC_POS, batch_compute_crc(bytes, size));
  return true;
}

void batch_set_append_time(uint8_t *bytes, size_t size, int64_t now_ms)
{
  batch_set_timestamps(bytes, size, true, now_ms);
}

void batch_header_write(uint8_t *bytes, const struct batch_header *header)
{
  bytes_put_u64(bytes + BATCH_BASE_OFFSET_POS, (uint64_t)header->base_offset);
  bytes_put_u32(bytes + BATCH_LENGTH_POS, (uint32_t)(header->size - BATCH_OVERHEAD_SIZE));
  bytes_put_u32(bytes + BATCH_LEADER_EPOCH_POS, (uint32_t)header->leader_epoch);
  bytes[BATCH_MAGIC_POS] = (uint8_t)header->magic;
  bytes_put_u16(bytes + BATCH_ATTRIBUTES_POS, header->attributes);
  bytes_put_u32(bytes + BATCH_LAST_OFFSET_DELTA_POS, (uint32_t)header->last_offset_delta);
  bytes_put_u64(bytes + BATCH_BASE_TIMESTAMP_POS, (uint64_t)header->base_timestamp);
  bytes_put_u64(bytes + BATCH_MAX_TIMESTAMP_POS, (uint64_t)header->max_timestamp);
  bytes_put_u64(bytes + BATCH_PRODUCER_ID_POS, (uint64_t)header->producer_id);
  bytes_put_u16(bytes + BATCH_PRODUCER_EPOCH_POS, (uint16_t)header->producer_epoch);
  bytes_put_u32(bytes + BATCH_BASE_SEQUENCE_POS, (uint32_t)header->base_sequence);
  bytes_put_u32(bytes + BATCH_COUNT_POS, (uint32_t)header->record_count);
  bytes_put_u32(bytes + BATCH_CRC_POS, batch_compute_crc(bytes, header->size));
}

char *batch_header_dump(const struct batch_header *header, char *text, size_t size)
{
  snprintf(text, size,
           "batch offsets %" PRId64 "..%" PRId64 " count %" PRId32
           " size %zu format %d attributes 0x%04x"
           " timestamps %" PRId64 "..%" PRId64 " leader epoch %" PRId32 " producer %" PRId64
           " epoch %d sequence %" PRId32 " crc %08" PRIx32,
           header->base_offset, (int64_t)((uint64_t)header->base_offset + (uint64_t)(int64_t)header->last_offset_delta),
           header->record_count, header->size, header->magic, header->attributes, header->base_timestamp,
           header->max_timestamp, header->leader_epoch, header->producer_id, header->producer_epoch,
           header->base_sequence, header->crc);
  return text;
}

static uint32_t batch_compute_crc(const uint8_t *bytes, size_t size)
{
  return crc32c(bytes + BATCH_ATTRIBUTES_POS, size - BATCH_ATTRIBUTES_POS);
}
