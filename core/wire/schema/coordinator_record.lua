-- SPDX-License-Identifier: Apache-2.0
--
-- Keys and values of the records in __consumer_offsets. A key begins with a 16-bit number that says which record it is
-- (enum coordinator_record_key in core/coordinator/records.h), and is otherwise of version 0; a value begins with the
-- 16-bit version of its own. A null value is a tombstone: what the key names is no more.
return {
  messages = {
    {
      name = "LegacyOffsetCommitKey", -- 0, as brokers before 0.9 wrote it
      versions = "0",
      flexible = "none",
      fields = {
        { "Group", "string", "0" }, -- group id
        { "Topic", "string", "0" }, -- topic name
        { "Partition", "int32", "0" }, -- partition, from 0
      },
    },
    {
      name = "LegacyOffsetCommitValue",
      versions = "0",
      flexible = "none",
      fields = {
        { "Offset", "int64", "0" }, -- next offset to consume
        { "Metadata", "string", "0" }, -- the client's note with the offset
        { "CommitTimestamp", "int64", "0" }, -- ms since 1970 of the commit
      },
    },
    {
      name = "OffsetCommitKey", -- 1
      versions = "0",
      flexible = "none",
      fields = {
        { "Group", "string", "0" }, -- group id
        { "Topic", "string", "0" }, -- topic name
        { "Partition", "int32", "0" }, -- partition, from 0
      },
    },
    {
      name = "OffsetCommitValue",
      versions = "0-4",
      flexible = "4+",
      fields = {
        { "Offset", "int64", "0+" }, -- next offset to consume
        -- leader epoch of the record before the offset (KIP-320); -1: unknown
        { "LeaderEpoch", "int32", "3+", default = -1, ignorable = true },
        { "Metadata", "string", "0+" }, -- the client's note with the offset
        { "CommitTimestamp", "int64", "0+" }, -- ms since 1970 of the commit
        -- ms since 1970 from which the offset may go; -1: when the broker's rule says so
        { "ExpireTimestamp", "int64", "1", default = -1, ignorable = true },
        { "TopicId", "uuid", "4+", tag = 0, ignorable = true }, -- topic id (KIP-848); zero: unknown
      },
    },
    {
      name = "GroupMetadataKey", -- 2
      versions = "0",
      flexible = "none",
      fields = {
        { "Group", "string", "0" }, -- group id
      },
    },
    {
      name = "GroupMetadataValue",
      versions = "0-4",
      flexible = "4+",
      fields = {
        { "ProtocolType", "string", "0+" }, -- what the members are: "consumer"; empty: none yet
        { "Generation", "int32", "0+" }, -- generation of the group
        { "Protocol", "string", "0+", null = "0+" }, -- protocol chosen, an assignor's name; null: none
        { "Leader", "string", "0+", null = "0+" }, -- member id of the leader; null: none
        -- ms since 1970 when the group came into its state; -1: unknown
        { "CurrentStateTimestamp", "int64", "2+", default = -1, ignorable = true },
        { "Members", "[]MemberMetadata", "0+", -- members of the generation
          { "MemberId", "string", "0+" }, -- member id
          -- name of a static member (KIP-345); null: a dynamic one
          { "GroupInstanceId", "string", "3+", null = "3+", default = "null", ignorable = true },
          { "ClientId", "string", "0+" }, -- what the client calls itself
          { "ClientHost", "string", "0+" }, -- its address, "/127.0.0.1"
          -- ms that it may take to join again; -1: the session timeout
          { "RebalanceTimeout", "int32", "1+", default = -1, ignorable = true },
          { "SessionTimeout", "int32", "0+" }, -- ms without a heartbeat after which it is out
          { "Subscription", "bytes", "0+" }, -- its metadata of the protocol chosen
          { "Assignment", "bytes", "0+" }, -- what the leader gave it
        },
      },
    },
    {
      name = "ConsumerGroupMetadataKey", -- 3, the first of KIP-848
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
      },
    },
    {
      name = "ConsumerGroupMetadataValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Epoch", "int32", "0+" }, -- epoch of the group
        -- hash of the topics subscribed to, as they were at that epoch; 0: unknown
        { "MetadataHash", "int64", "0+", tag = 0 },
      },
    },
    {
      name = "ConsumerGroupPartitionMetadataKey", -- 4, no longer written: see MetadataHash
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
      },
    },
    {
      name = "ConsumerGroupPartitionMetadataValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Topics", "[]TopicMetadata", "0+", -- topics subscribed to
          { "TopicId", "uuid", "0+" }, -- topic id
          { "TopicName", "string", "0+" }, -- topic name
          { "NumPartitions", "int32", "0+" }, -- how many partitions it had
          { "PartitionMetadata", "[]PartitionMetadata", "0+", -- racks of the partitions
            { "Partition", "int32", "0+" }, -- partition, from 0
            { "Racks", "[]string", "0+" }, -- racks of its replicas
          },
        },
      },
    },
    {
      name = "ConsumerGroupMemberMetadataKey", -- 5
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
        { "MemberId", "string", "0" }, -- member id
      },
    },
    {
      name = "ConsumerGroupMemberMetadataValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "InstanceId", "string", "0+", null = "0+" }, -- name of a static member; null: a dynamic one
        { "RackId", "string", "0+", null = "0+" }, -- rack of the client; null: unknown
        { "ClientId", "string", "0+" }, -- what the client calls itself
        { "ClientHost", "string", "0+" }, -- its address, "/127.0.0.1"
        { "SubscribedTopicNames", "[]string", "0+" }, -- topics subscribed to by name
        { "SubscribedTopicRegex", "string", "0+", null = "0+" }, -- and by regular expression; null: none
        { "RebalanceTimeoutMs", "int32", "0+", default = -1 }, -- ms that it may take to give partitions up; -1: unknown
        { "ServerAssignor", "string", "0+", null = "0+" }, -- assignor that it wants; null: the group's
        -- of a member that uses the classic protocol; null: it does not
        { "ClassicMemberMetadata", "ClassicMemberMetadata", "0+", null = "0+", tag = 0, default = "null",
          { "SessionTimeoutMs", "int32", "0+" }, -- ms without a heartbeat after which it is out
          { "SupportedProtocols", "[]ClassicProtocol", "0+", -- its protocols, best first
            { "Name", "string", "0+" }, -- an assignor's name
            { "Metadata", "bytes", "0+" }, -- its metadata for that
          },
        },
      },
    },
    {
      name = "ConsumerGroupTargetAssignmentMetadataKey", -- 6
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
      },
    },
    {
      name = "ConsumerGroupTargetAssignmentMetadataValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "AssignmentEpoch", "int32", "0+" }, -- epoch of the group that the target assignment is for
        { "AssignmentTimestamp", "int64", "0+", tag = 0, ignorable = true }, -- ms since 1970 when it was made; 0: unknown
      },
    },
    {
      name = "ConsumerGroupTargetAssignmentMemberKey", -- 7
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
        { "MemberId", "string", "0" }, -- member id
      },
    },
    {
      name = "ConsumerGroupTargetAssignmentMemberValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "TopicPartitions", "[]TopicPartition", "0+", -- what the member is to have
          { "TopicId", "uuid", "0+" }, -- topic id
          { "Partitions", "[]int32", "0+" }, -- partitions, from 0
        },
      },
    },
    {
      name = "ConsumerGroupCurrentMemberAssignmentKey", -- 8
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
        { "MemberId", "string", "0" }, -- member id
      },
    },
    {
      name = "ConsumerGroupCurrentMemberAssignmentValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "MemberEpoch", "int32", "0+" }, -- epoch of the member
        { "PreviousMemberEpoch", "int32", "0+" }, -- the one before, which it may still show; -1: none
        { "State", "int8", "0+" }, -- 0 stable, 1 gives partitions up, 2 waits for partitions of others
        { "AssignedPartitions", "[]TopicPartitions", "0+" }, -- what it has
        { "PartitionsPendingRevocation", "[]TopicPartitions", "0+" }, -- what it has and must give up
      },
      structs = {
        { "TopicPartitions", -- partitions of a topic
          { "TopicId", "uuid", "0+" }, -- topic id
          { "Partitions", "[]int32", "0+" }, -- partitions, from 0
          -- epoch at which it got each of them (KIP-1251); null: unknown
          { "AssignmentEpochs", "[]int32", "0+", null = "0+", tag = 0, default = "null" },
        },
      },
    },
    {
      name = "ConsumerGroupRegularExpressionKey", -- 16
      versions = "0",
      flexible = "none",
      fields = {
        { "GroupId", "string", "0" }, -- group id
        { "RegularExpression", "string", "0" }, -- what a member subscribes to
      },
    },
    {
      name = "ConsumerGroupRegularExpressionValue",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Topics", "[]string", "0+" }, -- topics that matched
        { "Version", "int64", "0+" }, -- of the metadata that they were found in
        { "Timestamp", "int64", "0+" }, -- ms since 1970 when they were found
      },
    },
  },
}
