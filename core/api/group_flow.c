// SPDX-License-Identifier: Apache-2.0
#include "api/group_flow.h"

#include "api/group_call.h"

enum {
  GROUP_FLOW_AT_ONCE = 16,      ///< under way at a time
  GROUP_FLOW_CALL_BYTES = 4096, ///< what an answer takes at least, if it takes any: a block of its arena
};

bool group_flow_start(struct group_flow *flow)
{
  while (flow->next < flow->count && flow->under_way < GROUP_FLOW_AT_ONCE) {
    struct group_call *call = flow->at(flow->arg, flow->next++);
    if (call == NULL) {
      continue;
    }
    if (flow->bytes > flow->bytes_max) {
      call->request.shard = -1; // nobody is asked
    }
    flow->under_way++;
    group_call_submit(call);
  }
  return flow->under_way == 0;
}

bool group_flow_done(struct group_flow *flow, const struct group_call *call)
{
  size_t bytes = call->arena.total;
  flow->bytes += bytes > 0 && bytes < GROUP_FLOW_CALL_BYTES ? GROUP_FLOW_CALL_BYTES : bytes;
  flow->under_way--;
  return group_flow_start(flow);
}
