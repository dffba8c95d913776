// SPDX-License-Identifier: Apache-2.0
//
// Message sets: records as formats 0 and 1 wrote them, before Kafka 0.11. Read when an old producer sends them
// (up_convert.h), written when an old consumer asks for them (down_convert.h); nothing else sees them.
//
//    offset 8  |  size 4  |  crc 4  |  magic 1  |  attributes 1  |  timestamp 8 (format 1)
//    key length 4  |  key  |  value length 4  |  value
//
// The size counts what follows it, the CRC-32 (zlib's) covers what follows itself, a negative length is null. There is
// no count: a set ends with its bytes, and a cut message at the end is ignored. A compressed set is the value of a
// wrapper message, whose offset is that of the last message inside. Inside, offsets are absolute in format 0, and count
// from the wrapper's first message in format 1 (KIP-31); where the broker gave the timestamps, the wrapper's is that of
// all (KIP-32). There is one level of wrappers. All functions are stateless: any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/buffer.h"

/// Byte positions in a message, and sizes. Those up to the magic are those of a batch (enum batch_layout).
enum message_layout {
  MESSAGE_SIZE_POS = 8,
  MESSAGE_CRC_POS = 12,
  MESSAGE_MAGIC_POS = 16,
  MESSAGE_ATTRIBUTES_POS = 17,
  MESSAGE_TIMESTAMP_POS = 18, ///< format 1 only
  MESSAGE_0_KEY_POS = 18,     ///< where the key's length is, in format 0
  MESSAGE_1_KEY_POS = 26,     ///< and in format 1
};

/// Bits of the attributes; the rest has no meaning.
enum message_attribute {
  MESSAGE_CODEC_MASK = 0x07,  ///< enum codec; zstd is not one of these formats
  MESSAGE_APPEND_TIME = 0x08, ///< format 1: the timestamp is the broker's
};

/// A message as it lies there. Pointers go into the set, or into what a wrapper was unpacked to.
struct message {
  const uint8_t *bytes; ///< the whole message
  const uint8_t *key;   ///< NULL: null
  const uint8_t *value; ///< NULL: null
  int64_t offset;       ///< as stored
  int64_t timestamp;    ///< ms, -1: none
  size_t size;          ///< bytes of the whole message
  int32_t key_size;     ///< bytes, -1: null
  int32_t value_size;   ///< bytes, -1: null
  uint8_t attributes;   ///< enum message_attribute
  int8_t magic;         ///< format; anything, as it comes from outside
};

/// Cuts the next message off: offset, size, magic and attributes are set, nothing else is looked at. Works on batches
/// of format 2 too, which begin in the same way.
///
/// @param at        the message; moved behind it
/// @param[out] out  set if there is one
/// @return 1, 0 (nothing there, or a cut message), ERR_CORRUPT_BATCH (an impossible size)
int message_next(const uint8_t **at, const uint8_t *end, struct message *out);

/// Whether the CRC is right.
bool message_is_intact(const struct message *message);

/// Reads the fields of a message of format 0 or 1 that message_next() gave.
///
/// @return 0, ERR_MALFORMED (lengths that do not fit)
int message_parse(struct message *message);

/// Embed it. All zero before the first use.
struct message_iterator {
  struct record_buffer unpacked; ///< what the wrapper held
  struct message outer;          ///< the message, or the wrapper
  const uint8_t *at;             ///< the next message inside
  const uint8_t *end;            ///< one past the last
  int64_t base_offset;           ///< what the offsets inside count from
  bool is_wrapper;               ///< `outer` holds a set
};

/// Begins the messages of one that message_next() gave: those inside a wrapper, or just itself. The outer CRC is not
/// looked at. The iterator may have been used before, its memory is used again.
///
/// @param outer  copied; its bytes are borrowed until the iterator is closed or opened again
/// @param limit  bytes that a wrapper may unpack to
/// @return 0; ERR_UNSUPPORTED_FORMAT (neither format 0 nor 1), ERR_MALFORMED, ERR_DECOMPRESS (damaged, or no such
///         codec), ERR_LIMIT, ERR_INVALID_RECORD (zstd, a wrapper of nothing, impossible offsets), ERR_CORRUPT_BATCH
///         (an impossible size inside). Close it in any case
int message_iterator_open(struct message_iterator *iterator, const struct message *outer, size_t limit);

/// Gives the next message, with its absolute offset, and with the wrapper's timestamp and type where the broker gave
/// them.
///
/// @param[out] out  borrowed until the iterator is closed or opened again. A message inside whose format is not the
///                  wrapper's is given unread, without key and value: compare `magic`
/// @return 1, 0 at the end, ERR_INVALID_RECORD (a wrapper in a wrapper), ERR_DECOMPRESS (no such codec inside),
///         ERR_CORRUPT_BATCH (wrong CRC inside), ERR_MALFORMED (lengths that do not fit; the next one may still be had)
int message_iterator_next(struct message_iterator *iterator, struct message *out);

/// Frees what the iterator holds; it may be opened again.
void message_iterator_close(struct message_iterator *iterator);

/// Bytes of a message of format `magic`, 0 or 1.
///
/// @param key_size    bytes, -1: null
/// @param value_size  the same
size_t message_measure(int magic, int32_t key_size, int32_t value_size);

/// Appends a message; all but `bytes` and `size` of `message` is written. The timestamp is not, in format 0.
///
/// @return 0, ERR_LIMIT (the buffer is as before; no error_set())
int message_put(struct record_buffer *out, const struct message *message);

/// Appends a wrapper around a set.
///
/// @param wrapper  its offset, timestamp, magic and attributes (the codec included) are written; it has no key
/// @param set      the messages inside, not compressed
/// @return 0; on failure the buffer is as before: ERR_LIMIT, ERR_INVALID (no such codec), ERR_NOMEM
int message_put_wrapper(struct record_buffer *out, const struct message *wrapper, const uint8_t *set, size_t size);
