-- SPDX-License-Identifier: Apache-2.0
--
-- ListConfigResources: resources that have configs; ListClientMetricsResources before 4.1 (KIP-1142).
return {
  key = 74,
  name = "ListConfigResources",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "ResourceTypes", "[]int8", "1+" }, -- kinds wanted, as in AlterConfigs; empty: all (KIP-1142)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ConfigResources", "[]ConfigResource", "0+", -- resources that have configs
      { "ResourceName", "string", "0+" }, -- name of the resource
      -- 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
      { "ResourceType", "int8", "1+", default = 16, ignorable = true },
    },
  },
}
