// SPDX-License-Identifier: Apache-2.0
//
// The header of a record batch, format 2: where its fields are, how to read them, and the few that a broker rewrites in
// place. Whoever touches a batch as a whole comes through here: validation, the appender, the log and its recovery.
// Nothing here looks at the records themselves.
//
//    base offset   8  |  length 4  |  leader epoch 4  |  magic 1  |  crc 4  |  attributes 2  |  last offset delta 4
//    base timestamp 8  |  max timestamp 8  |  producer id 8  |  epoch 2  |  base sequence 4  |  count 4  |  records
//
// The length counts what follows it. The CRC-32C covers everything after itself, so that base offset and leader epoch
// can be given without touching the payload. All functions are stateless: any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Byte positions in a batch, and sizes. The first 17 bytes mean the same in formats 0, 1 and 2.
enum batch_layout {
  BATCH_BASE_OFFSET_POS = 0,
  BATCH_LENGTH_POS = 8,
  BATCH_LEADER_EPOCH_POS = 12,
  BATCH_MAGIC_POS = 16,
  BATCH_CRC_POS = 17,
  BATCH_ATTRIBUTES_POS = 21,
  BATCH_LAST_OFFSET_DELTA_POS = 23,
  BATCH_BASE_TIMESTAMP_POS = 27,
  BATCH_MAX_TIMESTAMP_POS = 35,
  BATCH_PRODUCER_ID_POS = 43,
  BATCH_PRODUCER_EPOCH_POS = 51,
  BATCH_BASE_SEQUENCE_POS = 53,
  BATCH_COUNT_POS = 57,
  BATCH_HEADER_SIZE = 61,   ///< bytes before the first record
  BATCH_OVERHEAD_SIZE = 12, ///< bytes that the length field does not count
  BATCH_PREFIX_SIZE = 17,   ///< bytes needed to know length and format
  BATCH_LENGTH_MIN = 14,    ///< smallest length field of any format (an empty message of format 0)
};

/// Bits of the attributes field.
enum batch_attribute {
  BATCH_CODEC_MASK = 0x07,     ///< enum codec
  BATCH_APPEND_TIME = 0x08,    ///< all records have the max timestamp, given by the broker
  BATCH_TRANSACTIONAL = 0x10,  ///< part of a transaction
  BATCH_CONTROL = 0x20,        ///< holds a transaction marker or the like, not shown to consumers
  BATCH_DELETE_HORIZON = 0x40, ///< base timestamp is the time after which compaction drops tombstones (KIP-534)
};

enum batch_constant {
  BATCH_FORMAT_MAX = 2, ///< newest record format ("magic")
  BATCH_NO_TIMESTAMP = -1,
  BATCH_NO_PRODUCER_ID = -1,
  BATCH_NO_PRODUCER_EPOCH = -1,
  BATCH_NO_SEQUENCE = -1,
  BATCH_NO_LEADER_EPOCH = -1,
};

/// A decoded header. Plain values, no pointers into the batch.
struct batch_header {
  int64_t base_offset;       ///< offset of the first record (also if compaction removed it)
  int64_t base_timestamp;    ///< ms; what the records' timestamp deltas are relative to
  int64_t max_timestamp;     ///< ms, -1: none
  int64_t producer_id;       ///< -1: not idempotent
  size_t size;               ///< bytes of the whole batch, header included
  uint32_t crc;              ///< CRC-32C as stored
  int32_t leader_epoch;      ///< -1: not set
  int32_t last_offset_delta; ///< last offset minus base offset
  int32_t base_sequence;     ///< -1: none
  int32_t record_count;      ///< records that the batch says it holds
  int16_t producer_epoch;    ///< -1: none
  uint16_t attributes;       ///< enum batch_attribute
  int8_t magic;              ///< format; 2 here
};

/// Decodes and sanity-checks the header at `bytes`; of the records nothing needs to be there.
///
/// @param available  readable bytes at `bytes`
/// @return 0, ERR_TRUNCATED (header not whole), ERR_CORRUPT_BATCH (impossible length or format),
///         ERR_UNSUPPORTED_FORMAT (format 0 or 1)
int batch_header_peek(const uint8_t *bytes, size_t available, struct batch_header *out);

/// The same for a batch that has to be there as a whole; `size` may go beyond it.
///
/// @return as batch_header_peek(); ERR_TRUNCATED also if the records are cut
int batch_header_read(const uint8_t *bytes, size_t size, struct batch_header *out);

/// Checks a stored or replicated batch without looking at its records: header, offsets that make sense, CRC.
///
/// For recovery and followers, which must take whatever a leader once accepted, so nothing is stricter than it has to
/// be.
///
/// @param size      readable bytes; may go beyond the batch
/// @param[out] out  the header, may be NULL
/// @return 0, ERR_TRUNCATED, ERR_CORRUPT_BATCH, ERR_UNSUPPORTED_FORMAT
int batch_check(const uint8_t *bytes, size_t size, struct batch_header *out);

/// Gives a batch its offsets. The CRC stays right: it does not cover these fields.
///
/// @param bytes  a batch that batch_header_read() accepted
void batch_set_offsets(uint8_t *bytes, int64_t base_offset, int32_t leader_epoch);

/// Sets timestamp type and maximum, drops attribute bits that have no meaning, and renews the CRC, as Kafka does; does
/// nothing when both are right already.
///
/// @param bytes  a whole batch that batch_header_read() accepted; `size` is exactly its size
/// @return whether bytes changed
bool batch_set_timestamps(uint8_t *bytes, size_t size, bool is_append_time, int64_t max_timestamp);

/// Stamps a batch with the broker's clock (LogAppendTime): batch_set_timestamps() with the bit.
void batch_set_append_time(uint8_t *bytes, size_t size, int64_t now_ms);

/// Writes a header of format 2 before records already in place, and its CRC last.
///
/// @param bytes   room for `header->size` bytes, records (packed by now) from BATCH_HEADER_SIZE on
/// @param header  its `crc` is not used
void batch_header_write(uint8_t *bytes, const struct batch_header *header);

/// Describes a header in one line, for gdb, `luka dump` and failing specs.
///
/// @return `text`
char *batch_header_dump(const struct batch_header *header, char *text, size_t size);

#ifndef LUKA_CDEF

#include "base/bytes.h"

// Single fields of a batch that batch_header_read() accepted.

static inline int64_t batch_base_offset(const uint8_t *bytes)
{
  return (int64_t)bytes_get_u64(bytes + BATCH_BASE_OFFSET_POS);
}

/// Bytes of the whole batch. Valid for all formats, from BATCH_PREFIX_SIZE bytes on; below 12 when the length is
/// corrupt.
static inline int64_t batch_size(const uint8_t *bytes)
{
  return (int64_t)(int32_t)bytes_get_u32(bytes + BATCH_LENGTH_POS) + BATCH_OVERHEAD_SIZE;
}

static inline int8_t batch_magic(const uint8_t *bytes)
{
  return (int8_t)bytes[BATCH_MAGIC_POS];
}

static inline int32_t batch_leader_epoch(const uint8_t *bytes)
{
  return (int32_t)bytes_get_u32(bytes + BATCH_LEADER_EPOCH_POS);
}

static inline uint16_t batch_attributes(const uint8_t *bytes)
{
  return bytes_get_u16(bytes + BATCH_ATTRIBUTES_POS);
}

static inline int32_t batch_last_offset_delta(const uint8_t *bytes)
{
  return (int32_t)bytes_get_u32(bytes + BATCH_LAST_OFFSET_DELTA_POS);
}

static inline int64_t batch_last_offset(const uint8_t *bytes)
{
  return batch_base_offset(bytes) + batch_last_offset_delta(bytes);
}

static inline int64_t batch_max_timestamp(const uint8_t *bytes)
{
  return (int64_t)bytes_get_u64(bytes + BATCH_MAX_TIMESTAMP_POS);
}

static inline int64_t batch_producer_id(const uint8_t *bytes)
{
  return (int64_t)bytes_get_u64(bytes + BATCH_PRODUCER_ID_POS);
}

static inline int16_t batch_producer_epoch(const uint8_t *bytes)
{
  return (int16_t)bytes_get_u16(bytes + BATCH_PRODUCER_EPOCH_POS);
}

static inline int32_t batch_base_sequence(const uint8_t *bytes)
{
  return (int32_t)bytes_get_u32(bytes + BATCH_BASE_SEQUENCE_POS);
}

/// The sequence behind a batch's last one: after INT32_MAX comes 0.
static inline int32_t batch_next_sequence(int32_t first_sequence, int32_t last_offset_delta)
{
  return (int32_t)(((uint32_t)first_sequence + (uint32_t)last_offset_delta + 1) & INT32_MAX);
}

static inline int32_t batch_record_count(const uint8_t *bytes)
{
  return (int32_t)bytes_get_u32(bytes + BATCH_COUNT_POS);
}

/// True when an idempotent producer sent it.
static inline bool batch_has_producer(const uint8_t *bytes)
{
  return (bytes[BATCH_PRODUCER_ID_POS] & 0x80) == 0;
}

static inline bool batch_is_transactional(const uint8_t *bytes)
{
  return (batch_attributes(bytes) & BATCH_TRANSACTIONAL) != 0;
}

static inline bool batch_is_control(const uint8_t *bytes)
{
  return (batch_attributes(bytes) & BATCH_CONTROL) != 0;
}

#endif
