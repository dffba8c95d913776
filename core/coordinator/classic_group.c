// SPDX-License-Identifier: Apache-2.0
//
// A group of the classic protocol from its making to its end: states, heartbeats, sessions, and what the shard asks
// about it. Runs on the shard's thread.
#include "coordinator/classic_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "coordinator/member_beat.h"
#include "wire/error_codes.h"
#include "wire/heartbeat.h"
#include "wire/offset_commit.h"

struct classic_group *classic_new(struct group *group)
{
  struct classic_group *classic = mem_zalloc(sizeof *classic);
  classic->group = group;
  classic->shard = group->shard;
  classic->state_ms = -1;
  list_create(&classic->members);
  list_create(&classic->pending);
  group->kind = GROUP_CLASSIC;
  group->classic = classic;
  return classic;
}

/// All members and pending ids go; nobody is told.
static void group_clear(struct classic_group *classic)
{
  LIST_EACH_SAFE(&classic->members, node) {
    classic_member_delete(CONTAINER_OF(node, struct classic_member, link));
  }
  LIST_EACH_SAFE(&classic->pending, node) {
    classic_member_delete(CONTAINER_OF(node, struct classic_member, link));
  }
}

void classic_free(struct group *group)
{
  struct classic_group *classic = group->classic;
  group_clear(classic);
  group_timer_stop(classic->shard, &classic->join_timer);
  group_timer_stop(classic->shard, &classic->sync_timer);
  classic_forget_subscribed(classic);
  mem_free(classic->protocol_type);
  mem_free(classic->protocol);
  mem_free(classic);
  group->classic = NULL;
  group->kind = GROUP_EMPTY;
}

void classic_stop(struct group *group, int16_t error)
{
  LIST_EACH(&group->classic->members, node) {
    struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct group_request *join = classic_join_take(member);
    if (join != NULL) {
      classic_join_fail(group->shard, join, error, classic_member_id(member));
    }
    classic_sync_fail(member, error);
    classic_end_beat(member); // who is asked next may be another broker
  }
}

// ---- state ----

static const char *const STATE_NAMES[] = {
    [CLASSIC_EMPTY] = "Empty",
    [CLASSIC_PREPARING] = "PreparingRebalance",
    [CLASSIC_COMPLETING] = "CompletingRebalance",
    [CLASSIC_STABLE] = "Stable",
};

void classic_set_state(struct classic_group *classic, enum classic_state state, int64_t now_ms)
{
  if (classic->state == CLASSIC_STABLE && state != CLASSIC_STABLE) {
    LIST_EACH(&classic->members, node) {
      classic_end_beat(CONTAINER_OF(node, struct classic_member, link));
    }
  }
  if (state != classic->state && (state == CLASSIC_STABLE || state == CLASSIC_EMPTY)) {
    group_tell_change(classic->group, state == CLASSIC_EMPTY, classic->generation, classic->member_count);
  }
  classic->state = state;
  classic->state_ms = group_wall_ms(classic->shard, now_ms);
}

const char *classic_state_name(const struct group *group)
{
  return STATE_NAMES[group->classic->state];
}

const char *classic_protocol_type(const struct group *group)
{
  return group->classic->protocol_type == NULL ? "" : group->classic->protocol_type;
}

bool classic_is_empty(const struct group *group)
{
  return group->classic->state == CLASSIC_EMPTY;
}

enum group_expiry classic_expiry(const struct group *group, int64_t *since_ms)
{
  const struct classic_group *classic = group->classic;
  if (classic->protocol_type == NULL) {
    return GROUP_EXPIRES_COMMIT;
  }
  if (classic->state == CLASSIC_EMPTY) {
    *since_ms = classic->state_ms;
    return classic->state_ms < 0 ? GROUP_EXPIRES_COMMIT : GROUP_EXPIRES_SINCE;
  }
  bool is_consumer = strcmp(classic->protocol_type, "consumer") == 0;
  return is_consumer && classic->state == CLASSIC_STABLE ? GROUP_EXPIRES_COMMIT : GROUP_EXPIRES_NEVER;
}

void classic_loaded(struct group *group, int64_t now_ms)
{
  struct classic_group *classic = group->classic;
  classic->is_live = true;
  LIST_EACH(&classic->members, node) {
    classic_touch(CONTAINER_OF(node, struct classic_member, link), now_ms);
  }
  // group.max.size may be smaller now: rejoining decides who stays, and members can commit before.
  if (classic->member_count > group_shard_config(classic->shard)->group_max_size) {
    classic_rebalance(classic, "the loaded group has more members than group.max.size", now_ms);
  } else if (classic->member_count > 0 && classic->leader == NULL) {
    classic_rebalance(classic, "nobody leads it: it was a consumer group", now_ms);
  }
}

struct classic_group *classic_settle(struct group *group, int64_t now_ms)
{
  if (group->kind != GROUP_CLASSIC) {
    return NULL;
  }
  if (!group->classic->is_live) {
    classic_loaded(group, now_ms);
  }
  return group->classic;
}

int16_t classic_write_error(int16_t error)
{
  switch (error) {
    case WIRE_UNKNOWN_TOPIC_OR_PARTITION:
    case WIRE_NOT_ENOUGH_REPLICAS:
    case WIRE_REQUEST_TIMED_OUT:
      return WIRE_COORDINATOR_NOT_AVAILABLE;
    case WIRE_NOT_LEADER_OR_FOLLOWER:
    case WIRE_KAFKA_STORAGE_ERROR:
      return WIRE_NOT_COORDINATOR;
    case WIRE_MESSAGE_TOO_LARGE:
    case WIRE_RECORD_LIST_TOO_LARGE:
      return WIRE_UNKNOWN_SERVER_ERROR;
    default:
      return error;
  }
}

// ---- members ----

int16_t classic_validate_member(struct classic_group *classic, struct wire_string member_id,
                                struct wire_string instance, struct classic_member **member)
{
  if (instance.length >= 0) {
    const struct classic_member *owner = classic_member_static(classic, instance);
    if (owner == NULL) {
      return WIRE_UNKNOWN_MEMBER_ID;
    }
    if (!wire_string_equal(classic_member_id(owner), member_id)) {
      return WIRE_FENCED_INSTANCE_ID;
    }
  }
  struct classic_member *found = classic_member_find(classic, member_id);
  if (found == NULL || found->is_pending) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  *member = found;
  return WIRE_NONE;
}

/// Nothing was heard of a member, or of an id that was given out, for its session timeout.
static void member_expired(struct group_shard *shard, struct group_timer *timer, int64_t now_ms)
{
  (void)shard;
  struct classic_member *member = CONTAINER_OF(timer, struct classic_member, session);
  struct classic_group *classic = member->classic;
  if (member->is_pending) {
    classic_member_delete(member);
    if (classic->state == CLASSIC_PREPARING) {
      classic_try_complete(classic, now_ms);
    }
    return;
  }
  if (classic_heard_ms(member) > member->heard_ms) {
    classic_touch(member, classic_heard_ms(member));
    return;
  }
  char reason[CLASSIC_REASON_SIZE];
  char why[64];
  snprintf(why, sizeof why, "sent no heartbeat for %d ms",
           member->is_new ? CLASSIC_NEW_MEMBER_MS : member->session_timeout_ms);
  snprintf(reason, sizeof reason, "member %s %s", member->id.name, why);
  group_log_removal(classic->group, wire_string_from(member->id.name), why, now_ms);
  classic_remove_and_go_on(member, reason, now_ms);
}

void classic_touch(struct classic_member *member, int64_t now_ms)
{
  member->heard_ms = now_ms;
  bool waits = member->join != NULL || member->sync != NULL;
  if (member->is_new && member->join != NULL) {
    // Nobody knows its id yet: all that can be seen of it is the request that waits, which is not for ever.
    group_timer_start(member->classic->shard, &member->session, now_ms + CLASSIC_NEW_MEMBER_MS, member_expired);
  } else if (waits) {
    group_timer_stop(member->classic->shard, &member->session);
  } else {
    group_timer_start(member->classic->shard, &member->session, now_ms + member->session_timeout_ms, member_expired);
  }
}

int64_t classic_heard_ms(const struct classic_member *member)
{
  int64_t noted_ms = member->beat != NULL ? atomic_load(&member->beat->heard_ms) : 0;
  return noted_ms > member->heard_ms ? noted_ms : member->heard_ms;
}

void classic_end_beat(struct classic_member *member)
{
  if (member->beat == NULL) {
    return;
  }
  member_beat_end(member->beat);
  int64_t heard_ms = classic_heard_ms(member);
  member_beat_unref(member->beat);
  member->beat = NULL;
  if (heard_ms > member->heard_ms) {
    classic_touch(member, heard_ms);
  }
}

void classic_expel(struct classic_member *member)
{
  struct group_request *join = classic_join_take(member);
  if (join != NULL) {
    classic_join_fail(member->classic->shard, join, WIRE_UNKNOWN_MEMBER_ID, wire_string_from(""));
  }
  classic_sync_fail(member, WIRE_UNKNOWN_MEMBER_ID);
  classic_member_delete(member);
}

void classic_remove_and_go_on(struct classic_member *member, const char *reason, int64_t now_ms)
{
  struct classic_group *classic = member->classic;
  classic_expel(member);
  classic_rebalance(classic, reason, now_ms);
}

// ---- heartbeat ----

/// The next heartbeats of a member in a stable group may be noted by who asked.
static void give_beat(struct classic_member *member, struct group_request *request)
{
  if (member->beat == NULL) {
    member->beat = member_beat_new(member->classic->generation, member->heard_ms);
  }
  request->beat = member_beat_ref(member->beat);
}

static int16_t heartbeat_result(struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_heartbeat_request *body = request->body;
  if (body->group_id.length <= 0) {
    return WIRE_INVALID_GROUP_ID;
  }
  if (group == NULL || group->kind != GROUP_CLASSIC) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  struct classic_group *classic = group->classic;
  struct classic_member *member = NULL;
  int16_t error = classic_validate_member(classic, body->member_id, body->group_instance_id, &member);
  if (error != WIRE_NONE) {
    return error;
  }
  if (body->generation_id != classic->generation) {
    return WIRE_ILLEGAL_GENERATION;
  }
  classic_touch(member, now_ms);
  if (classic->state == CLASSIC_STABLE && request->wants_beat) {
    give_beat(member, request);
  }
  return classic->state == CLASSIC_PREPARING ? WIRE_REBALANCE_IN_PROGRESS : WIRE_NONE;
}

void classic_heartbeat(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  struct wire_heartbeat_response *response = request->response;
  response->error_code = heartbeat_result(group, request, now_ms);
  group_answer(shard, request);
}

// ---- commits ----

int16_t classic_check_commit(struct group *group, const struct group_request *request, int64_t now_ms)
{
  struct classic_group *classic = group->classic;
  const struct wire_offset_commit_request *body = request->body;
  if (body->generation_id_or_member_epoch < 0 && classic->state == CLASSIC_EMPTY) {
    return WIRE_NONE; // an administrator, or a consumer that takes its partitions itself
  }
  if (body->generation_id_or_member_epoch < 0 && body->member_id.length <= 0 && body->group_instance_id.length < 0) {
    return WIRE_UNKNOWN_MEMBER_ID;
  }
  struct classic_member *member = NULL;
  int16_t error = classic_validate_member(classic, body->member_id, body->group_instance_id, &member);
  if (error != WIRE_NONE) {
    return error;
  }
  if (body->generation_id_or_member_epoch != classic->generation) {
    return WIRE_ILLEGAL_GENERATION;
  }
  if (classic->state == CLASSIC_COMPLETING) {
    return WIRE_REBALANCE_IN_PROGRESS; // its partitions may be another's soon; while PREPARING they are still its own
  }
  classic_touch(member, now_ms);
  return WIRE_NONE;
}

// ---- to look at ----

/// snprintf() that goes on at `at`, as if there were room.
static int dump_add(char *text, size_t size, int at, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int dump_add(char *text, size_t size, int at, const char *format, ...)
{
  bool fits = (size_t)at < size;
  va_list args;
  va_start(args, format);
  int more = vsnprintf(fits ? text + at : NULL, fits ? size - (size_t)at : 0, format, args);
  va_end(args);
  return at + more;
}

int classic_dump(const struct group *group, char *text, size_t size)
{
  const struct classic_group *classic = group->classic;
  int at =
      dump_add(text, size, 0, "classic %s generation %d type %s protocol %s leader %s", classic_state_name(group),
               classic->generation, classic_protocol_type(group), classic->protocol == NULL ? "-" : classic->protocol,
               classic->leader == NULL ? "-" : classic->leader->id.name);
  LIST_EACH(&classic->members, node) {
    const struct classic_member *member = CONTAINER_OF(node, struct classic_member, link);
    struct wire_bytes metadata = classic_member_metadata(member, classic->protocol);
    at = dump_add(text, size, at,
                  "\nmember %s instance %s client %s %s session %d rebalance %d metadata %d:", member->id.name,
                  member->instance.name == NULL ? "-" : member->instance.name, member->client_id, member->client_host,
                  member->session_timeout_ms, member->rebalance_timeout_ms, metadata.length);
    for (int32_t i = 0; i < metadata.length; i++) {
      at = dump_add(text, size, at, "%02x", metadata.data[i]);
    }
    at = dump_add(text, size, at, " assignment %d:", member->assignment_size);
    for (int32_t i = 0; i < member->assignment_size; i++) {
      at = dump_add(text, size, at, "%02x", member->assignment[i]);
    }
  }
  return at;
}
