// SPDX-License-Identifier: Apache-2.0
//
// What the words of the console get to know of the broker's inside: native functions of the script thread (script.h)
// for segments and what retention would do with them (replica/inspect.h), connections (network/connection_list.h) and
// metrics (base/metrics.h). Each asks other threads and returns a ticket; lua/luka/words/inspect.lua makes lists of
// what they give:
//
//   segments(topic, partition or -1)  { partition_count =, next_pass =, has_policy =,
//                                       [i] = { partition =, ..., [j] = segment } };
//                                     nil, "topic"; nil, "partition", how many it has
//   compaction()                      { [i] = { topic =, partition =, is_running =, dirty_bytes =, error = ... } }
//   group(name)                       { generation =, members =, awaited = { [i] = member }, until_time = ... } of a
//                                     classic group, or nil
//   set_configs()                     { [topic] = how many configs are set on it }; at once, without a ticket
//   connections(limit)                { total =, [i] = connection }
//   policies()                        { hash =, [i] = { kind =, name =, label =, topic = or nil, calls =, ... } }; at
//                                     once, without a ticket; nil: there are none
//   topic_name(id)                    of 16 bytes; nil: there is no such topic; at once
//   metrics(with topics)              { [i] = { name =, label = or nil, kind = "counter" or "gauge", text =, value = }
//                                     or the same with kind = "latency", value = how many, sum_us =, max_us =,
//                                     buckets = { [j] = { from =, upto =, count = } } }
#pragma once

#include "lua/script.h"

struct coordinator;
struct metadata_cache;
struct lua_State;
struct metrics;
struct policy_cache;
struct pool;
struct replica_manager;
struct server;

enum { INSPECT_NATIVES = 8 }; ///< functions that inspect_natives() gives

/// What they look at. All borrowed until script_stop().
struct inspect {
  struct pool *pool;                   ///< where logs are looked at and metrics collected
  struct metadata_cache *metadata;     ///< topics by name
  struct replica_manager *replicas;    ///< partitions
  struct server *server;               ///< connections
  struct metrics *metrics;             ///< the registry
  struct coordinator *coordinator;     ///< groups
  const struct policy_cache *policies; ///< functions of the configuration
};

/// policies() and topic_name(), see above; lua_CFunctions.
int inspect_policies(struct lua_State *vm);
int inspect_topic_name(struct lua_State *vm);

/// Names the functions. @param inspect  borrowed as long as the script
void inspect_natives(struct inspect *inspect, struct script_native natives[INSPECT_NATIVES]);
