// SPDX-License-Identifier: Apache-2.0
//
// What is to become of a request to create, change or delete topics: pure decisions over the current image, so that
// specs drive them without threads, files or sleep. Errors and messages are Kafka's.
#pragma once

#include "controller/controller.h"

enum {
  TOPIC_PLAN_PARTITIONS_MAX = 10000, ///< partitions that one request may create or add, as in Kafka
};

/// What decisions depend on.
struct topic_plan_context {
  const struct metadata_image *image;   ///< the cluster as it is
  const struct broker_config *config;   ///< defaults
  void (*make_id)(struct uuid *id);     ///< makes a new topic id: uuid_random(), or a spec's
  const struct controller_hooks *hooks; ///< for topic_plan_check_config(); NULL: nothing more is checked
};

/// Checks of a topic's resolved configs what the lists of configs do not know.
///
/// @param old  what the topic has now, which is not judged again; NULL: it is new
/// @return 0, ERR_CONFIG with a sentence in `message`, CONFIG_MESSAGE_SIZE bytes
int topic_plan_check_config(const struct controller_hooks *hooks, const struct topic_config *old,
                            const struct topic_config *config, char *message);

/// Decides on each topic of a request: fills in all results, and makes the topics that are to be created.
///
/// @param[out] made  one slot per topic of the request: a new topic with one reference (owned), or NULL where there is
///                   nothing to create
/// @return how many are to be created; 0 for a request that only validates
int32_t topic_plan_create(const struct topic_plan_context *context, struct controller_create *create,
                          struct metadata_topic **made);

/// Decides on each topic of a request: fills in all results.
///
/// @param[out] doomed  one slot per topic of the request: the topic to delete (borrowed from the image), or NULL
/// @return how many are to be deleted
int32_t topic_plan_delete(const struct topic_plan_context *context, struct controller_drop *drop,
                          const struct metadata_topic **doomed);

/// A topic that gets more partitions.
struct topic_plan_grown {
  struct metadata_topic *topic;  ///< as it will be; one reference, owned
  struct metadata_topic *opened; ///< the same with the replicas of the new partitions only; one reference, owned
};

/// Decides on each topic of a request to add partitions (create_partitions.c): fills in all results.
///
/// @param[out] grown  one slot per topic of the request; `topic` is NULL where there is nothing to add
/// @return how many topics get partitions; 0 for a request that only validates
int32_t topic_plan_grow(const struct topic_plan_context *context, struct controller_grow *grow,
                        struct topic_plan_grown *grown);
