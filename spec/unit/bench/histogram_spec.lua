-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "histogram_calls.h"

describe("the histogram of the load generator", function()
  local function quantile(histogram, q) return tonumber(C.histogram_quantile(histogram, q)) end

  it("answers 0 for everything when it is empty", function()
    local histogram = ffi.new "struct histogram"
    assert.same({ 0, 0 }, { quantile(histogram, 0.5), quantile(histogram, 1) })
  end)

  it("is exact below 128, where each value has a bucket", function()
    local histogram = ffi.new "struct histogram"
    for value = 1, 100 do C.histogram_add(histogram, value) end
    assert.same({ 1, 50, 90, 99, 100 }, { quantile(histogram, 0), quantile(histogram, 0.5), quantile(histogram, 0.9),
      quantile(histogram, 0.99), quantile(histogram, 1) })
    assert.equal(5050, histogram.sum)
  end)

  it("is never below the true quantile and at most 1/128 above it", function()
    local histogram = ffi.new "struct histogram"
    for i = 1, 100000 do C.histogram_add(histogram, i * 1000) end
    for _, q in ipairs { 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.99999 } do
      local exact = math.ceil(q * 100000) * 1000
      assert.is_true(quantile(histogram, q) >= exact)
      assert.is_true(quantile(histogram, q) <= exact * (1 + 1 / 128))
    end
  end)

  it("knows the largest value exactly, and takes every value", function()
    local histogram = ffi.new "struct histogram"
    C.histogram_add(histogram, 9223372036854775807LL)
    C.histogram_add(histogram, -5)
    assert.equal(0, quantile(histogram, 0.5))
    assert.is_true(C.histogram_quantile(histogram, 1) == 9223372036854775807LL)
    assert.equal(2, tonumber(histogram.count))
  end)

  it("gives each value once in a coarser histogram, at most 1/16 above it", function()
    local histogram = ffi.new "struct histogram"
    for i = 1, 1000 do C.histogram_add(histogram, i * 1000) end
    local bucket, bound, count = ffi.new "size_t[1]", ffi.new "int64_t[1]", ffi.new "uint64_t[1]"
    local seen, before = 0, -1
    while C.histogram_coarse(histogram, bucket, bound, count) do
      local upper = tonumber(bound[0])
      assert.is_true(upper > before)
      seen, before = seen + tonumber(count[0]), upper
      -- All values up to the bound have come, and none above it.
      assert.equal(math.min(1000, math.floor(upper / 1000)), seen)
      assert.is_true(upper <= math.max(15, seen * 1000 * (1 + 1 / 8)))
    end
    assert.equal(1000, seen)
  end)

  it("adds up those of several threads", function()
    local a, b = ffi.new "struct histogram", ffi.new "struct histogram"
    for value = 1, 50 do C.histogram_add(a, value) end
    for value = 51, 100 do C.histogram_add(b, value) end
    C.histogram_merge(a, b)
    assert.same({ 100, 50, 100, 100 }, { tonumber(a.count), quantile(a, 0.5), quantile(a, 1), tonumber(a.max) })
  end)
end)
