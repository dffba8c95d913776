-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeTopicPartitions: partitions of topics, a page at a time (KIP-966).
return {
  key = 75,
  name = "DescribeTopicPartitions",
  versions = "0",
  flexible = "0+",
  request = {
    { "Topics", "[]TopicRequest", "0+", -- topics to describe; empty: all
      { "Name", "string", "0+" }, -- topic name
    },
    { "ResponsePartitionLimit", "int32", "0+", default = 2000 }, -- partitions wanted at most
    { "Cursor", "Cursor", "0+", null = "0+", default = "null", -- where to go on; null: from the first topic
      { "TopicName", "string", "0+" }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "0+", ignorable = true },
    { "Topics", "[]DescribeTopicPartitionsResponseTopic", "0+", -- the topics
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "Name", "string", "0+", null = "0+" }, -- topic name; null: an id that is not known
      { "TopicId", "uuid", "0+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "IsInternal", "bool", "0+", ignorable = true }, -- true: a topic of the broker's own, such as __consumer_offsets
      { "Partitions", "[]DescribeTopicPartitionsResponsePartition", "0+", -- the partitions
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
        { "LeaderEpoch", "int32", "0+", default = -1, ignorable = true }, -- leader epoch of the partition; -1: unknown
        { "ReplicaNodes", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
        { "IsrNodes", "[]int32", "0+" }, -- broker ids of the in-sync replicas
        -- broker ids outside the ISR that have all committed records (KIP-966); null: unknown
        { "EligibleLeaderReplicas", "[]int32", "0+", null = "0+", default = "null" },
        -- broker ids that were last in the ISR or eligible (KIP-966); null: unknown
        { "LastKnownElr", "[]int32", "0+", null = "0+", default = "null" },
        { "OfflineReplicas", "[]int32", "0+", ignorable = true }, -- broker ids of replicas that are not alive
      },
      -- bit set of what the client may do with the topic (KIP-430); -2147483648: not asked for
      { "TopicAuthorizedOperations", "int32", "0+", default = -2147483648 },
    },
    { "NextCursor", "Cursor", "0+", null = "0+", default = "null", -- where to go on; null: all is there
      { "TopicName", "string", "0+" }, -- topic name
      { "PartitionIndex", "int32", "0+" }, -- partition, from 0
    },
  },
}
