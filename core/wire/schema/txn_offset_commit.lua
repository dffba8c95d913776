-- SPDX-License-Identifier: Apache-2.0
--
-- TxnOffsetCommit: stores offsets that count when the transaction commits (KIP-98).
return {
  key = 28,
  name = "TxnOffsetCommit",
  versions = "0-6",
  flexible = "3+",
  request = {
    { "TransactionalId", "string", "0+" }, -- transactional id
    { "GroupId", "string", "0+" }, -- group id
    { "ProducerId", "int64", "0+" }, -- producer id; -1: none
    { "ProducerEpoch", "int16", "0+" }, -- epoch of the producer; -1: none
    -- generation, or member epoch of the new protocol (KIP-848); -1: a client outside the group
    { "GenerationIdOrMemberEpoch", "int32", "3+", default = -1 },
    { "MemberId", "string", "3+" }, -- member id (KIP-447); empty: unknown
    -- name of a static member (KIP-345); null: a dynamic one
    { "GroupInstanceId", "string", "3+", null = "3+", default = "null" },
    { "Topics", "[]TxnOffsetCommitRequestTopic", "0+", -- the topics
      { "Name", "string", "0-5", ignorable = true }, -- topic name
      { "TopicId", "uuid", "6+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]TxnOffsetCommitRequestPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "CommittedOffset", "int64", "0+" }, -- next offset to consume; in a response -1: none committed
        -- leader epoch of the record before the offset (KIP-320); -1: unknown
        { "CommittedLeaderEpoch", "int32", "2+", default = -1, ignorable = true },
        -- a note of the client's with the offset; null counts as empty
        { "CommittedMetadata", "string", "0+", null = "0+" },
      },
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Topics", "[]TxnOffsetCommitResponseTopic", "0+", -- the topics
      { "Name", "string", "0-5", ignorable = true }, -- topic name
      { "TopicId", "uuid", "6+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]TxnOffsetCommitResponsePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      },
    },
  },
}
