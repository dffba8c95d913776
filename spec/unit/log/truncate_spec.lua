-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C, NOW = logs.C, logs.NOW

--- A log of `count` batches of 100 bytes with one record (or `records`) each, times rising by the second.
local function filled(count, options, records)
  local log = logs.open(options)
  for i = 1, count do
    log:append(logs.batch { size = 100, last_delta = (records or 1) - 1, count = records or 1, ts = 1000 * i }, { epoch = 1 })
  end
  return log
end

local function truncate(log, offset) return logs.name(C.log_truncate_to(log.log, offset, NOW)) end

--- Opens again after a crash and compares.
local function reopened_is_same(log, config)
  local bases, end_offset = log:bases(), log:end_offset()
  log:crash()
  local again
  assert.same({}, logs.lines_of(function() again = logs.open { dir = log.dir, config = config } end))
  assert.equal(end_offset, again:end_offset())
  assert.same(bases, again:bases())
  again:close()
end

describe("log_truncate_to", function()
  it("drops what is at or above the offset", function()
    local log = filled(10)
    assert.equal(0, truncate(log, 6))
    assert.equal(6, log:end_offset())
    assert.equal(600, #log:file(0, ".log"))
    assert.equal(600, tonumber(C.log_size_bytes(log.log)))
    assert.same({ 0, 1, 2, 3, 4, 5 }, log:bases())
    assert.same({ 6 }, log:append(logs.batch()))
    reopened_is_same(log)
  end)

  it("drops a batch whole when the offset is inside it, and ends at its base", function()
    local log = filled(5, nil, 10)
    assert.equal(0, truncate(log, 25))
    assert.equal(20, log:end_offset())
    assert.same({ 20 }, log:append(logs.batch()))
    log:close()
  end)

  it("does nothing at or above the end", function()
    local log = filled(3)
    assert.equal(0, truncate(log, 3))
    assert.equal(0, truncate(log, 100))
    assert.equal(3, log:end_offset())
    log:close()
  end)

  it("drops later segments newest first and goes on in the one that is left", function()
    local config = { segment_bytes = 300, index_interval_bytes = 50 }
    local log = filled(10, { config = config, is_collecting = true })
    assert.same({ 0, 3, 6, 9 }, (log:segments()))
    assert.equal(0, truncate(log, 4))
    assert.same({ 0, 3 }, (log:segments()))
    assert.equal(400, tonumber(C.log_size_bytes(log.log)))
    local deleted = {}
    for i, one in ipairs(log.deleted) do
      deleted[i] = { tonumber(one.base_offset), tonumber(one.size_bytes), ffi.string(one.stem) }
      assert.equal(NOW + 60000, one.due_ms)
    end
    assert.same({ { 9, 100, log:path(9, "") }, { 6, 300, log:path(6, "") } }, deleted)
    assert.equal(300, #log:file(6, ".log.deleted"))
    assert.same({ 4, 5 }, { log:append(logs.batch { size = 100 })[1], log:append(logs.batch { size = 100 })[1] })
    for _, one in ipairs(log.deleted) do assert.equal(0, C.log_deleted_remove(one)) end
    assert.is_nil(log:file(6, ".log.deleted"))
    reopened_is_same(log, config)
  end)

  it("to the base of a segment leaves it empty", function()
    local config = { segment_bytes = 300 }
    local log = filled(6, { config = config })
    assert.equal(0, truncate(log, 3))
    assert.same({ 0, 3 }, (log:segments()))
    assert.equal(3, log:end_offset())
    assert.equal(0, #log:read(3))
    assert.same({ 3 }, log:append(logs.batch()))
    reopened_is_same(log, config)
  end)

  it("below the first segment begins anew there", function()
    local log = logs.open { start = 10 }
    log:append(logs.batch())
    assert.equal(0, truncate(log, 5))
    assert.equal(5, log:end_offset())
    assert.equal(5, log:start_offset())
    assert.same({ 5 }, (log:segments()))
    log:close()
  end)

  it("takes the indexes back, and writes them right from there on", function()
    local config = { index_interval_bytes = 50 }
    local log = filled(200, { config = config })
    assert.equal(0, truncate(log, 100))
    assert.same({ 99, 100000, 1 }, log:newest())
    for i = 1, 20 do log:append(logs.batch { size = 150, ts = 500000 + i }, { epoch = 2 }) end
    assert.equal(120, #log:bases())
    assert.same({ 119, 500020, 2 }, log:newest())
    for _, offset in ipairs { 0, 50, 99, 100, 119 } do
      assert.equal(offset, logs.split(log:read(offset, { max = 0 }))[1].base)
    end
    log:close()
    local twin = logs.open { config = config }
    for i = 1, 100 do twin:append(logs.batch { size = 100, ts = 1000 * i }) end
    for i = 1, 20 do twin:append(logs.batch { size = 150, ts = 500000 + i }) end
    twin:close()
    -- The first entry after a truncation may come a batch later.
    assert.equal(unit.hex(twin:file(0, ".index"):sub(1, 99 * 8)), unit.hex(log:file(0, ".index"):sub(1, 99 * 8)))
    assert.equal(unit.hex(twin:file(0, ".index"):sub(-8)), unit.hex(log:file(0, ".index"):sub(-8)))
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    assert.equal(120, #again:bases())
    again:close()
  end)

  it("lowers the recovery point, and the log start if need be", function()
    local log = filled(10)
    C.log_flush(log.log, 9)
    C.log_set_start_offset(log.log, 8)
    truncate(log, 6)
    assert.equal(6, tonumber(C.log_recovery_point(log.log)))
    assert.equal(6, log:start_offset())
    log:close()
  end)

  it("drops the leader epochs of what went", function()
    local log = logs.open()
    for epoch = 1, 4 do log:append({ logs.batch(), logs.batch() }, { epoch = epoch }) end
    truncate(log, 4)
    assert.equal(2, C.log_latest_epoch(log.log))
    log:append(logs.batch(), { epoch = 7 })
    assert.equal(7, C.log_epoch_for_offset(log.log, 4))
    log:close()
  end)

  it("forgets a far record time with the batch that had it", function()
    local log = filled(3)
    log:append(logs.batch { ts = 99999999 })
    truncate(log, 3)
    assert.same({ 2, 3000, 1 }, log:newest())
    log:close()
  end)

  it("works at every offset of a log with several segments", function()
    local config = { segment_bytes = 500, index_interval_bytes = 120 }
    for offset = 0, 40 do
      local log = filled(20, { config = config }, 2)
      assert.equal(0, truncate(log, offset))
      assert.equal(offset - offset % 2, log:end_offset())
      assert.equal(math.floor(offset / 2), #log:bases())
      log:append { logs.batch { size = 111, ts = 5 }, logs.batch { size = 112, ts = 6 } }
      reopened_is_same(log, config)
    end
  end)

  it("leaves the bytes of slices that are held alone, and cuts all the same", function()
    local log = filled(10, { config = { index_interval_bytes = 150 } })
    local slice = log:slice(0)
    local bytes = logs.slice_bytes(slice)
    assert.equal(1000, #bytes)
    assert.equal(0, truncate(log, 5))
    for _ = 1, 5 do log:append(logs.batch { size = 120, ts = 77 }, { epoch = 8 }) end
    assert.equal(unit.hex(bytes), unit.hex(logs.slice_bytes(slice)))
    C.log_slice_release(slice)
    assert.equal(10, log:end_offset())
    assert.equal(1100, #log:file(0, ".log"))
    local epochs = {}
    for _, batch in ipairs(logs.split(log:read(0))) do epochs[#epochs + 1] = batch.epoch end
    assert.same({ 1, 1, 1, 1, 1, 8, 8, 8, 8, 8 }, epochs)
    assert.same({ 4, 5000, 1 }, log:newest())
    reopened_is_same(log)
  end)

  it("refuses appends after it failed half way", function()
    local log = filled(10)
    C.errinj_set(C.ERRINJ_FILE_TRUNCATE, 1, 5)
    assert.equal("ERR_IO", truncate(log, 5))
    C.errinj_set(C.ERRINJ_FILE_TRUNCATE, 0, 0)
    local _, err = log:append(logs.batch())
    assert.equal("ERR_STORAGE_OFFLINE", err)
    assert.equal("ERR_STORAGE_OFFLINE", log:close())
  end)
end)

describe("log_truncate_all", function()
  it("begins anew, also below and inside of what was there", function()
    for _, offset in ipairs { 100, 0, 2, 3, 5 } do
      local config = { segment_bytes = 300 }
      local log = filled(5, { config = config })
      C.log_flush(log.log, 5)
      assert.equal(0, C.log_truncate_all(log.log, offset, offset, NOW))
      assert.same({ offset }, (log:segments()))
      assert.equal(offset, log:start_offset())
      assert.equal(offset, log:end_offset())
      assert.equal(offset, tonumber(C.log_recovery_point(log.log)))
      assert.equal(0, tonumber(C.log_size_bytes(log.log)))
      assert.equal(-1, C.log_latest_epoch(log.log))
      assert.same({ offset }, log:append(logs.batch()))
      reopened_is_same(log, config)
    end
  end)

  it("may begin inside a batch that the leader still has", function()
    local log = filled(5)
    assert.equal(0, C.log_truncate_all(log.log, 20, 24, NOW))
    log:append(logs.batch { base = 20, leader_epoch = 3, records = { "a", "b", "c", "d", "e", "f" } }, { is_follower = true })
    assert.equal(24, log:start_offset())
    assert.equal(26, log:end_offset())
    assert.equal(20, logs.split(log:read(24))[1].base)
    log:close()
  end)
end)

describe("log_delete_before", function()
  it("leaves no hole when a file cannot be renamed", function()
    local log = filled(10, { config = { segment_bytes = 200 } })
    local segments = log:segments()
    assert.equal(5, #segments)
    C.log_flush(log.log, 10)
    -- The second segment's .log: five files a segment.
    C.errinj_set_once(C.ERRINJ_DIR_RENAME, 6, 5)
    assert.equal(C.ERR_IO, C.log_delete_before(log.log, segments[5], NOW))
    assert.equal(segments[5], log:start_offset())
    log:crash()
    local again = logs.open { dir = log.dir, recovery_point = 10 }
    local left = {}
    for i = 2, #segments do left[#left + 1] = segments[i] end
    assert.same(left, (again:segments()))
    assert.same(10, again:end_offset())
    again:crash()
  end)

  it("removes the files at once when a full disk has no room for new names", function()
    local log = filled(8, { config = { segment_bytes = 200 } })
    local segments = log:segments()
    C.errinj_set(C.ERRINJ_DIR_RENAME, 1, 28)
    assert.equal(3, C.log_delete_before(log.log, segments[4], NOW))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 0, 0)
    for i = 1, 3 do
      assert.is_nil(log:file(segments[i], ".log"))
      assert.is_nil(log:file(segments[i], ".log.deleted"))
    end
    assert.is_truthy(log:file(segments[4], ".log"))
    log:crash()
  end)

  it("hands over files that are due in the farthest future with the largest file.delete.delay.ms", function()
    local log = filled(6, { is_collecting = true, config = { segment_bytes = 300, file_delete_delay_ms = 0x7fffffffffffffffLL } })
    assert.equal(1, C.log_delete_before(log.log, 3, NOW))
    assert.equal(0x7fffffffffffffffLL, log.deleted[1].due_ms)
    assert.equal(0, C.log_deleted_remove(log.deleted[1]))
    log:close()
  end)

  it("deletes segments that lie wholly below, never the active one, and raises the log start", function()
    local log = filled(10, { config = { segment_bytes = 300 } })
    assert.equal(0, C.log_delete_before(log.log, 2, NOW))
    assert.equal(1, C.log_delete_before(log.log, 5, NOW))
    assert.equal(3, log:start_offset())
    assert.same({ 3, 6, 9 }, (log:segments()))
    assert.is_nil(log:file(0, ".log"))
    assert.is_nil(log:file(0, ".log.deleted"))
    assert.equal(700, tonumber(C.log_size_bytes(log.log)))
    assert.equal(2, C.log_delete_before(log.log, 1000, NOW))
    assert.same({ 9 }, (log:segments()))
    assert.equal(9, log:start_offset())
    assert.equal(10, log:end_offset())
    log:close()
  end)

  it("keeps offsets as they were over a restart", function()
    local config = { segment_bytes = 300 }
    local log = filled(10, { config = config })
    C.log_delete_before(log.log, 6, NOW)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    assert.equal(6, again:start_offset())
    assert.equal(10, again:end_offset())
    assert.same({ 6, 7, 8, 9 }, again:bases())
    again:close()
  end)

  it("moves the start of the oldest leader epoch", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    for epoch = 1, 4 do for _ = 1, 3 do log:append(logs.batch { size = 100 }, { epoch = epoch }) end end
    assert.equal(2, C.log_delete_before(log.log, 4, NOW))
    assert.equal(0, C.log_flush(log.log, log:end_offset()))
    assert.equal("0\n3\n2 4\n3 6\n4 9\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    log:close()
  end)
end)

describe("log_set_start_offset", function()
  it("only rises, at most to the end", function()
    local log = filled(10)
    assert.equal(0, C.log_set_start_offset(log.log, 4))
    assert.equal(0, C.log_set_start_offset(log.log, 2))
    assert.equal(4, log:start_offset())
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", logs.name(C.log_set_start_offset(log.log, 11)))
    assert.equal(0, C.log_set_start_offset(log.log, 10))
    assert.equal(10, log:start_offset())
    log:close()
  end)
end)

describe("log_rename", function()
  it("moves the folder while the log stays readable", function()
    local log = filled(4, { config = { segment_bytes = 200 } })
    local to = log.dir .. ".5d41-delete"
    assert.equal(0, C.log_rename(log.log, to))
    assert.equal(to, ffi.string(C.log_dir(log.log)))
    C.log_file_set_budget(1)
    assert.same({ 0, 1, 2, 3 }, log:bases())
    C.log_file_set_budget(512)
    log:crash()
  end)
end)

describe("retention", function()
  local function pick(log, now, high_watermark)
    local one = ffi.new "struct log_retention"
    C.log_retention_pick(log.log, now or NOW, high_watermark or log:end_offset(), one)
    return { tonumber(one.delete_before), one.segments, one.is_roll_needed, tonumber(one.reason) }, tonumber(one.size_bytes)
  end

  it("by time deletes segments whose newest record is older than retention_ms", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000 } })
    -- Newest records: 3000, 6000, 9000, 10000.
    assert.same({ 0, 0, false, C.LOG_RETENTION_NONE }, pick(log, 8000))
    assert.same({ 3, 1, false, C.LOG_RETENTION_MS }, pick(log, 8001))
    assert.same({ 6, 2, false, C.LOG_RETENTION_MS }, pick(log, 11001))
    log:close()
  end)

  it("by time takes the active segment too, which is to be rolled first", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000 } })
    assert.same({ 10, 4, true, C.LOG_RETENTION_MS }, pick(log, 20000))
    C.log_roll(log.log, 20000)
    assert.equal(4, C.log_delete_before(log.log, 10, 20000))
    assert.equal(10, log:start_offset())
    assert.equal(10, log:end_offset())
    assert.same({ 10, 0, false, C.LOG_RETENTION_NONE }, pick(log, 2000000))
    log:close()
  end)

  it("deletes nothing at or above the high watermark", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = 5000 } })
    assert.same({ 0, 0, false, C.LOG_RETENTION_NONE }, pick(log, 20000, 2))
    assert.same({ 3, 1, false, C.LOG_RETENTION_MS }, pick(log, 20000, 3))
    assert.same({ 9, 3, false, C.LOG_RETENTION_MS }, pick(log, 20000, 9))
    log:close()
  end)

  it("by size keeps at least retention_bytes and never takes the active segment", function()
    for _, case in ipairs { { 1000, 0 }, { 701, 0 }, { 700, 1 }, { 401, 1 }, { 400, 2 }, { 100, 3 }, { 0, 3 } } do
      local log = filled(10, { config = { segment_bytes = 300, retention_ms = -1, retention_bytes = case[1] } })
      local picked, size = pick(log)
      assert.equal(case[2], picked[2], "retention_bytes " .. case[1])
      assert.equal(300 * case[2], size)
      assert.is_false(picked[3])
      log:close()
    end
  end)

  it("takes what lies below the log start, whatever the policy", function()
    local log = filled(10, { config = { segment_bytes = 300, retention_ms = -1, is_deleting = false } })
    C.log_set_start_offset(log.log, 7)
    assert.same({ 6, 2, false, C.LOG_RETENTION_START_OFFSET }, pick(log))
    log:close()
  end)

  it("goes by the file when a record lies more than an hour in the future, and says so once", function()
    local log = logs.open { config = { segment_bytes = 200, retention_ms = 1000 } }
    log:append({ logs.batch { size = 100, ts = NOW + 7200000 }, logs.batch { size = 100, ts = NOW } })
    log:append(logs.batch { size = 100, ts = NOW })
    local lines = logs.lines_of(function()
      assert.equal(0, pick(log, NOW + 1000)[2])
      assert.same({ 3, 2, true, C.LOG_RETENTION_MS }, pick(log, NOW + 1001))
    end)
    assert.equal(1, #lines)
    assert.truthy(lines[1]:find(log.dir, 1, true))
    assert.truthy(lines[1]:find("offset 0", 1, true))
    log:close()
  end)

  it("goes by the file when no record has a time", function()
    local log = logs.open { config = { retention_ms = 1000 } }
    log:append(logs.batch { ts = -1, max_ts = -1 })
    assert.equal(0, pick(log, NOW + 1000)[2])
    assert.equal(1, pick(log, NOW + 1001)[2])
    log:close()
  end)
end)
