// SPDX-License-Identifier: Apache-2.0
//
// Members of a consumer group that speak the classic protocol, while the group migrates (KIP-848). They join, sync and
// beat as they know it; what they are given comes from the target assignment, and the generation is their member epoch.
// A join is answered at once: nobody waits for others. When there is something new for a member, its heartbeat is told
// REBALANCE_IN_PROGRESS; it has its rebalance timeout to join again, and then as long to sync.
#include <string.h>

#include "base/slog.h"
#include "coordinator/consumer_migrate.h"
#include "coordinator/consumer_private.h"
#include "wire/error_codes.h"
#include "wire/heartbeat.h"
#include "wire/join_group.h"
#include "wire/leave_group.h"
#include "wire/sync_group.h"

enum {
  JOIN_WITH_REQUIRED_ID = 4,   // ids are given out first (KIP-394)
  JOIN_WITH_PROTOCOL_TYPE = 7, // an answer has a protocol type, and null for no protocol
  SYNC_WITH_PROTOCOL = 5,      // protocol type and name are said (KIP-559)
  LEAVE_WITH_MEMBERS = 3,      // names many
};

#define CLASSIC_PROTOCOL_TYPE "consumer"

// ---- who it is ----

static void join_too_late(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  consumer_fence(CONTAINER_OF(timer, struct consumer_member, classic), timer, "did not join again in time", now_ms);
}

static void sync_too_late(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  consumer_fence(CONTAINER_OF(timer, struct consumer_member, classic), timer, "did not sync in time", now_ms);
}

/// The member of a request about one. @return enum wire_error
static int16_t find_member(const struct consumer_group *consumer, struct wire_string id, struct wire_string instance,
                           struct consumer_member **out)
{
  struct consumer_member *member =
      instance.length >= 0 ? consumer_member_static(consumer, instance, id) : consumer_member_find(consumer, id);
  if (member == NULL) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  if (!wire_string_equal(member->id, id)) {
    return WIRE_FENCED_INSTANCE_ID;
  }
  if (!consumer_member_is_classic(member)) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  *out = member;
  return WIRE_NONE;
}

/// There is something for it that a new join would give it, as far as its join is not what it is about already.
static bool must_join_again(const struct consumer_group *consumer, const struct consumer_member *member)
{
  if (member->epoch < consumer->assignment_epoch || member->state == CONSUMER_UNREVOKED) {
    return true;
  }
  if (member->state != CONSUMER_UNRELEASED) {
    return false;
  }
  // It waits for others: until all that it waits for is free.
  for (int32_t i = 0; i < consumer->member_count; i++) {
    const struct consumer_member *other = consumer->members[i];
    if (other != member && (consumer_parts_overlap(&member->target, &other->assigned) ||
                            consumer_parts_overlap(&member->target, &other->pending))) {
      return false;
    }
  }
  return true;
}

static void start_join_timer(struct consumer_member *member, int64_t now_ms)
{
  if (member->classic.position == 0) {
    group_timer_start(member->consumer->group->shard, &member->classic, now_ms + member->metadata.rebalance_timeout_ms,
                      join_too_late);
  }
}

// ---- JoinGroup ----

/// A JoinGroup between its request and its answer; in the request's arena.
struct classic_join {
  struct group_request *request;             ///< the request
  struct consumer_change change;             ///< what it makes of the group
  struct consumer_subscription subscription; ///< what it says
  struct wire_string member_id;              ///< who sends it, or is to have that id
};

static void join_fail(struct group_shard *shard, struct group_request *request, int16_t error,
                      struct wire_string member_id)
{
  struct wire_join_group_response *resp = request->response;
  wire_join_group_response_init(resp);
  resp->error_code = error;
  resp->generation_id = -1;
  resp->protocol_type = wire_string_from(NULL);
  resp->protocol_name = wire_string_from(request->version >= JOIN_WITH_PROTOCOL_TYPE ? NULL : "");
  resp->leader = wire_string_from("");
  resp->member_id = member_id;
  group_answer(shard, request);
}

/// Some protocol of the request is one that all classic members of the group can do.
static bool supports(const struct consumer_group *consumer, const struct wire_join_group_request *body)
{
  if (!wire_string_is(body->protocol_type, CLASSIC_PROTOCOL_TYPE)) {
    return false;
  }
  for (int32_t p = 0; p < body->protocols_count; p++) {
    bool is_common = true;
    for (int32_t m = 0; m < consumer->member_count && is_common; m++) {
      const struct wire_consumer_group_member_metadata_value_classic_member_metadata *classic =
          consumer->members[m]->metadata.classic_member_metadata;
      is_common = classic == NULL || wire_string_equal(consumer->members[m]->id, body->member_id);
      for (int32_t i = 0; classic != NULL && i < classic->supported_protocols_count && !is_common; i++) {
        is_common = wire_string_equal(classic->supported_protocols[i].name, body->protocols[p].name);
      }
    }
    if (is_common) {
      return true;
    }
  }
  return false;
}

/// @return enum wire_error
static int16_t join_check(const struct consumer_group *consumer, const struct group_request *request)
{
  const struct wire_join_group_request *body = request->body;
  const struct group_settings *config = group_shard_config(consumer->group->shard);
  if (body->session_timeout_ms < config->group_min_session_timeout_ms ||
      body->session_timeout_ms > config->group_max_session_timeout_ms) {
    return WIRE_INVALID_SESSION_TIMEOUT;
  }
  if (consumer->member_count >= config->group_consumer_max_size &&
      consumer_member_find(consumer, body->member_id) == NULL) {
    return WIRE_GROUP_MAX_SIZE_REACHED;
  }
  return supports(consumer, body) ? WIRE_NONE : WIRE_INCONSISTENT_GROUP_PROTOCOL;
}

/// Finds the member, or begins a new one. @return enum wire_error
static int16_t join_find(struct classic_join *join)
{
  const struct wire_join_group_request *body = join->request->body;
  struct consumer_change *change = &join->change;
  const struct consumer_group *base = change->base;
  bool has_id = body->member_id.length > 0;
  if (body->group_instance_id.length >= 0) {
    const struct consumer_member *member = consumer_member_static(base, body->group_instance_id, body->member_id);
    if (member == NULL && has_id) {
      return WIRE_UNKNOWN_MEMBER_ID;
    }
    if (member != NULL && has_id && !wire_string_equal(member->id, body->member_id)) {
      return WIRE_FENCED_INSTANCE_ID;
    }
    if (member != NULL && !has_id) {
      consumer_place_static(change, member, join->member_id);
    } else {
      change->old = member;
    }
  } else {
    change->old = consumer_member_find(base, join->member_id);
  }
  if (change->old != NULL) {
    change->next = *change->old;
  } else if (change->gone_count == 0) {
    change->next.id = join->member_id;
    consumer_metadata_init(&change->next.metadata);
  }
  if (change->next.epoch < 0) {
    change->next.epoch = CONSUMER_JOIN_EPOCH;
  }
  change->has_next = true;
  return WIRE_NONE;
}

static void join_metadata(struct classic_join *join)
{
  struct group_request *request = join->request;
  const struct wire_join_group_request *body = request->body;
  struct consumer_change *change = &join->change;
  struct wire_consumer_group_member_metadata_value *metadata = &change->next.metadata;
  struct wire_consumer_group_member_metadata_value_classic_member_metadata *classic =
      arena_zalloc(change->arena, sizeof *classic);
  classic->session_timeout_ms = body->session_timeout_ms;
  classic->supported_protocols_count = body->protocols_count;
  classic->supported_protocols =
      arena_alloc(change->arena, (size_t)body->protocols_count * sizeof *classic->supported_protocols);
  for (int32_t i = 0; i < body->protocols_count; i++) {
    classic->supported_protocols[i] = (struct wire_consumer_group_member_metadata_value_classic_protocol){
        .name = body->protocols[i].name, .metadata = body->protocols[i].metadata};
  }
  metadata->classic_member_metadata = classic;
  metadata->instance_id = body->group_instance_id.length >= 0 ? body->group_instance_id : metadata->instance_id;
  metadata->rack_id = join->subscription.rack.length >= 0 ? join->subscription.rack : metadata->rack_id;
  metadata->client_id = request->client_id.length >= 0 ? request->client_id : wire_string_from("");
  metadata->client_host = wire_string_from(request->client_host);
  metadata->subscribed_topic_regex = wire_string_from("");
  metadata->rebalance_timeout_ms = request->version >= 1 ? body->rebalance_timeout_ms : body->session_timeout_ms;
  consumer_take_names(change, join->subscription.topics, join->subscription.topic_count);
}

static void join_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct classic_join *join = arg;
  struct consumer_group *consumer = group->kind == GROUP_CONSUMER ? group->consumer : NULL;
  struct group_shard *shard = group->shard;
  struct consumer_member *member = consumer != NULL ? consumer_member_find(consumer, join->member_id) : NULL;
  if (consumer != NULL) {
    consumer_look_at_timers(consumer, now_ms);
  }
  if (member != NULL) {
    consumer_session_start(member, now_ms);
  }
  if (error != WIRE_NONE) {
    join_fail(shard, join->request, error, wire_string_from(""));
    return;
  }
  if (member != NULL) {
    group_timer_stop(shard, &member->classic);
    group_timer_start(shard, &member->classic, now_ms + member->metadata.rebalance_timeout_ms, sync_too_late);
  }
  group_answer(shard, join->request);
}

static void join_answer(struct classic_join *join)
{
  const struct wire_join_group_request *body = join->request->body;
  struct wire_join_group_response *resp = join->request->response;
  resp->generation_id = join->change.next.epoch;
  resp->protocol_type = wire_string_from(CLASSIC_PROTOCOL_TYPE);
  resp->protocol_name = body->protocols[0].name;
  resp->leader = wire_string_from("");
  resp->member_id = join->member_id;
}

static void join_serve(struct group_shard *shard, struct classic_join *join)
{
  struct group_request *request = join->request;
  struct consumer_change *change = &join->change;
  int16_t error = join_find(join);
  if (error != WIRE_NONE) {
    join_fail(shard, request, error, join->member_id);
    return;
  }
  if (change->gone_count > 0) {
    consumer_write_member_tombstones(change, change->gone[0]->id);
    consumer_write_target(change, join->member_id, &change->next.target);
  }
  join_metadata(join);
  bool bump = false;
  consumer_update_member(change, &bump);
  consumer_update_regexes(change, &bump);
  consumer_update_epoch(change, bump);
  consumer_update_target(change);
  consumer_reconcile(change, &join->subscription.owned);
  join_answer(join);
  if (change->write == NULL) {
    join_written(change->group, join, WIRE_NONE, change->now_ms);
  } else {
    group_write_submit(change->write, change->now_ms);
  }
}

/// The empty consumer group is gone: the request begins anew, with a group that is of no kind.
static void emptied(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    const struct wire_join_group_request *body = request->body;
    join_fail(group->shard, request, error, body->member_id);
    return;
  }
  group_handle(group->shard, request, now_ms);
}

void consumer_classic_join(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms)
{
  const struct wire_join_group_request *body = request->body;
  if (group->consumer->member_count == 0) {
    // As in Kafka: one that nobody is in becomes what the next one wants. As a consumer group of classic members alone
    // it would have nobody who looks at topics.
    struct group_write *write = group_write_new(group, true, emptied, request);
    consumer_write_tombstones(group, write);
    group_write_submit(write, now_ms);
    return;
  }
  int16_t error = join_check(group->consumer, request);
  if (error != WIRE_NONE) {
    join_fail(shard, request, error, body->member_id);
    return;
  }
  struct classic_join *join = arena_zalloc(request->arena, sizeof *join);
  join->request = request;
  join->member_id = body->member_id;
  if (body->member_id.length <= 0) {
    char text[37];
    group_new_uuid_text(shard, text);
    struct wire_string name = body->group_instance_id.length >= 0 ? body->group_instance_id : request->client_id;
    join->member_id = wire_string_from(arena_printf(request->arena, "%.*s-%s", name.length > 0 ? name.length : 0,
                                                    name.length > 0 ? name.data : "", text));
    if (body->group_instance_id.length < 0 && request->version >= JOIN_WITH_REQUIRED_ID) {
      join_fail(shard, request, WIRE_MEMBER_ID_REQUIRED, join->member_id);
      return;
    }
  }
  if (consumer_read_subscription(group_shard_topics(shard), body->protocols[0].metadata, request->arena,
                                 &join->subscription) < 0) {
    join_fail(shard, request, WIRE_INCONSISTENT_GROUP_PROTOCOL, join->member_id);
    return;
  }
  consumer_change_begin(&join->change, group, group->consumer, request->arena, join_written, join, now_ms);
  join_serve(shard, join);
}

// ---- SyncGroup, Heartbeat ----

/// @return enum wire_error
static int16_t sync_check(struct group *group, const struct group_request *request, struct consumer_member **member)
{
  const struct wire_sync_group_request *body = request->body;
  if (request->version >= SYNC_WITH_PROTOCOL && (body->protocol_type.length < 0 || body->protocol_name.length < 0)) {
    return WIRE_INCONSISTENT_GROUP_PROTOCOL;
  }
  int16_t error = find_member(group->consumer, body->member_id, body->group_instance_id, member);
  if (error != WIRE_NONE) {
    return error;
  }
  if (body->generation_id != (*member)->epoch) {
    return WIRE_ILLEGAL_GENERATION;
  }
  const struct wire_consumer_group_member_metadata_value_classic_member_metadata *classic =
      (*member)->metadata.classic_member_metadata;
  if ((body->protocol_type.length >= 0 && !wire_string_is(body->protocol_type, CLASSIC_PROTOCOL_TYPE)) ||
      (body->protocol_name.length >= 0 &&
       !wire_string_equal(body->protocol_name, classic->supported_protocols[0].name))) {
    return WIRE_INCONSISTENT_GROUP_PROTOCOL;
  }
  bool is_behind = (*member)->epoch < group->consumer->assignment_epoch && (*member)->state != CONSUMER_UNREVOKED;
  return is_behind ? WIRE_REBALANCE_IN_PROGRESS : WIRE_NONE;
}

void consumer_classic_sync(struct group_shard *shard, struct group *group, struct group_request *request,
                           int64_t now_ms)
{
  const struct wire_sync_group_request *body = request->body;
  struct wire_sync_group_response *resp = request->response;
  struct consumer_member *member = NULL;
  resp->error_code = sync_check(group, request, &member);
  resp->protocol_type = wire_string_from(NULL);
  resp->protocol_name = wire_string_from(NULL);
  if (resp->error_code == WIRE_NONE) {
    group_timer_stop(shard, &member->classic);
    consumer_session_start(member, now_ms);
    resp->protocol_type = body->protocol_type;
    resp->protocol_name = body->protocol_name;
    resp->assignment = consumer_write_assignment(
        group_shard_topics(shard), &member->assigned,
        member->metadata.classic_member_metadata->supported_protocols[0].metadata, request->arena);
  } else if (resp->error_code == WIRE_REBALANCE_IN_PROGRESS) {
    group_timer_stop(shard, &member->classic);
    start_join_timer(member, now_ms);
  }
  group_answer(shard, request);
}

void consumer_classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request,
                                int64_t now_ms)
{
  const struct wire_heartbeat_request *body = request->body;
  struct wire_heartbeat_response *resp = request->response;
  struct consumer_member *member = NULL;
  resp->error_code = find_member(group->consumer, body->member_id, body->group_instance_id, &member);
  if (resp->error_code == WIRE_NONE && body->generation_id != member->epoch) {
    resp->error_code = WIRE_ILLEGAL_GENERATION;
  }
  if (resp->error_code == WIRE_NONE) {
    consumer_session_start(member, now_ms);
    if (must_join_again(group->consumer, member)) {
      resp->error_code = WIRE_REBALANCE_IN_PROGRESS;
      start_join_timer(member, now_ms);
    }
  }
  group_answer(shard, request);
}

// ---- LeaveGroup ----

static void leave_written(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    struct wire_leave_group_response *resp = request->response;
    wire_leave_group_response_init(resp);
    resp->error_code = error;
  }
  struct group_shard *shard = group->shard;
  consumer_migration_settle(group, error, now_ms);
  group_answer(shard, request);
}

/// Finds one that is to go, by its id or, when an administrator throws it out, by its instance id. Whatever protocol it
/// speaks, as in Kafka.
static int16_t leave_find(const struct consumer_group *consumer,
                          const struct wire_leave_group_request_member_identity *who, struct consumer_member **member)
{
  *member = who->group_instance_id.length >= 0
                ? consumer_member_static(consumer, who->group_instance_id, who->member_id)
                : consumer_member_find(consumer, who->member_id);
  if (*member == NULL) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  bool is_fenced = who->member_id.length > 0 && !wire_string_equal((*member)->id, who->member_id);
  return is_fenced ? WIRE_FENCED_INSTANCE_ID : WIRE_NONE;
}

void consumer_classic_leave(struct group_shard *shard, struct group *group, struct group_request *request,
                            int64_t now_ms)
{
  const struct wire_leave_group_request *body = request->body;
  struct wire_leave_group_response *resp = request->response;
  struct wire_leave_group_request_member_identity one;
  wire_leave_group_request_member_identity_init(&one);
  one.member_id = body->member_id;
  bool is_list = request->version >= LEAVE_WITH_MEMBERS;
  const struct wire_leave_group_request_member_identity *who = is_list ? body->members : &one;
  int32_t count = !is_list ? 1 : body->members_count > 0 ? body->members_count : 0;
  const struct consumer_member **gone = arena_alloc(request->arena, ((size_t)count + 1) * sizeof *gone);
  int32_t gone_count = 0;
  struct wire_leave_group_response_member_response *results =
      arena_alloc(request->arena, ((size_t)count + 1) * sizeof *results);
  for (int32_t i = 0; i < count; i++) {
    struct consumer_member *member = NULL;
    wire_leave_group_response_member_response_init(&results[i]);
    results[i].member_id = who[i].member_id;
    results[i].group_instance_id = who[i].group_instance_id;
    results[i].error_code = leave_find(group->consumer, &who[i], &member);
    for (int32_t j = 0; j < gone_count && member != NULL; j++) {
      if (gone[j] == member) {
        results[i].error_code = WIRE_UNKNOWN_MEMBER_ID; // named twice: it has left
        member = NULL;
      }
    }
    if (results[i].error_code == WIRE_NONE && member != NULL) {
      gone[gone_count++] = member;
    }
  }
  if (is_list) {
    resp->members = results;
    resp->members_count = count;
  } else {
    resp->error_code = results[0].error_code;
  }
  if (gone_count == 0) {
    group_answer(shard, request);
    return;
  }
  struct consumer_change change;
  consumer_change_begin(&change, group, group->consumer, request->arena, leave_written, request, now_ms);
  consumer_migration_departure(&change, gone, gone_count);
  group_write_submit(consumer_change_write(&change), now_ms);
}
