-- SPDX-License-Identifier: Apache-2.0
local unit = require "spec.support.unit"
local ffi = require "ffi"
local logs = require "spec.unit.log.logs"

local C, NOW = logs.C, logs.NOW

local ENOSPC, EIO = 28, 5

local function batches_of(count, size, options)
  local list = {}
  for i = 1, count do
    local one = { size = size }
    for name, value in pairs(options or {}) do one[name] = value end
    list[i] = logs.batch(one)
  end
  return list
end

describe("log_append", function()
  it("gives offsets from 0 on, counting records", function()
    local log = logs.open()
    assert.same({ 0, 3, 4 }, log:append { logs.batch { records = { "a", "b", "c" } }, logs.batch(), logs.batch { records = { "d", "e" } } })
    assert.equal(6, log:end_offset())
    assert.equal(0, log:close())
  end)

  it("patches base offset and leader epoch and leaves the rest of the bytes alone", function()
    local log = logs.open()
    log:append(logs.batch { records = { "a", "b" } })
    local sent = logs.batch { base = 77, leader_epoch = 3, records = { "c" } }
    log:append(sent, { epoch = 9 })
    local stored = log:read(2)
    local batch = logs.split(stored)[1]
    assert.equal(2, batch.base)
    assert.equal(9, batch.epoch)
    assert.equal(unit.hex(sent:sub(9, 12)), unit.hex(stored:sub(9, 12)))
    assert.equal(unit.hex(sent:sub(17)), unit.hex(stored:sub(17)))
    log:close()
  end)

  it("writes the log file byte by byte as Kafka has it", function()
    local log = logs.open()
    local bytes = logs.batch { records = { "v" }, ts = 1000 }
    log:append(bytes, { epoch = 5 })
    assert.equal(unit.hex(("\0"):rep(8) .. bytes:sub(9, 12) .. "\0\0\0\5" .. bytes:sub(17)), unit.hex(log:file(0, ".log")))
    log:close()
  end)

  it("leaves the log as it was when the write fails, and goes on afterwards", function()
    for _, errno in ipairs { ENOSPC, EIO } do
      local log = logs.open()
      log:append(logs.batch())
      C.errinj_set(C.ERRINJ_FILE_WRITE, 1, errno)
      local ok, err, results = log:append { logs.batch(), logs.batch() }
      C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
      assert.is_nil(ok)
      assert.truthy(require "ffi".string(C.error_last().message):find(log.dir, 1, true))
      local name = errno == ENOSPC and "ERR_NO_SPACE" or "ERR_IO"
      assert.equal(name, err)
      assert.same({ name, name }, results)
      assert.equal(1, log:end_offset())
      assert.same({ 1 }, log:append(logs.batch()))
      assert.same({ 0, 1 }, log:bases())
      log:close()
    end
  end)

  it("refuses appends, and a clean end, when what a failed write left cannot be cut off", function()
    local log = logs.open()
    log:append(logs.batch())
    C.errinj_set(C.ERRINJ_FILE_WRITE, 1, ENOSPC)
    C.errinj_set(C.ERRINJ_FILE_TRUNCATE, 1, EIO)
    local _, err = log:append(logs.batch())
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    C.errinj_set(C.ERRINJ_FILE_TRUNCATE, 0, 0)
    assert.equal("ERR_NO_SPACE", err)
    _, err = log:append(logs.batch())
    assert.equal("ERR_STORAGE_OFFLINE", err)
    assert.same({ 0 }, log:bases())
    assert.equal("ERR_STORAGE_OFFLINE", log:close())
  end)

  it("counts a folder that is gone as a failed disk", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    log:append(batches_of(2, 100))
    os.execute("rm -r '" .. log.dir .. "'")
    local _, err, results = log:append(logs.batch { size = 100 })
    assert.equal("ERR_IO", err)
    assert.same({ "ERR_IO" }, results)
    assert.truthy(require "ffi".string(C.error_last().message):find(log.dir, 1, true))
    log:crash()
    -- The same when its file is opened anew.
    log = logs.open()
    os.execute("rm -r '" .. log.dir .. "'")
    _, err = log:append(logs.batch())
    assert.equal("ERR_IO", err)
    log:crash()
  end)

  it("refuses a batch larger than a segment and appends the others", function()
    local log = logs.open { config = { segment_bytes = 1000 } }
    local ok, err, results = log:append { logs.batch { size = 500 }, logs.batch { size = 1001 }, logs.batch { size = 1000 } }
    assert.is_nil(ok)
    assert.equal("ERR_LIMIT", err)
    assert.same({ 0, "ERR_LIMIT", 0 }, results)
    assert.equal(2, log:end_offset())
    assert.same({ 0, 1 }, log:bases())
    log:close()
  end)

  it("keeps batches written before a roll that failed", function()
    local log = logs.open { config = { segment_bytes = 1000 } }
    C.errinj_set(C.ERRINJ_FILE_OPEN, 2, ENOSPC) -- the first opens the active segment, the second makes the new one
    local ok, err, results = log:append(batches_of(3, 400))
    C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
    assert.is_nil(ok)
    assert.equal("ERR_NO_SPACE", err)
    assert.same({ 0, 0, "ERR_NO_SPACE" }, results)
    assert.equal(2, log:end_offset())
    assert.same({ 2 }, log:append(logs.batch { size = 400 }))
    assert.same({ 0, 1, 2 }, log:bases())
    assert.same({ 0, 2 }, (log:segments()))
    log:close()
  end)
end)

describe("log_append_as_follower", function()
  it("keeps offsets, holes and epochs", function()
    local log = logs.open { config = { is_compacted = true } }
    log:append({ logs.batch { base = 10, leader_epoch = 1 }, logs.batch { base = 20, leader_epoch = 4, records = { "a", "b" } } },
      { is_follower = true })
    assert.equal(22, log:end_offset())
    assert.same({ 10, 20 }, log:bases(0))
    assert.equal(4, C.log_latest_epoch(log.log))
    assert.equal(1, C.log_epoch_for_offset(log.log, 15))
    log:close()
  end)

  it("refuses offsets below the end", function()
    local log = logs.open()
    log:append(logs.batch { base = 10, records = { "a", "b" } }, { is_follower = true })
    local ok, err = log:append(logs.batch { base = 11 }, { is_follower = true })
    assert.is_nil(ok)
    assert.equal("ERR_OFFSET_OUT_OF_RANGE", err)
    assert.equal(12, log:end_offset())
    log:close()
  end)
end)

describe("a segment ends", function()
  it("before a batch that would make it larger than segment_bytes", function()
    local log = logs.open { config = { segment_bytes = 1000 } }
    log:append(batches_of(5, 400))
    local bases, sizes = log:segments()
    assert.same({ 0, 2, 4 }, bases)
    assert.same({ 800, 800, 400 }, sizes)
    log:close()
  end)

  it("not before one that fills it exactly", function()
    local log = logs.open { config = { segment_bytes = 800 } }
    log:append(batches_of(4, 400))
    assert.same({ 0, 2 }, (log:segments()))
    log:close()
  end)

  it("when record timestamps span more than segment_ms", function()
    local log = logs.open { config = { segment_ms = 1000 } }
    log:append { logs.batch { ts = 5000 }, logs.batch { ts = 6000 }, logs.batch { ts = 6001 }, logs.batch { ts = 100 } }
    assert.same({ 0, 2 }, (log:segments()))
    log:close()
  end)

  it("by the wall clock when its first batch has no timestamp", function()
    local log = logs.open { config = { segment_ms = 1000 } }
    local untimed = { ts = -1, max_ts = -1 }
    log:append(logs.batch(untimed), { now = NOW + 500 })
    log:append(logs.batch(untimed), { now = NOW + 1000 })
    assert.same({ 0 }, (log:segments()))
    log:append(logs.batch(untimed), { now = NOW + 1001 })
    assert.same({ 0, 2 }, (log:segments()))
    log:close()
  end)

  it("when its offset index is full", function()
    -- Room for four entries; all batches have the same time, so the time index does not grow.
    local log = logs.open { config = { segment_index_bytes = 36, index_interval_bytes = 99 } }
    log:append(batches_of(6, 100, { ts = 1000 }))
    -- An entry for each batch but the first.
    assert.equal(4 * 8, #log:file(0, ".index"))
    assert.same({ 0, 5 }, (log:segments()))
    log:close()
  end)

  it("when its time index has one place left", function()
    local log = logs.open { config = { segment_index_bytes = 36, index_interval_bytes = 99 } }
    for i = 1, 6 do log:append(logs.batch { size = 100, ts = 1000 * i }) end
    assert.same({ 0, 3 }, (log:segments()))
    assert.equal(2 * 12, #log:file(0, ".timeindex"))
    log:close()
  end)

  it("when an offset would be more than 2^31 - 1 above its base", function()
    local log = logs.open { config = { is_compacted = true, index_interval_bytes = 0 } }
    local far = 0x7fffffff
    log:append({ logs.batch { base = 0 }, logs.batch { base = far } }, { is_follower = true })
    assert.same({ 0 }, (log:segments()))
    log:append(logs.batch { base = far + 1 }, { is_follower = true })
    assert.same({ 0, far + 1 }, (log:segments()))
    assert.same({ 0, far, far + 1 }, log:bases(0))
    assert.equal("7fffffff00000045", unit.hex(log:file(0, ".index")))
    log:close()
  end)

  it("when the last offset of a batch would be, though its base is not", function()
    local log = logs.open { config = { is_compacted = true } }
    log:append(logs.batch { base = 0 }, { is_follower = true })
    log:append(logs.batch { base = 0x7fffffff, records = { "a", "b" } }, { is_follower = true })
    assert.same({ 0, 0x7fffffff }, (log:segments()))
    log:close()
  end)

  it("on log_roll, unless it is empty", function()
    local log = logs.open()
    assert.equal(0, C.log_roll(log.log, NOW))
    assert.same({ 0 }, (log:segments()))
    log:append(logs.batch { records = { "a", "b" } })
    assert.equal(0, C.log_roll(log.log, NOW))
    assert.equal(0, C.log_roll(log.log, NOW))
    assert.same({ 0, 2 }, (log:segments()))
    assert.same({ 2 }, log:append(logs.batch()))
    log:close()
  end)
end)

describe("Offsets that are far apart, as in a compacted log", function()
  it("begin a new segment when they do not fit into the 31 bits of an index entry", function()
    local config = { index_interval_bytes = 0 }
    local log = logs.open { config = config }
    local far = 2147483648
    --- A batch of one record with that offset, as a leader sends it.
    local function at(offset) return logs.batch { base = offset, ts = 1000 } end
    log:append({ at(0), at(far - 1) }, { is_follower = true }) -- the last one that fits
    assert.same({ 0 }, (log:segments()))
    log:append({ at(far), at(2 * far - 1), at(2 * far), at(5 * far) }, { is_follower = true })
    assert.same({ 0, far, 2 * far, 5 * far }, (log:segments()))
    assert.equal(5 * far + 1, log:end_offset())
    assert.equal("7fffffff" .. ("%08x"):format(#at(0)), unit.hex((log:close() == 0 and log:file(0, ".index"))))
    for _, is_clean in ipairs { true, false } do
      log = logs.open { dir = log.dir, is_clean = is_clean, config = { index_interval_bytes = 0, is_compacted = true } }
      assert.same({ 0, far - 1, far, 2 * far - 1, 2 * far, 5 * far }, log:bases())
      for _, offset in ipairs { 0, far - 1, far, 2 * far - 1, 2 * far, 5 * far } do
        assert.equal(offset, logs.split(log:read(offset, { max = 1 }))[1].base)
        -- What is missing before it leads to it.
        if offset > 0 then assert.equal(offset, logs.split(log:read(offset - (offset % far == 0 and 0 or 5), { max = 1 }))[1].base) end
      end
      if is_clean then log:crash() else log:close() end
    end
  end)

  it("begin a new segment for one batch that spans more than its segment can", function()
    local log = logs.open()
    log:append(logs.batch { base = 0 }, { is_follower = true })
    log:append(logs.batch { base = 10, last_delta = 2147483647, count = 1 }, { is_follower = true })
    assert.same({ 0, 10 }, (log:segments()))
    assert.equal(10 + 2147483648, log:end_offset())
    log:crash()
  end)
end)

describe("index files", function()
  it("are what Kafka writes for the same batches", function()
    local golden = require "spec.data.kafka_segment"
    local log = logs.open()
    local list = {}
    for i, one in ipairs(golden.batches) do
      list[i] = logs.batch { size = one[1], last_delta = one[2], count = one[2] + 1, ts = NOW + one[3], max_ts = NOW + one[4] }
    end
    log:append(list)
    assert.equal(1920, log:end_offset())
    assert.equal(0, C.log_roll(log.log, NOW))
    assert.equal((golden.index:gsub("%s", "")), unit.hex(log:file(0, ".index")))
    assert.equal((golden.timeindex:gsub("%s", "")), unit.hex(log:file(0, ".timeindex")))
    log:close()
  end)

  it("have an entry with the last offset of the batch at its position", function()
    local log = logs.open { config = { index_interval_bytes = 200 } }
    for i = 1, 4 do log:append(logs.batch { size = 201, last_delta = 9, count = 10, ts = 1000 + i }) end
    log:close()
    assert.equal("00000013000000c9" .. "0000001d00000192" .. "000000270000025b", unit.hex(log:file(0, ".index")))
    assert.equal("00000000000003ea00000013" .. "00000000000003eb0000001d" .. "00000000000003ec00000027",
      unit.hex(log:file(0, ".timeindex")))
  end)

  it("keep the largest timestamp so far and the batch that has it", function()
    local log = logs.open { config = { index_interval_bytes = 0 } }
    for _, ts in ipairs { 500, 900, 100, 950 } do log:append(logs.batch { ts = ts }) end
    log:close()
    -- The first batch has no entry; the third adds none to the time index, as 900 stays the largest.
    assert.equal("000000000000038400000001" .. "00000000000003b600000003", unit.hex(log:file(0, ".timeindex")))
  end)

  it("end with the largest timestamp when the log is closed", function()
    local log = logs.open()
    log:append { logs.batch { ts = 2000 }, logs.batch { ts = 1000 } }
    assert.equal("", log:file(0, ".timeindex"))
    log:close()
    assert.equal("00000000000007d000000000", unit.hex(log:file(0, ".timeindex")))
    assert.equal("", log:file(0, ".index"))
  end)

  it("are written many entries at a time, and whole at the end", function()
    local log = logs.open { config = { index_interval_bytes = 0 } }
    log:append(batches_of(60, 100))
    assert.equal(0, #log:file(0, ".index"))
    log:append(batches_of(100, 100))
    assert.equal(128 * 8, #log:file(0, ".index"))
    assert.equal(160, #log:bases())
    log:close()
    assert.equal(159 * 8, #log:file(0, ".index"))
  end)

  it("miss entries while they cannot be written, and nothing is lost but time", function()
    local log = logs.open { config = { index_interval_bytes = 0 } }
    local list = batches_of(400, 100)
    for i = 1, 400 do
      -- The write of the batch itself passes first.
      C.errinj_set(C.ERRINJ_FILE_WRITE, 2, ENOSPC)
      assert.same({ i - 1 }, log:append(list[i]))
    end
    C.errinj_set(C.ERRINJ_FILE_WRITE, 0, 0)
    assert.equal(400, #log:bases())
    assert.equal(0, log:close())
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.equal(400, again:end_offset())
    assert.equal(400, #again:bases())
    again:close()
  end)
end)

describe("log_set_config", function()
  it("counts from the next append on", function()
    local log = logs.open()
    log:append(batches_of(2, 400))
    C.log_set_config(log.log, logs.config { segment_bytes = 1000 })
    log:append(batches_of(1, 400))
    assert.same({ 0, 2 }, (log:segments()))
    log:close()
  end)
end)

describe("log_flush", function()
  --- The error of a flush whose `nth` fsync fails.
  local function flush_failing(log, nth)
    C.errinj_set(C.ERRINJ_FILE_SYNC, nth, EIO)
    local result = logs.name(C.log_flush(log.log, log:end_offset()))
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    return result
  end

  -- A new log costs 5: its data, its folder, the folder above, and the leader epochs, which are 2. The kernel may have
  -- dropped what it could not write, and would say that all is well the next time.
  for failing = 1, 5 do
    it(("never counts anything as on disk after fsync %d of it failed"):format(failing), function()
      local log = logs.open()
      log:append(logs.batch())
      assert.equal("ERR_IO", flush_failing(log, failing))
      assert.equal("ERR_IO", logs.name(C.log_flush(log.log, 1)))
      log:append(logs.batch())
      assert.equal("ERR_IO", logs.name(C.log_flush(log.log, 2)))
      assert.equal(0, tonumber(C.log_recovery_point(log.log)))
      assert.equal("ERR_IO", logs.name(C.log_close(log.log)))
      C.epoch_collect()
    end)
  end

  -- The snapshot of the producers and its name, two indexes of the old segment, the data of the new one, the folder.
  it("syncs the indexes of a segment that was flushed before it was closed", function()
    for failing = 1, 7 do
      local log = logs.open { config = { segment_bytes = 300, index_interval_bytes = 50 } }
      log:append(batches_of(3, 100))
      assert.equal(0, logs.name(C.log_flush(log.log, 3)))
      log:append(logs.batch { size = 100 })
      assert.same({ 0, 3 }, (log:segments()))
      assert.equal(failing < 7 and "ERR_IO" or 0, flush_failing(log, failing))
      assert.equal(failing < 7 and 3 or 4, tonumber(C.log_recovery_point(log.log)))
      assert.equal(failing < 7 and "ERR_IO" or 0, logs.name(C.log_close(log.log)))
      C.epoch_collect()
    end
  end)

  it("tells when all was last flushed, by a flush of all", function()
    local log = logs.open()
    local opened = tonumber(C.log_flushed_ms(log.log))
    assert.is_true(opened > 0)
    log:append(batches_of(2, 100))
    require("posix.poll").poll({}, 2)
    assert.equal(0, logs.name(C.log_flush(log.log, 1)))
    assert.equal(opened, tonumber(C.log_flushed_ms(log.log)))
    assert.equal(0, logs.name(C.log_flush(log.log, 2)))
    assert.is_true(tonumber(C.log_flushed_ms(log.log)) > opened)
    log:close()
  end)
end)

describe("preallocation", function()
  it("does not change the visible size, and the spare blocks are given back when the segment ends", function()
    local log = logs.open { config = { preallocate = true, segment_bytes = 1024 * 1024 } }
    log:append(logs.batch { size = 100 })
    assert.equal(100, #log:file(0, ".log"))
    C.log_roll(log.log, NOW)
    local pipe = io.popen("stat -c %b '" .. log:path(0, ".log") .. "'")
    assert.is_true(tonumber(pipe:read "*l") <= 8)
    pipe:close()
    log:close()
  end)
end)

describe("Blocks that are reserved ahead", function()
  local large = logs.batch { size = 256 * 1024 }

  --- What stat says of the first segment: bytes of its blocks, and seconds of its last change.
  local function stat(log)
    local pipe = io.popen("stat -c '%b %Y' '" .. log:path(0, ".log") .. "'")
    local blocks, modified = pipe:read("*n", "*n")
    pipe:close()
    return blocks * 512, modified
  end

  local function fill(log, count)
    for _ = 1, count do log:append(large) end
  end

  it("come with large writes to a segment of a MiB, and do not change the visible size", function()
    local log = logs.open()
    fill(log, 4)
    assert.is_true(stat(log) <= 1024 * 1024 + 8192)
    fill(log, 1)
    local blocks = stat(log)
    assert.is_true(blocks >= (5 + 1) * 256 * 1024 and blocks <= (5 + 1) * 256 * 1024 + 8192, blocks)
    assert.equal(5 * 256 * 1024, #log:file(0, ".log"))
    log:close()
  end)

  it("do not come with small writes", function()
    local log = logs.open()
    fill(log, 4)
    for _ = 1, 10 do log:append(logs.batch { size = 1000 }) end
    assert.is_true(stat(log) <= 1024 * 1024 + 10000 + 8192)
    log:close()
  end)

  it("end where segments do", function()
    local log = logs.open { config = { segment_bytes = 5 * 256 * 1024 + 4096 } }
    fill(log, 5)
    assert.is_true(stat(log) <= 5 * 256 * 1024 + 4096 + 8192)
    log:close()
  end)

  it("are given back when the segment ends", function()
    local log = logs.open()
    fill(log, 5)
    C.log_roll(log.log, NOW)
    assert.is_true(stat(log) <= 5 * 256 * 1024 + 8192)
    log:close()
  end)

  it("are given back when the log is closed, which leaves the time of its last change", function()
    local log = logs.open()
    fill(log, 5)
    C.utimes(log:path(0, ".log"), ffi.new("int64_t[4]", 1600000000, 0, 1600000000, 0))
    log:close()
    local blocks, modified = stat(log)
    assert.is_true(blocks <= 5 * 256 * 1024 + 8192)
    assert.equal(1600000000, modified)
  end)

  it("are given back by the close after a crash", function()
    local log = logs.open()
    fill(log, 5)
    log:crash()
    assert.is_true(stat(log) >= 6 * 256 * 1024)
    log = logs.open { dir = log.dir }
    log:close()
    assert.is_true(stat(log) <= 5 * 256 * 1024 + 8192)
  end)
end)

describe("log_dump", function()
  it("tells what there is to know, within the room it has", function()
    local log = logs.open()
    log:append(logs.batch { size = 100 })
    local text = require "ffi".new "char[400]"
    local all = require "ffi".string(C.log_dump(log.log, text, 400))
    assert.truthy(all:find(log.dir .. " start 0 end 1 (segment 0 pos 100)", 1, true))
    assert.truthy(all:find("segments 1: [0 size 100", 1, true))
    assert.equal(all:sub(1, 9), require "ffi".string(C.log_dump(log.log, text, 10)))
    log:close()
  end)
end)
