// SPDX-License-Identifier: Apache-2.0
#include "api/group_calls.h"

#include "api/group_call.h"
#include "api/group_flow.h"
#include "api/request.h"
#include "base/list.h"
#include "base/mem.h"

/// One of them.
struct group_calls_item {
  struct group_call call;    ///< on its way
  struct group_calls *calls; ///< what it belongs to
};

/// All of a request. Not in the request's arena, which goes with the answer: what they allocated is part of it until it
/// is encoded.
struct group_calls {
  struct request *req;             ///< the request
  group_calls_fn done;             ///< makes the answer
  void *response;                  ///< of group_calls_forward()
  int32_t count;                   ///< calls
  struct group_flow flow;          ///< sends them
  struct group_calls_item items[]; ///< the calls
};

static struct group_call *calls_at(void *arg, int32_t i)
{
  struct group_calls *calls = arg;
  return calls->items[i].calls != NULL ? &calls->items[i].call : NULL;
}

struct group_calls *group_calls_new(struct request *req, int32_t count, group_calls_fn done)
{
  struct group_calls *calls = mem_zalloc(sizeof *calls + (size_t)count * sizeof calls->items[0]);
  calls->req = req;
  calls->done = done;
  calls->count = count;
  calls->flow = (struct group_flow){.at = calls_at, .arg = calls, .count = count, .bytes_max = GROUP_FLOW_BYTES_MAX};
  return calls;
}

struct request *group_calls_request(const struct group_calls *calls)
{
  return calls->req;
}

static void calls_answered(struct group_call *call)
{
  struct group_calls *calls = CONTAINER_OF(call, struct group_calls_item, call)->calls;
  if (group_flow_done(&calls->flow, call)) {
    calls->done(calls);
  }
}

void group_calls_set(struct group_calls *calls, int32_t i, struct wire_string group, const void *body, void *response)
{
  struct group_calls_item *item = &calls->items[i];
  item->calls = calls;
  group_call_init(&item->call, calls->req, group, body, response, calls_answered);
}

void group_calls_set_shard(struct group_calls *calls, int32_t i, int32_t shard, const void *body, void *response)
{
  group_calls_set(calls, i, wire_string_from(NULL), body, response);
  calls->items[i].call.request.shard = shard;
  calls->flow.bytes_max = SIZE_MAX; // each shard answers once, and a list that lacks some would be believed
}

void group_calls_submit(struct group_calls *calls)
{
  if (group_flow_start(&calls->flow)) {
    calls->done(calls);
  }
}

void group_calls_respond(struct group_calls *calls, const void *response)
{
  request_respond(calls->req, response);
  for (int32_t i = 0; i < calls->count; i++) {
    group_call_destroy(&calls->items[i].call);
  }
  mem_free(calls);
}

static void forward_done(struct group_calls *calls)
{
  group_calls_respond(calls, calls->response);
}

void group_calls_forward(struct request *req, struct wire_string group, void *response)
{
  struct group_calls *calls = group_calls_new(req, 1, forward_done);
  calls->response = response;
  group_calls_set(calls, 0, group, req->body, response);
  group_calls_submit(calls);
}
