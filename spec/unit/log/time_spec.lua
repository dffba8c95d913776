-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C, NOW = logs.C, logs.NOW
local NONE = { -1, -1, -1 }

--- Records with these times, as one batch.
local function timed(times, options)
  options = options or {}
  local records, largest = {}, times[1]
  for i, ts in ipairs(times) do
    records[i] = { value = "v", ts = ts - times[1] }
    largest = math.max(largest, ts)
  end
  options.records, options.ts, options.max_ts = records, times[1], options.max_ts or largest
  return logs.batch(options)
end

describe("log_offset_by_time", function()
  -- Case T1.
  it("looks inside a batch", function()
    local log = logs.open()
    log:append(timed { 2, 4, 6, 8 }, { epoch = 5 })
    assert.same({ 0, 2, 5 }, log:by_time(0))
    assert.same({ 0, 2, 5 }, log:by_time(2))
    assert.same({ 1, 4, 5 }, log:by_time(3))
    assert.same({ 2, 6, 5 }, log:by_time(5))
    assert.same({ 3, 8, 5 }, log:by_time(8))
    log:append(timed { 20, 1 }, { epoch = 5 })
    assert.same({ 4, 20, 5 }, log:by_time(15))
    log:close()
  end)

  -- Case T2.
  it("finds none when no record is that new, or there is no record", function()
    local log = logs.open()
    assert.same(NONE, log:by_time(0))
    log:append(timed { 2, 4, 6, 8 })
    assert.same(NONE, log:by_time(1000))
    assert.same(NONE, log:by_time(0x3fffffffffffffffLL))
    log:close()
  end)

  -- Case T4.
  it("finds a record in a batch whose largest time was never set", function()
    local log = logs.open()
    log:append(unit.bytes [[
      000000000000000000000039ffffffff0282c1f18e0000000000000000018bcfe56800
      ffffffffffffffffffffffffffffffffffffffffffff000000010e00000001027600]])
    assert.same({ 0, 1700000000000, 0 }, log:by_time(1700000000000LL))
    assert.same({ 0, 1700000000000, 0 }, log:by_time(5))
    assert.same(NONE, log:by_time(1700000000001LL))
    assert.same({ 0, 1700000000000, 0 }, log:newest())
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.same({ 0, 1700000000000, 0 }, again:by_time(5))
    again:close()
  end)

  it("unpacks compressed batches", function()
    for codec = 1, 4 do
      local log = logs.open()
      log:append(timed({ 10, 20, 30 }, { codec = codec }))
      assert.same({ 1, 20, 0 }, log:by_time(11))
      log:close()
    end
  end)

  it("goes by the header of a batch whose records cannot be read", function()
    for _, bad in ipairs {
      { codec = 1, payload = "no gzip", count = 2, last_delta = 1, ts = 10, max_ts = 20 },
      { codec = 0, payload = "\255\255\255\255\15no record", count = 2, last_delta = 1, ts = 10, max_ts = 20 },
    } do
      local log = logs.open()
      log:append(timed { 1, 2 }, { epoch = 3 })
      log:append(logs.batch(bad), { epoch = 3 })
      log:append(timed { 11, 12 }, { epoch = 3 })
      assert.same({ 1, 2, 3 }, log:by_time(2))
      assert.same({ 2, 20, 3 }, log:by_time(5))
      assert.same({ 2, 20, 3 }, log:by_time(20))
      assert.same(NONE, log:by_time(21))
      assert.same({ 2, 20, 3 }, log:newest())
      assert.equal(0, C.log_set_start_offset(log.log, 3))
      assert.same({ 3, 20, 3 }, log:by_time(5))
      assert.same({ 3, 20, 3 }, log:newest())
      log:close()
    end
  end)

  it("goes on to later batches and segments when a batch promises too much", function()
    local log = logs.open { config = { segment_bytes = 300 } }
    log:append(timed({ 10 }, { max_ts = 500 }))
    log:append(timed { 100 })
    C.log_roll(log.log, NOW)
    log:append(timed { 300 })
    assert.same({ 2, 300, 0 }, log:by_time(200))
    assert.same({ 1, 100, 0 }, log:by_time(50))
    log:close()
  end)

  it("begins at the log start", function()
    local log = logs.open()
    log:append { timed { 2, 4, 6, 8 }, timed { 20, 1 } }
    C.log_set_start_offset(log.log, 2)
    assert.same({ 2, 6, 0 }, log:by_time(0))
    assert.same({ 4, 20, 0 }, log:by_time(7 + 2))
    C.log_set_start_offset(log.log, 5)
    assert.same({ 5, 1, 0 }, log:by_time(0))
    assert.same(NONE, log:by_time(2))
    log:close()
  end)

  it("finds none at or above the limit", function()
    local log = logs.open()
    log:append { timed { 2, 4 }, timed { 6 } }
    assert.same({ 1, 4, 0 }, log:by_time(3, 2))
    assert.same(NONE, log:by_time(5, 2))
    log:close()
  end)

  it("is right for every time in a log with many segments and index entries, before and after a restart", function()
    local config = { segment_bytes = 1000, index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 0, 59 do log:append(logs.batch { size = 100, ts = 10 * i }) end
    assert.equal(6, C.log_segment_count(log.log))
    for _, is_reopened in ipairs { false, true } do
      if is_reopened then
        log:close()
        log = logs.open { dir = log.dir, is_clean = true, config = config }
      end
      for ts = 0, 590 do
        local i = math.ceil(ts / 10)
        assert.same({ i, 10 * i, 0 }, log:by_time(ts))
      end
    end
    log:close()
  end)
end)

describe("A batch whose largest timestamp was never set", function()
  -- Old clients sent -1 there; followers and adopted logs have such batches.
  for _, is_clean in ipairs { true, false } do
    it(("counts with its first timestamp, for searches and for retention, also after a %s"):format(
      is_clean and "clean end" or "crash"), function()
      local config = { index_interval_bytes = 0, segment_bytes = 250 }
      local log = logs.open { config = config }
      for i = 1, 4 do log:append(timed({ 1700000000000 + 1000 * i, 1700000000000 + 1000 * i + 5 }, { max_ts = -1 }), { epoch = 1 }) end
      assert.is_true(#log:segments() > 1)
      for round = 1, 2 do
        for i = 1, 4 do
          local time = 1700000000000 + 1000 * i
          assert.same({ 2 * i - 2, time, 1 }, log:by_time(time - 1))
          assert.same({ 2 * i - 2, time, 1 }, log:by_time(time))
        end
        assert.same(NONE, log:by_time(1700000000000 + 4006))
        assert.same({ 6, 1700000000000 + 4000, 1 }, log:newest())
        local infos = ffi.new "struct log_segment_info[10]"
        local count = C.log_segments(log.log, infos, 10)
        for i = 0, count - 1 do
          assert.equal(1700000000000 + 1000 * tonumber(infos[i].next_offset) / 2, tonumber(infos[i].max_timestamp))
        end
        if round == 1 then
          if is_clean then assert.equal(0, log:close()) else log:crash() end
          log = logs.open { dir = log.dir, config = config, is_clean = is_clean }
        end
      end
      log:crash()
    end)
  end
end)

describe("log_max_timestamp", function()
  it("finds the first record with the largest time", function()
    local log = logs.open()
    assert.same(NONE, log:newest())
    log:append({ timed { 5, 9 }, timed { 30, 30, 2 }, timed { 30 }, timed { 7 } }, { epoch = 2 })
    assert.same({ 2, 30, 2 }, log:newest())
    log:close()
  end)

  it("over all segments", function()
    local log = logs.open()
    for _, ts in ipairs { 10, 500, 20, 500, 30 } do
      log:append(timed { ts })
      C.log_roll(log.log, NOW)
    end
    assert.same({ 1, 500, 0 }, log:newest())
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.same({ 1, 500, 0 }, again:newest())
    again:close()
  end)

  it("finds none when it lies at or above the limit", function()
    local log = logs.open()
    log:append { timed { 5 }, timed { 30 } }
    assert.same(NONE, log:newest(1))
    log:close()
  end)

  it("counts from the log start on", function()
    local log = logs.open()
    log:append { timed { 100, 3, 50 }, timed { 40 }, timed { 7 } }
    C.log_set_start_offset(log.log, 1)
    assert.same({ 2, 50, 0 }, log:newest())
    C.log_set_start_offset(log.log, 3)
    assert.same({ 3, 40, 0 }, log:newest())
    C.log_set_start_offset(log.log, 5)
    assert.same(NONE, log:newest())
    log:close()
  end)
end)
