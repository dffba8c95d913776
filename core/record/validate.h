// SPDX-License-Identifier: Apache-2.0
//
// Checks what a producer sent for one partition, before it is appended: the hot path of Produce. Called on the worker
// that received the request, or on the pool for what has to be unpacked (records in the request's buffer, patched in
// place), not holding the appender; offsets come later. Answers are those of Apache Kafka 4.4.
//
// An uncompressed batch costs one CRC and one walk over its records' lengths, deltas and timestamps, without copies or
// allocations. A compressed one is judged by header and CRC and stays packed, unless the rules need its records, or its
// header looks wrong (the LogAppendTime bit, a maximum below the base timestamp, timestamps out of range) or the packed
// bytes do not begin as their codec does: then it is
// unpacked, within BATCH_UNPACK_RATIO x max.message.bytes, and judged like an uncompressed one.
//
// What the errors mean on the wire:
//    ERR_CORRUPT_BATCH      CORRUPT_MESSAGE (2)          impossible length or format, CRC
//    ERR_INVALID_RECORD     INVALID_RECORD (87)          everything that is whole and wrong; formats 0 and 1,
//                                                        which record/up_convert.h makes batches of
//    ERR_INVALID_TIMESTAMP  INVALID_TIMESTAMP (32)       out of the topic's range
//    ERR_BATCH_TOO_LARGE    MESSAGE_TOO_LARGE (10)       also what unpacks to too much
//    ERR_UNSUPPORTED_CODEC  UNSUPPORTED_COMPRESSION_TYPE (76)   zstd before Produce 7
//    ERR_DECOMPRESS         UNKNOWN_SERVER_ERROR (-1)    damaged compressed records, no such codec
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/batch.h"

struct arena;

enum {
  BATCH_RECORD_ERRORS_MAX = 1000, ///< record errors listed at most; the rest is only counted
};

/// What the partition's topic and the request allow. Borrowed for the call.
struct batch_rules {
  const char *topic;               ///< for texts
  int64_t now_ms;                  ///< the broker's clock
  int64_t timestamp_before_max_ms; ///< message.timestamp.before.max.ms; INT64_MAX: any
  int64_t timestamp_after_max_ms;  ///< message.timestamp.after.max.ms; INT64_MAX: any
  int32_t partition;               ///< for texts
  int32_t max_message_bytes;       ///< max.message.bytes: largest batch, 0 or more
  int32_t max_record_bytes;        ///< max.decompressed.message.bytes: largest record of a compressed batch; 0: any
  bool is_append_time;             ///< message.timestamp.type = LogAppendTime: stamp with now_ms
  bool is_compacted;               ///< cleanup.policy has compact: every record needs a key
  bool needs_records;              ///< unpack compressed batches too (luka.validate = full, conversion, policies)
  bool refuses_zstd;               ///< Produce 3 to 6
  bool allows_control;             ///< the broker's own markers
};

/// Why one record was refused.
struct batch_record_error {
  int32_t index;       ///< of the record in its batch
  const char *message; ///< as Kafka words it; in the arena
};

/// The outcome. `header` has a meaning on success only, the rest always.
struct batch_verdict {
  struct batch_header header;  ///< as it will be stored, with corrected attributes and max timestamp; offset still 0
  int32_t max_timestamp_delta; ///< offset delta of the first record with the max timestamp; the last delta when the
                               ///< records were not looked at; 0 if the broker stamped it; -1: no record has one
  bool was_examined;           ///< it got past request, size and CRC: Kafka names the log start offset from here on
  bool was_walked;             ///< the records were looked at: count, deltas and timestamps are true
  const char *message;         ///< for the partition's error message; NULL where Kafka sends none; in the arena
  const struct batch_record_error *record_errors; ///< in the arena
  int32_t record_error_count;                     ///< entries in `record_errors`
  int32_t record_error_total;                     ///< records refused
};

/// Whether batch_validate() will unpack what it is given: that takes long, and is for the pool. Looks at the header
/// only; says true also of some batches that are refused before they are unpacked.
bool batch_validate_unpacks(const uint8_t *bytes, size_t size, const struct batch_rules *rules);

/// Validates the records of one partition in a Produce request: exactly one batch, maybe followed by a cut piece, which
/// Kafka ignores and which is not part of verdict's `header.size`.
///
/// Timestamp type and maximum are set in place as the topic says; only when that changes something is the CRC renewed.
///
/// @param bytes     the records field; patched in place on success
/// @param arena     for texts on failure; nothing is allocated on success
/// @param[out] out  always set
/// @return 0 or one of the errors above
int batch_validate(uint8_t *bytes, size_t size, const struct batch_rules *rules, struct arena *arena,
                   struct batch_verdict *out);
