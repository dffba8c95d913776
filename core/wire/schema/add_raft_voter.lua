-- SPDX-License-Identifier: Apache-2.0
--
-- AddRaftVoter: adds a voter to the metadata quorum (KIP-853).
return {
  key = 80,
  name = "AddRaftVoter",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "ClusterId", "string", "0+", null = "0+" }, -- cluster id; null: unknown or not checked
    { "TimeoutMs", "int32", "0+" }, -- ms to wait for the work to be done
    { "VoterId", "int32", "0+" }, -- broker id of the voter; -1: unknown
    { "VoterDirectoryId", "uuid", "0+" }, -- id of the voter's metadata log directory (KIP-853)
    { "Listeners", "[]Listener", "0+", -- where the sender listens
      { "Name", "string", "0+" }, -- name of the listener
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
    },
    -- true: answer when the voters are committed; false: when they are appended
    { "AckWhenCommitted", "bool", "1+", default = true },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", ignorable = true }, -- what went wrong; null: nothing more to say
  },
}
