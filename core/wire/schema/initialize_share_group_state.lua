-- SPDX-License-Identifier: Apache-2.0
--
-- InitializeShareGroupState: begins the stored state of share partitions (KIP-932).
return {
  key = 83,
  name = "InitializeShareGroupState",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]InitializeStateData", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "StateEpoch", "int32", "0+" }, -- version of the share partition's state, raised when it is initialised anew
        { "StartOffset", "int64", "0+" }, -- first offset that is not done with; -1: unknown
      },
    },
  },
  response = {
    { "Results", "[]InitializeStateResult", "0+", -- an answer for each item of the request
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionResult", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
