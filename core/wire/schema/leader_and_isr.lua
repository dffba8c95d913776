-- SPDX-License-Identifier: Apache-2.0
--
-- LeaderAndIsr: the controller tells brokers which partitions they lead or follow (ZooKeeper clusters).
return {
  key = 4,
  name = "LeaderAndIsr",
  versions = "0-7",
  flexible = "4+",
  request = {
    { "ControllerId", "int32", "0+" }, -- broker id of the controller; -1: none
    { "isKRaftController", "bool", "7+" }, -- true: sent by a KRaft controller (KIP-866)
    { "ControllerEpoch", "int32", "0+" }, -- epoch of the controller that sent or wrote this
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "2+", default = -1, ignorable = true },
    { "Type", "int8", "5+" }, -- 0 unknown, 1 some partitions, 2 all of them: others may be deleted
    { "UngroupedPartitionStates", "[]LeaderAndIsrPartitionState", "0-1" }, -- states by partition
    { "TopicStates", "[]LeaderAndIsrTopicState", "2+", -- states by topic
      { "TopicName", "string", "2+" }, -- topic name
      { "TopicId", "uuid", "5+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "PartitionStates", "[]LeaderAndIsrPartitionState", "2+" }, -- states by partition
    },
    { "LiveLeaders", "[]LeaderAndIsrLiveLeader", "0+", -- brokers that lead any of the partitions
      { "BrokerId", "int32", "0+" }, -- broker id
      { "HostName", "string", "0+" }, -- host name or address
      { "Port", "int32", "0+" }, -- TCP port
    },
  },
  request_structs = {
    { "LeaderAndIsrPartitionState", -- state of a partition
      { "TopicName", "string", "0-1", ignorable = true }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      { "ControllerEpoch", "int32", "0+" }, -- epoch of the controller that sent or wrote this
      { "Leader", "int32", "0+" }, -- broker id of the leader; -1: none, -2: being deleted
      { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -2: being deleted
      { "Isr", "[]int32", "0+" }, -- broker ids of the in-sync replicas
      { "PartitionEpoch", "int32", "0+" }, -- version of the partition's state, for compare and set; -1: unconditional
      { "Replicas", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
      { "AddingReplicas", "[]int32", "3+", ignorable = true }, -- broker ids being added by a reassignment (KIP-455)
      { "RemovingReplicas", "[]int32", "3+", ignorable = true }, -- broker ids being removed by a reassignment (KIP-455)
      { "IsNew", "bool", "1+", ignorable = true }, -- true: a replica that has not been there before
      { "LeaderRecoveryState", "int8", "6+" }, -- 0 recovered, 1 recovering after an unclean election (KIP-704)
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "PartitionErrors", "[]LeaderAndIsrPartitionError", "0-4" }, -- an answer for each partition
    { "Topics", "[]LeaderAndIsrTopicError", "5+", -- the topics
      { "TopicId", "uuid", "5+" }, -- topic id (KIP-516); zero: none
      { "PartitionErrors", "[]LeaderAndIsrPartitionError", "5+" }, -- an answer for each partition
    },
  },
  response_structs = {
    { "LeaderAndIsrPartitionError", -- outcome for a partition
      { "TopicName", "string", "0-4", ignorable = true }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    },
  },
}
