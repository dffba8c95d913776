-- SPDX-License-Identifier: Apache-2.0
-- The threads of the log cleaner: how many there are, what they wait for, and that they end.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local logs = require "spec.unit.log.manager"
local C = unit.load "base/metrics.h"

local COMPACT = { segment_bytes = 1000, is_compacting = true, is_compacted = true, is_deleting = false, min_dirty_ratio = 0,
  file_delete_delay_ms = 0 }
local UNLIMITED = math.huge

describe("The log cleaner", function()
  local dir, driver, mgr, wanted, keep

  --- What the cleaner does its work by; so slow that no pass ends, unless `rate` says otherwise.
  local function config(threads, rate)
    keep = ffi.new("struct log_cleaner_config", { threads = threads, dedupe_buffer_bytes = 1048576, load_factor = 0.9,
      io_buffer_bytes = 8192, io_bytes_per_second = rate or 1, backoff_ms = 1 })
    return keep
  end

  local function configure(...) C.log_manager_driver_configure_cleaner(driver, config(...)) end

  --- Starts a manager with compacted logs of ten values of one key each.
  local function start(count, threads, rate)
    local list = {}
    for i = 1, count do list[i] = { "t", i - 1, nil, config = COMPACT } end
    local all = logs.config({ dir }, { cleaner = config(threads, rate), high_watermark_checkpoint_ms = 5 })
    local out = ffi.new "struct log_manager_driver *[1]"
    assert(C.log_manager_driver_new(all, 2, out) == 0, logs.message())
    driver = out[0]
    mgr = C.log_manager_driver_manager(driver)
    assert(C.log_manager_claim(mgr, 1, "cluster", "/m/luka.mdb") == 0, logs.message())
    wanted = logs.wanted(list)
    assert(C.log_manager_start(mgr, wanted.array, count, false) == 0, logs.message())
    for i = 1, count do
      for value = 1, 10 do
        local bytes = batches.batch { records = { { key = "k", value = ("x"):rep(600) .. value } } }
        local batch, memory = ffi.new "struct log_batch[1]", unit.buffer(bytes)
        batch[0].bytes, batch[0].size, batch[0].max_timestamp = memory, #bytes, C.clock_wall_ms()
        assert(C.log_append(wanted[i].log, batch, 1, 0, C.clock_wall_ms()) == 0, logs.message())
      end
    end
    C.log_manager_driver_run(driver)
  end

  --- A value of the cleaner's.
  local function metric(name)
    local samples, found = ffi.new "struct metric_samples", nil
    C.log_cleaner_collect(mgr, samples)
    for i = 0, tonumber(samples.count) - 1 do
      if ffi.string(samples.items[i].metric.name) == "cleaner." .. name then found = tonumber(samples.items[i].value) end
    end
    C.metric_samples_destroy(samples)
    return (assert(found, name))
  end

  local function wait_for(name, value)
    assert(logs.wait(function() return metric(name) == value end), ("%s is %d, not %d"):format(name, metric(name), value))
  end

  --- Whether a log has nothing but the newest value in its closed segments.
  local function is_compacted(i) return logs.offsets(wanted[i].log).bytes < 2500 end

  before_each(function() dir = unit.temp_dir() end)
  after_each(function()
    if driver then assert.equal(0, C.log_manager_driver_stop(driver)) end
    driver = nil
    logs.collect()
  end)

  it("waits before it reads or writes more than the limit allows", function()
    start(1, 1)
    assert.is_truthy(logs.wait(function() return metric "paced_ms" > 0 end))
    assert.same({ 1, 0, 0 }, { metric "busy_threads", metric "passes", metric "failures" })
    assert.is_false(is_compacted(1))
  end)

  it("goes on at once with a pass that waits when there is no limit any more", function()
    start(1, 1)
    assert.is_truthy(logs.wait(function() return metric "paced_ms" > 0 end))
    configure(1, UNLIMITED)
    wait_for("passes", 1)
    assert.is_true(is_compacted(1))
  end)

  it("waits for nothing without a limit", function()
    start(3, 2, UNLIMITED)
    wait_for("passes", 3)
    assert.equal(0, metric "paced_ms")
  end)

  it("has as many logs under way as it has threads, also when that is changed", function()
    start(8, 4)
    wait_for("busy_threads", 4)
    configure(2)
    wait_for("busy_threads", 2)
    assert.equal(2, metric "threads")
    configure(5)
    wait_for("busy_threads", 5)
    configure(0)
    wait_for("busy_threads", 0)
    configure(6)
    wait_for("busy_threads", 6)
    assert.same({ 0, 0 }, { metric "passes", metric "failures" })
    configure(1, UNLIMITED)
    wait_for("passes", 8)
    for i = 1, 8 do assert.is_true(is_compacted(i)) end
  end)

  it("is left alone by threads that come and go very often", function()
    start(4, 1, UNLIMITED)
    for i = 1, 200 do configure(i % 7, UNLIMITED) end
    configure(3, UNLIMITED)
    wait_for("passes", 4)
    assert.equal(0, metric "failures")
  end)

  it("has at most 64 threads", function()
    start(1, 1000, UNLIMITED)
    wait_for("passes", 1)
    assert.equal(64, metric "threads")
  end)

  it("ends while a pass waits for the limit", function()
    start(2, 2)
    wait_for("busy_threads", 2)
    assert.equal(0, C.log_manager_driver_stop(driver))
    driver = nil
  end)

  it("lets go of a log that is deleted while its pass waits for the limit", function()
    start(1, 1)
    assert.is_truthy(logs.wait(function() return metric "paced_ms" > 0 end))
    assert.equal(0, C.log_manager_delete_log(mgr, wanted[1].log))
    wait_for("busy_threads", 0)
    assert.equal(0, metric "failures")
  end)
end)
