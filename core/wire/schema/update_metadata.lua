-- SPDX-License-Identifier: Apache-2.0
--
-- UpdateMetadata: the controller sends brokers the cluster's metadata (ZooKeeper clusters).
return {
  key = 6,
  name = "UpdateMetadata",
  versions = "0-8",
  flexible = "6+",
  request = {
    { "ControllerId", "int32", "0+" }, -- broker id of the controller; -1: none
    { "isKRaftController", "bool", "8+" }, -- true: sent by a KRaft controller (KIP-866)
    { "Type", "int8", "8+", tag = 0 }, -- 0 unknown, 1 some partitions, 2 all of them
    { "ControllerEpoch", "int32", "0+" }, -- epoch of the controller that sent or wrote this
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "5+", default = -1, ignorable = true },
    { "UngroupedPartitionStates", "[]UpdateMetadataPartitionState", "0-4" }, -- states by partition
    { "TopicStates", "[]UpdateMetadataTopicState", "5+", -- states by topic
      { "TopicName", "string", "5+" }, -- topic name
      { "TopicId", "uuid", "7+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "PartitionStates", "[]UpdateMetadataPartitionState", "5+" }, -- states by partition
    },
    { "LiveBrokers", "[]UpdateMetadataBroker", "0+", -- all live brokers
      { "Id", "int32", "0+" }, -- broker id
      { "V0Host", "string", "0", ignorable = true }, -- host name or address
      { "V0Port", "int32", "0", ignorable = true }, -- TCP port
      { "Endpoints", "[]UpdateMetadataEndpoint", "1+", ignorable = true, -- where the broker listens
        { "Port", "int32", "1+" }, -- TCP port
        { "Host", "string", "1+" }, -- host name or address
        { "Listener", "string", "3+", ignorable = true }, -- name of the listener
        { "SecurityProtocol", "int16", "1+" }, -- 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
      },
      { "Rack", "string", "2+", null = "0+", ignorable = true }, -- rack of the broker; null: none
    },
  },
  request_structs = {
    { "UpdateMetadataPartitionState", -- state of a partition
      { "TopicName", "string", "0-4", ignorable = true }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      { "ControllerEpoch", "int32", "0+" }, -- epoch of the controller that sent or wrote this
      { "Leader", "int32", "0+" }, -- broker id of the leader; -1: none, -2: the topic is being deleted
      { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
      { "Isr", "[]int32", "0+" }, -- broker ids of the in-sync replicas
      { "ZkVersion", "int32", "0+" }, -- version of the partition's state
      { "Replicas", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
      { "OfflineReplicas", "[]int32", "4+", ignorable = true }, -- broker ids of replicas that are not alive
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
  },
}
