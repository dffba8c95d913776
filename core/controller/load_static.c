// SPDX-License-Identifier: Apache-2.0
//
// The part of the load that applies the topic blocks of the configuration: asks for what was last applied, has
// static_topics.c decide, adds what has to be written, and says what was done.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/slog.h"
#include "controller/load.h"

enum { READS_PER_BLOCK = 2 };

void loader_make_image(struct loader *loader)
{
  const struct controller *controller = loader->controller;
  struct metadata_draft *draft = metadata_draft_new(NULL);
  metadata_draft_set_cluster(draft, controller->cluster_id);
  metadata_draft_set_controller(draft, controller->settings.broker_id, controller->epoch);
  metadata_draft_set_config(draft, controller->config);
  for (int32_t i = 0; i < loader->broker_count; i++) {
    metadata_draft_put_broker(draft, loader->brokers[i]);
  }
  loader->broker_count = 0;
  for (int32_t i = 0; i < loader->kept_count; i++) {
    metadata_topic_ref(loader->kept[i]);
    metadata_draft_put_topic(draft, (struct metadata_topic *)loader->kept[i]);
  }
  loader->image = metadata_draft_finish(draft);
}

void loader_ask_static(struct loader *loader, struct writes *reads)
{
  const struct controller_settings *settings = &loader->controller->settings;
  writes_read(reads, METASTORE_GET, "/luka/topics");
  for (int32_t i = 0; i < settings->static_topic_count; i++) {
    const char *name = settings->static_topics[i].name;
    writes_read(reads, METASTORE_GET, topic_nodes_path_static(&loader->arena, name));
    writes_read(reads, METASTORE_GET, topic_nodes_path_config(&loader->arena, name));
  }
}

static int take_found(struct loader *loader, const struct metastore_op *ops, struct static_topic_found *found)
{
  struct config_entry *configs = NULL;
  *found = (struct static_topic_found){
      .applied_version = ops[0].stat.version,
      .has_configs = ops[1].result == 0,
      .config_version = ops[1].stat.version,
  };
  if (ops[0].result == 0 && topic_nodes_read_static(&loader->arena, ops[0].data, &found->applied) < 0) {
    return loader_corrupt(ops[0].path);
  }
  if (found->has_configs && ops[1].data &&
      topic_nodes_read_config(&loader->arena, ops[1].data, &configs, &found->config_count) < 0) {
    return loader_corrupt(ops[1].path);
  }
  found->configs = configs;
  return 0;
}

int loader_take_static(struct loader *loader, const struct metastore_op *ops, struct writes *writes)
{
  const struct controller *controller = loader->controller;
  const struct controller_settings *settings = &controller->settings;
  struct topic_plan_context context = {.image = loader->image, .config = controller->config, .make_id = uuid_random};
  int32_t applied = 0;
  writes_fence(writes, controller->fence_version);
  if (ops[0].result == ERR_NOT_FOUND) {
    writes_create(writes, ops[0].path, NULL);
  }
  loader->plans = arena_zalloc(&loader->arena, (size_t)settings->static_topic_count * sizeof *loader->plans);
  for (int32_t i = 0; i < settings->static_topic_count; i++) {
    const struct static_topic *block = &settings->static_topics[i];
    struct static_topic_found found;
    int result = take_found(loader, &ops[1 + i * READS_PER_BLOCK], &found);
    if (result == 0) {
      result = static_topics_plan(&context, &loader->arena, block, &found, &loader->plans[i]);
    }
    if (result < 0) {
      return result;
    }
    loader->plan_count = i + 1;
    applied += loader->plans[i].is_applied;
    static_topics_write(block, &found, &loader->plans[i], controller->epoch, writes);
  }
  if (applied == 0) {
    writes->count = 0;
  }
  return 0;
}

static void report_change(const struct static_topic *block, const struct static_topic_plan *plan)
{
  int32_t added = plan->added_partitions;
  if (plan->set_configs == 0) {
    slog_info("%s: changed topic %s: %d partition%s added", block->place, block->name, added, controller_plural(added));
  } else if (added == 0) {
    slog_info("%s: changed topic %s: set %s", block->place, block->name, plan->set_text);
  } else {
    slog_info("%s: changed topic %s: %d partition%s added; set %s", block->place, block->name, added,
              controller_plural(added), plan->set_text);
  }
}

static void report_plan(const struct static_topic *block, const struct static_topic_plan *plan)
{
  for (size_t i = 0; i < sizeof plan->warnings / sizeof plan->warnings[0]; i++) {
    if (plan->warnings[i]) {
      slog_warn("%s", plan->warnings[i]);
    }
  }
  if (plan->is_gone) {
    slog_info("%s: topic %s was deleted, and stays so until this block changes", block->place, block->name);
  } else if (plan->is_new) {
    slog_info("%s: created topic %s with %d partition%s", block->place, block->name, plan->topic->partition_count,
              controller_plural(plan->topic->partition_count));
  } else if (plan->topic) {
    report_change(block, plan);
  }
  if (plan->topic) {
    controller_warn_compaction(plan->topic);
  }
}

/// Has the logs that are there opened with what the block sets.
static void keep_configs(struct loader *loader, const struct metadata_topic *before)
{
  for (int32_t i = 0; i < loader->kept_count; i++) {
    if (uuid_equal(&loader->kept[i]->id, &before->id)) {
      loader->kept[i] = before;
      return;
    }
  }
}

void loader_apply_static(struct loader *loader)
{
  const struct controller_settings *settings = &loader->controller->settings;
  struct metadata_draft *draft = metadata_draft_new(loader->image);
  loader->opened = arena_alloc(&loader->arena, (size_t)loader->plan_count * sizeof *loader->opened);
  for (int32_t i = 0; i < loader->plan_count; i++) {
    const struct static_topic_plan *plan = &loader->plans[i];
    report_plan(&settings->static_topics[i], plan);
    if (plan->topic) {
      metadata_topic_ref(plan->topic);
      metadata_draft_put_topic(draft, plan->topic);
    }
    if (plan->before) {
      keep_configs(loader, plan->before);
    }
    if (plan->opened) {
      loader->opened[loader->opened_count++] = plan->opened;
    }
  }
  struct metadata_image *image = metadata_draft_finish(draft);
  metadata_image_unref(loader->image);
  loader->image = image;
}
