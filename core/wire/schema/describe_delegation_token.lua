-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeDelegationToken: lists tokens (KIP-48).
return {
  key = 41,
  name = "DescribeDelegationToken",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "Owners", "[]DescribeDelegationTokenOwner", "0+", null = "0+", -- whose tokens; null: all
      { "PrincipalType", "string", "0+" }, -- type of the principal, "User"
      { "PrincipalName", "string", "0+" }, -- name of the principal
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Tokens", "[]DescribedDelegationToken", "0+", -- tokens that the client may see
      { "PrincipalType", "string", "0+" }, -- type of the principal, "User"
      { "PrincipalName", "string", "0+" }, -- name of the principal
      { "TokenRequesterPrincipalType", "string", "3+" }, -- type of who asked for the token
      { "TokenRequesterPrincipalName", "string", "3+" }, -- name of who asked for the token
      { "IssueTimestamp", "int64", "0+" }, -- ms since 1970, when the token was made
      { "ExpiryTimestamp", "int64", "0+" }, -- ms since 1970, when the token ends unless renewed
      { "MaxTimestamp", "int64", "0+" }, -- ms since 1970, beyond which the token cannot be renewed
      { "TokenId", "string", "0+" }, -- id of the token
      { "Hmac", "bytes", "0+" }, -- secret of the token, which names it
      { "Renewers", "[]DescribedDelegationTokenRenewer", "0+", -- who else may renew the token
        { "PrincipalType", "string", "0+" }, -- type of the principal, "User"
        { "PrincipalName", "string", "0+" }, -- name of the principal
      },
    },
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
  },
}
