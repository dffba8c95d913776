// SPDX-License-Identifier: Apache-2.0
//
// A request to one group on its way to the coordinator and back. The shard may live on another worker, so what it
// allocates for the answer is in an arena of the call's own.
//
//   group_call_init(&call, req, ...) -> group_call_submit(&call) ... done(call) on the request's worker -> answer
//                                                                     -> group_call_destroy(&call)
//
// Nothing is cancelled when the connection closes: the answer comes, and is dropped.
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "coordinator/group_request.h"

struct group_call;
struct request;
typedef void (*group_call_fn)(struct group_call *call);

/// Embed it, where it stays: in the request's arena.
struct group_call {
  struct group_request request; ///< the coordinator's until `done`
  struct arena arena;           ///< what the shard allocates; owned
  struct request *req;          ///< the request that asks
  group_call_fn done;           ///< called once on the request's worker, never within group_call_submit()
};

/// Begins a call of the request's api and version. A caller may change `call->request` before it is submitted.
///
/// @param group     borrowed until done
/// @param body      what core/coordinator/shard.h says for the api; borrowed until done
/// @param response  likewise, initialised
void group_call_init(struct group_call *call, struct request *req, struct wire_string group, const void *body,
                     void *response, group_call_fn done);

/// Hands it over.
void group_call_submit(struct group_call *call);

/// Frees what the shard allocated, once the answer is sent.
void group_call_destroy(struct group_call *call);

/// The address of the request's client as Kafka shows that of a member, "/127.0.0.1"; in the request's arena.
const char *group_client_host(struct request *req);
