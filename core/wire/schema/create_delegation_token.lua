-- SPDX-License-Identifier: Apache-2.0
--
-- CreateDelegationToken: makes a token to authenticate with (KIP-48).
return {
  key = 38,
  name = "CreateDelegationToken",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "OwnerPrincipalType", "string", "3+", null = "3+" }, -- type of the token's owner; null: the requester
    { "OwnerPrincipalName", "string", "3+", null = "3+" }, -- name of the token's owner; null: the requester
    { "Renewers", "[]CreatableRenewers", "0+", -- who else may renew the token
      { "PrincipalType", "string", "0+" }, -- type of the principal, "User"
      { "PrincipalName", "string", "0+" }, -- name of the principal
    },
    { "MaxLifetimeMs", "int64", "0+" }, -- ms that the token may live; -1: as long as the broker allows
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "PrincipalType", "string", "0+" }, -- type of the principal, "User"
    { "PrincipalName", "string", "0+" }, -- name of the principal
    { "TokenRequesterPrincipalType", "string", "3+" }, -- type of who asked for the token
    { "TokenRequesterPrincipalName", "string", "3+" }, -- name of who asked for the token
    { "IssueTimestampMs", "int64", "0+" }, -- ms since 1970, when the token was made
    { "ExpiryTimestampMs", "int64", "0+" }, -- ms since 1970, when the token ends unless renewed
    { "MaxTimestampMs", "int64", "0+" }, -- ms since 1970, beyond which the token cannot be renewed
    { "TokenId", "string", "0+" }, -- id of the token
    { "Hmac", "bytes", "0+" }, -- secret of the token, which names it
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
  },
}
