// SPDX-License-Identifier: Apache-2.0
//
// Several group calls (api/group_call.h) that make one answer: one for each group that a request names, or for each
// shard. On the worker of the connection.
//
//   struct group_calls *calls = group_calls_new(req, count, done);
//   for each:  group_calls_set(calls, i, group, body, response);
//   group_calls_submit(calls);       ... done(calls) ... group_calls_respond(calls, &response)
#pragma once

#include <stdint.h>

#include "wire/types.h"

struct group_calls;
struct request;

typedef void (*group_calls_fn)(struct group_calls *calls);

/// @param count  calls, at least 0; the caller has checked it
/// @param done   called once, on this worker
/// @return lives until group_calls_respond()
struct group_calls *group_calls_new(struct request *req, int32_t count, group_calls_fn done);

/// The request.
struct request *group_calls_request(const struct group_calls *calls);

/// The i-th call goes to the shard of its group; one that is never set is not made. `group`, `body` and `response` are
/// borrowed until the answer; the response is initialised.
void group_calls_set(struct group_calls *calls, int32_t i, struct wire_string group, const void *body, void *response);

/// The i-th call goes to a shard, about no group.
void group_calls_set_shard(struct group_calls *calls, int32_t i, int32_t shard, const void *body, void *response);

/// Sends all of them; what they are is what the request is, with its version.
void group_calls_submit(struct group_calls *calls);

/// Answers the request; all of it is gone.
void group_calls_respond(struct group_calls *calls, const void *response);

/// The usual case: one group, and the response of the request is what the shard answers.
///
/// @param response  initialised, in the request's arena
void group_calls_forward(struct request *req, struct wire_string group, void *response);
