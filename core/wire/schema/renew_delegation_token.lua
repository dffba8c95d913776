-- SPDX-License-Identifier: Apache-2.0
--
-- RenewDelegationToken: makes a token live longer (KIP-48).
return {
  key = 39,
  name = "RenewDelegationToken",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "Hmac", "bytes", "0+" }, -- secret of the token, which names it
    { "RenewPeriodMs", "int64", "0+" }, -- ms from now to the token's new end; -1: as configured
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ExpiryTimestampMs", "int64", "0+" }, -- ms since 1970, when the token ends unless renewed
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
  },
}
