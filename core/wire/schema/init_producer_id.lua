-- SPDX-License-Identifier: Apache-2.0
--
-- InitProducerId: gives a producer an id and an epoch, and fences its earlier lives (KIP-98).
return {
  key = 22,
  name = "InitProducerId",
  versions = "0-6",
  flexible = "2+",
  request = {
    { "TransactionalId", "string", "0+", null = "0+" }, -- transactional id; null: only idempotent
    { "TransactionTimeoutMs", "int32", "0+" }, -- ms after which an open transaction is aborted
    { "ProducerId", "int64", "3+", default = -1 }, -- producer id to raise the epoch of (KIP-360); -1: give me a new one
    { "ProducerEpoch", "int16", "3+", default = -1 }, -- its epoch; -1: none
    { "Enable2Pc", "bool", "6+" }, -- true: a transaction of two-phase commit, without time limit (KIP-939)
    { "KeepPreparedTxn", "bool", "6+" }, -- true: keep a prepared transaction instead of aborting it (KIP-939)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "0+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ProducerId", "int64", "0+", default = -1 }, -- producer id; -1: none
    { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
    { "OngoingTxnProducerId", "int64", "6+", default = -1 }, -- producer id of the prepared transaction; -1: none
    -- epoch of the prepared transaction's producer; -1: none
    { "OngoingTxnProducerEpoch", "int16", "6+", default = -1 },
  },
}
