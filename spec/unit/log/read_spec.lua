-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C, NOW = logs.C, logs.NOW

--- A log of `count` batches of 100 bytes with two records each.
local function pairs_log(count, options)
  local log = logs.open(options)
  local list = {}
  for i = 1, count do list[i] = logs.batch { size = 100, last_delta = 1, count = 2, ts = 1000 * i } end
  log:append(list)
  return log
end

--- What a read gives, as "first base offset+bytes".
local function region(log, offset, options)
  local slice, err = log:slice(offset, options)
  if not slice then return err end
  local text = slice.length == 0 and "empty" or ("%d+%d"):format(tonumber(slice.base_offset), slice.length)
  C.log_slice_release(slice)
  return text
end

describe("log_read", function()
  it("begins with the batch that holds the offset", function()
    local log = pairs_log(5)
    assert.equal("0+500", region(log, 0))
    assert.equal("0+500", region(log, 1))
    assert.equal("2+400", region(log, 2))
    assert.equal("8+100", region(log, 9))
    log:close()
  end)

  it("is empty at the end and an error beyond it or below the start", function()
    local log = pairs_log(2)
    assert.equal("empty", region(log, 4))
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", region(log, 5))
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", region(log, -1))
    C.log_set_start_offset(log.log, 2)
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", region(log, 1))
    assert.equal("2+100", region(log, 2))
    log:close()
  end)

  it("gives nothing at or beyond the limit", function()
    local log = pairs_log(5)
    assert.equal("0+200", region(log, 0, { limit = 4 }))
    assert.equal("2+100", region(log, 2, { limit = 4 }))
    assert.equal("empty", region(log, 4, { limit = 4 }))
    assert.equal("empty", region(log, 6, { limit = 4 }))
    assert.equal("0+500", region(log, 0, { limit = 100 }))
    -- A limit inside a batch leaves the batch out.
    assert.equal("0+200", region(log, 0, { limit = 5 }))
    assert.equal("empty", region(log, 4, { limit = 5 }))
    log:close()
  end)

  it("gives the first batch whole only when asked to", function()
    local log = pairs_log(3)
    assert.equal("0+100", region(log, 0, { max = 0 }))
    assert.equal("2+100", region(log, 3, { max = 99 }))
    assert.equal("empty", region(log, 0, { max = 99, first = false }))
    assert.equal("empty", region(log, 0, { max = 0, first = false }))
    assert.equal("0+100", region(log, 0, { max = 100, first = false }))
    log:close()
  end)

  it("ends with a whole batch where the tail knows one", function()
    local log = pairs_log(5)
    assert.equal("0+100", region(log, 0, { max = 199 }))
    assert.equal("0+200", region(log, 0, { max = 200 }))
    assert.equal("2+200", region(log, 2, { max = 299 }))
    log:close()
  end)

  it("may end inside a batch where nothing is known for free", function()
    local log = pairs_log(5)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal(199, #again:read(0, { max = 199 }))
    assert.equal(100, #again:read(0, { max = 99 }))
    assert.equal(0, #again:read(0, { max = 99, first = false }))
    again:close()
  end)

  it("ends with a whole batch where the index knows one near the end", function()
    local config = { index_interval_bytes = 0 }
    local log = pairs_log(50, { config = config })
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    assert.equal(1200, #again:read(0, { max = 1299 }))
    again:close()
  end)

  it("ends with its segment; the next read is in the next one", function()
    local log = pairs_log(5, { config = { segment_bytes = 200 } })
    assert.equal("0+200", region(log, 0))
    assert.equal("4+200", region(log, 4))
    assert.equal("8+100", region(log, 8))
    assert.same({ 0, 2, 4, 6, 8 }, log:bases())
    log:close()
  end)

  it("finds every offset through index and headers as well as through the tail", function()
    local config = { segment_bytes = 3000, index_interval_bytes = 350 }
    local log = pairs_log(100, { config = config })
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    for offset = 0, 199 do
      local batch = logs.split(again:read(offset, { max = 0 }))[1]
      assert.equal(offset - offset % 2, batch.base)
    end
    for limit = 1, 200 do
      local whole = math.floor(limit / 2) * 2
      local slice = again:slice(math.max(whole - 2, 0), { limit = limit, is_cold = true })
      assert.equal(whole == 0 and 0 or 100, slice.length)
      C.log_slice_release(slice)
    end
    again:close()
  end)

  it("skips to the next batch, or segment, when the offset is in a hole", function()
    for _, is_reopened in ipairs { false, true } do
      local config = { is_compacted = true, segment_bytes = 300 }
      local log = logs.open { config = config }
      for _, base in ipairs { 0, 10, 20, 30, 40 } do
        log:append(logs.batch { size = 100, base = base, leader_epoch = 0 }, { is_follower = true })
      end
      assert.same({ 0, 30 }, (log:segments()))
      if is_reopened then
        log:close()
        log = logs.open { dir = log.dir, is_clean = true, config = config }
      end
      local got = {}
      for _, offset in ipairs { 0, 1, 9, 10, 11, 21, 29, 31, 40 } do
        got[#got + 1] = logs.split(log:read(offset, { max = 0 }))[1].base
      end
      assert.same({ 0, 10, 10, 10, 20, 30, 30, 40, 40 }, got)
      log:close()
    end
  end)

  it("waits for nothing: what is not open or not in memory is ERR_AGAIN", function()
    local log = pairs_log(5)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal("ERR_AGAIN", region(again, 2))
    assert.equal("2+400", region(again, 2, { is_cold = true }))
    assert.equal("2+400", region(again, 2))
    again:close()
  end)

  it("needs no descriptor to say that there is nothing", function()
    local log = pairs_log(5)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal("empty", region(again, 10))
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", region(again, 11))
    again:close()
  end)
end)

describe("a slice", function()
  it("is warm when its bytes were just written", function()
    local log = pairs_log(5)
    local slice = log:slice(0)
    assert.is_true(slice.is_warm)
    C.log_slice_release(slice)
    log:close()
  end)

  it("is not known to be warm after a restart, but a probe finds it in the page cache", function()
    local log = pairs_log(5)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    again:append(logs.batch()) -- opens the file
    local slice = again:slice(0)
    assert.is_false(slice.is_warm)
    assert.is_true(C.log_slice_probe(slice))
    C.log_slice_release(slice)
    slice = again:slice(0)
    assert.is_true(slice.is_warm)
    C.log_slice_release(slice)
    again:close()
  end)

  it("keeps its bytes when its segment is deleted and the log is closed", function()
    local log = pairs_log(5, { config = { segment_bytes = 200 } })
    local slice = log:slice(0)
    local bytes = logs.slice_bytes(slice)
    assert.equal(2, C.log_delete_before(log.log, 8, NOW))
    log:close()
    logs.turn()
    assert.equal(unit.hex(bytes), unit.hex(logs.slice_bytes(slice)))
    C.log_slice_release(slice)
  end)

  it("can be copied and released in any order", function()
    local log = pairs_log(1)
    local slice, copy = log:slice(0), ffi.new "struct log_slice"
    C.log_slice_copy(slice, copy)
    C.log_slice_release(slice)
    C.log_slice_release(slice)
    assert.equal(100, #logs.slice_bytes(copy))
    C.log_slice_release(copy)
    log:close()
  end)
end)

describe("log_find_position", function()
  it("knows the end and the newest batches", function()
    local log = pairs_log(5, { config = { segment_bytes = 300 } })
    local position = ffi.new "struct log_position"
    local function find(offset)
      local code = C.log_find_position(log.log, offset, position)
      if code < 0 then return logs.name(code) end
      return { tonumber(position.offset), tonumber(position.segment_base), tonumber(position.pos) }
    end
    assert.same({ 10, 6, 200 }, find(10))
    assert.same({ 8, 6, 100 }, find(8))
    assert.same({ 2, 0, 100 }, find(2))
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", find(11))
    log:close()
  end)

  it("is ERR_AGAIN for what it would have to read for", function()
    local log = pairs_log(5)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    local position = ffi.new "struct log_position"
    assert.equal("ERR_AGAIN", logs.name(C.log_find_position(again.log, 2, position)))
    assert.equal(0, C.log_find_position(again.log, 10, position))
    again:close()
  end)
end)

describe("open files", function()
  it("stay within the budget; those that are held stay open", function()
    local log = pairs_log(40, { config = { segment_bytes = 200 } })
    C.log_file_set_budget(4)
    local held = log:slice(0, { is_cold = true })
    for offset = 0, 78, 4 do assert.equal(200, #log:read(offset)) end
    assert.is_true(C.log_file_open_count() <= 4)
    assert.equal(200, #logs.slice_bytes(held))
    C.log_slice_release(held)
    log:close()
    assert.equal(0, C.log_file_open_count())
    C.log_file_set_budget(512)
  end)

  it("that cannot be opened for want of descriptors are an error of their own", function()
    local log = pairs_log(8)
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    C.errinj_set(C.ERRINJ_FILE_OPEN, 1, 24) -- EMFILE, each time
    local _, err = again:read(4)
    C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
    assert.equal("ERR_NO_FILES", err)
    assert.equal(600, #again:read(4))
    again:close()
  end)

  it("whose index cannot be read any more give an I/O error, not the end of the process", function()
    local config = { index_interval_bytes = 0 }
    local log = pairs_log(700, { config = config })
    assert.equal(0, C.log_roll(log.log, NOW))
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    local file = ffi.new "struct log_file *[1]"
    local slot = ffi.new "struct log_file *[1]"
    assert.equal(0, C.log_file_open(slot, again:path(0, ".log"), again:path(0, ".index"), 8 * 699, file))
    local size = ffi.new "size_t[1]"
    local map = C.log_file_index(file[0], size)
    C.map_guard_begin(map, size[0])
    assert.equal(100, map[7])
    assert.is_false(C.map_guard_end())
    ffi.C.truncate(again:path(0, ".index"), 0)
    C.map_guard_begin(map, size[0])
    assert.equal(0, map[7])
    assert.is_true(C.map_guard_end())
    C.log_file_unref(file[0])
    C.log_file_detach(slot)
    again:crash()
  end)
end)

describe("An offset index that names places where no batch begins", function()
  local config = { index_interval_bytes = 0 }

  --- A log of 20 batches whose index file was changed; opened as after a clean end.
  local function with_index(change)
    local log = logs.open { config = config }
    for i = 1, 20 do log:append(logs.batch { size = 100, ts = 1000 * i }) end
    assert.equal(0, log:close())
    local bytes = log:file(0, ".index")
    assert.equal(19 * 8, #bytes)
    unit.write_file(log:path(0, ".index"), change(bytes))
    return assert(logs.open { dir = log.dir, config = config, is_clean = true })
  end

  local function entry(offset, pos) return unit.bytes(("%08x%08x"):format(offset, pos)) end

  for _, case in ipairs {
    { "in the midst of a batch", function(bytes) return bytes:sub(1, 72) .. entry(10, 1050) .. bytes:sub(81) end },
    { "beyond what is asked for", function(bytes) return bytes:sub(1, 72) .. entry(2, 1000) .. bytes:sub(81) end },
    { "beyond the end", function(bytes) return bytes:sub(1, 72) .. entry(10, 2147483647) .. bytes:sub(81) end },
    { "all of them, but for the last", function(bytes) return entry(1, 50):rep(18) .. bytes:sub(-8) end },
  } do
    it(("is passed over, which is said once: %s"):format(case[1]), function()
      local log = with_index(case[2])
      local lines = logs.lines_of(function()
        for _ = 1, 2 do
          for offset = 0, 19 do
            assert.equal(offset, logs.split(log:read(offset, { max = 1 }))[1].base)
            assert.equal(offset, log:by_time(1000 * (offset + 1))[1])
          end
        end
      end)
      assert.equal(1, #lines)
      assert.truthy(lines[1]:find(log:path(0, ".index"), 1, true), lines[1])
      assert.equal(0, log:close())
    end)
  end

  it("is right as older Kafkas wrote it, with the last offset of several batches at the first one's place", function()
    local sparse = entry(5, 200) .. entry(12, 600) .. entry(19, 1300)
    local log
    local lines = logs.lines_of(function()
      log = with_index(function() return sparse end)
      for offset = 0, 19 do
        assert.equal(offset, logs.split(log:read(offset, { max = 1 }))[1].base)
        assert.equal(offset, log:by_time(1000 * (offset + 1))[1])
      end
    end)
    assert.same({}, lines)
    assert.equal(0, log:close())
    assert.equal(unit.hex(sparse), unit.hex(log:file(0, ".index")))
  end)

  it("is made anew at a clean start when it is the last one", function()
    local good
    local log = with_index(function(bytes)
      good = bytes
      return bytes:sub(1, -9) .. entry(18, 1900)
    end)
    assert.equal(unit.hex(good), unit.hex((log:close() == 0 and log:file(0, ".index"))))
  end)
end)
