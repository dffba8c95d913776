-- SPDX-License-Identifier: Apache-2.0
--
-- WriteTxnMarkers: the transaction coordinator has commit or abort markers written (KIP-98).
return {
  key = 27,
  name = "WriteTxnMarkers",
  versions = "0-2",
  flexible = "1+",
  request = {
    { "Markers", "[]WritableTxnMarker", "0+", -- transactions to end
      { "ProducerId", "int64", "0+" }, -- producer id; -1: none
      { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
      { "TransactionResult", "bool", "0+" }, -- true: commit, false: abort
      { "Topics", "[]WritableTxnMarkerTopic", "0+", -- the topics
        { "Name", "string", "0+" }, -- topic name
        { "PartitionIndexes", "[]int32", "0+" }, -- partitions, from 0
      },
      { "CoordinatorEpoch", "int32", "0+" }, -- epoch of the transaction coordinator; -1: unknown
      -- level of transaction.version that the transaction runs under (KIP-1228)
      { "TransactionVersion", "int8", "2+", ignorable = true },
    },
  },
  response = {
    { "Markers", "[]WritableTxnMarkerResult", "0+", -- an answer for each producer
      { "ProducerId", "int64", "0+" }, -- producer id; -1: none
      { "Topics", "[]WritableTxnMarkerTopicResult", "0+", -- the topics
        { "Name", "string", "0+" }, -- topic name
        { "Partitions", "[]WritableTxnMarkerPartitionResult", "0+", -- the partitions
          { "PartitionIndex", "int32", "0+" }, -- partition, from 0
          { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        },
      },
    },
  },
}
