-- SPDX-License-Identifier: Apache-2.0
--
-- BeginQuorumEpoch: the elected leader of the metadata quorum says so (KIP-595).
return {
  key = 53,
  name = "BeginQuorumEpoch",
  versions = "0-1",
  flexible = "1+",
  request = {
    { "ClusterId", "string", "0+", null = "0+", default = "null" }, -- cluster id; null: unknown or not checked
    { "VoterId", "int32", "1+", default = -1, ignorable = true }, -- broker id of the voter; -1: unknown
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "VoterDirectoryId", "uuid", "1+", ignorable = true }, -- id of the voter's metadata log directory (KIP-853)
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
      },
    },
    { "LeaderEndpoints", "[]LeaderEndpoint", "1+", ignorable = true, -- where the leader listens
      { "Name", "string", "1+" }, -- name of the listener
      { "Host", "string", "1+" }, -- host name or address
      { "Port", "uint16", "1+" }, -- TCP port
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
      },
    },
    { "NodeEndpoints", "[]NodeEndpoint", "1+", tag = 0, -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "1+" }, -- broker id
      { "Host", "string", "1+" }, -- host name or address
      { "Port", "uint16", "1+" }, -- TCP port
    },
  },
}
