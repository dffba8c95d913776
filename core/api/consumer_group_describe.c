// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupDescribe, 0 to 1: consumer groups with their members, what those have and are to have (KIP-848). Each
// group is asked in its own shard, a few at a time; the answers keep the order of the request.
#include "api/group_calls.h"
#include "api/handlers.h"
#include "api/request.h"
#include "wire/consumer_group_describe.h"
#include "wire/error_codes.h"

enum {
  /// READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: all that there is to do with a group (KIP-430).
  DESCRIBE_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11,
};

static void group_describe_done(struct group_calls *calls)
{
  struct request *req = group_calls_request(calls);
  const struct wire_consumer_group_describe_request *body = req->body;
  struct wire_consumer_group_describe_response *response = req->state;
  for (int32_t i = 0; i < response->groups_count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &response->groups[i];
    if (body->include_authorized_operations && group->error_code == WIRE_NONE) {
      group->authorized_operations = DESCRIBE_GROUP_OPERATIONS;
    }
  }
  group_calls_respond(calls, response);
}

void consumer_group_describe_handle(struct request *req)
{
  const struct wire_consumer_group_describe_request *body = req->body;
  if (!request_check_count(req, body->group_ids_count)) {
    return;
  }
  int32_t count = body->group_ids_count > 0 ? body->group_ids_count : 0;
  struct wire_consumer_group_describe_response *response = request_array(req, 1, sizeof *response);
  wire_consumer_group_describe_response_init(response);
  response->groups = request_array(req, count, sizeof *response->groups);
  response->groups_count = count;
  req->state = response;
  struct group_calls *calls = group_calls_new(req, count, group_describe_done);
  for (int32_t i = 0; i < count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &response->groups[i];
    wire_consumer_group_describe_response_described_group_init(group);
    group->group_id = body->group_ids[i];
    if (body->group_ids[i].length == 0) {
      group->error_code = WIRE_INVALID_GROUP_ID;
    } else {
      group_calls_set(calls, i, body->group_ids[i], NULL, group);
    }
  }
  group_calls_submit(calls);
}
