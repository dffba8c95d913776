// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupDescribe, 0 to 1: consumer groups with their members, what those have and are to have (KIP-848). Each
// group is asked in its own shard; the answers keep the order of the request.
#include "api/group_call.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/mem.h"
#include "wire/consumer_group_describe.h"
#include "wire/error_codes.h"

enum {
  /// READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: all that there is to do with a group (KIP-430).
  DESCRIBE_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11,
};

struct group_describe;

/// One group of a request.
struct group_describe_part {
  struct group_call call;          ///< to the group
  struct group_describe *describe; ///< the request's state
};

/// The state of a request.
struct group_describe {
  struct wire_consumer_group_describe_response resp; ///< the answer
  struct group_describe_part *parts;                 ///< one for each group
  int32_t pending;                                   ///< not answered yet
};

static void group_describe_release(struct request *req, struct group_describe *describe)
{
  if (--describe->pending > 0) {
    return;
  }
  const struct wire_consumer_group_describe_request *body = req->body;
  int32_t count = describe->resp.groups_count;
  for (int32_t i = 0; i < count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &describe->resp.groups[i];
    if (body->include_authorized_operations && group->error_code == WIRE_NONE) {
      group->authorized_operations = DESCRIBE_GROUP_OPERATIONS;
    }
  }
  // The request's memory goes with the answer: what the shards allocated, which the answer names, has to outlive it.
  struct arena *arenas = mem_array((size_t)count + 1, sizeof *arenas);
  for (int32_t i = 0; i < count; i++) {
    arenas[i] = describe->parts[i].call.arena;
  }
  request_respond(req, &describe->resp);
  for (int32_t i = 0; i < count; i++) {
    arena_destroy(&arenas[i]);
  }
  mem_free(arenas);
}

static void group_describe_done(struct group_call *call)
{
  struct group_describe_part *part = CONTAINER_OF(call, struct group_describe_part, call);
  group_describe_release(call->req, part->describe);
}

void consumer_group_describe_handle(struct request *req)
{
  const struct wire_consumer_group_describe_request *body = req->body;
  if (!request_check_count(req, body->group_ids_count)) {
    return;
  }
  struct group_describe *describe = arena_zalloc(&req->arena, sizeof *describe);
  wire_consumer_group_describe_response_init(&describe->resp);
  describe->resp.groups_count = body->group_ids_count;
  describe->resp.groups = request_array(req, body->group_ids_count, sizeof *describe->resp.groups);
  describe->parts = request_array(req, body->group_ids_count, sizeof *describe->parts);
  describe->pending = body->group_ids_count + 1;
  for (int32_t i = 0; i < body->group_ids_count; i++) {
    struct wire_consumer_group_describe_response_described_group *group = &describe->resp.groups[i];
    struct group_describe_part *part = &describe->parts[i];
    wire_consumer_group_describe_response_described_group_init(group);
    group->group_id = body->group_ids[i];
    if (body->group_ids[i].length == 0) {
      group->error_code = WIRE_INVALID_GROUP_ID;
      describe->pending--;
      continue;
    }
    part->describe = describe;
    group_call_init(&part->call, req, body->group_ids[i], NULL, group, group_describe_done);
    group_call_submit(&part->call);
  }
  group_describe_release(req, describe);
}
