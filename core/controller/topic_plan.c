// SPDX-License-Identifier: Apache-2.0
//
// Decisions on new topics, in the order in which Kafka makes them, because that decides which error is told: names,
// what exists, configs, then partitions and replicas.
#include "controller/topic_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "controller/placement.h"
#include "controller/topic_plan_private.h"
#include "metadata/topic_name.h"
#include "wire/error_codes.h"

/// Names with '.' and '_' as one, by hash: finds what a new name collides with.
struct name_set {
  const char **slots; ///< open addressing, NULL: empty
  size_t mask;        ///< slots minus one
};

/// One request being decided.
struct create_plan {
  const struct topic_plan_context *context;
  struct controller_create *create;
  struct arena *arena;
  struct name_set marked; ///< names that have '.' or '_': those of the image, then those of this request
};

static int16_t refuse(struct controller_new_topic *topic, int16_t code, const char *message)
{
  topic->error_code = code;
  topic->error_message = message;
  return code;
}

// ---- the request as a whole ----

/// Partitions that the request asks for, as Kafka counts them: what is invalid counts nothing.
static int64_t count_partitions(const struct topic_plan_context *context, const struct controller_create *create)
{
  int64_t total = 0;
  for (int32_t i = 0; i < create->topic_count; i++) {
    const struct controller_new_topic *topic = &create->topics[i];
    if (topic->is_refused) {
      continue;
    }
    if (topic->assignment_count > 0) {
      total += topic->assignment_count;
    } else if (topic->partitions == -1) {
      total += context->config->num_partitions;
    } else if (topic->partitions > 0) {
      total += topic->partitions;
    }
  }
  return total;
}

struct by_name {
  const char *name;
  size_t length;
  int32_t place; ///< in the request
};

static int compare_names(const void *left, const void *right)
{
  const struct by_name *a = left;
  const struct by_name *b = right;
  int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);
  if (order == 0) {
    order = (a->length > b->length) - (a->length < b->length);
  }
  return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/// Gives the first entry of a name that comes twice its error, and marks the others as repeats.
static void find_repeats(struct create_plan *plan)
{
  int32_t count = plan->create->topic_count;
  struct by_name *sorted = arena_alloc(plan->arena, (size_t)count * sizeof *sorted);
  for (int32_t i = 0; i < count; i++) {
    sorted[i] = (struct by_name){plan->create->topics[i].name, plan->create->topics[i].name_length, i};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_names);
  int32_t first = 0;
  for (int32_t i = 1; i < count; i++) {
    if (sorted[i].length != sorted[first].length || memcmp(sorted[i].name, sorted[first].name, sorted[i].length) != 0) {
      first = i;
      continue;
    }
    refuse(&plan->create->topics[sorted[first].place], WIRE_INVALID_REQUEST, "Duplicate topic name.");
    plan->create->topics[sorted[i].place].is_repeat = true;
  }
}

// ---- names ----

static uint32_t hash_marked(const char *name)
{
  uint32_t hash = 2166136261u;
  for (; *name; name++) {
    hash = (hash ^ (uint8_t)(*name == '.' ? '_' : *name)) * 16777619u;
  }
  return hash;
}

/// The slot of a name, or of the one that is there already and collides with it.
static const char **name_set_slot(const struct name_set *set, const char *name)
{
  size_t slot = hash_marked(name) & set->mask;
  while (set->slots[slot] && !topic_name_collides(set->slots[slot], name)) {
    slot = (slot + 1) & set->mask;
  }
  return &set->slots[slot];
}

/// The set of marked names, made when it is first needed.
static const struct name_set *marked_names(struct create_plan *plan)
{
  const struct metadata_image *image = plan->context->image;
  if (plan->marked.slots) {
    return &plan->marked;
  }
  size_t slots = 16;
  while (slots < ((size_t)image->topic_count + (size_t)plan->create->topic_count) * 2) {
    slots *= 2;
  }
  plan->marked.slots = arena_zalloc(plan->arena, slots * sizeof *plan->marked.slots);
  plan->marked.mask = slots - 1;
  for (int32_t i = 0; i < image->topic_count; i++) {
    if (topic_name_may_collide(image->topics[i]->name)) {
      *name_set_slot(&plan->marked, image->topics[i]->name) = image->topics[i]->name;
    }
  }
  return &plan->marked;
}

static int16_t check_name(struct create_plan *plan, struct controller_new_topic *topic)
{
  char message[TOPIC_NAME_MESSAGE_SIZE];
  if (topic->name_length == strlen(topic->name) && topic_name_is_cluster_metadata(topic->name)) {
    return refuse(topic, WIRE_INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited.");
  }
  if (topic_name_validate(topic->name, topic->name_length, message) < 0) {
    return refuse(topic, WIRE_INVALID_TOPIC_EXCEPTION, arena_printf(plan->arena, "%s", message));
  }
  const struct metadata_topic *old = metadata_image_topic(plan->context->image, topic->name, topic->name_length);
  if (old && plan->create->is_auto) {
    topic->id = old->id;
    topic->partition_count = old->partition_count;
    topic->made_replication_factor = (int16_t)old->partitions[0].replica_count;
    return 0;
  }
  if (old || metadata_image_view(plan->context->image, topic->name, topic->name_length)) {
    return refuse(
        topic, WIRE_TOPIC_ALREADY_EXISTS,
        arena_printf(plan->arena,
                     old && !old->source ? "Topic '%s' already exists." : "Topic '%s' already exists: it is a view.",
                     topic->name));
  }
  const char *other = topic_name_may_collide(topic->name) ? *name_set_slot(marked_names(plan), topic->name) : NULL;
  if (other) {
    return refuse(topic, WIRE_INVALID_TOPIC_EXCEPTION,
                  arena_printf(plan->arena, "Topic '%s' collides with existing topic: %s", topic->name, other));
  }
  return 0;
}

// ---- configs ----

/// The overrides that count, one for each name, in the order of the list of configs.
static int32_t effective_overrides(const struct controller_new_topic *topic, struct config_entry *overrides)
{
  const char *texts[TOPIC_CONFIG_COUNT] = {NULL};
  for (int32_t i = 0; i < topic->config_count; i++) {
    texts[topic_config_find(topic->configs[i].name)] = topic->configs[i].value;
  }
  int32_t count = 0;
  for (int i = 0; i < TOPIC_CONFIG_COUNT; i++) {
    if (texts[i]) {
      overrides[count++] = (struct config_entry){topic_config_defs()[i].name, texts[i]};
    }
  }
  return count;
}

// ---- partitions and replicas ----

static int16_t check_assignments(struct create_plan *plan, struct controller_new_topic *topic)
{
  if (topic->replication_factor != -1) {
    return refuse(topic, WIRE_INVALID_REQUEST,
                  "A manual partition assignment was specified, but replication factor was not set to -1.");
  }
  if (topic->partitions != -1) {
    return refuse(topic, WIRE_INVALID_REQUEST,
                  "A manual partition assignment was specified, but numPartitions was not set to -1.");
  }
  const char *message =
      topic_plan_check_assignments(plan->context->image, plan->arena, topic->assignments, topic->assignment_count);
  return message ? refuse(topic, WIRE_INVALID_REPLICA_ASSIGNMENT, message) : 0;
}

/// Counts that the client left to the broker.
static void fill_counts(const struct topic_plan_context *context, bool is_auto, struct controller_new_topic *topic,
                        int32_t *partitions, int32_t *factor)
{
  *partitions = topic->partitions == -1 ? context->config->num_partitions : topic->partitions;
  *factor = topic->replication_factor == -1 ? context->config->default_replication_factor : topic->replication_factor;
  if (is_auto && topic_name_is_internal(topic->name)) {
    *partitions = topic_plan_internal_partitions(context->config->offsets_topic_num_partitions, topic->name);
    *factor = topic_plan_internal_factor(context->config, context->image, topic->name);
  }
}

/// Lays out the assignment as one array of `partitions` x `factor` brokers; an error otherwise.
static int16_t place(struct create_plan *plan, struct controller_new_topic *topic, int32_t **replicas,
                     int32_t *partitions, int32_t *factor)
{
  const struct metadata_image *image = plan->context->image;
  if (topic->assignment_count > 0) {
    if (check_assignments(plan, topic) != 0) {
      return topic->error_code;
    }
    *partitions = topic->assignment_count;
    *factor = topic->assignments[0].broker_count;
    *replicas = arena_alloc(plan->arena, (size_t)*partitions * (size_t)*factor * sizeof **replicas);
    for (int32_t i = 0; i < *partitions; i++) {
      memcpy(*replicas + (size_t)i * (size_t)*factor, topic->assignments[i].brokers,
             (size_t)*factor * sizeof **replicas);
    }
    return 0;
  }
  if (topic->replication_factor < -1 || topic->replication_factor == 0) {
    return refuse(topic, WIRE_INVALID_REPLICATION_FACTOR,
                  "Replication factor must be larger than 0, or -1 to use the default value.");
  }
  if (topic->partitions < -1 || topic->partitions == 0) {
    return refuse(topic, WIRE_INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.");
  }
  fill_counts(plan->context, plan->create->is_auto, topic, partitions, factor);
  if (*factor > image->broker_count) {
    return refuse(topic, WIRE_INVALID_REPLICATION_FACTOR,
                  arena_printf(plan->arena,
                               "Unable to replicate the partition %d time(s): The target replication factor of %d "
                               "cannot be reached because only %d broker(s) are registered or some brokers have all "
                               "their log directories cordoned.",
                               *factor, *factor, image->broker_count));
  }
  int32_t *brokers = arena_alloc(plan->arena, (size_t)image->broker_count * sizeof *brokers);
  for (int32_t i = 0; i < image->broker_count; i++) {
    brokers[i] = image->brokers[i]->id;
  }
  *replicas = arena_alloc(plan->arena, (size_t)*partitions * (size_t)*factor * sizeof **replicas);
  placement_classic(brokers, image->broker_count, *partitions, *factor, *replicas);
  return 0;
}

// ---- one topic ----

static struct metadata_topic *make_topic(struct create_plan *plan, struct controller_new_topic *topic,
                                         const int32_t *replicas, int32_t partitions, int32_t factor,
                                         const struct topic_config *config)
{
  struct config_entry overrides[TOPIC_CONFIG_COUNT];
  int32_t override_count = effective_overrides(topic, overrides);
  struct metadata_partition_spec *specs = arena_alloc(plan->arena, (size_t)partitions * sizeof *specs);
  for (int32_t i = 0; i < partitions; i++) {
    const int32_t *assigned = replicas + (size_t)i * (size_t)factor;
    // All assigned brokers are registered: the first leads, all are in sync.
    specs[i] = (struct metadata_partition_spec){assigned[0], 0, 0, assigned, factor, assigned, factor};
  }
  return metadata_topic_new(topic->name, &topic->id, 0, specs, partitions, overrides, override_count, config);
}

/// Copies the defaults that are shown: the answer may outlive the broker's configuration, which is replaced at run
/// time.
static void copy_defaults(struct create_plan *plan, struct controller_new_topic *topic)
{
  for (int32_t i = 0; i < topic->shown_count; i++) {
    struct config_shown *shown = &topic->shown[i];
    if (shown->source != CONFIG_SOURCE_TOPIC && shown->value) {
      shown->value = arena_strndup(plan->arena, shown->value, strlen(shown->value));
    }
  }
}

int topic_plan_check_config(const struct controller_hooks *hooks, const struct topic_config *old,
                            const struct topic_config *config, char *message)
{
  const char *name = topic_config_partitioner(config);
  const char *old_name = old != NULL ? topic_config_partitioner(old) : NULL;
  if (hooks == NULL || hooks->check_partitioner == NULL || name == NULL ||
      (old_name != NULL && strcmp(name, old_name) == 0)) {
    return 0;
  }
  return hooks->check_partitioner(hooks->arg, name, message);
}

static struct metadata_topic *decide(struct create_plan *plan, struct controller_new_topic *topic)
{
  char message[CONFIG_MESSAGE_SIZE];
  struct topic_config config;
  int32_t *replicas = NULL;
  int32_t partitions = 0;
  int32_t factor = 0;
  const struct topic_config_defaults *defaults = &plan->context->config->topic;
  if (check_name(plan, topic) != 0 || topic->partition_count >= 0) {
    return NULL;
  }
  if (plan->create->is_auto && topic_name_is_internal(topic->name)) {
    topic->configs = topic_plan_internal_configs(plan->context->config, plan->context->image, plan->arena, topic->name,
                                                 &topic->config_count);
  }
  if (topic_config_resolve(defaults, topic->configs, topic->config_count, &config, message) < 0 ||
      topic_plan_check_config(plan->context->hooks, NULL, &config, message) < 0) {
    refuse(topic, WIRE_INVALID_CONFIG, arena_printf(plan->arena, "%s", message));
    return NULL;
  }
  if (place(plan, topic, &replicas, &partitions, &factor) != 0) {
    return NULL;
  }
  if (topic_name_may_collide(topic->name)) {
    *name_set_slot(marked_names(plan), topic->name) = topic->name;
  }
  plan->context->make_id(&topic->id);
  topic->partition_count = partitions;
  topic->made_replication_factor = (int16_t)factor;
  topic->shown = arena_alloc(plan->arena, TOPIC_CONFIG_COUNT * sizeof *topic->shown);
  topic->shown_count = topic_config_list(defaults, topic->configs, topic->config_count, topic->shown);
  copy_defaults(plan, topic);
  return plan->create->is_validate_only ? NULL : make_topic(plan, topic, replicas, partitions, factor, &config);
}

int32_t topic_plan_create(const struct topic_plan_context *context, struct controller_create *create,
                          struct metadata_topic **made)
{
  struct create_plan plan = {.context = context, .create = create, .arena = create->arena};
  bool is_too_large = count_partitions(context, create) > TOPIC_PLAN_PARTITIONS_MAX;
  for (int32_t i = 0; i < create->topic_count; i++) {
    struct controller_new_topic *topic = &create->topics[i];
    topic->is_repeat = false;
    if (!topic->is_refused) {
      topic->error_code = WIRE_NONE;
      topic->error_message = NULL;
    }
    topic->id = (struct uuid){{0}};
    topic->partition_count = -1;
    topic->made_replication_factor = -1;
    topic->shown_count = 0;
    topic->shown = NULL;
    made[i] = NULL;
    if (is_too_large) {
      refuse(topic, WIRE_POLICY_VIOLATION, "Excessively large number of partitions per request.");
    }
  }
  if (is_too_large) {
    return 0;
  }
  find_repeats(&plan);
  int32_t count = 0;
  for (int32_t i = 0; i < create->topic_count; i++) {
    struct controller_new_topic *topic = &create->topics[i];
    if (topic->error_code == WIRE_NONE && !topic->is_repeat) {
      made[i] = decide(&plan, topic);
      count += made[i] != NULL;
    }
  }
  return count;
}
