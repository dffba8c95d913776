// SPDX-License-Identifier: Apache-2.0
//
// Reading the image: the cache, references, look-ups. Topics and brokers are blocks of their own that many images
// share; an image owns the spine and one reference to each.
#include "metadata/image.h"

#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "metadata/broker_config.h"
#include "metadata/image_private.h"

uint32_t image_hash_name(const char *name, size_t length)
{
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) {
    hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  }
  return hash ^ (hash >> 15);
}

uint32_t image_hash_id(const struct uuid *id)
{
  uint32_t parts[4];
  memcpy(parts, id->bytes, sizeof parts);
  uint32_t hash = (parts[0] ^ parts[1] ^ parts[2] ^ parts[3]) * 2654435761u;
  return hash ^ (hash >> 15);
}

void metadata_topic_ref(const struct metadata_topic *topic)
{
  atomic_fetch_add_explicit(&((struct metadata_topic *)topic)->refs, 1, memory_order_relaxed);
}

void metadata_topic_unref(const struct metadata_topic *topic)
{
  struct metadata_topic *mine = (struct metadata_topic *)topic;
  if (atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) == 1) {
    if (mine->source) {
      metadata_topic_unref(mine->source); // no view, so no further
    }
    mem_free(mine);
  }
}

void image_broker_ref(struct metadata_broker *broker)
{
  atomic_fetch_add_explicit(&broker->refs, 1, memory_order_relaxed);
}

void metadata_broker_unref(struct metadata_broker *broker)
{
  if (atomic_fetch_sub_explicit(&broker->refs, 1, memory_order_acq_rel) == 1) {
    mem_free(broker);
  }
}

void metadata_image_ref(const struct metadata_image *image)
{
  atomic_fetch_add_explicit(&((struct metadata_image *)image)->refs, 1, memory_order_relaxed);
}

void metadata_image_unref(const struct metadata_image *image)
{
  struct metadata_image *mine = (struct metadata_image *)image;
  if (atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  for (int32_t i = 0; i < mine->topic_count; i++) {
    metadata_topic_unref(mine->topics[i]);
  }
  for (int32_t i = 0; i < mine->broker_count; i++) {
    metadata_broker_unref(mine->brokers[i]);
  }
  image_entities_drop(mine);
  image_views_drop(mine);
  if (mine->config) {
    broker_config_unref(mine->config);
  }
  mem_free(mine->topics);
  mem_free(mine->brokers);
  mem_free(mine->by_name);
  mem_free(mine->by_id);
  mem_free(mine);
}

static void free_retired(struct epoch_retired *retired)
{
  metadata_image_unref(CONTAINER_OF(retired, struct metadata_image, retired));
}

void metadata_cache_create(struct metadata_cache *cache)
{
  atomic_init(&cache->current, metadata_draft_finish(metadata_draft_new(NULL)));
}

void metadata_cache_destroy(struct metadata_cache *cache)
{
  struct metadata_image *image = atomic_exchange_explicit(&cache->current, NULL, memory_order_acq_rel);
  if (image) {
    metadata_image_unref(image);
  }
}

const struct metadata_image *metadata_cache_get(struct metadata_cache *cache)
{
  return atomic_load_explicit(&cache->current, memory_order_acquire);
}

void metadata_cache_publish(struct metadata_cache *cache, struct metadata_image *image)
{
  struct metadata_image *old = atomic_exchange_explicit(&cache->current, image, memory_order_acq_rel);
  CHECK(old != NULL && old != image);
  epoch_retire(&old->retired, free_retired);
}

const struct metadata_topic *metadata_image_topic(const struct metadata_image *image, const char *name, size_t length)
{
  uint32_t hash = image_hash_name(name, length);
  for (uint32_t slot = hash & image->slot_mask;; slot = (slot + 1) & image->slot_mask) {
    const struct metadata_topic *topic = image->by_name[slot];
    if (!topic) {
      return NULL;
    }
    if (topic->hash == hash && (size_t)topic->name_length == length && memcmp(topic->name, name, length) == 0) {
      return topic;
    }
  }
}

const struct metadata_topic *metadata_image_topic_by_id(const struct metadata_image *image, const struct uuid *id)
{
  for (uint32_t slot = image_hash_id(id) & image->slot_mask;; slot = (slot + 1) & image->slot_mask) {
    const struct metadata_topic *topic = image->by_id[slot];
    if (!topic || uuid_equal(&topic->id, id)) {
      return topic;
    }
  }
}

const struct metadata_partition *metadata_topic_partition(const struct metadata_topic *topic, int32_t partition)
{
  return partition >= 0 && partition < topic->partition_count ? &topic->partitions[partition] : NULL;
}

const struct metadata_broker *metadata_image_broker(const struct metadata_image *image, int32_t id)
{
  for (int32_t low = 0, high = image->broker_count; low < high;) {
    int32_t middle = low + (high - low) / 2;
    if (image->brokers[middle]->id == id) {
      return image->brokers[middle];
    }
    if (image->brokers[middle]->id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const struct metadata_endpoint *metadata_broker_endpoint(const struct metadata_broker *broker, const char *listener)
{
  for (int32_t i = 0; i < broker->endpoint_count; i++) {
    if (strcmp(broker->endpoints[i].listener, listener) == 0) {
      return &broker->endpoints[i];
    }
  }
  return NULL;
}
