// SPDX-License-Identifier: Apache-2.0
//
// The part of the load that reads what is set on groups, subscriptions to clients' metrics, and users. Nodes that other
// tools made and that mean nothing here (what stands for all users, a user's clients) are left alone.
#include <string.h>

#include "base/error.h"
#include "base/slog.h"
#include "controller/entity_nodes.h"
#include "controller/load.h"

static const enum metadata_entity_kind kinds[] = {METADATA_USER, METADATA_CLIENT_METRICS, METADATA_GROUP};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

void loader_ask_entity_names(struct loader *loader, struct writes *reads)
{
  for (int i = 0; i < KIND_COUNT; i++) {
    writes_read(reads, METASTORE_CHILDREN, arena_printf(&loader->arena, "/config/%s", entity_nodes_folder(kinds[i])));
  }
}

void loader_take_entity_names(struct loader *loader, const struct metastore_op *ops)
{
  size_t count = 0;
  for (int i = 0; i < KIND_COUNT; i++) {
    count += ops[i].name_count;
  }
  loader->entities = arena_zalloc(&loader->arena, (count + 1) * sizeof *loader->entities);
  for (int i = 0; i < KIND_COUNT; i++) {
    for (size_t j = 0; j < ops[i].name_count; j++) {
      struct entity_load *entity = &loader->entities[loader->entity_count];
      entity->kind = kinds[i];
      if (entity_nodes_decode(&loader->arena, ops[i].names[j], &entity->name, &entity->name_length) == 0) {
        entity->path = arena_printf(&loader->arena, "%s/%s", ops[i].path, ops[i].names[j]);
        loader->entity_count++;
      } else if (strcmp(ops[i].names[j], "<default>") != 0) {
        slog_warn("metastore node %s/%s is not an encoded name: ignored", ops[i].path, ops[i].names[j]);
      }
    }
  }
}

void loader_ask_entities(struct loader *loader, struct writes *reads)
{
  loader->entity_op = reads->count;
  for (int32_t i = 0; i < loader->entity_count; i++) {
    writes_read(reads, METASTORE_GET, loader->entities[i].path);
  }
}

int loader_take_entities(struct loader *loader, const struct metastore_op *ops)
{
  ops += loader->entity_op;
  for (int32_t i = 0; i < loader->entity_count; i++, ops++) {
    struct entity_load *entity = &loader->entities[i];
    if (ops->result == 0 && ops->size > 0 &&
        topic_nodes_read_config(&loader->arena, ops->data, &entity->entries, &entity->entry_count) < 0) {
      return topic_nodes_corrupt(ops->path);
    }
  }
  return 0;
}

void loader_put_entities(const struct loader *loader, struct metadata_draft *draft)
{
  for (int32_t i = 0; i < loader->entity_count; i++) {
    const struct entity_load *entity = &loader->entities[i];
    if (entity->entry_count == 0) {
      continue;
    }
    metadata_draft_put_entity(draft, metadata_entity_new(entity->kind, entity->name, entity->name_length,
                                                         entity->entries, entity->entry_count));
    struct group_config values;
    if (entity->kind == METADATA_GROUP &&
        group_config_lay(loader->controller->config, entity->entries, entity->entry_count, &values) > 0) {
      slog_warn(
          "configs of group %s are outside what the broker's group.* configs allow: the nearest allowed values "
          "hold",
          entity->name);
    }
  }
}
