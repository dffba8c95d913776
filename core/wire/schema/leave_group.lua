-- SPDX-License-Identifier: Apache-2.0
--
-- LeaveGroup: members leave a classic group.
return {
  key = 13,
  name = "LeaveGroup",
  versions = "0-5",
  flexible = "4+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "MemberId", "string", "0-2" }, -- member id; empty: a static member
    { "Members", "[]MemberIdentity", "3+", -- members that leave
      { "MemberId", "string", "3+" }, -- member id; empty: a static member
      -- name of a static member (KIP-345); null: a dynamic one
      { "GroupInstanceId", "string", "3+", null = "3+", default = "null" },
      -- why, for the broker's log (KIP-800)
      { "Reason", "string", "5+", null = "5+", default = "null", ignorable = true },
    },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Members", "[]MemberResponse", "3+", -- an answer for each member
      { "MemberId", "string", "3+" }, -- member id; empty: none yet
      { "GroupInstanceId", "string", "3+", null = "3+" }, -- name of a static member (KIP-345); null: a dynamic one
      { "ErrorCode", "int16", "3+" }, -- outcome; enum wire_error
    },
  },
}
