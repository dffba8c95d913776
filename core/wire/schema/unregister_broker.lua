-- SPDX-License-Identifier: Apache-2.0
--
-- UnregisterBroker: removes the registration of a broker (KIP-631).
return {
  key = 64,
  name = "UnregisterBroker",
  versions = "0",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
  },
}
