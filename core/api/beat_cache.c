// SPDX-License-Identifier: Apache-2.0
//
// A chained table by group, member and instance id. Those that have ended are found when they are asked for, or by the
// look through all of them each time their number has doubled.
#include "api/beat_cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "coordinator/member_beat.h"
#include "wire/heartbeat.h"

enum {
  BEAT_SLOTS = 1024,         ///< chains; 20 entries in each of them are found in a microsecond still
  BEAT_SWEEP_MIN = 256,      ///< entries below which nobody looks for those that have ended
  BEAT_ENTRIES_MAX = 100000, ///< members that a worker knows; further ones ask their shard
};

/// One member.
struct beat_entry {
  struct beat_entry *next;  ///< in its chain
  uint64_t hash;            ///< of the three
  struct member_beat *beat; ///< one reference
  int32_t group_size;       ///< bytes of the group id
  int32_t member_size;      ///< bytes of the member id
  int32_t instance_size;    ///< bytes of the instance id; -1: null
  char text[];              ///< one after the other
};

struct beat_cache {
  struct beat_entry *slots[BEAT_SLOTS]; ///< chains
  uint64_t seed;                        ///< of the hash: clients choose the keys
  int count;                            ///< entries
  int sweep_at;                         ///< entries at which to look for those that have ended
};

struct beat_cache *beat_cache_new(void)
{
  struct beat_cache *cache = mem_zalloc(sizeof *cache);
  struct uuid seed;
  uuid_random(&seed);
  memcpy(&cache->seed, seed.bytes, sizeof cache->seed);
  cache->sweep_at = BEAT_SWEEP_MIN;
  return cache;
}

/// Takes an entry out of its chain and frees it.
static void beat_remove(struct beat_cache *cache, struct beat_entry **place)
{
  struct beat_entry *entry = *place;
  *place = entry->next;
  member_beat_unref(entry->beat);
  mem_free(entry);
  cache->count--;
}

void beat_cache_delete(struct beat_cache *cache)
{
  for (int i = 0; cache != NULL && i < BEAT_SLOTS; i++) {
    while (cache->slots[i] != NULL) {
      beat_remove(cache, &cache->slots[i]);
    }
  }
  mem_free(cache);
}

static uint64_t beat_hash(const struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat)
{
  uint64_t hash = hash_bytes(heartbeat->group_id.data, (size_t)heartbeat->group_id.length, cache->seed);
  return hash_bytes(heartbeat->member_id.data, (size_t)heartbeat->member_id.length, hash);
}

static bool beat_is_of(const struct beat_entry *entry, const struct wire_heartbeat_request *heartbeat)
{
  struct wire_string instance = heartbeat->group_instance_id;
  const char *text = entry->text;
  return entry->group_size == heartbeat->group_id.length && entry->member_size == heartbeat->member_id.length &&
         entry->instance_size == instance.length &&
         memcmp(text, heartbeat->group_id.data, (size_t)entry->group_size) == 0 &&
         memcmp(text + entry->group_size, heartbeat->member_id.data, (size_t)entry->member_size) == 0 &&
         (instance.length <= 0 ||
          memcmp(text + entry->group_size + entry->member_size, instance.data, (size_t)instance.length) == 0);
}

/// Where a member's entry hangs, or the end of its chain.
static struct beat_entry **beat_place(struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat,
                                      uint64_t hash)
{
  struct beat_entry **place = &cache->slots[hash % BEAT_SLOTS];
  while (*place != NULL && ((*place)->hash != hash || !beat_is_of(*place, heartbeat))) {
    place = &(*place)->next;
  }
  return place;
}

/// Ids without which there is no member.
static bool beat_is_whole(const struct wire_heartbeat_request *heartbeat)
{
  return heartbeat->group_id.length > 0 && heartbeat->member_id.length > 0;
}

bool beat_cache_hear(struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat, int64_t now_ms)
{
  if (cache->count == 0 || !beat_is_whole(heartbeat)) {
    return false;
  }
  struct beat_entry **place = beat_place(cache, heartbeat, beat_hash(cache, heartbeat));
  if (*place == NULL) {
    return false;
  }
  if (member_beat_hear((*place)->beat, heartbeat->generation_id, now_ms)) {
    return true;
  }
  if (member_beat_has_ended((*place)->beat)) {
    beat_remove(cache, place);
  }
  return false;
}

static void beat_sweep(struct beat_cache *cache)
{
  for (int i = 0; i < BEAT_SLOTS; i++) {
    struct beat_entry **place = &cache->slots[i];
    while (*place != NULL) {
      if (member_beat_has_ended((*place)->beat)) {
        beat_remove(cache, place);
      } else {
        place = &(*place)->next;
      }
    }
  }
  cache->sweep_at = 2 * cache->count > BEAT_SWEEP_MIN ? 2 * cache->count : BEAT_SWEEP_MIN;
}

void beat_cache_add(struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat, struct member_beat *beat)
{
  if (cache->count >= cache->sweep_at) {
    beat_sweep(cache);
  }
  if (cache->count >= BEAT_ENTRIES_MAX || !beat_is_whole(heartbeat)) {
    member_beat_unref(beat);
    return;
  }
  uint64_t hash = beat_hash(cache, heartbeat);
  struct beat_entry **place = beat_place(cache, heartbeat, hash);
  if (*place != NULL) {
    member_beat_unref((*place)->beat);
    (*place)->beat = beat;
    return;
  }
  struct wire_string instance = heartbeat->group_instance_id;
  size_t instance_size = instance.length > 0 ? (size_t)instance.length : 0;
  size_t group_size = (size_t)heartbeat->group_id.length;
  size_t member_size = (size_t)heartbeat->member_id.length;
  struct beat_entry *entry = mem_alloc(sizeof *entry + group_size + member_size + instance_size);
  *entry = (struct beat_entry){.hash = hash,
                               .beat = beat,
                               .group_size = heartbeat->group_id.length,
                               .member_size = heartbeat->member_id.length,
                               .instance_size = instance.length};
  memcpy(entry->text, heartbeat->group_id.data, group_size);
  memcpy(entry->text + group_size, heartbeat->member_id.data, member_size);
  if (instance_size > 0) {
    memcpy(entry->text + group_size + member_size, instance.data, instance_size);
  }
  *place = entry;
  cache->count++;
}

int beat_cache_count(const struct beat_cache *cache)
{
  return cache->count;
}
