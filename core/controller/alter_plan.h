// SPDX-License-Identifier: Apache-2.0
//
// What is to become of a request to change configs: pure decisions over the current image and the nodes of the
// metastore, so that specs drive them without threads, files or sleep. Each resource is decided by itself; errors,
// messages and the order of checks are Kafka's:
//
//   topic   operations, then name, names and values of all configs, what belongs together, and last whether it exists
//   broker  operations, then what cannot change at run time, then values
//   group   operations, then name, names and values of all configs, the broker's bounds, what belongs together
#pragma once

#include "controller/controller.h"

/// What decisions depend on; all borrowed.
struct alter_plan_context {
  const struct metadata_image *image;   ///< the cluster as it is
  const struct broker_config *config;   ///< in force: what is configured, with what was set at run time
  const struct controller_hooks *hooks; ///< for topic_plan_check_config(); NULL: nothing more is checked
};

/// What the metastore has of a resource.
struct alter_found {
  bool is_there;                      ///< its node exists
  const struct config_entry *configs; ///< what is set there, also what does not fit any more; in an arena
  int32_t config_count;               ///< how many
};

/// What a resource comes to. All zero: nothing is to be done.
struct alter_change {
  bool is_changed;                    ///< its node is to be written
  const struct config_entry *configs; ///< what the node is to have, in the request's arena
  int32_t config_count;               ///< how many
  struct metadata_topic *topic;       ///< a topic as it will be; one reference, owned. NULL: no topic
  struct metadata_entity *entity;     ///< a group, subscription or user likewise
  bool is_emptied;                    ///< nothing is set on it any more
};

/// What a request comes to.
struct alter_plan {
  struct alter_change *changes; ///< one for each resource, in the request's arena
  int32_t resource_count;       ///< how many
  int32_t change_count;         ///< how many of them are changes
  struct broker_config *config; ///< the configuration as it will be; one reference, owned. NULL: as it is
};

/// Begins to decide on a request; alter_plan_decide() comes for each resource, in their order, then alter_plan_end().
///
/// @param[out] plan  owned: alter_plan_destroy()
void alter_plan_begin(struct controller_alter *alter, struct alter_plan *plan);

/// Decides on a resource of a request: fills in its result. One that has an error already, or is settled, is left as it
/// is.
///
/// @param found  what the metastore has of it, borrowed
void alter_plan_decide(const struct alter_plan_context *context, struct controller_alter *alter, int32_t index,
                       const struct alter_found *found, struct alter_plan *plan);

/// All have been decided on: for a request that only validates, there are no changes.
void alter_plan_end(const struct controller_alter *alter, struct alter_plan *plan);

void alter_plan_destroy(struct alter_plan *plan);
