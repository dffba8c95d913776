// SPDX-License-Identifier: Apache-2.0
//
// What a pass of the log cleaner knows of the keys: for each the offset of its newest record, in a bounded memory. A
// key is known by 128 bits of SipHash with a secret of this map's own, so that keys of any size take one slot of 24
// bytes.
//
// Two keys with the same hash would cost one of them its records. With n keys in the map, and m records of other keys
// looked up, that happens with a probability of less than n x m / 2^128: for a map of 128 MiB and 10^12 records 2 in
// 10^20. As the secret is not known to who writes the keys, nobody can look for such pairs.
//
// Slots are probed one after the other from the place that the hash's share of 2^64 gives, without going round: so the
// order of the slots is about that of the hashes, and the table grows where it lies. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

struct cleaner_offset_slot;

enum {
  CLEANER_OFFSET_SLOT_SIZE = 24,      ///< bytes of a slot
  CLEANER_OFFSET_MAP_MIN = 32 * 1024, ///< least memory of a map, bytes
};

/// Embed it.
struct cleaner_offset_map {
  struct siphash_key secret;         ///< of this map's own
  struct cleaner_offset_slot *slots; ///< owned; NULL: empty
  size_t range;                      ///< places that hashes are spread over; the slots behind them take what overflows
  size_t room;                       ///< slots allocated
  size_t room_max;                   ///< slots that the memory allows
  size_t count;                      ///< keys
  size_t count_max;                  ///< keys that it takes: a share of the slots
};

/// Makes an empty map. Owned: cleaner_offset_map_destroy().
///
/// @param bytes  memory that it may use; at least CLEANER_OFFSET_MAP_MIN
/// @param load   share of its slots that may be used, above 0; more than 0.9 counts as that, as lookups would take long
void cleaner_offset_map_create(struct cleaner_offset_map *map, size_t bytes, double load);

/// Frees the memory; the map takes nothing afterwards.
void cleaner_offset_map_destroy(struct cleaner_offset_map *map);

/// Notes the offset of a key's newest record so far: of several the largest.
///
/// @return false: the map is full, and unchanged
bool cleaner_offset_map_put(struct cleaner_offset_map *map, const uint8_t *key, size_t size, int64_t offset);

/// The offset of a key's newest record, -1: it has none.
int64_t cleaner_offset_map_get(const struct cleaner_offset_map *map, const uint8_t *key, size_t size);
