// SPDX-License-Identifier: Apache-2.0
//
// Changes the compression of a validated batch, for topics whose compression.type is not `producer`. The records are
// not touched, so offsets, sequences and timestamps stay what they are; the size changes, and has to be checked again.
// Runs on the worker of the request, or on the pool for large batches. Stateless: any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_buffer;

/// Whether a batch has to be changed to be stored with `codec`. An uncompressed control batch stays as it is, and so
/// does one without records: kafka-python fails on a packed one.
///
/// @param bytes  a batch that batch_header_read() accepted
bool batch_needs_recompress(const uint8_t *bytes, int codec);

/// Writes the batch anew with another codec.
///
/// @param bytes   a whole batch, exactly `size` bytes
/// @param level   CODEC_LEVEL_DEFAULT or a level of the codec
/// @param limit   bytes that the records may unpack to
/// @param[out] out  emptied, then holds the new batch, header and CRC included
/// @return 0, ERR_TRUNCATED, ERR_CORRUPT_BATCH, ERR_UNSUPPORTED_FORMAT, ERR_DECOMPRESS, ERR_LIMIT, ERR_INVALID (codec
/// or
///         level), ERR_NOMEM
int batch_recompress(const uint8_t *bytes, size_t size, int codec, int level, size_t limit, struct record_buffer *out);

/// The same within what a topic allows: records that unpack to BATCH_UNPACK_RATIO x `size_max` bytes, and a batch of
/// `size_max` (max.message.bytes).
///
/// @param[out] out  made anew, no larger than it has to be. Owned: record_buffer_destroy(), also on failure
/// @return as batch_recompress(), but ERR_BATCH_TOO_LARGE for both limits
int batch_repack(const uint8_t *bytes, size_t size, int codec, int level, size_t size_max, struct record_buffer *out);
