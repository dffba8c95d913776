// SPDX-License-Identifier: Apache-2.0
//
// Builds record batches of format 2 from records: for internal topics, policies that make records, in-process producers
// and the load generator. One thread at a time.
//
//    batch_options_init(&options);
//    batch_builder_init(&builder, &options);
//    TRY(batch_builder_add(&builder, &record)) ...
//    TRY(batch_builder_finish(&builder, &bytes, &size));
//    batch_builder_destroy(&builder);
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/buffer.h"

/// What a batch says about itself, apart from its records.
struct batch_options {
  int64_t base_offset;    ///< offset of the first record
  int64_t append_time_ms; ///< timestamp of all records, with the LogAppendTime bit; -1: the records' own
  int64_t producer_id;    ///< -1: not idempotent
  int32_t leader_epoch;   ///< -1: not set
  int32_t base_sequence;  ///< -1: none
  int16_t producer_epoch; ///< -1: none
  bool is_transactional;  ///< part of a transaction
  bool is_control;        ///< control records
  int codec;              ///< enum codec
  int level;              ///< CODEC_LEVEL_DEFAULT or a level of the codec
  size_t limit_bytes;     ///< largest size of the batch, before compression
};

/// A header of a record to add.
struct record_header_input {
  const uint8_t *key;   ///< name; need not be terminated
  const uint8_t *value; ///< used if `value_size` >= 0
  int32_t key_size;     ///< bytes, 0 or more
  int32_t value_size;   ///< bytes, -1: null
};

/// A record to add; everything is borrowed for the call.
struct record_input {
  int64_t timestamp;                         ///< ms, -1: none
  const uint8_t *key;                        ///< used if `key_size` >= 0
  const uint8_t *value;                      ///< used if `value_size` >= 0
  const struct record_header_input *headers; ///< `header_count` headers
  int32_t key_size;                          ///< bytes, -1: null
  int32_t value_size;                        ///< bytes, -1: null
  int32_t header_count;                      ///< headers
};

/// Embed it.
struct batch_builder {
  struct batch_options options; ///< as given
  int64_t base_timestamp;       ///< timestamp of the first record; -1 before it
  int64_t max_timestamp;        ///< largest so far; -1: none
  int32_t record_count;         ///< records so far
  int32_t next_delta;           ///< offset delta of the next record
  struct record_buffer plain;   ///< room for the header, then the records
  struct record_buffer packed;  ///< the same with compressed records
};

/// Sets the options to those of a plain batch: offset 0, no producer, no codec, as large as a batch may be.
void batch_options_init(struct batch_options *options);

/// Makes an empty builder. Owned: batch_builder_destroy().
void batch_builder_init(struct batch_builder *builder, const struct batch_options *options);

/// Empties a builder for the next batch; keeps its memory.
void batch_builder_reset(struct batch_builder *builder, const struct batch_options *options);

/// Adds a record at the next offset.
///
/// @return 0, ERR_LIMIT (the batch would be larger than its limit, and is as before; no error_set()), ERR_INVALID (a
///         negative size where none may be)
int batch_builder_add(struct batch_builder *builder, const struct record_input *record);

/// Leaves out `count` offsets: before the next record, or at the batch's end. Holes are what compaction and transforms
/// that drop records leave.
///
/// @return 0, ERR_LIMIT (offset deltas are 32 bits; no error_set()), ERR_INVALID (negative)
int batch_builder_skip(struct batch_builder *builder, int32_t count);

/// Bytes that the batch has so far, before compression.
size_t batch_builder_size(const struct batch_builder *builder);

/// Makes the batch: packs the records, writes the header. More records may be added, and this called again. Without
/// records and with offsets skipped it is an empty batch that keeps their place; without either it is an error.
///
/// @param[out] bytes  borrowed until the builder is used again
/// @return 0, ERR_INVALID (nothing in it, or no such codec or level), ERR_LIMIT (compression made it too large),
/// ERR_NOMEM
int batch_builder_finish(struct batch_builder *builder, uint8_t **bytes, size_t *size);

/// Frees the builder's memory.
void batch_builder_destroy(struct batch_builder *builder);
