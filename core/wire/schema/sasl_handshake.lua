-- SPDX-License-Identifier: Apache-2.0
--
-- SaslHandshake: chooses a SASL mechanism.
return {
  key = 17,
  name = "SaslHandshake",
  versions = "0-1",
  flexible = "none",
  request = {
    { "Mechanism", "string", "0+" }, -- SASL mechanism that the client wants
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Mechanisms", "[]string", "0+" }, -- mechanisms that the listener offers
  },
}
