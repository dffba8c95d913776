-- SPDX-License-Identifier: Apache-2.0
--
-- ShareGroupHeartbeat: joins, keeps and leaves a share group (KIP-932).
return {
  key = 76,
  name = "ShareGroupHeartbeat",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
    { "MemberEpoch", "int32", "0+" },
    { "RackId", "string", "0+", null = "0+", default = "null" }, -- rack of the client; empty or null: unknown
    -- topics subscribed to; in a request null: unchanged
    { "SubscribedTopicNames", "[]string", "0+", null = "0+", default = "null" },
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
