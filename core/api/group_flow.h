// SPDX-License-Identifier: Apache-2.0
//
// The calls of a request that names many groups (api/group_call.h), a few at a time. A short request may name one large
// group a hundred thousand times, and what is answered stays in memory until all is: beyond a bound the rest is told
// NOT_COORDINATOR, upon which clients ask for that again.
//
//   group_flow_start(&flow) ... of each call: done(call) -> group_flow_done(&flow, call)  true: all are answered
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROUP_FLOW_BYTES_MAX = 128 << 20 }; ///< for `bytes_max`: memory of the answers of one request

struct group_call;

/// Embed it, filled in but for the last three, which are zero. On the worker of the connection.
struct group_flow {
  struct group_call *(*at)(void *arg, int32_t i); ///< the i-th call, initialised; NULL: it needs none
  void *arg;                                      ///< for it
  int32_t count;                                  ///< calls
  size_t bytes_max;                               ///< beyond that many bytes of answers the rest is not asked
  int32_t next;                                   ///< the next one to send
  int32_t under_way;                              ///< sent and not answered
  size_t bytes;                                   ///< memory of those that are answered
};

/// Sends the first ones. @return true when there is nothing to wait for
bool group_flow_start(struct group_flow *flow);

/// One is answered: sends the next ones. @return true when all are answered
bool group_flow_done(struct group_flow *flow, const struct group_call *call);
