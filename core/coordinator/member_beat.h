// SPDX-License-Identifier: Apache-2.0
//
// Heartbeats that change nothing, which is nearly all of them, do not go to the shard. While a group is stable, a
// member has one of these, shared by its shard and the worker of its connection: that worker notes when the member was
// heard, and answers. The shard looks there before it throws the member out, and ends it with the first change of the
// group.
//
//   shard: member is heard, group stable --> member_beat_new() --> with the answer to the connection's worker
//   worker: member_beat_hear()  true: it is noted, answer WIRE_NONE   false: ask the shard
//   shard: rebalance, another id, the end --> member_beat_end()
//
// A heartbeat that is noted while the shard ends it counts as one that came just before.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Shared: member_beat_ref(), member_beat_unref(). Any thread.
struct member_beat {
  _Atomic(int32_t) refs;       ///< holders
  _Atomic(int32_t) generation; ///< generation whose heartbeats are answered with no error; -1: it has ended
  _Atomic(int64_t) heard_ms;   ///< when the member was heard last, wall clock
};

/// @return with one reference
struct member_beat *member_beat_new(int32_t generation, int64_t now_ms);

struct member_beat *member_beat_ref(struct member_beat *beat);

/// NULL is fine.
void member_beat_unref(struct member_beat *beat);

/// Notes a heartbeat of a generation. @return false: nothing was noted, the shard has to be asked
bool member_beat_hear(struct member_beat *beat, int32_t generation, int64_t now_ms);

/// No heartbeat is noted any more. The shard's thread.
void member_beat_end(struct member_beat *beat);

/// Whether it has ended.
bool member_beat_has_ended(const struct member_beat *beat);
