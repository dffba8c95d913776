// SPDX-License-Identifier: Apache-2.0
//
// The way in for old producers: checks a message set of format 0 or 1 as Apache Kafka's LogValidator does, and makes
// one batch of format 2 of it. Called by Produce 0 to 2, on the pool: a wrapper may hold a hundred times what it takes.
//
// All messages of a set have one format. Either none is compressed, then they all become one batch; or there is one
// wrapper and nothing beside it. Offsets inside do not matter, for the batch gets its own. Timestamps stay: those of
// format 0 are none, those of a wrapper with LogAppendTime are refused, because only the broker gives such.
//
// These versions have no room for texts, nor for errors of records: the code is all that a client sees. They mean on
// the wire what they mean in record/validate.h, and ERR_MALFORMED is UNKNOWN_SERVER_ERROR (-1), as Kafka answers to
// lengths that do not fit in a message whose CRC is right.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct batch_rules;
struct batch_verdict;
struct record_buffer;

enum { MESSAGE_SET_SOURCE_CODEC = -1 }; ///< compress as the producer did

/// What the records of a Produce request begin with. Looks at the first message's frame only.
///
/// @return the format: 0, 1 or 2; ERR_NOT_FOUND (not one whole message or batch; no error_set()), ERR_CORRUPT_BATCH (an
///         impossible size or format)
int message_set_format(const uint8_t *bytes, size_t size);

/// Converts a message set, maybe followed by a cut message, which is ignored.
///
/// What a wrapper holds is limited to BATCH_UNPACK_RATIO x max.message.bytes; at most three times that is allocated.
///
/// @param bytes    what message_set_format() said 0 or 1 of
/// @param codec    of the batch: enum codec or MESSAGE_SET_SOURCE_CODEC
/// @param level    CODEC_LEVEL_DEFAULT or a level of the codec
/// @param[out] out  replaced by the batch, at offset 0 and with its CRC. Owned: record_buffer_destroy()
/// @param[out] verdict  `header` and `max_timestamp_delta` on success; always set
/// @return 0; ERR_BATCH_TOO_LARGE (a message, what a wrapper holds, or the batch), ERR_CORRUPT_BATCH,
///         ERR_INVALID_RECORD, ERR_INVALID_TIMESTAMP, ERR_DECOMPRESS, ERR_MALFORMED, ERR_NOMEM
int message_set_convert(const uint8_t *bytes, size_t size, const struct batch_rules *rules, int codec, int level,
                        struct record_buffer *out, struct batch_verdict *verdict);
