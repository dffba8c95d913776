-- SPDX-License-Identifier: Apache-2.0
--
-- ListOffsets: finds offsets by timestamp, and the first and last of a partition.
return {
  key = 2,
  name = "ListOffsets",
  versions = "0-11",
  flexible = "6+",
  request = {
    { "ReplicaId", "int32", "0+" }, -- broker id of the follower; -1: a consumer, -2: a debugging consumer
    { "IsolationLevel", "int8", "2+" }, -- 0 read_uncommitted, 1 read_committed (KIP-98)
    { "Topics", "[]ListOffsetsTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]ListOffsetsPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        -- leader epoch as the client knows it, to be fenced by (KIP-320); -1: unknown
        { "CurrentLeaderEpoch", "int32", "4+", default = -1, ignorable = true },
        -- ms since 1970, or -1 latest, -2 earliest, -3 of the largest timestamp and on; first offset not before
        { "Timestamp", "int64", "0+" },
        { "MaxNumOffsets", "int32", "0", default = 1 }, -- offsets wanted at most
      },
    },
    { "TimeoutMs", "int32", "10+", ignorable = true }, -- ms to wait for offsets in remote storage (KIP-1075)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "2+", ignorable = true },
    { "Topics", "[]ListOffsetsTopicResponse", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]ListOffsetsPartitionResponse", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "OldStyleOffsets", "[]int64", "0" }, -- offsets, newest first
        { "Timestamp", "int64", "1+", default = -1 }, -- ms since 1970 of the record found; -1: none
        { "Offset", "int64", "1+", default = -1 }, -- offset found; -1: none
        { "LeaderEpoch", "int32", "4+", default = -1 }, -- leader epoch of the record found; -1: unknown
      },
    },
  },
}
