-- SPDX-License-Identifier: Apache-2.0
--
-- OffsetFetch: reads committed offsets.
return {
  key = 9,
  name = "OffsetFetch",
  versions = "0-10",
  flexible = "6+",
  request = {
    { "GroupId", "string", "0-7" }, -- group id
    { "Topics", "[]OffsetFetchRequestTopic", "0-7", null = "2-7", -- partitions asked for; null: all that have an offset
      { "Name", "string", "0-7" }, -- topic name
      { "PartitionIndexes", "[]int32", "0-7" }, -- partitions, from 0
    },
    { "Groups", "[]OffsetFetchRequestGroup", "8+", -- groups asked for (KIP-709)
      { "GroupId", "string", "8+" }, -- group id
      -- member id (KIP-848); null: not a member
      { "MemberId", "string", "9+", null = "9+", default = "null", ignorable = true },
      -- epoch of the member (KIP-848); -1: not a member
      { "MemberEpoch", "int32", "9+", default = -1, ignorable = true },
      -- partitions asked for; null: all that have an offset
      { "Topics", "[]OffsetFetchRequestTopics", "8+", null = "8+",
        { "Name", "string", "8-9", ignorable = true }, -- topic name
        { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
        { "PartitionIndexes", "[]int32", "8+" }, -- partitions, from 0
      },
    },
    -- true: fail with UNSTABLE_OFFSET_COMMIT while a transaction may change the offset (KIP-447)
    { "RequireStable", "bool", "7+" },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "3+", ignorable = true },
    { "Topics", "[]OffsetFetchResponseTopic", "0-7", -- the topics
      { "Name", "string", "0-7" }, -- topic name
      { "Partitions", "[]OffsetFetchResponsePartition", "0-7", -- the partitions
        { "PartitionIndex", "int32", "0-7" }, -- partition, from 0
        { "CommittedOffset", "int64", "0-7" }, -- next offset to consume; in a response -1: none committed
        -- leader epoch of the record before the offset (KIP-320); -1: unknown
        { "CommittedLeaderEpoch", "int32", "5-7", default = -1, ignorable = true },
        { "Metadata", "string", "0-7", null = "0-7" }, -- the client's note with the offset
        { "ErrorCode", "int16", "0-7" }, -- outcome; enum wire_error
      },
    },
    { "ErrorCode", "int16", "2-7", ignorable = true }, -- outcome; enum wire_error
    { "Groups", "[]OffsetFetchResponseGroup", "8+", -- an answer for each group
      { "GroupId", "string", "8+" }, -- group id
      { "Topics", "[]OffsetFetchResponseTopics", "8+", -- the topics
        { "Name", "string", "8-9", ignorable = true }, -- topic name
        { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
        { "Partitions", "[]OffsetFetchResponsePartitions", "8+", -- the partitions
          { "PartitionIndex", "int32", "8+" }, -- partition, from 0
          { "CommittedOffset", "int64", "8+" }, -- next offset to consume; in a response -1: none committed
          -- leader epoch of the record before the offset (KIP-320); -1: unknown
          { "CommittedLeaderEpoch", "int32", "8+", default = -1, ignorable = true },
          { "Metadata", "string", "8+", null = "8+" }, -- the client's note with the offset
          { "ErrorCode", "int16", "8+" }, -- outcome; enum wire_error
        },
      },
      { "ErrorCode", "int16", "8+" }, -- outcome; enum wire_error
    },
  },
}
