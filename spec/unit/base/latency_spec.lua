-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("base/latency.h", "base/metrics.h")

local LONGEST = 2 ^ 32 - 1

--- The buckets of a sum that are not empty: { { from, count }, ... }.
local function filled(sum)
  local out = {}
  for i = 0, C.LATENCY_BUCKETS - 1 do
    if sum.buckets[i] > 0 then out[#out + 1] = { tonumber(C.latency_bucket_start(i)), tonumber(sum.buckets[i]) } end
  end
  return out
end

local function sum_of(...)
  local sum = ffi.new "struct latency_sum"
  for _, latency in ipairs { ... } do C.latency_add(sum, latency) end
  return sum
end

describe("latencies", function()
  it("are empty at first", function()
    local sum = sum_of(ffi.new "struct latency")
    assert.same({ 0, 0, 0 }, { tonumber(sum.count), tonumber(sum.sum_us), tonumber(sum.max_us) })
  end)

  it("have a bucket for each value below 16, and then eight for each doubling", function()
    local latency = ffi.new "struct latency"
    for _, us in ipairs { 0, 7, 8, 15, 16, 17, 18, 1000, 1023, 1024 } do C.latency_count(latency, us) end
    assert.same({ { 0, 1 }, { 7, 1 }, { 8, 1 }, { 15, 1 }, { 16, 2 }, { 18, 1 }, { 960, 2 }, { 1024, 1 } },
      filled(sum_of(latency)))
  end)

  it("find the bucket of every value", function()
    for i = 0, C.LATENCY_BUCKETS - 1 do
      local first, after = tonumber(C.latency_bucket_start(i)), tonumber(C.latency_bucket_start(i + 1))
      for _, us in ipairs { first, after - 1 } do
        local latency = ffi.new "struct latency"
        C.latency_count(latency, us)
        assert.same({ { first, 1 } }, filled(sum_of(latency)), us)
      end
      assert.is_true(after - first <= math.max(1, first / 8))
    end
    assert.equal(LONGEST + 1, tonumber(C.latency_bucket_start(C.LATENCY_BUCKETS)))
  end)

  it("take what is out of their range as its end", function()
    local latency = ffi.new "struct latency"
    C.latency_count(latency, -5)
    C.latency_count(latency, 9223372036854775807LL)
    local sum = sum_of(latency)
    assert.same({ 2, LONGEST, LONGEST }, { tonumber(sum.count), tonumber(sum.sum_us), tonumber(sum.max_us) })
    assert.same({ 0, 2 ^ 31 * 15 / 8 }, { filled(sum)[1][1], filled(sum)[2][1] })
  end)

  it("of several threads are added up", function()
    local one, two = ffi.new "struct latency", ffi.new "struct latency"
    for us = 1, 3 do C.latency_count(one, us) end
    for us = 3, 4 do C.latency_count(two, us) end
    local sum = sum_of(one, two)
    assert.same({ 5, 13, 4 }, { tonumber(sum.count), tonumber(sum.sum_us), tonumber(sum.max_us) })
    assert.same({ { 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 1 } }, filled(sum))
  end)

  it("are a metric like others, with all buckets", function()
    local metric = ffi.new("struct metric", { name = "a.time", label = "api", kind = C.METRIC_LATENCY, text = "t" })
    local latency, samples = ffi.new "struct latency", ffi.new "struct metric_samples"
    for us = 1, 3 do C.latency_count(latency, us) end
    local sum = sum_of(latency)
    C.metrics_put_latency(samples, metric, "Produce", sum)
    ffi.fill(sum, ffi.sizeof(sum)) -- it was copied
    local sample = samples.items[0]
    assert.same({ 1, "Produce", 3 }, { tonumber(samples.count), ffi.string(sample.label), tonumber(sample.value) })
    assert.same({ { 1, 1 }, { 2, 1 }, { 3, 1 } }, filled(sample.latency))
    C.metric_samples_destroy(samples)
  end)
end)
