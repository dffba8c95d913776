// SPDX-License-Identifier: Apache-2.0
//
// Parts of the decision on new topics: manual assignments, checked in Kafka's order, and what the broker's own topics
// are created with.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "controller/placement.h"
#include "controller/topic_plan_private.h"

/// The topic of groups and offsets; the others are Kafka's __transaction_state and __share_group_state.
#define OFFSETS_TOPIC "__consumer_offsets"

enum { INTERNAL_PARTITIONS = 50, INTERNAL_FACTOR = 3, INTERNAL_MIN_ISR = 2, INTERNAL_CONFIGS_MAX = 8 };

static int compare_partitions(const void *left, const void *right)
{
  const struct controller_assignment *a = left;
  const struct controller_assignment *b = right;
  return (a->partition > b->partition) - (a->partition < b->partition);
}

const char *topic_plan_check_replicas(const struct metadata_image *image, struct arena *arena,
                                      const struct controller_assignment *assignment, int32_t factor)
{
  int32_t count = assignment->broker_count;
  if (count <= 0) {
    return "The manual partition assignment includes an empty replica list.";
  }
  int32_t *sorted = arena_dup(arena, assignment->brokers, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, placement_compare_ids);
  for (int32_t i = 0; i < count; i++) {
    if (!metadata_image_broker(image, sorted[i])) {
      return arena_printf(
          arena, "The manual partition assignment includes broker %d, but no such broker is registered.", sorted[i]);
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      return arena_printf(arena, "The manual partition assignment includes the broker %d more than once.", sorted[i]);
    }
  }
  if (factor >= 0 && count != factor) {
    return arena_printf(arena,
                        "The manual partition assignment includes a partition with %d replica(s), but this is not "
                        "consistent with previous partitions, which have %d replica(s).",
                        count, factor);
  }
  return NULL;
}

const char *topic_plan_check_assignments(const struct metadata_image *image, struct arena *arena,
                                         struct controller_assignment *assignments, int32_t count)
{
  for (int32_t i = 0; i < count; i++) {
    const char *message =
        topic_plan_check_replicas(image, arena, &assignments[i], i > 0 ? assignments[0].broker_count : -1);
    if (message) {
      return message;
    }
  }
  qsort(assignments, (size_t)count, sizeof *assignments, compare_partitions);
  for (int32_t i = 1; i < count; i++) {
    if (assignments[i].partition == assignments[i - 1].partition) {
      return arena_printf(arena, "Found multiple manual partition assignments for partition %d",
                          assignments[i].partition);
    }
  }
  for (int32_t i = 0; i < count; i++) {
    if (assignments[i].partition != i) {
      return "partitions should be a consecutive 0-based integer sequence";
    }
  }
  return NULL;
}

int32_t topic_plan_internal_partitions(int32_t offsets_partitions, const char *name)
{
  return strcmp(name, OFFSETS_TOPIC) == 0 ? offsets_partitions : INTERNAL_PARTITIONS;
}

int32_t topic_plan_internal_factor(const struct broker_config *config, const struct metadata_image *image,
                                   const char *name)
{
  int32_t factor = strcmp(name, OFFSETS_TOPIC) == 0 ? config->offsets_topic_replication_factor : INTERNAL_FACTOR;
  return image->broker_count < factor ? image->broker_count : factor;
}

const struct config_entry *topic_plan_internal_configs(const struct broker_config *config,
                                                       const struct metadata_image *image, struct arena *arena,
                                                       const char *name, int32_t *count)
{
  struct config_entry *configs = arena_alloc(arena, INTERNAL_CONFIGS_MAX * sizeof *configs);
  int32_t used = 0;
  int32_t factor = topic_plan_internal_factor(config, image, name);
  bool is_offsets = strcmp(name, OFFSETS_TOPIC) == 0;
  bool is_transactions = strcmp(name, "__transaction_state") == 0;
  configs[used++] = (struct config_entry){
      "segment.bytes", is_offsets ? arena_printf(arena, "%d", config->offsets_topic_segment_bytes) : "104857600"};
  configs[used++] = (struct config_entry){"compression.type", is_offsets ? "producer" : "uncompressed"};
  configs[used++] = (struct config_entry){"cleanup.policy", is_offsets || is_transactions ? "compact" : "delete"};
  if (is_transactions) {
    configs[used++] = (struct config_entry){"unclean.leader.election.enable", "false"};
  }
  if (!is_offsets) {
    int32_t min_isr = factor < INTERNAL_MIN_ISR ? factor : INTERNAL_MIN_ISR;
    configs[used++] = (struct config_entry){"min.insync.replicas", arena_printf(arena, "%d", min_isr)};
  }
  if (!is_offsets && !is_transactions) {
    configs[used++] = (struct config_entry){"retention.ms", "-1"};
  }
  *count = used;
  return configs;
}
