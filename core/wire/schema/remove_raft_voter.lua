-- SPDX-License-Identifier: Apache-2.0
--
-- RemoveRaftVoter: removes a voter from the metadata quorum (KIP-853).
return {
  key = 81,
  name = "RemoveRaftVoter",
  versions = "0",
  flexible = "0+",
  request = {
    { "ClusterId", "string", "0+", null = "0+" }, -- cluster id; null: unknown or not checked
    { "VoterId", "int32", "0+" }, -- broker id of the voter; -1: unknown
    { "VoterDirectoryId", "uuid", "0+" }, -- id of the voter's metadata log directory (KIP-853)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", ignorable = true }, -- what went wrong; null: nothing more to say
  },
}
