// SPDX-License-Identifier: Apache-2.0
#include "base/siphash.h"

#include <endian.h>
#include <string.h>

enum {
  SIPHASH_ROUNDS = 2,       // for each eight bytes
  SIPHASH_FINAL_ROUNDS = 4, // for each half of the result
};

/// The state.
struct sip {
  uint64_t v0; ///< the four words, as the paper calls them
  uint64_t v1; ///< see `v0`
  uint64_t v2; ///< see `v0`
  uint64_t v3; ///< see `v0`
};

static inline uint64_t rotate(uint64_t value, int bits)
{
  return value << bits | value >> (64 - bits);
}

static inline void mix(struct sip *sip, int rounds)
{
  for (int i = 0; i < rounds; i++) {
    sip->v0 += sip->v1;
    sip->v1 = rotate(sip->v1, 13) ^ sip->v0;
    sip->v0 = rotate(sip->v0, 32);
    sip->v2 += sip->v3;
    sip->v3 = rotate(sip->v3, 16) ^ sip->v2;
    sip->v0 += sip->v3;
    sip->v3 = rotate(sip->v3, 21) ^ sip->v0;
    sip->v2 += sip->v1;
    sip->v1 = rotate(sip->v1, 17) ^ sip->v2;
    sip->v2 = rotate(sip->v2, 32);
  }
}

static inline void take(struct sip *sip, uint64_t word)
{
  sip->v3 ^= word;
  mix(sip, SIPHASH_ROUNDS);
  sip->v0 ^= word;
}

/// The last word: what is left of the bytes, and their number in the highest byte.
static inline uint64_t last_word(const uint8_t *at, size_t left, size_t size)
{
  uint8_t bytes[sizeof(uint64_t)] = {0};
  uint64_t word = 0;
  if (left > 0) {
    memcpy(bytes, at, left);
  }
  memcpy(&word, bytes, sizeof word);
  return le64toh(word) | (uint64_t)size << 56;
}

struct siphash siphash128(const struct siphash_key *key, const void *bytes, size_t size)
{
  struct sip sip = {
      .v0 = UINT64_C(0x736f6d6570736575) ^ key->low,
      .v1 = UINT64_C(0x646f72616e646f6d) ^ key->high ^ 0xee, // 0xee and 0xdd: the form with 128 bits
      .v2 = UINT64_C(0x6c7967656e657261) ^ key->low,
      .v3 = UINT64_C(0x7465646279746573) ^ key->high,
  };
  const uint8_t *at = bytes;
  size_t left = size;
  for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
    take(&sip, le64toh(word));
  }
  take(&sip, last_word(at, left, size));
  struct siphash hash;
  sip.v2 ^= 0xee;
  mix(&sip, SIPHASH_FINAL_ROUNDS);
  hash.low = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
  sip.v1 ^= 0xdd;
  mix(&sip, SIPHASH_FINAL_ROUNDS);
  hash.high = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
  return hash;
}
