-- SPDX-License-Identifier: Apache-2.0
--
-- EndTxn: commits or aborts a transaction (KIP-98).
return {
  key = 26,
  name = "EndTxn",
  versions = "0-5",
  flexible = "3+",
  request = {
    { "TransactionalId", "string", "0+" }, -- transactional id
    { "ProducerId", "int64", "0+" }, -- producer id; -1: none
    { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
    { "Committed", "bool", "0+" }, -- true: commit, false: abort
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    -- producer id to go on with (KIP-890); -1: the same
    { "ProducerId", "int64", "5+", default = -1, ignorable = true },
    { "ProducerEpoch", "int16", "5+", default = -1, ignorable = true }, -- epoch to go on with (KIP-890); -1: the same
  },
}
