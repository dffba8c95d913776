-- SPDX-License-Identifier: Apache-2.0
--
-- SyncGroup: the leader hands out assignments, members get theirs.
return {
  key = 14,
  name = "SyncGroup",
  versions = "0-5",
  flexible = "4+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "GenerationId", "int32", "0+" }, -- generation of the group; -1: unknown or not a member
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- name of a static member (KIP-345); null: a dynamic one
    { "GroupInstanceId", "string", "3+", null = "3+", default = "null" },
    -- kind of group, "consumer"; null: unknown
    { "ProtocolType", "string", "5+", null = "5+", default = "null", ignorable = true },
    -- protocol that the group has chosen; null: none yet
    { "ProtocolName", "string", "5+", null = "5+", default = "null", ignorable = true },
    { "Assignments", "[]SyncGroupRequestAssignment", "0+", -- the leader's assignments; empty from followers
      { "MemberId", "string", "0+" }, -- member id; empty: none yet
      { "Assignment", "bytes", "0+" }, -- the member's assignment, opaque to the broker
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    -- kind of group, "consumer"; null: unknown
    { "ProtocolType", "string", "5+", null = "5+", default = "null", ignorable = true },
    -- protocol that the group has chosen; null: none yet
    { "ProtocolName", "string", "5+", null = "5+", default = "null", ignorable = true },
    { "Assignment", "bytes", "0+" }, -- the member's assignment, opaque to the broker
  },
}
