// SPDX-License-Identifier: Apache-2.0
//
// A seeded hash for tables whose keys clients choose: who does not know the seed cannot make a table slow. Pure
// functions, any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Folds a 128-bit product: every bit of both sides reaches every bit of the result.
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/// The hash of `size` bytes.
static inline uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
  const char *at = bytes;
  uint64_t hash = seed ^ size;
  for (size_t left = size; left > 0; left -= left < 8 ? left : 8, at += 8) {
    uint64_t word = 0;
    memcpy(&word, at, left < 8 ? left : 8);
    hash = hash_mix(hash ^ word, UINT64_C(0x9e3779b97f4a7c15) ^ seed);
  }
  return hash_mix(hash ^ UINT64_C(0xd6e8feb86659fd93), seed | 1);
}
