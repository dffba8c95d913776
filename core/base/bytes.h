// SPDX-License-Identifier: Apache-2.0
//
// Big-endian integers at unaligned addresses, the byte order of Kafka's wire and disk formats.
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_get_u16(const void *at)
{
  uint16_t raw;
  memcpy(&raw, at, sizeof raw);
  return __builtin_bswap16(raw);
}

static inline uint32_t bytes_get_u32(const void *at)
{
  uint32_t raw;
  memcpy(&raw, at, sizeof raw);
  return __builtin_bswap32(raw);
}

static inline uint64_t bytes_get_u64(const void *at)
{
  uint64_t raw;
  memcpy(&raw, at, sizeof raw);
  return __builtin_bswap64(raw);
}

static inline void bytes_put_u16(void *at, uint16_t value)
{
  uint16_t raw = __builtin_bswap16(value);
  memcpy(at, &raw, sizeof raw);
}

static inline void bytes_put_u32(void *at, uint32_t value)
{
  uint32_t raw = __builtin_bswap32(value);
  memcpy(at, &raw, sizeof raw);
}

static inline void bytes_put_u64(void *at, uint64_t value)
{
  uint64_t raw = __builtin_bswap64(value);
  memcpy(at, &raw, sizeof raw);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Luka is built for little-endian machines");
