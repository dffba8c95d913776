// SPDX-License-Identifier: Apache-2.0
//
// The clocks of members: a session that each heartbeat begins anew, and the time that a member has to give partitions
// up. Timers follow the state that records made, so they begin anew when a shard has been loaded.
#include "coordinator/consumer_private.h"

/// What holds for a group: its own configs, or the broker's.
static struct group_consumer_settings settings_of(const struct group *group)
{
  const struct group_shard_topics *cluster = group_shard_topics(group->shard);
  const struct group_settings *settings = group_shard_config(group->shard);
  struct group_consumer_settings out = {
      .session_timeout_ms = settings->group_consumer_session_timeout_ms,
      .heartbeat_interval_ms = settings->group_consumer_heartbeat_interval_ms,
      .assignment_interval_ms = settings->group_consumer_assignment_interval_ms,
  };
  if (cluster->settings != NULL) {
    cluster->settings(cluster->arg, group->id, group->id_size, &out);
  }
  return out;
}

int64_t consumer_session_timeout_ms(const struct consumer_member *member)
{
  const struct wire_consumer_group_member_metadata_value_classic_member_metadata *classic =
      member->metadata.classic_member_metadata;
  return classic != NULL ? classic->session_timeout_ms : settings_of(member->consumer->group).session_timeout_ms;
}

int32_t consumer_heartbeat_interval_ms(const struct group *group)
{
  return settings_of(group).heartbeat_interval_ms;
}

int64_t consumer_assignment_interval_ms(const struct group *group)
{
  return settings_of(group).assignment_interval_ms;
}

static void session_over(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  consumer_fence(CONTAINER_OF(timer, struct consumer_member, session), timer, "let its session expire", now_ms);
}

static void rebalance_over(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  consumer_fence(CONTAINER_OF(timer, struct consumer_member, rebalance), timer, "did not give up partitions in time",
                 now_ms);
}

void consumer_session_start(struct consumer_member *member, int64_t now_ms)
{
  member->heard_ms = now_ms;
  group_timer_start(member->consumer->group->shard, &member->session, now_ms + consumer_session_timeout_ms(member),
                    session_over);
}

void consumer_look_at_timers(struct consumer_group *consumer, int64_t now_ms)
{
  struct group_shard *shard = consumer->group->shard;
  for (int32_t i = 0; i < consumer->member_count; i++) {
    struct consumer_member *member = consumer->members[i];
    if (member->session.position == 0) {
      consumer_session_start(member, now_ms);
    }
    if (member->state != CONSUMER_UNREVOKED) {
      group_timer_stop(shard, &member->rebalance);
    } else if (member->has_moved || member->rebalance.position == 0) {
      group_timer_start(shard, &member->rebalance, now_ms + member->metadata.rebalance_timeout_ms, rebalance_over);
    }
    member->has_moved = false;
  }
}

void consumer_list_heard(const struct group *group, struct arena *arena, struct group_heard_list *out)
{
  const struct consumer_group *consumer = group->consumer;
  out->items = arena_alloc(arena, ((size_t)consumer->member_count + 1) * sizeof *out->items);
  for (int32_t i = 0; i < consumer->member_count; i++) {
    struct consumer_member *member = consumer->members[i];
    struct wire_string id = {arena_strndup(arena, member->id.data, (size_t)member->id.length), member->id.length};
    out->items[out->count++] = (struct group_heard){.member_id = id, .heard_ms = member->heard_ms};
  }
}

void consumer_loaded(struct group *group, int64_t now_ms)
{
  consumer_look_at_timers(group->consumer, now_ms);
}
