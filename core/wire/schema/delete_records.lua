-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteRecords: deletes the records before an offset (KIP-107).
return {
  key = 21,
  name = "DeleteRecords",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "Topics", "[]DeleteRecordsTopic", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]DeleteRecordsPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "Offset", "int64", "0+" }, -- records before it are deleted; -1: before the high watermark
      },
    },
    { "TimeoutMs", "int32", "0+" }, -- ms to wait for the work to be done
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Topics", "[]DeleteRecordsTopicResult", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]DeleteRecordsPartitionResult", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "LowWatermark", "int64", "0+" }, -- smallest log start offset of the replicas; -1: an error
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      },
    },
  },
}
