-- SPDX-License-Identifier: Apache-2.0
--
-- What consumers put into the opaque bytes of JoinGroup and SyncGroup, behind a 16-bit version.
return {
  messages = {
    {
      name = "ConsumerProtocolSubscription",
      versions = "0-3",
      flexible = "none",
      fields = {
        { "Topics", "[]string", "0+" }, -- topics subscribed to
        { "UserData", "bytes", "0+", null = "0+", default = "null" }, -- bytes of the assignor's own; null: none
        -- partitions that the member holds, by topic (KIP-429)
        { "OwnedPartitions", "[]TopicPartition", "1+", ignorable = true,
          { "Topic", "string", "1+" }, -- topic name
          { "Partitions", "[]int32", "1+" }, -- partitions, from 0
        },
        -- generation in which the partitions were held; -1: none (KIP-792)
        { "GenerationId", "int32", "2+", default = -1, ignorable = true },
        -- rack of the consumer; null: unknown (KIP-881)
        { "RackId", "string", "3+", null = "3+", default = "null", ignorable = true },
      },
    },
    {
      name = "ConsumerProtocolAssignment",
      versions = "0-3",
      flexible = "none",
      fields = {
        { "AssignedPartitions", "[]TopicPartition", "0+", -- partitions given to the member, by topic
          { "Topic", "string", "0+" }, -- topic name
          { "Partitions", "[]int32", "0+" }, -- partitions, from 0
        },
        { "UserData", "bytes", "0+", null = "0+", default = "null" }, -- bytes of the assignor's own; null: none
      },
    },
  },
}
