-- SPDX-License-Identifier: Apache-2.0
--
-- AlterPartition: a leader asks the controller to change the ISR (KIP-497).
return {
  key = 56,
  name = "AlterPartition",
  versions = "0-3",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "0+", default = -1 },
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0-1", ignorable = true }, -- topic name
      { "TopicId", "uuid", "2+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        { "NewIsr", "[]int32", "0-2" }, -- broker ids of the ISR wanted
        { "NewIsrWithEpochs", "[]BrokerState", "3+", -- the ISR wanted, with broker epochs (KIP-903)
          { "BrokerId", "int32", "3+" }, -- broker id
          -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
          { "BrokerEpoch", "int64", "3+", default = -1 },
        },
        { "LeaderRecoveryState", "int8", "1+" }, -- 0 recovered, 1 recovering after an unclean election (KIP-704)
        { "PartitionEpoch", "int32", "0+" }, -- version of the partition's state that the change is based on
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Topics", "[]TopicData", "0+", -- the topics
      { "TopicName", "string", "0-1", ignorable = true }, -- topic name
      { "TopicId", "uuid", "2+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        { "Isr", "[]int32", "0+" }, -- broker ids of the in-sync replicas
        -- 0 recovered, 1 recovering after an unclean election (KIP-704)
        { "LeaderRecoveryState", "int8", "1+", ignorable = true },
        { "PartitionEpoch", "int32", "0+" }, -- version of the partition's state, for compare and set; -1: unconditional
      },
    },
  },
}
