// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes from a client or a disk as record batches. The first byte picks the rules and whether the CRC is
// made right first, without which nothing behind it would ever be reached. What validation accepts has to be readable,
// and what is readable can be divided and written anew.
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
#include "record/iterate.h"
#include "record/recompress.h"
#include "record/split.h"
#include "record/validate.h"

enum {
  FUZZ_APPEND_TIME = 0x01,
  FUZZ_COMPACTED = 0x02,
  FUZZ_NEEDS_RECORDS = 0x04,
  FUZZ_OLD_REQUEST = 0x08,
  FUZZ_NARROW_RANGE = 0x10,
  FUZZ_RIGHT_CRC = 0x20,
  FUZZ_MESSAGE_BYTES = 4096,
  FUZZ_UNPACK_BYTES = FUZZ_MESSAGE_BYTES * BATCH_UNPACK_RATIO,
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

/// Reads all records and headers of a batch, touching every byte.
///
/// @return records read, or the error
static int read_all(const uint8_t *bytes, size_t size)
{
  struct batch_iterator iterator = {0};
  struct record_view record;
  int count = 0;
  int result = batch_iterator_open(&iterator, bytes, size, FUZZ_UNPACK_BYTES);
  while (result >= 0) {
    result = batch_iterator_next(&iterator, &record);
    if (result <= 0) {
      break;
    }
    count++;
    touch(record.key, record.key_size);
    touch(record.value, record.value_size);
    struct record_header_iterator headers;
    struct record_header_view header;
    record_headers_open(&record, &headers);
    int32_t header_count = 0;
    while (record_headers_next(&headers, &header) > 0) {
      header_count++;
      touch(header.key, header.key_size);
      touch(header.value, header.value_size);
    }
    CHECK(header_count == record.header_count);
  }
  CHECK(iterator.unpacked.capacity <= FUZZ_UNPACK_BYTES);
  batch_iterator_close(&iterator);
  return result < 0 ? result : count;
}

static void repack(const uint8_t *bytes, size_t size)
{
  struct record_buffer out = {0};
  for (int codec = CODEC_NONE; codec < CODEC_COUNT; codec++) {
    if (batch_recompress(bytes, size, codec, CODEC_LEVEL_DEFAULT, FUZZ_UNPACK_BYTES, &out) == 0) {
      CHECK(batch_check(out.bytes, out.size, NULL) == 0);
    }
  }
  record_buffer_destroy(&out);
}

/// Divides whatever can be read, and writes it anew without every third record.
static void divide(const uint8_t *bytes, size_t size, int codec)
{
  enum { PARTITIONS = 3 };
  struct batch_records records = {0};
  if (batch_records_open(&records, bytes, size, FUZZ_UNPACK_BYTES) == 0) {
    int32_t *chosen = mem_array((size_t)records.count + 1, sizeof *chosen);
    bool *is_gone = mem_array((size_t)records.count + 1, sizeof *is_gone);
    for (int32_t i = 0; i < records.count; i++) {
      chosen[i] = (int32_t)((uint32_t)records.records[i].value_size % PARTITIONS);
      is_gone[i] = i % 3 == 1;
    }
    struct batch_packing packing = {.codec = codec, .level = CODEC_LEVEL_DEFAULT, .limit_bytes = FUZZ_UNPACK_BYTES};
    struct batch_split split = {0};
    struct record_buffer out = {0};
    if (batch_split(&split, &records, chosen, PARTITIONS, 1, &packing) == 0) {
      int count = 0;
      for (int32_t i = 0; i < split.count; i++) {
        CHECK(batch_check(split.shares[i].bytes, split.shares[i].size, NULL) == 0);
        CHECK(read_all(split.shares[i].bytes, split.shares[i].size) == split.shares[i].count);
        count += split.shares[i].count;
      }
      CHECK(count == records.count);
    }
    if (batch_rewrite(&records, is_gone, NULL, &packing, &out) == 0) {
      CHECK(read_all(out.bytes, out.size) == records.count - (records.count + 1) / 3);
    }
    record_buffer_destroy(&out);
    batch_split_destroy(&split);
    mem_free(is_gone);
    mem_free(chosen);
  }
  batch_records_close(&records);
}

static void correct_crc(uint8_t *bytes, size_t size)
{
  if (size < BATCH_HEADER_SIZE) {
    return;
  }
  int64_t batch_bytes = batch_size(bytes);
  if (batch_bytes >= BATCH_HEADER_SIZE && batch_bytes <= (int64_t)size) {
    bytes_put_u32(bytes + BATCH_CRC_POS,
                  crc32c(bytes + BATCH_ATTRIBUTES_POS, (size_t)batch_bytes - BATCH_ATTRIBUTES_POS));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0) {
    return 0;
  }
  uint8_t choice = *data++;
  size--;
  uint8_t *bytes = mem_alloc(size > 0 ? size : 1); // of exactly the size, so that reads behind it are seen
  memcpy(bytes, data, size);
  if ((choice & FUZZ_RIGHT_CRC) != 0) {
    correct_crc(bytes, size);
  }
  struct batch_rules rules = {
      .topic = "fuzz",
      .now_ms = INT64_C(1700000000000),
      .timestamp_before_max_ms = (choice & FUZZ_NARROW_RANGE) != 0 ? 1000 : INT64_MAX,
      .timestamp_after_max_ms = 3600000,
      .max_message_bytes = FUZZ_MESSAGE_BYTES,
      .is_append_time = (choice & FUZZ_APPEND_TIME) != 0,
      .is_compacted = (choice & FUZZ_COMPACTED) != 0,
      .needs_records = (choice & FUZZ_NEEDS_RECORDS) != 0,
      .refuses_zstd = (choice & FUZZ_OLD_REQUEST) != 0,
  };
  read_all(bytes, size);
  divide(bytes, size, choice % CODEC_COUNT);
  struct arena arena = {0};
  struct batch_verdict verdict;
  int result = batch_validate(bytes, size, &rules, &arena, &verdict);
  CHECK(verdict.record_error_count <= BATCH_RECORD_ERRORS_MAX);
  if (result == 0) {
    CHECK(verdict.header.size <= size);
    CHECK(batch_check(bytes, verdict.header.size, NULL) == 0);
    int count = read_all(bytes, verdict.header.size);
    if (verdict.was_walked) {
      CHECK(count == verdict.header.record_count);
    }
    repack(bytes, verdict.header.size);
  }
  arena_destroy(&arena);
  mem_free(bytes);
  return 0;
}
