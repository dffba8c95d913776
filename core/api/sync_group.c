// SPDX-License-Identifier: Apache-2.0
//
// SyncGroup, 0 to 5: a member takes its assignment, the leader brings all: coordinator/classic_sync.c.
#include "api/authorize.h"
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/error_codes.h"
#include "wire/sync_group.h"

enum { SYNC_GROUP_PROTOCOL = 5 }; // first version with the protocol that the group has agreed upon

void sync_group_handle(struct request *req)
{
  const struct wire_sync_group_request *body = req->body;
  if (!request_check_count(req, body->assignments_count)) {
    return;
  }
  struct wire_sync_group_response *response = request_array(req, 1, sizeof *response);
  wire_sync_group_response_init(response);
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    // That a protocol is missing comes first in Kafka.
    bool is_whole =
        req->version < SYNC_GROUP_PROTOCOL || (body->protocol_type.length >= 0 && body->protocol_name.length >= 0);
    response->error_code = is_whole ? WIRE_GROUP_AUTHORIZATION_FAILED : WIRE_INCONSISTENT_GROUP_PROTOCOL;
    request_respond(req, response);
    return;
  }
  group_calls_forward(req, body->group_id, response);
}
