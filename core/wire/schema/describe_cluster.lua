-- SPDX-License-Identifier: Apache-2.0
--
-- DescribeCluster: brokers, controller and id of the cluster (KIP-700).
return {
  key = 60,
  name = "DescribeCluster",
  versions = "0-2",
  flexible = "0+",
  request = {
    -- true: say what the client may do with the cluster (KIP-430)
    { "IncludeClusterAuthorizedOperations", "bool", "0+" },
    { "EndpointType", "int8", "1+", default = 1 }, -- 1 brokers, 2 controllers (KIP-919)
    { "IncludeFencedBrokers", "bool", "2+" }, -- true: with brokers that are registered but fenced (KIP-1073)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "EndpointType", "int8", "1+", default = 1 }, -- 1 brokers, 2 controllers (KIP-919)
    { "ClusterId", "string", "0+" }, -- cluster id; null: unknown or not checked
    { "ControllerId", "int32", "0+", default = -1 }, -- broker id of the controller; -1: none
    { "Brokers", "[]DescribeClusterBroker", "0+", -- the brokers, or controllers
      { "BrokerId", "int32", "0+" }, -- broker id
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "int32", "0+" }, -- TCP port
      { "Rack", "string", "0+", null = "0+", default = "null" }, -- rack of the broker; null: none
      { "IsFenced", "bool", "2+" }, -- true: the broker may not lead and is not shown to clients
    },
    -- bit set of what the client may do with the cluster (KIP-430); -2147483648: not asked for
    { "ClusterAuthorizedOperations", "int32", "0+", default = -2147483648 },
  },
}
