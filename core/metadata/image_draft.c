// SPDX-License-Identifier: Apache-2.0
//
// Building the next image. Topics and brokers are made as one block each, with all they point to; the draft keeps two
// sorted arrays, and finishing it lays out the hash spines. Control thread (or start-up).
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "metadata/image_private.h"
#include "metadata/topic_name.h"

enum { SLOTS_MIN = 8 };

struct metadata_draft {
  struct metadata_image *image; ///< the image being built; its arrays grow here; without views until it is finished
  const struct metadata_image *base; ///< what it was made from, or NULL
  int32_t broker_room;               ///< slots of image->brokers
  int32_t topic_room;                ///< slots of image->topics
  int32_t entity_room;               ///< slots of image->entities
  bool has_new_brokers;              ///< the set of brokers differs from the base: offline replicas change
};

/// Hands out parts of one block.
struct block {
  char *base;  ///< NULL while the size is being summed up
  size_t used; ///< bytes given out
};

static void *block_take(struct block *block, size_t size)
{
  block->used = (block->used + 15) & ~(size_t)15;
  void *part = block->base ? block->base + block->used : NULL;
  block->used += size;
  return part;
}

static const char *block_text(struct block *block, const char *text)
{
  size_t size = strlen(text) + 1;
  char *copy = block_take(block, size);
  return copy ? memcpy(copy, text, size) : text;
}

static const int32_t *block_ids(struct block *block, const int32_t *ids, int32_t count)
{
  size_t size = (size_t)count * sizeof *ids;
  int32_t *copy = block_take(block, size);
  if (copy && size > 0) {
    memcpy(copy, ids, size);
  }
  return copy;
}

// ---- brokers ----

static struct metadata_broker *lay_broker(struct block *block, int32_t id, int64_t epoch, const char *rack,
                                          const struct metadata_endpoint *endpoints, int32_t endpoint_count)
{
  struct metadata_broker *broker = block_take(block, sizeof *broker);
  struct metadata_endpoint *copies = block_take(block, (size_t)endpoint_count * sizeof *copies);
  const char *rack_copy = rack ? block_text(block, rack) : NULL;
  for (int32_t i = 0; i < endpoint_count; i++) {
    struct metadata_endpoint copy = {
        .listener = block_text(block, endpoints[i].listener),
        .protocol = block_text(block, endpoints[i].protocol),
        .host = block_text(block, endpoints[i].host),
        .port = endpoints[i].port,
    };
    if (copies) {
      copies[i] = copy;
    }
  }
  if (broker) {
    atomic_init(&broker->refs, 1);
    broker->id = id;
    broker->epoch = epoch;
    broker->rack = rack_copy;
    broker->endpoint_count = endpoint_count;
    broker->endpoints = copies;
  }
  return broker;
}

struct metadata_broker *metadata_broker_new(int32_t id, int64_t epoch, const char *rack,
                                            const struct metadata_endpoint *endpoints, int32_t endpoint_count)
{
  struct block block = {0};
  lay_broker(&block, id, epoch, rack, endpoints, endpoint_count);
  block = (struct block){.base = mem_zalloc(block.used)};
  return lay_broker(&block, id, epoch, rack, endpoints, endpoint_count);
}

// ---- topics ----

/// All that a topic is made of.
struct topic_parts {
  const char *name;
  const struct uuid *id;
  int32_t version;
  const struct metadata_partition_spec *partitions;
  int32_t partition_count;
  const struct config_entry *overrides;
  int32_t override_count;
  const struct topic_config *config;
};

static void lay_partitions(struct block *block, const struct topic_parts *parts, struct metadata_partition *partitions)
{
  for (int32_t i = 0; i < parts->partition_count; i++) {
    const struct metadata_partition_spec *spec = &parts->partitions[i];
    struct metadata_partition partition = {
        .leader = spec->leader,
        .leader_epoch = spec->leader_epoch,
        .partition_epoch = spec->partition_epoch,
        .replica_count = spec->replica_count,
        .isr_count = spec->isr_count,
        .replicas = block_ids(block, spec->replicas, spec->replica_count),
        .isr = block_ids(block, spec->isr, spec->isr_count),
        .offline = block_take(block, (size_t)spec->replica_count * sizeof(int32_t)),
    };
    if (partitions) {
      partitions[i] = partition;
    }
  }
}

static struct metadata_topic *lay_topic(struct block *block, const struct topic_parts *parts)
{
  struct metadata_topic *topic = block_take(block, sizeof *topic);
  const char *name = block_text(block, parts->name);
  struct metadata_partition *partitions = block_take(block, (size_t)parts->partition_count * sizeof *partitions);
  struct config_entry *overrides = block_take(block, (size_t)parts->override_count * sizeof *overrides);
  lay_partitions(block, parts, partitions);
  for (int32_t i = 0; i < parts->override_count; i++) {
    struct config_entry copy = {block_text(block, parts->overrides[i].name),
                                block_text(block, parts->overrides[i].value)};
    if (overrides) {
      overrides[i] = copy;
    }
  }
  if (topic) {
    atomic_init(&topic->refs, 1);
    topic->name = name;
    topic->name_length = (int32_t)strlen(name);
    topic->hash = image_hash_name(name, (size_t)topic->name_length);
    topic->id = *parts->id;
    topic->is_internal = topic_name_is_internal(name);
    topic->version = parts->version;
    topic->partition_count = parts->partition_count;
    topic->partitions = partitions;
    topic->override_count = parts->override_count;
    topic->overrides = overrides;
    topic->config = *parts->config;
  }
  return topic;
}

static struct metadata_topic *make_topic(const struct topic_parts *parts)
{
  struct block block = {0};
  lay_topic(&block, parts);
  block = (struct block){.base = mem_zalloc(block.used)};
  return lay_topic(&block, parts);
}

struct metadata_topic *metadata_topic_new(const char *name, const struct uuid *id, int32_t version,
                                          const struct metadata_partition_spec *partitions, int32_t partition_count,
                                          const struct config_entry *overrides, int32_t override_count,
                                          const struct topic_config *config)
{
  struct topic_parts parts = {name, id, version, partitions, partition_count, overrides, override_count, config};
  return make_topic(&parts);
}

struct metadata_topic *metadata_topic_with_config(const struct metadata_topic *topic,
                                                  const struct config_entry *overrides, int32_t override_count,
                                                  const struct topic_config *config)
{
  struct metadata_partition_spec *specs = mem_array((size_t)topic->partition_count, sizeof *specs);
  for (int32_t i = 0; i < topic->partition_count; i++) {
    const struct metadata_partition *part = &topic->partitions[i];
    specs[i] =
        (struct metadata_partition_spec){part->leader,        part->leader_epoch, part->partition_epoch, part->replicas,
                                         part->replica_count, part->isr,          part->isr_count};
  }
  struct metadata_topic *copy = metadata_topic_new(topic->name, &topic->id, topic->version, specs,
                                                   topic->partition_count, overrides, override_count, config);
  mem_free(specs);
  return copy;
}

// ---- the draft ----

struct metadata_draft *metadata_draft_new(const struct metadata_image *base)
{
  struct metadata_draft *draft = mem_zalloc(sizeof *draft);
  struct metadata_image *image = mem_zalloc(sizeof *image);
  draft->image = image;
  draft->base = base;
  atomic_init(&image->refs, 1);
  image->controller_id = -1;
  if (!base) {
    return draft;
  }
  image->version = base->version;
  memcpy(image->cluster_id, base->cluster_id, sizeof image->cluster_id);
  image->controller_id = base->controller_id;
  image->controller_epoch = base->controller_epoch;
  image->config = base->config;
  if (image->config) {
    broker_config_ref(image->config);
  }
  image->broker_count = draft->broker_room = base->broker_count;
  draft->topic_room = base->topic_count;
  image->brokers = mem_array((size_t)base->broker_count, sizeof *image->brokers);
  image->topics = mem_array((size_t)base->topic_count, sizeof *image->topics);
  for (int32_t i = 0; i < base->broker_count; i++) {
    image->brokers[i] = base->brokers[i];
    image_broker_ref(image->brokers[i]);
  }
  for (int32_t i = 0; i < base->topic_count; i++) {
    if (!base->topics[i]->source) {
      image->topics[image->topic_count++] = base->topics[i];
      metadata_topic_ref(base->topics[i]);
    }
  }
  image_entities_share(image, base);
  image_views_share(image, base);
  draft->entity_room = base->entity_count;
  return draft;
}

void metadata_draft_set_cluster(struct metadata_draft *draft, const char *cluster_id)
{
  size_t length = strnlen(cluster_id, METADATA_CLUSTER_ID_SIZE - 1);
  memcpy(draft->image->cluster_id, cluster_id, length);
  draft->image->cluster_id[length] = '\0';
}

void metadata_draft_set_controller(struct metadata_draft *draft, int32_t id, int32_t epoch)
{
  draft->image->controller_id = id;
  draft->image->controller_epoch = epoch;
}

void metadata_draft_set_config(struct metadata_draft *draft, const struct broker_config *config)
{
  broker_config_ref(config);
  if (draft->image->config) {
    broker_config_unref(draft->image->config);
  }
  draft->image->config = config;
  image_entities_lay(draft->image);
}

/// Place of the first broker with an id not below `id`.
static int32_t broker_place(const struct metadata_image *image, int32_t id)
{
  int32_t at = 0;
  while (at < image->broker_count && image->brokers[at]->id < id) {
    at++;
  }
  return at;
}

void metadata_draft_set_views(struct metadata_draft *draft, const struct topic_view *views, int32_t count)
{
  image_views_set(draft->image, views, count);
}

int32_t image_topic_place(const struct metadata_image *image, const char *name)
{
  int32_t low = 0;
  for (int32_t high = image->topic_count; low < high;) {
    int32_t middle = low + (high - low) / 2;
    if (strcmp(image->topics[middle]->name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void metadata_draft_put_broker(struct metadata_draft *draft, struct metadata_broker *broker)
{
  struct metadata_image *image = draft->image;
  int32_t at = broker_place(image, broker->id);
  draft->has_new_brokers = true;
  if (at < image->broker_count && image->brokers[at]->id == broker->id) {
    metadata_broker_unref(image->brokers[at]);
    image->brokers[at] = broker;
    return;
  }
  if (image->broker_count == draft->broker_room) {
    draft->broker_room = draft->broker_room * 2 + 4;
    image->brokers = mem_realloc(image->brokers, (size_t)draft->broker_room * sizeof *image->brokers);
  }
  memmove(&image->brokers[at + 1], &image->brokers[at], (size_t)(image->broker_count - at) * sizeof *image->brokers);
  image->brokers[at] = broker;
  image->broker_count++;
}

void metadata_draft_remove_broker(struct metadata_draft *draft, int32_t id)
{
  struct metadata_image *image = draft->image;
  int32_t at = broker_place(image, id);
  if (at == image->broker_count || image->brokers[at]->id != id) {
    return;
  }
  draft->has_new_brokers = true;
  metadata_broker_unref(image->brokers[at]);
  image->broker_count--;
  memmove(&image->brokers[at], &image->brokers[at + 1], (size_t)(image->broker_count - at) * sizeof *image->brokers);
}

/// Whether the offline replicas of a topic are not what the image's brokers make them.
static bool is_offline_stale(const struct metadata_image *image, const struct metadata_topic *topic)
{
  for (int32_t i = 0; i < topic->partition_count; i++) {
    const struct metadata_partition *part = &topic->partitions[i];
    int32_t found = 0;
    for (int32_t j = 0; j < part->replica_count; j++) {
      if (metadata_image_broker(image, part->replicas[j])) {
        continue;
      }
      if (found >= part->offline_count || part->offline[found] != part->replicas[j]) {
        return true;
      }
      found++;
    }
    if (found != part->offline_count) {
      return true;
    }
  }
  return false;
}

static void fill_offline(const struct metadata_image *image, struct metadata_topic *topic)
{
  for (int32_t i = 0; i < topic->partition_count; i++) {
    struct metadata_partition *part = &topic->partitions[i];
    int32_t *offline = (int32_t *)part->offline;
    part->offline_count = 0;
    for (int32_t j = 0; j < part->replica_count; j++) {
      if (!metadata_image_broker(image, part->replicas[j])) {
        offline[part->offline_count++] = part->replicas[j];
      }
    }
  }
}

/// The topic with the offline replicas that the draft's brokers make; a copy when they differ. The reference is taken.
static struct metadata_topic *with_offline(const struct metadata_image *image, struct metadata_topic *topic)
{
  if (!is_offline_stale(image, topic)) {
    return topic;
  }
  struct metadata_topic *copy =
      metadata_topic_with_config(topic, topic->overrides, topic->override_count, &topic->config);
  metadata_topic_unref(topic);
  fill_offline(image, copy);
  return copy;
}

void metadata_draft_put_topic(struct metadata_draft *draft, struct metadata_topic *topic)
{
  struct metadata_image *image = draft->image;
  topic = with_offline(image, topic);
  int32_t at = image_topic_place(image, topic->name);
  if (at < image->topic_count && strcmp(image->topics[at]->name, topic->name) == 0) {
    metadata_topic_unref(image->topics[at]);
    image->topics[at] = topic;
    return;
  }
  if (image->topic_count == draft->topic_room) {
    draft->topic_room = draft->topic_room + draft->topic_room / 2 + 8;
    image->topics = mem_realloc(image->topics, (size_t)draft->topic_room * sizeof *image->topics);
  }
  memmove(&image->topics[at + 1], &image->topics[at], (size_t)(image->topic_count - at) * sizeof *image->topics);
  image->topics[at] = topic;
  image->topic_count++;
}

void metadata_draft_remove_topic(struct metadata_draft *draft, const char *name)
{
  struct metadata_image *image = draft->image;
  int32_t at = image_topic_place(image, name);
  if (at == image->topic_count || strcmp(image->topics[at]->name, name) != 0) {
    return;
  }
  metadata_topic_unref(image->topics[at]);
  image->topic_count--;
  memmove(&image->topics[at], &image->topics[at + 1], (size_t)(image->topic_count - at) * sizeof *image->topics);
}

void metadata_draft_put_entity(struct metadata_draft *draft, struct metadata_entity *entity)
{
  image_entities_put(draft->image, &draft->entity_room, entity);
}

void metadata_draft_remove_entity(struct metadata_draft *draft, enum metadata_entity_kind kind, const char *name,
                                  size_t length)
{
  image_entities_remove(draft->image, kind, name, length);
}

static void put_slot(struct metadata_topic **slots, uint32_t mask, uint32_t hash, struct metadata_topic *topic)
{
  uint32_t slot = hash & mask;
  while (slots[slot]) {
    slot = (slot + 1) & mask;
  }
  slots[slot] = topic;
}

struct metadata_image *metadata_draft_finish(struct metadata_draft *draft)
{
  struct metadata_image *image = draft->image;
  uint32_t slots = SLOTS_MIN;
  for (int32_t i = 0; draft->has_new_brokers && i < image->topic_count; i++) {
    image->topics[i] = with_offline(image, image->topics[i]);
  }
  image_views_make(image, draft->base);
  while (slots < (uint32_t)image->topic_count * 2) {
    slots *= 2;
  }
  image->version++;
  image->slot_mask = slots - 1;
  image->by_name = mem_array(slots, sizeof *image->by_name);
  image->by_id = mem_array(slots, sizeof *image->by_id);
  image->partition_count = 0;
  for (int32_t i = 0; i < image->topic_count; i++) {
    struct metadata_topic *topic = image->topics[i];
    image->partition_count += topic->source ? 0 : topic->partition_count;
    put_slot(image->by_name, image->slot_mask, topic->hash, topic);
    put_slot(image->by_id, image->slot_mask, image_hash_id(&topic->id), topic);
  }
  mem_free(draft);
  return image;
}

void metadata_draft_cancel(struct metadata_draft *draft)
{
  struct metadata_image *image = draft->image;
  mem_free(draft);
  metadata_image_unref(image);
}
