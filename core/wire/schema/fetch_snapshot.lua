-- SPDX-License-Identifier: Apache-2.0
--
-- FetchSnapshot: reads a snapshot of the metadata log (KIP-630).
return {
  key = 59,
  name = "FetchSnapshot",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "ClusterId", "string", "0+", tag = 0, null = "0+", default = "null" }, -- cluster id; null: unknown or not checked
    { "ReplicaId", "int32", "0+", default = -1 }, -- broker id of the replica; -1: a consumer
    { "MaxBytes", "int32", "0+", default = 2147483647 }, -- bytes wanted at most
    { "Topics", "[]TopicSnapshot", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionSnapshot", "0+", -- the partitions
        { "Partition", "int32", "0+" }, -- partition, from 0
        -- leader epoch as the client knows it, to be fenced by (KIP-320); -1: unknown
        { "CurrentLeaderEpoch", "int32", "0+" },
        { "SnapshotId", "SnapshotId", "0+", -- the snapshot
          { "EndOffset", "int64", "0+" }, -- first offset after the snapshot
          { "Epoch", "int32", "0+" }, -- leader epoch of the snapshot's last record
        },
        { "Position", "int64", "0+" }, -- first byte wanted or sent, from 0
        -- id of the replica's log directory (KIP-853); zero: unknown
        { "ReplicaDirectoryId", "uuid", "1+", tag = 0, ignorable = true },
      },
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "0+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Topics", "[]TopicSnapshot", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "[]PartitionSnapshot", "0+", -- the partitions
        { "Index", "int32", "0+" }, -- partition, from 0
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "SnapshotId", "SnapshotId", "0+", -- the snapshot
          { "EndOffset", "int64", "0+" }, -- first offset after the snapshot
          { "Epoch", "int32", "0+" }, -- leader epoch of the snapshot's last record
        },
        { "CurrentLeader", "LeaderIdAndEpoch", "0+", tag = 0, -- the leader, when the client has it wrong (KIP-951)
          { "LeaderId", "int32", "0+" }, -- broker id of the leader; -1: none
          { "LeaderEpoch", "int32", "0+" }, -- leader epoch of the partition; -1: unknown
        },
        { "Size", "int64", "0+" }, -- bytes of the snapshot
        { "Position", "int64", "0+" }, -- first byte wanted or sent, from 0
        { "UnalignedRecords", "records", "0+" }, -- bytes of the snapshot; may begin and end inside a batch
      },
    },
    { "NodeEndpoints", "[]NodeEndpoint", "1+", tag = 0, -- addresses of the leaders named above (KIP-951)
      { "NodeId", "int32", "1+" }, -- broker id
      { "Host", "string", "1+" }, -- host name or address
      { "Port", "uint16", "1+" }, -- TCP port
    },
  },
}
