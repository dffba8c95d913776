// SPDX-License-Identifier: Apache-2.0
//
// The shard itself: its groups, what it is told from outside, and how records become state.
#include "coordinator/shard.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/group_request.h"
#include "coordinator/records.h"
#include "coordinator/shard_kinds.h"
#include "coordinator/shard_state.h"

enum { SHARD_SLOTS_MIN = 16, SHARD_VERSION_BYTES = 2 };

// ---- the shard ----

/// Spreads a seed over the generator's state, and gives the tables' seed (splitmix64).
static void shard_seed(struct group_shard *shard, uint64_t seed)
{
  uint64_t *out[] = {&shard->random[0], &shard->random[1], &shard->random[2], &shard->random[3], &shard->hash_seed};
  for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    *out[i] = word ^ (word >> 31);
  }
}

struct group_shard *group_shard_new(int32_t index, const struct group_settings *config,
                                    const struct group_shard_topics *topics, uint64_t seed)
{
  struct group_shard *shard = mem_zalloc(sizeof *shard);
  shard->index = index;
  shard->config = config;
  shard->topics = *topics;
  shard_seed(shard, seed);
  shard->slot_count = SHARD_SLOTS_MIN;
  shard->slots = mem_array(shard->slot_count, sizeof *shard->slots);
  list_create(&shard->answers);
  list_create(&shard->writes);
  list_create(&shard->taken);
  list_create(&shard->searches);
  return shard;
}

/// The next 64 random bits (xoshiro256**).
static uint64_t shard_random(struct group_shard *shard)
{
  uint64_t *s = shard->random;
  uint64_t times5 = s[1] * 5;
  uint64_t result = ((times5 << 7) | (times5 >> 57)) * 9;
  uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = (s[3] << 45) | (s[3] >> 19);
  return result;
}

struct group_shard *group_shard_again(struct group_shard *shard)
{
  return group_shard_new(shard->index, shard->config, &shard->topics, shard_random(shard));
}

static void group_free(struct group *group)
{
  CHECK(group->use_count == 0 && group->flight_count == 0 && list_is_empty(&group->waiting));
  const struct group_kind_calls *kind = group_kind_of(group);
  if (kind->free != NULL) {
    kind->free(group);
  }
  group_offsets_free(group);
  mem_free(group);
}

void group_shard_delete(struct group_shard *shard)
{
  if (shard == NULL) {
    return;
  }
  CHECK(list_is_empty(&shard->answers) && list_is_empty(&shard->writes) && list_is_empty(&shard->taken));
  offset_transactions_free(shard);
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    while (shard->slots[i] != NULL) {
      struct group *group = shard->slots[i];
      shard->slots[i] = group->next;
      group_free(group);
    }
  }
  shard_topics_free(shard);
  mem_free(shard->slots);
  mem_free(shard->heap);
  mem_free(shard);
}

const struct group_settings *group_shard_config(const struct group_shard *shard)
{
  return shard->config;
}

const struct group_shard_topics *group_shard_topics(const struct group_shard *shard)
{
  return &shard->topics;
}

int64_t group_wall_ms(const struct group_shard *shard, int64_t now_ms)
{
  return shard->topics.wall_ms != NULL ? shard->topics.wall_ms(shard->topics.arg) : now_ms;
}

void group_new_uuid_text(struct group_shard *shard, char text[37])
{
  uint64_t high = (shard_random(shard) & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
  uint64_t low = (shard_random(shard) & ~(UINT64_C(3) << 62)) | (UINT64_C(1) << 63);
  snprintf(text, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16) & 0xffff,
           (unsigned)high & 0xffff, (unsigned)(low >> 48), (unsigned long long)(low & UINT64_C(0xffffffffffff)));
}

// ---- groups ----

static uint32_t shard_hash(const struct group_shard *shard, struct wire_string id)
{
  return (uint32_t)hash_bytes(id.data, (size_t)id.length, shard->hash_seed);
}

static void shard_grow(struct group_shard *shard)
{
  uint32_t count = shard->slot_count * 2;
  struct group **slots = mem_array(count, sizeof *slots);
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    while (shard->slots[i] != NULL) {
      struct group *group = shard->slots[i];
      shard->slots[i] = group->next;
      group->next = slots[group->hash & (count - 1)];
      slots[group->hash & (count - 1)] = group;
    }
  }
  mem_free(shard->slots);
  shard->slots = slots;
  shard->slot_count = count;
}

struct group *group_find(struct group_shard *shard, struct wire_string id)
{
  uint32_t hash = shard_hash(shard, id);
  for (struct group *group = shard->slots[hash & (shard->slot_count - 1)]; group != NULL; group = group->next) {
    if (group->hash == hash && group->id_size == id.length && memcmp(group->id, id.data, (size_t)id.length) == 0) {
      return group;
    }
  }
  return NULL;
}

struct group *group_obtain(struct group_shard *shard, struct wire_string id)
{
  struct group *group = group_find(shard, id);
  if (group != NULL) {
    return group;
  }
  if (shard->group_count >= shard->slot_count) {
    shard_grow(shard);
  }
  group = mem_zalloc(sizeof *group + (size_t)id.length + 1);
  group->shard = shard;
  group->hash = shard_hash(shard, id);
  group->id_size = id.length;
  memcpy(group->id, id.data, (size_t)id.length);
  list_create(&group->pending);
  list_create(&group->waiting);
  struct group **slot = &shard->slots[group->hash & (shard->slot_count - 1)];
  group->next = *slot;
  *slot = group;
  shard->group_count++;
  return group;
}

bool group_release_if_unused(struct group *group)
{
  if (group->kind != GROUP_EMPTY || group->offsets != NULL || group->use_count > 0 || group->flight_count > 0 ||
      !list_is_empty(&group->pending) || !list_is_empty(&group->waiting)) {
    return false;
  }
  struct group_shard *shard = group->shard;
  struct group **place = &shard->slots[group->hash & (shard->slot_count - 1)];
  while (*place != group) {
    place = &(*place)->next;
  }
  *place = group->next;
  shard->group_count--;
  group_free(group);
  return true;
}

bool group_is_empty(const struct group *group)
{
  const struct group_kind_calls *kind = group_kind_of(group);
  return kind->is_empty == NULL || kind->is_empty(group);
}

const char *group_protocol_type(const struct group *group)
{
  const struct group_kind_calls *kind = group_kind_of(group);
  return kind->protocol_type != NULL ? kind->protocol_type(group) : "";
}

// ---- answers ----

bool group_has_no_room(const struct group_request *request)
{
  return request->room != NULL && atomic_load(request->room) < (int64_t)request->arena->total;
}

void group_answer(struct group_shard *shard, struct group_request *request)
{
  request->state = NULL;
  if (request->room != NULL) {
    atomic_fetch_sub(request->room, (int64_t)request->arena->total);
  }
  list_append(&shard->answers, &request->link);
}

struct group_request *group_shard_take_answer(struct group_shard *shard)
{
  if (list_is_empty(&shard->answers)) {
    return NULL;
  }
  struct group_request *request = CONTAINER_OF(shard->answers.next, struct group_request, link);
  list_remove(&request->link);
  return request;
}

// ---- records ----

/// Leaves a record out, and says so once for its kind.
static int shard_leave_out(struct group_shard *shard, int kind, const char *what)
{
  uint64_t bit = UINT64_C(1) << (kind >= 0 && kind < SHARD_UNKNOWN_KINDS - 1 ? kind : SHARD_UNKNOWN_KINDS - 1);
  if ((shard->unknown_kinds & bit) == 0) {
    shard->unknown_kinds |= bit;
    slog_warn("partition %d of __consumer_offsets: a record of kind %d is left out, and others like it: %s",
              shard->index, kind, what);
  }
  return ERR_UNSUPPORTED_VERSION;
}

int group_shard_replay(struct group_shard *shard, int64_t producer_id, const uint8_t *key, int32_t key_size,
                       const uint8_t *value, int32_t value_size)
{
  if (key_size < SHARD_VERSION_BYTES || (value != NULL && value_size < SHARD_VERSION_BYTES)) {
    return error_set(ERR_TRUNCATED, "a record of __consumer_offsets has no version");
  }
  int16_t kind = (int16_t)bytes_get_u16(key);
  key += SHARD_VERSION_BYTES;
  key_size -= SHARD_VERSION_BYTES;
  int16_t version = -1;
  if (value != NULL) {
    version = (int16_t)bytes_get_u16(value);
    value += SHARD_VERSION_BYTES;
    value_size -= SHARD_VERSION_BYTES;
  }
  int result = 0;
  if (kind == RECORD_LEGACY_OFFSET_COMMIT || kind == RECORD_OFFSET_COMMIT) {
    result = offset_replay(shard, producer_id, kind, key, key_size, version, value, value_size);
  } else {
    group_replay_fn replay = group_replay_of(kind);
    if (replay == NULL) {
      return shard_leave_out(shard, kind, "not known to this version");
    }
    result = replay(shard, kind, key, key_size, version, value, value_size);
  }
  return result == ERR_UNSUPPORTED_VERSION ? shard_leave_out(shard, kind, error_last()->message) : result;
}

void group_shard_loaded(struct group_shard *shard, int64_t now_ms)
{
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    for (struct group *group = shard->slots[i], *next = NULL; group != NULL; group = next) {
      next = group->next;
      const struct group_kind_calls *kind = group_kind_of(group);
      if (kind->loaded != NULL) {
        kind->loaded(group, now_ms);
      }
    }
  }
  shard->is_loaded = true;
  shard_expiry_start(shard, now_ms);
}

void group_shard_topics_changed(struct group_shard *shard, int64_t now_ms)
{
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    for (struct group *group = shard->slots[i], *next = NULL; group != NULL; group = next) {
      next = group->next;
      const struct group_kind_calls *kind = group_kind_of(group);
      if (kind->topics_changed != NULL) {
        kind->topics_changed(group, now_ms);
      }
    }
  }
}

// ---- the end ----

void group_shard_stop(struct group_shard *shard, int16_t error)
{
  shard->is_stopped = true;
  shard->stop_error = error;
  group_timer_stop(shard, &shard->expiry_timer);
  shard_removals_stop(shard);
  group_writes_stop(shard, error);
  for (uint32_t i = 0; i < shard->slot_count; i++) {
    for (struct group *group = shard->slots[i], *next = NULL; group != NULL; group = next) {
      next = group->next; // it may go when nothing waits in it any more
      LIST_EACH_SAFE(&group->waiting, node) {
        list_remove(node);
        struct group_request *request = CONTAINER_OF(node, struct group_request, link);
        group_request_fail(request, error);
        group_answer(shard, request);
      }
      const struct group_kind_calls *kind = group_kind_of(group);
      if (kind->stop != NULL) {
        kind->stop(group, error);
      }
    }
  }
}

void group_shard_count(const struct group_shard *shard, struct group_shard_counts *counts)
{
  *counts = (struct group_shard_counts){.groups = shard->group_count, .offsets = shard->offset_count};
}

void group_tell_change(const struct group *group, bool is_empty, int32_t generation, int32_t members)
{
  const struct group_shard *shard = group->shard;
  if (!shard->is_loaded || shard->topics.changed == NULL) {
    return;
  }
  struct group_change change = {
      .group = group->id,
      .type = group->kind == GROUP_CONSUMER ? "consumer" : "classic",
      .is_empty = is_empty,
      .generation = generation,
      .members = members,
  };
  shard->topics.changed(shard->topics.arg, &change);
}
