-- SPDX-License-Identifier: Apache-2.0
--
-- AssignReplicasToDirs: a broker tells the controllers where its replicas lie (KIP-858).
return {
  key = 73,
  name = "AssignReplicasToDirs",
  versions = "0",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "0+", default = -1 },
    { "Directories", "[]DirectoryData", "0+", -- log directories
      { "Id", "uuid", "0+" }, -- id of the log directory
      { "Topics", "[]TopicData", "0+", -- the topics
        { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
        { "Partitions", "[]PartitionData", "0+", -- the partitions
          { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        },
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Directories", "[]DirectoryData", "0+", -- log directories
      { "Id", "uuid", "0+" }, -- id of the log directory
      { "Topics", "[]TopicData", "0+", -- the topics
        { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
        { "Partitions", "[]PartitionData", "0+", -- the partitions
          { "PartitionIndex", "int32", "0+" }, -- partition, from 0
          { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        },
      },
    },
  },
}
