-- SPDX-License-Identifier: Apache-2.0
--
-- ReadShareGroupState: reads the stored state of share partitions (KIP-932).
return {
  key = 84,
  name = "ReadShareGroupState",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]ReadStateData", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
      },
    },
  },
  response = {
    { "Results", "[]ReadStateResult", "0+", -- an answer for each item of the request
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionResult", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
        { "StateEpoch", "int32", "0+" }, -- version of the share partition's state, raised when it is initialised anew
        { "StartOffset", "int64", "0+" }, -- first offset that is not done with; -1: unknown
        { "StateBatches", "[]StateBatch", "0+", -- states of offsets after the start offset
          { "FirstOffset", "int64", "0+" }, -- first offset of the range
          { "LastOffset", "int64", "0+" }, -- last offset of the range, inclusive
          { "DeliveryState", "int8", "0+" }, -- 0 available, 2 acknowledged, 4 archived (KIP-932)
          { "DeliveryCount", "int16", "0+" }, -- how often the records have been delivered, from 1
        },
      },
    },
  },
}
