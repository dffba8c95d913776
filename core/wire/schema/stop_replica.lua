-- SPDX-License-Identifier: Apache-2.0
--
-- StopReplica: the controller tells a broker to stop or delete replicas (ZooKeeper clusters).
return {
  key = 5,
  name = "StopReplica",
  versions = "0-4",
  flexible = "2+",
  request = {
    { "ControllerId", "int32", "0+" }, -- broker id of the controller; -1: none
    { "isKRaftController", "bool", "4+" }, -- true: sent by a KRaft controller (KIP-866)
    { "ControllerEpoch", "int32", "0+" }, -- epoch of the controller that sent or wrote this
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "1+", default = -1, ignorable = true },
    { "DeletePartitions", "bool", "0-2" }, -- true: delete the files of all of them too
    { "UngroupedPartitions", "[]StopReplicaPartitionV0", "0", -- partitions to stop
      { "TopicName", "string", "0" }, -- topic name
      { "PartitionIndex", "int32", "0" }, -- partition, from 0
    },
    { "Topics", "[]StopReplicaTopicV1", "1-2", -- the topics
      { "Name", "string", "1-2" }, -- topic name
      { "PartitionIndexes", "[]int32", "1-2" }, -- partitions, from 0
    },
    { "TopicStates", "[]StopReplicaTopicState", "3+", -- states by topic
      { "TopicName", "string", "3+" }, -- topic name
      { "PartitionStates", "[]StopReplicaPartitionState", "3+", -- states by partition
        { "PartitionIndex", "int32", "3+" }, -- partition, from 0
        -- leader epoch (KIP-570); -1: unknown, -2: the topic is being deleted
        { "LeaderEpoch", "int32", "3+", default = -1 },
        { "DeletePartition", "bool", "3+" }, -- true: delete the files too
      },
    },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "PartitionErrors", "[]StopReplicaPartitionError", "0+", -- an answer for each partition
      { "TopicName", "string", "0+" }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    },
  },
}
