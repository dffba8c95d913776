-- SPDX-License-Identifier: Apache-2.0
--
-- EndQuorumEpoch: the leader of the metadata quorum resigns (KIP-595).
return {
  key = 54,
  name = "EndQuorumEpoch",
  versions = "0-1",
  flexible = "1+",
  request = {
    { "ClusterId", "string", "0+", null = "0+", default = "null" }, -- cluster id; null: unknown or not checked
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        -- broker ids that should be elected next, best first
        { "PreferredSuccessors", "[]int32", "0", ignorable = true },
        { "PreferredCandidates", "[]ReplicaInfo", "1+", ignorable = true, -- who should be elected next, best first
          { "CandidateId", "int32", "1+" }, -- broker id of the candidate
          { "CandidateDirectoryId", "uuid", "1+" }, -- metadata log directory of the candidate
        },
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
