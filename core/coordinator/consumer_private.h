// SPDX-License-Identifier: Apache-2.0
//
// Inside groups of the consumer protocol (KIP-848).
//
// A heartbeat is served by comparing: what the member says with what the group knows, what it has with what it is to
// have. What differs becomes a change: the member as it will be (`next`), and records. Only when they are written does
// replay make state of them, and the answer leaves; until then other requests to the group wait. So there is no state
// that records do not tell, but for timers and the clues when to look at topics again.
//
//   member:  STABLE --- the target took partitions away --> UNREVOKED ---- it says that it gave them up --+
//              ^  ^                                                                                        |
//              |  +------ all are free ------ UNRELEASED <---- others have not given theirs up yet --------+
//              +------------------------------------------------------------------------------------------ +
//
// The group's epoch rises with members, subscriptions and topics; the target assignment is made for an epoch of the
// group; a member has the epoch of the target that it has been brought to. A partition is given to a member only when
// no other has it, be it that the other was only asked to give it up.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "coordinator/consumer_group.h"
#include "coordinator/group_settings.h"
#include "coordinator/group_request.h"
#include "coordinator/shard_private.h"
#include "wire/coordinator_record.h"
#include "wire/types.h"

struct assignor;
struct consumer_known;
struct group_search;

enum consumer_state {
  CONSUMER_STABLE = 0,     ///< has what it is to have at its epoch
  CONSUMER_UNREVOKED = 1,  ///< has to give up what is pending
  CONSUMER_UNRELEASED = 2, ///< waits for partitions that others have
};

enum {
  CONSUMER_JOIN_EPOCH = 0,               ///< in a heartbeat: joins, or joins again
  CONSUMER_LEAVE_EPOCH = -1,             ///< in a heartbeat: leaves
  CONSUMER_STATIC_LEAVE_EPOCH = -2,      ///< in a heartbeat: a static member leaves for a while; then that is its epoch
  CONSUMER_FIRST_EPOCH = 1,              ///< of a group that nobody has joined; the first join makes it 2, as in Kafka
  CONSUMER_REGEX_REFRESH_MS = 10 * 1000, ///< ms between two looks for topics that expressions match, as in Kafka
  CONSUMER_BUSY_RETRY_MS = 20,           ///< ms after which a timer looks again whether a write is done
  CONSUMER_PARTITION_MAX = 1000000,      ///< highest partition that a record may name
  CONSUMER_WRITE_BYTES = 256 * 1024,     ///< a target assignment goes on in another batch beyond this
};

/// A partition that a member has, or is to have.
struct consumer_part {
  struct uuid topic; ///< topic id
  int32_t partition; ///< partition
  int32_t epoch;     ///< at which the member got it (KIP-1251); of a target: 0
};

/// Partitions, sorted by topic id and partition, each once.
struct consumer_parts {
  struct consumer_part *items; ///< whose memory it is, its owner says
  int32_t count;               ///< how many
};

/// The topics that an expression matched.
struct consumer_regex {
  struct consumer_known *known;                              ///< memory of `value`; one reference
  struct wire_string text;                                   ///< the expression
  struct wire_consumer_group_regular_expression_value value; ///< topics sorted by name, as the record says
};

struct consumer_member {
  struct consumer_group *consumer;                           ///< its group
  struct wire_string id;                                     ///< member id, owned
  struct arena arena;                                        ///< memory of `metadata`
  struct wire_consumer_group_member_metadata_value metadata; ///< what its record says; topic names sorted, each once
  int32_t epoch;                                             ///< its epoch; 0: none yet; CONSUMER_STATIC_LEAVE_EPOCH
  int32_t previous_epoch;         ///< the one before, which it may still show when an answer was lost
  int8_t state;                   ///< enum consumer_state, or what a newer broker wrote
  bool has_moved;                 ///< epoch, state or partitions were replayed since its timers were looked at
  struct consumer_parts assigned; ///< what it has; owned
  struct consumer_parts pending;  ///< what it has and must give up; owned
  struct consumer_parts target;   ///< what it is to have at the group's assignment epoch; owned
  int64_t heard_ms;               ///< when its session last began anew, wall clock
  struct group_timer session;     ///< throws it out when it is silent
  struct group_timer rebalance;   ///< throws it out when it does not give up in time
  struct group_timer classic;     ///< of the classic protocol: when it does not join again, or sync, in time
};

struct consumer_group {
  struct group *group;              ///< what it is the kind of
  struct consumer_member **members; ///< sorted by id; owned
  int32_t member_count;             ///< how many
  int32_t member_room;              ///< of `members`
  struct consumer_regex **regexes;  ///< resolved expressions, sorted; owned
  int32_t regex_count;              ///< how many
  int32_t regex_room;               ///< of `regexes`
  int32_t epoch;                    ///< the group's
  int64_t metadata_hash;            ///< of the topics subscribed to, as they were at that epoch; 0: there were none
  int32_t assignment_epoch;         ///< epoch of the group that the target assignment is for
  int64_t assignment_ms;            ///< when it was made, wall clock; 0: long ago
  int64_t topics_version;           ///< of the cluster's topics when they were last looked at; -1: never
  struct group_timer regex_timer;   ///< looks for topics of expressions, or applies what was found
  struct group_search *search;      ///< looks for them, or has found them; NULL: none (consumer_search.h)
  int64_t regex_ms;                 ///< when expressions were last resolved, wall clock; 0: long ago
  int64_t regex_retry_ms;           ///< what was found was not written: nobody looks again before, wall clock
  bool is_regex_known;              ///< the next two were looked up since members or expressions were replayed
  bool has_regex;                   ///< a member has an expression
  bool lacks_regex;                 ///< a member has one that is not resolved
};

/// What a request makes of a group, before it is written.
struct consumer_change {
  struct group *group;                       ///< the group; of a new one: still empty
  const struct consumer_group *base;         ///< what is known of it; never NULL
  struct arena *arena;                       ///< memory until the write is made
  int64_t now_ms;                            ///< wall clock
  group_written_fn written;                  ///< for the write
  void *arg;                                 ///< for it
  struct group_write *write;                 ///< NULL: nothing is to be written so far
  struct group_write *last;                  ///< what comes next is added to this one, where `write` goes on
  const struct consumer_member *old;         ///< the member as it is; NULL: it is new, or nobody's
  const struct consumer_member *const *gone; ///< members that are no more
  int32_t gone_count;                        ///< how many
  const struct consumer_member **members;    ///< those after the change, sorted by id; NULL: not asked for yet
  int32_t member_count;                      ///< how many
  struct consumer_member next;    ///< the member as it will be; memory of its parts in `arena`, or the old one's
  bool has_next;                  ///< there is such a member
  bool has_new_subscription;      ///< its topics or its expression are others than before
  struct consumer_regex *regexes; ///< expressions resolved anew, sorted: they come before those of `base`
  int32_t regex_count;            ///< how many
  bool has_regex_refresh;         ///< all expressions were resolved anew
  bool are_topics_seen;           ///< topics of `topics_version` were looked at
  int64_t topics_version;         ///< of the cluster's topics, when the change began
  int32_t epoch;                  ///< the group's, as it will be
  int32_t assignment_epoch;       ///< likewise
};

// ---- consumer_parts.c ----

/// Order of partitions: below, at or above 0.
int consumer_part_compare(const struct consumer_part *a, const struct consumer_part *b);

/// Sorts, and drops what is there twice.
void consumer_parts_sort(struct consumer_parts *parts);

/// @return the partition in there, NULL: it is not
const struct consumer_part *consumer_parts_find(const struct consumer_parts *parts, const struct uuid *topic,
                                                int32_t partition);
/// The same partitions; epochs do not count.
bool consumer_parts_equal(const struct consumer_parts *a, const struct consumer_parts *b);
/// Also the same epochs.
bool consumer_parts_identical(const struct consumer_parts *a, const struct consumer_parts *b);
/// All of `few` are among `many`.
bool consumer_parts_within(const struct consumer_parts *few, const struct consumer_parts *many);
/// There is one that both have.
bool consumer_parts_overlap(const struct consumer_parts *a, const struct consumer_parts *b);

/// Partitions that a request or record names, one topic after another; memory of the arena.
///
/// @param room  how many come at most
void consumer_parts_begin(struct consumer_parts *parts, struct arena *arena, int64_t room);
void consumer_parts_add(struct consumer_parts *parts, const struct uuid *topic, int32_t partition, int32_t epoch);

/// All of `from`, with their epochs.
void consumer_parts_append(struct consumer_parts *parts, const struct consumer_parts *from);

/// Takes partitions, which it sorts, as a member's own: copied to the heap.
void consumer_parts_own(struct consumer_parts *own, struct consumer_parts *parts);

/// Steps through topics: those from `*at` on that have one topic. @return how many; 0: no more
int32_t consumer_parts_topic(const struct consumer_parts *parts, int32_t *at);

/// The partitions of one topic.
struct consumer_topic_parts {
  struct uuid id;          ///< topic id
  struct wire_string name; ///< borrowed until the cluster's topics change
  int32_t *numbers;        ///< partitions, sorted; in the arena
  int32_t count;           ///< how many
};

/// Steps over topics to the next one that there is: what was deleted is in no answer, and the next target is without
/// it.
///
/// @param at  in and out: place in `parts`, 0 at first
/// @return false: there is no more
bool consumer_parts_next_topic(const struct consumer_parts *parts, const struct group_shard_topics *topics,
                               struct arena *arena, int32_t *at, struct consumer_topic_parts *out);
/// How many topics there are.
int32_t consumer_parts_topic_count(const struct consumer_parts *parts);

// ---- consumer_group.c ----

/// An empty one, that a record or request is to fill.
void consumer_group_init(struct consumer_group *consumer, struct group *group);
/// Frees what it has; `consumer` itself stays.
void consumer_group_clear(struct consumer_group *consumer);
/// The group's, made when it is not there.
struct consumer_group *consumer_obtain(struct group *group);

/// What a member says that says nothing.
void consumer_metadata_init(struct wire_consumer_group_member_metadata_value *metadata);

struct consumer_member *consumer_member_find(const struct consumer_group *consumer, struct wire_string id);
/// The same, made when it is not there.
struct consumer_member *consumer_member_obtain(struct consumer_group *consumer, struct wire_string id);
void consumer_member_remove(struct consumer_group *consumer, struct wire_string id);
/// The static member of that name; NULL: none. @param id  who says so, and mostly is it: that is quick
struct consumer_member *consumer_member_static(const struct consumer_group *consumer, struct wire_string instance,
                                               struct wire_string id);

/// The resolved expression; NULL: it is not resolved.
struct consumer_regex *consumer_regex_find(const struct consumer_group *consumer, struct wire_string text);
struct consumer_regex *consumer_regex_obtain(struct consumer_group *consumer, struct wire_string text);
void consumer_regex_remove(struct consumer_group *consumer, struct wire_string text);

/// Members other than `except` (may be NULL) that are subscribed to the expression.
int32_t consumer_regex_members(const struct consumer_group *consumer, struct wire_string text,
                               const struct consumer_member *except);

/// Order of bytes, as of strings in C.
int consumer_text_compare(struct wire_string a, struct wire_string b);
/// The same of two struct wire_string, for qsort() and bsearch().
int consumer_text_order(const void *a, const void *b);
/// True when it has at least one character.
bool consumer_text_is_set(struct wire_string text);
/// A copy in the arena; null stays null.
struct wire_string consumer_text_copy(struct arena *arena, struct wire_string text);

/// The assignor that most members ask for, the default when they ask for none.
const struct assignor *consumer_preferred_assignor(const struct group *group,
                                                   const struct consumer_member *const *members, int32_t count);

/// The i-th assignor that clients may ask for, the default one first; NULL: there are no more.
const struct assignor *consumer_assignor(const struct group_shard *shard, int32_t i);

/// It has what it is to have: stable, at the group's assignment epoch.
bool consumer_member_is_settled(const struct consumer_group *consumer, const struct consumer_member *member);
bool consumer_member_is_classic(const struct consumer_member *member);

// ---- consumer_records.c: what a change writes ----

void consumer_change_begin(struct consumer_change *change, struct group *group, const struct consumer_group *base,
                           struct arena *arena, group_written_fn written, void *arg, int64_t now_ms);
/// The members as they will be, sorted by id.
const struct consumer_member *const *consumer_change_members(struct consumer_change *change, int32_t *count);
/// The write to add to, made when there is none yet.
struct group_write *consumer_change_write(struct consumer_change *change);
/// Has what comes next be in another batch, when there is much in this one already.
void consumer_change_divide(struct consumer_change *change);
void consumer_write_member(struct consumer_change *change, const struct consumer_member *member);
void consumer_write_epoch(struct consumer_change *change, int32_t epoch, int64_t metadata_hash);
void consumer_write_assignment_epoch(struct consumer_change *change, int32_t epoch, int64_t made_ms);
void consumer_write_target(struct consumer_change *change, struct wire_string member_id,
                           const struct consumer_parts *target);
void consumer_write_current(struct consumer_change *change, const struct consumer_member *member);
void consumer_write_regex(struct consumer_change *change, const struct consumer_regex *regex);
void consumer_write_regex_tombstone(struct consumer_change *change, struct wire_string text);
/// The three tombstones of a member.
void consumer_write_member_tombstones(struct consumer_change *change, struct wire_string member_id);

// ---- consumer_member.c ----

/// Sorts names, and drops what is there twice. @return how many are left
int32_t consumer_sort_names(struct wire_string *names, int32_t count);

/// Takes topic names as those of `next`.
void consumer_take_names(struct consumer_change *change, const struct wire_string *from, int32_t count);

/// Who `next` was so far, under whatever id; NULL: it is new.
const struct consumer_member *consumer_change_before(const struct consumer_change *change);

/// Writes `next` when it is new or says something else than before.
///
/// @param[out] bump  the group is to rebalance for it
void consumer_update_member(struct consumer_change *change, bool *bump);

/// Makes `next` of a static member that comes under another id: it has what that had, and takes its place.
void consumer_place_static(struct consumer_change *change, const struct consumer_member *member, struct wire_string id);

// ---- consumer_protocol.c: the bytes in requests of the classic protocol ----

/// What a member says in a JoinGroup.
struct consumer_subscription {
  const struct wire_string *topics; ///< topic names, borrowed from the bytes
  int32_t topic_count;              ///< how many
  struct wire_string rack;          ///< may be null
  struct consumer_parts owned;      ///< partitions that it holds, in the arena
};

/// @return 0, ERR_TRUNCATED, ERR_MALFORMED ...
int consumer_read_subscription(const struct group_shard_topics *topics, struct wire_bytes bytes, struct arena *arena,
                               struct consumer_subscription *out);

/// The partitions of an assignment, those of topics that are there; none when it cannot be read.
void consumer_read_assignment(const struct group_shard_topics *topics, struct wire_bytes bytes, struct arena *arena,
                              struct consumer_parts *out);

/// An assignment as bytes, in the arena. @param subscription  what the member said: its version is the answer's
struct wire_bytes consumer_write_assignment(const struct group_shard_topics *topics, const struct consumer_parts *parts,
                                            struct wire_bytes subscription, struct arena *arena);

// ---- consumer_rebalance.c: subscriptions, topics, the target ----

/// Subscriptions or topics are others: the group's epoch rises, unless only topics were looked at and are as before.
///
/// @param bump  it rises in any case
void consumer_update_epoch(struct consumer_change *change, bool bump);

/// Makes the target assignment for the group's epoch, if it is behind and the interval is over; `change->next.target`
/// and `change->assignment_epoch` are as they will be.
void consumer_update_target(struct consumer_change *change);

/// The ids of topics that the member is subscribed to and that exist; sorted, in the change's arena.
void consumer_subscribed_ids(struct consumer_change *change, const struct consumer_member *member, struct uuid **ids,
                             int32_t *count);

/// Hash of the topics that the group is subscribed to after the change; 0: none of them exists.
int64_t consumer_metadata_hash(struct consumer_change *change);

// ---- consumer_regex.c ----

/// Looks at the expression of `next`: drops the old one when nobody else has it.
///
/// @param[out] bump  set when the group is to rebalance for it
void consumer_update_regexes(struct consumer_change *change, bool *bump);

/// Has topics of expressions looked for, when there is something to look for.
void consumer_regex_start(struct consumer_group *consumer, int64_t now_ms);

/// NULL, or why it is no expression, in Kafka's words.
const char *consumer_check_regex(const struct consumer_change *change, struct wire_string text);

/// The topics of an expression after the change; NULL: it is not resolved.
const struct consumer_regex *consumer_change_regex(const struct consumer_change *change, struct wire_string text);

// ---- consumer_reconcile.c ----

/// Brings `next` towards its target as far as that goes now; writes what it has then.
///
/// @param owned  partitions that it says it has; NULL: it does not say
void consumer_reconcile(struct consumer_change *change, const struct consumer_parts *owned);

// ---- consumer_leave.c ----

/// Members go: their tombstones, the expressions that only they had, and the group's next epoch.
void consumer_write_departure(struct consumer_change *change, const struct consumer_member *const *members,
                              int32_t count);

/// Serves a heartbeat that leaves.
void consumer_leave(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms);

/// Throws a member out; when a write of the group is under way, a little later.
///
/// @param timer  the one that asks for it: it is started again for that
/// @param why    as for group_log_removal()
void consumer_fence(struct consumer_member *member, struct group_timer *timer, const char *why, int64_t now_ms);

// ---- consumer_heartbeat.c ----

/// Fills in an answer with an error. @param text  NULL: none; lives as long as the request
void consumer_heartbeat_fail(struct group_request *request, int16_t error, const char *text);

/// Whether the member that has an instance id is the one who says so. @param member  NULL: nobody has it
///
/// @return false: the answer has the error
bool consumer_heartbeat_check_static(struct group_request *request, const struct consumer_member *member,
                                     struct wire_string instance, struct wire_string id);

/// The member is not there: what version 0 and the others are told.
void consumer_heartbeat_no_group(struct group_request *request, const char *text);

// ---- consumer_timers.c ----

int64_t consumer_session_timeout_ms(const struct consumer_member *member);
int32_t consumer_heartbeat_interval_ms(const struct group *group);
int64_t consumer_assignment_interval_ms(const struct group *group);

/// A sign of life: it is thrown out a session timeout later.
void consumer_session_start(struct consumer_member *member, int64_t now_ms);
/// A write is done, or failed: timers of members go by what they are now.
void consumer_look_at_timers(struct consumer_group *consumer, int64_t now_ms);
