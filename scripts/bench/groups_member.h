// SPDX-License-Identifier: Apache-2.0
//
// Members of consumer groups: what a client's coordinator does in the classic protocol, as fast as answers come.
//
//   NEW --JoinGroup, no id--> NAMED --all have an id: JoinGroup--> JOINING --> SYNCING --> STABLE
//                               ^                                                            |
//                               +------------- the answer says that a rebalance is on -------+
//
// A group of members that come at once asks for all member ids first, so that one rebalance takes all of them in: the
// coordinator waits for members that have an id and have not joined (KIP-394).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groups_run.h"

enum member_state {
  MEMBER_AWAY,    ///< not in the group
  MEMBER_NAMING,  ///< asks for an id
  MEMBER_NAMED,   ///< has one, and waits for the others to have one
  MEMBER_JOINING, ///< waits for the generation
  MEMBER_SYNCING, ///< waits for its assignment
  MEMBER_STABLE,  ///< has it
};

enum { MEMBER_ID_BYTES = 128 };

/// One member.
struct member {
  struct group *group;      ///< its group
  struct groups_link *link; ///< connection that it shares with members of other groups
  enum member_state state;  ///< where it stands
  int32_t generation;       ///< of the last join
  bool is_leader;           ///< of that generation
  bool is_beating;          ///< a heartbeat waits for its answer
  int64_t beat_ns;          ///< while the group settles: when it sent the last heartbeat
  int64_t beats;            ///< heartbeats sent according to the plan
  char id[MEMBER_ID_BYTES]; ///< member id, "": none yet
};

/// One group.
struct group {
  struct groups_run *run;       ///< of all groups
  struct member *members;       ///< all there ever are
  int member_count;             ///< how many
  int present;                  ///< those that are to be in the group
  int32_t generation;           ///< newest that a member was told
  int64_t last_join_ns;         ///< when the last JoinGroup with an id was sent
  int64_t last_sync_ns;         ///< when the last assignment had come
  char name[GROUPS_NAME_BYTES]; ///< group id
};

/// Makes groups with their members away. Owned: groups_delete(). Members are given connections round and round: those
/// of a group never share one, and group g uses the same ones as group g + connections / members.
struct group *groups_new(struct groups_run *run);
void groups_delete(struct group *groups, int count);

/// Members that are away come: from, from + 1, ... to - 1.
void group_join(struct group *group, int from, int to);

/// A member says that it leaves.
void group_leave(struct group *group, int index);

/// All members leave, with one request, and the answer is waited for.
///
/// @return 0, or the loop's error
int groups_leave(struct groups_run *run, struct group *groups);

/// While a group settles: has members that have their assignment ask whether there is a newer generation, if the last
/// time was an interval ago.
void group_ask(struct group *group, int64_t interval_ms);

/// True when all members that are to be there have an assignment of the same generation.
bool group_is_settled(const struct group *group);

/// Has group after group join, as many at a time as there are connections for, and waits until all have settled.
///
/// @return 0, the loop's error, or ERR_TIMEOUT after a session timeout
int groups_settle(struct groups_run *run, struct group *groups);

/// Sends a heartbeat of the plan.
///
/// @param answered  gets the answer; owner: the member
void member_beat(struct member *member, groups_answered_fn *answered, int64_t planned_ns);
