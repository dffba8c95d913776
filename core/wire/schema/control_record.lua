-- SPDX-License-Identifier: Apache-2.0
--
-- Values of control records in partitions and in the metadata log.
return {
  messages = {
    {
      name = "ControlRecordTypeSchema",
      versions = "0",
      flexible = "none",
      fields = {
        { "Type", "int16", "0+" }, -- 0 abort, 1 commit, 2 leader change and on; type of a control record
      },
    },
    {
      name = "EndTxnMarker",
      versions = "0",
      flexible = "none",
      fields = {
        { "CoordinatorEpoch", "int32", "0+" }, -- epoch of the transaction coordinator; -1: unknown
      },
    },
    {
      name = "LeaderChangeMessage",
      versions = "0-1",
      flexible = "0+",
      fields = {
        { "Version", "int16", "0+" }, -- version of the record
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "Voters", "[]Voter", "0+" }, -- the voters
        { "GrantingVoters", "[]Voter", "0+" }, -- voters that voted for the leader
      },
      structs = {
        { "Voter", -- a voter of the quorum
          { "VoterId", "int32", "0+" }, -- broker id of the voter; -1: unknown
          { "VoterDirectoryId", "uuid", "1+" }, -- id of the voter's metadata log directory (KIP-853)
        },
      },
    },
    {
      name = "SnapshotHeaderRecord",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Version", "int16", "0+" }, -- version of the record
        { "LastContainedLogTimestamp", "int64", "0+" }, -- ms since 1970 of the last record in the snapshot
      },
    },
    {
      name = "SnapshotFooterRecord",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Version", "int16", "0+" }, -- version of the record
      },
    },
    {
      name = "KRaftVersionRecord",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Version", "int16", "0+" }, -- version of the record
        { "KRaftVersion", "int16", "0+" }, -- level of the feature kraft.version
      },
    },
    {
      name = "VotersRecord",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Version", "int16", "0+" }, -- version of the record
        { "Voters", "[]Voter", "0+", -- the voters
          { "VoterId", "int32", "0+" }, -- broker id of the voter; -1: unknown
          { "VoterDirectoryId", "uuid", "0+" }, -- id of the voter's metadata log directory (KIP-853)
          { "Endpoints", "[]Endpoint", "0+", -- where the voter listens
            { "Name", "string", "0+" }, -- name of the listener
            { "Host", "string", "0+" }, -- host name or address
            { "Port", "uint16", "0+" }, -- TCP port
          },
          { "KRaftVersionFeature", "KRaftVersionFeature", "0+", -- levels of kraft.version that the voter supports
            { "MinSupportedVersion", "int16", "0+" }, -- lowest level supported
            { "MaxSupportedVersion", "int16", "0+" }, -- highest level supported
          },
        },
      },
    },
  },
}
