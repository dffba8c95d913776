// SPDX-License-Identifier: Apache-2.0
//
// Parts of the decision on new topics: manual assignments and the broker's own topics.
#pragma once

#include "controller/controller.h"

enum { TOPIC_PLAN_INTERNAL_PARTITIONS = 50 };

/// Checks a manual assignment and sorts it by partition.
///
/// @return NULL, or Kafka's sentence for INVALID_REPLICA_ASSIGNMENT (a constant, or in the arena)
const char *topic_plan_check_assignments(const struct metadata_image *image, struct arena *arena,
                                         struct controller_assignment *assignments, int32_t count);

/// Replicas of the broker's own topics: three, or as many as there are brokers.
int32_t topic_plan_internal_factor(const struct metadata_image *image);

/// Configs of the broker's own topics when they are created by need, in the arena.
const struct config_entry *topic_plan_internal_configs(const struct metadata_image *image, struct arena *arena,
                                                       const char *name, int32_t *count);
