-- SPDX-License-Identifier: Apache-2.0
--
-- AllocateProducerIds: a broker gets a block of producer ids (KIP-730).
return {
  key = 67,
  name = "AllocateProducerIds",
  versions = "0",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "0+", default = -1 },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ProducerIdStart", "int64", "0+" }, -- first id of the block
    { "ProducerIdLen", "int32", "0+" }, -- number of ids in the block
  },
}
