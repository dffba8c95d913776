// SPDX-License-Identifier: Apache-2.0
//
// The hash by which a consumer group sees that its topics changed (KIP-1101): the same number as Kafka's, so that a
// group that comes from there does not rebalance for that.
#pragma once

#include <stdint.h>

#include "base/uuid.h"
#include "wire/types.h"

struct arena;

/// A topic as groups see it.
struct consumer_topic {
  struct wire_string name; ///< its name, borrowed
  struct uuid id;          ///< topic id
  int32_t partitions;      ///< how many it has
};

/// @param topics  sorted by name
/// @param arena   for scratch memory
/// @return 0 for no topics
int64_t consumer_hash_topics(const struct consumer_topic *topics, int32_t count, struct arena *arena);
