-- SPDX-License-Identifier: Apache-2.0
--
-- OffsetCommit: a group member, or a client without a group, stores offsets.
return {
  key = 8,
  name = "OffsetCommit",
  versions = "0-10",
  flexible = "8+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    -- generation, or member epoch of the new protocol (KIP-848); -1: a client outside the group
    { "GenerationIdOrMemberEpoch", "int32", "1+", default = -1, ignorable = true },
    { "MemberId", "string", "1+", ignorable = true }, -- member id; empty: a client outside the group
    -- name of a static member (KIP-345); null: a dynamic one
    { "GroupInstanceId", "string", "7+", null = "7+", default = "null" },
    { "RetentionTimeMs", "int64", "2-4", default = -1, ignorable = true }, -- ms to keep the offset; -1: as configured
    { "Topics", "[]OffsetCommitRequestTopic", "0+", -- the topics
      { "Name", "string", "0-9", ignorable = true }, -- topic name
      { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]OffsetCommitRequestPartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "CommittedOffset", "int64", "0+" }, -- next offset to consume; in a response -1: none committed
        -- leader epoch of the record before the offset (KIP-320); -1: unknown
        { "CommittedLeaderEpoch", "int32", "6+", default = -1, ignorable = true },
        { "CommitTimestamp", "int64", "1", default = -1 }, -- ms since 1970 of the commit; -1: now
        -- a note of the client's with the offset; null counts as empty
        { "CommittedMetadata", "string", "0+", null = "0+" },
      },
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "3+", ignorable = true },
    { "Topics", "[]OffsetCommitResponseTopic", "0+", -- the topics
      { "Name", "string", "0-9", ignorable = true }, -- topic name
      { "TopicId", "uuid", "10+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]OffsetCommitResponsePartition", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      },
    },
  },
}
