// SPDX-License-Identifier: Apache-2.0
#include "log/cleaner_offset_map.h"

#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/mem.h"

enum {
  MAP_ROOM_FIRST = 4096,   ///< slots, at least, of a table that has just begun and may grow
  MAP_OVERFLOW = 256,      ///< slots behind the range, and
  MAP_OVERFLOW_SHARE = 64, ///< this part of all slots: less than 1 table in 10^30 finds too few when it doubles
  MAP_GROW_PERCENT = 75,   ///< of the slots are used when the table grows
};

/// A key, or nothing.
struct cleaner_offset_slot {
  struct siphash hash; ///< of the key
  int64_t next_offset; ///< offset of its newest record plus one; 0: the slot is empty
};

_Static_assert(sizeof(struct cleaner_offset_slot) == CLEANER_OFFSET_SLOT_SIZE, "the header says what a slot takes");

void cleaner_offset_map_create(struct cleaner_offset_map *map, size_t bytes, double load)
{
  const double load_max = 0.9;
  double share = load > load_max ? load_max : load;
  *map = (struct cleaner_offset_map){.room_max = bytes / CLEANER_OFFSET_SLOT_SIZE};
  CHECK(bytes >= CLEANER_OFFSET_MAP_MIN && load > 0);
  map->count_max = (size_t)(share * (double)map->room_max);
  map->count_max = map->count_max > 0 ? map->count_max : 1;
  // Without randomness there is no secret, and the map is as good as any other that has none.
  if (getrandom(&map->secret, sizeof map->secret, GRND_NONBLOCK) != (ssize_t)sizeof map->secret) {
    map->secret = (struct siphash_key){(uintptr_t)map, (uintptr_t)&load_max};
  }
}

void cleaner_offset_map_destroy(struct cleaner_offset_map *map)
{
  mem_free(map->slots);
  *map = (struct cleaner_offset_map){0};
}

/// Where a hash belongs among `range` places.
static size_t place_of(const struct siphash *hash, size_t range)
{
  return (size_t)(((unsigned __int128)hash->high * range) >> 64);
}

/// Slots from the place of a hash on, up to the key's own or an empty one; `room` when there is neither.
static size_t find_slot(const struct cleaner_offset_map *map, const struct siphash *hash)
{
  size_t at = place_of(hash, map->range);
  while (at < map->room && map->slots[at].next_offset != 0 &&
         (map->slots[at].hash.low != hash->low || map->slots[at].hash.high != hash->high)) {
    at++;
  }
  return at;
}

/// Slots that were taken out while the table grew, because their new place lay among those that were not moved yet.
struct spilled {
  struct cleaner_offset_slot *slots; ///< owned
  size_t count;                      ///< how many
};

static void spill(struct spilled *spilled, const struct cleaner_offset_slot *slot)
{
  if ((spilled->count & (spilled->count - 1)) == 0) {
    size_t room = spilled->count == 0 ? 1 : spilled->count * 2;
    spilled->slots = mem_realloc(spilled->slots, room * sizeof *spilled->slots);
  }
  spilled->slots[spilled->count++] = *slot;
}

/// Gives every key its place among more slots. From the last slot down, each goes to a place that is not below its old
/// one, so that all slots from there on are in the new order already; the few that are not so wait.
///
/// @return false: a key found no slot, see MAP_OVERFLOW_SHARE
static bool spread(struct cleaner_offset_map *map, size_t old_room)
{
  struct spilled spilled = {0};
  bool is_good = true;
  for (size_t i = old_room; i-- > 0;) {
    struct cleaner_offset_slot slot = map->slots[i];
    if (slot.next_offset == 0) {
      continue;
    }
    map->slots[i].next_offset = 0;
    if (place_of(&slot.hash, map->range) < i) {
      spill(&spilled, &slot);
      continue;
    }
    size_t at = find_slot(map, &slot.hash);
    is_good = is_good && at < map->room;
    if (at < map->room) {
      map->slots[at] = slot;
    }
  }
  for (size_t i = 0; i < spilled.count; i++) {
    size_t at = find_slot(map, &spilled.slots[i].hash);
    is_good = is_good && at < map->room;
    if (at < map->room) {
      map->slots[at] = spilled.slots[i];
    }
  }
  mem_free(spilled.slots);
  return is_good;
}

/// Doubles the table; its sizes are such that the last one is all that the memory allows.
static void grow(struct cleaner_offset_map *map)
{
  size_t old_room = map->room;
  size_t room = map->room_max;
  while (room / 2 > old_room && room / 2 >= MAP_ROOM_FIRST) {
    room /= 2;
  }
  map->slots = mem_realloc(map->slots, room * sizeof *map->slots);
  memset(map->slots + old_room, 0, (room - old_room) * sizeof *map->slots);
  map->room = room;
  map->range = room - MAP_OVERFLOW - room / MAP_OVERFLOW_SHARE;
  CHECK(spread(map, old_room));
}

bool cleaner_offset_map_put(struct cleaner_offset_map *map, const uint8_t *key, size_t size, int64_t offset)
{
  struct siphash hash = siphash128(&map->secret, key, size);
  if (map->count >= map->room / 100 * MAP_GROW_PERCENT && map->room < map->room_max) {
    grow(map);
  }
  size_t at = find_slot(map, &hash);
  if (at == map->room) {
    return false;
  }
  struct cleaner_offset_slot *slot = &map->slots[at];
  if (slot->next_offset == 0) {
    if (map->count >= map->count_max) {
      return false;
    }
    map->count++;
    slot->hash = hash;
  }
  if (offset >= slot->next_offset) {
    slot->next_offset = offset + 1;
  }
  return true;
}

int64_t cleaner_offset_map_get(const struct cleaner_offset_map *map, const uint8_t *key, size_t size)
{
  if (map->count == 0) {
    return -1;
  }
  struct siphash hash = siphash128(&map->secret, key, size);
  size_t at = find_slot(map, &hash);
  return at < map->room ? map->slots[at].next_offset - 1 : -1;
}
