-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeLogDirs: a broker's log directories and what is in them (KIP-113).
return {
  key = 35,
  name = "DescribeLogDirs",
  versions = "0-5",
  flexible = "2+",
  request = {
    { "Topics", "[]DescribableLogDirTopic", "0+", null = "0+", -- partitions to describe; null: all
      { "Topic", "string", "0+" }, -- topic name
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "3+", ignorable = true }, -- outcome of the request (KIP-784); enum wire_error
    { "Results", "[]DescribeLogDirsResult", "0+", -- an answer for each item of the request
      { "ErrorCode", "int16", "0+" }, -- outcome for the directory; enum wire_error
      { "LogDir", "string", "0+" }, -- absolute path of the log directory
      { "Topics", "[]DescribeLogDirsTopic", "0+", -- the topics
        { "Name", "string", "0+" }, -- topic name
        { "Partitions", "[]DescribeLogDirsPartition", "0+", -- the partitions
          { "PartitionIndex", "int32", "0+" }, -- partition, from 0
          { "PartitionSize", "int64", "0+" }, -- bytes of the partition's segments
          { "OffsetLag", "int64", "0+" }, -- records that the copy is behind
          { "IsFutureKey", "bool", "0+" }, -- true: a copy that is being moved here, not yet in use (KIP-113)
        },
      },
      { "TotalBytes", "int64", "4+", default = -1, ignorable = true }, -- bytes of the volume (KIP-827); -1: unknown
      -- bytes of the volume that are free (KIP-827); -1: unknown
      { "UsableBytes", "int64", "4+", default = -1, ignorable = true },
      { "IsCordoned", "bool", "5+", ignorable = true }, -- true: the directory takes no new replicas (KIP-1066)
    },
  },
}
