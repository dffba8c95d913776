// SPDX-License-Identifier: Apache-2.0
//
// Decisions on changed configs. What is stored in a node and does not fit any more (another release wrote it) is no
// part of the resource, and stays in its node until a request names it.
#include "controller/alter_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "controller/alter_plan_private.h"
#include "controller/topic_plan.h"
#include "metadata/client_metrics_config.h"
#include "metadata/config_edit.h"
#include "metadata/topic_name.h"
#include "wire/error_codes.h"

enum {
  VALUE_MAX = 32767,   ///< bytes of a config's text, Kafka's limit
  NAME_SHOWN_MAX = 256 ///< bytes of a client's name that a message shows
};

int16_t alter_refuse(struct alter_decision *decision, int16_t code, const char *message)
{
  decision->resource->error_code = code;
  decision->resource->error_message = arena_strndup(decision->arena, message, strlen(message));
  return code;
}

int16_t alter_refuse_name(struct alter_decision *decision, int16_t code, const char *before, const char *name,
                          const char *behind)
{
  decision->resource->error_code = code;
  decision->resource->error_message =
      arena_printf(decision->arena, "%s%.*s%s", before, config_clip(name, NAME_SHOWN_MAX), name, behind);
  return code;
}

// ---- operations ----

/// Takes values into a list or off it.
static int16_t edit_list(struct alter_decision *decision, const struct controller_alter_entry *entry,
                         const char *current, const char **value)
{
  bool is_append = entry->operation == CONTROLLER_APPEND;
  int place = config_find(decision->defs, decision->def_count, entry->name);
  if (decision->resource->type == CONTROLLER_BROKER) {
    enum broker_config_change change = broker_config_change_of(entry->name);
    if (change == BROKER_CHANGE_UNKNOWN) {
      return alter_refuse_name(decision, WIRE_INVALID_CONFIG, "Unknown config name: ", entry->name, "");
    }
    if (place < 0) {
      *value = entry->value; // of no meaning here: refused for its name
      return 0;
    }
  }
  // Kafka knows of no lists on groups and on subscriptions to clients' metrics.
  bool has_lists = decision->resource->type == CONTROLLER_TOPIC || decision->resource->type == CONTROLLER_BROKER;
  if (place < 0 || !has_lists || !config_is_list(&decision->defs[place])) {
    return decision->resource->type == CONTROLLER_BROKER
               ? alter_refuse_name(decision, WIRE_INVALID_CONFIG,
                                   is_append ? "Config value append is not allowed for config key: "
                                             : "Config value subtract is not allowed for config key: ",
                                   entry->name, "")
               : alter_refuse_name(decision, WIRE_INVALID_CONFIG,
                                   is_append ? "Can't APPEND to key " : "Can't SUBTRACT to key ", entry->name,
                                   " because its type is not LIST.");
  }
  const char *list = current ? current : decision->defs[place].default_text;
  *value = is_append ? config_list_append(decision->arena, list, entry->value)
                     : config_list_subtract(decision->arena, list, entry->value);
  return 0;
}

/// Carries out one operation. Names that the request sets come behind those of the node, and come once.
static int16_t operate_one(struct alter_decision *decision, const struct controller_alter_entry *entry)
{
  int32_t at = 0;
  const char *value = entry->value;
  while (at < decision->found->config_count &&
         (!decision->configs[at].name || strcmp(decision->configs[at].name, entry->name) != 0)) {
    at++;
  }
  bool is_there = at < decision->found->config_count;
  if (entry->operation == CONTROLLER_UNSET) {
    if (is_there) {
      decision->configs[at].name = NULL;
    }
    return 0;
  }
  if (entry->operation == CONTROLLER_APPEND || entry->operation == CONTROLLER_SUBTRACT) {
    const char *current = is_there ? decision->configs[at].value : NULL;
    if (edit_list(decision, entry, current, &value) != 0) {
      return decision->resource->error_code;
    }
  } else if (entry->operation != CONTROLLER_SET) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST,
                        arena_printf(decision->arena, "Unknown operations type %d", entry->operation));
  }
  decision->configs[is_there ? at : decision->count++] = (struct config_entry){entry->name, value};
  return 0;
}

int16_t alter_operate(struct alter_decision *decision)
{
  const struct controller_alter_resource *resource = decision->resource;
  const struct alter_found *found = decision->found;
  size_t room = (size_t)found->config_count + (size_t)resource->entry_count;
  decision->configs = arena_alloc(decision->arena, (room + 1) * sizeof *decision->configs);
  if (!decision->is_incremental) {
    for (int32_t i = 0; i < resource->entry_count; i++) {
      decision->configs[decision->count++] =
          (struct config_entry){resource->entries[i].name, resource->entries[i].value};
    }
  } else {
    if (found->config_count > 0) {
      memcpy(decision->configs, found->configs, (size_t)found->config_count * sizeof *decision->configs);
    }
    decision->count = found->config_count;
    for (int32_t i = 0; i < resource->entry_count; i++) {
      if (operate_one(decision, &resource->entries[i]) != 0) {
        return resource->error_code;
      }
    }
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < decision->count; i++) {
    if (!decision->configs[i].name) {
      continue;
    }
    if (strlen(decision->configs[i].value) > VALUE_MAX) {
      return alter_refuse(
          decision, WIRE_INVALID_CONFIG,
          "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.");
    }
    decision->configs[kept++] = decision->configs[i];
  }
  decision->count = kept;
  return 0;
}

bool alter_is_untouched(const struct alter_decision *decision, const struct config_entry *entry)
{
  for (int32_t i = 0; i < decision->found->config_count; i++) {
    const struct config_entry *found = &decision->found->configs[i];
    if (found->name == entry->name && found->value == entry->value) {
      return true;
    }
  }
  return false;
}

bool alter_is_changed(const struct alter_decision *decision)
{
  const struct alter_found *found = decision->found;
  bool is_same = found->config_count == decision->count;
  for (int32_t i = 0; is_same && i < decision->count; i++) {
    is_same = strcmp(found->configs[i].name, decision->configs[i].name) == 0 &&
              strcmp(found->configs[i].value, decision->configs[i].value) == 0;
  }
  return !is_same;
}

// ---- topics ----

static bool has_override(const struct metadata_topic *topic, const char *name)
{
  for (int32_t i = 0; topic && i < topic->override_count; i++) {
    if (strcmp(topic->overrides[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

static int16_t decide_topic(struct alter_decision *decision, struct alter_change *change)
{
  struct controller_alter_resource *resource = decision->resource;
  char message[CONFIG_MESSAGE_SIZE];
  struct topic_config config;
  if (alter_operate(decision) != 0) {
    return resource->error_code;
  }
  if (resource->name_length == 0) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, "Default topic resources are not allowed.");
  }
  if (topic_name_validate(resource->name, resource->name_length, message) < 0) {
    return alter_refuse(decision, WIRE_INVALID_TOPIC_EXCEPTION, message);
  }
  const struct metadata_topic *topic =
      metadata_image_topic(decision->context->image, resource->name, resource->name_length);
  struct config_entry *overrides = arena_alloc(decision->arena, (size_t)(decision->count + 1) * sizeof *overrides);
  int32_t override_count = 0;
  for (int32_t i = 0; i < decision->count; i++) {
    const struct config_entry *entry = &decision->configs[i];
    if (!alter_is_untouched(decision, entry) || has_override(topic, entry->name)) {
      overrides[override_count++] = *entry;
    }
  }
  if (topic_config_resolve(&decision->context->config->topic, overrides, override_count, &config, message) < 0 ||
      topic_plan_check_config(decision->context->hooks, topic != NULL ? &topic->config : NULL, &config, message) < 0) {
    return alter_refuse(decision, WIRE_INVALID_CONFIG, message);
  }
  if (!topic) {
    return alter_refuse_name(decision, WIRE_UNKNOWN_TOPIC_OR_PARTITION, "The topic '", resource->name,
                             "' does not exist.");
  }
  if (topic->source) {
    return alter_refuse_name(decision, WIRE_INVALID_TOPIC_EXCEPTION, "Topic '", resource->name,
                             "' is a view: its configs are those of its source.");
  }
  if (alter_is_changed(decision)) {
    change->topic = metadata_topic_with_config(topic, overrides, override_count, &config);
  }
  return 0;
}

// ---- brokers ----

static bool is_read_only(const char *name)
{
  return broker_config_change_of(name) == BROKER_CHANGE_READ_ONLY;
}

static bool is_own_only(const char *name)
{
  enum broker_config_change change = broker_config_change_of(name);
  return change == BROKER_CHANGE_OWN || change == BROKER_CHANGE_OWN_ONLY;
}

/// Names the configs of the request that may not be changed in a way: "before: [a, b]"; NULL when there are none.
static const char *list_names(struct alter_decision *decision, const char *before, bool (*is_meant)(const char *name))
{
  char text[CONFIG_MESSAGE_SIZE];
  size_t used = 0;
  for (int32_t i = 0; i < decision->count && used < sizeof text - NAME_SHOWN_MAX; i++) {
    const struct config_entry *entry = &decision->configs[i];
    if (!alter_is_untouched(decision, entry) && is_meant(entry->name)) {
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used > 0 ? ", " : "",
                               config_clip(entry->name, NAME_SHOWN_MAX - 4), entry->name);
    }
  }
  return used > 0 ? arena_printf(decision->arena, "%s: [%s]", before, text) : NULL;
}

/// Refuses what has no meaning here: whoever sets it would rely on what does not happen.
static int16_t check_support(struct alter_decision *decision, const struct config_entry *entry)
{
  const char *names[BROKER_CONFIG_COUNT];
  switch (broker_config_change_of(entry->name)) {
    case BROKER_CHANGE_ALLOWED:
    case BROKER_CHANGE_OWN:
    case BROKER_CHANGE_READ_ONLY:
      return 0;
    case BROKER_CHANGE_UNSUPPORTED:
    case BROKER_CHANGE_OWN_ONLY:
      return alter_refuse_name(decision, WIRE_INVALID_REQUEST, "Broker config ", entry->name,
                               " is known to Kafka but not supported by Luka yet");
    case BROKER_CHANGE_UNKNOWN:
      break;
  }
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    names[i] = broker_config_defs()[i].name;
  }
  const char *nearest = config_nearest(entry->name, names, BROKER_CONFIG_COUNT);
  const char *behind = nearest ? arena_printf(decision->arena, "; did you mean %s?", nearest) : "";
  return alter_refuse_name(decision, WIRE_INVALID_CONFIG, "Unknown broker config name: ", entry->name, behind);
}

/// Whether a number of threads may become another one: not more than twice as many, or less than half.
///
/// @param most   what to say of the first, with room for the number before
/// @param least  and of the second
/// @return what is wrong, in the arena; NULL: nothing
static const char *judge_threads(struct arena *arena, int32_t before, int32_t after, const char *most,
                                 const char *least)
{
  if ((int64_t)after > (int64_t)before * 2) {
    return arena_printf(arena, "%s the current value %d", most, before);
  }
  return after < before / 2 ? arena_printf(arena, "%s the current value %d", least, before) : NULL;
}

/// Refuses threads as Kafka does, with its sentences. Where the broker has no cleaner there are none that could be too
/// many.
static int16_t check_threads(struct alter_decision *decision, const struct broker_config *before,
                             const struct broker_config *after)
{
  struct arena *arena = decision->arena;
  const char *why =
      judge_threads(arena, before->num_recovery_threads_per_data_dir, after->num_recovery_threads_per_data_dir,
                    "value should not be greater than double", "value should be at least half");
  if (why) {
    why = arena_printf(arena,
                       "Dynamic thread count update validation failed for num.recovery.threads.per.data.dir=%d, %s",
                       after->num_recovery_threads_per_data_dir, why);
  } else if (before->log_cleaner_threads > 0 && after->log_cleaner_threads == 0) {
    why = "Log cleaner threads should be at least 1"; // Kafka divides by it first
  } else if (before->log_cleaner_threads > 0 && before->log_cleaner_enable) {
    why = judge_threads(arena, before->log_cleaner_threads, after->log_cleaner_threads,
                        "Log cleaner threads cannot be increased to more than double",
                        "Log cleaner threads cannot be reduced to less than half");
  }
  return why ? alter_refuse(decision, WIRE_INVALID_REQUEST,
                            arena_printf(arena,
                                         "Invalid value org.apache.kafka.common.config.ConfigException: %s for "
                                         "configuration Invalid dynamic configuration",
                                         why))
             : 0;
}

/// What the request sets, in Kafka's order: what is read-only, values, what is not for all brokers; then what is Luka's
/// to refuse.
static int16_t check_broker_entries(struct alter_decision *decision)
{
  char message[CONFIG_MESSAGE_SIZE];
  bool is_cluster = decision->resource->name_length == 0;
  const char *names = list_names(decision, "Cannot update these configs dynamically", is_read_only);
  if (names) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, names);
  }
  for (int32_t i = 0; i < decision->count; i++) {
    const struct config_entry *entry = &decision->configs[i];
    int place = config_find(decision->defs, decision->def_count, entry->name);
    if (place >= 0 && !alter_is_untouched(decision, entry) &&
        config_set(&decision->defs[place], entry->value, NULL, message) < 0) {
      return alter_refuse(decision, WIRE_INVALID_REQUEST, message);
    }
  }
  names = list_names(decision, "Cannot update these configs at default cluster level, broker id must be specified",
                     is_own_only);
  if (names && is_cluster) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, names);
  }
  for (int32_t i = 0; i < decision->count; i++) {
    if (!alter_is_untouched(decision, &decision->configs[i]) && check_support(decision, &decision->configs[i]) != 0) {
      return decision->resource->error_code;
    }
  }
  return 0;
}

/// Picks out the configs of a broker's node that can be heeded: changeable at run time, with a valid value.
static int32_t pick_heeded(const struct config_entry *configs, int32_t count, struct config_entry *heeded)
{
  char message[CONFIG_MESSAGE_SIZE];
  int32_t kept = 0;
  for (int32_t i = 0; i < count; i++) {
    int place = config_find(broker_config_defs(), BROKER_CONFIG_COUNT, configs[i].name);
    if (place >= 0 && broker_config_is_changeable(configs[i].name) &&
        config_set(&broker_config_defs()[place], configs[i].value, NULL, message) == 0) {
      heeded[kept++] = configs[i];
    }
  }
  return kept;
}

/// @param before     the configuration, with what the request's earlier resources change
/// @param[out] made  the configuration that results; one reference, owned
static int16_t decide_broker(struct alter_decision *decision, const struct broker_config *before,
                             struct broker_config **made)
{
  char message[CONFIG_MESSAGE_SIZE];
  bool is_cluster = decision->resource->name_length == 0;
  if (alter_operate(decision) != 0 || check_broker_entries(decision) != 0) {
    return decision->resource->error_code;
  }
  struct config_entry *heeded = arena_alloc(decision->arena, (size_t)(decision->count + 1) * sizeof *heeded);
  int32_t heeded_count = pick_heeded(decision->configs, decision->count, heeded);
  struct config_entry other[BROKER_CONFIG_COUNT];
  int other_count = broker_config_layer_entries(before, is_cluster ? BROKER_LAYER_OWN : BROKER_LAYER_CLUSTER, other);
  const struct broker_config *base = decision->context->config; // for what is configured
  int result = is_cluster ? broker_config_overlay(base, heeded, heeded_count, other, other_count, made, message)
                          : broker_config_overlay(base, other, other_count, heeded, heeded_count, made, message);
  if (result < 0) {
    return alter_refuse(decision, WIRE_INVALID_REQUEST, message);
  }
  if (check_threads(decision, before, *made) != 0) {
    broker_config_unref(*made);
    *made = NULL;
  }
  return decision->resource->error_code;
}

// ---- the request ----

/// What resources of a type can have; users have no configs of a fixed kind.
static void list_defs(struct alter_decision *decision)
{
  switch (decision->resource->type) {
    case CONTROLLER_TOPIC:
      decision->defs = topic_config_defs();
      decision->def_count = TOPIC_CONFIG_COUNT;
      break;
    case CONTROLLER_BROKER:
      decision->defs = broker_config_defs();
      decision->def_count = BROKER_CONFIG_COUNT;
      break;
    case CONTROLLER_GROUP:
      decision->defs = group_config_defs();
      decision->def_count = GROUP_CONFIG_COUNT;
      break;
    case CONTROLLER_CLIENT_METRICS:
      decision->defs = client_metrics_config_defs();
      decision->def_count = CLIENT_METRICS_CONFIG_COUNT;
      break;
    default:
      break;
  }
}

void alter_plan_decide(const struct alter_plan_context *context, struct controller_alter *alter, int32_t index,
                       const struct alter_found *found, struct alter_plan *plan)
{
  struct controller_alter_resource *resource = &alter->resources[index];
  if (resource->error_code != WIRE_NONE || resource->is_settled) {
    return;
  }
  struct alter_change *change = &plan->changes[index];
  struct alter_decision decision = {
      .context = context,
      .arena = alter->arena,
      .is_incremental = alter->is_incremental,
      .resource = resource,
      .found = found,
  };
  struct broker_config *made = NULL;
  list_defs(&decision);
  if (resource->type == CONTROLLER_TOPIC) {
    decide_topic(&decision, change);
  } else if (resource->type != CONTROLLER_BROKER) {
    alter_decide_entity(&decision, change);
  } else {
    decide_broker(&decision, plan->config ? plan->config : context->config, &made);
  }
  if (resource->error_code != WIRE_NONE || !alter_is_changed(&decision)) {
    if (made) {
      broker_config_unref(made);
    }
    return;
  }
  change->is_changed = true;
  change->configs = decision.configs;
  change->config_count = decision.count;
  plan->change_count++;
  if (made) {
    if (plan->config) {
      broker_config_unref(plan->config);
    }
    plan->config = made;
  }
}

void alter_plan_begin(struct controller_alter *alter, struct alter_plan *plan)
{
  *plan = (struct alter_plan){0};
  plan->changes = arena_zalloc(alter->arena, (size_t)alter->resource_count * sizeof *plan->changes);
  plan->resource_count = alter->resource_count;
}

void alter_plan_end(const struct controller_alter *alter, struct alter_plan *plan)
{
  if (alter->is_validate_only) {
    alter_plan_destroy(plan);
  }
}

void alter_plan_destroy(struct alter_plan *plan)
{
  for (int32_t i = 0; i < plan->resource_count; i++) {
    if (plan->changes[i].topic) {
      metadata_topic_unref(plan->changes[i].topic);
    }
    if (plan->changes[i].entity) {
      metadata_entity_unref(plan->changes[i].entity);
    }
  }
  if (plan->config) {
    broker_config_unref(plan->config);
  }
  *plan = (struct alter_plan){0};
}
