-- SPDX-License-Identifier: Apache-2.0
--
-- BrokerHeartbeat: a broker tells the controllers that it is alive (KIP-631).
return {
  key = 63,
  name = "BrokerHeartbeat",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    { "BrokerEpoch", "int64", "0+", default = -1 }, -- registration of the broker; -1: unknown
    { "CurrentMetadataOffset", "int64", "0+" }, -- highest metadata offset that the broker has applied
    { "WantFence", "bool", "0+" }, -- true: fence me
    { "WantShutDown", "bool", "0+" }, -- true: I want to stop
    { "OfflineLogDirs", "[]uuid", "1+", tag = 0 }, -- ids of log directories that have failed
    -- log directories that take no new replicas (KIP-1066); null: unknown
    { "CordonedLogDirs", "[]uuid", "2+", tag = 1, null = "2+", default = "null" },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "IsCaughtUp", "bool", "0+" }, -- true: the broker has nearly all metadata
    { "IsFenced", "bool", "0+", default = true }, -- true: the broker may not lead and is not shown to clients
    { "ShouldShutDown", "bool", "0+" }, -- true: the broker may stop now
  },
}
