-- SPDX-License-Identifier: Apache-2.0
--
-- AlterUserScramCredentials: sets and deletes SCRAM credentials (KIP-554).
return {
  key = 51,
  name = "AlterUserScramCredentials",
  versions = "0",
  flexible = "0+",
  request = {
    { "Deletions", "[]ScramCredentialDeletion", "0+", -- credentials to delete
      { "Name", "string", "0+" }, -- user name
      { "Mechanism", "int8", "0+" }, -- 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
    },
    { "Upsertions", "[]ScramCredentialUpsertion", "0+", -- credentials to set
      { "Name", "string", "0+" }, -- user name
      { "Mechanism", "int8", "0+" }, -- 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
      { "Iterations", "int32", "0+" }, -- rounds of SCRAM, 4096 to 16384
      { "Salt", "bytes", "0+" }, -- salt of the password
      { "SaltedPassword", "bytes", "0+" }, -- the password, salted and hashed
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]AlterUserScramCredentialsResult", "0+", -- an answer for each item of the request
      { "User", "string", "0+" }, -- user name
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    },
  },
}
