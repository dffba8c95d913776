-- SPDX-License-Identifier: Apache-2.0
--
-- Produce: a client appends record batches to partitions.
return {
  key = 0,
  name = "Produce",
  versions = "0-13",
  flexible = "9+",
  request = {
    -- transactional id (KIP-98); null: not transactional
    { "TransactionalId", "string", "3+", null = "3+", default = "null" },
    { "Acks", "int16", "0+" }, -- 0: no answer; 1: written by the leader; -1: by all in-sync replicas
    { "TimeoutMs", "int32", "0+" }, -- ms to wait for the in-sync replicas when acks is -1
    { "TopicData", "[]TopicProduceData", "0+", -- batches by topic
      { "Name", "string", "0-12", ignorable = true }, -- topic name
      { "TopicId", "uuid", "13+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "PartitionData", "[]PartitionProduceData", "0+", -- batches by partition
        { "Index", "int32", "0+" }, -- partition, from 0
        -- one batch of format 2; older formats and more batches in versions below 3
        { "Records", "records", "0+", null = "0+" },
      },
    },
  },
  response = {
    { "Responses", "[]TopicProduceResponse", "0+", -- an answer for each topic
      { "Name", "string", "0-12", ignorable = true }, -- topic name
      { "TopicId", "uuid", "13+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "PartitionResponses", "[]PartitionProduceResponse", "0+", -- an answer for each partition
        { "Index", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "BaseOffset", "int64", "0+" }, -- offset of the first record; -1: unknown or an error
        -- ms since 1970 that the broker gave the records; -1: they keep their own timestamps
        { "LogAppendTimeMs", "int64", "2+", default = -1, ignorable = true },
        { "LogStartOffset", "int64", "5+", default = -1, ignorable = true }, -- first offset of the log; -1: unknown
        -- records because of which the batch was refused (KIP-467)
        { "RecordErrors", "[]BatchIndexAndErrorMessage", "8+", ignorable = true,
          { "BatchIndex", "int32", "8+" }, -- position of the refused record in its batch, from 0
          { "BatchIndexErrorMessage", "string", "8+", null = "8+", default = "null" }, -- why it was refused
        },
        -- what went wrong; null: nothing more to say
        { "ErrorMessage", "string", "8+", null = "8+", default = "null", ignorable = true },
        { "CurrentLeader", "LeaderIdAndEpoch", "10+", tag = 0, -- the leader, when the client has it wrong (KIP-951)
          { "LeaderId", "int32", "10+", default = -1 }, -- broker id of the leader; -1: none
          { "LeaderEpoch", "int32", "10+", default = -1 }, -- leader epoch of the partition; -1: unknown
        },
      },
    },
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "NodeEndpoints", "[]NodeEndpoint", "10+", tag = 0, -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "10+" }, -- broker id
      { "Host", "string", "10+" }, -- host name or address
      { "Port", "int32", "10+" }, -- TCP port
      { "Rack", "string", "10+", null = "10+", default = "null" }, -- rack of the broker; null: none
    },
  },
}
