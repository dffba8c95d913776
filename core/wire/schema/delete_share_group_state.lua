-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteShareGroupState: deletes the stored state of share partitions (KIP-932).
return {
  key = 86,
  name = "DeleteShareGroupState",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]DeleteStateData", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
      },
    },
  },
  response = {
    { "Results", "[]DeleteStateResult", "0+", -- an answer for each item of the request
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionResult", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
