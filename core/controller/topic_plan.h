// SPDX-License-Identifier: Apache-2.0
//
// What is to become of a request to create or delete topics: pure decisions over the current image, so that specs drive
// them without threads, files or sleep. Errors and messages are Kafka's.
#pragma once

#include "controller/controller.h"

enum {
  TOPIC_PLAN_PARTITIONS_MAX = 10000, ///< partitions that one request may create, as in Kafka
};

/// What decisions depend on.
struct topic_plan_context {
  const struct metadata_image *image; ///< the cluster as it is
  const struct broker_config *config; ///< defaults
  void (*make_id)(struct uuid *id);   ///< makes a new topic id: uuid_random(), or a spec's
};

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
