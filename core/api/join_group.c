// SPDX-License-Identifier: Apache-2.0
//
// JoinGroup, 0 to 9: a member joins its group, and waits until the rebalance is over. All rules are the group's:
// coordinator/classic_join.c.
#include "api/authorize.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/hooks.h"
#include "api/request.h"
#include "wire/error_codes.h"
#include "wire/join_group.h"

enum { JOIN_GROUP_NO_PROTOCOL = 7 }; // first version in which an error has no protocol, rather than an empty one

static void join_group_refuse(struct request *req, const char *text)
{
  (void)text; // the answer has no room for it
  struct wire_join_group_response response;
  wire_join_group_response_init(&response);
  response.error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
  if (req->version >= JOIN_GROUP_NO_PROTOCOL) {
    response.protocol_name = wire_string_from(NULL);
  }
  request_respond(req, &response);
}

static void join_group_go(struct request *req)
{
  const struct wire_join_group_request *body = req->body;
  struct wire_join_group_response *response = request_array(req, 1, sizeof *response);
  wire_join_group_response_init(response);
  group_calls_forward(req, body->group_id, response);
}

void join_group_handle(struct request *req)
{
  struct wire_join_group_request *body = req->body;
  if (!request_check_count(req, body->protocols_count)) {
    return;
  }
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    join_group_refuse(req, NULL);
    return;
  }
  struct api_join join = {
      .group = body->group_id,
      .member = body->member_id,
      .instance = body->group_instance_id,
      .type = "classic",
      .session_timeout_ms = &body->session_timeout_ms,
      .rebalance_timeout_ms = &body->rebalance_timeout_ms,
  };
  api_ask_join(req, &join, join_group_go, join_group_refuse);
}
