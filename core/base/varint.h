// SPDX-License-Identifier: Apache-2.0
//
// Variable-length integers: seven bits a byte, lowest first, the top bit set on all but the last. Unsigned ones carry
// the lengths and tags of flexible protocol versions (KIP-482); zig-zag signed ones (0, -1, 1, -2 ...) the fields of
// records in format 2. Inline: every record has about ten of them.
//
// A get never reads at or beyond `end`. As in Kafka, bits of the last byte that do not fit the type are dropped, and
// forms longer than needed are accepted up to the type's longest.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
  VARINT_SIZE_MAX = 5,   ///< longest 32-bit varint, bytes
  VARLONG_SIZE_MAX = 10, ///< longest 64-bit varint, bytes
};

/// Reads an unsigned 32-bit varint at `at`.
///
/// @param end         one past the last readable byte
/// @param[out] value  untouched on failure
/// @return bytes taken (1 to 5), ERR_TRUNCATED, ERR_MALFORMED (longer than 5 bytes); no error_set()
static inline int varint_get_u32(const uint8_t *at, const uint8_t *end, uint32_t *value)
{
  if (at < end && *at < 0x80) {
    *value = *at;
    return 1;
  }
  if (end - at >= 2 && at[1] < 0x80) { // lengths of most records and values
    *value = (uint32_t)(at[0] & 0x7f) | (uint32_t)at[1] << 7;
    return 2;
  }
  uint32_t result = 0;
  for (int i = 0; i < VARINT_SIZE_MAX; i++) {
    if (at + i >= end) {
      return ERR_TRUNCATED;
    }
    result |= (uint32_t)(at[i] & 0x7f) << (7 * i);
    if (at[i] < 0x80) {
      *value = result;
      return i + 1;
    }
  }
  return ERR_MALFORMED;
}

/// The same for 64 bits; takes 1 to 10 bytes.
static inline int varint_get_u64(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
  if (at < end && *at < 0x80) {
    *value = *at;
    return 1;
  }
  if (end - at >= 2 && at[1] < 0x80) { // lengths of most records and values
    *value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
    return 2;
  }
  uint64_t result = 0;
  for (int i = 0; i < VARLONG_SIZE_MAX; i++) {
    if (at + i >= end) {
      return ERR_TRUNCATED;
    }
    result |= (uint64_t)(at[i] & 0x7f) << (7 * i);
    if (at[i] < 0x80) {
      *value = result;
      return i + 1;
    }
  }
  return ERR_MALFORMED;
}

static inline int32_t varint_unzigzag_i32(uint32_t raw)
{
  return (int32_t)((raw >> 1) ^ (0u - (raw & 1u)));
}

static inline int64_t varint_unzigzag_i64(uint64_t raw)
{
  return (int64_t)((raw >> 1) ^ (UINT64_C(0) - (raw & 1u)));
}

static inline uint32_t varint_zigzag_i32(int32_t value)
{
  return ((uint32_t)value << 1) ^ (value < 0 ? UINT32_MAX : 0);
}

static inline uint64_t varint_zigzag_i64(int64_t value)
{
  return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

/// Reads a zig-zag varint of 32 bits; results as of varint_get_u32().
static inline int varint_get_i32(const uint8_t *at, const uint8_t *end, int32_t *value)
{
  uint32_t raw = 0;
  int taken = varint_get_u32(at, end, &raw);
  if (taken > 0) {
    *value = varint_unzigzag_i32(raw);
  }
  return taken;
}

/// Reads a zig-zag varint of 64 bits (Kafka's varlong); results as of varint_get_u64().
static inline int varint_get_i64(const uint8_t *at, const uint8_t *end, int64_t *value)
{
  uint64_t raw = 0;
  int taken = varint_get_u64(at, end, &raw);
  if (taken > 0) {
    *value = varint_unzigzag_i64(raw);
  }
  return taken;
}

/// Bytes that a put would write, 1 to 10.
static inline int varint_size_u64(uint64_t value)
{
  return (63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static inline int varint_size_u32(uint32_t value)
{
  return varint_size_u64(value);
}

static inline int varint_size_i32(int32_t value)
{
  return varint_size_u64(varint_zigzag_i32(value));
}

static inline int varint_size_i64(int64_t value)
{
  return varint_size_u64(varint_zigzag_i64(value));
}

/// Writes an unsigned varint at `at`, which has room for VARLONG_SIZE_MAX bytes (or for what varint_size says).
/// @return bytes written
static inline int varint_put_u64(uint8_t *at, uint64_t value)
{
  int size = 0;
  while (value >= 0x80) {
    at[size++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  at[size++] = (uint8_t)value;
  return size;
}

static inline int varint_put_u32(uint8_t *at, uint32_t value)
{
  return varint_put_u64(at, value);
}

static inline int varint_put_i32(uint8_t *at, int32_t value)
{
  return varint_put_u64(at, varint_zigzag_i32(value));
}

static inline int varint_put_i64(uint8_t *at, int64_t value)
{
  return varint_put_u64(at, varint_zigzag_i64(value));
}
