-- SPDX-License-Identifier: Apache-2.0
--
-- UpdateRaftVoter: a voter of the metadata quorum has new addresses (KIP-853).
return {
  key = 82,
  name = "UpdateRaftVoter",
  versions = "0",
  flexible = "0+",
  request = {
    { "ClusterId", "string", "0+", null = "0+" }, -- cluster id; null: unknown or not checked
    -- leader epoch as the client knows it, to be fenced by (KIP-320); -1: unknown
    { "CurrentLeaderEpoch", "int32", "0+" },
    { "VoterId", "int32", "0+" }, -- broker id of the voter; -1: unknown
    { "VoterDirectoryId", "uuid", "0+" }, -- id of the voter's metadata log directory (KIP-853)
    { "Listeners", "[]Listener", "0+", -- where the sender listens
      { "Name", "string", "0+" }, -- name of the listener
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
    },
    { "KRaftVersionFeature", "KRaftVersionFeature", "0+", -- levels of kraft.version that the voter supports
      { "MinSupportedVersion", "int16", "0+" }, -- lowest level supported
      { "MaxSupportedVersion", "int16", "0+" }, -- highest level supported
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "CurrentLeader", "CurrentLeader", "0+", tag = 0, -- the leader, when the client has it wrong (KIP-951)
      { "LeaderId", "int32", "0+", default = -1 }, -- broker id of the leader; -1: none
      { "LeaderEpoch", "int32", "0+", default = -1 }, -- leader epoch of the partition; -1: unknown
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "int32", "0+" }, -- TCP port
    },
  },
}
