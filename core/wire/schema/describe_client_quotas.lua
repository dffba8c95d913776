-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeClientQuotas: quotas of users, clients and addresses (KIP-546).
return {
  key = 48,
  name = "DescribeClientQuotas",
  versions = "0-1",
  flexible = "1+",
  request = {
    { "Components", "[]ComponentData", "0+", -- conditions that an entity has to meet, one for each entity type
      { "EntityType", "string", "0+" }, -- "user", "client-id" or "ip"
      { "MatchType", "int8", "0+" }, -- 0 exactly the name, 1 the default, 2 any that is named
      { "Match", "string", "0+", null = "0+" }, -- name to match; null: see MatchType
    },
    { "Strict", "bool", "0+" }, -- true: entities with more parts than were asked for do not match
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "Entries", "[]EntryData", "0+", null = "0+", -- quotas by entity; null: an error
      { "Entity", "[]EntityData", "0+", -- the entity that the quotas are for: one part, or user and client id
        { "EntityType", "string", "0+" }, -- "user", "client-id" or "ip"
        { "EntityName", "string", "0+", null = "0+" }, -- name; null: the default of that type
      },
      { "Values", "[]ValueData", "0+", -- its quotas
        { "Key", "string", "0+" }, -- name of the quota, such as "producer_byte_rate"
        { "Value", "float64", "0+" }, -- limit: bytes per second, percent or connections per second by its key
      },
    },
  },
}
