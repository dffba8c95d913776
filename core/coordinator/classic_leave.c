// SPDX-License-Identifier: Apache-2.0
//
// LeaveGroup: members that go, by their ids, or by their instance ids when an administrator throws static ones out
// (KIP-345). One request may name many; they go together, and the group rebalances once.
#include "coordinator/classic_private.h"

#include <stdio.h>

#include "base/arena.h"
#include "wire/error_codes.h"
#include "wire/leave_group.h"

enum {
  LEAVE_WITH_MEMBERS = 3, // version that names many
};

/// One member of the request. @return enum wire_error
static int16_t leave_one(struct classic_group *classic, const struct wire_leave_group_request_member_identity *who)
{
  struct classic_member *member = NULL;
  if (who->member_id.length <= 0) {
    member = classic_member_static(classic, who->group_instance_id);
    if (member == NULL) {
      return WIRE_UNKNOWN_MEMBER_ID;
    }
  } else {
    member = classic_member_find(classic, who->member_id);
    if (member == NULL || !member->is_pending) {
      int16_t error = classic_validate_member(classic, who->member_id, who->group_instance_id, &member);
      if (error != WIRE_NONE) {
        return error;
      }
    }
  }
  classic_expel(member);
  return WIRE_NONE;
}

/// The group without those that left. @param who  the first of them
static void leave_go_on(struct classic_group *classic, const struct wire_leave_group_request_member_identity *who,
                        int32_t count, int64_t now_ms)
{
  if (classic->state == CLASSIC_EMPTY) {
    return;
  }
  struct wire_string name = who->member_id.length > 0 ? who->member_id : who->group_instance_id;
  bool says = who->reason.length > 0;
  char reason[CLASSIC_REASON_SIZE];
  char others[32] = "";
  if (count > 1) {
    snprintf(others, sizeof others, " and %d other%s", count - 1, count > 2 ? "s" : "");
  }
  snprintf(reason, sizeof reason, "member %.*s%s left%s%.*s", name.length, name.data, others, says ? "; it says: " : "",
           says ? who->reason.length : 0, says ? who->reason.data : "");
  classic_rebalance(classic, reason, now_ms);
}

static void leave_many(struct group *group, const struct wire_leave_group_request_member_identity *members,
                       int32_t count, struct wire_leave_group_response_member_response *results, int64_t now_ms)
{
  const struct wire_leave_group_request_member_identity *first = NULL;
  int32_t left = 0;
  for (int32_t i = 0; i < count; i++) {
    wire_leave_group_response_member_response_init(&results[i]);
    results[i].member_id = members[i].member_id;
    results[i].group_instance_id = members[i].group_instance_id;
    results[i].error_code =
        group == NULL || group->kind != GROUP_CLASSIC ? WIRE_UNKNOWN_MEMBER_ID : leave_one(group->classic, &members[i]);
    if (results[i].error_code == WIRE_NONE) {
      first = first == NULL ? &members[i] : first;
      left++;
    }
  }
  if (left > 0) {
    leave_go_on(group->classic, first, left, now_ms);
  }
}

void classic_leave(struct group_shard *shard, struct group *group, struct group_request *request, int64_t now_ms)
{
  const struct wire_leave_group_request *body = request->body;
  struct wire_leave_group_response *response = request->response;
  if (body->group_id.length <= 0) {
    response->error_code = WIRE_INVALID_GROUP_ID;
  } else if (request->version < LEAVE_WITH_MEMBERS) {
    struct wire_leave_group_request_member_identity one;
    wire_leave_group_request_member_identity_init(&one);
    one.member_id = body->member_id;
    struct wire_leave_group_response_member_response result;
    leave_many(group, &one, 1, &result, now_ms);
    response->error_code = result.error_code;
  } else {
    int32_t count = body->members_count > 0 ? body->members_count : 0;
    response->members = arena_alloc(request->arena, (size_t)count * sizeof *response->members);
    response->members_count = count;
    leave_many(group, body->members, count, response->members, now_ms);
  }
  group_answer(shard, request);
}
