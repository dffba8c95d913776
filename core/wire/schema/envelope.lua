-- SPDX-License-Identifier: Apache-2.0
--
-- Envelope: a broker forwards a client's request to the controller (KIP-590).
return {
  key = 58,
  name = "Envelope",
  versions = "0",
  flexible = "0+",
  request = {
    { "RequestData", "bytes", "0+" }, -- the request inside, header and body
    { "RequestPrincipal", "bytes", "0+", null = "0+" }, -- the client's principal, serialised; null: none
    { "ClientHostAddress", "bytes", "0+" }, -- address of the client, 4 or 16 bytes in network order
  },
  response = {
    -- the response inside, header and body; null: an error
    { "ResponseData", "bytes", "0+", null = "0+", default = "null" },
    { "ErrorCode", "int16", "0+" }, -- outcome of the envelope; that of the request is inside; enum wire_error
  },
}
