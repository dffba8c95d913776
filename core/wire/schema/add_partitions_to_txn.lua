-- SPDX-License-Identifier: Apache-2.0
--
-- AddPartitionsToTxn: adds partitions to a transaction, or verifies that they were added (KIP-98, KIP-890).
return {
  key = 24,
  name = "AddPartitionsToTxn",
  versions = "0-5",
  flexible = "3+",
  request = {
    { "Transactions", "[]AddPartitionsToTxnTransaction", "4+", -- transactions to add partitions to
      { "TransactionalId", "string", "4+" }, -- transactional id
      { "ProducerId", "int64", "4+" }, -- producer id; -1: none
      { "ProducerEpoch", "int16", "4+" }, -- epoch of the producer; -1: none
      { "VerifyOnly", "bool", "4+" }, -- true: ask whether the partitions were added, add nothing (KIP-890)
      { "Topics", "[]AddPartitionsToTxnTopic", "4+" }, -- the topics
    },
    { "V3AndBelowTransactionalId", "string", "0-3" }, -- transactional id
    { "V3AndBelowProducerId", "int64", "0-3" }, -- producer id
    { "V3AndBelowProducerEpoch", "int16", "0-3" }, -- epoch of the producer
    { "V3AndBelowTopics", "[]AddPartitionsToTxnTopic", "0-3" }, -- partitions to add, by topic
  },
  request_structs = {
    { "AddPartitionsToTxnTopic", -- partitions of a topic
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "4+", ignorable = true }, -- outcome; enum wire_error
    { "ResultsByTransaction", "[]AddPartitionsToTxnResult", "4+", -- an answer for each transaction
      { "TransactionalId", "string", "4+" }, -- transactional id
      { "TopicResults", "[]AddPartitionsToTxnTopicResult", "4+" }, -- an answer for each topic
    },
    { "ResultsByTopicV3AndBelow", "[]AddPartitionsToTxnTopicResult", "0-3" }, -- an answer for each topic
  },
  response_structs = {
    { "AddPartitionsToTxnTopicResult", -- outcomes of a topic
      { "Name", "string", "0+" }, -- topic name
      { "ResultsByPartition", "[]AddPartitionsToTxnPartitionResult", "0+" }, -- an answer for each partition
    },
    { "AddPartitionsToTxnPartitionResult", -- outcome for a partition
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      { "PartitionErrorCode", "int16", "0+" }, -- outcome for the partition; enum wire_error
    },
  },
}
