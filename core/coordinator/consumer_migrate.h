// SPDX-License-Identifier: Apache-2.0
//
// Groups that change their kind (KIP-848): a classic group that a consumer of the new protocol joins becomes a consumer
// group, in the write in which that member joins; when the last of those leaves, it becomes a classic group again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coordinator/consumer_private.h"

/// What a heartbeat starts from.
struct consumer_migration {
  struct group *group;               ///< the group, which may just have been made
  const struct consumer_group *base; ///< what is known of it: its own, or `converted`
  struct consumer_group converted;   ///< of a group that is new or classic: what it will be
};

/// Finds the group, or makes of it what it will be.
///
/// @param is_join  it may be made, or change its kind
/// @return NULL, or why there is no such group, in the request's arena
const char *consumer_migration_begin(struct consumer_migration *migration, struct group_shard *shard,
                                     struct group *group, struct group_request *request, bool is_join);

/// Writes the end of the classic group, and its members as those of a consumer group. Requests that wait in it are told
/// to join again.
void consumer_migration_write(struct consumer_migration *migration, struct consumer_change *change);

/// Frees what was made.
void consumer_migration_end(struct consumer_migration *migration);

/// Members go. When all that are left speak the classic protocol, the group becomes a classic one, otherwise
/// consumer_write_departure().
void consumer_migration_departure(struct consumer_change *change, const struct consumer_member *const *members,
                                  int32_t count);

/// A write that may have changed the kind is done, or failed: timers, and the rebalance of a group that is classic now.
void consumer_migration_settle(struct group *group, int16_t error, int64_t now_ms);
