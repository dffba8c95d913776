// SPDX-License-Identifier: Apache-2.0
//
// A rebalance: members join until all are there or their time is over, then get a generation, and have as long again to
// send their SyncGroup. Both phases are bounded by the longest of the members' rebalance timeouts; the first one of a
// group that was empty by group.initial.rebalance.delay.ms, extended by whoever comes up to that timeout (KIP-134).
#include "coordinator/classic_private.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slog.h"
#include "wire/error_codes.h"

static void rebalance_complete(struct classic_group *classic, int64_t now_ms);

int32_t classic_rebalance_timeout_ms(const struct classic_group *classic)
{
  int32_t longest = 1; // what a client says may be 0 or less: a timer that starts itself again needs time to pass
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    longest = member->rebalance_timeout_ms > longest ? member->rebalance_timeout_ms : longest;
  }
  return longest;
}

void classic_rebalance(struct classic_group *classic, const char *reason, int64_t now_ms)
{
  if (classic->state == CLASSIC_PREPARING) {
    classic_try_complete(classic, now_ms);
  } else {
    classic_prepare(classic, reason, now_ms);
  }
}

// ---- members join ----

static bool all_have_joined(const struct classic_group *classic)
{
  return classic->joined_count == classic->member_count && classic->pending_count == 0;
}

static void join_timer_fired(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  rebalance_complete(CONTAINER_OF(timer, struct classic_group, join_timer), now_ms);
}

/// The first members' delay is over: again, if somebody came meanwhile and there is time.
static void initial_delay_fired(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  struct classic_group *classic = CONTAINER_OF(timer, struct classic_group, join_timer);
  if (!classic->has_newcomer || classic->initial_left_ms == 0) {
    rebalance_complete(classic, now_ms);
    return;
  }
  classic->has_newcomer = false;
  int32_t delay_ms = group_shard_config(shard)->group_initial_rebalance_delay_ms;
  delay_ms = delay_ms < classic->initial_left_ms ? delay_ms : classic->initial_left_ms;
  classic->initial_delay_ms = delay_ms;
  classic->initial_left_ms -= delay_ms;
  group_timer_start(shard, timer, now_ms + delay_ms, initial_delay_fired);
}

void classic_prepare(struct classic_group *classic, const char *reason, int64_t now_ms)
{
  snprintf(classic->reason, sizeof classic->reason, "%s", reason);
  slog_debug("group '%s', generation %d: rebalance, %s", classic->group->id, classic->generation, reason);
  LIST_EACH(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (classic->state == CLASSIC_COMPLETING) { // what was agreed before is void
      classic_member_assign(member, (struct wire_bytes){0});
    }
    if (member->sync != NULL) {
      classic_sync_fail(member, WIRE_REBALANCE_IN_PROGRESS);
      classic_touch(member, now_ms);
    }
  }
  group_timer_stop(classic->shard, &classic->sync_timer);
  classic->is_initial = classic->state == CLASSIC_EMPTY;
  classic->has_newcomer = false;
  classic->is_storing = false;
  classic->rebalance_ms = now_ms;
  classic_set_state(classic, CLASSIC_PREPARING, now_ms);
  int32_t timeout_ms = classic_rebalance_timeout_ms(classic);
  if (classic->is_initial) {
    int32_t delay_ms = group_shard_config(classic->shard)->group_initial_rebalance_delay_ms;
    classic->initial_delay_ms = delay_ms;
    classic->initial_left_ms = timeout_ms > delay_ms ? timeout_ms - delay_ms : 0;
    group_timer_start(classic->shard, &classic->join_timer, now_ms + delay_ms, initial_delay_fired);
  } else if (all_have_joined(classic)) {
    rebalance_complete(classic, now_ms);
  } else {
    group_timer_start(classic->shard, &classic->join_timer, now_ms + timeout_ms, join_timer_fired);
  }
}

void classic_try_complete(struct classic_group *classic, int64_t now_ms)
{
  if (!classic->is_initial && all_have_joined(classic)) {
    rebalance_complete(classic, now_ms);
  }
}

/// Dynamic members that have not joined again are out. Static ones have their session timeout (KIP-345).
static void drop_absent(struct classic_group *classic, int64_t now_ms)
{
  LIST_EACH_SAFE(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (member->join == NULL && member->instance.name == NULL) {
      group_log_removal(classic->group, wire_string_from(member->id.name), "did not join again in time", now_ms);
      classic_member_delete(member);
    }
  }
}

/// A leader that has not joined again leads no more, if anybody has. @return false: nobody has
static bool elect_leader(struct classic_group *classic)
{
  if (classic->leader != NULL && classic->leader->join != NULL) {
    return true;
  }
  LIST_EACH(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (member->join != NULL) {
      classic->leader = member;
      return true;
    }
  }
  return false;
}

/// The next generation; after the last there is comes the first.
static void next_generation(struct classic_group *classic)
{
  classic->generation = classic->generation == INT32_MAX ? 1 : classic->generation + 1;
  classic->is_initial = false;
  classic->is_storing = false;
  classic->unsynced_count = 0;
  classic_forget_subscribed(classic);
  mem_free(classic->protocol);
  classic->protocol = NULL;
}

static void empty_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)arg;
  classic_settle(group, now_ms);
  if (error != WIRE_NONE) {
    // If this broker fails before it is written another time, the generation before comes back, and times out.
    slog_debug("group '%s': that it is empty was not written (error %d)", group->id, error);
  }
}

static void sync_timer_fired(struct group_shard *shard, struct group_timer *timer, int64_t now_ms);

static void rebalance_complete(struct classic_group *classic, int64_t now_ms)
{
  group_timer_stop(classic->shard, &classic->join_timer);
  drop_absent(classic, now_ms);
  if (!elect_leader(classic) && classic->member_count > 0) {
    // Only static members are left, and none of them has come: their sessions end this.
    classic->is_initial = false;
    group_timer_start(classic->shard, &classic->join_timer, now_ms + classic_rebalance_timeout_ms(classic),
                      join_timer_fired);
    return;
  }
  next_generation(classic);
  if (classic->member_count == 0) {
    classic_set_state(classic, CLASSIC_EMPTY, now_ms);
    classic_store_empty(classic, empty_written, now_ms);
    return;
  }
  const struct classic_protocol *protocol = classic_select_protocol(classic);
  classic->protocol = mem_zalloc((size_t)protocol->name.length + 1);
  if (protocol->name.length > 0) {
    memcpy(classic->protocol, protocol->name.data, (size_t)protocol->name.length);
  }
  classic_set_state(classic, CLASSIC_COMPLETING, now_ms);
  slog_debug("group '%s': generation %d, %d members, %s", classic->group->id, classic->generation,
             classic->member_count, classic->protocol);
  group_timer_start(classic->shard, &classic->sync_timer, now_ms + classic_rebalance_timeout_ms(classic),
                    sync_timer_fired);
  LIST_EACH(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct group_request *join = classic_join_take(member);
    member->is_new = false;
    member->must_sync = true;
    classic->unsynced_count++;
    classic_touch(member, now_ms);
    if (join != NULL) {
      classic_join_succeed(member, join, member == classic->leader, classic_member_id(classic->leader), false);
    }
  }
}

// ---- members sync ----

void classic_member_synced(struct classic_member *member)
{
  struct classic_group *classic = member->classic;
  if (!member->must_sync) {
    return;
  }
  member->must_sync = false;
  if (--classic->unsynced_count == 0) {
    group_timer_stop(classic->shard, &classic->sync_timer);
  }
}

/// Members that joined, perhaps send heartbeats, but do not sync are out (KAFKA-9752).
static void sync_timer_fired(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  struct classic_group *classic = CONTAINER_OF(timer, struct classic_group, sync_timer);
  int32_t count = 0;
  LIST_EACH_SAFE(&classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (member->must_sync) {
      group_log_removal(classic->group, wire_string_from(member->id.name), "did not sync in time", now_ms);
      classic_expel(member); // one that has just taken over waits for the log
      count++;
    }
  }
  char reason[CLASSIC_REASON_SIZE];
  snprintf(reason, sizeof reason, "%d %s did not sync in time", count, count == 1 ? "member" : "members");
  classic_rebalance(classic, reason, now_ms);
}
