-- SPDX-License-Identifier: Apache-2.0
--
-- ListPartitionReassignments: moves that are under way (KIP-455).
return {
  key = 46,
  name = "ListPartitionReassignments",
  versions = "0",
  flexible = "0+",
  request = {
    { "TimeoutMs", "int32", "0+", default = 60000 }, -- ms to wait for the work to be done
    -- partitions to list; null: all
    { "Topics", "[]ListPartitionReassignmentsTopics", "0+", null = "0+", default = "null",
      { "Name", "string", "0+" }, -- topic name
      { "PartitionIndexes", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "Topics", "[]OngoingTopicReassignment", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]OngoingPartitionReassignment", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "Replicas", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
        { "AddingReplicas", "[]int32", "0+" }, -- broker ids being added by a reassignment (KIP-455)
        { "RemovingReplicas", "[]int32", "0+" }, -- broker ids being removed by a reassignment (KIP-455)
      },
    },
  },
}
