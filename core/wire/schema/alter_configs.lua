-- SPDX-License-Identifier: Apache-2.0
--
-- AlterConfigs: replaces all configs of a resource (KIP-133).
return {
  key = 33,
  name = "AlterConfigs",
  versions = "0-2",
  flexible = "2+",
  request = {
    { "Resources", "[]AlterConfigsResource", "0+", -- resources to change
      { "ResourceType", "int8", "0+" }, -- 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
      { "ResourceName", "string", "0+" }, -- topic, broker id, group; empty broker: all brokers
      { "Configs", "[]AlterableConfig", "0+", -- all configs wanted: others go back to their defaults
        { "Name", "string", "0+" }, -- name of the config
        { "Value", "string", "0+", null = "0+" }, -- value; null: the default
      },
    },
    { "ValidateOnly", "bool", "0+" }, -- true: check, change nothing
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Responses", "[]AlterConfigsResourceResponse", "0+", -- an answer for each resource
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      { "ResourceType", "int8", "0+" }, -- as in the request
      { "ResourceName", "string", "0+" }, -- name of the resource
    },
  },
}
