// SPDX-License-Identifier: Apache-2.0
//
// XXH3 of little-endian fields: of each topic a zero byte, the two halves of its id, its name as UTF-16 and the number
// of characters, the number of partitions, and each partition's number; then of all topics' hashes. A partition's
// racks follow its number in Kafka; ours have none, as brokers have no rack.
#include "coordinator/consumer_hash.h"

#include <xxhash.h>

#include "base/arena.h"
#include "base/bytes.h"

enum {
  HASH_TOPIC_BYTES = 1 + 16 + 4 + 4, // without its name and its partitions
};

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
  for (int i = 0; i < 4; i++) {
    *at++ = (uint8_t)(value >> (8 * i));
  }
  return at;
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
  return put_u32(put_u32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

static uint64_t hash_topic(const struct consumer_topic *topic, struct arena *arena)
{
  size_t size = HASH_TOPIC_BYTES + (size_t)topic->name.length * 2 + (size_t)topic->partitions * 4;
  uint8_t *bytes = arena_alloc(arena, size);
  uint8_t *at = bytes;
  *at++ = 0;
  at = put_u64(at, bytes_get_u64(topic->id.bytes));
  at = put_u64(at, bytes_get_u64(topic->id.bytes + 8));
  for (int32_t i = 0; i < topic->name.length; i++) {
    *at++ = (uint8_t)topic->name.data[i]; // names of topics are ASCII
    *at++ = 0;
  }
  at = put_u32(at, (uint32_t)topic->name.length);
  at = put_u32(at, (uint32_t)topic->partitions);
  for (int32_t p = 0; p < topic->partitions; p++) {
    at = put_u32(at, (uint32_t)p);
  }
  return XXH3_64bits(bytes, size);
}

int64_t consumer_hash_topics(const struct consumer_topic *topics, int32_t count, struct arena *arena)
{
  if (count == 0) {
    return 0;
  }
  uint8_t *bytes = arena_alloc(arena, (size_t)count * 8);
  for (int32_t i = 0; i < count; i++) {
    put_u64(bytes + (size_t)i * 8, hash_topic(&topics[i], arena));
  }
  return (int64_t)XXH3_64bits(bytes, (size_t)count * 8);
}
