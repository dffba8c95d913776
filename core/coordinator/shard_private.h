// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of groups have in common, and what they may ask of their shard.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "coordinator/shard.h"
#include "wire/types.h"

struct classic_group;
struct consumer_group;
struct group;
struct group_offsets;
struct group_timer;

enum group_kind {
  GROUP_EMPTY,    ///< offsets alone, nobody has joined yet: becomes what the first member asks for
  GROUP_CLASSIC,  ///< JoinGroup, SyncGroup
  GROUP_CONSUMER, ///< KIP-848
};

/// A group. In its shard's table from the first record or request that is about it until nothing of it is left.
struct group {
  struct group *next;              ///< in its slot of the shard's table
  struct group_shard *shard;       ///< the shard
  uint32_t hash;                   ///< of the id
  int32_t id_size;                 ///< bytes of the id
  enum group_kind kind;            ///< which of the following there is
  struct classic_group *classic;   ///< with GROUP_CLASSIC; owned
  struct consumer_group *consumer; ///< with GROUP_CONSUMER; owned
  struct group_offsets *offsets;   ///< committed offsets; NULL: none. Owned
  struct list waiting;             ///< requests that come after the writes under way
  int32_t write_count;             ///< of those that hold up requests, see group_write_new()
  char id[];                       ///< the id, NUL-terminated
};

typedef void (*group_timer_fn)(struct group_shard *shard, struct group_timer *timer, int64_t now_ms);

/// Embed it; zero-initialised is a stopped timer. Part of its shard's heap while it runs.
struct group_timer {
  int64_t due_ms;     ///< wall clock
  uint64_t order;     ///< of those due together the one started first fires first
  size_t position;    ///< place in the heap plus one; 0: stopped
  group_timer_fn run; ///< called once, stopped by then
};

/// Starts, or moves, a timer.
void group_timer_start(struct group_shard *shard, struct group_timer *timer, int64_t due_ms, group_timer_fn run);

/// Harmless when it is stopped.
void group_timer_stop(struct group_shard *shard, struct group_timer *timer);

/// The group, or NULL.
struct group *group_find(struct group_shard *shard, struct wire_string id);

/// The group, made (GROUP_EMPTY) when it is not there.
struct group *group_obtain(struct group_shard *shard, struct wire_string id);

/// Takes it out of the table and frees it, when it has neither members nor offsets nor anything under way; otherwise
/// does nothing.
void group_release_if_unused(struct group *group);

/// The request is answered: out with it. Its response is filled in.
void group_answer(struct group_shard *shard, struct group_request *request);

const struct group_config *group_shard_config(const struct group_shard *shard);
const struct group_shard_topics *group_shard_topics(const struct group_shard *shard);

/// Characters at random for a member id, from the shard's seed: a UUID as text, NUL-terminated.
void group_new_uuid_text(struct group_shard *shard, char text[37]);

// ---- writing ----

typedef void (*group_written_fn)(struct group *group, void *arg, int16_t error, int64_t now_ms);

/// Begins a write. Its records are replayed when they are on the log, then `written` is called.
///
/// @param holds_up  requests to the group wait until it is done (group_must_wait())
/// @param written   called once, also on failure, when nothing was replayed; may be NULL
struct group_write *group_write_new(struct group *group, bool holds_up, group_written_fn written, void *arg);

/// Adds a record; the bytes are copied. @param value  NULL: a tombstone
void group_write_add(struct group_write *write, const uint8_t *key, int32_t key_size, const uint8_t *value,
                     int32_t value_size);

/// Gives it to the shard; `write` is taken. One without records is done at once.
void group_write_submit(struct group_write *write);

/// True when a write holds the group's requests up: the request was put behind it, and will be handled again.
bool group_must_wait(struct group *group, struct group_request *request);
