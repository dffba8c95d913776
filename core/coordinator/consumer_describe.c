// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupDescribe: a group's epochs, and of each member what it wants, has and is to have.
#include "coordinator/assignor.h"
#include "coordinator/consumer_private.h"
#include "wire/consumer_group_describe.h"
#include "wire/error_codes.h"

enum { MEMBER_TYPE_CLASSIC = 0, MEMBER_TYPE_CONSUMER = 1 };

static struct wire_consumer_group_describe_response_assignment describe_parts(const struct group_shard_topics *topics,
                                                                              struct arena *arena,
                                                                              const struct consumer_parts *parts)
{
  struct wire_consumer_group_describe_response_assignment out = {0};
  out.topic_partitions =
      arena_alloc(arena, ((size_t)consumer_parts_topic_count(parts) + 1) * sizeof *out.topic_partitions);
  struct consumer_topic_parts topic;
  for (int32_t at = 0; consumer_parts_next_topic(parts, topics, arena, &at, &topic);) {
    out.topic_partitions[out.topic_partitions_count++] =
        (struct wire_consumer_group_describe_response_topic_partitions){
            .topic_id = topic.id,
            .topic_name = consumer_text_copy(arena, topic.name),
            .partitions = topic.numbers,
            .partitions_count = topic.count,
        };
  }
  return out;
}

static void describe_member(const struct group_shard_topics *topics, struct arena *arena,
                            const struct consumer_member *member,
                            struct wire_consumer_group_describe_response_member *out)
{
  const struct wire_consumer_group_member_metadata_value *metadata = &member->metadata;
  wire_consumer_group_describe_response_member_init(out);
  out->member_id = consumer_text_copy(arena, member->id);
  out->instance_id = consumer_text_copy(arena, metadata->instance_id);
  out->rack_id = consumer_text_copy(arena, metadata->rack_id);
  out->member_epoch = member->epoch;
  out->client_id = consumer_text_copy(arena, metadata->client_id);
  out->client_host = consumer_text_copy(arena, metadata->client_host);
  out->subscribed_topic_regex = consumer_text_copy(arena, metadata->subscribed_topic_regex);
  int32_t count = metadata->subscribed_topic_names_count;
  struct wire_string *names = arena_alloc(arena, ((size_t)count + 1) * sizeof *names);
  for (int32_t i = 0; i < count; i++) {
    names[i] = consumer_text_copy(arena, metadata->subscribed_topic_names[i]);
  }
  out->subscribed_topic_names = names;
  out->subscribed_topic_names_count = count;
  // What it was asked to give up is still its own.
  struct consumer_parts owned;
  consumer_parts_begin(&owned, arena, (int64_t)member->assigned.count + member->pending.count);
  consumer_parts_append(&owned, &member->assigned);
  consumer_parts_append(&owned, &member->pending);
  consumer_parts_sort(&owned);
  out->assignment = describe_parts(topics, arena, &owned);
  out->target_assignment = describe_parts(topics, arena, &member->target);
  out->member_type = consumer_member_is_classic(member) ? MEMBER_TYPE_CLASSIC : MEMBER_TYPE_CONSUMER;
}

void consumer_describe(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  (void)now_ms;
  struct wire_consumer_group_describe_response_described_group *out = request->response;
  struct arena *arena = request->arena;
  out->group_id = request->group;
  if (group == NULL || group->kind != GROUP_CONSUMER) {
    bool is_unknown = group == NULL;
    out->error_code = WIRE_GROUP_ID_NOT_FOUND;
    out->error_message = wire_string_from(
        arena_printf(arena, is_unknown ? "Group %.*s not found." : "Group %.*s is not a consumer group.",
                     request->group.length, request->group.data));
    group_answer(shard, request);
    return;
  }
  const struct consumer_group *consumer = group->consumer;
  out->group_state = wire_string_from(consumer_state_name(group));
  out->group_epoch = consumer->epoch;
  out->assignment_epoch = consumer->assignment_epoch;
  const struct consumer_member *const *members = (const struct consumer_member *const *)consumer->members;
  out->assignor_name = wire_string_from(consumer_preferred_assignor(group, members, consumer->member_count)->name);
  out->members = arena_alloc(arena, ((size_t)consumer->member_count + 1) * sizeof *out->members);
  out->members_count = consumer->member_count;
  for (int32_t i = 0; i < consumer->member_count; i++) {
    describe_member(group_shard_topics(shard), arena, members[i], &out->members[i]);
  }
  group_answer(shard, request);
}
