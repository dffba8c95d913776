-- SPDX-License-Identifier: Apache-2.0
--
-- Fetch: a consumer or follower reads record batches, within a fetch session if it likes.
return {
  key = 1,
  name = "Fetch",
  versions = "0-18",
  flexible = "12+",
  request = {
    -- cluster id, checked by the metadata quorum; null: not checked
    { "ClusterId", "string", "12+", tag = 0, null = "12+", default = "null", ignorable = true },
    -- broker id of the follower; -1: a consumer, -2: a debugging consumer
    { "ReplicaId", "int32", "0-14", default = -1 },
    { "ReplicaState", "ReplicaState", "15+", tag = 1, -- the follower (KIP-903)
      -- broker id of the follower; -1: a consumer, -2: a debugging consumer
      { "ReplicaId", "int32", "15+", default = -1 },
      { "ReplicaEpoch", "int64", "15+", default = -1 }, -- broker epoch of the follower (KIP-903); -1: unknown
    },
    { "MaxWaitMs", "int32", "0+" }, -- ms to wait for MinBytes at most
    { "MinBytes", "int32", "0+" }, -- bytes to wait for; 0: answer at once
    -- bytes wanted of all partitions at most; the first batch comes whole even when it is larger
    { "MaxBytes", "int32", "3+", default = 2147483647, ignorable = true },
    { "IsolationLevel", "int8", "4+", ignorable = true }, -- 0 read_uncommitted, 1 read_committed (KIP-98)
    { "SessionId", "int32", "7+", ignorable = true }, -- fetch session (KIP-227); 0: none
    -- number of the request in its session; 0: open one, -1: without one (KIP-227)
    { "SessionEpoch", "int32", "7+", default = -1, ignorable = true },
    { "Topics", "[]FetchTopic", "0+", -- partitions to fetch, or to change in the session
      { "Topic", "string", "0-12", ignorable = true }, -- topic name
      { "TopicId", "uuid", "13+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]FetchPartition", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        -- leader epoch as the client knows it, to be fenced by (KIP-320); -1: unknown
        { "CurrentLeaderEpoch", "int32", "9+", default = -1, ignorable = true },
        { "FetchOffset", "int64", "0+" }, -- first offset wanted
        -- leader epoch of the follower's last record (KIP-595); -1: none
        { "LastFetchedEpoch", "int32", "12+", default = -1 },
        -- log start offset of the follower (KIP-107); -1: a consumer
        { "LogStartOffset", "int64", "5+", default = -1, ignorable = true },
        { "PartitionMaxBytes", "int32", "0+" }, -- bytes wanted of this partition at most
        -- id of the follower's metadata log directory (KIP-853)
        { "ReplicaDirectoryId", "uuid", "17+", tag = 0, ignorable = true },
        -- the follower's high watermark (KIP-1166); the largest int64: unknown, answer as ever
        { "HighWatermark", "int64", "18+", tag = 1, default = "9223372036854775807", ignorable = true },
      },
    },
    { "ForgottenTopicsData", "[]ForgottenTopic", "7+", -- partitions to drop from the session (KIP-227)
      { "Topic", "string", "7-12", ignorable = true }, -- topic name
      { "TopicId", "uuid", "13+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]int32", "7+" }, -- partitions, from 0
    },
    { "RackId", "string", "11+", ignorable = true }, -- rack of the client; empty or null: unknown
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "7+", ignorable = true }, -- outcome of the request or of its session; enum wire_error
    { "SessionId", "int32", "7+" }, -- fetch session (KIP-227); 0: none
    { "Responses", "[]FetchableTopicResponse", "0+", -- an answer for each topic
      { "Topic", "string", "0-12", ignorable = true }, -- topic name
      { "TopicId", "uuid", "13+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "Partitions", "[]PartitionData", "0+", -- the partitions
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "HighWatermark", "int64", "0+" }, -- first offset that is not committed; -1: an error
        -- first offset that an open transaction may still decide; -1: unknown
        { "LastStableOffset", "int64", "4+", default = -1, ignorable = true },
        -- first offset of the log (KIP-107); -1: unknown
        { "LogStartOffset", "int64", "5+", default = -1, ignorable = true },
        -- where the follower's log leaves the leader's (KIP-595): cut to there
        { "DivergingEpoch", "EpochEndOffset", "12+", tag = 0,
          { "Epoch", "int32", "12+", default = -1 }, -- largest epoch of the leader's not above the follower's; -1: none
          { "EndOffset", "int64", "12+", default = -1 }, -- end of that epoch in the leader's log; -1: none
        },
        { "CurrentLeader", "LeaderIdAndEpoch", "12+", tag = 1, -- the leader, when the client has it wrong (KIP-951)
          { "LeaderId", "int32", "12+", default = -1 }, -- broker id of the leader; -1: none
          { "LeaderEpoch", "int32", "12+", default = -1 }, -- leader epoch of the partition; -1: unknown
        },
        -- fetch this snapshot instead of the log (KIP-630); EndOffset -1: no
        { "SnapshotId", "SnapshotId", "12+", tag = 2,
          { "EndOffset", "int64", "0+", default = -1 }, -- first offset after the snapshot; -1: none
          { "Epoch", "int32", "0+", default = -1 }, -- leader epoch of the snapshot's last record; -1: none
        },
        -- aborted transactions that overlap the records, for read_committed (KIP-98); null: none asked for
        { "AbortedTransactions", "[]AbortedTransaction", "4+", null = "4+", ignorable = true,
          { "ProducerId", "int64", "4+" }, -- producer id; -1: none
          { "FirstOffset", "int64", "4+" }, -- offset of the transaction's first record
        },
        -- broker id to fetch from instead (KIP-392); -1: this one
        { "PreferredReadReplica", "int32", "11+", default = -1 },
        -- record batches from the offset on, the last one maybe cut off; null or empty: none
        { "Records", "records", "0+", null = "0+" },
      },
    },
    { "NodeEndpoints", "[]NodeEndpoint", "16+", tag = 0, -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "16+" }, -- broker id
      { "Host", "string", "16+" }, -- host name or address
      { "Port", "int32", "16+" }, -- TCP port
      { "Rack", "string", "16+", null = "16+", default = "null" }, -- rack of the broker; null: none
    },
  },
}
