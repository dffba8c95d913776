// SPDX-License-Identifier: Apache-2.0
#include "api/key_set.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/check.h"

static uint64_t key_seed[2]; // set once, by the first hash of the process
static pthread_once_t key_seed_once = PTHREAD_ONCE_INIT;

static void key_seed_make(void)
{
  CHECK(getrandom(key_seed, sizeof key_seed, 0) == (ssize_t)sizeof key_seed);
}

/// Folds a 128-bit product: every bit of both sides reaches every bit of the result.
static uint64_t key_mix(uint64_t a, uint64_t b)
{
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t key_hash(struct wire_string name, const struct uuid *id, int32_t index)
{
  pthread_once(&key_seed_once, key_seed_make);
  uint64_t words[2];
  memcpy(words, id->bytes, sizeof words);
  uint64_t hash = key_mix(words[0] ^ key_seed[0], words[1] ^ key_seed[1] ^ (uint32_t)index);
  const char *at = name.data;
  for (int32_t left = name.length; left > 0; left -= 8, at += 8) {
    uint64_t word = 0;
    memcpy(&word, at, left < 8 ? (size_t)left : 8);
    hash = key_mix(hash ^ word, key_seed[1] ^ (uint64_t)left);
  }
  hash = key_mix(hash ^ (uint32_t)index, key_seed[0] | 1);
  return (uint32_t)(hash ^ (hash >> 32));
}

void key_set_create(struct key_set *set, struct arena *arena, int32_t count)
{
  uint32_t slots = 4;
  while (slots < (uint32_t)(count > 0 ? count : 0) * 2) {
    slots *= 2;
  }
  set->mask = slots - 1;
  set->slots = arena_alloc(arena, slots * sizeof *set->slots);
  for (uint32_t i = 0; i < slots; i++) {
    set->slots[i].place = -1;
  }
}

int32_t key_set_put(struct key_set *set, struct wire_string name, const struct uuid *id, int32_t index, int32_t place)
{
  for (uint32_t at = key_hash(name, id, index) & set->mask;; at = (at + 1) & set->mask) {
    struct key_set_slot *slot = &set->slots[at];
    if (slot->place < 0) {
      *slot = (struct key_set_slot){.name = name, .id = *id, .index = index, .place = place};
      return place;
    }
    if (slot->index == index && uuid_equal(&slot->id, id) && wire_string_equal(slot->name, name)) {
      return slot->place;
    }
  }
}

int32_t key_set_find(const struct key_set *set, struct wire_string name, const struct uuid *id, int32_t index)
{
  for (uint32_t at = key_hash(name, id, index) & set->mask;; at = (at + 1) & set->mask) {
    const struct key_set_slot *slot = &set->slots[at];
    if (slot->place < 0 || (slot->index == index && uuid_equal(&slot->id, id) && wire_string_equal(slot->name, name))) {
      return slot->place;
    }
  }
}
