-- SPDX-License-Identifier: Apache-2.0
--
-- ExpireDelegationToken: ends a token (KIP-48).
return {
  key = 40,
  name = "ExpireDelegationToken",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "Hmac", "bytes", "0+" }, -- secret of the token, which names it
    { "ExpiryTimePeriodMs", "int64", "0+" }, -- ms from now to the token's end; negative: at once
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ExpiryTimestampMs", "int64", "0+" }, -- ms since 1970, when the token ends unless renewed
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
  },
}
