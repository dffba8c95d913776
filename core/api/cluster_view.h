// SPDX-License-Identifier: Apache-2.0
//
// What a client is told of the cluster, whichever request asks: addresses are those of the listener that it came
// through, and without functions that decide about it (api/authorize.h) everybody may do all that there is.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct metadata_broker;
struct metadata_topic;
struct request;

enum {
  CLUSTER_VIEW_TOPIC_OPERATIONS = 3576,   ///< bits of Kafka's AclOperation that a topic has
  CLUSTER_VIEW_CLUSTER_OPERATIONS = 8096, ///< and the cluster
  /// And a group: read, delete, describe, describe and alter configs (KIP-430).
  CLUSTER_VIEW_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11,
};

/// Finds the address of a broker for whoever sent a request. On the worker's thread, before the answer.
///
/// @param broker     NULL is fine: it has no address
/// @param[out] host  borrowed as long as the image
/// @return false when the broker has no address on this listener
bool cluster_view_address(const struct request *req, const struct metadata_broker *broker, const char **host,
                          int32_t *port);

/// What a client may do with the cluster; nothing where it may not even describe it.
int32_t cluster_view_operations(const struct request *req);

/// Whether a partition that this broker leads has no log that works: its data directory has failed, or it did not open.
/// Clients are told what Kafka's controller has a moment after that: no leader, nobody in sync, its replica offline.
bool cluster_view_is_offline(const struct request *req, const struct metadata_topic *topic, int32_t index);
