-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeConfigs: configs of topics, brokers and groups (KIP-133).
return {
  key = 32,
  name = "DescribeConfigs",
  versions = "0-4",
  flexible = "4+",
  request = {
    { "Resources", "[]DescribeConfigsResource", "0+", -- resources to describe
      { "ResourceType", "int8", "0+" }, -- 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group
      { "ResourceName", "string", "0+" }, -- topic, broker id, group; empty broker: all brokers
      { "ConfigurationKeys", "[]string", "0+", null = "0+" }, -- names to describe; null: all
    },
    { "IncludeSynonyms", "bool", "1+" }, -- true: with the values that stand behind each (KIP-226)
    { "IncludeDocumentation", "bool", "3+" }, -- true: with the documentation of each config (KIP-569)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]DescribeConfigsResult", "0+", -- an answer for each item of the request
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      { "ResourceType", "int8", "0+" }, -- as in the request
      { "ResourceName", "string", "0+" }, -- name of the resource
      { "Configs", "[]DescribeConfigsResourceResult", "0+", -- the configs
        { "Name", "string", "0+" }, -- name of the config
        { "Value", "string", "0+", null = "0+" }, -- value; null: none, or a secret
        { "ReadOnly", "bool", "0+" }, -- true: cannot be changed at run time
        { "IsDefault", "bool", "0" }, -- true: nobody set the value; replaced by ConfigSource
        -- where the value is from: 1 topic, 2 broker, 3 all brokers, 4 file, 5 built-in default; -1: unknown
        { "ConfigSource", "int8", "1+", default = -1, ignorable = true },
        { "IsSensitive", "bool", "0+" }, -- true: a secret; the value is null
        -- values that stand behind it, first the one in effect
        { "Synonyms", "[]DescribeConfigsSynonym", "1+", ignorable = true,
          { "Name", "string", "1+" }, -- name of the config
          { "Value", "string", "1+", null = "0+" }, -- value; null: none, or a secret
          { "Source", "int8", "1+" }, -- where the value is from, as ConfigSource
        },
        -- 0 unknown, 1 bool, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password
        { "ConfigType", "int8", "3+", ignorable = true },
        { "Documentation", "string", "3+", null = "0+", ignorable = true }, -- what the config does; null: not asked for
      },
    },
  },
}
