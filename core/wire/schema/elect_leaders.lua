-- SPDX-License-Identifier: Apache-2.0
--
-- ElectLeaders: elects preferred leaders, or unclean ones (KIP-460).
return {
  key = 43,
  name = "ElectLeaders",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "ElectionType", "int8", "1+" }, -- 0 preferred leader, 1 unclean (KIP-460)
    { "TopicPartitions", "[]TopicPartitions", "0+", null = "0+", -- partitions to elect leaders of; null: all
      { "Topic", "string", "0+" }, -- topic name
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
    { "TimeoutMs", "int32", "0+", default = 60000 }, -- ms to wait for the elections
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "1+" }, -- outcome; enum wire_error
    -- outcomes by topic; empty when the whole request failed
    { "ReplicaElectionResults", "[]ReplicaElectionResult", "0+",
      { "Topic", "string", "0+" }, -- topic name
      { "PartitionResult", "[]PartitionResult", "0+", -- an answer for each partition
        { "PartitionId", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      },
    },
  },
}
