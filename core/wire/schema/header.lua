-- SPDX-License-Identifier: Apache-2.0
--
-- The headers in front of requests and responses. wire_request_header_version() says which version is where.
return {
  messages = {
    {
      name = "RequestHeader",
      versions = "0-2",
      flexible = "2+",
      fields = {
        { "RequestApiKey", "int16", "0+" }, -- request type; enum wire_api_key
        { "RequestApiVersion", "int16", "0+" }, -- version of the request
        { "CorrelationId", "int32", "0+" }, -- number that the response repeats
        -- what the client calls itself; any negative length counts as null
        { "ClientId", "string", "1+", null = "1+", flexible = "none" },
      },
    },
    {
      name = "ResponseHeader",
      versions = "0-1",
      flexible = "1+",
      fields = {
        { "CorrelationId", "int32", "0+" }, -- number that the response repeats
      },
    },
  },
}
