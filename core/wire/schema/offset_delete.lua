-- SPDX-License-Identifier: Apache-2.0
--
-- OffsetDelete: deletes committed offsets of a group (KIP-496).
return {
  key = 47,
  name = "OffsetDelete",
  versions = "0",
  flexible = "none",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]OffsetDeleteRequestTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]OffsetDeleteRequestPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      },
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "0+", ignorable = true },
    { "Topics", "[]OffsetDeleteResponseTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]OffsetDeleteResponsePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      },
    },
  },
}
