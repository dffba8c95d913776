-- SPDX-License-Identifier: Apache-2.0
--
-- AlterClientQuotas: sets and removes quotas (KIP-546).
return {
  key = 49,
  name = "AlterClientQuotas",
  versions = "0-1",
  flexible = "1+",
  request = {
    { "Entries", "[]EntryData", "0+", -- quotas of an entity
      { "Entity", "[]EntityData", "0+", -- the entity that the quotas are for: one part, or user and client id
        { "EntityType", "string", "0+" }, -- "user", "client-id" or "ip"
        { "EntityName", "string", "0+", null = "0+" }, -- name; null: the default of that type
      },
      { "Ops", "[]OpData", "0+", -- quotas to set or remove
        { "Key", "string", "0+" }, -- name of the quota, such as "producer_byte_rate"
        { "Value", "float64", "0+" }, -- limit: bytes per second, percent or connections per second by its key
        { "Remove", "bool", "0+" }, -- true: remove the quota, false: set it
      },
    },
    { "ValidateOnly", "bool", "0+" }, -- true: check, change nothing
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Entries", "[]EntryData", "0+", -- quotas of an entity
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      { "Entity", "[]EntityData", "0+", -- the entity that the quotas are for: one part, or user and client id
        { "EntityType", "string", "0+" }, -- "user", "client-id" or "ip"
        { "EntityName", "string", "0+", null = "0+" }, -- name; null: the default of that type
      },
    },
  },
}
