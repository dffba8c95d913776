// SPDX-License-Identifier: Apache-2.0
//
// The JSON of Kafka's ZooKeeper nodes: what the controller writes into the metastore and reads from it. Pure. Texts go
// into an arena; what is read comes from disk, so every field is checked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "metadata/image.h"

struct arena;

/// /brokers/topics/T as it is read.
struct topic_node {
  struct uuid id;                             ///< zero: written before topics had ids
  int32_t partition_count;                    ///< >= 1, numbered from 0 without a gap
  struct metadata_partition_spec *partitions; ///< replicas only, in the arena
};

/// /brokers/topics/T/partitions/P/state as it is read.
struct state_node {
  int32_t leader;           ///< broker id or METADATA_NO_LEADER
  int32_t leader_epoch;     ///< >= 0
  int32_t controller_epoch; ///< of the controller that wrote it
  int32_t isr_count;        ///< in-sync brokers
  int32_t *isr;             ///< in the arena
};

const char *topic_nodes_path_topic(struct arena *arena, const char *topic);
const char *topic_nodes_path_config(struct arena *arena, const char *topic);
/// Of one broker, or with -1 of all.
const char *topic_nodes_path_broker_config(struct arena *arena, int32_t broker_id);
const char *topic_nodes_path_partition(struct arena *arena, const char *topic, int32_t partition);
const char *topic_nodes_path_state(struct arena *arena, const char *topic, int32_t partition);
const char *topic_nodes_path_delete(struct arena *arena, const char *topic);
const char *topic_nodes_path_static(struct arena *arena, const char *topic);

/// /brokers/topics/T, version 3.
const char *topic_nodes_topic(struct arena *arena, const struct uuid *id,
                              const struct metadata_partition_spec *partitions, int32_t partition_count);

/// /brokers/topics/T/partitions/P/state, version 1.
const char *topic_nodes_state(struct arena *arena, int32_t leader, int32_t leader_epoch, const int32_t *isr,
                              int32_t isr_count, int32_t controller_epoch);

/// /config/topics/T and /config/brokers/N, version 1.
const char *topic_nodes_config(struct arena *arena, const struct config_entry *overrides, int32_t count);

/// /config/changes/config_change_N, version 2: tells those who watch that a node under /config has changed.
///
/// @param kind  "topics" or "brokers"
const char *topic_nodes_config_change(struct arena *arena, const char *kind, const char *entity);

/// /luka/topics/T, version 1, a node of our own: the text of the topic block that was last applied.
const char *topic_nodes_static(struct arena *arena, const char *block_text);

/// /brokers/ids/N, version 5.
const char *topic_nodes_broker(struct arena *arena, const char *rack, const struct metadata_endpoint *endpoints,
                               int32_t endpoint_count, int64_t wall_ms);

/// /controller, version 2.
const char *topic_nodes_controller(struct arena *arena, int32_t broker_id, int64_t wall_ms);

/// /cluster/id, version "1".
const char *topic_nodes_cluster(struct arena *arena, const char *cluster_id);

/// Reading: 0, or ERR_CORRUPT with a sentence that has no path in it. `text` is NUL-terminated; NULL: the node is
/// empty.
int topic_nodes_read_topic(struct arena *arena, const char *text, struct topic_node *node);
int topic_nodes_read_state(struct arena *arena, const char *text, struct state_node *node);
int topic_nodes_read_config(struct arena *arena, const char *text, struct config_entry **overrides, int32_t *count);
int topic_nodes_read_static(struct arena *arena, const char *text, const char **block_text);
int topic_nodes_read_cluster(struct arena *arena, const char *text, const char **cluster_id);

/// The error of a node that cannot be read: its path before the latest error's sentence. @return ERR_CORRUPT
int topic_nodes_corrupt(const char *path);

/// Reads a broker's registration; one reference, owned.
int topic_nodes_read_broker(struct arena *arena, const char *text, int32_t id, int64_t epoch,
                            struct metadata_broker **broker);
