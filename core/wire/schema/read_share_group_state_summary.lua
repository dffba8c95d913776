-- SPDX-License-Identifier: Apache-2.0
--
-- ReadShareGroupStateSummary: reads the stored start offsets of share partitions (KIP-932).
return {
  key = 87,
  name = "ReadShareGroupStateSummary",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]ReadStateSummaryData", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
      },
    },
  },
  response = {
    { "Results", "[]ReadStateSummaryResult", "0+", -- an answer for each item of the request
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionResult", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
        { "StateEpoch", "int32", "0+" }, -- version of the share partition's state, raised when it is initialised anew
        -- leader epoch of the state; the 4.x line has it in version 0 too, 3.9 had not
        { "LeaderEpoch", "int32", "1+" },
        { "StartOffset", "int64", "0+" }, -- first offset that is not done with; -1: unknown
        -- records after the start offset that are done with; -1: unknown
        { "DeliveryCompleteCount", "int32", "1+", default = -1, ignorable = true },
      },
    },
  },
}
