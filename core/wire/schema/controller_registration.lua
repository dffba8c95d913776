-- SPDX-License-Identifier: Apache-2.0
--
-- ControllerRegistration: a controller registers with the active one (KIP-919).
return {
  key = 70,
  name = "ControllerRegistration",
  versions = "0",
  flexible = "0+",
  request = {
    { "ControllerId", "int32", "0+" }, -- broker id of the controller; -1: none
    { "IncarnationId", "uuid", "0+" }, -- id of this run of the process
    { "ZkMigrationReady", "bool", "0+" }, -- true: the controllers are ready to migrate from ZooKeeper (KIP-866)
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
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
  },
}
