// SPDX-License-Identifier: Apache-2.0
//
// Members go: they say so, or are thrown out because they are silent or do not give up what they have to.
#include <string.h>

#include "base/slog.h"
#include "coordinator/consumer_migrate.h"
#include "coordinator/consumer_private.h"
#include "wire/consumer_group_heartbeat.h"
#include "wire/error_codes.h"

void consumer_write_departure(struct consumer_change *change, const struct consumer_member *const *members,
                              int32_t count)
{
  change->gone = members;
  change->gone_count = count;
  int32_t left = 0;
  const struct consumer_member *const *others = consumer_change_members(change, &left);
  for (int32_t i = 0; i < count; i++) {
    consumer_write_member_tombstones(change, members[i]->id);
    struct wire_string text = members[i]->metadata.subscribed_topic_regex;
    bool is_used = consumer_regex_find(change->base, text) == NULL;
    for (int32_t j = 0; j < left && !is_used; j++) {
      is_used = wire_string_equal(others[j]->metadata.subscribed_topic_regex, text);
    }
    for (int32_t j = 0; j < i && !is_used; j++) {
      is_used = wire_string_equal(members[j]->metadata.subscribed_topic_regex, text); // its tombstone is written
    }
    if (!is_used) {
      consumer_write_regex_tombstone(change, text);
    }
  }
  change->epoch = change->base->epoch + 1;
  if (left > 0) {
    consumer_write_epoch(change, change->epoch, consumer_metadata_hash(change));
    return;
  }
  // As Kafka does: an empty group is up to date, and the next one that joins need not wait for the interval.
  consumer_write_epoch(change, change->epoch, 0);
  consumer_write_assignment_epoch(change, change->epoch, 0);
}

// ---- by heartbeat ----

static void left(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  struct group_request *request = arg;
  if (error != WIRE_NONE) {
    consumer_heartbeat_fail(request, error, NULL);
  }
  struct group_shard *shard = group->shard;
  consumer_migration_settle(group, error, now_ms);
  group_answer(shard, request);
}

/// The member that a leave is about. @return NULL: the answer says why not
static struct consumer_member *leaving_member(struct group *group, struct group_request *request)
{
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct wire_string id = body->member_id;
  struct wire_string instance = body->instance_id;
  if (instance.length < 0) {
    struct consumer_member *member = consumer_member_find(group->consumer, id);
    if (member == NULL) {
      consumer_heartbeat_fail(
          request, WIRE_UNKNOWN_MEMBER_ID,
          arena_printf(request->arena, "Member %.*s is not a member of group %s.", id.length, id.data, group->id));
    }
    return member;
  }
  struct consumer_member *member = consumer_member_static(group->consumer, instance, id);
  return consumer_heartbeat_check_static(request, member, instance, id) ? member : NULL;
}

void consumer_leave(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_consumer_group_heartbeat_request *body = request->body;
  struct wire_consumer_group_heartbeat_response *resp = request->response;
  if (group == NULL || group->kind != GROUP_CONSUMER) {
    const char *format =
        group == NULL || group->kind == GROUP_EMPTY ? "Group %.*s not found." : "Group %.*s is not a consumer group.";
    consumer_heartbeat_no_group(request,
                                arena_printf(request->arena, format, request->group.length, request->group.data));
    group_answer(shard, request);
    return;
  }
  const struct consumer_member *member = leaving_member(group, request);
  if (member == NULL) {
    group_answer(shard, request);
    return;
  }
  struct consumer_change change;
  consumer_change_begin(&change, group, group->consumer, request->arena, left, request, now_ms);
  resp->member_id = consumer_text_copy(request->arena, member->id);
  resp->member_epoch = body->member_epoch;
  if (body->member_epoch == CONSUMER_STATIC_LEAVE_EPOCH) {
    // Its partitions stay its own until the session is over; it is not asked to give any up any more.
    change.next = *member;
    change.next.epoch = CONSUMER_STATIC_LEAVE_EPOCH;
    change.next.pending = (struct consumer_parts){0};
    consumer_write_current(&change, &change.next);
  } else {
    slog_debug("group '%s': member %.*s leaves", group->id, member->id.length, member->id.data);
    consumer_migration_departure(&change, &member, 1);
  }
  group_write_submit(consumer_change_write(&change), now_ms);
}

// ---- by force ----

static void fenced(struct group *group, void *arg, int16_t error, int64_t now_ms)
{
  (void)arg;
  consumer_migration_settle(group, error, now_ms); // when it was not written, the member's timers begin anew
}

void consumer_fence(struct consumer_member *member, struct group_timer *timer, const char *why, int64_t now_ms)
{
  struct group *group = member->consumer->group;
  if (group->write_count > 0) {
    group_timer_start(group->shard, timer, now_ms + CONSUMER_BUSY_RETRY_MS, timer->run);
    return;
  }
  group_log_removal(group, member->id, why, now_ms);
  struct arena arena = {0};
  struct consumer_change change;
  consumer_change_begin(&change, group, member->consumer, &arena, fenced, NULL, now_ms);
  const struct consumer_member *gone = member;
  consumer_migration_departure(&change, &gone, 1);
  group_write_submit(consumer_change_write(&change), now_ms);
  arena_destroy(&arena);
}
