// SPDX-License-Identifier: Apache-2.0
//
// The part of the load that lays what was set on brokers at run time over what config.lua says. What does not fit any
// more is left out, and said; it stays in its node.
#include "base/error.h"
#include "base/slog.h"
#include "controller/load.h"

void loader_ask_config(struct loader *loader, struct writes *reads)
{
  struct arena *arena = &loader->arena;
  writes_read(reads, METASTORE_GET, topic_nodes_path_broker_config(arena, -1));
  writes_read(reads, METASTORE_GET, topic_nodes_path_broker_config(arena, loader->controller->settings.broker_id));
}

/// What one node sets, with the configs that can be changed first.
static int take_node(struct loader *loader, const struct metastore_op *op, struct config_entry **configs,
                     int32_t *count)
{
  char message[CONFIG_MESSAGE_SIZE];
  *count = 0;
  if (op->result != 0 || !op->data) {
    return 0;
  }
  if (topic_nodes_read_config(&loader->arena, op->data, configs, count) < 0) {
    return topic_nodes_corrupt(op->path);
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < *count; i++) {
    const char *name = (*configs)[i].name;
    int place = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, name);
    if (place < 0 || !broker_config_is_changeable(name)) {
      slog_warn("metastore node %s: config %.*s is ignored: it cannot be set at run time", op->path,
                config_clip(name, 128), name);
    } else if (config_set(&broker_config_defs()[place], (*configs)[i].value, NULL, message) < 0) {
      slog_warn("metastore node %s: config %s is ignored: %s", op->path, name, message);
    } else {
      (*configs)[kept++] = (*configs)[i];
    }
  }
  *count = kept;
  return 0;
}

int loader_take_config(struct loader *loader, const struct metastore_op *ops)
{
  struct controller *controller = loader->controller;
  const struct broker_config *base = controller->settings.config;
  char message[CONFIG_MESSAGE_SIZE];
  struct config_entry *cluster = NULL;
  struct config_entry *own = NULL;
  int32_t cluster_count = 0;
  int32_t own_count = 0;
  struct broker_config *config = NULL;
  TRY(take_node(loader, &ops[0], &cluster, &cluster_count));
  TRY(take_node(loader, &ops[1], &own, &own_count));
  if (broker_config_overlay(base, cluster, cluster_count, own, own_count, &config, message) < 0) {
    // Each is valid, but not with what config.lua says now.
    slog_warn("what was set on the broker at run time is ignored: %s", message);
    if (broker_config_overlay(base, NULL, 0, NULL, 0, &config, message) < 0) {
      return error_set(ERR_CONFIG, "%s", message);
    }
  }
  controller_set_config(controller, config);
  return 0;
}
