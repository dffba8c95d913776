-- SPDX-License-Identifier: Apache-2.0
--
-- AlterReplicaLogDirs: moves replicas between the log directories of a broker (KIP-113).
return {
  key = 34,
  name = "AlterReplicaLogDirs",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "Dirs", "[]AlterReplicaLogDir", "0+", -- log directories to move to
      { "Path", "string", "0+" }, -- absolute path of the log directory
      { "Topics", "[]AlterReplicaLogDirTopic", "0+", -- the topics
        { "Name", "string", "0+" }, -- topic name
        { "Partitions", "[]int32", "0+" }, -- partitions, from 0
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]AlterReplicaLogDirTopicResult", "0+", -- an answer for each item of the request
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]AlterReplicaLogDirPartitionResult", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      },
    },
  },
}
