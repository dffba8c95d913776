// SPDX-License-Identifier: Apache-2.0
//
// Turns messages of formats 0 and 1 that have their offsets already into batches of format 2 with the same offsets: for
// logs that a Kafka before 0.11 wrote (log/log_old_format.c). What producers send is record/up_convert.h's.
//
// Offsets, keys, values, timestamps (format 0: -1) and their types stay. A wrapper becomes one batch with the same
// codec; plain messages are gathered into batches of up to MESSAGE_BATCH_BYTES and MESSAGE_BATCH_RECORDS, and those
// whose timestamps are the broker's only with others of the same one, as a batch has one such timestamp for all.
// Batches have no leader epoch (-1), as Kafka says of old messages, and no producer. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/build.h"
#include "record/message_set.h"

enum {
  MESSAGE_BATCH_BYTES = 16 * 1024, ///< plain messages gathered into one batch; a larger one is alone
  MESSAGE_BATCH_RECORDS = 1000,    ///< the same
};

/// Embed it.
struct message_batches {
  struct batch_builder builder;                              ///< the batch so far
  struct message_iterator messages;                          ///< of the wrapper at hand
  int (*sink)(void *arg, const uint8_t *bytes, size_t size); ///< takes each batch; what it returns below 0 is passed on
  void *arg;                                                 ///< for the sink
  size_t unpacked_max;                                       ///< bytes that a wrapper may hold
  int64_t next_offset;                                       ///< lowest offset that may follow
  int64_t record_count;                                      ///< records in the batches that the sink took
  bool may_span_holes; ///< plain messages with others missing between them share a batch
};

/// Sets it up. Owned: message_batches_destroy().
///
/// @param next_offset  lowest offset that may come
/// @param sink         borrows the bytes for the call
void message_batches_init(struct message_batches *batches, int64_t next_offset, bool may_span_holes,
                          size_t unpacked_max, int (*sink)(void *arg, const uint8_t *bytes, size_t size), void *arg);

/// Adds a message, or all that a wrapper holds.
///
/// @param outer  as message_next() gives it; borrowed for the call
/// @return 0; ERR_LIMIT (a wrapper holds more than it may), ERR_NOMEM, what the sink returned. What cannot be read is
///         left out, and what came before is kept: ERR_CORRUPT_BATCH (a wrong CRC, or an impossible size inside),
///         ERR_UNSUPPORTED_FORMAT (neither 0 nor 1), ERR_MALFORMED, ERR_DECOMPRESS, ERR_INVALID_RECORD (no set in a
///         wrapper, or offsets that go back)
int message_batches_add(struct message_batches *batches, const struct message *outer);

/// Gives the sink what was gathered.
///
/// @return 0, ERR_LIMIT, ERR_NOMEM, what the sink returned
int message_batches_flush(struct message_batches *batches);

/// Frees the memory.
void message_batches_destroy(struct message_batches *batches);
