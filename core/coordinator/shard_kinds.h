// SPDX-License-Identifier: Apache-2.0
//
// Who serves what: the tables by which a shard finds the functions of the kinds of groups.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coordinator/shard_private.h"

/// A record of a kind of group. @param value  what follows its version; NULL: a tombstone
typedef int (*group_replay_fn)(struct group_shard *shard, int16_t kind, const uint8_t *key, int32_t key_size,
                               int16_t value_version, const uint8_t *value, int32_t value_size);

/// Who replays records with that key; NULL: nobody.
group_replay_fn group_replay_of(int16_t kind);

/// Who serves a request.
struct group_route {
  int16_t key;             ///< enum wire_api_key
  bool waits;              ///< comes after writes under way that hold up the group
  bool waits_for_all;      ///< comes after all writes under way, and after members whose time is up have gone
  group_serve_fn serve;    ///< serves it
  group_serve_fn consumer; ///< serves it for a GROUP_CONSUMER; NULL: `serve` does
};

/// NULL: nobody serves it.
const struct group_route *group_route_of(int16_t key);
