// SPDX-License-Identifier: Apache-2.0
//
// LeaveGroup, 0 to 5: members go: coordinator/classic_leave.c.
#include "api/authorize.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/error_codes.h"
#include "wire/leave_group.h"

void leave_group_handle(struct request *req)
{
  const struct wire_leave_group_request *body = req->body;
  if (!request_check_count(req, body->members_count)) {
    return;
  }
  struct wire_leave_group_response *response = request_array(req, 1, sizeof *response);
  wire_leave_group_response_init(response);
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    response->error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    request_respond(req, response);
    return;
  }
  group_calls_forward(req, body->group_id, response);
}
