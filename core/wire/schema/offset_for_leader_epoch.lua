-- SPDX-License-Identifier: Apache-2.0
--
-- OffsetForLeaderEpoch: where a leader epoch ends in the log, to find where two logs part (KIP-101).
return {
  key = 23,
  name = "OffsetForLeaderEpoch",
  versions = "0-4",
  flexible = "4+",
  request = {
    -- broker id of the follower; -1: a consumer, -2: a debugging consumer
    { "ReplicaId", "int32", "3+", default = -2, ignorable = true },
    { "Topics", "[]OffsetForLeaderTopic", "0+", -- the topics
      { "Topic", "string", "0+" }, -- topic name
      { "Partitions", "[]OffsetForLeaderPartition", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        -- leader epoch as the client knows it, to be fenced by (KIP-320); -1: unknown
        { "CurrentLeaderEpoch", "int32", "2+", default = -1, ignorable = true },
        { "LeaderEpoch", "int32", "0+" }, -- epoch whose end is wanted
      },
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "2+", ignorable = true },
    { "Topics", "[]OffsetForLeaderTopicResult", "0+", -- the topics
      { "Topic", "string", "0+" }, -- topic name
      { "Partitions", "[]EpochEndOffset", "0+", -- the partitions
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "Partition", "int32", "0+" }, -- partition, from 0
        -- largest epoch not above the one asked for; -1: unknown
        { "LeaderEpoch", "int32", "1+", default = -1, ignorable = true },
        { "EndOffset", "int64", "0+", default = -1 }, -- first offset after the epoch; -1: unknown
      },
    },
  },
}
