-- SPDX-License-Identifier: Apache-2.0
--
-- AddOffsetsToTxn: adds a group's offsets to a transaction (KIP-98).
return {
  key = 25,
  name = "AddOffsetsToTxn",
  versions = "0-4",
  flexible = "3+",
  request = {
    { "TransactionalId", "string", "0+" }, -- transactional id
    { "ProducerId", "int64", "0+" }, -- producer id; -1: none
    { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
    { "GroupId", "string", "0+" }, -- group id
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
  },
}
