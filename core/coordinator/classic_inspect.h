// SPDX-License-Identifier: Apache-2.0
//
// Why a rebalance of a classic group waits, and for whom: what a console shows. Read on the thread of the group's
// shard; the result is a copy.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct group;

enum { CLASSIC_AWAITED_MAX = 100 }; ///< members that are named; awaited_total counts them all

enum classic_wait {
  CLASSIC_WAIT_NOTHING,    ///< it is not waited for
  CLASSIC_WAIT_JOIN,       ///< a member that has not joined again
  CLASSIC_WAIT_FIRST_JOIN, ///< an id that was given out, and that nobody has joined with yet
  CLASSIC_WAIT_ASSIGNMENT, ///< the leader, whose SyncGroup has not come
  CLASSIC_WAIT_SYNC,       ///< a member whose SyncGroup has not come
};

/// Somebody a rebalance waits for.
struct classic_awaited {
  enum classic_wait wait;  ///< for what
  const char *member_id;   ///< member id
  const char *instance_id; ///< name of a static member; NULL: a dynamic one
  const char *client_id;   ///< what the client calls itself
  const char *client_host; ///< address as Kafka shows it, "/127.0.0.1"
  int64_t heard_ms;        ///< when it was heard last, ms since 1970
  int64_t until_ms;        ///< when its session ends if nothing is heard, ms since 1970; -1: it does not run
};

/// A group as it is.
struct classic_inspection {
  const char *state;               ///< Kafka's name of it
  int64_t state_ms;                ///< since when, ms since 1970; -1: unknown
  int32_t generation;              ///< generation
  const char *protocol_type;       ///< "consumer"; empty: none yet
  const char *protocol;            ///< what the members chose; NULL: nothing
  const char *leader_id;           ///< member id of the leader; NULL: none
  int32_t member_count;            ///< members
  int32_t joined_count;            ///< of them wait for the others, having joined
  int32_t pending_count;           ///< ids given out that nobody has joined with
  const char *reason;              ///< why the last rebalance began; empty: none has
  int64_t rebalance_ms;            ///< when it began, ms since 1970; 0: none has
  int64_t until_ms;                ///< when what it waits for now ends at the latest, ms since 1970; -1: it waits for
                                   ///< nothing
  bool is_initial_delay;           ///< it waits for more members to come, group.initial.rebalance.delay.ms
  bool is_storing;                 ///< it waits for the log: the assignment is being written
  struct classic_awaited *awaited; ///< for whom it waits
  int32_t awaited_count;           ///< how many of them are here
  int32_t awaited_total;           ///< how many there are
};

/// @param group  also one with offsets alone
/// @param arena  all that `out` points to lies there
void classic_inspect(const struct group *group, struct arena *arena, struct classic_inspection *out);
