// SPDX-License-Identifier: Apache-2.0
//
// DescribeGroups, 0 to 6: state and members of classic groups, in the order of the question, one that is named twice
// twice.
//
//   version  rule
//   3        the client may ask what it may do with the groups (KIP-430)
//   6        a group that is not there is GROUP_ID_NOT_FOUND, with a text (KIP-1043); before, it is Dead
#include "api/authorize.h"
#include "api/cluster_view.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/describe_groups.h"
#include "wire/error_codes.h"

static void describe_groups_done(struct group_calls *calls)
{
  struct request *req = group_calls_request(calls);
  const struct wire_describe_groups_request *body = req->body;
  struct wire_describe_groups_response *response = req->state;
  for (int32_t i = 0; i < response->groups_count; i++) {
    struct wire_describe_groups_response_described_group *group = &response->groups[i];
    bool is_there = group->error_code == WIRE_NONE;
    if (body->include_authorized_operations && is_there) {
      group->authorized_operations = api_operations(req, RIGHT_GROUP, group->group_id, CLUSTER_VIEW_GROUP_OPERATIONS);
    }
  }
  group_calls_respond(calls, response);
}

void describe_groups_handle(struct request *req)
{
  const struct wire_describe_groups_request *body = req->body;
  if (!request_check_count(req, body->groups_count)) {
    return;
  }
  int32_t count = body->groups_count > 0 ? body->groups_count : 0;
  struct wire_describe_groups_response *response = request_array(req, 1, sizeof *response);
  wire_describe_groups_response_init(response);
  response->groups = request_array(req, count, sizeof *response->groups);
  response->groups_count = count;
  req->state = response;
  struct group_calls *calls = group_calls_new(req, count, describe_groups_done);
  for (int32_t i = 0; i < count; i++) {
    wire_describe_groups_response_described_group_init(&response->groups[i]);
    response->groups[i].group_id = body->groups[i];
    if (api_may_group(req, RIGHT_DESCRIBE, body->groups[i])) {
      group_calls_set(calls, i, body->groups[i], NULL, &response->groups[i]);
    } else {
      response->groups[i].error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    }
  }
  group_calls_submit(calls);
}
