-- SPDX-License-Identifier: Apache-2.0
--
-- UpdateFeatures: raises or lowers feature levels of the cluster (KIP-584).
return {
  key = 57,
  name = "UpdateFeatures",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "timeoutMs", "int32", "0+", default = 60000 }, -- ms to wait for the work to be done
    { "FeatureUpdates", "[]FeatureUpdateKey", "0+", -- levels to set
      { "Feature", "string", "0+" }, -- name of the feature (KIP-584)
      { "MaxVersionLevel", "int16", "0+" }, -- level to set; below 1: remove the feature
      { "AllowDowngrade", "bool", "0" }, -- true: the feature level may go down; replaced by UpgradeType
      { "UpgradeType", "int8", "1+", default = 1 }, -- 1 upgrade, 2 safe downgrade, 3 unsafe downgrade (KIP-778)
    },
    { "ValidateOnly", "bool", "1+" }, -- true: check, change nothing
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome of the request; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    { "Results", "[]UpdatableFeatureResult", "0-1", ignorable = true, -- an answer for each item of the request
      { "Feature", "string", "0+" }, -- name of the feature (KIP-584)
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    },
  },
}
