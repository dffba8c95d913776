-- SPDX-License-Identifier: Apache-2.0
--
-- SaslAuthenticate: carries the tokens of a SASL mechanism (KIP-152).
return {
  key = 36,
  name = "SaslAuthenticate",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "AuthBytes", "bytes", "0+" }, -- token of the SASL mechanism, opaque here
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "AuthBytes", "bytes", "0+" }, -- token of the SASL mechanism, opaque here
    -- ms after which the client has to authenticate again (KIP-368); 0: never
    { "SessionLifetimeMs", "int64", "1+", ignorable = true },
  },
}
