// SPDX-License-Identifier: Apache-2.0
//
// Reads brokers, topics and partitions out of the metastore's answers, and mends what is missing: topics that another
// tool made have no states yet, topics of old versions no id. Leaders are elected anew where they are gone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/slog.h"
#include "controller/election.h"
#include "controller/load.h"
#include "controller/placement.h"
#include "metadata/topic_name.h"

void loader_free(struct loader *loader)
{
  for (int32_t i = 0; i < loader->topic_count; i++) {
    if (loader->topics[i].made) {
      metadata_topic_unref(loader->topics[i].made);
    }
  }
  for (int32_t i = 0; i < loader->broker_count; i++) {
    metadata_broker_unref(loader->brokers[i]);
  }
  for (int32_t i = 0; i < loader->adopted_count; i++) {
    metadata_topic_unref(loader->adopted[i].topic);
  }
  static_work_destroy(&loader->work);
  if (loader->image) {
    metadata_image_unref(loader->image);
  }
  for (size_t i = 0; i < loader->arena_count; i++) {
    arena_destroy(&loader->arenas[i]);
  }
  mem_free(loader->arenas);
  arena_destroy(&loader->arena);
  mem_free(loader);
}

// ---- names ----

static int compare_loads(const void *left, const void *right)
{
  return strcmp(((const struct topic_load *)left)->name, ((const struct topic_load *)right)->name);
}

static void take_broker_ids(struct loader *loader, const struct metastore_op *op)
{
  loader->live = arena_alloc(&loader->arena, op->name_count * sizeof *loader->live);
  int32_t count = 0;
  for (size_t i = 0; i < op->name_count; i++) {
    char *end = NULL;
    long id = strtol(op->names[i], &end, 10);
    if (*end != '\0' || id < 0 || id > INT32_MAX) {
      slog_warn("metastore node /brokers/ids/%s is not a broker id: ignored", op->names[i]);
      continue;
    }
    loader->live[count++] = (int32_t)id;
  }
  qsort(loader->live, (size_t)count, sizeof *loader->live, placement_compare_ids);
  loader->live_count = count;
  loader->brokers = arena_zalloc(&loader->arena, (size_t)count * sizeof *loader->brokers);
}

/// Adds the names of one node to the topics: those of /brokers/topics, then those of /admin/delete_topics.
static void take_topic_names(struct loader *loader, const struct metastore_op *op, bool is_doomed)
{
  int32_t known = loader->topic_count;
  for (size_t i = 0; i < op->name_count; i++) {
    struct topic_load key = {.name = op->names[i], .is_doomed = is_doomed, .is_there = !is_doomed};
    struct topic_load *found =
        is_doomed ? bsearch(&key, loader->topics, (size_t)known, sizeof key, compare_loads) : NULL;
    if (found) {
      found->is_doomed = true;
    } else if (topic_name_validate(key.name, strlen(key.name), NULL) < 0) {
      slog_warn("metastore node %s/%s is not a topic name: ignored", op->path, key.name);
      continue;
    } else {
      loader->topics[loader->topic_count++] = key;
    }
    loader->doomed_count += is_doomed;
  }
  qsort(loader->topics, (size_t)loader->topic_count, sizeof *loader->topics, compare_loads);
}

void loader_take_names(struct loader *loader, const struct metastore_op *ops)
{
  take_broker_ids(loader, &ops[0]);
  loader->topics = arena_alloc(&loader->arena, (ops[1].name_count + ops[2].name_count) * sizeof *loader->topics);
  take_topic_names(loader, &ops[1], false);
  take_topic_names(loader, &ops[2], true);
}

// ---- registrations, topics, configs ----

void loader_ask_nodes(struct loader *loader, struct writes *reads)
{
  for (int32_t i = 0; i < loader->live_count; i++) {
    writes_read(reads, METASTORE_GET, arena_printf(&loader->arena, "/brokers/ids/%d", loader->live[i]));
  }
  for (int32_t i = 0; i < loader->topic_count; i++) {
    const char *path = topic_nodes_path_topic(&loader->arena, loader->topics[i].name);
    writes_read(reads, METASTORE_GET, path);
    writes_read(reads, METASTORE_GET, topic_nodes_path_config(&loader->arena, loader->topics[i].name));
    writes_read(reads, METASTORE_GET, arena_printf(&loader->arena, "%s/partitions", path));
  }
}

static int take_topic(struct loader *loader, struct topic_load *topic, const struct metastore_op *ops)
{
  topic->is_there = ops[0].result == 0;
  topic->has_config = ops[1].result == 0;
  topic->has_partitions = ops[2].result == 0;
  topic->version = ops[0].stat.version;
  if (topic->is_there && topic_nodes_read_topic(&loader->arena, ops[0].data, &topic->node) < 0) {
    return topic_nodes_corrupt(ops[0].path);
  }
  // Kafka leaves this node empty where nothing was ever set.
  if (topic->has_config && ops[1].data &&
      topic_nodes_read_config(&loader->arena, ops[1].data, &topic->overrides, &topic->override_count) < 0) {
    return topic_nodes_corrupt(ops[1].path);
  }
  topic->partitions = arena_zalloc(&loader->arena, (size_t)topic->node.partition_count * sizeof *topic->partitions);
  return 0;
}

int loader_take_nodes(struct loader *loader, const struct metastore_op *ops)
{
  int32_t asked = loader->live_count;
  loader->live_count = 0;
  for (int32_t i = 0; i < asked; i++, ops++) {
    if (ops->result == ERR_NOT_FOUND) {
      continue; // gone since its name was read
    }
    int32_t id = loader->live[i];
    struct metadata_broker **broker = &loader->brokers[loader->broker_count];
    if (topic_nodes_read_broker(&loader->arena, ops->data, id, ops->stat.create_zxid, broker) < 0) {
      return topic_nodes_corrupt(ops->path);
    }
    loader->broker_count++;
    loader->live[loader->live_count++] = id;
  }
  for (int32_t i = 0; i < loader->topic_count; i++, ops += 3) {
    int result = take_topic(loader, &loader->topics[i], ops);
    if (result < 0) {
      return result;
    }
  }
  return 0;
}

// ---- partitions ----

void loader_ask_states(struct loader *loader, struct writes *reads)
{
  for (int32_t i = 0; i < loader->topic_count; i++) {
    const struct topic_load *topic = &loader->topics[i];
    for (int32_t j = 0; j < topic->node.partition_count; j++) {
      writes_read(reads, METASTORE_GET, topic_nodes_path_partition(&loader->arena, topic->name, j));
      writes_read(reads, METASTORE_GET, topic_nodes_path_state(&loader->arena, topic->name, j));
    }
  }
}

/// Room for the in-sync replicas that an election may leave.
static int32_t *isr_room(struct loader *loader, const struct topic_load *topic, int32_t partition)
{
  const struct partition_load *part = &topic->partitions[partition];
  int32_t replicas = topic->node.partitions[partition].replica_count;
  int32_t room = replicas > part->state.isr_count ? replicas : part->state.isr_count;
  int32_t *isr = arena_alloc(&loader->arena, (size_t)(room + 1) * sizeof *isr);
  if (part->state.isr_count > 0) {
    memcpy(isr, part->state.isr, (size_t)part->state.isr_count * sizeof *isr);
  }
  return isr;
}

static void elect(struct loader *loader, struct topic_load *topic, const struct topic_config *config, int32_t partition,
                  struct writes *writes)
{
  const struct controller *controller = loader->controller;
  const struct controller_settings *settings = &controller->settings;
  struct partition_load *part = &topic->partitions[partition];
  struct election election = {
      .live = loader->live,
      .live_count = loader->live_count,
      .replicas = topic->node.partitions[partition].replicas,
      .replica_count = topic->node.partitions[partition].replica_count,
      .restarted = settings->is_clean_start ? -1 : settings->broker_id,
      .is_unclean_allowed = config->unclean_leader_election_enable,
  };
  struct election_state state = {
      .leader = part->state.leader,
      .leader_epoch = part->state.leader_epoch,
      .isr_count = part->state.isr_count,
      .isr = isr_room(loader, topic, partition),
  };
  if (part->has_state && !election_renew(&election, &state)) {
    return;
  }
  if (!part->has_state) {
    election_new(&election, &state);
  }
  const char *path = topic_nodes_path_state(&loader->arena, topic->name, partition);
  const char *text = topic_nodes_state(&loader->arena, state.leader, state.leader_epoch, state.isr, state.isr_count,
                                       controller->epoch);
  if (part->has_state) {
    writes_set(writes, path, text);
    writes->ops[writes->count - 1].version = part->version++;
  } else {
    writes_create(writes, path, text);
  }
  part->state = (struct state_node){state.leader, state.leader_epoch, controller->epoch, state.isr_count, state.isr};
}

/// Resolves a topic's configs; one that does not fit any more is left out, and said.
static void resolve(struct loader *loader, struct topic_load *topic, struct topic_config *config)
{
  char message[CONFIG_MESSAGE_SIZE];
  const struct topic_config_defaults *defaults = &loader->controller->config->topic;
  int32_t kept = 0;
  *config = defaults->values;
  for (int32_t i = 0; i < topic->override_count; i++) {
    topic->overrides[kept] = topic->overrides[i];
    if (topic_config_resolve(defaults, topic->overrides, kept + 1, config, message) < 0) {
      slog_warn("topic %s: config %s is ignored: %s", topic->name, topic->overrides[kept].name, message);
    } else {
      kept++;
    }
  }
  topic->override_count = kept;
}

/// Adds what a topic lacks, and the elections of its partitions.
static void mend_topic(struct loader *loader, struct topic_load *topic, struct writes *writes)
{
  struct arena *arena = &loader->arena;
  struct topic_config config;
  const char *path = topic_nodes_path_topic(arena, topic->name);
  if (uuid_is_zero(&topic->node.id)) {
    uuid_random(&topic->node.id);
    writes_set(writes, path,
               topic_nodes_topic(arena, &topic->node.id, topic->node.partitions, topic->node.partition_count));
    writes->ops[writes->count - 1].version = topic->version++;
  }
  if (!topic->has_config) {
    writes_create(writes, topic_nodes_path_config(arena, topic->name), topic_nodes_config(arena, NULL, 0));
  }
  if (!topic->has_partitions) {
    writes_create(writes, arena_printf(arena, "%s/partitions", path), NULL);
  }
  resolve(loader, topic, &config);
  for (int32_t i = 0; i < topic->node.partition_count; i++) {
    if (!topic->partitions[i].has_node) {
      writes_create(writes, topic_nodes_path_partition(arena, topic->name, i), NULL);
    }
    elect(loader, topic, &config, i, writes);
  }
}

int loader_take_states(struct loader *loader, const struct metastore_op *ops, struct writes *writes)
{
  for (int32_t i = 0; i < loader->topic_count; i++) {
    struct topic_load *topic = &loader->topics[i];
    for (int32_t j = 0; j < topic->node.partition_count; j++, ops += 2) {
      struct partition_load *part = &topic->partitions[j];
      part->has_node = ops[0].result == 0;
      part->has_state = ops[1].result == 0;
      part->version = ops[1].stat.version;
      if (part->has_state && topic_nodes_read_state(&loader->arena, ops[1].data, &part->state) < 0) {
        return topic_nodes_corrupt(ops[1].path);
      }
    }
  }
  writes_fence(writes, loader->controller->fence_version);
  for (int32_t i = 0; i < loader->topic_count; i++) {
    if (loader->topics[i].is_there && !loader->topics[i].is_doomed) {
      mend_topic(loader, &loader->topics[i], writes);
    }
  }
  return 0;
}

// ---- the image's topics ----

static void make_topic(struct loader *loader, struct topic_load *topic)
{
  struct topic_config config;
  resolve(loader, topic, &config);
  for (int32_t i = 0; i < topic->node.partition_count; i++) {
    const struct partition_load *part = &topic->partitions[i];
    struct metadata_partition_spec *spec = &topic->node.partitions[i];
    spec->leader = part->state.leader;
    spec->leader_epoch = part->state.leader_epoch;
    spec->partition_epoch = part->has_state ? part->version : 0;
    spec->isr = part->state.isr;
    spec->isr_count = part->state.isr_count;
  }
  topic->made = metadata_topic_new(topic->name, &topic->node.id, topic->version, topic->node.partitions,
                                   topic->node.partition_count, topic->overrides, topic->override_count, &config);
}

void loader_make_topics(struct loader *loader)
{
  size_t slots = (size_t)loader->topic_count;
  int32_t doomed = 0;
  loader->kept = arena_alloc(&loader->arena, slots * sizeof *loader->kept);
  loader->doomed = arena_alloc(&loader->arena, slots * sizeof *loader->doomed);
  for (int32_t i = 0; i < loader->topic_count; i++) {
    struct topic_load *topic = &loader->topics[i];
    if (!topic->is_there) {
      continue;
    }
    make_topic(loader, topic);
    if (topic->is_doomed) {
      loader->doomed[doomed++] = topic->made;
    } else {
      loader->kept[loader->kept_count++] = topic->made;
    }
  }
  loader->doomed_there = doomed;
}

void loader_remove_doomed(struct loader *loader, struct writes *writes)
{
  struct arena *arena = &loader->arena;
  writes_fence(writes, loader->controller->fence_version);
  for (int32_t i = 0; i < loader->topic_count; i++) {
    const struct topic_load *topic = &loader->topics[i];
    if (!topic->is_doomed) {
      continue;
    }
    for (int32_t j = 0; j < topic->node.partition_count; j++) {
      if (topic->partitions[j].has_state) {
        writes_delete(writes, topic_nodes_path_state(arena, topic->name, j));
      }
      if (topic->partitions[j].has_node) {
        writes_delete(writes, topic_nodes_path_partition(arena, topic->name, j));
      }
    }
    const char *path = topic_nodes_path_topic(arena, topic->name);
    if (topic->has_partitions) {
      writes_delete(writes, arena_printf(arena, "%s/partitions", path));
    }
    if (topic->is_there) {
      writes_delete(writes, path);
    }
    if (topic->has_config) {
      writes_delete(writes, topic_nodes_path_config(arena, topic->name));
    }
    writes_delete(writes, topic_nodes_path_delete(arena, topic->name));
    slog_info("finished the deletion of topic %s", topic->name);
  }
}
