// SPDX-License-Identifier: Apache-2.0
//
// What goes by itself: offsets that have expired, with groups of which nothing else is left; and offsets of topics that
// are gone.
//
//   group                                 its offsets expire            (KIP-211)
//   offsets alone                         offsets.retention.minutes after their commit
//   empty, of the classic protocol        the same time after the last member left
//   with members that say their topics    after the commit, those of topics that nobody is subscribed to
//   with others                           never
//
// An offset that was committed with a time of its own goes by that in each of these but the last. Nothing expires that
// a transaction may be about to change. The look goes through the groups piece by piece, so that a shard with millions
// of offsets keeps no worker for long.
#include "coordinator/group_settings.h"
#include "coordinator/shard_state.h"

enum { EXPIRY_STEP_OFFSETS = 20000 }; ///< offsets and groups that are looked at in one go

/// By what a group's offsets are judged.
struct expiry_rule {
  enum group_expiry expiry; ///< of the group
  int64_t since_ms;         ///< with GROUP_EXPIRES_SINCE
  int64_t retention_ms;     ///< offsets.retention.minutes
  int64_t wall_ms;          ///< wall clock; behind a step of it that may be wrong, the shard's time
  int64_t now_ms;           ///< the shard's time
};

static bool expiry_is_due(const struct expiry_rule *rule, const struct group_offset *offset)
{
  if (offset->note != NULL && offset->note->expire_ms >= 0) {
    return rule->wall_ms >= offset->note->expire_ms;
  }
  int64_t base_ms = rule->expiry == GROUP_EXPIRES_SINCE ? rule->since_ms : offset->commit_ms;
  // Timestamps are what clients and other brokers wrote: any number.
  int64_t age_ms = 0;
  return __builtin_sub_overflow(rule->wall_ms, base_ms, &age_ms) ? base_ms < 0 : age_ms >= rule->retention_ms;
}

static void expiry_tombstone(struct group_tombstones *tombstones, const struct group *group,
                             const struct group_offset *offset, int64_t now_ms)
{
  const struct shard_topic *topic = offset->topic;
  offset_write_tombstone(group_tombstones_write(tombstones, now_ms), group_name(group),
                         (struct wire_string){topic->name, topic->length}, offset->partition);
}

/// Adds the tombstones of what has expired in a group.
///
/// @return true when that is all it has
static bool expiry_of_offsets(struct group *group, const struct expiry_rule *rule, struct group_tombstones *tombstones)
{
  const struct group_offsets *table = group->offsets;
  const struct group_kind_calls *kind = group_kind_of(group);
  if (table == NULL) {
    return list_is_empty(&group->pending);
  }
  bool is_all = list_is_empty(&group->pending);
  const struct shard_topic *asked = NULL;
  bool is_subscribed = false;
  for (uint64_t i = 0; i <= table->mask; i++) {
    const struct group_offset *offset = &table->slots[i];
    if (offset->topic == NULL) {
      continue;
    }
    if (asked != offset->topic) {
      asked = offset->topic;
      is_subscribed =
          kind->is_subscribed != NULL && kind->is_subscribed(group, offset->topic->name, offset->topic->length);
    }
    if (is_subscribed || !expiry_is_due(rule, offset) || offset_is_pending(group, offset->topic, offset->partition)) {
      is_all = false;
      continue;
    }
    expiry_tombstone(tombstones, group, offset, rule->now_ms);
  }
  return is_all;
}

static void expiry_of_group(struct group *group, int64_t now_ms)
{
  const struct group_kind_calls *kind = group_kind_of(group);
  struct expiry_rule rule = {.retention_ms = group_shard_config(group->shard)->offsets_retention_ms, .now_ms = now_ms};
  int64_t wall_ms = group_wall_ms(group->shard, now_ms);
  rule.wall_ms = wall_ms < now_ms ? wall_ms : now_ms;
  // What is being written may make all that follows wrong: the next look has it.
  if (group->flight_count > 0 || group->use_count > 0 || !list_is_empty(&group->waiting)) {
    return;
  }
  rule.expiry = kind->expiry(group, &rule.since_ms);
  if (rule.expiry == GROUP_EXPIRES_NEVER && group->offsets != NULL) {
    return;
  }
  struct group_tombstones *tombstones = group_tombstones_new(group, NULL, NULL);
  if (expiry_of_offsets(group, &rule, tombstones) && group_is_empty(group) && kind->write_tombstones != NULL) {
    kind->write_tombstones(group, group_tombstones_write(tombstones, now_ms));
  }
  group_tombstones_submit(tombstones, now_ms);
}

static void expiry_step(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  int64_t budget = EXPIRY_STEP_OFFSETS;
  // A group that is made or goes meanwhile may be missed or seen twice when the table grows: the next look has it.
  while (shard->expiry_slot < shard->slot_count && budget > 0) {
    for (struct group *group = shard->slots[shard->expiry_slot], *next = NULL; group != NULL; group = next) {
      next = group->next;
      budget -= 1 + (group->offsets != NULL ? (int64_t)group->offsets->mask : 0);
      expiry_of_group(group, now_ms);
    }
    shard->expiry_slot++;
    budget--;
  }
  bool is_done = shard->expiry_slot >= shard->slot_count;
  shard->expiry_slot = is_done ? 0 : shard->expiry_slot;
  int64_t interval_ms = group_shard_config(shard)->offsets_retention_check_interval_ms;
  group_timer_start(shard, timer, is_done ? now_ms + interval_ms : now_ms, expiry_step);
}

void shard_expiry_start(struct group_shard *shard, int64_t now_ms)
{
  int64_t interval_ms = group_shard_config(shard)->offsets_retention_check_interval_ms;
  group_timer_start(shard, &shard->expiry_timer, now_ms + interval_ms, expiry_step);
}

// ---- groups and topics that go ----

void group_write_deletion(struct group_tombstones *tombstones, int64_t now_ms)
{
  struct group *group = group_tombstones_group(tombstones);
  const struct group_offsets *table = group->offsets;
  for (uint64_t i = 0; table != NULL && i <= table->mask; i++) {
    if (table->slots[i].topic != NULL) {
      expiry_tombstone(tombstones, group, &table->slots[i], now_ms);
    }
  }
  offset_write_pending_tombstones(tombstones, now_ms);
  const struct group_kind_calls *kind = group_kind_of(group);
  if (kind->write_tombstones != NULL) {
    kind->write_tombstones(group, group_tombstones_write(tombstones, now_ms));
  }
}

/// Deletes a group's offsets of topics that are gone.
static void group_topics_deleted(struct group *group, const struct shard_topic *const *topics, int32_t count,
                                 int64_t now_ms)
{
  const struct group_offsets *table = group->offsets;
  struct group_tombstones *tombstones = NULL;
  for (uint64_t i = 0; table != NULL && i <= table->mask; i++) {
    const struct group_offset *offset = &table->slots[i];
    for (int32_t j = 0; offset->topic != NULL && j < count; j++) {
      if (offset->topic->plain == topics[j]) {
        tombstones = tombstones != NULL ? tombstones : group_tombstones_new(group, NULL, NULL);
        expiry_tombstone(tombstones, group, offset, now_ms);
        break;
      }
    }
  }
  if (tombstones != NULL) {
    group_tombstones_submit(tombstones, now_ms);
  }
}

void group_shard_topics_deleted(struct group_shard *shard, const char *const *names, int32_t count, int64_t now_ms)
{
  group_writes_note_gone(shard, names, count);
  shard_delete_topics(shard, names, count, now_ms);
}

void shard_delete_topics(struct group_shard *shard, const char *const *names, int32_t count, int64_t now_ms)
{
  static const struct uuid NO_ID;
  enum { AT_A_TIME = 64 };
  for (int32_t first = 0; first < count; first += AT_A_TIME) {
    const struct shard_topic *topics[AT_A_TIME];
    int32_t known = 0;
    for (int32_t i = first; i < count && i < first + AT_A_TIME; i++) {
      topics[known] = shard_topic_find(shard, wire_string_from(names[i]), &NO_ID);
      known += topics[known] != NULL ? 1 : 0;
    }
    for (uint32_t i = 0; known > 0 && i < shard->slot_count; i++) {
      for (struct group *group = shard->slots[i], *next = NULL; group != NULL; group = next) {
        next = group->next;
        group_topics_deleted(group, topics, known, now_ms);
      }
    }
  }
}
