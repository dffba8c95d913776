// SPDX-License-Identifier: Apache-2.0
//
// A worker's members: for those whose heartbeats have come over its connections while their group was stable, what
// coordinator/member_beat.h is about. A heartbeat that is found here is answered without asking the group's shard,
// which often lives on another worker: two threads would have to be woken for it.
//
// Owned by its worker, like all that it knows.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct beat_cache;
struct member_beat;
struct wire_heartbeat_request;

struct beat_cache *beat_cache_new(void);

/// NULL is fine.
void beat_cache_delete(struct beat_cache *cache);

/// Notes a heartbeat. @return false: the shard has to be asked
bool beat_cache_hear(struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat, int64_t now_ms);

/// The shard has answered that heartbeat with no error. @param beat  taken
void beat_cache_add(struct beat_cache *cache, const struct wire_heartbeat_request *heartbeat, struct member_beat *beat);

/// Members that it knows.
int beat_cache_count(const struct beat_cache *cache);
