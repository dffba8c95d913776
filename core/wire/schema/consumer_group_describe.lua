-- SPDX-License-Identifier: Apache-2.0
--
-- ConsumerGroupDescribe: state and members of groups of the new protocol (KIP-848).
return {
  key = 69,
  name = "ConsumerGroupDescribe",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupIds", "[]string", "0+" }, -- groups to describe
    { "IncludeAuthorizedOperations", "bool", "0+" }, -- true: say what the client may do with the groups (KIP-430)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Groups", "[]DescribedGroup", "0+", -- an answer for each group
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      { "GroupId", "string", "0+" }, -- group id
      { "GroupState", "string", "0+" }, -- state, such as "Stable" or "Empty"
      { "GroupEpoch", "int32", "0+" }, -- version of members and subscriptions
      { "AssignmentEpoch", "int32", "0+" }, -- group epoch of the current target assignment
      { "AssignorName", "string", "0+" }, -- assignor in use
      { "Members", "[]Member", "0+", -- members of the group
        { "MemberId", "string", "0+" }, -- member id; empty: none yet
        { "InstanceId", "string", "0+", null = "0+", default = "null" }, -- name of a static member; null: a dynamic one
        { "RackId", "string", "0+", null = "0+", default = "null" }, -- rack of the client; empty or null: unknown
        -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
        { "MemberEpoch", "int32", "0+" },
        { "ClientId", "string", "0+" }, -- what the client calls itself
        { "ClientHost", "string", "0+" }, -- address of the member
        { "SubscribedTopicNames", "[]string", "0+" }, -- topics subscribed to; in a request null: unchanged
        -- pattern subscribed to, RE2; null: none, or unchanged
        { "SubscribedTopicRegex", "string", "0+", null = "0+", default = "null" },
        { "Assignment", "Assignment", "0+" }, -- what the member has; in a response null: unchanged
        { "TargetAssignment", "Assignment", "0+" }, -- what the member is to have
        { "MemberType", "int8", "1+", default = -1, ignorable = true }, -- 0 classic, 1 consumer protocol; -1: unknown
      },
      -- bit set of what the client may do with the group (KIP-430); -2147483648: not asked for
      { "AuthorizedOperations", "int32", "0+", default = -2147483648 },
    },
  },
  response_structs = {
    { "TopicPartitions", -- partitions by topic
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "TopicName", "string", "0+" }, -- topic name
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
    { "Assignment", -- partitions or tasks of a member
      { "TopicPartitions", "[]TopicPartitions", "0+" }, -- partitions by topic
    },
  },
}
