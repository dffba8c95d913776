-- SPDX-License-Identifier: Apache-2.0
--
-- WriteShareGroupState: stores the state of share partitions (KIP-932).
return {
  key = 85,
  name = "WriteShareGroupState",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]WriteStateData", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "StateEpoch", "int32", "0+" }, -- version of the share partition's state, raised when it is initialised anew
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        { "StartOffset", "int64", "0+" }, -- first offset that is not done with; -1: unknown
        -- records after the start offset that are done with; -1: unknown
        { "DeliveryCompleteCount", "int32", "1+", default = -1, ignorable = true },
        { "StateBatches", "[]StateBatch", "0+", -- states of offsets after the start offset
          { "FirstOffset", "int64", "0+" }, -- first offset of the range
          { "LastOffset", "int64", "0+" }, -- last offset of the range, inclusive
          { "DeliveryState", "int8", "0+" }, -- 0 available, 2 acknowledged, 4 archived (KIP-932)
          { "DeliveryCount", "int16", "0+" }, -- how often the records have been delivered, from 1
        },
      },
    },
  },
  response = {
    { "Results", "[]WriteStateResult", "0+", -- an answer for each item of the request
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionResult", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
