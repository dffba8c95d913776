-- SPDX-License-Identifier: Apache-2.0
--
-- Metadata: brokers, topics, partitions and their leaders.
return {
  key = 3,
  name = "Metadata",
  versions = "0-13",
  flexible = "9+",
  request = {
    { "Topics", "[]MetadataRequestTopic", "0+", null = "1+", -- topics to describe; null: all; in version 0 empty: all
      { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Name", "string", "0+", null = "10+" }, -- topic name; null: see TopicId
    },
    -- true: create missing topics if the broker is configured to
    { "AllowAutoTopicCreation", "bool", "4+", default = true },
    -- true: say what the client may do with the cluster (KIP-430)
    { "IncludeClusterAuthorizedOperations", "bool", "8-10" },
    { "IncludeTopicAuthorizedOperations", "bool", "8+" }, -- true: say what the client may do with the topics (KIP-430)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "3+", ignorable = true },
    { "Brokers", "[]MetadataResponseBroker", "0+", -- the brokers that are alive
      { "NodeId", "int32", "0+" }, -- broker id
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "int32", "0+" }, -- TCP port
      { "Rack", "string", "1+", null = "1+", default = "null", ignorable = true }, -- rack of the broker; null: none
    },
    -- cluster id; null: unknown or not checked
    { "ClusterId", "string", "2+", null = "2+", default = "null", ignorable = true },
    { "ControllerId", "int32", "1+", default = -1, ignorable = true }, -- broker id of the controller; -1: none
    { "Topics", "[]MetadataResponseTopic", "0+", -- the topics
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "Name", "string", "0+", null = "12+" }, -- topic name; null: an id that is not known
      { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "IsInternal", "bool", "1+", ignorable = true }, -- true: a topic of the broker's own, such as __consumer_offsets
      { "Partitions", "[]MetadataResponsePartition", "0+", -- the partitions
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "7+", default = -1, ignorable = true }, -- leader epoch of the partition; -1: unknown
        { "ReplicaNodes", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
        { "IsrNodes", "[]int32", "0+" }, -- broker ids of the in-sync replicas
        { "OfflineReplicas", "[]int32", "5+", ignorable = true }, -- broker ids of replicas that are not alive
      },
      -- bit set of what the client may do with the topic (KIP-430); -2147483648: not asked for
      { "TopicAuthorizedOperations", "int32", "8+", default = -2147483648 },
    },
    -- bit set of what the client may do with the cluster (KIP-430); -2147483648: not asked for
    { "ClusterAuthorizedOperations", "int32", "8-10", default = -2147483648 },
    -- outcome of the request, such as REBOOTSTRAP_REQUIRED (KIP-1102); enum wire_error
    { "ErrorCode", "int16", "13+", ignorable = true },
  },
}
