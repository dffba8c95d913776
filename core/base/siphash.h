// SPDX-License-Identifier: Apache-2.0
//
// SipHash-2-4 with 128 bits of output: a hash with a secret key, for tables whose keys come from clients. Who does not
// know the secret cannot find two inputs with the same hash any better than by trying (2^64 of them for one pair).
// Stateless: any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The secret; fill it with random bytes.
struct siphash_key {
  uint64_t low;  ///< first eight bytes, little-endian
  uint64_t high; ///< the other eight
};

/// 128 bits of hash.
struct siphash {
  uint64_t low;  ///< first eight bytes of the reference's output, little-endian
  uint64_t high; ///< the other eight
};

/// The hash of `size` bytes.
struct siphash siphash128(const struct siphash_key *key, const void *bytes, size_t size);
