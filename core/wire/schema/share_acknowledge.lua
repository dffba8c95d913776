-- SPDX-License-Identifier: Apache-2.0
--
-- ShareAcknowledge: acknowledges records of a share group (KIP-932).
return {
  key = 79,
  name = "ShareAcknowledge",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+", null = "0+", default = "null" }, -- group id; null: in an open session
    { "MemberId", "string", "0+", null = "0+" }, -- member id
    { "ShareSessionEpoch", "int32", "0+" }, -- number of the request in its session; 0: open one, -1: close it
    { "IsRenewAck", "bool", "2+" }, -- true: some acknowledgements renew the lock (KIP-1222)
    { "Topics", "[]AcknowledgeTopic", "0+", -- the topics
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]AcknowledgePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "AcknowledgementBatches", "[]AcknowledgementBatch", "0+", -- acknowledged ranges of offsets
          { "FirstOffset", "int64", "0+" }, -- first offset of the range
          { "LastOffset", "int64", "0+" }, -- last offset of the range, inclusive
          -- one for the whole range, or one a record: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (KIP-932)
          { "AcknowledgeTypes", "[]int8", "0+" },
        },
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    -- ms after which acquired records are given to others
    { "AcquisitionLockTimeoutMs", "int32", "2+", ignorable = true },
    { "Responses", "[]ShareAcknowledgeTopicResponse", "0+", -- an answer for each topic
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
        { "CurrentLeader", "LeaderIdAndEpoch", "0+", -- the leader, when the client has it wrong (KIP-951)
          { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
          { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        },
      },
    },
    { "NodeEndpoints", "[]NodeEndpoint", "0+", -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "0+" }, -- broker id
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "int32", "0+" }, -- TCP port
      { "Rack", "string", "0+", null = "0+", default = "null" }, -- rack of the broker; null: none
    },
  },
}
