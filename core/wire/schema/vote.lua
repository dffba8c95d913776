-- SPDX-License-Identifier: Apache-2.0
--
-- Vote: a candidate of the metadata quorum asks for a vote (KIP-595).
return {
  key = 52,
  name = "Vote",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "ClusterId", "string", "0+", null = "0+", default = "null" }, -- cluster id; null: unknown or not checked
    { "VoterId", "int32", "1+", default = -1, ignorable = true }, -- broker id of the voter; -1: unknown
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ReplicaEpoch", "int32", "0+" }, -- epoch of the candidate
        { "ReplicaId", "int32", "0+" }, -- broker id of the candidate
        -- id of the candidate's metadata log directory (KIP-853)
        { "ReplicaDirectoryId", "uuid", "1+", ignorable = true },
        { "VoterDirectoryId", "uuid", "1+", ignorable = true }, -- id of the voter's metadata log directory (KIP-853)
        { "LastOffsetEpoch", "int32", "0+" }, -- leader epoch of the candidate's last record
        { "LastOffset", "int64", "0+" }, -- last offset of the candidate's log
        { "PreVote", "bool", "2+" }, -- true: asks whether a vote would be won (KIP-996)
      },
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        { "VoteGranted", "bool", "0+" }, -- true: the vote is given
      },
    },
    { "NodeEndpoints", "[]NodeEndpoint", "1+", tag = 0, -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "1+" }, -- broker id
      { "Host", "string", "1+" }, -- host name or address
      { "Port", "uint16", "1+" }, -- TCP port
    },
  },
}
