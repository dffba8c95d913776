-- SPDX-License-Identifier: Apache-2.0
--
-- ApiVersions: which requests a broker answers, in which versions; always the first question of a client.
return {
  key = 18,
  name = "ApiVersions",
  versions = "0-5",
  flexible = "3+",
  request = {
    { "ClientSoftwareName", "string", "3+", ignorable = true }, -- library of the client (KIP-511)
    { "ClientSoftwareVersion", "string", "3+", ignorable = true }, -- its version
    -- cluster that the client means; null: any
    { "ClusterId", "string", "5+", null = "5+", default = "null", ignorable = true },
    { "NodeId", "int32", "5+", default = -1, ignorable = true }, -- broker that the client means; -1: any
  },
  response = {
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ApiKeys", "[]ApiVersion", "0+", -- requests that the broker answers
      { "ApiKey", "int16", "0+" }, -- request type; enum wire_api_key
      { "MinVersion", "int16", "0+" }, -- lowest version that the broker answers
      { "MaxVersion", "int16", "0+" }, -- highest version that the broker answers
    },
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    -- features that the broker supports (KIP-584)
    { "SupportedFeatures", "[]SupportedFeatureKey", "3+", tag = 0, ignorable = true,
      { "Name", "string", "3+" }, -- name of the feature
      { "MinVersion", "int16", "3+" }, -- lowest level supported
      { "MaxVersion", "int16", "3+" }, -- highest level supported
    },
    -- version of those; -1: unknown
    { "FinalizedFeaturesEpoch", "int64", "3+", tag = 1, default = -1, ignorable = true },
    -- feature levels in force in the cluster
    { "FinalizedFeatures", "[]FinalizedFeatureKey", "3+", tag = 2, ignorable = true,
      { "Name", "string", "3+" }, -- name of the feature
      { "MaxVersionLevel", "int16", "3+" }, -- highest level in force
      { "MinVersionLevel", "int16", "3+" }, -- lowest level in force
    },
    -- true: the controllers are ready to migrate from ZooKeeper (KIP-866)
    { "ZkMigrationReady", "bool", "3+", tag = 3, ignorable = true },
  },
}
