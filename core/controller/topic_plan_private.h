// SPDX-License-Identifier: Apache-2.0
//
// Parts of the decisions on new topics and new partitions: manual assignments, placement, the broker's own topics.
#pragma once

#include "controller/topic_plan.h"

/// Checks a manual assignment and sorts it by partition.
///
/// @return NULL, or Kafka's sentence for INVALID_REPLICA_ASSIGNMENT (a constant, or in the arena)
const char *topic_plan_check_assignments(const struct metadata_image *image, struct arena *arena,
                                         struct controller_assignment *assignments, int32_t count);

/// Checks the replicas of one partition of a manual assignment.
///
/// @param factor  replicas that the topic's other partitions have; -1: there are none yet
/// @return as above
const char *topic_plan_check_replicas(const struct metadata_image *image, struct arena *arena,
                                      const struct controller_assignment *assignment, int32_t factor);

/// Places the partitions that a topic gets by the rule for new topics, as if it had been made with all of them.
///
/// @param partitions  how many it will have, more than it has
/// @param factor      replicas of each, at most as many as there are brokers
/// @param[out] specs  `partitions` of them; those of the new partitions are filled in
void topic_plan_place_added(const struct metadata_image *image, struct arena *arena, const struct metadata_topic *old,
                            int32_t partitions, int32_t factor, struct metadata_partition_spec *specs);

/// Makes a topic with more partitions, and with other configs.
///
/// @param specs   `partitions` of them, those of the new partitions filled in; the others are filled in here
/// @param grown   both results, as there
void topic_plan_make_grown(const struct metadata_topic *old, struct metadata_partition_spec *specs, int32_t partitions,
                           const struct config_entry *overrides, int32_t override_count,
                           const struct topic_config *config, struct topic_plan_grown *grown);

/// Describes the partitions that a topic has.
void topic_plan_keep_partitions(const struct metadata_topic *old, struct metadata_partition_spec *specs);

/// Partitions that the broker's own topics are created with. @param offsets_partitions  those of __consumer_offsets
int32_t topic_plan_internal_partitions(int32_t offsets_partitions, const char *name);

/// Replicas of the broker's own topics: three, or offsets.topic.replication.factor, or as many as there are brokers.
int32_t topic_plan_internal_factor(const struct broker_config *config, const struct metadata_image *image,
                                   const char *name);

/// Configs of the broker's own topics when they are created by need, in the arena.
const struct config_entry *topic_plan_internal_configs(const struct broker_config *config,
                                                       const struct metadata_image *image, struct arena *arena,
                                                       const char *name, int32_t *count);
