-- SPDX-License-Identifier: Apache-2.0
--
-- IncrementalAlterConfigs: changes single configs of a resource (KIP-339).
return {
  key = 44,
  name = "IncrementalAlterConfigs",
  versions = "0-1",
  flexible = "1+",
  request = {
    { "Resources", "[]AlterConfigsResource", "0+", -- resources to change
      { "ResourceType", "int8", "0+" }, -- 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
      { "ResourceName", "string", "0+" }, -- topic, broker id, group; empty broker: all brokers
      { "Configs", "[]AlterableConfig", "0+", -- configs to change
        { "Name", "string", "0+" }, -- name of the config
        { "ConfigOperation", "int8", "0+" }, -- 0 set, 1 delete, 2 append to a list, 3 subtract from it (KIP-339)
        { "Value", "string", "0+", null = "0+" }, -- value; null with operation 1
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
