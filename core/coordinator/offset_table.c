// SPDX-License-Identifier: Apache-2.0
//
// The committed offsets of a group: a table of open addressing with linear probing. Removing moves up what came after,
// so that there are no marks of what was removed, and a look-up ends at the first free slot.
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "coordinator/shard_state.h"

enum { OFFSETS_SLOTS_MIN = 4 };

static uint32_t offset_hash(const struct shard_topic *topic, int32_t partition)
{
  return (uint32_t)hash_mix(topic->hash ^ ((uint64_t)(uint32_t)partition << 32), UINT64_C(0x9e3779b97f4a7c15));
}

static bool offset_is_of(const struct group_offset *slot, const struct shard_topic *topic, int32_t partition)
{
  return slot->partition == partition && slot->topic->plain == topic->plain;
}

static uint32_t offset_home(const struct group_offsets *table, const struct group_offset *slot)
{
  return offset_hash(slot->topic, slot->partition) & table->mask;
}

/// The slot of an offset, or the free one where it would be.
static struct group_offset *offset_slot(const struct group_offsets *table, const struct shard_topic *topic,
                                        int32_t partition)
{
  uint32_t at = offset_hash(topic, partition) & table->mask;
  while (table->slots[at].topic != NULL && !offset_is_of(&table->slots[at], topic, partition)) {
    at = (at + 1) & table->mask;
  }
  return &table->slots[at];
}

struct group_offset *group_offset_find(const struct group *group, const struct shard_topic *topic, int32_t partition)
{
  if (group->offsets == NULL) {
    return NULL;
  }
  struct group_offset *slot = offset_slot(group->offsets, topic, partition);
  return slot->topic != NULL ? slot : NULL;
}

/// Makes room for one more: at most seven of eight slots are in use.
static void offsets_grow(struct group *group)
{
  struct group_offsets *table = group->offsets;
  if (table == NULL) {
    table = group->offsets = mem_zalloc(sizeof *table);
    table->slots = mem_array(OFFSETS_SLOTS_MIN, sizeof *table->slots);
    table->mask = OFFSETS_SLOTS_MIN - 1;
  }
  uint64_t slots = (uint64_t)table->mask + 1;
  if (((uint64_t)table->count + 1) * 8 <= slots * 7) {
    return;
  }
  struct group_offset *old = table->slots;
  table->slots = mem_array(slots * 2, sizeof *table->slots);
  table->mask = (uint32_t)(slots * 2 - 1);
  for (uint64_t i = 0; i < slots; i++) {
    if (old[i].topic != NULL) {
      *offset_slot(table, old[i].topic, old[i].partition) = old[i];
    }
  }
  mem_free(old);
}

/// What few offsets have, or NULL.
static struct offset_note *offset_note_new(const struct offset_value *value)
{
  int32_t size = value->metadata.length > 0 ? value->metadata.length : 0;
  if (size == 0 && value->expire_ms < 0) {
    return NULL;
  }
  struct offset_note *note = mem_alloc(sizeof *note + (size_t)size);
  note->expire_ms = value->expire_ms;
  note->metadata_size = size;
  if (size > 0) {
    memcpy(note->metadata, value->metadata.data, (size_t)size);
  }
  return note;
}

void group_offset_put(struct group *group, struct shard_topic *topic, int32_t partition,
                      const struct offset_value *value)
{
  struct group_offset *slot = group_offset_find(group, topic, partition);
  if (slot != NULL) {
    shard_topic_unref(group->shard, slot->topic);
    mem_free(slot->note);
  } else {
    offsets_grow(group);
    slot = offset_slot(group->offsets, topic, partition);
    group->offsets->count++;
    group->shard->offset_count++;
  }
  *slot = (struct group_offset){
      .offset = value->offset,
      .commit_ms = value->commit_ms,
      .topic = topic,
      .note = offset_note_new(value),
      .partition = partition,
      .leader_epoch = value->leader_epoch,
  };
}

void group_offset_remove(struct group *group, const struct shard_topic *topic, int32_t partition)
{
  struct group_offset *slot = group_offset_find(group, topic, partition);
  if (slot == NULL) {
    return;
  }
  struct group_offsets *table = group->offsets;
  shard_topic_unref(group->shard, slot->topic);
  mem_free(slot->note);
  group->shard->offset_count--;
  if (--table->count == 0) {
    mem_free(table->slots);
    mem_free(table);
    group->offsets = NULL;
    return;
  }
  uint32_t hole = (uint32_t)(slot - table->slots);
  for (uint32_t at = (hole + 1) & table->mask; table->slots[at].topic != NULL; at = (at + 1) & table->mask) {
    // Whoever lies behind the hole, and has its home at or before it, moves into it.
    uint32_t way = (at - offset_home(table, &table->slots[at])) & table->mask;
    if (way >= ((at - hole) & table->mask)) {
      table->slots[hole] = table->slots[at];
      hole = at;
    }
  }
  table->slots[hole] = (struct group_offset){0};
}

void group_offsets_free(struct group *group)
{
  struct group_offsets *table = group->offsets;
  if (table == NULL) {
    return;
  }
  for (uint64_t i = 0; i <= table->mask; i++) {
    if (table->slots[i].topic != NULL) {
      shard_topic_unref(group->shard, table->slots[i].topic);
      mem_free(table->slots[i].note);
    }
  }
  group->shard->offset_count -= table->count;
  mem_free(table->slots);
  mem_free(table);
  group->offsets = NULL;
}
