-- SPDX-License-Identifier: Apache-2.0
--
-- UnregisterController: removes the registration of a controller.
return {
  key = 94,
  name = "UnregisterController",
  versions = "0",
  flexible = "0+",
  request = {
    { "ControllerId", "int32", "0+" }, -- broker id of the controller; -1: none
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
  },
}
