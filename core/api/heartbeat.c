// SPDX-License-Identifier: Apache-2.0
//
// Heartbeat, 0 to 4: a member is there. Nearly all change nothing and are answered here (api/beat_cache.h); the others
// go to the group: coordinator/classic_group.c.
#include "api/api.h"
#include "api/authorize.h"
#include "api/beat_cache.h"
#include "api/group_call.h"
#include "api/handlers.h"
#include "api/request.h"
#include "base/list.h"
#include "coordinator/coordinator.h"
#include "coordinator/member_beat.h"
#include "wire/error_codes.h"
#include "wire/heartbeat.h"

/// One that its group is asked about.
struct heartbeat {
  struct group_call call;                  ///< the way there and back
  struct wire_heartbeat_response response; ///< what the group says
};

static void heartbeat_done(struct group_call *call)
{
  struct heartbeat *heartbeat = CONTAINER_OF(call, struct heartbeat, call);
  struct request *req = call->req;
  struct member_beat *beat = call->request.beat;
  struct arena arena = call->arena;
  if (beat != NULL) {
    beat_cache_add(req->worker->beats, req->body, beat);
  }
  request_respond(req, &heartbeat->response); // and the call, which lies in the request's arena, is gone
  arena_destroy(&arena);
}

void heartbeat_handle(struct request *req)
{
  const struct wire_heartbeat_request *body = req->body;
  struct api_worker *worker = req->worker;
  struct coordinator *coordinator = atomic_load_explicit(&req->api->coordinator, memory_order_acquire);
  struct wire_heartbeat_response response;
  wire_heartbeat_response_init(&response);
  if (!api_may_group(req, RIGHT_READ, body->group_id)) {
    response.error_code = WIRE_GROUP_AUTHORIZATION_FAILED;
    request_respond(req, &response);
    return;
  }
  if (beat_cache_hear(worker->beats, body, coordinator_clock_ms(coordinator, worker->index))) {
    request_respond(req, &response);
    return;
  }
  struct heartbeat *heartbeat = request_array(req, 1, sizeof *heartbeat);
  heartbeat->response = response;
  group_call_init(&heartbeat->call, req, body->group_id, body, &heartbeat->response, heartbeat_done);
  heartbeat->call.request.wants_beat = true;
  group_call_submit(&heartbeat->call);
}
