-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeQuorum: leader, voters and observers of the metadata quorum (KIP-595).
return {
  key = 55,
  name = "DescribeQuorum",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      },
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "2+", null = "2+", ignorable = true }, -- what went wrong; null: nothing more to say
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "2+", null = "2+", ignorable = true }, -- what went wrong; null: nothing more to say
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        { "HighWatermark", "int64", "0+" }, -- first offset that is not committed
        { "CurrentVoters", "[]ReplicaState", "0+" }, -- replicas that may vote
        { "Observers", "[]ReplicaState", "0+" }, -- replicas that may not vote
      },
    },
    { "Nodes", "[]Node", "2+", -- all nodes of the quorum
      { "NodeId", "int32", "2+" }, -- broker id
      { "Listeners", "[]Listener", "2+", -- where the sender listens
        { "Name", "string", "2+" }, -- name of the listener
        { "Host", "string", "2+" }, -- host name or address
        { "Port", "uint16", "2+" }, -- TCP port
      },
    },
  },
  response_structs = {
    { "ReplicaState", -- how far a replica of the quorum is
      { "ReplicaId", "int32", "0+" }, -- broker id of the replica; -1: a consumer
      { "ReplicaDirectoryId", "uuid", "2+" }, -- id of the replica's log directory (KIP-853); zero: unknown
      { "LogEndOffset", "int64", "0+" }, -- first offset after the replica's log; -1: unknown
      -- ms since 1970, when the replica last fetched; -1: unknown
      { "LastFetchTimestamp", "int64", "1+", default = -1, ignorable = true },
      -- ms since 1970, when the replica last had all; -1: unknown
      { "LastCaughtUpTimestamp", "int64", "1+", default = -1, ignorable = true },
    },
  },
}
