// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes from an old client as a message set, and bytes from a disk as batches for one. The first byte
// picks the rules and whether CRCs are made right first, without which nothing behind them would ever be reached; the
// second the codecs. What becomes a batch has to be one, with as many records as can be read, and has to come out
// again.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "record/batch.h"
#include "record/codec.h"
#include "record/down_convert.h"
#include "record/message_set.h"
#include "record/up_convert.h"
#include "record/validate.h"

enum {
  FUZZ_APPEND_TIME = 0x01,
  FUZZ_COMPACTED = 0x02,
  FUZZ_NARROW_RANGE = 0x04,
  FUZZ_FORMAT_1 = 0x08,
  FUZZ_WRAP = 0x10,
  FUZZ_RIGHT_CRC = 0x20,
  FUZZ_MESSAGE_BYTES = 4096,
  FUZZ_UNPACK_BYTES = FUZZ_MESSAGE_BYTES * BATCH_UNPACK_RATIO,
  FUZZ_OUT_BYTES = 64 * 1024,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink; // keeps the reads

/// Reads every byte, so that the sanitizer sees each.
static void touch(const uint8_t *bytes, int32_t size)
{
  for (int32_t i = 0; i < size; i++) {
    sink = bytes[i];
  }
}

/// Reads all messages, in wrappers too, as far as they can be read.
///
/// @return messages read
static int32_t read_all(const uint8_t *bytes, size_t size)
{
  struct message_iterator iterator = {0};
  struct message outer;
  struct message message;
  const uint8_t *at = bytes;
  int32_t count = 0;
  while (message_next(&at, bytes + size, &outer) > 0) {
    sink = message_is_intact(&outer);
    int result = message_iterator_open(&iterator, &outer, FUZZ_UNPACK_BYTES);
    while (result >= 0 && (result = message_iterator_next(&iterator, &message)) > 0) {
      touch(message.key, message.key_size);
      touch(message.value, message.value_size);
      count++;
    }
    CHECK(iterator.unpacked.capacity <= FUZZ_UNPACK_BYTES);
  }
  message_iterator_close(&iterator);
  return count;
}

/// Writes a batch for old clients; what comes out has to be whole messages.
///
/// @return messages written, or the error
static int32_t write_old(const uint8_t *bytes, size_t size, int magic)
{
  struct down_convert convert = {.work_limit = FUZZ_UNPACK_BYTES};
  struct record_buffer out;
  record_buffer_init(&out, FUZZ_OUT_BYTES);
  int result = down_convert_batch(&convert, bytes, size, magic, 0, &out);
  CHECK(out.capacity <= FUZZ_OUT_BYTES);
  int32_t count = 0;
  if (out.size > 0) {
    const uint8_t *at = out.bytes;
    struct message message;
    while (message_next(&at, out.bytes + out.size, &message) > 0) {
      CHECK(message.magic == magic && message_is_intact(&message));
    }
    CHECK(at == out.bytes + out.size);
    count = read_all(out.bytes, out.size);
  }
  down_convert_destroy(&convert);
  record_buffer_destroy(&out);
  return result < 0 ? result : count;
}

/// Makes the CRCs of all messages and batches right.
static void correct_crcs(uint8_t *bytes, size_t size)
{
  const uint8_t *at = bytes;
  struct message message;
  while (message_next(&at, bytes + size, &message) > 0) {
    uint8_t *place = bytes + (message.bytes - bytes);
    if (message.magic < BATCH_FORMAT_MAX) {
      bytes_put_u32(place + MESSAGE_CRC_POS, crc32_zlib(place + MESSAGE_MAGIC_POS, message.size - MESSAGE_MAGIC_POS));
    } else if (message.size >= BATCH_HEADER_SIZE) {
      bytes_put_u32(place + BATCH_CRC_POS, crc32c(place + BATCH_ATTRIBUTES_POS, message.size - BATCH_ATTRIBUTES_POS));
    }
  }
}

/// Puts the bytes into a wrapper, so that what is inside is reached.
static void wrap(const uint8_t *bytes, size_t size, int magic, int codec, struct record_buffer *out)
{
  struct message wrapper = {.attributes = (uint8_t)codec, .magic = (int8_t)magic, .timestamp = 1000};
  record_buffer_init(out, FUZZ_OUT_BYTES + 2 * size);
  CHECK(message_put_wrapper(out, &wrapper, bytes, size) == 0);
}

static void convert(const uint8_t *bytes, size_t size, const struct batch_rules *rules, int codec)
{
  struct record_buffer out = {0};
  struct batch_verdict verdict;
  int result = message_set_convert(bytes, size, rules, codec, CODEC_LEVEL_DEFAULT, &out, &verdict);
  if (result == 0) {
    int32_t count = verdict.header.record_count;
    CHECK(out.size == verdict.header.size && (int64_t)out.size <= rules->max_message_bytes);
    CHECK(batch_check(out.bytes, out.size, NULL) == 0);
    CHECK(read_all(bytes, size) == count);
    struct arena arena = {0};
    struct batch_rules full = *rules;
    full.needs_records = true;
    CHECK(batch_validate(out.bytes, out.size, &full, &arena, &verdict) == 0 || rules->is_append_time);
    arena_destroy(&arena);
    for (int magic = 0; magic <= 1; magic++) {
      int32_t written = write_old(out.bytes, out.size, magic);
      CHECK(written == count || written == ERR_LIMIT || written == ERR_BATCH_TOO_LARGE ||
            written == ERR_UNSUPPORTED_CODEC);
    }
  }
  record_buffer_destroy(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 2) {
    return 0;
  }
  uint8_t choice = data[0];
  int codec = data[1] % (CODEC_COUNT + 1) - 1; // MESSAGE_SET_SOURCE_CODEC too
  int wrapper_codec = CODEC_GZIP + data[1] % CODEC_LZ4;
  data += 2;
  size -= 2;
  uint8_t *bytes = mem_alloc(size > 0 ? size : 1); // of exactly the size, so that reads behind it are seen
  memcpy(bytes, data, size);
  if ((choice & FUZZ_RIGHT_CRC) != 0) {
    correct_crcs(bytes, size);
  }
  int magic = (choice & FUZZ_FORMAT_1) != 0 ? 1 : 0;
  struct batch_rules rules = {
      .topic = "fuzz",
      .now_ms = INT64_C(1700000000000),
      .timestamp_before_max_ms = (choice & FUZZ_NARROW_RANGE) != 0 ? 1000 : INT64_MAX,
      .timestamp_after_max_ms = 3600000,
      .max_message_bytes = FUZZ_MESSAGE_BYTES,
      .is_append_time = (choice & FUZZ_APPEND_TIME) != 0,
      .is_compacted = (choice & FUZZ_COMPACTED) != 0,
  };
  read_all(bytes, size);
  write_old(bytes, size, magic);
  int format = message_set_format(bytes, size);
  if (format == 0 || format == 1) {
    convert(bytes, size, &rules, codec);
  }
  if ((choice & FUZZ_WRAP) != 0) {
    struct record_buffer wrapped;
    wrap(bytes, size, magic, wrapper_codec, &wrapped);
    convert(wrapped.bytes, wrapped.size, &rules, codec);
    record_buffer_destroy(&wrapped);
  }
  mem_free(bytes);
  return 0;
}
