-- SPDX-License-Identifier: Apache-2.0
-- What administrators see of partitions, and what the parts count.
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load("base/epoch.h", "base/error.h", "os/clock.h", "log/log.h", "log/retention.h", "replica/inspect.h",
  "inspect_driver.h")

local thread = ffi.new "struct epoch_thread"
C.epoch_register(thread)
C.epoch_enter()

local HOUR = 3600000

describe("a topic's partitions", function()
  local driver, dir

  local function start(options)
    dir = unit.temp_dir()
    driver = C.inspect_driver_new(dir, options.partitions or 2, options.segment_bytes or 1000, options.retention_ms or -1,
      options.retention_bytes or -1)
    assert(driver ~= nil)
  end

  after_each(function()
    assert(thread ~= nil) -- it is registered: not to be collected before
    assert.equal(0, C.inspect_driver_stop(driver))
    C.epoch_leave()
    C.epoch_collect()
    C.epoch_collect()
    C.epoch_enter()
  end)

  local function append(count, timestamp, partition)
    for _ = 1, count do
      assert.is_true(C.inspect_driver_append(driver, partition or 0, timestamp or C.clock_wall_ms(), 200) >= 0)
    end
  end

  --- Calls `see` with the inspection.
  local function look(topic, partition, see)
    local inspection = ffi.new "struct replica_inspection"
    C.inspect_driver_look(driver, topic, partition, inspection)
    local ok, err = pcall(see, inspection)
    C.replica_inspection_destroy(inspection)
    if not ok then error(err, 0) end
  end

  local function reasons(view)
    local out = {}
    for i = 0, view.segment_count - 1 do out[i + 1] = tonumber(view.segments[i].verdict.reason) end
    return out
  end

  it("show their offsets, their folder and their segments", function()
    start {}
    append(10)
    look("t", -1, function(seen)
      assert.equal(0, seen.result)
      assert.same({ 2, 2 }, { seen.count, seen.partition_count })
      local view = seen.views[0]
      assert.is_true(view.is_here)
      assert.equal(tonumber(C.PARTITION_LEADER), tonumber(view.state.role))
      assert.same({ 0, 10, 10 }, { tonumber(view.state.log_start_offset), tonumber(view.state.high_watermark),
        tonumber(view.end_offset) })
      assert.equal(dir .. "/t-0", ffi.string(view.dir))
      assert.is_true(view.segment_count > 1)
      local bytes, next_offset = 0, 0
      for i = 0, view.segment_count - 1 do
        local info = view.segments[i].info
        assert.equal(next_offset, tonumber(info.base_offset))
        next_offset, bytes = tonumber(info.next_offset), bytes + tonumber(info.size_bytes)
        assert.equal(i == view.segment_count - 1, info.is_active)
      end
      assert.same({ 10, tonumber(view.size_bytes) }, { next_offset, bytes })
      assert.is_false(view.is_cut)
    end)
  end)

  it("are not here when another broker has them", function()
    start {}
    look("t", 1, function(seen)
      assert.same({ 1, 1, false }, { seen.count, seen.views[0].partition, seen.views[0].is_here })
    end)
  end)

  it("of one number are looked at alone", function()
    start { partitions = 4 }
    look("t", 2, function(seen) assert.same({ 1, 2 }, { seen.count, seen.views[0].partition }) end)
    look("t", 4, function(seen) assert.equal(tonumber(C.ERR_OFFSET_OUT_OF_RANGE), seen.result) end)
  end)

  it("are not found for a name that no topic has", function()
    start {}
    for _, name in ipairs { "u", "", ("t"):rep(1000) } do
      look(name, -1, function(seen) assert.same({ tonumber(C.ERR_NOT_FOUND), 0 }, { seen.result, seen.count }) end)
    end
  end)

  it("have no segments to show when their disk has failed", function()
    start {}
    append(3)
    C.inspect_driver_fail(driver, 0)
    look("t", 0, function(seen)
      assert.equal(tonumber(C.PARTITION_OFFLINE), tonumber(seen.views[0].state.role))
      assert.is_true(seen.views[0].is_here)
      assert.equal(0, seen.views[0].segment_count)
      assert.is_true(seen.views[0].dir == nil)
    end)
    assert.equal(1, tonumber(C.inspect_driver_metric(driver, "partition.offline", nil)))
  end)

  it("say of each segment whether it goes, and which pass takes it otherwise", function()
    start { retention_ms = HOUR }
    local now = tonumber(C.clock_wall_ms())
    append(3, now - 2 * HOUR)
    append(3, now - HOUR / 2)
    look("t", 0, function(seen)
      local view = seen.views[0]
      assert.same({ tonumber(C.LOG_RETENTION_MS), tonumber(C.LOG_KEEP_YOUNG) }, reasons(view))
      assert.same({ true, false }, { view.segments[0].verdict.is_going, view.segments[1].verdict.is_going })
      -- No passes are made yet.
      assert.same({ -1, -1 }, { tonumber(seen.next_pass_ms), tonumber(view.segments[1].verdict.due_ms) })
    end)
    C.inspect_driver_run(driver)
    look("t", 0, function(seen)
      local view, next_ms = seen.views[0], tonumber(seen.next_pass_ms)
      assert.is_true(next_ms > now and next_ms <= now + 30000)
      assert.equal(next_ms, tonumber(view.segments[0].verdict.due_ms))
      local due = tonumber(view.segments[1].verdict.due_ms)
      assert.is_true(due >= now + HOUR / 2 and due < now + HOUR / 2 + 20001)
      assert.equal(0, (due - next_ms) % 20000)
    end)
  end)

  it("say that DeleteRecords took a segment", function()
    start {}
    append(6)
    assert.equal(0, C.inspect_driver_delete_records(driver, 0, 4))
    look("t", 0, function(seen)
      assert.same({ tonumber(C.LOG_RETENTION_START_OFFSET), tonumber(C.LOG_KEEP_UNLIMITED) }, reasons(seen.views[0]))
      assert.equal(4, tonumber(seen.views[0].state.log_start_offset))
    end)
  end)

  it("count what is appended, by topic and in all, also beyond their end", function()
    start { partitions = 3 }
    append(5, nil, 0)
    append(2, nil, 1)
    local function metric(name, label) return tonumber(C.inspect_driver_metric(driver, name, label)) end
    assert.same({ 7, 7, 7, 2 }, { metric("topic.appended_records", "t"), metric("topic.appended_batches", "t"),
      metric "log.appended_records", metric "partition.leaders" })
    local bytes = metric "log.appended_bytes"
    assert.equal(bytes, metric("topic.appended_bytes", "t"))
    assert.equal(bytes, metric "log.size_bytes")
    C.inspect_driver_drop(driver)
    assert.same({ 7, bytes, 0, 0 }, { metric "log.appended_records", metric "log.appended_bytes", metric "log.size_bytes",
      metric "partition.count" })
  end)
end)

describe("retention_pass_at", function()
  local function at(due, next_ms, interval) return tonumber(C.retention_pass_at(due, next_ms, interval)) end
  it("is the first pass that is not before", function()
    assert.same({ 1000, 1000, 1300, 1300, 1600 }, { at(5, 1000, 300), at(1000, 1000, 300), at(1001, 1000, 300),
      at(1300, 1000, 300), at(1301, 1000, 300) })
  end)
  it("is never for what is never due, beyond all times, or without passes", function()
    assert.same({ -1, -1, -1 }, { at(-1, 1000, 300), at(0x7fffffffffffffffLL, 1000, 300), at(5000, -1, 300) })
  end)
end)
