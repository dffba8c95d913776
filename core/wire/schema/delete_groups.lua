-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteGroups: deletes empty groups with their offsets (KIP-229).
return {
  key = 42,
  name = "DeleteGroups",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "GroupsNames", "[]string", "0+" }, -- groups to delete
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]DeletableGroupResult", "0+", -- an answer for each item of the request
      { "GroupId", "string", "0+" }, -- group id
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      -- what went wrong; null: nothing more to say
      { "ErrorMessage", "string", "3+", null = "3+", default = "null", ignorable = true },
    },
  },
}
