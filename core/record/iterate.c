// SPDX-License-Identifier: Apache-2.0
#include "record/iterate.h"

#include <inttypes.h>

#include "base/error.h"
#include "record/codec.h"
#include "record/record_private.h"

int batch_iterator_open(struct batch_iterator *iterator, const uint8_t *bytes, size_t size, size_t limit)
{
  iterator->left = 0;
  iterator->at = iterator->end = NULL;
  TRY(batch_header_read(bytes, size, &iterator->header));
  const uint8_t *records = bytes + BATCH_HEADER_SIZE;
  size_t records_size = iterator->header.size - BATCH_HEADER_SIZE;
  int codec = iterator->header.attributes & BATCH_CODEC_MASK;
  if (codec != CODEC_NONE && iterator->header.record_count > 0) {
    record_buffer_reset(&iterator->unpacked, limit);
    TRY(codec_decompress(codec, records, records_size, &iterator->unpacked));
    if (iterator->unpacked.size > 0) { // otherwise there may be no memory to point to
      records = iterator->unpacked.bytes;
    }
    records_size = iterator->unpacked.size;
  }
  iterator->at = records;
  iterator->end = records + records_size;
  iterator->left = iterator->header.record_count;
  return 0;
}

int batch_iterator_next(struct batch_iterator *iterator, struct record_view *out)
{
  const struct batch_header *header = &iterator->header;
  if (iterator->left <= 0) {
    if (iterator->left < 0 || (header->record_count > 0 && iterator->at != iterator->end)) {
      return error_set(ERR_INVALID_RECORD,
                       "batch at offset %" PRId64 " says %" PRId32 " records and %td bytes are left",
                       header->base_offset, header->record_count, iterator->end - iterator->at);
    }
    return 0;
  }
  struct record_fields record = {0};
  if (!record_parse(iterator->at, iterator->end, &record)) {
    return error_set(ERR_INVALID_RECORD, "batch at offset %" PRId64 ": record %" PRId32 " of %" PRId32 " is malformed",
                     header->base_offset, header->record_count - iterator->left, header->record_count);
  }
  iterator->at = record.end;
  iterator->left--;
  int64_t timestamp = record_timestamp(header->base_timestamp, record.timestamp_delta);
  *out = (struct record_view){
      .offset = (int64_t)((uint64_t)header->base_offset + (uint64_t)(int64_t)record.offset_delta),
      .timestamp = (header->attributes & BATCH_APPEND_TIME) != 0 ? header->max_timestamp : timestamp,
      .timestamp_delta = record.timestamp_delta,
      .key = record.key,
      .value = record.value,
      .headers = record.headers,
      .body = record.body,
      .key_size = record.key_size,
      .value_size = record.value_size,
      .header_count = record.header_count,
      .headers_size = (int32_t)(record.end - record.headers),
      .attributes = record.attributes,
  };
  return 1;
}

void batch_iterator_close(struct batch_iterator *iterator)
{
  record_buffer_destroy(&iterator->unpacked);
  *iterator = (struct batch_iterator){0};
}

void record_headers_open(const struct record_view *record, struct record_header_iterator *iterator)
{
  iterator->at = record->headers;
  iterator->end = record->headers + record->headers_size;
  iterator->left = record->header_count;
}

int record_headers_next(struct record_header_iterator *iterator, struct record_header_view *out)
{
  if (iterator->left <= 0) {
    return 0;
  }
  // The record was parsed, so these cannot fail; a view that someone changed ends early instead.
  const uint8_t *at = record_take_bytes(iterator->at, iterator->end, &out->key, &out->key_size);
  if (at != NULL) {
    at = record_take_bytes(at, iterator->end, &out->value, &out->value_size);
  }
  if (at == NULL) {
    iterator->left = 0;
    return 0;
  }
  iterator->at = at;
  iterator->left--;
  return 1;
}
