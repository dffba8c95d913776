// SPDX-License-Identifier: Apache-2.0
//
// What happens before the clock starts: a blocking client that finds the brokers, creates the topic, waits for its
// leaders and asks for offsets. Also used by `load check`, which reads the topic at its leisure.
#pragma once

#include <stdint.h>

#include "client.h"

struct load_options;

enum {
  LOAD_CLIENT_TIMEOUT_MS = 15000, ///< for a leader of each partition
  LOAD_VERSION_PRODUCE = 9,       ///< versions that are sent: all brokers from 2.7 on know them, and
  LOAD_VERSION_FETCH = 12,        ///< topics go by name
  LOAD_VERSION_LIST_OFFSETS = 6,
  LOAD_VERSION_METADATA = 9,
  LOAD_VERSION_CREATE_TOPICS = 5,
  LOAD_VERSION_API_VERSIONS = 3,
};

/// Where a broker listens.
struct load_broker {
  int32_t id;                    ///< broker id
  struct client_address address; ///< resolved
};

/// A partition that is produced to or fetched from.
struct load_partition {
  int broker;           ///< index of the leader in the cluster's brokers
  int64_t start_offset; ///< log start offset when asked
  int64_t end_offset;   ///< high watermark when asked
};

/// What the run needs to know of the cluster; owned: load_cluster_destroy().
struct load_cluster {
  struct load_broker *brokers;       ///< all brokers
  int broker_count;                  ///< how many
  struct load_partition *partitions; ///< by partition number
  int32_t partition_count;           ///< how many are used
};

/// Connects, creates the topic if asked to, waits up to 15 s for a leader of each partition and asks for its offsets.
/// Without a topic (api-versions, --raw) all partitions are taken to be where --brokers says, and nothing is asked.
///
/// @return 0, or a negative ERR_* with error_last()
int load_cluster_open(const struct load_options *options, struct load_cluster *cluster);
void load_cluster_destroy(struct load_cluster *cluster);
