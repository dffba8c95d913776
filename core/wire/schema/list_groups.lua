-- SPDX-License-Identifier: Apache-2.0
--
-- ListGroups: groups that a broker coordinates.
return {
  key = 16,
  name = "ListGroups",
  versions = "0-5",
  flexible = "3+",
  request = {
    { "StatesFilter", "[]string", "4+" }, -- only groups in these states; empty: all (KIP-518)
    { "TypesFilter", "[]string", "5+" }, -- only groups of these types; empty: all (KIP-848)
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "Groups", "[]ListedGroup", "0+", -- groups that this broker coordinates
      { "GroupId", "string", "0+" }, -- group id
      { "ProtocolType", "string", "0+" }, -- kind of group, "consumer"; null: unknown
      { "GroupState", "string", "4+", ignorable = true }, -- state, such as "Stable" or "Empty"
      { "GroupType", "string", "5+", ignorable = true }, -- "classic", "consumer", "share" or "streams" (KIP-848)
    },
  },
}
