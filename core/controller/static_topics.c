// SPDX-License-Identifier: Apache-2.0
//
// Decisions on the topic blocks of the configuration. New topics are decided by the rules of CreateTopics, so that a
// topic is the same however it was made. Control thread.
#include "controller/static_topics.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "controller/controller_private.h"
#include "controller/topic_nodes.h"
#include "controller/topic_plan_private.h"
#include "wire/error_codes.h"

/// One block being decided.
struct block_plan {
  const struct topic_plan_context *context;
  struct arena *arena;
  const struct static_topic *block;
  struct static_topic_plan *plan; ///< being filled in
};

static int refuse(const struct static_topic *block, const char *why)
{
  return error_set(ERR_TOPIC_BLOCK, "%s: topic \"%s\": %s", block->place, block->name, why);
}

static void warn(struct block_plan *work, const char *what)
{
  const char **slot = work->plan->warnings[0] ? &work->plan->warnings[1] : &work->plan->warnings[0];
  *slot = arena_printf(work->arena, "%s: topic \"%s\": %s", work->block->place, work->block->name, what);
}

static int check_partitions(struct block_plan *work, int32_t count)
{
  if (count <= TOPIC_PLAN_PARTITIONS_MAX) {
    return 0;
  }
  return refuse(work->block, arena_printf(work->arena, "%d partitions are more than the %d that can be made at a time",
                                          count, TOPIC_PLAN_PARTITIONS_MAX));
}

static int check_factor(struct block_plan *work, int32_t factor)
{
  int32_t brokers = work->context->image->broker_count;
  if (factor <= brokers) {
    return 0;
  }
  if (brokers == 1) {
    return refuse(work->block,
                  arena_printf(work->arena, "this broker is alone: the replication factor is 1, not %d", factor));
  }
  return refuse(work->block, arena_printf(work->arena, "replication factor %d is more than the number of brokers, %d",
                                          factor, brokers));
}

// ---- a topic that is missing ----

static int plan_create(struct block_plan *work)
{
  const struct static_topic *block = work->block;
  int32_t default_factor = work->context->config->default_replication_factor;
  TRY(check_partitions(work, block->partitions));
  TRY(check_factor(work, block->replication_factor == -1 ? default_factor : block->replication_factor));
  struct controller_new_topic topic = {
      .name = block->name,
      .name_length = strlen(block->name),
      .partitions = block->partitions,
      .replication_factor = (int16_t)block->replication_factor,
      .config_count = block->config_count,
      .configs = block->configs,
  };
  struct controller_create create = {.arena = work->arena, .topics = &topic, .topic_count = 1};
  struct metadata_topic *made = NULL;
  if (topic_plan_create(work->context, &create, &made) == 0) {
    return refuse(block, topic.error_message ? topic.error_message : wire_error_name(topic.error_code));
  }
  work->plan->is_new = true;
  work->plan->topic = made;
  work->plan->opened = made;
  metadata_topic_ref(made);
  return 0;
}

// ---- a topic that is there ----

/// The entries of `old` with those of the block over them.
///
/// @param[out] merged  in the arena
/// @return how many of the block's were missing or different; `*count` is the length of `merged`
static int32_t merge(struct block_plan *work, const struct config_entry *old, int32_t old_count,
                     const struct config_entry **merged, int32_t *count)
{
  const struct static_topic *block = work->block;
  struct config_entry *list = arena_alloc(work->arena, (size_t)(old_count + block->config_count) * sizeof *list);
  int32_t used = old_count;
  int32_t different = 0;
  if (old_count > 0) {
    memcpy(list, old, (size_t)old_count * sizeof *list);
  }
  for (int32_t i = 0; i < block->config_count; i++) {
    int32_t at = 0;
    while (at < old_count && strcmp(list[at].name, block->configs[i].name) != 0) {
      at++;
    }
    different += at == old_count || !list[at].value || strcmp(list[at].value, block->configs[i].value) != 0;
    list[at < old_count ? at : used++] = block->configs[i];
  }
  *merged = list;
  *count = used;
  return different;
}

/// Lists the `set_configs` configs of the block that its topic does not have, or has with another value, and names them
/// in a text: "a=1, b=2".
static void describe_changes(struct block_plan *work, const struct config_entry *old, int32_t old_count)
{
  const struct static_topic *block = work->block;
  struct static_topic_plan *plan = work->plan;
  struct static_topic_change *changes = arena_alloc(work->arena, (size_t)(plan->set_configs + 1) * sizeof *changes);
  int32_t count = 0;
  const char *text = "";
  for (int32_t i = 0; i < block->config_count; i++) {
    const struct config_entry *config = &block->configs[i];
    int32_t at = 0;
    while (at < old_count && strcmp(old[at].name, config->name) != 0) {
      at++;
    }
    if (at == old_count || !old[at].value || strcmp(old[at].value, config->value) != 0) {
      text = arena_printf(work->arena, "%s%s%s=%s", text, text[0] ? ", " : "", config->name, config->value);
      changes[count++] =
          (struct static_topic_change){config->name, at < old_count ? old[at].value : NULL, config->value};
    }
  }
  plan->changes = changes;
  plan->set_text = text;
}

/// Places the partitions that a topic gets; they have as many replicas as those that it has.
static int place_partitions(struct block_plan *work, const struct metadata_topic *old, int32_t partitions,
                            struct metadata_partition_spec *specs)
{
  int32_t factor = old->partitions[0].replica_count > 0 ? old->partitions[0].replica_count : 1;
  TRY(check_factor(work, factor));
  topic_plan_place_added(work->context->image, work->arena, old, partitions, factor, specs);
  return 0;
}

/// How many partitions the topic will have; warns of what the block does not get.
static int32_t count_partitions(struct block_plan *work, const struct metadata_topic *old)
{
  const struct static_topic *block = work->block;
  int32_t factor = old->partitions[0].replica_count;
  if (block->partitions >= 0 && block->partitions < old->partition_count) {
    // At least two, since the block wants fewer.
    warn(work, arena_printf(work->arena, "has %d partitions, not %d: partitions are never removed",
                            old->partition_count, block->partitions));
  }
  if (block->replication_factor >= 0 && block->replication_factor != factor) {
    warn(work, arena_printf(work->arena, "has replication factor %d, not %d: replicas are not added or removed", factor,
                            block->replication_factor));
  }
  return block->partitions > old->partition_count ? block->partitions : old->partition_count;
}

static int plan_change(struct block_plan *work, const struct metadata_topic *old,
                       const struct static_topic_found *found)
{
  struct static_topic_plan *plan = work->plan;
  struct topic_config config;
  char message[CONFIG_MESSAGE_SIZE];
  // What is stored and does not fit is no part of the topic, but stays in its node.
  const struct config_entry *overrides = NULL;
  int32_t override_count = 0;
  merge(work, old->overrides, old->override_count, &overrides, &override_count);
  if (topic_config_resolve(&work->context->config->topic, overrides, override_count, &config, message) < 0) {
    return refuse(work->block, message);
  }
  int32_t partitions = count_partitions(work, old);
  int32_t added = partitions - old->partition_count;
  TRY(check_partitions(work, added));
  struct metadata_partition_spec *specs = arena_zalloc(work->arena, (size_t)partitions * sizeof *specs);
  struct topic_plan_grown grown = {NULL, NULL};
  if (added > 0) {
    TRY(place_partitions(work, old, partitions, specs));
    topic_plan_make_grown(old, specs, partitions, overrides, override_count, &config, &grown);
    plan->topic = grown.topic;
    plan->opened = grown.opened;
  }
  plan->added_partitions = added;
  plan->set_configs = merge(work, found->configs, found->config_count, &plan->configs, &plan->config_count);
  describe_changes(work, found->configs, found->config_count);
  if (plan->set_configs > 0) {
    plan->before = metadata_topic_with_config(old, overrides, override_count, &config);
  }
  if (added == 0 && plan->set_configs > 0) {
    topic_plan_keep_partitions(old, specs);
    plan->topic =
        metadata_topic_new(old->name, &old->id, old->version, specs, partitions, overrides, override_count, &config);
  }
  return 0;
}

int static_topics_plan(const struct topic_plan_context *context, struct arena *arena, const struct static_topic *block,
                       const struct static_topic_found *found, struct static_topic_plan *plan)
{
  struct block_plan work = {.context = context, .arena = arena, .block = block, .plan = plan};
  const struct metadata_topic *old = metadata_image_topic(context->image, block->name, strlen(block->name));
  *plan = (struct static_topic_plan){0};
  if (found->applied && strcmp(found->applied, block->text) == 0) {
    plan->is_gone = old == NULL;
    return 0;
  }
  plan->is_applied = true;
  return old ? plan_change(&work, old, found) : plan_create(&work);
}

// ---- steps ----

/// Creates a node, or sets the one of a version.
static void put(struct writes *writes, const char *path, const char *text, bool is_there, int32_t version)
{
  if (is_there) {
    writes_set(writes, path, text);
    writes->ops[writes->count - 1].version = version;
  } else {
    writes_create(writes, path, text);
  }
}

void static_topics_write(const struct static_topic *block, const struct static_topic_found *found,
                         const struct static_topic_plan *plan, int32_t controller_epoch, struct writes *writes)
{
  struct arena *arena = writes->arena;
  if (!plan->is_applied) {
    return;
  }
  if (plan->is_new) {
    if (found->has_configs) {
      writes_delete(writes, topic_nodes_path_config(arena, block->name)); // left over without its topic
    }
    writes_create_topic(writes, plan->topic, controller_epoch);
  }
  if (plan->set_configs > 0) {
    put(writes, topic_nodes_path_config(arena, block->name),
        topic_nodes_config(arena, plan->configs, plan->config_count), found->has_configs, found->config_version);
  }
  if (plan->added_partitions > 0) {
    writes_add_partitions(writes, plan->topic, plan->topic->partition_count - plan->added_partitions, controller_epoch);
  }
  put(writes, topic_nodes_path_static(arena, block->name), topic_nodes_static(arena, block->text),
      found->applied != NULL, found->applied_version);
}

void static_topics_destroy(struct static_topic_plan *plan)
{
  if (plan->topic) {
    metadata_topic_unref(plan->topic);
  }
  if (plan->opened) {
    metadata_topic_unref(plan->opened);
  }
  if (plan->before) {
    metadata_topic_unref(plan->before);
  }
  *plan = (struct static_topic_plan){0};
}
