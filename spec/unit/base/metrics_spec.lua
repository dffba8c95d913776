-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("base/metrics.h", "base/mem.h", "os/process.h", "os/clock.h", "event/pool.h")

--- Collects; { "name" or "name/label" = value } and the order.
local function collect(metrics)
  local samples = ffi.new "struct metric_samples"
  C.metrics_collect(metrics, samples)
  local values, order = {}, {}
  for i = 0, tonumber(samples.count) - 1 do
    local item = samples.items[i]
    local name = ffi.string(item.metric.name) .. (item.label ~= nil and "/" .. ffi.string(item.label) or "")
    values[name], order[#order + 1] = tonumber(item.value), name
  end
  C.metric_samples_destroy(samples)
  return values, order
end

describe("metrics", function()
  it("are asked of every source, in the order of registration", function()
    local one = ffi.new("struct metric", { name = "a.one", kind = C.METRIC_COUNTER, text = "one" })
    local two = ffi.new("struct metric", { name = "b.two", label = "api", kind = C.METRIC_GAUGE, text = "two" })
    local first = ffi.cast("metrics_collect_fn", function(_, out) C.metrics_put(out, one, nil, 5) end)
    local second = ffi.cast("metrics_collect_fn", function(_, out)
      for i = 1, 200 do C.metrics_put(out, two, "label" .. i, -i) end
    end)
    local metrics = ffi.new "struct metrics"
    assert.same({}, (collect(metrics)))
    C.metrics_add_source(metrics, first, nil)
    C.metrics_add_source(metrics, second, nil)
    local values, order = collect(metrics)
    assert.equal(201, #order)
    assert.same({ "a.one", "b.two/label1", "b.two/label200" }, { order[1], order[2], order[201] })
    assert.same({ 5, -1, -200 }, { values["a.one"], values["b.two/label1"], values["b.two/label200"] })
  end)

  it("of the process are what the system says", function()
    local start = ffi.new("struct process_start", { wall_ms = C.clock_wall_ms() - 5000, mono_ms = C.clock_mono_ms() - 5000 })
    local metrics = ffi.new "struct metrics"
    C.metrics_add_source(metrics, C.process_collect, start)
    local values = collect(metrics)
    assert.equal(tonumber(start.wall_ms), values["process.start_time"])
    assert.is_true(values["process.uptime_ms"] >= 5000 and values["process.uptime_ms"] < 65000)
    assert.is_true(values["process.memory_bytes"] > 1024 * 1024)
    assert.is_true(values["process.cpu_ms"] >= 0)
    assert.is_true(values["process.open_files"] >= 3)
    assert.is_true(values["process.threads"] >= 1)
    local files = {}
    for i = 1, 10 do files[i] = assert(io.open "/dev/null") end
    assert.equal(values["process.open_files"] + 10, collect(metrics)["process.open_files"])
    for _, file in ipairs(files) do file:close() end
  end)

  it("of the pool are its threads and jobs", function()
    local pool = C.pool_new(3)
    local metrics = ffi.new "struct metrics"
    C.metrics_add_source(metrics, C.pool_collect, pool)
    assert.same({ ["pool.threads"] = 3, ["pool.jobs"] = 0, ["pool.waiting"] = 0 }, (collect(metrics)))
    C.pool_delete(pool)
  end)
end)
