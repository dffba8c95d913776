// SPDX-License-Identifier: Apache-2.0
//
// The parser of one record of format 2, shared by the walk that validates a batch and by the iterator. Inline: it runs
// for every record that comes in.
//
//    length varint | attributes 1 | timestamp delta varlong | offset delta varint | key length varint | key |
//    value length varint | value | header count varint | { key length | key | value length | value } ...
//
// Any negative length of a key or a value means null, as in Kafka; a header's key cannot be null.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/varint.h"

enum { RECORD_BODY_MIN = 6 }; ///< attributes and five one-byte numbers

/// A parsed record; pointers into its batch.
struct record_fields {
  const uint8_t *key;      ///< NULL: null
  const uint8_t *value;    ///< NULL: null
  const uint8_t *headers;  ///< the first header
  const uint8_t *body;     ///< where the key's length is
  const uint8_t *end;      ///< one past the record, and past its headers
  int64_t timestamp_delta; ///< ms, relative to the batch's base timestamp
  int32_t offset_delta;    ///< relative to the batch's base offset
  int32_t key_size;        ///< bytes, -1: null
  int32_t value_size;      ///< bytes, -1: null
  int32_t header_count;    ///< headers
  uint8_t attributes;      ///< no bit has a meaning yet
};

/// Reads a length and the bytes it counts.
///
/// @return one past the bytes, NULL if they are not there
static inline const uint8_t *record_take_bytes(const uint8_t *at, const uint8_t *end, const uint8_t **bytes,
                                               int32_t *size)
{
  int32_t length = 0;
  int taken = varint_get_i32(at, end, &length);
  if (taken < 0) {
    return NULL;
  }
  at += taken;
  if (length < 0) {
    *bytes = NULL;
    *size = -1;
    return at;
  }
  if (length > end - at) {
    return NULL;
  }
  *bytes = at;
  *size = length;
  return at + length;
}

/// Walks the headers from `at` to exactly `end`.
static inline bool record_check_headers(const uint8_t *at, const uint8_t *end, int32_t count)
{
  for (; count > 0; count--) {
    const uint8_t *bytes;
    int32_t size;
    at = record_take_bytes(at, end, &bytes, &size);
    if (at == NULL || size < 0) {
      return false;
    }
    at = record_take_bytes(at, end, &bytes, &size);
    if (at == NULL) {
      return false;
    }
  }
  return count == 0 && at == end;
}

/// Parses the record at `at`, headers included; it has to fill its declared length exactly.
///
/// @param end       one past the last readable byte
/// @param[out] out  set even when the record is bad
/// @return whether the record is whole and well-formed
static inline bool record_parse(const uint8_t *at, const uint8_t *end, struct record_fields *out)
{
  int32_t body = 0;
  int taken = varint_get_i32(at, end, &body);
  if (taken < 0 || body < RECORD_BODY_MIN || body > end - (at + taken)) {
    return false;
  }
  at += taken;
  end = at + body;
  out->end = end;
  out->attributes = *at++;
  taken = varint_get_i64(at, end, &out->timestamp_delta);
  if (taken < 0) {
    return false;
  }
  at += taken;
  taken = varint_get_i32(at, end, &out->offset_delta);
  if (taken < 0) {
    return false;
  }
  at += taken;
  out->body = at;
  at = record_take_bytes(at, end, &out->key, &out->key_size);
  if (at == NULL) {
    return false;
  }
  at = record_take_bytes(at, end, &out->value, &out->value_size);
  if (at == NULL) {
    return false;
  }
  taken = varint_get_i32(at, end, &out->header_count);
  if (taken < 0) {
    return false;
  }
  out->headers = at + taken;
  return record_check_headers(out->headers, end, out->header_count);
}

/// Adds a delta to a timestamp; wraps around as Java does.
static inline int64_t record_timestamp(int64_t base_timestamp, int64_t delta)
{
  return (int64_t)((uint64_t)base_timestamp + (uint64_t)delta);
}
