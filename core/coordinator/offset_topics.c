// SPDX-License-Identifier: Apache-2.0
//
// Names of topics, each once in a shard: a million offsets are of a few topics. A topic that was committed with its id
// has an entry of its own beside the plain one, so that an offset needs no more than a pointer for both.
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "coordinator/shard_state.h"

enum { TOPIC_SLOTS_MIN = 16 };

static const struct uuid TOPIC_NO_ID;

static void topics_grow(struct group_shard *shard)
{
  uint32_t count = shard->topic_slot_count > 0 ? shard->topic_slot_count * 2 : TOPIC_SLOTS_MIN;
  struct shard_topic **slots = mem_array(count, sizeof *slots);
  for (uint32_t i = 0; i < shard->topic_slot_count; i++) {
    while (shard->topic_slots[i] != NULL) {
      struct shard_topic *topic = shard->topic_slots[i];
      shard->topic_slots[i] = topic->next;
      topic->next = slots[topic->hash & (count - 1)];
      slots[topic->hash & (count - 1)] = topic;
    }
  }
  mem_free(shard->topic_slots);
  shard->topic_slots = slots;
  shard->topic_slot_count = count;
}

struct shard_topic *shard_topic_find(struct group_shard *shard, struct wire_string name, const struct uuid *id)
{
  if (shard->topic_count == 0) {
    return NULL;
  }
  uint32_t hash = (uint32_t)hash_bytes(name.data, (size_t)name.length, shard->hash_seed);
  struct shard_topic *topic = shard->topic_slots[hash & (shard->topic_slot_count - 1)];
  while (topic != NULL && (topic->hash != hash || topic->length != name.length || !uuid_equal(&topic->id, id) ||
                           memcmp(topic->name, name.data, (size_t)name.length) != 0)) {
    topic = topic->next;
  }
  return topic;
}

struct shard_topic *shard_topic_ref(struct group_shard *shard, struct wire_string name, const struct uuid *id)
{
  struct shard_topic *topic = shard_topic_find(shard, name, id);
  if (topic != NULL) {
    topic->refs++;
    return topic;
  }
  struct shard_topic *plain = uuid_is_zero(id) ? NULL : shard_topic_ref(shard, name, &TOPIC_NO_ID);
  if (shard->topic_count >= shard->topic_slot_count) {
    topics_grow(shard);
  }
  topic = mem_zalloc(sizeof *topic + (size_t)name.length + 1);
  topic->hash = (uint32_t)hash_bytes(name.data, (size_t)name.length, shard->hash_seed);
  topic->plain = plain != NULL ? plain : topic;
  topic->refs = 1;
  topic->id = *id;
  topic->length = name.length;
  memcpy(topic->name, name.data, (size_t)name.length);
  struct shard_topic **slot = &shard->topic_slots[topic->hash & (shard->topic_slot_count - 1)];
  topic->next = *slot;
  *slot = topic;
  shard->topic_count++;
  return topic;
}

void shard_topic_unref(struct group_shard *shard, struct shard_topic *topic)
{
  while (--topic->refs == 0) {
    struct shard_topic **place = &shard->topic_slots[topic->hash & (shard->topic_slot_count - 1)];
    while (*place != topic) {
      place = &(*place)->next;
    }
    *place = topic->next;
    shard->topic_count--;
    struct shard_topic *plain = topic->plain;
    bool is_plain = plain == topic;
    mem_free(topic);
    if (is_plain) {
      return;
    }
    topic = plain;
  }
}

void shard_topics_free(struct group_shard *shard)
{
  mem_free(shard->topic_slots);
  shard->topic_slots = NULL;
}
