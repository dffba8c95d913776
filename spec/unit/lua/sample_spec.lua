-- SPDX-License-Identifier: Apache-2.0
-- What the console makes of the broker's metrics.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local sample = require "luka.words.sample"

--- A latency of buckets { { from, upto, count }, ... }.
local function latency(sum_us, max_us, buckets)
  local out = { name = "request.latency", label = "Fetch", kind = "latency", text = "", value = 0, sum_us = sum_us,
    max_us = max_us, buckets = {} }
  for i, bucket in ipairs(buckets) do
    out.value = out.value + bucket[3]
    out.buckets[i] = { from = bucket[1], upto = bucket[2], count = bucket[3] }
  end
  return out
end

describe("luka.words.sample", function()
  it("puts what a sample is of behind the section", function()
    assert.equal("request.Fetch.count", sample.name { name = "request.count", label = "Fetch" })
    assert.equal("topic.a.b.size_bytes", sample.name { name = "topic.size_bytes", label = "a.b" })
    assert.equal("network.requests", sample.name { name = "network.requests" })
  end)

  it("shows nothing of a latency that nothing has", function() assert.same({}, sample.latencies(latency(0, 0, {}))) end)

  it("finds quantiles within their bucket", function()
    assert.same({ mean_ms = 1.5, p50_ms = 1.5, p99_ms = 1.99, max_ms = 2 },
      sample.latencies(latency(150000, 2000, { { 1000, 2000, 100 } })))
    assert.same({ mean_ms = 0.02, p50_ms = 0.001, p99_ms = 1.5, max_ms = 2 },
      sample.latencies(latency(2000, 2000, { { 0, 1, 50 }, { 8, 9, 48 }, { 1000, 2000, 2 } })))
  end)

  it("never shows a quantile above the largest value", function()
    assert.same({ mean_ms = 1.1, p50_ms = 1.1, p99_ms = 1.1, max_ms = 1.1 },
      sample.latencies(latency(1100, 1100, { { 1000, 2000, 1 } })))
  end)

  it("takes the difference of two", function()
    local before = latency(500, 70, { { 1, 2, 10 }, { 64, 72, 3 } })
    local after = latency(900, 70, { { 1, 2, 12 }, { 8, 9, 4 }, { 64, 72, 3 } })
    local between = sample.difference(before, after)
    assert.same({ 6, 400, 9 }, { between.value, between.sum_us, between.max_us })
    assert.same({ { from = 1, upto = 2, count = 2 }, { from = 8, upto = 9, count = 4 } }, between.buckets)
    assert.same({ 0, {} }, { sample.difference(after, after).value, sample.difference(after, after).buckets })
  end)
end)
