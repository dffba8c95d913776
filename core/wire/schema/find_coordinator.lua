-- SPDX-License-Identifier: Apache-2.0
--
-- FindCoordinator: which broker coordinates a group or a transactional id.
return {
  key = 10,
  name = "FindCoordinator",
  versions = "0-6",
  flexible = "3+",
  request = {
    { "Key", "string", "0-3" }, -- group or transactional id to look up
    { "KeyType", "int8", "1+" }, -- 0 group, 1 transactional id, 2 share group
    { "CoordinatorKeys", "[]string", "4+" }, -- group or transactional ids to look up (KIP-699)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "0-3" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "1-3", null = "1-3", ignorable = true }, -- what went wrong; null: nothing more to say
    { "NodeId", "int32", "0-3" }, -- broker id of the coordinator; -1: an error
    { "Host", "string", "0-3" }, -- host name or address
    { "Port", "int32", "0-3" }, -- TCP port; -1: an error
    { "Coordinators", "[]Coordinator", "4+", -- an answer for each key
      { "Key", "string", "4+" }, -- the key that was looked up
      { "NodeId", "int32", "4+" }, -- broker id of the coordinator; -1: an error
      { "Host", "string", "4+" }, -- host name or address
      { "Port", "int32", "4+" }, -- TCP port; -1: an error
      { "ErrorCode", "int16", "4+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "4+", null = "4+", ignorable = true }, -- what went wrong; null: nothing more to say
    },
  },
}
