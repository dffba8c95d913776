// SPDX-License-Identifier: Apache-2.0
//
// Heartbeat, 0 to 4: a member is there: coordinator/classic_group.c.
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/heartbeat.h"

void heartbeat_handle(struct request *req)
{
  const struct wire_heartbeat_request *body = req->body;
  struct wire_heartbeat_response *response = request_array(req, 1, sizeof *response);
  wire_heartbeat_response_init(response);
  group_calls_forward(req, body->group_id, response);
}
