-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeShareGroupOffsets: start offsets of share groups (KIP-932).
return {
  key = 90,
  name = "DescribeShareGroupOffsets",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "Groups", "[]DescribeShareGroupOffsetsRequestGroup", "0+", -- groups to describe
      { "GroupId", "string", "0+" }, -- group id
      { "Topics", "[]DescribeShareGroupOffsetsRequestTopic", "0+", null = "0+", -- partitions asked for; null: all
        { "TopicName", "string", "0+" }, -- topic name
        { "Partitions", "[]int32", "0+" }, -- partitions, from 0
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Groups", "[]DescribeShareGroupOffsetsResponseGroup", "0+", -- an answer for each group
      { "GroupId", "string", "0+" }, -- group id
      { "Topics", "[]DescribeShareGroupOffsetsResponseTopic", "0+", -- the topics
        { "TopicName", "string", "0+" }, -- topic name
        { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
        { "Partitions", "[]DescribeShareGroupOffsetsResponsePartition", "0+", -- the partitions
          { "PartitionIndex", "int32", "0+" }, -- partition, from 0
          { "StartOffset", "int64", "0+" }, -- first offset that is not done with; -1: unknown
          { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
          -- records after the start offset that are not done with; -1: unknown
          { "Lag", "int64", "1+", default = -1, ignorable = true },
          { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
          -- what went wrong; null: nothing more to say
          { "ErrorMessage", "string", "0+", null = "0+", default = "null" },
        },
      },
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    },
  },
}
