// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of groups have in common, and what they may ask of their shard.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "coordinator/group_heard.h"
#include "coordinator/shard.h"
#include "wire/types.h"

struct arena;
struct classic_group;
struct consumer_group;
struct group;
struct group_offsets;
struct group_request;
struct group_timer;
struct group_write;

enum group_kind {
  GROUP_EMPTY,    ///< offsets alone, nobody has joined yet: becomes what the first member asks for
  GROUP_CLASSIC,  ///< JoinGroup, SyncGroup
  GROUP_CONSUMER, ///< KIP-848
  GROUP_KIND_COUNT,
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
  struct list pending;             ///< offsets of transactions that have not ended (offset_transactions.c)
  struct list waiting;             ///< requests that come after the writes under way
  int32_t use_count;               ///< it is not freed while it is above 0
  int32_t flight_count;            ///< writes under way
  int32_t write_count;             ///< of those, the ones that hold up requests, see group_write_new()
  char id[];                       ///< the id, NUL-terminated
};

// ---- kinds ----

/// When offsets of a group go, that no member is subscribed to.
enum group_expiry {
  GROUP_EXPIRES_NEVER,  ///< not as it is now
  GROUP_EXPIRES_COMMIT, ///< offsets.retention.minutes after they were committed
  GROUP_EXPIRES_SINCE,  ///< offsets.retention.minutes after a moment, the same for all
};

/// Serves a request. @param group  of that id, NULL: there is none
typedef void (*group_serve_fn)(struct group_shard *shard, struct group *group, struct group_request *request,
                               int64_t now_ms);

/// What a kind of group does. shard_kinds.c has the table; group_kind_of() the row of a group. NULL: does not concern
/// that kind.
struct group_kind_calls {
  const char *type; ///< group type as ListGroups shows it
  /// Whether a commit may be stored, by whom it says it comes from: enum wire_error. One that comes from a member
  /// counts as its heartbeat.
  int16_t (*check_commit)(struct group *group, const struct group_request *request, int64_t now_ms);
  /// Whether an offset of one partition may be stored, once check_commit() has let the commit through: enum wire_error.
  /// @param id  topic id, zero: the client gave the name alone
  int16_t (*check_commit_part)(const struct group *group, const struct group_request *request, struct wire_string name,
                               const struct uuid *id, int32_t partition);
  /// Whether committed offsets may be read.
  int16_t (*check_fetch)(struct group *group, const struct group_request *request);
  /// Kafka's name of its state: "Stable".
  const char *(*state_name)(const struct group *group);
  /// Its protocol type, "consumer"; empty: none has been chosen.
  const char *(*protocol_type)(const struct group *group);
  /// It has no members: it may be deleted.
  bool (*is_empty)(const struct group *group);
  /// When its offsets go. @param[out] since_ms  with GROUP_EXPIRES_SINCE: wall clock
  enum group_expiry (*expiry)(const struct group *group, int64_t *since_ms);
  /// A topic's offsets are in use: members are subscribed to it.
  bool (*is_subscribed)(const struct group *group, const char *topic, int32_t length);
  /// The log was read: sessions begin.
  void (*loaded)(struct group *group, int64_t now_ms);
  /// Topics came or went.
  void (*topics_changed)(struct group *group, int64_t now_ms);
  /// Adds the tombstones of its records to a write that deletes the group.
  void (*write_tombstones)(struct group *group, struct group_write *write);
  /// Answers all that waits in it with `error`.
  void (*stop)(struct group *group, int16_t error);
  /// Frees what it has of the group, with its timers stopped, and leaves it GROUP_EMPTY; nobody waits in it any more.
  void (*free)(struct group *group);
  /// Lists when its members were heard. @param arena  memory of `out`, which is empty
  void (*list_heard)(const struct group *group, struct arena *arena, struct group_heard_list *out);
  /// Writes what its records say into `text` (cut at `size`, NUL-terminated), the same for the same state; returns
  /// characters as snprintf() does.
  int (*dump)(const struct group *group, char *text, size_t size);
};

const struct group_kind_calls *group_kind_of(const struct group *group);

// ---- timers (shard_timers.c) ----

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

// ---- groups (shard.c) ----

/// The group, or NULL.
struct group *group_find(struct group_shard *shard, struct wire_string id);

/// The group, made (GROUP_EMPTY) when it is not there.
struct group *group_obtain(struct group_shard *shard, struct wire_string id);

/// Takes it out of the table and frees it, when it is GROUP_EMPTY and has neither offsets nor anything under way;
/// otherwise does nothing. Returns true when it is gone.
bool group_release_if_unused(struct group *group);

/// Tells whoever wants to know that a group has another assignment, or no member any more.
void group_tell_change(const struct group *group, bool is_empty, int32_t generation, int32_t members);

/// The request is answered: out with it. Its response is filled in.
void group_answer(struct group_shard *shard, struct group_request *request);

/// Says in the log that a member is thrown out (shard_removals.c); when there are many, of many in one line.
///
/// @param why  goes on behind "it": "sent no heartbeat for 45000 ms"
void group_log_removal(struct group *group, struct wire_string member, const char *why, int64_t now_ms);

/// Fills in the response with an error, whatever the request (shard_fail.c); group_answer() is still to be called.
void group_request_fail(struct group_request *request, int16_t error);

const struct group_settings *group_shard_config(const struct group_shard *shard);
const struct group_shard_topics *group_shard_topics(const struct group_shard *shard);

/// The wall clock, by which records say when: what was noted before a restart has to mean the same after it. The time
/// that shards are given follows a step of it too slowly for that. @param now_ms  that time
int64_t group_wall_ms(const struct group_shard *shard, int64_t now_ms);

/// Characters at random for a member id, from the shard's seed: a UUID as text, NUL-terminated.
void group_new_uuid_text(struct group_shard *shard, char text[37]);

// ---- writing (shard_writes.c) ----

typedef void (*group_written_fn)(struct group *group, void *arg, int16_t error, int64_t now_ms);

/// Begins a write. Its records are replayed when they are on the log, then `written` is called.
///
/// @param holds_up  requests to the group wait until it is done (group_must_wait())
/// @param written   called once, also on failure, when nothing was replayed; may be NULL
struct group_write *group_write_new(struct group *group, bool holds_up, group_written_fn written, void *arg);

/// Adds a record; the bytes are copied. @param value  NULL: a tombstone
void group_write_add(struct group_write *write, const uint8_t *key, int32_t key_size, const uint8_t *value,
                     int32_t value_size);

/// Bytes of keys and values so far. What one write has goes into one batch, which may not be larger than
/// max.message.bytes.
size_t group_write_size(const struct group_write *write);

/// Begins a write that goes on where `write` ends, for more than one batch may have: it is submitted when that one is
/// on the log, and fails when that one does. `written` is called once for all of them. What is on the log then, when a
/// later one fails or the broker dies, has to make sense by itself.
struct group_write *group_write_more(struct group_write *write);

/// Gives it to the shard, the first one when it goes on; `write` is taken. One without records is done at once.
void group_write_submit(struct group_write *write, int64_t now_ms);

/// What group_shard_handle() does, for a request that begins anew: timers do not run in it.
void group_handle(struct group_shard *shard, struct group_request *request, int64_t now_ms);

/// True when a write holds the group's requests up: the request was put behind it, and will be handled again. The shard
/// has asked this already for each request that it gives to a kind.
bool group_must_wait(struct group *group, struct group_request *request);
