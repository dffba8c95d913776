-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.manager"
local C = logs.C

describe("a retention pass", function()
  local mgr, dir
  before_each(function()
    dir = unit.temp_dir()
    mgr = logs.started({ dir }, {})
  end)
  after_each(function()
    assert.equal(0, C.log_manager_stop(mgr))
    logs.collect()
  end)

  --- A log with segments of about 1000 bytes; `over` are topic configs.
  local function open(over)
    local config = { segment_bytes = 1000, retention_ms = -1, retention_bytes = -1 }
    for key, value in pairs(over) do config[key] = value end
    return assert(logs.open(mgr, "t", 0, nil, { config = config }))
  end

  --- Runs a pass; returns segments and bytes deleted, and the log start offset.
  local function run(log, high_watermark, now_ms)
    local result = ffi.new "struct retention_result"
    local now = now_ms or C.clock_wall_ms()
    local high = high_watermark or C.log_end_offset(log)
    local is_due = C.retention_is_due(log, now, high)
    assert.equal(0, C.retention_run(log, "t", 0, now, high, result))
    assert.equal(is_due, result.segments > 0)
    return result.segments, tonumber(result.bytes), tonumber(result.start_offset)
  end

  it("deletes nothing without limits, whatever the age", function()
    local log = open {}
    for _ = 1, 30 do logs.append(log, 100, 1000) end
    assert.same({ 0, 0, 0 }, { run(log) })
  end)

  it("keeps at least retention.bytes and less than a segment more", function()
    local log = open { retention_bytes = 5000 }
    for _ = 1, 100 do logs.append(log, 100) end
    local before = logs.offsets(log)
    local segments, bytes, start = run(log)
    local after = logs.offsets(log)
    assert.equal(before.segments - after.segments, segments)
    assert.equal(before.bytes - after.bytes, bytes)
    assert.equal(after.start, start)
    assert.is_true(after.bytes >= 5000 and after.bytes < 6000)
    assert.equal(100, after["end"])
    assert.same({ 0, 0, start }, { run(log) })
  end)

  it("never deletes the active segment for size", function()
    local log = open { retention_bytes = 0 }
    for _ = 1, 30 do logs.append(log, 100) end
    run(log)
    local after = logs.offsets(log)
    assert.equal(1, after.segments)
    assert.is_true(after.bytes > 0)
    assert.equal(tonumber(C.log_active_base_offset(log)), after.start)
  end)

  it("deletes segments whose newest record is too old", function()
    local now = tonumber(C.clock_wall_ms())
    local log = open { retention_ms = 60000 }
    for i = 1, 40 do logs.append(log, 100, now - (i <= 20 and 120000 or 1000)) end
    local _, _, start = run(log, nil, now)
    assert.is_true(start > 10 and start <= 20)
    assert.equal(40, logs.offsets(log)["end"])
  end)

  it("deletes the active segment too when all of it is too old, and keeps the log's end", function()
    local now = tonumber(C.clock_wall_ms())
    local log = open { retention_ms = 60000 }
    for _ = 1, 12 do logs.append(log, 100, now - 120000) end
    local _, _, start = run(log, nil, now)
    assert.equal(12, start)
    assert.same({ 12, 12, 0 }, { logs.offsets(log).start, logs.offsets(log)["end"], logs.offsets(log).bytes })
    assert.equal(12, logs.append(log))
  end)

  it("goes by the file's time for a segment with a record from the future", function()
    local now = tonumber(C.clock_wall_ms())
    local log = open { retention_ms = 60000 }
    logs.append(log, 100, now + 10 * 365 * 86400000)
    for _ = 1, 30 do logs.append(log, 100, now) end
    assert.same({ 0, 0, 0 }, { run(log, nil, now) })
    -- A minute and more later all of it is old, the record from the future too.
    local _, _, start = run(log, nil, now + 120000)
    assert.equal(31, start)
  end)

  it("deletes nothing at or above the high watermark", function()
    local log = open { retention_bytes = 0 }
    for _ = 1, 40 do logs.append(log, 100) end
    local _, _, start = run(log, 12)
    assert.is_true(start > 0 and start <= 12)
  end)

  it("deletes what lies below the log start offset", function()
    local log = open {}
    for _ = 1, 40 do logs.append(log, 100) end
    assert.equal(0, C.log_set_start_offset(log, 25))
    local before = logs.offsets(log)
    local segments, _, start = run(log)
    assert.is_true(segments > 0)
    assert.equal(before.segments - segments, logs.offsets(log).segments)
    assert.equal(25, start)
  end)

  it("deletes by neither time nor size when the topic is only compacted", function()
    local log = open { retention_ms = 1, retention_bytes = 0, is_deleting = false, is_compacted = true }
    for _ = 1, 30 do logs.append(log, 100, 1000) end
    assert.same({ 0, 0, 0 }, { run(log) })
  end)

  it("keeps the files for file.delete.delay.ms under another name", function()
    local log = open { retention_bytes = 0, file_delete_delay_ms = 60000 }
    for _ = 1, 30 do logs.append(log, 100) end
    run(log)
    assert.is_truthy(logs.name_like(dir .. "/t-0", "^00000000000000000000%.log%.deleted$"))
  end)
end)
