-- SPDX-License-Identifier: Apache-2.0
--
-- ControlledShutdown: a broker asks the controller to move its leaderships before it stops (ZooKeeper clusters).
return {
  key = 7,
  name = "ControlledShutdown",
  versions = "0-3",
  flexible = "3+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "2+", default = -1, ignorable = true },
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "RemainingPartitions", "[]RemainingPartition", "0+", -- partitions that the broker still leads
      { "TopicName", "string", "0+" }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
    },
  },
}
