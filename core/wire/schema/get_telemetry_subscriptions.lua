-- SPDX-License-Identifier: Apache-2.0
--
-- GetTelemetrySubscriptions: which metrics the broker wants from a client (KIP-714).
return {
  key = 71,
  name = "GetTelemetrySubscriptions",
  versions = "0",
  flexible = "0+",
  request = {
    { "ClientInstanceId", "uuid", "0+" }, -- id of the client for its metrics; in a request zero: give me one (KIP-714)
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ClientInstanceId", "uuid", "0+" }, -- id of the client for its metrics; in a request zero: give me one (KIP-714)
    { "SubscriptionId", "int32", "0+" }, -- version of the metrics wanted
    -- codecs in which metrics may be pushed, best first: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
    { "AcceptedCompressionTypes", "[]int8", "0+" },
    { "PushIntervalMs", "int32", "0+" }, -- ms between pushes
    { "TelemetryMaxBytes", "int32", "0+" }, -- bytes of a push at most
    { "DeltaTemporality", "bool", "0+" }, -- true: push counters as deltas, false: as totals
    { "RequestedMetrics", "[]string", "0+" }, -- prefixes of metric names; one empty string: all
  },
}
