// SPDX-License-Identifier: Apache-2.0
//
// The way out for old consumers: writes stored batches of format 2 as message sets of format 0 or 1. Called by Fetch 0
// to 3, on the pool. As Apache Kafka 3.9 does it:
//
//   - what is not compressed becomes single messages, from the offset on that the client asked for
//   - what is compressed stays one wrapper with all of its messages, packed anew with the same codec
//   - headers of records are dropped, control batches left out, and zstd cannot be said in these formats
//
// One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/buffer.h"
#include "record/iterate.h"

/// Embed it, all zero; memory that is used again from batch to batch. Owned: down_convert_destroy().
struct down_convert {
  struct batch_iterator records; ///< of the batch at hand
  struct record_buffer plain;    ///< messages for a wrapper
  struct record_buffer packed;   ///< the wrapper
  size_t work_limit;             ///< bytes that each of them may take
};

/// Appends what a batch holds.
///
/// @param bytes         a stored batch; what lies behind it is not looked at
/// @param magic         format wanted: 0 or 1
/// @param first_offset  messages before it are left out, unless they are in a wrapper
/// @param out           appended to, whole messages only, also on failure
/// @return 0, also when there is nothing to append; ERR_LIMIT (`out` has no room for more: what it got is right, no
///         error_set()), ERR_BATCH_TOO_LARGE (the batch needs more than the work limit), ERR_UNSUPPORTED_CODEC (zstd),
///         ERR_UNSUPPORTED_FORMAT, ERR_TRUNCATED, ERR_CORRUPT_BATCH, ERR_DECOMPRESS, ERR_INVALID_RECORD, ERR_NOMEM
int down_convert_batch(struct down_convert *convert, const uint8_t *bytes, size_t size, int magic, int64_t first_offset,
                       struct record_buffer *out);

void down_convert_destroy(struct down_convert *convert);
