// SPDX-License-Identifier: Apache-2.0
#include "groups_member.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/clock.h"
#include "wire/apis.h"
#include "wire/consumer_protocol.h"
#include "wire/error_codes.h"
#include "wire/heartbeat.h"
#include "wire/join_group.h"
#include "wire/leave_group.h"
#include "wire/sync_group.h"

enum {
  SETTLE_INTERVAL_MS = 20,  ///< between heartbeats of a group that settles
  SETTLE_TURN_NS = 5000000, ///< at most between two looks at groups that settle
  REBALANCE_TIMEOUT_MS = 60000,
};

static void send_join(struct member *member);

struct group *groups_new(struct groups_run *run)
{
  const struct groups_options *options = run->options;
  struct group *groups = mem_array((size_t)options->groups, sizeof *groups);
  int lanes = options->connections / options->members;
  for (int g = 0; g < options->groups; g++) {
    struct group *group = &groups[g];
    group->run = run;
    group->member_count = options->members;
    group->members = mem_array((size_t)options->members, sizeof *group->members);
    groups_name(run, g, group->name);
    for (int m = 0; m < options->members; m++) {
      group->members[m].group = group;
      group->members[m].link = &run->loop.links[(g % lanes) * options->members + m];
    }
  }
  return groups;
}

void groups_delete(struct group *groups, int count)
{
  for (int g = 0; g < count; g++) {
    mem_free(groups[g].members);
  }
  mem_free(groups);
}

/// The subscription of each member: the topic, in version 0 of the consumer protocol.
static void write_subscription(const struct groups_run *run, struct wire_writer *writer)
{
  struct wire_string topic = wire_string_from(run->options->topic);
  struct wire_consumer_protocol_subscription subscription;
  wire_consumer_protocol_subscription_init(&subscription);
  subscription.topics = &topic;
  subscription.topics_count = 1;
  subscription.user_data.length = -1;
  wire_writer_i16(writer, 0);
  wire_consumer_protocol_subscription_write(&subscription, writer, 0);
}

static void write_assignment(const struct groups_run *run, int32_t partition, struct wire_writer *writer)
{
  struct wire_consumer_protocol_assignment_topic_partition topic = {
      .topic = wire_string_from(run->options->topic), .partitions = &partition, .partitions_count = 1};
  struct wire_consumer_protocol_assignment assignment;
  wire_consumer_protocol_assignment_init(&assignment);
  assignment.assigned_partitions = &topic;
  assignment.assigned_partitions_count = 1;
  assignment.user_data.length = -1;
  wire_writer_i16(writer, 0);
  wire_consumer_protocol_assignment_write(&assignment, writer, 0);
}

/// Members that have just got the last id that was missing join.
static void join_all_named(struct group *group)
{
  for (int m = 0; m < group->member_count; m++) {
    if (group->members[m].state == MEMBER_NAMING) {
      return;
    }
  }
  for (int m = 0; m < group->member_count; m++) {
    if (group->members[m].state == MEMBER_NAMED) {
      send_join(&group->members[m]);
    }
  }
}

/// Starts again, after an answer that says that this member or its generation is of the past.
static void join_again(struct member *member, const char *what, int16_t code)
{
  switch (code) {
    case WIRE_REBALANCE_IN_PROGRESS:
    case WIRE_ILLEGAL_GENERATION:
    case WIRE_COORDINATOR_LOAD_IN_PROGRESS:
    case WIRE_NOT_COORDINATOR:
      break;
    default:
      groups_count_error(member->group->run, what, code);
      member->id[0] = '\0';
  }
  send_join(member);
}

static void synced(void *owner, const void *answer, int64_t planned_ns)
{
  (void)planned_ns;
  struct member *member = owner;
  const struct wire_sync_group_response *response = answer;
  if (response->error_code != WIRE_NONE) {
    join_again(member, "SyncGroup", response->error_code);
    return;
  }
  if (response->assignment.length <= 0) {
    groups_count_error(member->group->run, "SyncGroup without an assignment", WIRE_UNKNOWN_SERVER_ERROR);
  }
  member->state = MEMBER_STABLE;
  member->beat_ns = member->group->run->loop.now_ns;
  member->group->last_sync_ns = member->beat_ns;
}

/// Sends SyncGroup; of the leader, with a partition for each member that the answer to its join names.
static void send_sync(struct member *member, const struct wire_join_group_response *joined)
{
  struct groups_run *run = member->group->run;
  int32_t count = member->is_leader ? joined->members_count : 0;
  struct wire_sync_group_request_sync_group_request_assignment *assignments =
      mem_array((size_t)count + 1, sizeof *assignments);
  struct wire_writer *bytes = mem_array((size_t)count + 1, sizeof *bytes);
  for (int32_t i = 0; i < count; i++) {
    write_assignment(run, i % run->options->partitions, &bytes[i]);
    wire_sync_group_request_sync_group_request_assignment_init(&assignments[i]);
    assignments[i].member_id = joined->members[i].member_id;
    assignments[i].assignment = (struct wire_bytes){bytes[i].data, (int32_t)bytes[i].size};
  }
  struct wire_sync_group_request request;
  wire_sync_group_request_init(&request);
  request.group_id = wire_string_from(member->group->name);
  request.generation_id = member->generation;
  request.member_id = wire_string_from(member->id);
  request.protocol_type = wire_string_from("consumer");
  request.protocol_name = joined->protocol_name;
  request.assignments = assignments;
  request.assignments_count = count;
  member->state = MEMBER_SYNCING;
  groups_link_send(member->link, WIRE_API_SYNC_GROUP, GROUPS_VERSION_SYNC_GROUP, &request, synced, member, 0);
  for (int32_t i = 0; i < count; i++) {
    wire_writer_destroy(&bytes[i]);
  }
  mem_free(bytes);
  mem_free(assignments);
}

static void joined(void *owner, const void *answer, int64_t planned_ns)
{
  (void)planned_ns;
  struct member *member = owner;
  struct group *group = member->group;
  const struct wire_join_group_response *response = answer;
  if (response->member_id.length > 0 && response->member_id.length < MEMBER_ID_BYTES) {
    snprintf(member->id, sizeof member->id, "%.*s", response->member_id.length, response->member_id.data);
  }
  if (response->error_code == WIRE_MEMBER_ID_REQUIRED && member->id[0] != '\0') {
    member->state = MEMBER_NAMED;
    join_all_named(group);
    return;
  }
  if (response->error_code != WIRE_NONE) {
    join_again(member, "JoinGroup", response->error_code);
    return;
  }
  member->generation = response->generation_id;
  member->is_leader = wire_string_is(response->leader, member->id);
  if (group->generation < member->generation) {
    group->generation = member->generation;
  }
  send_sync(member, response);
}

static void send_join(struct member *member)
{
  struct groups_run *run = member->group->run;
  struct wire_writer subscription = {0};
  write_subscription(run, &subscription);
  struct wire_join_group_request_join_group_request_protocol protocol = {
      wire_string_from("range"), {subscription.data, (int32_t)subscription.size}};
  struct wire_join_group_request request;
  wire_join_group_request_init(&request);
  request.group_id = wire_string_from(member->group->name);
  request.session_timeout_ms = run->options->session_timeout_ms;
  request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS;
  request.member_id = wire_string_from(member->id);
  request.protocol_type = wire_string_from("consumer");
  request.protocols = &protocol;
  request.protocols_count = 1;
  bool has_id = member->id[0] != '\0';
  member->state = has_id ? MEMBER_JOINING : MEMBER_NAMING;
  if (has_id) {
    member->group->last_join_ns = clock_mono_ns();
  }
  groups_link_send(member->link, WIRE_API_JOIN_GROUP, GROUPS_VERSION_JOIN_GROUP, &request, joined, member, 0);
  wire_writer_destroy(&subscription);
}

void group_join(struct group *group, int from, int to)
{
  // All of them first: an answer must find those that are still to ask.
  for (int m = from; m < to; m++) {
    group->members[m].state = MEMBER_NAMING;
    group->members[m].id[0] = '\0';
  }
  group->present += to - from;
  for (int m = from; m < to; m++) {
    send_join(&group->members[m]);
  }
}

static void left(void *owner, const void *answer, int64_t planned_ns)
{
  (void)planned_ns;
  struct group *group = owner;
  const struct wire_leave_group_response *response = answer;
  if (response->error_code != WIRE_NONE) {
    groups_count_error(group->run, "LeaveGroup", response->error_code);
  }
  for (int32_t i = 0; i < response->members_count; i++) {
    if (response->members[i].error_code != WIRE_NONE) {
      groups_count_error(group->run, "LeaveGroup", response->members[i].error_code);
    }
  }
}

/// Members from `from` on, `count` of them, leave; the connection is that of the first.
static void send_leave(struct group *group, int from, int count)
{
  struct wire_leave_group_request_member_identity *identities = mem_array((size_t)count, sizeof *identities);
  for (int m = 0; m < count; m++) {
    wire_leave_group_request_member_identity_init(&identities[m]);
    identities[m].member_id = wire_string_from(group->members[from + m].id);
    group->members[from + m].state = MEMBER_AWAY;
  }
  struct wire_leave_group_request request;
  wire_leave_group_request_init(&request);
  request.group_id = wire_string_from(group->name);
  request.members = identities;
  request.members_count = count;
  group->present -= count;
  groups_link_send(group->members[from].link, WIRE_API_LEAVE_GROUP, GROUPS_VERSION_LEAVE_GROUP, &request, left, group,
                   0);
  mem_free(identities);
}

void group_leave(struct group *group, int index)
{
  send_leave(group, index, 1);
}

int groups_leave(struct groups_run *run, struct group *groups)
{
  for (int g = 0; g < run->options->groups; g++) {
    send_leave(&groups[g], 0, groups[g].member_count);
  }
  while (run->loop.calls > 0) {
    TRY(groups_loop_turn(&run->loop, run->loop.now_ns + SETTLE_TURN_NS));
  }
  return 0;
}

void member_beat(struct member *member, groups_answered_fn *answered, int64_t planned_ns)
{
  struct wire_heartbeat_request request;
  wire_heartbeat_request_init(&request);
  request.group_id = wire_string_from(member->group->name);
  request.generation_id = member->generation;
  request.member_id = wire_string_from(member->id);
  groups_link_send(member->link, WIRE_API_HEARTBEAT, GROUPS_VERSION_HEARTBEAT, &request, answered, member, planned_ns);
}

static void asked(void *owner, const void *answer, int64_t planned_ns)
{
  (void)planned_ns;
  struct member *member = owner;
  const struct wire_heartbeat_response *response = answer;
  member->is_beating = false;
  if (response->error_code != WIRE_NONE && member->state == MEMBER_STABLE) {
    join_again(member, "Heartbeat", response->error_code);
  }
}

void group_ask(struct group *group, int64_t interval_ms)
{
  int64_t now_ns = group->run->loop.now_ns;
  for (int m = 0; m < group->member_count; m++) {
    struct member *member = &group->members[m];
    if (member->state == MEMBER_STABLE && !member->is_beating && now_ns - member->beat_ns >= interval_ms * 1000000) {
      member->is_beating = true;
      member->beat_ns = now_ns;
      member_beat(member, asked, now_ns);
    }
  }
}

bool group_is_settled(const struct group *group)
{
  for (int m = 0; m < group->member_count; m++) {
    const struct member *member = &group->members[m];
    bool is_there = member->state == MEMBER_STABLE && member->generation == group->generation && !member->is_beating;
    if (member->state != MEMBER_AWAY && !is_there) {
      return false;
    }
  }
  return true;
}

int groups_settle(struct groups_run *run, struct group *groups)
{
  const struct groups_options *options = run->options;
  int lanes = options->connections / options->members;
  int *current = mem_array((size_t)lanes, sizeof *current); // group whose turn it is in each lane
  int settled = 0;
  int64_t deadline_ns = clock_mono_ns() + (int64_t)options->session_timeout_ms * 1000000;
  int result = 0;
  for (int lane = 0; lane < lanes; lane++) {
    current[lane] = lane;
  }
  while (result == 0) {
    for (int lane = 0; lane < lanes; lane++) {
      while (current[lane] < options->groups && groups[current[lane]].present > 0 &&
             group_is_settled(&groups[current[lane]])) {
        current[lane] += lanes;
        settled++;
      }
      if (current[lane] >= options->groups) {
        continue;
      }
      struct group *group = &groups[current[lane]];
      if (group->present == 0) {
        group_join(group, 0, group->member_count);
      }
      group_ask(group, SETTLE_INTERVAL_MS);
    }
    if (settled == options->groups) {
      break;
    }
    result = groups_loop_turn(&run->loop, run->loop.now_ns + SETTLE_TURN_NS);
    if (result == 0 && run->loop.now_ns > deadline_ns) {
      result =
          error_set(ERR_TIMEOUT, "%d of %d groups have settled within a session timeout", settled, options->groups);
    }
  }
  mem_free(current);
  return result;
}
