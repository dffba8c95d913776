-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeTransactions: state of transactions (KIP-664).
return {
  key = 65,
  name = "DescribeTransactions",
  versions = "0",
  flexible = "0+",
  request = {
    { "TransactionalIds", "[]string", "0+" }, -- transactional ids to describe
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "TransactionStates", "[]TransactionState", "0+", -- the transactions
      { "ErrorCode", "int16", "0+" }, -- outcome for the id; enum wire_error
      { "TransactionalId", "string", "0+" }, -- transactional id
      { "TransactionState", "string", "0+" }, -- state, such as "Ongoing" or "Empty"
      { "TransactionTimeoutMs", "int32", "0+" }, -- ms after which an open transaction is aborted
      { "TransactionStartTimeMs", "int64", "0+" }, -- ms since 1970; -1: not begun
      { "ProducerId", "int64", "0+" }, -- producer id; -1: none
      { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
      { "Topics", "[]TopicData", "0+", -- partitions in the transaction
        { "Topic", "string", "0+" }, -- topic name
        { "Partitions", "[]int32", "0+" }, -- partitions, from 0
      },
    },
  },
}
