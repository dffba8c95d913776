// SPDX-License-Identifier: Apache-2.0
//
// What a change of a consumer group writes, record by record, as Kafka writes it.
#include <stdlib.h>
#include <string.h>

#include "coordinator/consumer_private.h"
#include "coordinator/records.h"
#include "wire/codec.h"

void consumer_change_begin(struct consumer_change *change, struct group *group, const struct consumer_group *base,
                           struct arena *arena, group_written_fn written, void *arg, int64_t now_ms)
{
  const struct group_shard_topics *topics = group_shard_topics(group->shard);
  *change = (struct consumer_change){
      .group = group,
      .base = base,
      .arena = arena,
      .now_ms = now_ms,
      .written = written,
      .arg = arg,
      .topics_version = topics->version(topics->arg),
      .epoch = base->epoch,
      .assignment_epoch = base->assignment_epoch,
  };
}

static bool change_removes(const struct consumer_change *change, const struct consumer_member *member)
{
  for (int32_t i = 0; i < change->gone_count; i++) {
    if (change->gone[i] == member) {
      return true;
    }
  }
  return false;
}

const struct consumer_member *const *consumer_change_members(struct consumer_change *change, int32_t *count)
{
  if (change->members == NULL) {
    const struct consumer_group *base = change->base;
    change->members = arena_alloc(change->arena, ((size_t)base->member_count + 1) * sizeof *change->members);
    bool is_put = !change->has_next;
    for (int32_t i = 0; i < base->member_count; i++) {
      const struct consumer_member *member = base->members[i];
      if (!is_put && consumer_text_compare(change->next.id, member->id) <= 0) {
        change->members[change->member_count++] = &change->next;
        is_put = true;
      }
      if (member != change->old && !change_removes(change, member)) {
        change->members[change->member_count++] = member;
      }
    }
    if (!is_put) {
      change->members[change->member_count++] = &change->next;
    }
  }
  *count = change->member_count;
  return change->members;
}

struct group_write *consumer_change_write(struct consumer_change *change)
{
  if (change->write == NULL) {
    change->write = group_write_new(change->group, true, change->written, change->arg);
    change->last = change->write;
  }
  return change->last;
}

void consumer_change_divide(struct consumer_change *change)
{
  if (change->last != NULL && group_write_size(change->last) > CONSUMER_WRITE_BYTES) {
    change->last = group_write_more(change->last);
  }
}

static struct wire_string group_id(const struct consumer_change *change)
{
  return (struct wire_string){.data = change->group->id, .length = change->group->id_size};
}

void consumer_write_member(struct consumer_change *change, const struct consumer_member *member)
{
  struct wire_consumer_group_member_metadata_key key = {.group_id = group_id(change), .member_id = member->id};
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_MEMBER_METADATA,
                          &wire_consumer_group_member_metadata_key_codec, &key,
                          &wire_consumer_group_member_metadata_value_codec, &member->metadata, 0);
}

void consumer_write_epoch(struct consumer_change *change, int32_t epoch, int64_t metadata_hash)
{
  struct wire_consumer_group_metadata_key key = {.group_id = group_id(change)};
  struct wire_consumer_group_metadata_value value = {.epoch = epoch, .metadata_hash = metadata_hash};
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_METADATA,
                          &wire_consumer_group_metadata_key_codec, &key, &wire_consumer_group_metadata_value_codec,
                          &value, 0);
}

void consumer_write_assignment_epoch(struct consumer_change *change, int32_t epoch, int64_t made_ms)
{
  struct wire_consumer_group_target_assignment_metadata_key key = {.group_id = group_id(change)};
  struct wire_consumer_group_target_assignment_metadata_value value = {.assignment_epoch = epoch,
                                                                       .assignment_timestamp = made_ms};
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
                          &wire_consumer_group_target_assignment_metadata_key_codec, &key,
                          &wire_consumer_group_target_assignment_metadata_value_codec, &value, 0);
}

/// The numbers of `count` partitions of one topic, in the change's arena.
static int32_t *partition_numbers(struct arena *arena, const struct consumer_part *parts, int32_t count)
{
  int32_t *numbers = arena_alloc(arena, (size_t)count * sizeof *numbers);
  for (int32_t i = 0; i < count; i++) {
    numbers[i] = parts[i].partition;
  }
  return numbers;
}

void consumer_write_target(struct consumer_change *change, struct wire_string member_id,
                           const struct consumer_parts *target)
{
  struct wire_consumer_group_target_assignment_member_key key = {.group_id = group_id(change), .member_id = member_id};
  struct wire_consumer_group_target_assignment_member_value value = {0};
  value.topic_partitions =
      arena_alloc(change->arena, ((size_t)consumer_parts_topic_count(target) + 1) * sizeof *value.topic_partitions);
  for (int32_t at = 0; at < target->count;) {
    const struct consumer_part *first = &target->items[at];
    int32_t count = consumer_parts_topic(target, &at);
    value.topic_partitions[value.topic_partitions_count++] =
        (struct wire_consumer_group_target_assignment_member_value_topic_partition){
            .topic_id = first->topic,
            .partitions = partition_numbers(change->arena, first, count),
            .partitions_count = count,
        };
  }
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
                          &wire_consumer_group_target_assignment_member_key_codec, &key,
                          &wire_consumer_group_target_assignment_member_value_codec, &value, 0);
}

static struct wire_consumer_group_current_member_assignment_value_topic_partitions *current_topics(
    struct arena *arena, const struct consumer_parts *parts, int32_t *topic_count)
{
  struct wire_consumer_group_current_member_assignment_value_topic_partitions *topics =
      arena_alloc(arena, ((size_t)consumer_parts_topic_count(parts) + 1) * sizeof *topics);
  *topic_count = 0;
  for (int32_t at = 0; at < parts->count;) {
    const struct consumer_part *first = &parts->items[at];
    int32_t count = consumer_parts_topic(parts, &at);
    int32_t *epochs = arena_alloc(arena, (size_t)count * sizeof *epochs);
    for (int32_t i = 0; i < count; i++) {
      epochs[i] = first[i].epoch;
    }
    topics[(*topic_count)++] = (struct wire_consumer_group_current_member_assignment_value_topic_partitions){
        .topic_id = first->topic,
        .partitions = partition_numbers(arena, first, count),
        .partitions_count = count,
        .assignment_epochs = epochs,
        .assignment_epochs_count = count,
    };
  }
  return topics;
}

void consumer_write_current(struct consumer_change *change, const struct consumer_member *member)
{
  struct wire_consumer_group_current_member_assignment_key key = {.group_id = group_id(change),
                                                                  .member_id = member->id};
  struct wire_consumer_group_current_member_assignment_value value = {
      .member_epoch = member->epoch,
      .previous_member_epoch = member->previous_epoch,
      .state = member->state,
  };
  value.assigned_partitions = current_topics(change->arena, &member->assigned, &value.assigned_partitions_count);
  value.partitions_pending_revocation =
      current_topics(change->arena, &member->pending, &value.partitions_pending_revocation_count);
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                          &wire_consumer_group_current_member_assignment_key_codec, &key,
                          &wire_consumer_group_current_member_assignment_value_codec, &value, 0);
}

void consumer_write_regex(struct consumer_change *change, const struct consumer_regex *regex)
{
  struct wire_consumer_group_regular_expression_key key = {.group_id = group_id(change),
                                                           .regular_expression = regex->text};
  group_write_add_message(consumer_change_write(change), RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION,
                          &wire_consumer_group_regular_expression_key_codec, &key,
                          &wire_consumer_group_regular_expression_value_codec, &regex->value, 0);
}

// ---- tombstones ----

static void write_regex_tombstone(struct group_write *write, struct wire_string id, struct wire_string text)
{
  struct wire_consumer_group_regular_expression_key key = {.group_id = id, .regular_expression = text};
  group_write_add_message(write, RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION,
                          &wire_consumer_group_regular_expression_key_codec, &key, NULL, NULL, 0);
}

void consumer_write_regex_tombstone(struct consumer_change *change, struct wire_string text)
{
  write_regex_tombstone(consumer_change_write(change), group_id(change), text);
}

/// In Kafka's order: what the member has, what it was to have, the member.
static void write_member_tombstones(struct group_write *write, struct wire_string id, struct wire_string member_id)
{
  struct wire_consumer_group_current_member_assignment_key current = {.group_id = id, .member_id = member_id};
  struct wire_consumer_group_target_assignment_member_key target = {.group_id = id, .member_id = member_id};
  struct wire_consumer_group_member_metadata_key member = {.group_id = id, .member_id = member_id};
  group_write_add_message(write, RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                          &wire_consumer_group_current_member_assignment_key_codec, &current, NULL, NULL, 0);
  group_write_add_message(write, RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
                          &wire_consumer_group_target_assignment_member_key_codec, &target, NULL, NULL, 0);
  group_write_add_message(write, RECORD_CONSUMER_GROUP_MEMBER_METADATA, &wire_consumer_group_member_metadata_key_codec,
                          &member, NULL, NULL, 0);
}

void consumer_write_member_tombstones(struct consumer_change *change, struct wire_string member_id)
{
  write_member_tombstones(consumer_change_write(change), group_id(change), member_id);
}

void consumer_write_tombstones(struct group *group, struct group_write *write)
{
  const struct consumer_group *consumer = group->consumer;
  struct wire_string id = {.data = group->id, .length = group->id_size};
  for (int32_t i = 0; i < consumer->member_count; i++) {
    write_member_tombstones(write, id, consumer->members[i]->id);
  }
  for (int32_t i = 0; i < consumer->regex_count; i++) {
    write_regex_tombstone(write, id, consumer->regexes[i]->text);
  }
  struct wire_consumer_group_target_assignment_metadata_key target = {.group_id = id};
  struct wire_consumer_group_metadata_key key = {.group_id = id};
  group_write_add_message(write, RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
                          &wire_consumer_group_target_assignment_metadata_key_codec, &target, NULL, NULL, 0);
  group_write_add_message(write, RECORD_CONSUMER_GROUP_METADATA, &wire_consumer_group_metadata_key_codec, &key, NULL,
                          NULL, 0);
}
