// SPDX-License-Identifier: Apache-2.0
//
// A kind changes by records alone: tombstones of the one, then the other. Up, members keep what they had; they are told
// to join again and find themselves in a consumer group. Down, they are members of a classic group that rebalances.
#include "coordinator/consumer_migrate.h"

#include <string.h>

#include "base/mem.h"
#include "base/slog.h"
#include "coordinator/classic_private.h"
#include "coordinator/records.h"
#include "wire/codec.h"
#include "wire/error_codes.h"

#define MIGRATE_PROTOCOL_TYPE "consumer"

// ---- up ----

/// What a member says about topics: with the protocol that was chosen, or its first one.
static struct wire_bytes subscription_of(const struct classic_group *classic, const struct classic_member *member)
{
  if (classic->protocol != NULL) {
    return classic_member_metadata(member, classic->protocol);
  }
  return member->protocols->count > 0 ? member->protocols->items[0].metadata : (struct wire_bytes){0};
}

static struct wire_consumer_group_member_metadata_value_classic_member_metadata *keep_protocols(
    const struct classic_member *member, struct arena *arena)
{
  struct wire_consumer_group_member_metadata_value_classic_member_metadata *out = arena_zalloc(arena, sizeof *out);
  out->session_timeout_ms = member->session_timeout_ms;
  out->supported_protocols_count = member->protocols->count;
  out->supported_protocols =
      arena_alloc(arena, ((size_t)member->protocols->count + 1) * sizeof *out->supported_protocols);
  for (int32_t i = 0; i < member->protocols->count; i++) {
    const struct classic_protocol *protocol = &member->protocols->items[i];
    out->supported_protocols[i].name = consumer_text_copy(arena, protocol->name);
    out->supported_protocols[i].metadata.length = protocol->metadata.length;
    out->supported_protocols[i].metadata.data =
        arena_dup(arena, protocol->metadata.data, (size_t)protocol->metadata.length);
  }
  return out;
}

/// What a member has. A rebalance that another one interrupted has made the assignment void, but a cooperative member
/// still has what it said when it joined: nobody else may be given that before it gives it up.
static void held_by(const struct consumer_group *consumer, const struct classic_member *from,
                    const struct consumer_subscription *subscription, struct arena *arena, struct consumer_parts *out)
{
  if (from->assignment_size > 0) {
    struct wire_bytes bytes = {.data = from->assignment, .length = from->assignment_size};
    consumer_read_assignment(group_shard_topics(from->classic->shard), bytes, arena, out);
    return;
  }
  consumer_parts_begin(out, arena, subscription->owned.count);
  for (int32_t i = 0; i < subscription->owned.count; i++) {
    const struct consumer_part *part = &subscription->owned.items[i];
    bool is_taken = false;
    for (int32_t m = 0; m < consumer->member_count && !is_taken; m++) {
      is_taken = consumer_parts_find(&consumer->members[m]->assigned, &part->topic, part->partition) != NULL;
    }
    if (!is_taken) {
      consumer_parts_add(out, &part->topic, part->partition, 0);
    }
  }
}

/// Makes a consumer group's member of a classic one. @return 0, or why its bytes cannot be read
static int convert_member(struct consumer_group *consumer, const struct classic_group *classic,
                          const struct classic_member *from)
{
  const struct group_shard_topics *topics = group_shard_topics(classic->shard);
  struct arena scratch = {0};
  struct consumer_subscription subscription;
  int result = consumer_read_subscription(topics, subscription_of(classic, from), &scratch, &subscription);
  if (result == 0) {
    struct consumer_member *member = consumer_member_obtain(consumer, classic_member_id(from));
    struct wire_consumer_group_member_metadata_value *metadata = &member->metadata;
    struct wire_string *names = arena_alloc(&member->arena, ((size_t)subscription.topic_count + 1) * sizeof *names);
    for (int32_t i = 0; i < subscription.topic_count; i++) {
      names[i] = consumer_text_copy(&member->arena, subscription.topics[i]);
    }
    metadata->subscribed_topic_names = names;
    metadata->subscribed_topic_names_count = consumer_sort_names(names, subscription.topic_count);
    metadata->instance_id = consumer_text_copy(&member->arena, classic_member_instance(from));
    metadata->rack_id = consumer_text_copy(&member->arena, subscription.rack);
    metadata->client_id = consumer_text_copy(&member->arena, wire_string_from(from->client_id));
    metadata->client_host = consumer_text_copy(&member->arena, wire_string_from(from->client_host));
    metadata->rebalance_timeout_ms = from->rebalance_timeout_ms;
    metadata->classic_member_metadata = keep_protocols(from, &member->arena);
    member->epoch = classic->generation;
    member->previous_epoch = classic->generation;
    struct consumer_parts parts;
    held_by(consumer, from, &subscription, &scratch, &parts);
    for (int32_t i = 0; i < parts.count; i++) {
      parts.items[i].epoch = classic->generation;
    }
    consumer_parts_own(&member->assigned, &parts);
    consumer_parts_own(&member->target, &parts);
  }
  arena_destroy(&scratch);
  return result;
}

/// Fills in what a classic group will be. @return NULL, or why it cannot be
static const char *convert(struct consumer_group *consumer, const struct group *group, struct arena *arena)
{
  const struct classic_group *classic = group->classic;
  const struct group_settings *config = group_shard_config(group->shard);
  if (!config->is_upgrade_allowed || classic->protocol_type == NULL ||
      strcmp(classic->protocol_type, MIGRATE_PROTOCOL_TYPE) != 0 ||
      classic->member_count > config->group_consumer_max_size) {
    return arena_printf(arena, "Group %s is not a consumer group.", group->id);
  }
  consumer->epoch = classic->generation > CONSUMER_FIRST_EPOCH ? classic->generation : CONSUMER_FIRST_EPOCH;
  consumer->assignment_epoch = consumer->epoch;
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    if (convert_member(consumer, classic, member) < 0) {
      return arena_printf(arena,
                          "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is "
                          "in use. Please refer to the documentation or switch to a default assignor before "
                          "re-attempting the upgrade.",
                          group->id);
    }
  }
  return NULL;
}

const char *consumer_migration_begin(struct consumer_migration *migration, struct group_shard *shard,
                                     struct group *group, struct group_request *request, bool is_join)
{
  struct wire_string id = request->group;
  bool is_unknown = group == NULL || group->kind == GROUP_EMPTY;
  if (is_unknown && !is_join) {
    return arena_printf(request->arena, "Consumer group %.*s not found.", id.length, id.data);
  }
  if (!is_unknown && group->kind == GROUP_CONSUMER) {
    migration->group = group;
    migration->base = group->consumer;
    return NULL;
  }
  if (!is_unknown && !is_join) {
    return arena_printf(request->arena, "Group %.*s is not a consumer group.", id.length, id.data);
  }
  migration->group = group != NULL ? group : group_obtain(shard, id);
  consumer_group_init(&migration->converted, migration->group);
  migration->base = &migration->converted;
  if (is_unknown || classic_is_empty(group)) {
    return NULL;
  }
  const char *why = convert(&migration->converted, group, request->arena);
  if (why != NULL) {
    consumer_migration_end(migration);
  }
  return why;
}

/// Nothing happens to the classic group by itself until the write is done.
static void hold_classic(struct classic_group *classic)
{
  struct group_shard *shard = classic->shard;
  classic_stop(classic->group, WIRE_REBALANCE_IN_PROGRESS);
  group_timer_stop(shard, &classic->join_timer);
  group_timer_stop(shard, &classic->sync_timer);
  struct list *lists[] = {&classic->members, &classic->pending};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    LIST_EACH(lists[i], node) {
      group_timer_stop(shard, &CONTAINER_OF(node, struct classic_member, link)->session);
    }
  }
}

void consumer_migration_write(struct consumer_migration *migration, struct consumer_change *change)
{
  if (migration->group->kind != GROUP_CLASSIC) {
    return;
  }
  hold_classic(migration->group->classic);
  classic_write_tombstones(migration->group, consumer_change_write(change));
  const struct consumer_group *converted = &migration->converted;
  if (converted->member_count == 0) {
    return;
  }
  slog_info("group '%s' becomes a consumer group", migration->group->id);
  for (int32_t i = 0; i < converted->member_count; i++) {
    consumer_write_member(change, converted->members[i]);
  }
  // The one that joins need not raise it: it may want no topics.
  consumer_write_epoch(change, converted->epoch, converted->metadata_hash);
  for (int32_t i = 0; i < converted->member_count; i++) {
    consumer_write_target(change, converted->members[i]->id, &converted->members[i]->target);
  }
  consumer_write_assignment_epoch(change, converted->assignment_epoch, converted->assignment_ms);
  for (int32_t i = 0; i < converted->member_count; i++) {
    consumer_write_current(change, converted->members[i]);
  }
}

void consumer_migration_end(struct consumer_migration *migration)
{
  if (migration->base == &migration->converted) {
    consumer_group_clear(&migration->converted);
  }
}

// ---- down ----

/// The protocol that all can do, the first of the first member's; null: there is none.
static struct wire_string common_protocol(const struct consumer_member *const *members, int32_t count)
{
  const struct wire_consumer_group_member_metadata_value_classic_member_metadata *first =
      members[0]->metadata.classic_member_metadata;
  for (int32_t p = 0; p < first->supported_protocols_count; p++) {
    bool is_common = true;
    for (int32_t m = 1; m < count && is_common; m++) {
      const struct wire_consumer_group_member_metadata_value_classic_member_metadata *other =
          members[m]->metadata.classic_member_metadata;
      is_common = false;
      for (int32_t i = 0; i < other->supported_protocols_count && !is_common; i++) {
        is_common = wire_string_equal(other->supported_protocols[i].name, first->supported_protocols[p].name);
      }
    }
    if (is_common) {
      return first->supported_protocols[p].name;
    }
  }
  return wire_string_from(NULL);
}

static bool may_downgrade(const struct group_settings *config, const struct consumer_member *const *members,
                          int32_t count)
{
  if (!config->is_downgrade_allowed || count == 0 || count > config->group_max_size) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    if (!consumer_member_is_classic(members[i])) {
      return false;
    }
  }
  return common_protocol(members, count).length >= 0;
}

/// What a member may still hold: also what it was asked to give up. Nobody else has any of it, and nobody may be given
/// it if the group becomes a consumer group again before the member has joined: that knows it by its assignment.
static struct wire_bytes held_assignment(struct consumer_change *change, const struct consumer_member *member,
                                         struct wire_bytes subscription)
{
  struct consumer_parts held;
  consumer_parts_begin(&held, change->arena, (int64_t)member->assigned.count + member->pending.count);
  consumer_parts_append(&held, &member->assigned);
  consumer_parts_append(&held, &member->pending);
  consumer_parts_sort(&held);
  return consumer_write_assignment(group_shard_topics(change->group->shard), &held, subscription, change->arena);
}

static void write_classic_group(struct consumer_change *change, const struct consumer_member *const *members,
                                int32_t count)
{
  struct wire_group_metadata_key key = {.group = {.data = change->group->id, .length = change->group->id_size}};
  struct wire_group_metadata_value value;
  wire_group_metadata_value_init(&value);
  value.protocol_type = wire_string_from(MIGRATE_PROTOCOL_TYPE);
  value.protocol = common_protocol(members, count);
  value.generation = change->base->epoch;
  // Nobody: whoever loads this has the members join again, as is done here, since nobody has what the departed had.
  value.leader = wire_string_from(NULL);
  value.current_state_timestamp = group_wall_ms(change->group->shard, change->now_ms);
  value.members = arena_alloc(change->arena, (size_t)count * sizeof *value.members);
  for (int32_t i = 0; i < count; i++) {
    const struct wire_consumer_group_member_metadata_value *metadata = &members[i]->metadata;
    struct wire_group_metadata_value_member_metadata *out = &value.members[value.members_count++];
    wire_group_metadata_value_member_metadata_init(out);
    out->member_id = members[i]->id;
    out->group_instance_id = metadata->instance_id;
    out->client_id = metadata->client_id;
    out->client_host = metadata->client_host;
    out->rebalance_timeout = metadata->rebalance_timeout_ms;
    out->session_timeout = metadata->classic_member_metadata->session_timeout_ms;
    for (int32_t p = 0; p < metadata->classic_member_metadata->supported_protocols_count; p++) {
      if (wire_string_equal(metadata->classic_member_metadata->supported_protocols[p].name, value.protocol)) {
        out->subscription = metadata->classic_member_metadata->supported_protocols[p].metadata;
      }
    }
    out->assignment = held_assignment(change, members[i], out->subscription);
  }
  group_write_add_message(consumer_change_write(change), RECORD_GROUP_METADATA, &wire_group_metadata_key_codec, &key,
                          &wire_group_metadata_value_codec, &value, 3);
}

void consumer_migration_departure(struct consumer_change *change, const struct consumer_member *const *members,
                                  int32_t count)
{
  change->gone = members;
  change->gone_count = count;
  int32_t left = 0;
  const struct consumer_member *const *others = consumer_change_members(change, &left);
  if (!may_downgrade(group_shard_config(change->group->shard), others, left)) {
    consumer_write_departure(change, members, count);
    return;
  }
  slog_info("group '%s' becomes a classic group, as only classic members are left", change->group->id);
  consumer_write_tombstones(change->group, consumer_change_write(change));
  write_classic_group(change, others, left);
}

void consumer_migration_settle(struct group *group, int16_t error, int64_t now_ms)
{
  if (group->kind == GROUP_CONSUMER) {
    consumer_look_at_timers(group->consumer, now_ms);
  }
  if (group->kind != GROUP_CLASSIC) {
    return;
  }
  struct classic_group *classic = group->classic;
  if (error == WIRE_NONE && !classic->is_live) {
    classic_settle(group, now_ms);
    classic_rebalance(classic, "it was a consumer group", now_ms);
  } else if (error != WIRE_NONE && classic->member_count > 0) {
    // An upgrade that was not written: its timers were held, its members have been told to join again.
    classic_set_state(classic, CLASSIC_STABLE, now_ms);
    classic_loaded(group, now_ms);
    classic_rebalance(classic, "it did not become a consumer group", now_ms);
  }
}
