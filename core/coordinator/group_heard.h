// SPDX-License-Identifier: Apache-2.0
//
// When the members of a group were heard last, of either protocol: for consoles. A copy, made on the thread of the
// group's shard.
#pragma once

#include <stdint.h>

#include "wire/types.h"

/// A member that was heard: a heartbeat, or whatever else counts as one.
struct group_heard {
  struct wire_string member_id; ///< member id, which may have any bytes
  int64_t heard_ms;             ///< when it was heard last, or its group was loaded, ms since 1970
};

/// The members of a group.
struct group_heard_list {
  struct group_heard *items; ///< in an arena
  int32_t count;             ///< how many
};
