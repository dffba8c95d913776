// SPDX-License-Identifier: Apache-2.0
//
// Who leads a partition. Pure: what is known comes in, the state to write goes out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// What an election knows of a partition and its cluster.
struct election {
  const int32_t *live;     ///< registered brokers, sorted
  int32_t live_count;      ///< how many
  const int32_t *replicas; ///< assigned brokers, the preferred leader first
  int32_t replica_count;   ///< how many
  int32_t
      restarted; ///< broker whose unflushed records may be gone since it led, -1: none. Its leaderships get a new epoch
  bool is_unclean_allowed; ///< a live replica outside the ISR may lead as the last resort
};

/// The state of a partition, in and out.
struct election_state {
  int32_t leader;       ///< broker id, -1: none
  int32_t leader_epoch; ///< rises with every change of leader
  int32_t isr_count;    ///< in-sync brokers
  int32_t *isr;         ///< room for as many as there are replicas, and as were in sync before
};

/// The first leader of a new partition: the first live replica, with all live ones in sync; without any, no leader and
/// all replicas in sync. `state->isr` has room for all replicas.
void election_new(const struct election *election, struct election_state *state);

/// Looks at a partition when brokers have come or gone. A live leader stays. Otherwise the first replica that is live
/// and in sync leads with the live part of the ISR, or, where allowed, the first live one alone; or nobody.
///
/// @return whether the state has changed and must be written
bool election_renew(const struct election *election, struct election_state *state);
