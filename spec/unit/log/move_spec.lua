-- SPDX-License-Identifier: Apache-2.0
-- The copy of a log in another folder, and the switch to it.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"
unit.load("log/log_move.h", "os/dir.h")

local C, NOW = logs.C, logs.NOW
local EIO, ENOSPC = 5, 28
local CONFIG = { segment_bytes = 450, index_interval_bytes = 50 }

--- A log of `count` batches of 100 bytes, four in a segment.
local function filled(count, options)
  options = options or {}
  options.config = options.config or CONFIG
  local log = logs.open(options)
  for i = 1, count do log:append(logs.batch { size = 100, ts = 1000 * i }, { epoch = 1 }) end
  return log
end

--- A move of a log to a fresh folder: { to = the folder, final = its name after the switch }.
local function begin(log)
  local parent = unit.temp_dir()
  local out = ffi.new "struct log_move *[1]"
  local move = { log = log, to = parent .. "/topic-0.x-future", final = parent .. "/topic-0" }
  move.result = logs.name(C.log_move_new(log.log, move.to, out))
  move.move = out[0]
  return move
end

local function copy(move, budget) return logs.name(C.log_move_copy(move.move, budget or 1048576)) end
local function prepare(move) return logs.name(C.log_move_prepare(move.move)) end
local function switch(move) return logs.name(C.log_move_switch(move.move, move.final)) end

local function copied(move) return { tonumber(C.log_move_size(move.move)), tonumber(C.log_move_end_offset(move.move)) } end

--- All steps of a move; the log's folder is another one then.
local function moved(log)
  local move = begin(log)
  assert.equal(0, copy(move))
  assert.equal(0, prepare(move))
  assert.equal(0, switch(move))
  log.dir = move.final
  return move
end

--- Opens again after a crash and compares.
local function assert_reopens(log)
  local bases, end_offset = log:bases(), log:end_offset()
  log:crash()
  local again
  assert.same({}, logs.lines_of(function() again = logs.open { dir = log.dir, config = CONFIG } end))
  assert.equal(end_offset, again:end_offset())
  assert.same(bases, again:bases())
  return again
end

local function disarm()
  for _, point in ipairs { C.ERRINJ_FILE_COPY, C.ERRINJ_FILE_READ, C.ERRINJ_FILE_WRITE, C.ERRINJ_FILE_SYNC, C.ERRINJ_DIR_RENAME } do
    C.errinj_set(point, 0, 0)
  end
end

describe("a log that moves to another folder", function()
  after_each(disarm)

  it("has the same batches at the same places in the new files", function()
    local log = filled(10)
    local before = {}
    local bases = log:segments()
    assert.same({ 0, 4, 8 }, bases)
    for _, base in ipairs(bases) do before[base] = log:file(base, ".log") end
    local old = log.dir
    local move = moved(log)
    assert.equal(move.final, ffi.string(C.log_dir(log.log)))
    for _, base in ipairs(bases) do
      assert.equal(before[base], log:file(base, ".log"))
      assert.equal(before[base], unit.read_file(("%s/%020d.log"):format(old, base)))
    end
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, log:bases())
    assert.same({ 10 }, log:append(logs.batch { size = 100 }))
    assert.equal(300, #log:file(8, ".log"))
    assert.equal(200, #unit.read_file(old .. "/00000000000000000008.log"))
    assert.equal(1100, tonumber(C.log_size_bytes(log.log)))
    C.log_move_delete(move.move)
    assert_reopens(log):close()
  end)

  it("copies by reading and writing where the kernel does not copy", function()
    C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
    local log = filled(10)
    local move = moved(log)
    C.log_move_delete(move.move)
    assert_reopens(log):close()
  end)

  it("tells how many bytes of whole batches the copy has, and where it ends", function()
    local log = filled(6)
    local move = begin(log)
    assert.same({ 0, 0 }, copied(move))
    assert.equal(1, copy(move, 0))
    assert.same({ 0, 0 }, copied(move))
    assert.equal(1, copy(move, 400))
    assert.same({ 400, 4 }, copied(move))
    assert.equal(0, copy(move))
    assert.same({ 600, 6 }, copied(move))
    log:append(logs.batch { size = 100 })
    assert.same({ 600, 6 }, copied(move))
    C.log_move_delete(move.move)
    log:close()
  end)

  it("gets what is appended at any time before the switch, over the end of a segment too", function()
    for _, count in ipairs { 1, 2, 3, 4, 9 } do
      local log = filled(6)
      local move = begin(log)
      assert.equal(0, copy(move))
      for _ = 1, count do log:append(logs.batch { size = 100 }, { epoch = 1 }) end
      assert.equal(0, prepare(move))
      for _ = 1, count % 5 do log:append(logs.batch { size = 100 }, { epoch = 1 }) end
      assert.equal(0, switch(move))
      log.dir = move.final
      assert.equal(6 + count + count % 5, #log:bases())
      C.log_move_delete(move.move)
      assert_reopens(log):close()
    end
  end)

  it("does not switch while more than a MiB is missing, and does after another round", function()
    local log = filled(1, { config = { segment_bytes = 16 * 1048576 } })
    local move = begin(log)
    assert.equal(0, prepare(move))
    for _ = 1, 3 do log:append(logs.batch { size = 500000 }) end
    assert.equal("ERR_AGAIN", switch(move))
    assert.equal("ERR_AGAIN", switch(move)) -- it was given up: flushes do not wait any more
    assert.equal(0, C.log_flush(log.log, log:end_offset()))
    assert.equal(0, prepare(move))
    assert.equal(0, switch(move))
    log.dir = move.final
    assert.equal(4, #log:bases())
    C.log_move_delete(move.move)
    log:close()
  end)

  it("leaves out segments that were deleted meanwhile", function()
    local log = filled(12)
    local move = begin(log)
    assert.equal(0, copy(move))
    assert.equal(1, C.log_delete_before(log.log, 4, NOW))
    assert.equal(0, prepare(move))
    assert.equal(1, C.log_delete_before(log.log, 8, NOW))
    assert.equal(0, switch(move))
    log.dir = move.final
    assert.same({ 8, 9, 10, 11 }, log:bases())
    for _, name in ipairs(log:names()) do assert.is_nil(name:match "^0000000000000000000[04]%.[lit]") end
    C.log_move_delete(move.move)
    assert_reopens(log):close()
  end)

  it("begins anew when the log was truncated", function()
    local log = filled(10)
    local move = begin(log)
    assert.equal(0, copy(move))
    assert.equal(0, C.log_truncate_to(log.log, 5, NOW))
    for i = 1, 3 do log:append(logs.batch { size = 90, ts = 7000 + i }, { epoch = 2 }) end
    assert.equal(0, copy(move))
    assert.same({ 770, 8 }, copied(move))
    assert.equal(0, prepare(move))
    assert.equal(0, C.log_truncate_to(log.log, 7, NOW))
    log:append(logs.batch { size = 80 }, { epoch = 2 })
    assert.equal("ERR_AGAIN", switch(move))
    assert.equal(0, prepare(move))
    assert.equal(0, switch(move))
    log.dir = move.final
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 7 }, log:bases())
    assert.equal(400 + 100 + 180 + 80, tonumber(C.log_size_bytes(log.log)))
    C.log_move_delete(move.move)
    assert_reopens(log):close()
  end)

  it("keeps its indexes: offsets and times are found without reading all", function()
    local log = filled(40, { config = { segment_bytes = 1000000, index_interval_bytes = 150 } })
    local size = #log:file(0, ".log")
    local move = moved(log)
    assert.equal(size, #log:file(0, ".log"))
    assert.same({ 29, 30000, 1 }, log:by_time(30000))
    assert.same({ 39, 40000, 1 }, log:newest())
    local slice = assert(log:slice(25, { is_cold = true }))
    assert.equal(2500, tonumber(slice.pos))
    C.log_slice_release(slice)
    C.log_move_delete(move.move)
    assert.equal(0, log:close())
    assert.is_true(#log:file(0, ".index") >= 8 * 10)
  end)

  it("leaves the old files to those who read them, after the old folder is gone", function()
    local log = filled(10)
    local slice = assert(log:slice(4, { is_cold = true }))
    local before = logs.slice_bytes(slice)
    local old = log.dir
    assert.is_true(C.log_slice_is_current(log.log, slice))
    local move = moved(log)
    assert.equal(0, C.dir_remove_all(old))
    assert.equal(before, logs.slice_bytes(slice))
    assert.is_false(C.log_slice_is_current(log.log, slice)) -- its disk is not the log's any more
    C.log_slice_release(slice)
    slice = assert(log:slice(4, { is_cold = true }))
    assert.equal(before, logs.slice_bytes(slice))
    C.log_slice_release(slice)
    C.log_move_delete(move.move)
    log:close()
  end)

  it("has a higher mark than the old folder before it has its name, so that it wins", function()
    local function mark(dir) return tonumber(C.log_move_mark(dir)) end
    local log = filled(3)
    local old = log.dir
    local move = begin(log)
    assert.equal(0, copy(move))
    assert.equal(0, mark(move.to))
    assert.equal(0, prepare(move))
    assert.equal(1, mark(move.to))
    assert.equal(0, switch(move))
    assert.equal(1, mark(move.final))
    assert.equal(0, mark(old))
    C.log_move_delete(move.move)
    move = moved(log)
    assert.equal(2, mark(move.final))
    assert.equal(0, C.log_move_settle(move.move))
    assert.equal(0, C.log_move_remove_mark(move.final))
    assert.equal(0, mark(move.final))
    assert.equal(0, C.log_move_remove_mark(move.final))
    C.log_move_delete(move.move)
    log:close()
  end)

  it("counts a mark that says nothing as the lowest", function()
    local dir = unit.temp_dir()
    for _, text in ipairs { "", "x\n", "-3\n", "99999999999999999999\n", ("1"):rep(100) } do
      unit.write_file(dir .. "/luka.moved", text)
      assert.equal(1, tonumber(C.log_move_mark(dir)))
    end
  end)

  it("takes along what a recovery cut off and kept", function()
    local log = filled(3)
    unit.write_file(log.dir .. "/00000000000000000000.log.cut", "cut")
    unit.write_file(log.dir .. "/00000000000000000000.log.cut.2", "cut too")
    local move = moved(log)
    assert.equal("cut", unit.read_file(move.final .. "/00000000000000000000.log.cut"))
    assert.equal("cut too", unit.read_file(move.final .. "/00000000000000000000.log.cut.2"))
    C.log_move_delete(move.move)
    log:close()
  end)

  it("stays where it is when an fsync of it has failed, which is not the new disk's fault", function()
    local log = filled(3)
    local move = begin(log)
    C.errinj_set_once(C.ERRINJ_LOG_FLUSH, 1, EIO)
    assert.equal("ERR_IO", logs.name(C.log_flush(log.log, 3)))
    assert.equal("ERR_IO", prepare(move))
    assert.is_true(C.log_move_is_source_to_blame(move.move))
    assert.equal("ERR_AGAIN", switch(move))
    C.log_move_delete(move.move)
    log:crash()
  end)

  it("does not raise the recovery point beyond what the copy has on disk", function()
    local log = filled(3)
    local move = begin(log)
    assert.equal(0, prepare(move))
    log:append(logs.batch { size = 100 })
    -- The flush waits for a switch that does not come, and then the switch does not come any more.
    assert.equal(0, C.log_flush(log.log, 4))
    assert.equal(4, tonumber(C.log_recovery_point(log.log)))
    assert.equal("ERR_AGAIN", switch(move))
    assert.equal(0, prepare(move))
    log:append(logs.batch { size = 100 })
    assert.equal(0, switch(move))
    assert.equal(4, tonumber(C.log_recovery_point(log.log)))
    assert.equal(0, C.log_move_settle(move.move))
    assert.equal(5, tonumber(C.log_recovery_point(log.log)))
    C.log_move_delete(move.move)
    log:close()
  end)

  it("stays where it is when the new disk fails, at whatever call", function()
    for _, case in ipairs { { C.ERRINJ_FILE_WRITE, EIO, "ERR_IO", false }, { C.ERRINJ_FILE_WRITE, ENOSPC, "ERR_NO_SPACE", false },
      { C.ERRINJ_FILE_SYNC, EIO, "ERR_IO", false }, { C.ERRINJ_FILE_READ, EIO, "ERR_IO", true } } do
      for nth = 1, 4 do
        local log = filled(10)
        local move = begin(log)
        C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
        C.errinj_set(case[1], nth, case[2])
        local result = copy(move)
        result = result == 0 and prepare(move) or result
        disarm()
        assert.equal(case[3], result)
        assert.equal(case[4], C.log_move_is_source_to_blame(move.move))
        assert.equal("ERR_AGAIN", switch(move))
        assert.equal(log.dir, ffi.string(C.log_dir(log.log)))
        assert.equal(10, #log:bases())
        assert.equal(0, prepare(move))
        assert.equal(0, switch(move))
        log.dir = move.final
        C.log_move_delete(move.move)
        assert_reopens(log):close()
      end
    end
  end)

  it("stays where it is when the new folder cannot get its name", function()
    local log = filled(3)
    local move = begin(log)
    assert.equal(0, prepare(move))
    C.errinj_set(C.ERRINJ_DIR_RENAME, 1, EIO)
    assert.equal("ERR_IO", switch(move))
    disarm()
    assert.is_false(C.log_move_is_source_to_blame(move.move))
    assert.equal(log.dir, ffi.string(C.log_dir(log.log)))
    assert.same({ 3 }, log:append(logs.batch { size = 100 }))
    assert.same({ 0, 1, 2, 3 }, log:bases())
    C.log_move_delete(move.move)
    assert_reopens(log):close()
  end)

  it("keeps leader epochs and the start offset", function()
    local log = filled(5)
    log:append(logs.batch { size = 100 }, { epoch = 7 })
    assert.equal(0, C.log_set_start_offset(log.log, 2))
    local move = moved(log)
    assert.equal(2, log:start_offset())
    assert.equal("0\n2\n1 2\n7 5\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    log:append(logs.batch { size = 100 }, { epoch = 9 })
    assert.equal(0, C.log_move_settle(move.move))
    assert.equal("0\n3\n1 2\n7 5\n9 6\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    C.log_move_delete(move.move)
    log:close()
  end)

  it("knows its producers: what was stored before the move is a duplicate after it, and after a crash", function()
    local log = logs.open { config = CONFIG }
    local function batch(sequence) return logs.batch { size = 100, producer_id = 5, producer_epoch = 0, sequence = sequence } end
    for sequence = 0, 6 do assert(log:append(batch(sequence))) end
    assert.equal(0, C.log_flush(log.log, 7)) -- writes the snapshot of the roll
    local move = moved(log)
    assert.truthy(log:file(4, ".snapshot"))
    log:append(batch(6))
    assert.truthy(log.duplicates[1])
    assert.same({ 7 }, log:append(batch(7)))
    C.log_move_delete(move.move)
    local again = assert_reopens(log)
    again:append(batch(7))
    assert.truthy(again.duplicates[1])
    assert.same({ 8 }, again:append(batch(8)))
    again:close()
  end)

  it("blames the new disk for a snapshot that it does not take, and writes it whole the next time", function()
    for _, case in ipairs { { EIO, "ERR_IO" }, { ENOSPC, "ERR_NO_SPACE" } } do
      local log = logs.open { config = CONFIG }
      for sequence = 0, 6 do
        assert(log:append(logs.batch { size = 100, producer_id = 5, producer_epoch = 0, sequence = sequence }))
      end
      assert.equal(0, C.log_flush(log.log, 7)) -- writes the snapshot of the roll
      local snapshot = log:file(4, ".snapshot")
      local move = begin(log)
      repeat until copy(move) == 0
      C.errinj_set(C.ERRINJ_FILE_COPY, 1, EIO)
      C.errinj_set_once(C.ERRINJ_FILE_WRITE, 1, case[1])
      assert.equal(case[2], prepare(move))
      assert.is_false(C.log_move_is_source_to_blame(move.move))
      disarm()
      assert.equal(0, prepare(move))
      assert.equal(snapshot, unit.read_file(move.to .. "/00000000000000000004.snapshot"))
      assert.equal(0, switch(move))
      log.dir = move.final
      C.log_move_delete(move.move)
      assert_reopens(log):close()
    end
  end)

  it("needs a folder of its own", function()
    local log = filled(1)
    local parent = unit.temp_dir()
    local out = ffi.new "struct log_move *[1]"
    assert.equal("ERR_EXISTS", logs.name(C.log_move_new(log.log, parent, out)))
    log:close()
  end)
end)
