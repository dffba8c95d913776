-- SPDX-License-Identifier: Apache-2.0
--
-- AlterPartitionReassignments: moves partitions to other brokers (KIP-455).
return {
  key = 45,
  name = "AlterPartitionReassignments",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "TimeoutMs", "int32", "0+", default = 60000 }, -- ms to wait for the reassignment to begin
    -- false: refuse a reassignment that changes the number of replicas
    { "AllowReplicationFactorChange", "bool", "1+", default = true },
    { "Topics", "[]ReassignableTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]ReassignablePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        -- broker ids wanted; null: cancel the reassignment
        { "Replicas", "[]int32", "0+", null = "0+", default = "null" },
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    -- false: refuse a reassignment that changes the number of replicas
    { "AllowReplicationFactorChange", "bool", "1+", default = true, ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "Responses", "[]ReassignableTopicResponse", "0+", -- an answer for each topic
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]ReassignablePartitionResponse", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
