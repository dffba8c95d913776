-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeGroups: state and members of classic groups.
return {
  key = 15,
  name = "DescribeGroups",
  versions = "0-6",
  flexible = "5+",
  request = {
    { "Groups", "[]string", "0+" }, -- groups to describe
    { "IncludeAuthorizedOperations", "bool", "3+" }, -- true: say what the client may do with the groups (KIP-430)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "Groups", "[]DescribedGroup", "0+", -- an answer for each group
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "6+", null = "6+", default = "null" }, -- what went wrong; null: nothing more to say
      { "GroupId", "string", "0+" }, -- group id
      { "GroupState", "string", "0+" }, -- state, such as "Stable" or "Empty"
      { "ProtocolType", "string", "0+" }, -- kind of group, "consumer"; null: unknown
      { "ProtocolData", "string", "0+" }, -- protocol that the group has chosen
      { "Members", "[]DescribedGroupMember", "0+", -- members of the group
        { "MemberId", "string", "0+" }, -- member id; empty: none yet
        -- name of a static member (KIP-345); null: a dynamic one
        { "GroupInstanceId", "string", "4+", null = "4+", default = "null", ignorable = true },
        { "ClientId", "string", "0+" }, -- what the client calls itself
        { "ClientHost", "string", "0+" }, -- address of the member
        { "MemberMetadata", "bytes", "0+" }, -- the member's subscription, opaque to the broker
        { "MemberAssignment", "bytes", "0+" }, -- the member's assignment, opaque to the broker
      },
      -- bit set of what the client may do with the group (KIP-430); -2147483648: not asked for
      { "AuthorizedOperations", "int32", "3+", default = -2147483648 },
    },
  },
}
