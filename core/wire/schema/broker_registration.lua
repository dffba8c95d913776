-- SPDX-License-Identifier: Apache-2.0
--
-- BrokerRegistration: a broker registers with the controllers (KIP-631).
return {
  key = 62,
  name = "BrokerRegistration",
  versions = "0-4",
  flexible = "0+",
  request = {
    { "BrokerId", "int32", "0+" }, -- broker id
    { "ClusterId", "string", "0+" }, -- cluster id; null: unknown or not checked
    { "IncarnationId", "uuid", "0+" }, -- id of this run of the process
    { "Listeners", "[]Listener", "0+", -- where the sender listens
      { "Name", "string", "0+" }, -- name of the listener
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
      { "SecurityProtocol", "int16", "0+" }, -- 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
    },
    { "Features", "[]Feature", "0+", -- features that the sender supports
      { "Name", "string", "0+" }, -- name of the feature
      { "MinSupportedVersion", "int16", "0+" }, -- lowest level supported
      { "MaxSupportedVersion", "int16", "0+" }, -- highest level supported
    },
    { "Rack", "string", "0+", null = "0+" }, -- rack of the broker; null: none
    { "IsMigratingZkBroker", "bool", "1+" }, -- true: a ZooKeeper broker that is being migrated (KIP-866)
    { "LogDirs", "[]uuid", "2+", ignorable = true }, -- ids of the log directories (KIP-858)
    -- epoch of the broker before a clean shutdown (KIP-966); -1: unknown
    { "PreviousBrokerEpoch", "int64", "3+", default = -1, ignorable = true },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    -- registration of the broker, to tell it from its earlier lives (KIP-380); -1: unknown
    { "BrokerEpoch", "int64", "0+", default = -1 },
  },
}
