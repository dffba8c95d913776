// SPDX-License-Identifier: Apache-2.0
//
// JoinGroup, 0 to 9: a member joins its group, and waits until the rebalance is over. All rules are the group's:
// coordinator/classic_join.c.
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/join_group.h"

void join_group_handle(struct request *req)
{
  const struct wire_join_group_request *body = req->body;
  if (!request_check_count(req, body->protocols_count)) {
    return;
  }
  struct wire_join_group_response *response = request_array(req, 1, sizeof *response);
  wire_join_group_response_init(response);
  group_calls_forward(req, body->group_id, response);
}
