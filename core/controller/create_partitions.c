// SPDX-License-Identifier: Apache-2.0
//
// Decisions on partitions that are added to topics (KIP-195), in the order in which Kafka makes them, because that
// decides which error is told. Called for CreatePartitions, and in parts for topic blocks that ask for more. A new
// partition gets the replicas that it would have had if the topic had been made with all of them.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "controller/placement.h"
#include "controller/topic_plan_private.h"
#include "wire/error_codes.h"

static int16_t refuse(struct controller_grown_topic *topic, int16_t code, const char *message)
{
  topic->error_code = code;
  topic->error_message = message;
  return code;
}

// ---- the request as a whole ----

static int compare_names(const void *left, const void *right)
{
  const struct controller_grown_topic *a = *(struct controller_grown_topic *const *)left;
  const struct controller_grown_topic *b = *(struct controller_grown_topic *const *)right;
  int order = memcmp(a->name, b->name, a->name_length < b->name_length ? a->name_length : b->name_length);
  if (order == 0) {
    order = (a->name_length > b->name_length) - (a->name_length < b->name_length);
  }
  return order != 0 ? order : (a > b) - (a < b);
}

/// Gives the first entry of a name that comes twice its error, and marks the others as repeats.
static void find_repeats(struct controller_grow *grow)
{
  struct controller_grown_topic **sorted = arena_alloc(grow->arena, (size_t)grow->topic_count * sizeof(void *));
  for (int32_t i = 0; i < grow->topic_count; i++) {
    sorted[i] = &grow->topics[i];
  }
  qsort(sorted, (size_t)grow->topic_count, sizeof(void *), compare_names);
  struct controller_grown_topic *first = NULL;
  for (int32_t i = 0; i < grow->topic_count; i++) {
    struct controller_grown_topic *topic = sorted[i];
    if (!first || topic->name_length != first->name_length ||
        memcmp(topic->name, first->name, topic->name_length) != 0) {
      first = topic;
      continue;
    }
    refuse(first, WIRE_INVALID_REQUEST, "Duplicate topic name.");
    topic->is_repeat = true;
  }
}

static const struct metadata_topic *look_up(const struct topic_plan_context *context,
                                            const struct controller_grown_topic *topic)
{
  return metadata_image_topic(context->image, topic->name, topic->name_length);
}

static bool is_open(const struct controller_grown_topic *topic)
{
  return topic->error_code == WIRE_NONE && !topic->is_repeat;
}

/// Partitions that would be added, as Kafka counts them: what is missing or shrinks counts nothing.
static int64_t count_added(const struct topic_plan_context *context, const struct controller_grow *grow)
{
  int64_t total = 0;
  for (int32_t i = 0; i < grow->topic_count; i++) {
    const struct metadata_topic *old = is_open(&grow->topics[i]) ? look_up(context, &grow->topics[i]) : NULL;
    if (old && grow->topics[i].partitions > old->partition_count) {
      total += grow->topics[i].partitions - old->partition_count;
    }
  }
  return total;
}

// ---- one topic ----

static int16_t check_counts(struct controller_grow *grow, const struct metadata_topic *old,
                            struct controller_grown_topic *topic)
{
  int32_t added = topic->partitions - old->partition_count;
  if (topic->partitions == old->partition_count) {
    return refuse(topic, WIRE_INVALID_PARTITIONS,
                  arena_printf(grow->arena, "Topic already has %d partition(s).", old->partition_count));
  }
  if (topic->partitions < old->partition_count) {
    return refuse(topic, WIRE_INVALID_PARTITIONS,
                  arena_printf(grow->arena, "The topic %s currently has %d partition(s); %d would not be an increase.",
                               topic->name, old->partition_count, topic->partitions));
  }
  if (topic->assignment_count >= 0 && topic->assignment_count != added) {
    return refuse(topic, WIRE_INVALID_REPLICA_ASSIGNMENT,
                  arena_printf(grow->arena,
                               "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
                               added, topic->assignment_count));
  }
  return 0;
}

/// Takes a manual assignment, or places.
static int16_t place(const struct topic_plan_context *context, struct controller_grow *grow,
                     const struct metadata_topic *old, struct controller_grown_topic *topic,
                     struct metadata_partition_spec *specs)
{
  const struct metadata_image *image = context->image;
  int32_t factor = old->partitions[0].replica_count > 0 ? old->partitions[0].replica_count : 1;
  if (topic->assignment_count < 0 && factor > image->broker_count) {
    return refuse(topic, WIRE_INVALID_REPLICATION_FACTOR,
                  arena_printf(grow->arena,
                               "The target replication factor of %d cannot be reached because only %d broker(s) are "
                               "registered or some brokers have all their log directories cordoned.",
                               factor, image->broker_count));
  }
  if (topic->assignment_count < 0) {
    topic_plan_place_added(image, grow->arena, old, topic->partitions, factor, specs);
    return 0;
  }
  for (int32_t i = 0; i < topic->assignment_count; i++) {
    const struct controller_assignment *given = &topic->assignments[i];
    const char *message = topic_plan_check_replicas(image, grow->arena, given, factor);
    if (message) {
      return refuse(topic, WIRE_INVALID_REPLICA_ASSIGNMENT, message);
    }
    specs[old->partition_count + i] = (struct metadata_partition_spec){
        given->brokers[0], 0, 0, given->brokers, given->broker_count, given->brokers, given->broker_count};
  }
  return 0;
}

static void decide(const struct topic_plan_context *context, struct controller_grow *grow,
                   struct controller_grown_topic *topic, struct topic_plan_grown *grown)
{
  const struct metadata_topic *old = look_up(context, topic);
  if (!old) {
    refuse(topic, WIRE_UNKNOWN_TOPIC_OR_PARTITION, NULL);
    return;
  }
  if (old->source) {
    refuse(topic, WIRE_INVALID_TOPIC_EXCEPTION, "This topic is a view, which has as many partitions as its source.");
    return;
  }
  if (check_counts(grow, old, topic) != 0) {
    return;
  }
  struct metadata_partition_spec *specs = arena_zalloc(grow->arena, (size_t)topic->partitions * sizeof *specs);
  if (place(context, grow, old, topic, specs) != 0 || grow->is_validate_only) {
    return;
  }
  topic_plan_make_grown(old, specs, topic->partitions, old->overrides, old->override_count, &old->config, grown);
}

int32_t topic_plan_grow(const struct topic_plan_context *context, struct controller_grow *grow,
                        struct topic_plan_grown *grown)
{
  for (int32_t i = 0; i < grow->topic_count; i++) {
    grow->topics[i].is_repeat = false;
    if (!grow->topics[i].is_refused) {
      refuse(&grow->topics[i], WIRE_NONE, NULL);
    }
    grown[i] = (struct topic_plan_grown){NULL, NULL};
  }
  find_repeats(grow);
  bool is_too_large = count_added(context, grow) > TOPIC_PLAN_PARTITIONS_MAX;
  int32_t count = 0;
  for (int32_t i = 0; i < grow->topic_count; i++) {
    struct controller_grown_topic *topic = &grow->topics[i];
    if (!is_open(topic)) {
      continue;
    }
    if (is_too_large) {
      refuse(topic, WIRE_POLICY_VIOLATION, "Excessively large number of additional partitions per request.");
      continue;
    }
    decide(context, grow, topic, &grown[i]);
    count += grown[i].topic != NULL;
  }
  return count;
}

// ---- parts that topic blocks use as well ----

void topic_plan_keep_partitions(const struct metadata_topic *old, struct metadata_partition_spec *specs)
{
  for (int32_t i = 0; i < old->partition_count; i++) {
    const struct metadata_partition *part = &old->partitions[i];
    specs[i] =
        (struct metadata_partition_spec){part->leader,        part->leader_epoch, part->partition_epoch, part->replicas,
                                         part->replica_count, part->isr,          part->isr_count};
  }
}

void topic_plan_place_added(const struct metadata_image *image, struct arena *arena, const struct metadata_topic *old,
                            int32_t partitions, int32_t factor, struct metadata_partition_spec *specs)
{
  int32_t *brokers = arena_alloc(arena, (size_t)image->broker_count * sizeof *brokers);
  for (int32_t i = 0; i < image->broker_count; i++) {
    brokers[i] = image->brokers[i]->id;
  }
  int32_t *replicas = arena_alloc(arena, (size_t)partitions * (size_t)factor * sizeof *replicas);
  placement_classic(brokers, image->broker_count, partitions, factor, replicas);
  for (int32_t i = old->partition_count; i < partitions; i++) {
    const int32_t *assigned = replicas + (size_t)i * (size_t)factor;
    // All assigned brokers are registered: the first leads, all are in sync.
    specs[i] = (struct metadata_partition_spec){assigned[0], 0, 0, assigned, factor, assigned, factor};
  }
}

void topic_plan_make_grown(const struct metadata_topic *old, struct metadata_partition_spec *specs, int32_t partitions,
                           const struct config_entry *overrides, int32_t override_count,
                           const struct topic_config *config, struct topic_plan_grown *grown)
{
  for (int32_t i = 0; i < old->partition_count; i++) {
    specs[i] = (struct metadata_partition_spec){.leader = METADATA_NO_LEADER}; // open already
  }
  grown->opened =
      metadata_topic_new(old->name, &old->id, old->version + 1, specs, partitions, overrides, override_count, config);
  topic_plan_keep_partitions(old, specs);
  grown->topic =
      metadata_topic_new(old->name, &old->id, old->version + 1, specs, partitions, overrides, override_count, config);
}
