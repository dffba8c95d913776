// SPDX-License-Identifier: Apache-2.0
//
// Inside groups of the classic protocol.
//
//            first member                    all have joined, or             the leader's assignment
//            +----------------+              the rebalance timeout           is written
//   Empty ---+                +--> Preparing --------------------> Completing --------------------> Stable
//     ^                            Rebalance                       Rebalance                          |
//     |  all members are gone          ^   ^                           |                              |
//     +--------------------------------+   +---- somebody comes, goes, changes, or does not sync -----+
//
// What members do moves the state at once. The log gets one record per group, GroupMetadata: when the leader has
// assigned, when a static member was replaced, when the group became empty or was new. A group that is loaded is Stable
// or Empty as the record says.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "coordinator/classic_group.h"
#include "coordinator/group_settings.h"
#include "coordinator/group_request.h"
#include "coordinator/name_table.h"
#include "coordinator/shard_private.h"
#include "wire/types.h"

struct member_beat;
struct wire_join_group_request;
struct wire_join_group_request_join_group_request_protocol;
struct wire_sync_group_request;

enum classic_state {
  CLASSIC_EMPTY,      ///< no members
  CLASSIC_PREPARING,  ///< members join again
  CLASSIC_COMPLETING, ///< all have joined, the leader's assignment is awaited
  CLASSIC_STABLE,     ///< members have their assignments
};

enum {
  CLASSIC_NEW_MEMBER_MS = 5 * 60 * 1000, ///< ms that a member may wait for its first join, as in Kafka
  CLASSIC_PENDING_MAX = 10000,           ///< member ids given out that nobody joined with yet; beyond, the oldest goes
  CLASSIC_PENDING_BYTES_MAX = 16 << 20,  ///< memory of these, likewise
  CLASSIC_PROTOCOLS_MAX = 100,           ///< protocols of one member
  CLASSIC_MEMBER_BYTES_MAX = 4 << 20,    ///< bytes of all protocols of one member, names and metadata
  CLASSIC_GROUP_BYTES_MAX = 256 << 20,   ///< memory of all members of one group
  CLASSIC_REASON_SIZE = 200,             ///< why a rebalance began, cut, with its NUL
};

/// A protocol that a member can do.
struct classic_protocol {
  struct wire_string name;    ///< "range"; in the member's block
  struct wire_bytes metadata; ///< its subscription; likewise
};

/// The protocols of a member: one block of memory, best first, each name once.
struct classic_protocols {
  int32_t count;                   ///< how many
  size_t size;                     ///< bytes of the block
  struct classic_protocol items[]; ///< the bytes follow
};

/// A member, or an id that was given out for one (KIP-394).
struct classic_member {
  struct list link;                    ///< in `members` or `pending`, in the order in which they came
  struct name_node id;                 ///< in `ids`; the name is owned
  struct name_node instance;           ///< in `instances`; the name is owned, NULL: not a static member
  struct classic_group *classic;       ///< its group
  char *client_id;                     ///< owned
  char *client_host;                   ///< owned
  int32_t session_timeout_ms;          ///< ms without a heartbeat after which it is out
  int32_t rebalance_timeout_ms;        ///< ms that it may take to join again
  struct classic_protocols *protocols; ///< owned; NULL while it is pending
  uint8_t *assignment;                 ///< owned; NULL: none
  int32_t assignment_size;             ///< bytes of it
  size_t bytes;                        ///< what it counts for in the group's `bytes`
  struct group_request *join;          ///< its JoinGroup that waits, NULL: none
  struct group_request *sync;          ///< its SyncGroup that waits, NULL: none
  uint64_t join_order;                 ///< counts its JoinGroups that waited: tells one from another
  bool is_pending;                     ///< the id is given out, nobody has joined with it
  bool is_new;                         ///< it has not had an answer to its first JoinGroup
  bool must_sync;                      ///< it has joined the generation, its SyncGroup is awaited
  int64_t heard_ms;                    ///< when it was heard last by this shard, wall clock
  struct member_beat *beat;            ///< notes heartbeats that do not come here, one reference; NULL: all come here
  struct group_timer session;          ///< throws it out; stopped while it waits for others
};

struct classic_group {
  struct group *group;           ///< what it is the kind of
  struct group_shard *shard;     ///< its shard
  enum classic_state state;      ///< see above
  bool is_initial;               ///< PREPARING, out of EMPTY: it ends by its delay alone
  bool has_newcomer;             ///< while it is initial: somebody came since the delay began
  bool is_live;                  ///< it was made by a request, or its log has been read
  bool is_storing;               ///< the leader's assignment of this generation is being written
  int32_t generation;            ///< 0: has never had one
  int32_t initial_delay_ms;      ///< delay that runs
  int32_t initial_left_ms;       ///< ms by which it may still be extended
  int64_t state_ms;              ///< since when it is in its state, wall clock; -1: unknown (old records)
  int64_t rebalance_ms;          ///< when the last rebalance began, wall clock
  char *protocol_type;           ///< owned; NULL: nobody has joined yet
  char *protocol;                ///< chosen protocol, owned; NULL: none
  struct classic_member *leader; ///< NULL: none
  struct list members;           ///< struct classic_member, in the order in which they came
  int32_t member_count;          ///< how many
  int32_t joined_count;          ///< of them wait for an answer to their JoinGroup
  int32_t unsynced_count;        ///< of them must sync
  struct list pending;           ///< likewise: ids given out, oldest first
  int32_t pending_count;         ///< how many
  size_t pending_bytes;          ///< memory of them
  struct name_table ids;         ///< members and pending ids, by id
  struct name_table instances;   ///< static members, by instance id
  struct name_table protocols;   ///< struct classic_votes: how many members can do each protocol
  size_t bytes;                  ///< memory of its members and of pending ids
  struct wire_string
      *subscribed;          ///< topics of all members, sorted, owned (their bytes are the members'); NULL: not made
  int32_t subscribed_count; ///< how many; -1: members did not say
  struct group_timer join_timer;    ///< PREPARING ends
  struct group_timer sync_timer;    ///< those that did not sync are thrown out
  char reason[CLASSIC_REASON_SIZE]; ///< why the last rebalance began
};

// ---- classic_group.c ----

/// Makes a group out of one that has no kind yet. @return owned by `group`
struct classic_group *classic_new(struct group *group);

/// A write of a live group is done: one that came back from the log alone, since it had been given up, lives again.
/// @return the group's classic part; NULL: it has none
struct classic_group *classic_settle(struct group *group, int64_t now_ms);

/// Changes the state, at `now_ms`.
void classic_set_state(struct classic_group *classic, enum classic_state state, int64_t now_ms);

/// Why a request about a member is not served: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, or WIRE_NONE.
///
/// @param[out] member  with WIRE_NONE
int16_t classic_validate_member(struct classic_group *classic, struct wire_string member_id,
                                struct wire_string instance, struct classic_member **member);

/// The member was heard: its session begins anew.
void classic_touch(struct classic_member *member, int64_t now_ms);

/// When it was heard last, wherever: wall clock.
int64_t classic_heard_ms(const struct classic_member *member);

/// All its heartbeats come here again; what was noted elsewhere counts.
void classic_end_beat(struct classic_member *member);

/// A member, or a pending id, goes: what it waits for is answered. The caller has the group go on without it.
void classic_expel(struct classic_member *member);

/// The same, and the group goes on.
void classic_remove_and_go_on(struct classic_member *member, const char *reason, int64_t now_ms);

/// What clients are told when a write of the group's metadata failed.
int16_t classic_write_error(int16_t error);

// ---- classic_rebalance.c ----

/// A rebalance begins where one can, otherwise looks whether the one under way is over.
void classic_rebalance(struct classic_group *classic, const char *reason, int64_t now_ms);

/// A rebalance begins. Not while PREPARING.
void classic_prepare(struct classic_group *classic, const char *reason, int64_t now_ms);

/// While PREPARING: ends it when all members have joined.
void classic_try_complete(struct classic_group *classic, int64_t now_ms);

/// Longest of the members' rebalance timeouts, ms.
int32_t classic_rebalance_timeout_ms(const struct classic_group *classic);

/// One that must sync does so, or need not any more.
void classic_member_synced(struct classic_member *member);

// ---- classic_join.c ----

/// Answers a JoinGroup with an error; `member_id` as it was asked.
void classic_join_fail(struct group_shard *shard, struct group_request *request, int16_t error,
                       struct wire_string member_id);

/// Answers with the current generation: of a leader, with all members.
void classic_join_succeed(struct classic_member *member, struct group_request *request, bool with_members,
                          struct wire_string leader, bool skip_assignment);

/// A member's JoinGroup waits from now on; one that it had is answered with REBALANCE_IN_PROGRESS.
void classic_join_wait(struct classic_member *member, struct group_request *request);

/// Takes the waiting JoinGroup of a member, NULL: none.
struct group_request *classic_join_take(struct classic_member *member);

// ---- classic_sync.c ----

/// Answers the waiting SyncGroup of a member with an error; it may have none.
void classic_sync_fail(struct classic_member *member, int16_t error);

// ---- classic_member.c ----

/// A new one in the list of pending ids or (with protocols) of members. @return the group's
struct classic_member *classic_member_new(struct classic_group *classic, struct wire_string id,
                                          struct wire_string instance, struct wire_string client_id,
                                          const char *client_host);

/// Takes it out of everything and frees it. Nothing of it waits.
void classic_member_delete(struct classic_member *member);

/// A pending id becomes a member, the last one.
void classic_member_admit(struct classic_member *member, struct classic_protocols *protocols);

/// Gives a static member another id; it has the old one's place. @return the old id, owned
char *classic_member_rename(struct classic_member *member, struct wire_string id);

/// @param protocols  taken. @return the old ones, owned
struct classic_protocols *classic_member_set_protocols(struct classic_member *member,
                                                       struct classic_protocols *protocols);

/// What the leader gave it; copied.
void classic_member_assign(struct classic_member *member, struct wire_bytes assignment);

/// A member or pending id; NULL: none.
struct classic_member *classic_member_find(const struct classic_group *classic, struct wire_string id);

/// The static member of that name; NULL: none.
struct classic_member *classic_member_static(const struct classic_group *classic, struct wire_string instance);

/// The id as a string, borrowed.
struct wire_string classic_member_id(const struct classic_member *member);

/// Its name when it is a static member, otherwise null; borrowed.
struct wire_string classic_member_instance(const struct classic_member *member);

/// Its metadata of a protocol; empty: it has none. Borrowed.
struct wire_bytes classic_member_metadata(const struct classic_member *member, const char *protocol);

// ---- classic_protocol.c ----

/// The only protocol that a record knows of a member. @return owned: mem_free()
struct classic_protocols *classic_protocols_of_one(struct wire_string name, struct wire_bytes metadata);

/// Copies protocols of a request. @return owned: mem_free(); NULL: there are more, or larger ones, than a member may
/// have
struct classic_protocols *classic_protocols_new(const struct wire_join_group_request_join_group_request_protocol *items,
                                                int32_t count);

/// The metadata of one of them; empty: it is not among them. Borrowed.
struct wire_bytes classic_protocols_metadata(const struct classic_protocols *protocols, const char *protocol);

/// Whether a member is subscribed to the same topics as with the protocols that it had before; also when that cannot be
/// told.
bool classic_same_topics(const struct classic_group *classic, const struct classic_member *member,
                         const struct classic_protocols *before);

/// Whether a member's protocols are the very same as a request's: names, order, bytes.
bool classic_protocols_match(const struct classic_protocols *protocols,
                             const struct wire_join_group_request_join_group_request_protocol *items, int32_t count);

/// Counts a member's protocols in, or out.
void classic_protocols_count(struct classic_group *classic, const struct classic_protocols *protocols, int32_t step);

/// Whether somebody with these protocols may join: all members can do one of them.
bool classic_supports(const struct classic_group *classic, struct wire_string protocol_type,
                      const struct wire_join_group_request_join_group_request_protocol *items, int32_t count);

/// The protocol that most members vote for, each for the first of its own that all can do. Borrowed; NULL: none.
const struct classic_protocol *classic_select_protocol(const struct classic_group *classic);

/// Members changed: the list of subscribed topics is made anew when it is asked for.
void classic_forget_subscribed(struct classic_group *classic);

// ---- classic_record.c ----

/// Writes the group as it is, the members with the assignments that they have, or with those of a SyncGroup.
///
/// @param request  NULL: with those that they have
void classic_store(struct classic_group *classic, const struct wire_sync_group_request *request,
                   group_written_fn written, void *arg, int64_t now_ms);

/// Writes the group without members.
void classic_store_empty(struct classic_group *classic, group_written_fn written, int64_t now_ms);
