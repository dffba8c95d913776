// SPDX-License-Identifier: Apache-2.0
//
// ConsumerGroupHeartbeat, 0 to 1: what members of consumer groups send (KIP-848). The group's shard does it all
// (core/coordinator/consumer_heartbeat.c).
#include "api/authorize.h"
#include "api/group_call.h"
#include "api/handlers.h"
#include "api/hooks.h"
#include "api/request.h"
#include "wire/consumer_group_heartbeat.h"
#include "wire/error_codes.h"

/// The state of a request.
struct consumer_heartbeat {
  struct group_call call;                             ///< to the group
  struct wire_consumer_group_heartbeat_response resp; ///< its answer
};

static void consumer_heartbeat_done(struct group_call *call)
{
  struct consumer_heartbeat *beat = CONTAINER_OF(call, struct consumer_heartbeat, call);
  struct arena arena = call->arena;
  request_respond(call->req, &beat->resp);
  arena_destroy(&arena);
}

/// How many partitions and topics a request names.
static int64_t consumer_heartbeat_count(const struct wire_consumer_group_heartbeat_request *body)
{
  int64_t count = body->subscribed_topic_names_count > 0 ? body->subscribed_topic_names_count : 0;
  for (int32_t i = 0; i < body->topic_partitions_count; i++) {
    count += 1 + (int64_t)body->topic_partitions[i].partitions_count;
  }
  return count;
}

static void consumer_heartbeat_go(struct request *req)
{
  const struct wire_consumer_group_heartbeat_request *body = req->body;
  struct consumer_heartbeat *beat = arena_zalloc(&req->arena, sizeof *beat);
  wire_consumer_group_heartbeat_response_init(&beat->resp);
  group_call_init(&beat->call, req, body->group_id, body, &beat->resp, consumer_heartbeat_done);
  group_call_submit(&beat->call);
}

static void consumer_heartbeat_fail(struct request *req, int16_t error, const char *text)
{
  struct wire_consumer_group_heartbeat_response resp;
  wire_consumer_group_heartbeat_response_init(&resp);
  resp.error_code = error;
  resp.error_message = wire_string_from(text);
  request_respond(req, &resp);
}

static void consumer_heartbeat_refuse(struct request *req, const char *text)
{
  consumer_heartbeat_fail(req, WIRE_GROUP_AUTHORIZATION_FAILED, text);
}

/// Whether a member may read as its group, and may know all topics that it wants to read.
static bool consumer_heartbeat_check(struct request *req, const struct wire_consumer_group_heartbeat_request *body)
{
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    consumer_heartbeat_fail(req, WIRE_GROUP_AUTHORIZATION_FAILED, NULL);
    return false;
  }
  for (int32_t i = 0; req->authorize != NULL && i < body->subscribed_topic_names_count; i++) {
    if (!api_may_topic(req, RIGHT_DESCRIBE, body->subscribed_topic_names[i])) {
      consumer_heartbeat_fail(req, WIRE_TOPIC_AUTHORIZATION_FAILED, NULL);
      return false;
    }
  }
  return true;
}

void consumer_group_heartbeat_handle(struct request *req)
{
  struct wire_consumer_group_heartbeat_request *body = req->body;
  if (!request_check_count(req, consumer_heartbeat_count(body)) || !consumer_heartbeat_check(req, body)) {
    return;
  }
  if (body->member_epoch != 0) {
    consumer_heartbeat_go(req);
    return;
  }
  struct api_join join = {
      .group = body->group_id,
      .member = body->member_id,
      .instance = body->instance_id,
      .type = "consumer",
      .rebalance_timeout_ms = body->rebalance_timeout_ms >= 0 ? &body->rebalance_timeout_ms : NULL,
  };
  api_ask_join(req, &join, consumer_heartbeat_go, consumer_heartbeat_refuse);
}
