// SPDX-License-Identifier: Apache-2.0
//
// Puts metastore writes together, step by step. Control thread.
#include <string.h>

#include "controller/controller_private.h"
#include "controller/topic_nodes.h"

void writes_reserve(struct writes *writes, size_t count)
{
  if (writes->count == 0 && writes->room < count) {
    writes->ops = arena_alloc(writes->arena, count * sizeof *writes->ops);
    writes->room = count;
  }
}

void writes_add(struct writes *writes, struct metastore_op op)
{
  if (writes->count == writes->room) {
    size_t room = writes->room * 2 + 16;
    struct metastore_op *ops = arena_alloc(writes->arena, room * sizeof *ops);
    if (writes->count > 0) {
      memcpy(ops, writes->ops, writes->count * sizeof *ops);
    }
    writes->ops = ops;
    writes->room = room;
  }
  writes->ops[writes->count++] = op;
}

void writes_fence(struct writes *writes, int32_t fence_version)
{
  writes_add(writes,
             (struct metastore_op){.kind = METASTORE_CHECK, .path = "/controller_epoch", .version = fence_version});
}

void writes_create(struct writes *writes, const char *path, const char *text)
{
  writes_add(writes, (struct metastore_op){
                         .kind = METASTORE_CREATE, .path = path, .data = text, .size = text ? strlen(text) : 0});
}

void writes_set(struct writes *writes, const char *path, const char *text)
{
  writes_add(
      writes,
      (struct metastore_op){
          .kind = METASTORE_SET, .path = path, .data = text, .size = strlen(text), .version = METASTORE_ANY_VERSION});
}

void writes_delete(struct writes *writes, const char *path)
{
  writes_add(writes, (struct metastore_op){.kind = METASTORE_DELETE, .path = path, .version = METASTORE_ANY_VERSION});
}

void writes_read(struct writes *writes, enum metastore_op_kind kind, const char *path)
{
  writes_add(writes, (struct metastore_op){.kind = kind, .path = path});
}

/// The text of a topic's node.
static const char *topic_text(struct arena *arena, const struct metadata_topic *topic)
{
  struct metadata_partition_spec *specs = arena_zalloc(arena, (size_t)topic->partition_count * sizeof *specs);
  for (int32_t i = 0; i < topic->partition_count; i++) {
    specs[i].replicas = topic->partitions[i].replicas;
    specs[i].replica_count = topic->partitions[i].replica_count;
  }
  return topic_nodes_topic(arena, &topic->id, specs, topic->partition_count);
}

/// The nodes of a topic's partitions from `first` on.
static void create_partitions(struct writes *writes, const struct metadata_topic *topic, int32_t first,
                              int32_t controller_epoch)
{
  struct arena *arena = writes->arena;
  for (int32_t i = first; i < topic->partition_count; i++) {
    const struct metadata_partition *part = &topic->partitions[i];
    writes_create(writes, topic_nodes_path_partition(arena, topic->name, i), NULL);
    writes_create(
        writes, topic_nodes_path_state(arena, topic->name, i),
        topic_nodes_state(arena, part->leader, part->leader_epoch, part->isr, part->isr_count, controller_epoch));
  }
}

void writes_create_topic(struct writes *writes, const struct metadata_topic *topic, int32_t controller_epoch)
{
  struct arena *arena = writes->arena;
  const char *topic_path = topic_nodes_path_topic(arena, topic->name);
  writes_create(writes, topic_nodes_path_config(arena, topic->name),
                topic_nodes_config(arena, topic->overrides, topic->override_count));
  writes_create(writes, topic_path, topic_text(arena, topic));
  writes_create(writes, arena_printf(arena, "%s/partitions", topic_path), NULL);
  create_partitions(writes, topic, 0, controller_epoch);
}

void writes_add_partitions(struct writes *writes, const struct metadata_topic *topic, int32_t first,
                           int32_t controller_epoch)
{
  writes_set(writes, topic_nodes_path_topic(writes->arena, topic->name), topic_text(writes->arena, topic));
  writes->ops[writes->count - 1].version = topic->version - 1;
  create_partitions(writes, topic, first, controller_epoch);
}

void writes_delete_topic(struct writes *writes, const struct metadata_topic *topic)
{
  struct arena *arena = writes->arena;
  for (int32_t i = 0; i < topic->partition_count; i++) {
    writes_delete(writes, topic_nodes_path_state(arena, topic->name, i));
    writes_delete(writes, topic_nodes_path_partition(arena, topic->name, i));
  }
  const char *topic_path = topic_nodes_path_topic(arena, topic->name);
  writes_delete(writes, arena_printf(arena, "%s/partitions", topic_path));
  writes_delete(writes, topic_path);
  writes_delete(writes, topic_nodes_path_config(arena, topic->name));
  writes_delete(writes, topic_nodes_path_delete(arena, topic->name));
}

void writes_submit(struct writes *writes, struct controller *controller, metastore_done_fn done)
{
  metastore_request_clear(&controller->request);
  controller->request =
      (struct metastore_request){.ops = writes->ops, .op_count = writes->count, .done = done, .arg = controller};
  metastore_submit(controller->settings.store, &controller->request);
}
