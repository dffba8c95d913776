// SPDX-License-Identifier: Apache-2.0
//
// What the broker's configuration says about groups, under Kafka's names with dots for underscores.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GROUP_ASSIGNORS_MAX = 2 }; ///< assignors that there are

struct group_settings {
  int32_t group_min_session_timeout_ms;     ///< ms
  int32_t group_max_session_timeout_ms;     ///< ms
  int32_t group_initial_rebalance_delay_ms; ///< ms that the first members of an empty group wait for more
  int32_t group_max_size;                   ///< members
  int32_t offset_metadata_max_bytes;        ///< characters of the metadata of a commit (Kafka counts characters)
  int64_t offsets_retention_ms;             ///< ms after which offsets of an empty group go (offsets.retention.minutes)
  int64_t offsets_retention_check_interval_ms;          ///< ms between two looks for such
  int32_t group_consumer_session_timeout_ms;            ///< ms, KIP-848
  int32_t group_consumer_heartbeat_interval_ms;         ///< ms
  int32_t group_consumer_max_size;                      ///< members
  int32_t group_consumer_assignment_interval_ms;        ///< ms between two target assignments of a group, at least
  int8_t group_consumer_assignors[GROUP_ASSIGNORS_MAX]; ///< assignor_at() of those that clients may ask for, the
                                                        ///< default one first
  int8_t group_consumer_assignor_count;                 ///< how many
  bool is_upgrade_allowed;   ///< group.consumer.migration.policy: classic groups become consumer groups
  bool is_downgrade_allowed; ///< likewise: and back
};
