-- SPDX-License-Identifier: Apache-2.0
--
-- JoinGroup: a member joins or rejoins a group of the classic protocol.
return {
  key = 11,
  name = "JoinGroup",
  versions = "0-9",
  flexible = "6+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "SessionTimeoutMs", "int32", "0+" }, -- ms without a heartbeat after which the member is dropped
    -- ms that members have to rejoin; -1: the session timeout
    { "RebalanceTimeoutMs", "int32", "1+", default = -1, ignorable = true },
    { "MemberId", "string", "0+" }, -- member id; empty: none yet, the broker gives one (KIP-394)
    -- name of a static member (KIP-345); null: a dynamic one
    { "GroupInstanceId", "string", "5+", null = "5+", default = "null" },
    { "ProtocolType", "string", "0+" }, -- kind of group, "consumer"; null: unknown
    { "Protocols", "[]JoinGroupRequestProtocol", "0+", -- protocols that the member can, best first
      { "Name", "string", "0+" }, -- name of the protocol, such as "range"
      { "Metadata", "bytes", "0+" }, -- the member's subscription, opaque to the broker
    },
    -- why, for the broker's log (KIP-800)
    { "Reason", "string", "8+", null = "8+", default = "null", ignorable = true },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "2+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "GenerationId", "int32", "0+", default = -1 }, -- generation of the group; -1: unknown or not a member
    -- kind of group, "consumer"; null: unknown
    { "ProtocolType", "string", "7+", null = "7+", default = "null", ignorable = true },
    { "ProtocolName", "string", "0+", null = "7+" }, -- protocol that the group has chosen; null: none yet
    { "Leader", "string", "0+" }, -- member id of the group's leader
    { "SkipAssignment", "bool", "9+" }, -- true: the leader need not assign, it rejoined with nothing changed (KIP-814)
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    { "Members", "[]JoinGroupResponseMember", "0+", -- all members, for the leader; empty for the others
      { "MemberId", "string", "0+" }, -- member id; empty: none yet
      -- name of a static member (KIP-345); null: a dynamic one
      { "GroupInstanceId", "string", "5+", null = "5+", default = "null", ignorable = true },
      { "Metadata", "bytes", "0+" }, -- the member's subscription, opaque to the broker
    },
  },
}
