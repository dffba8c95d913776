-- SPDX-License-Identifier: Apache-2.0
--
-- Heartbeat: a member of a classic group is alive.
return {
  key = 12,
  name = "Heartbeat",
  versions = "0-4",
  flexible = "4+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "GenerationId", "int32", "0+" }, -- generation of the group; -1: unknown or not a member
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- name of a static member (KIP-345); null: a dynamic one
    { "GroupInstanceId", "string", "3+", null = "3+", default = "null" },
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
  },
}
