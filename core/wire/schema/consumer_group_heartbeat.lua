-- SPDX-License-Identifier: Apache-2.0
--
-- ConsumerGroupHeartbeat: joins, keeps and leaves a group of the new protocol (KIP-848).
return {
  key = 68,
  name = "ConsumerGroupHeartbeat",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
    { "MemberEpoch", "int32", "0+" },
    { "InstanceId", "string", "0+", null = "0+", default = "null" }, -- name of a static member; null: a dynamic one
    { "RackId", "string", "0+", null = "0+", default = "null" }, -- rack of the client; null: unchanged, or none
    -- ms that the member has to give partitions up; -1: unchanged
    { "RebalanceTimeoutMs", "int32", "0+", default = -1 },
    -- topics subscribed to; in a request null: unchanged
    { "SubscribedTopicNames", "[]string", "0+", null = "0+", default = "null" },
    -- pattern subscribed to, RE2; null: none, or unchanged
    { "SubscribedTopicRegex", "string", "1+", null = "1+", default = "null" },
    { "ServerAssignor", "string", "0+", null = "0+", default = "null" }, -- assignor wanted; null: the group's
    -- partitions that the member holds; null: unchanged
    { "TopicPartitions", "[]TopicPartitions", "0+", null = "0+", default = "null",
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "MemberId", "string", "0+", null = "0+", default = "null" }, -- member id; empty: none yet
    -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
    { "MemberEpoch", "int32", "0+" },
    { "HeartbeatIntervalMs", "int32", "0+" }, -- ms between heartbeats
    -- what the member has; in a response null: unchanged
    { "Assignment", "Assignment", "0+", null = "0+", default = "null",
      { "TopicPartitions", "[]TopicPartitions", "0+" }, -- partitions by topic
    },
  },
  response_structs = {
    { "TopicPartitions", -- partitions by topic
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
}
