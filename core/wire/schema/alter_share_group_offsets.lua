-- SPDX-License-Identifier: Apache-2.0
--
-- AlterShareGroupOffsets: sets start offsets of an empty share group (KIP-932).
return {
  key = 91,
  name = "AlterShareGroupOffsets",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]AlterShareGroupOffsetsRequestTopic", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]AlterShareGroupOffsetsRequestPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "StartOffset", "int64", "0+" }, -- offset to deliver from
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "Responses", "[]AlterShareGroupOffsetsResponseTopic", "0+", -- an answer for each topic
      { "TopicName", "string", "0+" }, -- topic name
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]AlterShareGroupOffsetsResponsePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
