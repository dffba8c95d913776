-- SPDX-License-Identifier: Apache-2.0
--
-- PushTelemetry: a client sends its metrics (KIP-714).
return {
  key = 72,
  name = "PushTelemetry",
  versions = "0",
  flexible = "0+",
  request = {
    { "ClientInstanceId", "uuid", "0+" }, -- id of the client for its metrics; in a request zero: give me one (KIP-714)
    { "SubscriptionId", "int32", "0+" }, -- version of the metrics wanted
    { "Terminating", "bool", "0+" }, -- true: the client's last push
    { "CompressionType", "int8", "0+" }, -- codec of the metrics: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
    { "Metrics", "bytes", "0+" }, -- metrics in OTLP, compressed
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
  },
}
