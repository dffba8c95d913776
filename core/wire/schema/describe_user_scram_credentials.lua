-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeUserScramCredentials: which SCRAM mechanisms users have (KIP-554).
return {
  key = 50,
  name = "DescribeUserScramCredentials",
  versions = "0",
  flexible = "0+",
  request = {
    { "Users", "[]UserName", "0+", null = "0+", -- users to describe; null: all
      { "Name", "string", "0+" }, -- user name
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "Results", "[]DescribeUserScramCredentialsResult", "0+", -- an answer for each item of the request
      { "User", "string", "0+" }, -- user name
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      { "CredentialInfos", "[]CredentialInfo", "0+", -- the user's mechanisms
        { "Mechanism", "int8", "0+" }, -- 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
        { "Iterations", "int32", "0+" }, -- rounds of SCRAM, 4096 to 16384
      },
    },
  },
}
