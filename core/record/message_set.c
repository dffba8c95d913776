// SPDX-License-Identifier: Apache-2.0
#include "record/message_set.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "record/batch.h"
#include "record/codec.h"
#include "record/codec_private.h"

static int open_wrapper(struct message_iterator *iterator, size_t limit);
static int unpack_wrapper(struct message_iterator *iterator);
static int look_ahead(struct message_iterator *iterator);
static int take_bytes(const uint8_t **at, const uint8_t *end, const uint8_t **bytes, int32_t *size);
static uint8_t *put_head(uint8_t *at, const struct message *message, size_t size);
static uint8_t *put_blob(uint8_t *at, const uint8_t *bytes, int32_t size);
static void put_crc(uint8_t *bytes, size_t size);

int message_next(const uint8_t **at, const uint8_t *end, struct message *out)
{
  const uint8_t *bytes = *at;
  size_t left = (size_t)(end - bytes);
  if (left < BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  int32_t length = (int32_t)bytes_get_u32(bytes + MESSAGE_SIZE_POS);
  if (length < BATCH_LENGTH_MIN) {
    return error_set(ERR_CORRUPT_BATCH, "message of %" PRId32 " bytes", length);
  }
  if ((size_t)length > left - BATCH_OVERHEAD_SIZE) {
    return 0;
  }
  *out = (struct message){
      .bytes = bytes,
      .offset = (int64_t)bytes_get_u64(bytes),
      .timestamp = BATCH_NO_TIMESTAMP,
      .size = (size_t)length + BATCH_OVERHEAD_SIZE,
      .key_size = -1,
      .value_size = -1,
      .attributes = bytes[MESSAGE_ATTRIBUTES_POS],
      .magic = (int8_t)bytes[MESSAGE_MAGIC_POS],
  };
  *at = bytes + out->size;
  return 1;
}

bool message_is_intact(const struct message *message)
{
  uint32_t stored = bytes_get_u32(message->bytes + MESSAGE_CRC_POS);
  return stored == crc32_zlib(message->bytes + MESSAGE_MAGIC_POS, message->size - MESSAGE_MAGIC_POS);
}

int message_parse(struct message *message)
{
  const uint8_t *at = message->bytes + MESSAGE_0_KEY_POS;
  const uint8_t *end = message->bytes + message->size;
  if (message->magic > 0) {
    if (end - at < MESSAGE_1_KEY_POS - MESSAGE_0_KEY_POS) {
      return error_set(ERR_MALFORMED, "message of format 1 of %zu bytes", message->size);
    }
    message->timestamp = (int64_t)bytes_get_u64(message->bytes + MESSAGE_TIMESTAMP_POS);
    at = message->bytes + MESSAGE_1_KEY_POS;
  }
  TRY(take_bytes(&at, end, &message->key, &message->key_size));
  return take_bytes(&at, end, &message->value, &message->value_size);
}

int message_iterator_open(struct message_iterator *iterator, const struct message *outer, size_t limit)
{
  iterator->outer = *outer;
  iterator->at = iterator->end = NULL;
  iterator->base_offset = 0;
  if (outer->magic != 0 && outer->magic != 1) {
    return error_set(ERR_UNSUPPORTED_FORMAT, "message of format %d", outer->magic);
  }
  iterator->is_wrapper = (outer->attributes & MESSAGE_CODEC_MASK) != CODEC_NONE;
  if (iterator->is_wrapper) {
    return open_wrapper(iterator, limit);
  }
  iterator->at = outer->bytes;
  iterator->end = outer->bytes + outer->size;
  return 0;
}

int message_iterator_next(struct message_iterator *iterator, struct message *out)
{
  int more = message_next(&iterator->at, iterator->end, out);
  if (more <= 0) {
    return more;
  }
  if (!iterator->is_wrapper) {
    TRY(message_parse(out));
    return 1;
  }
  if (__builtin_add_overflow(out->offset, iterator->base_offset, &out->offset)) {
    return error_set(ERR_INVALID_RECORD, "an offset inside a wrapper is impossible");
  }
  int codec = out->attributes & MESSAGE_CODEC_MASK;
  if (codec != CODEC_NONE) {
    return error_set(codec < CODEC_COUNT ? ERR_INVALID_RECORD : ERR_DECOMPRESS,
                     "a message inside a wrapper has codec %d", codec);
  }
  if (out->magic != iterator->outer.magic) {
    return 1;
  }
  if (!message_is_intact(out)) {
    return error_set(ERR_CORRUPT_BATCH, "wrong CRC of a message inside a wrapper");
  }
  TRY(message_parse(out));
  if (out->magic > 0 && (iterator->outer.attributes & MESSAGE_APPEND_TIME) != 0) {
    out->timestamp = iterator->outer.timestamp;
    out->attributes |= MESSAGE_APPEND_TIME;
  }
  return 1;
}

void message_iterator_close(struct message_iterator *iterator)
{
  record_buffer_destroy(&iterator->unpacked);
  *iterator = (struct message_iterator){0};
}

size_t message_measure(int magic, int32_t key_size, int32_t value_size)
{
  size_t head = magic > 0 ? MESSAGE_1_KEY_POS : MESSAGE_0_KEY_POS;
  return head + 2 * sizeof(int32_t) + (size_t)(key_size > 0 ? key_size : 0) + (size_t)(value_size > 0 ? value_size : 0);
}

int message_put(struct record_buffer *out, const struct message *message)
{
  size_t size = message_measure(message->magic, message->key_size, message->value_size);
  TRY(record_buffer_reserve(out, size));
  uint8_t *bytes = out->bytes + out->size;
  uint8_t *at = put_head(bytes, message, size);
  at = put_blob(at, message->key, message->key_size);
  put_blob(at, message->value, message->value_size);
  put_crc(bytes, size);
  out->size += size;
  return 0;
}

int message_put_wrapper(struct record_buffer *out, const struct message *wrapper, const uint8_t *set, size_t size)
{
  int codec = wrapper->attributes & MESSAGE_CODEC_MASK;
  size_t head = message_measure(wrapper->magic, -1, 0);
  size_t from = out->size;
  TRY(record_buffer_reserve(out, head));
  out->size += head;
  int result = codec_compress(codec, CODEC_LEVEL_DEFAULT, set, size, out);
  if (result == 0 && out->size - from > INT32_MAX) {
    result = error_set(ERR_LIMIT, "wrapper of %zu bytes", out->size - from);
  }
  if (result < 0) {
    out->size = from;
    return result;
  }
  uint8_t *bytes = out->bytes + from;
  size_t packed = out->size - from - head;
  if (wrapper->magic == 0 && codec == CODEC_LZ4) {
    codec_lz4_make_old(bytes + head, packed);
  }
  uint8_t *at = put_head(bytes, wrapper, out->size - from);
  at = put_blob(at, NULL, -1);
  bytes_put_u32(at, (uint32_t)packed);
  put_crc(bytes, out->size - from);
  return 0;
}

/// Unpacks the wrapper and looks at what is inside as a whole.
static int open_wrapper(struct message_iterator *iterator, size_t limit)
{
  struct message *outer = &iterator->outer;
  TRY(message_parse(outer));
  int codec = outer->attributes & MESSAGE_CODEC_MASK;
  if (codec == CODEC_ZSTD || outer->value == NULL) {
    return error_set(codec < CODEC_COUNT ? ERR_INVALID_RECORD : ERR_DECOMPRESS,
                     "a wrapper of format %d with codec %d and %" PRId32 " bytes", outer->magic, codec,
                     outer->value_size);
  }
  record_buffer_reset(&iterator->unpacked, limit);
  TRY(unpack_wrapper(iterator));
  iterator->at = iterator->unpacked.size > 0 ? iterator->unpacked.bytes : outer->bytes;
  iterator->end = iterator->at + iterator->unpacked.size;
  return look_ahead(iterator);
}

static int unpack_wrapper(struct message_iterator *iterator)
{
  const struct message *outer = &iterator->outer;
  int codec = outer->attributes & MESSAGE_CODEC_MASK;
  struct record_buffer *unpacked = &iterator->unpacked;
  if (outer->magic > 0 || codec != CODEC_LZ4) {
    return codec_decompress(codec, outer->value, (size_t)outer->value_size, unpacked);
  }
  return codec_lz4_decompress_old(outer->value, (size_t)outer->value_size, unpacked);
}

/// Walks the sizes inside, to know the last offset: in format 1 it is the wrapper's, and tells what the others are. A
/// wrapper at 0 is a producer's that did not count.
static int look_ahead(struct message_iterator *iterator)
{
  const uint8_t *at = iterator->at;
  struct message last;
  struct message inner;
  int32_t count = 0;
  int more;
  while ((more = message_next(&at, iterator->end, &inner)) > 0) {
    last = inner;
    count++;
  }
  if (more < 0) {
    return more;
  }
  if (count == 0) {
    return error_set(ERR_INVALID_RECORD, "a wrapper of nothing");
  }
  if (iterator->outer.magic > 0 && iterator->outer.offset != 0) {
    if (iterator->outer.offset < last.offset ||
        __builtin_sub_overflow(iterator->outer.offset, last.offset, &iterator->base_offset)) {
      return error_set(ERR_INVALID_RECORD, "a wrapper at offset %" PRId64 " ends with offset %" PRId64 " inside",
                       iterator->outer.offset, last.offset);
    }
  }
  return 0;
}

/// Reads a length and what it counts.
static int take_bytes(const uint8_t **at, const uint8_t *end, const uint8_t **bytes, int32_t *size)
{
  if (end - *at < (ptrdiff_t)sizeof(int32_t)) {
    return error_set(ERR_MALFORMED, "a message ends before a length");
  }
  int32_t length = (int32_t)bytes_get_u32(*at);
  *at += sizeof(int32_t);
  if (length < 0) {
    *bytes = NULL;
    *size = -1;
    return 0;
  }
  if (length > end - *at) {
    return error_set(ERR_MALFORMED, "%" PRId32 " bytes in a message where %td are left", length, end - *at);
  }
  *bytes = *at;
  *size = length;
  *at += length;
  return 0;
}

/// Writes what comes before the key, but for the CRC.
static uint8_t *put_head(uint8_t *at, const struct message *message, size_t size)
{
  bytes_put_u64(at, (uint64_t)message->offset);
  bytes_put_u32(at + MESSAGE_SIZE_POS, (uint32_t)(size - BATCH_OVERHEAD_SIZE));
  at[MESSAGE_MAGIC_POS] = (uint8_t)message->magic;
  at[MESSAGE_ATTRIBUTES_POS] = message->attributes;
  if (message->magic == 0) {
    return at + MESSAGE_0_KEY_POS;
  }
  bytes_put_u64(at + MESSAGE_TIMESTAMP_POS, (uint64_t)message->timestamp);
  return at + MESSAGE_1_KEY_POS;
}

static uint8_t *put_blob(uint8_t *at, const uint8_t *bytes, int32_t size)
{
  bytes_put_u32(at, (uint32_t)(size < 0 ? -1 : size));
  at += sizeof(int32_t);
  if (size > 0) {
    memcpy(at, bytes, (size_t)size);
    at += size;
  }
  return at;
}

static void put_crc(uint8_t *bytes, size_t size)
{
  bytes_put_u32(bytes + MESSAGE_CRC_POS, crc32_zlib(bytes + MESSAGE_MAGIC_POS, size - MESSAGE_MAGIC_POS));
}
