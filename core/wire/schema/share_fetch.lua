-- SPDX-License-Identifier: Apache-2.0
--
-- ShareFetch: acquires records for a member of a share group, and acknowledges others (KIP-932).
return {
  key = 78,
  name = "ShareFetch",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+", null = "0+", default = "null" }, -- group id; null: in an open session
    { "MemberId", "string", "0+", null = "0+" }, -- member id
    { "ShareSessionEpoch", "int32", "0+" }, -- number of the request in its session; 0: open one, -1: close it
    { "MaxWaitMs", "int32", "0+" }, -- ms to wait for MinBytes at most
    { "MinBytes", "int32", "0+" }, -- bytes to wait for; 0: answer at once
    -- bytes wanted at most; the first batch comes whole even when it is larger
    { "MaxBytes", "int32", "0+", default = 2147483647 },
    { "MaxRecords", "int32", "1+" }, -- records wanted at most
    { "BatchSize", "int32", "1+" }, -- records per batch that the client would like (KIP-932)
    -- 0 up to a whole batch over MaxRecords, 1 never over it (KIP-1206)
    { "ShareAcquireMode", "int8", "2+", ignorable = true },
    { "IsRenewAck", "bool", "2+" }, -- true: some acknowledgements renew the lock (KIP-1222)
    { "Topics", "[]FetchTopic", "0+", -- partitions to fetch, or to change in the session
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]FetchPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        -- bytes wanted of this partition at most; of the early-access version only
        { "PartitionMaxBytes", "int32", "0" },
        { "AcknowledgementBatches", "[]AcknowledgementBatch", "0+", -- acknowledged ranges of offsets
          { "FirstOffset", "int64", "0+" }, -- first offset of the range
          { "LastOffset", "int64", "0+" }, -- last offset of the range, inclusive
          -- one for the whole range, or one a record: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (KIP-932)
          { "AcknowledgeTypes", "[]int8", "0+" },
        },
      },
    },
    { "ForgottenTopicsData", "[]ForgottenTopic", "0+", -- partitions to drop from the session (KIP-227)
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "AcquisitionLockTimeoutMs", "int32", "1+" }, -- ms after which acquired records are given to others
    { "Responses", "[]ShareFetchableTopicResponse", "0+", -- an answer for each topic
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
        { "AcknowledgeErrorCode", "int16", "0+" }, -- outcome of the acknowledgements; enum wire_error
        -- what went wrong with the acknowledgements
        { "AcknowledgeErrorMessage", "string", "0+", null = "0+", default = "null" },
        { "CurrentLeader", "LeaderIdAndEpoch", "0+", -- the leader, when the client has it wrong (KIP-951)
          { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
          { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        },
        { "Records", "records", "0+", null = "0" }, -- record batches that hold the acquired records
        { "AcquiredRecords", "[]AcquiredRecords", "0+", -- ranges of offsets that this member now holds
          { "FirstOffset", "int64", "0+" }, -- first offset of the range
          { "LastOffset", "int64", "0+" }, -- last offset of the range, inclusive
          { "DeliveryCount", "int16", "0+" }, -- how often the records have been delivered, from 1
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
