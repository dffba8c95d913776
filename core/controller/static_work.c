// SPDX-License-Identifier: Apache-2.0
#include "controller/static_work.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/slog.h"
#include "controller/controller_private.h"
#include "controller/topic_nodes.h"

enum { READS_PER_BLOCK = 2 };

void static_work_ask(const struct static_work *work, struct writes *reads)
{
  writes_read(reads, METASTORE_GET, "/luka/topics");
  for (int32_t i = 0; i < work->block_count; i++) {
    const char *name = work->blocks[i].name;
    writes_read(reads, METASTORE_GET, topic_nodes_path_static(reads->arena, name));
    writes_read(reads, METASTORE_GET, topic_nodes_path_config(reads->arena, name));
  }
}

static int take_found(struct arena *arena, const struct metastore_op *ops, struct static_topic_found *found)
{
  struct config_entry *configs = NULL;
  *found = (struct static_topic_found){
      .applied_version = ops[0].stat.version,
      .has_configs = ops[1].result == 0,
      .config_version = ops[1].stat.version,
  };
  if (ops[0].result == 0 && topic_nodes_read_static(arena, ops[0].data, &found->applied) < 0) {
    return topic_nodes_corrupt(ops[0].path);
  }
  if (found->has_configs && ops[1].data &&
      topic_nodes_read_config(arena, ops[1].data, &configs, &found->config_count) < 0) {
    return topic_nodes_corrupt(ops[1].path);
  }
  found->configs = configs;
  return 0;
}

int static_work_take(struct static_work *work, const struct topic_plan_context *context,
                     const struct controller *controller, bool is_strict, const struct metastore_op *ops,
                     struct writes *writes)
{
  struct arena *arena = writes->arena;
  writes_fence(writes, controller->fence_version);
  if (ops[0].result == ERR_NOT_FOUND) {
    writes_create(writes, ops[0].path, NULL);
  }
  work->plans = arena_zalloc(arena, (size_t)work->block_count * sizeof *work->plans);
  for (int32_t i = 0; i < work->block_count; i++) {
    const struct static_topic *block = &work->blocks[i];
    struct static_topic_plan *plan = &work->plans[i];
    struct static_topic_found found;
    TRY(take_found(arena, &ops[1 + i * READS_PER_BLOCK], &found));
    TRY(static_topics_plan(context, arena, block, &found, plan));
    work->plan_count = i + 1;
    if (is_strict && plan->warnings[0]) {
      return error_set(ERR_TOPIC_BLOCK, "%s", plan->warnings[0]);
    }
    work->applied_count += plan->is_applied;
    static_topics_write(block, &found, plan, controller->epoch, writes);
  }
  if (work->applied_count == 0) {
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
}

void static_work_report(const struct static_work *work)
{
  for (int32_t i = 0; i < work->plan_count; i++) {
    report_plan(&work->blocks[i], &work->plans[i]);
  }
}

void static_work_put(const struct static_work *work, struct metadata_draft *draft)
{
  for (int32_t i = 0; i < work->plan_count; i++) {
    struct metadata_topic *topic = work->plans[i].topic;
    if (topic) {
      metadata_topic_ref(topic);
      metadata_draft_put_topic(draft, topic);
    }
  }
}

void static_work_destroy(struct static_work *work)
{
  for (int32_t i = 0; i < work->plan_count; i++) {
    static_topics_destroy(&work->plans[i]);
  }
  work->plan_count = 0;
}
