-- SPDX-License-Identifier: Apache-2.0
-- What recovery does where it has to choose: offsets that are missing, indexes that lack entries, bytes that it cannot
-- keep.
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C = logs.C

local ENOSPC, EIO = 28, 5

--- A log of ten batches with three records each, ended by a crash.
local function crashed_log(options)
  local log = logs.open(options)
  for i = 1, 10 do log:append(logs.batch { records = { "one", "two", "three" }, ts = 1000 * i }, { epoch = 2 }) end
  log:crash()
  return log
end

--- Changes the bytes of a segment.
local function rewrite(log, fn, base)
  local path = log:path(base or 0, ".log")
  unit.write_file(path, fn(unit.read_file(path)))
end

local BATCH = #logs.batch { records = { "one", "two", "three" } }

describe("recovery of a log with a hole", function()
  it("cuts at a segment that ends before the next one begins", function()
    for _, size in ipairs { 0, 100 } do
      local log = logs.open { config = { segment_bytes = 200 } }
      for _ = 1, 6 do log:append(logs.batch { size = 100 }) end
      log:crash()
      rewrite(log, function(bytes) return bytes:sub(1, size) end, 2)
      local again
      local lines = logs.lines_of(function() again = logs.open { dir = log.dir } end)
      local good = 2 + size / 100
      assert.equal(good, again:end_offset())
      assert.equal(2, #lines)
      assert.truthy(lines[1]:match "%f[%w]warn%f[%W]")
      assert.truthy(lines[1]:find(("ends before offset %d"):format(good), 1, true))
      assert.is_nil(again:file(4, ".log"))
      assert.equal(200, #again:file(4, ".log.cut"))
      assert.same({ good }, again:append(logs.batch()))
      again:close()
    end
  end)

  it("keeps the segments after a hole below the recovery point or after a clean stop, with an error", function()
    for _, options in ipairs { { is_clean = true }, { recovery_point = 6 }, { recovery_point = 4 } } do
      for _, size in ipairs { 0, 100, 150 } do
        local config = { segment_bytes = 200, index_interval_bytes = 50 }
        local log = logs.open { config = config }
        for i = 1, 6 do log:append(logs.batch { size = 100, ts = i }) end
        log:close()
        rewrite(log, function(bytes) return bytes:sub(1, size) end, 2)
        options.dir, options.config = log.dir, config
        local again
        local lines = logs.lines_of(function() again = logs.open(options) end)
        local good = 2 + math.floor(size / 100)
        assert.equal(6, again:end_offset())
        assert.same(good == 2 and { 0, 1, 4, 5 } or { 0, 1, 2, 4, 5 }, again:bases())
        assert.truthy(lines[#lines]:match "%f[%w]error%f[%W]")
        assert.truthy(lines[#lines]:find(("offsets %d to 3 are missing"):format(good), 1, true))
        assert.equal(200, #again:file(4, ".log"))
        if size == 150 then assert.equal(50, #again:file(2, ".log.cut")) end
        again:close()
      end
    end
  end)

  it("does not give up what follows a hole below log start", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    for _ = 1, 6 do log:append(logs.batch { size = 100 }) end
    log:crash()
    rewrite(log, function() return "" end, 0)
    local again
    assert.same({}, logs.lines_of(function() again = logs.open { dir = log.dir, start = 3 } end))
    assert.equal(3, again:start_offset())
    assert.same({ 3, 4, 5 }, again:bases(3))
    again:close()
  end)

  it("keeps what follows a hole in the offsets that was there before the crash, also when the topic is compacted no more", function()
    for _, options in ipairs { { is_clean = true }, { recovery_point = 501 }, { recovery_point = 500 } } do
      local log = logs.open { config = { is_compacted = true } }
      for _, base in ipairs { 0, 10, 500 } do log:append(logs.batch { base = base }, { is_follower = true }) end
      if options.is_clean then log:close() else log:crash() end
      options.dir = log.dir
      local again
      local lines = logs.lines_of(function() again = logs.open(options) end)
      assert.same({ 0, 10, 500 }, again:bases())
      assert.equal(1, #lines)
      assert.truthy(lines[1]:match "%f[%w]error%f[%W]")
      assert.truthy(lines[1]:find("offsets 1 to 9 are missing", 1, true))
      assert.truthy(lines[1]:find("(places: 2)", 1, true))
      again:close()
    end
    -- Above the recovery point, batches were lost.
    local log = logs.open { config = { is_compacted = true } }
    for _, base in ipairs { 0, 10, 500 } do log:append(logs.batch { base = base }, { is_follower = true }) end
    log:crash()
    logs.lines_of(function()
      local again = logs.open { dir = log.dir, recovery_point = 11 }
      assert.same({ 0, 10 }, again:bases())
      again:close()
    end)
  end)
end)

describe("recovery", function()
  -- As a crash leaves it that came after the segment was closed, and before its indexes were synced.
  it("does not trust the time index of a segment that was closed at the recovery point", function()
    for _, recovery_point in ipairs { 20, 21 } do
      for entries = 0, 9 do
        local config = { index_interval_bytes = 150, segment_bytes = 2000 }
        local log = logs.open { config = config }
        for i = 1, 21 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
        assert.same({ 0, 20 }, (log:segments()))
        log:crash()
        local whole = log:file(0, ".timeindex")
        assert.equal(10 * 12, #whole)
        unit.write_file(log:path(0, ".timeindex"), whole:sub(1, 12 * entries))
        local again = logs.open { dir = log.dir, config = config, recovery_point = recovery_point }
        assert.same({ 19, 1020, 0 }, again:by_time(1020), entries)
        again:close()
        assert.equal(unit.hex(whole), unit.hex(log:file(0, ".timeindex")))
      end
    end
  end)

  it("does not trust a time index that ends before the offset index does", function()
    local config = { index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 200 do log:append(logs.batch { size = 100, ts = 1000 + (i <= 100 and i or 0) }) end
    for _ = 1, 100 do log:append(logs.batch { size = 100, ts = 1000 }) end
    log:crash()
    local whole = log:file(0, ".timeindex")
    for entries = 1, #whole / 12 do
      unit.write_file(log:path(0, ".timeindex"), whole:sub(1, 12 * entries))
      local again = logs.open { dir = log.dir, config = config, recovery_point = 200 }
      assert.same({ 99, 1100, 0 }, again:newest())
      assert.same({ 90, 1091, 0 }, again:by_time(1091))
      again:crash()
    end
  end)
end)

describe("recovery that has to cut", function()
  it("opens a log on a full disk when nothing is to be cut", function()
    local log = crashed_log()
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, ENOSPC)
    local again
    logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.equal(30, again:end_offset())
    again:close()
  end)

  it("does not open a log, and leaves it as it is, when what it would cut cannot be kept", function()
    for errno, name in pairs { [ENOSPC] = "ERR_NO_SPACE", [EIO] = "ERR_IO" } do
      local log = crashed_log()
      rewrite(log, function(bytes) return bytes .. "torn" end)
      local damaged = log:file(0, ".log")
      C.errinj_set(C.ERRINJ_FILE_WRITE, 1, errno)
      local again, err, message
      logs.lines_of(function() again, err, message = logs.open { dir = log.dir } end)
      C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
      assert.is_nil(again)
      assert.equal(name, err)
      assert.truthy(message:find(log:path(0, ".log") .. ": 4 bytes from byte " .. 10 * BATCH, 1, true), message)
      assert.equal(unit.hex(damaged), unit.hex(log:file(0, ".log")))
      assert.is_nil(log:file(0, ".log.cut"))
      logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
      assert.equal(30, again:end_offset())
      assert.equal("torn", log:file(0, ".log.cut"))
      again:close()
    end
  end)

  it("takes a file aside whole on a full disk when nothing in it is good", function()
    local log = crashed_log()
    rewrite(log, function(bytes) return bytes:sub(1, 30) .. "\255\255" .. bytes:sub(33) end)
    local damaged = log:file(0, ".log")
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, ENOSPC)
    local again
    local lines = logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.equal(1, #lines)
    assert.equal(0, again:end_offset())
    assert.equal(unit.hex(damaged), unit.hex(log:file(0, ".log.cut")))
    assert.same({ 0 }, again:append(logs.batch()))
    assert.equal(0, again:close())
    assert.equal(#logs.batch(), #log:file(0, ".log"))
  end)

  it("does not open a log with more cut files than are kept", function()
    local log = crashed_log()
    rewrite(log, function(bytes) return bytes .. "torn" end)
    for i = 1, 1000 do unit.write_file(log:path(0, i == 1 and ".log.cut" or ".log.cut." .. i), "") end
    local again, err = logs.open { dir = log.dir }
    assert.is_nil(again)
    assert.equal("ERR_LIMIT", err)
    assert.equal(10 * BATCH + 4, #log:file(0, ".log"))
  end)
end)
