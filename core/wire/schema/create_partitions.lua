-- SPDX-License-Identifier: Apache-2.0
--
-- CreatePartitions: adds partitions to topics (KIP-195).
return {
  key = 37,
  name = "CreatePartitions",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "Topics", "[]CreatePartitionsTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Count", "int32", "0+" }, -- number of partitions wanted in all
      -- replicas of the new partitions by hand; null: the broker places them
      { "Assignments", "[]CreatePartitionsAssignment", "0+", null = "0+",
        { "BrokerIds", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
      },
    },
    { "TimeoutMs", "int32", "0+" }, -- ms to wait for the work to be done
    { "ValidateOnly", "bool", "0+" }, -- true: check, change nothing
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]CreatePartitionsTopicResult", "0+", -- an answer for each item of the request
      { "Name", "string", "0+" }, -- topic name
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    },
  },
}
