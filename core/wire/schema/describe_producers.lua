-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeProducers: producers that a partition keeps state of (KIP-664).
return {
  key = 61,
  name = "DescribeProducers",
  versions = "0",
  flexible = "0+",
  request = {
    { "Topics", "[]TopicRequest", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "PartitionIndexes", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Topics", "[]TopicResponse", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionResponse", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
        { "ActiveProducers", "[]ProducerState", "0+", -- producers that the partition keeps state of
          { "ProducerId", "int64", "0+" }, -- producer id; -1: none
          { "ProducerEpoch", "int32", "0+" }, -- epoch of the producer
          { "LastSequence", "int32", "0+", default = -1 }, -- sequence number of the last record; -1: none
          { "LastTimestamp", "int64", "0+", default = -1 }, -- ms since 1970 of the last batch; -1: none
          { "CoordinatorEpoch", "int32", "0+" }, -- epoch of the transaction coordinator; -1: unknown
          { "CurrentTxnStartOffset", "int64", "0+", default = -1 }, -- first offset of the open transaction; -1: none
        },
      },
    },
  },
}
