// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupHeartbeat: the one request by which members join, show that they are alive, change what they want, say
// what they have, and are told what to have (KIP-848). Errors and their texts are Kafka's.
#include <stdlib.h>
#include <string.h>

#include "base/slog.h"
#include "coordinator/assignor.h"
#include "coordinator/consumer_migrate.h"
#include "coordinator/consumer_private.h"
#include "wire/consumer_group_heartbeat.h"
#include "wire/error_codes.h"

enum { HEARTBEAT_MEMBER_ID_VERSION = 1 }; // clients make their ids themselves (KIP-1082)

/// A heartbeat between its request and its answer; in the request's arena.
struct heartbeat {
  struct group_request *request;       ///< the request
  struct consumer_change change;       ///< what it makes of the group
  struct consumer_migration migration; ///< of a group that was classic, or is new
  struct wire_string member_id;        ///< who sends it, or is to have that id
  struct consumer_parts owned;         ///< what it says it has
  bool says_owned;                     ///< it says so
};

// ---- errors ----

void consumer_heartbeat_fail(struct group_request *request, int16_t error, const char *text)
{
  struct wire_consumer_group_heartbeat_response *resp = request->response;
  wire_consumer_group_heartbeat_response_init(resp);
  resp->error_code = error;
  resp->error_message = wire_string_from(text);
}

void consumer_heartbeat_no_group(struct group_request *request, const char *text)
{
  if (request->version >= HEARTBEAT_MEMBER_ID_VERSION) {
    consumer_heartbeat_fail(request, WIRE_GROUP_ID_NOT_FOUND, text);
    return;
  }
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  consumer_heartbeat_fail(
      request, WIRE_UNKNOWN_MEMBER_ID,
      arena_printf(request->arena, "Member %.*s is not a member of group %.*s.", body->member_id.length,
                   body->member_id.data, request->group.length, request->group.data));
}

bool consumer_heartbeat_check_static(struct group_request *request, const struct consumer_member *member,
                                     struct wire_string instance, struct wire_string id)
{
  if (member == NULL) {
    consumer_heartbeat_fail(
        request, WIRE_UNKNOWN_MEMBER_ID,
        arena_printf(request->arena, "Instance id %.*s is unknown.", instance.length, instance.data));
    return false;
  }
  if (!wire_string_equal(member->id, id)) {
    consumer_heartbeat_fail(
        request, WIRE_FENCED_INSTANCE_ID,
        arena_printf(request->arena, "Static member %.*s with instance id %.*s was fenced by member %.*s.", id.length,
                     id.data, instance.length, instance.data, member->id.length, member->id.data));
    return false;
  }
  return true;
}

/// What is wrong with the request by itself, in Kafka's order; NULL: nothing.
static const char *invalid_request(const struct group_request *request)
{
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  bool needs_id = request->version >= HEARTBEAT_MEMBER_ID_VERSION || body->member_epoch > CONSUMER_JOIN_EPOCH ||
                  body->member_epoch == CONSUMER_LEAVE_EPOCH;
  if (needs_id && body->member_id.length <= 0) {
    return "MemberId can't be empty.";
  }
  if (request->group.length <= 0) {
    return "GroupId can't be empty.";
  }
  if (body->instance_id.length == 0) {
    return "InstanceId can't be empty.";
  }
  if (body->rack_id.length == 0) {
    return "RackId can't be empty.";
  }
  if (body->member_epoch == CONSUMER_JOIN_EPOCH) {
    if (body->rebalance_timeout_ms == -1) {
      return "RebalanceTimeoutMs must be provided in first request.";
    }
    if (body->topic_partitions_count != 0) {
      return "TopicPartitions must be empty when (re-)joining.";
    }
    if (body->subscribed_topic_names_count < 0 && body->subscribed_topic_regex.length < 0) {
      return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.";
    }
  } else if (body->member_epoch == CONSUMER_STATIC_LEAVE_EPOCH && body->instance_id.length < 0) {
    return "InstanceId can't be null.";
  } else if (body->member_epoch < CONSUMER_STATIC_LEAVE_EPOCH) {
    return "MemberEpoch is invalid.";
  }
  return NULL;
}

/// An assignor that is not to be had. @return false: the answer has the error
static bool check_assignor(const struct group_shard *shard, struct group_request *request)
{
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct wire_string name = body->server_assignor;
  const char *list = "";
  const struct assignor *assignor;
  for (int32_t i = 0; (assignor = consumer_assignor(shard, i)) != NULL; i++) {
    if (name.length < 0 || wire_string_is(name, assignor->name)) {
      return true;
    }
    list = arena_printf(request->arena, "%s%s%s", list, i > 0 ? ", " : "", assignor->name);
  }
  consumer_heartbeat_fail(request, WIRE_UNSUPPORTED_ASSIGNOR,
                          arena_printf(request->arena, "ServerAssignor %.*s is not supported. Supported assignors: %s.",
                                       name.length, name.data, list));
  return false;
}

/// @return false: the answer has the error
static bool check_request(const struct group_shard *shard, struct group_request *request)
{
  const char *why = invalid_request(request);
  if (why != NULL) {
    consumer_heartbeat_fail(request, WIRE_INVALID_REQUEST, why);
    return false;
  }
  return check_assignor(shard, request);
}

// ---- the member ----

/// @return false: the answer has the error
static bool check_epoch(struct heartbeat *beat, const struct consumer_member *member)
{
  const struct wire_consumer_group_heartbeat_request *body = beat->request->body;
  int32_t epoch = body->member_epoch;
  const char *order = "greater";
  if (epoch == member->epoch) {
    return true;
  }
  if (epoch < member->epoch) {
    // The answer with its new epoch may have been lost: then it has nothing that it was not to have.
    if (epoch == member->previous_epoch && beat->says_owned && consumer_parts_within(&beat->owned, &member->assigned)) {
      return true;
    }
    order = "smaller";
  }
  consumer_heartbeat_fail(beat->request, WIRE_FENCED_MEMBER_EPOCH,
                          arena_printf(beat->request->arena,
                                       "The consumer group member has a %s member epoch (%d) than the one known by the "
                                       "group coordinator (%d). The member must abandon all its partitions and rejoin.",
                                       order, epoch, member->epoch));
  return false;
}

/// @return false: the answer has the error
static bool find_static(struct heartbeat *beat)
{
  struct group_request *request = beat->request;
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct consumer_change *change = &beat->change;
  struct wire_string instance = body->instance_id;
  struct wire_string id = beat->member_id;
  const struct consumer_member *member = consumer_member_static(change->base, instance, id);
  if (body->member_epoch == CONSUMER_JOIN_EPOCH) {
    if (member != NULL && member->epoch != CONSUMER_STATIC_LEAVE_EPOCH) {
      consumer_heartbeat_fail(
          request, WIRE_UNRELEASED_INSTANCE_ID,
          arena_printf(request->arena,
                       "Static member %.*s with instance id %.*s cannot join the group because the "
                       "instance id is owned by %.*s member.",
                       id.length, id.data, instance.length, instance.data, member->id.length, member->id.data));
      return false;
    }
    if (member == NULL || wire_string_equal(member->id, id)) {
      change->old = member != NULL ? member : consumer_member_find(change->base, id);
    } else {
      consumer_place_static(change, member, id); // has what the one before it had
    }
    return true;
  }
  if (!consumer_heartbeat_check_static(request, member, instance, id)) {
    return false;
  }
  change->old = member;
  return check_epoch(beat, member);
}

/// @return false: the answer has the error
static bool find_dynamic(struct heartbeat *beat)
{
  struct group_request *request = beat->request;
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct wire_string id = beat->member_id;
  const struct consumer_member *member = consumer_member_find(beat->change.base, id);
  beat->change.old = member;
  if (body->member_epoch == CONSUMER_JOIN_EPOCH) {
    return true;
  }
  if (member == NULL) {
    consumer_heartbeat_fail(request, WIRE_UNKNOWN_MEMBER_ID,
                            arena_printf(request->arena, "Member %.*s is not a member of group %.*s.", id.length,
                                         id.data, request->group.length, request->group.data));
    return false;
  }
  return check_epoch(beat, member);
}

/// @return false: the answer has the error
static bool find_member(struct heartbeat *beat)
{
  struct group_request *request = beat->request;
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct consumer_change *change = &beat->change;
  int32_t max = group_shard_config(change->group->shard)->group_consumer_max_size;
  if (change->base->member_count >= max && consumer_member_find(change->base, beat->member_id) == NULL) {
    consumer_heartbeat_fail(
        request, WIRE_GROUP_MAX_SIZE_REACHED,
        arena_printf(request->arena, "The consumer group has reached its maximum capacity of %d members.", max));
    return false;
  }
  if (!(body->instance_id.length >= 0 ? find_static(beat) : find_dynamic(beat))) {
    return false;
  }
  if (change->old != NULL) {
    change->next = *change->old;
  } else if (change->gone_count == 0) {
    change->next.id = beat->member_id;
    consumer_metadata_init(&change->next.metadata);
    change->next.metadata.rebalance_timeout_ms = -1;
  }
  if (change->old == NULL || (body->member_epoch == CONSUMER_JOIN_EPOCH && change->next.epoch < 0)) {
    change->next.epoch = CONSUMER_JOIN_EPOCH; // new, or back
    change->next.previous_epoch = CONSUMER_JOIN_EPOCH;
  }
  change->has_next = true;
  return true;
}

// ---- what it wants ----

static struct wire_string set_or(struct wire_string text, struct wire_string otherwise)
{
  return text.length >= 0 ? text : otherwise;
}

/// Takes over what the request says, and writes the member when it is new or changed.
///
/// @param[out] bump  the group is to rebalance for it
static void update_member(struct heartbeat *beat, bool *bump)
{
  struct group_request *request = beat->request;
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct consumer_change *change = &beat->change;
  struct wire_consumer_group_member_metadata_value *metadata = &change->next.metadata;
  metadata->instance_id = set_or(body->instance_id, metadata->instance_id);
  metadata->rack_id = set_or(body->rack_id, metadata->rack_id);
  metadata->client_id = set_or(request->client_id, wire_string_from(""));
  metadata->client_host = wire_string_from(request->client_host);
  metadata->subscribed_topic_regex =
      set_or(body->subscribed_topic_regex, set_or(metadata->subscribed_topic_regex, wire_string_from("")));
  metadata->server_assignor = set_or(body->server_assignor, metadata->server_assignor);
  metadata->classic_member_metadata = NULL;
  if (body->rebalance_timeout_ms != -1) {
    metadata->rebalance_timeout_ms = body->rebalance_timeout_ms;
  }
  if (body->subscribed_topic_names_count >= 0) {
    consumer_take_names(change, body->subscribed_topic_names, body->subscribed_topic_names_count);
  }
  consumer_update_member(change, bump);
}

static void take_owned(struct heartbeat *beat)
{
  const struct wire_consumer_group_heartbeat_request *body = beat->request->body;
  beat->says_owned = body->topic_partitions_count >= 0;
  int64_t count = 0;
  for (int32_t i = 0; i < body->topic_partitions_count; i++) {
    count += body->topic_partitions[i].partitions_count;
  }
  consumer_parts_begin(&beat->owned, beat->request->arena, count);
  for (int32_t i = 0; i < body->topic_partitions_count; i++) {
    for (int32_t j = 0; j < body->topic_partitions[i].partitions_count; j++) {
      consumer_parts_add(&beat->owned, &body->topic_partitions[i].topic_id, body->topic_partitions[i].partitions[j], 0);
    }
  }
  consumer_parts_sort(&beat->owned);
}

// ---- the answer ----

static struct wire_consumer_group_heartbeat_response_assignment *assignment_of(struct arena *arena,
                                                                               const struct consumer_parts *parts)
{
  struct wire_consumer_group_heartbeat_response_assignment *assignment = arena_zalloc(arena, sizeof *assignment);
  assignment->topic_partitions =
      arena_alloc(arena, ((size_t)consumer_parts_topic_count(parts) + 1) * sizeof *assignment->topic_partitions);
  for (int32_t at = 0; at < parts->count;) {
    int32_t first = at;
    int32_t count = consumer_parts_topic(parts, &at);
    int32_t *numbers = arena_alloc(arena, (size_t)count * sizeof *numbers);
    for (int32_t i = 0; i < count; i++) {
      numbers[i] = parts->items[first + i].partition;
    }
    assignment->topic_partitions[assignment->topic_partitions_count++] =
        (struct wire_consumer_group_heartbeat_response_topic_partitions){
            .topic_id = parts->items[first].topic, .partitions = numbers, .partitions_count = count};
  }
  return assignment;
}

static void fill_answer(struct heartbeat *beat)
{
  struct group_request *request = beat->request;
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct wire_consumer_group_heartbeat_response *resp = request->response;
  const struct consumer_change *change = &beat->change;
  resp->member_id = beat->member_id;
  resp->member_epoch = change->next.epoch;
  resp->heartbeat_interval_ms = consumer_heartbeat_interval_ms(change->group);
  // One that says all there is to say wants to hear all.
  bool is_full = body->rebalance_timeout_ms != -1 &&
                 (body->subscribed_topic_names_count >= 0 || body->subscribed_topic_regex.length >= 0) &&
                 body->topic_partitions_count >= 0;
  if (body->member_epoch == CONSUMER_JOIN_EPOCH || is_full || change->old == NULL ||
      !consumer_parts_equal(&change->old->assigned, &change->next.assigned)) {
    resp->assignment = assignment_of(request->arena, &change->next.assigned);
  }
}

/// It is written, or failed, or there was nothing to write.
static void answer(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct heartbeat *beat = arg;
  struct consumer_group *consumer = group->kind == GROUP_CONSUMER ? group->consumer : NULL;
  if (error != WIRE_NONE) {
    consumer_heartbeat_fail(beat->request, error, NULL);
  } else if (consumer != NULL) {
    consumer->topics_version = beat->change.are_topics_seen ? beat->change.topics_version : consumer->topics_version;
  }
  if (beat->change.write != NULL) {
    consumer_migration_settle(group, error, now_ms);
  }
  if (consumer != NULL) {
    struct consumer_member *member = consumer_member_find(consumer, beat->member_id);
    if (member != NULL) {
      consumer_session_start(member, now_ms);
    }
    consumer_regex_start(consumer, now_ms);
  }
  group_answer(group->shard, beat->request);
}

/// An expression that the group does not know yet. @return false: the answer has the error
static bool check_regex(struct heartbeat *beat)
{
  const struct wire_consumer_group_heartbeat_request *body = beat->request->body;
  struct wire_string text = body->subscribed_topic_regex;
  const char *why = consumer_text_is_set(text) && consumer_regex_find(beat->change.base, text) == NULL
                        ? consumer_check_regex(&beat->change, text)
                        : NULL;
  if (why == NULL) {
    return true;
  }
  consumer_heartbeat_fail(
      beat->request, WIRE_INVALID_REGULAR_EXPRESSION,
      arena_printf(beat->request->arena, "SubscribedTopicRegex `%.*s` is not a valid regular expression: %s.",
                   text.length, text.data, why));
  return false;
}

/// @return false: the answer has the error
static bool serve(struct heartbeat *beat)
{
  struct consumer_change *change = &beat->change;
  take_owned(beat);
  if (!find_member(beat) || !check_regex(beat)) {
    return false;
  }
  // From here on it writes, and nothing can be wrong any more.
  consumer_migration_write(&beat->migration, change);
  if (change->gone_count > 0) {
    consumer_write_member_tombstones(change, change->gone[0]->id);
    consumer_write_target(change, beat->member_id, &change->next.target);
  }
  bool bump = false;
  update_member(beat, &bump);
  consumer_update_regexes(change, &bump);
  consumer_update_epoch(change, bump);
  consumer_update_target(change);
  consumer_reconcile(change, beat->says_owned ? &beat->owned : NULL);
  fill_answer(beat);
  return true;
}

void consumer_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  if (!check_request(shard, request)) {
    group_answer(shard, request);
    return;
  }
  if (body->member_epoch == CONSUMER_LEAVE_EPOCH || body->member_epoch == CONSUMER_STATIC_LEAVE_EPOCH) {
    consumer_leave(shard, group, request, now_ms);
    return;
  }
  bool is_join = body->member_epoch == CONSUMER_JOIN_EPOCH;
  if (is_join && group != NULL && group->kind == GROUP_CLASSIC && group->flight_count > 0) {
    // What a classic group is depends on what it is writing.
    list_append(&group->waiting, &request->link);
    return;
  }
  struct heartbeat *beat = arena_zalloc(request->arena, sizeof *beat);
  beat->request = request;
  beat->member_id = body->member_id;
  if (beat->member_id.length <= 0) {
    char text[37];
    group_new_uuid_text(shard, text);
    beat->member_id = wire_string_from(arena_strndup(request->arena, text, sizeof text - 1));
  }
  const char *why = consumer_migration_begin(&beat->migration, shard, group, request, is_join);
  if (why != NULL) {
    consumer_heartbeat_no_group(request, why);
    group_answer(shard, request);
    return;
  }
  group = beat->migration.group;
  group->use_count++; // a new one stays until its write is made
  consumer_change_begin(&beat->change, group, beat->migration.base, request->arena, answer, beat, now_ms);
  bool is_served = serve(beat);
  if (!is_served) {
    group_answer(shard, request);
  } else if (beat->change.write != NULL) {
    group_write_submit(beat->change.write, now_ms);
  } else {
    answer(group, beat, WIRE_NONE, now_ms);
  }
  consumer_migration_end(&beat->migration);
  group->use_count--;
  group_release_if_unused(group);
}
