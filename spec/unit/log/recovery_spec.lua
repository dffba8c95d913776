-- SPDX-License-Identifier: Apache-2.0
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C = logs.C

--- A log of ten batches with three records each, ended by a crash.
local function crashed_log(options)
  local log = logs.open(options)
  for i = 1, 10 do log:append(logs.batch { records = { "one", "two", "three" }, ts = 1000 * i }, { epoch = 2 }) end
  log:crash()
  return log
end

--- Changes the last bytes of the newest file.
local function rewrite(log, fn, base)
  local path = log:path(base or 0, ".log")
  unit.write_file(path, fn(unit.read_file(path)))
end

local BATCH = #logs.batch { records = { "one", "two", "three" } }

--- Overwrites bytes at a position counted from 0.
local function put(bytes, pos, new) return bytes:sub(1, pos) .. new .. bytes:sub(pos + #new + 1) end

-- Case S1: what kill -9, or a disk, may leave at the end of a log.
local TORN = {
  { "three bytes cut off", function(bytes) return bytes:sub(1, -4) end, 9 },
  { "seven random bytes after it", function(bytes) return bytes .. "\1\2\3\4\5\6\7" end, 10 },
  { "sixty random bytes after it", function(bytes) return bytes .. ("\90\3"):rep(30) end, 10 },
  { "4 KB of zeros after it", function(bytes) return bytes .. ("\0"):rep(4096) end, 10 },
  { "a byte flipped in its records", function(bytes) return bytes:sub(1, -6) .. "\255" .. bytes:sub(-4) end, 9 },
  { "a byte flipped in its CRC", function(bytes) return put(bytes, 9 * BATCH + 17, "\255") end, 9 },
  { "the size field 7fffffff", function(bytes) return put(bytes, 9 * BATCH + 8, "\127\255\255\255") end, 9 },
  { "the size field 00000000", function(bytes) return put(bytes, 9 * BATCH + 8, "\0\0\0\0") end, 9 },
  { "the size field ffffffff", function(bytes) return put(bytes, 9 * BATCH + 8, "\255\255\255\255") end, 9 },
  { "the size field one less", function(bytes) return put(bytes, 9 * BATCH + 8, "\0\0\0" .. string.char(BATCH - 13)) end, 9 },
  { "magic 0", function(bytes) return put(bytes, 9 * BATCH + 16, "\0") end, 9 },
  { "magic 3", function(bytes) return put(bytes, 9 * BATCH + 16, "\3") end, 9 },
  { "a base offset that goes back", function(bytes) return put(bytes, 9 * BATCH, ("\0"):rep(8)) end, 9 },
  { "a base offset with a hole before it", function(bytes) return put(bytes, 9 * BATCH, ("\0"):rep(7) .. "\28") end, 9 },
  { "a negative base offset", function(bytes) return put(bytes, 9 * BATCH, ("\255"):rep(8)) end, 9 },
  { "the first batch damaged", function(bytes) return put(bytes, 30, "\255\255") end, 0 },
  { "zeros only", function(bytes) return ("\0"):rep(#bytes) end, 0 },
  { "nothing left", function() return "" end, 0 },
}

describe("a log that crashed with", function()
  for _, case in ipairs(TORN) do
    local what, damage, good = case[1], case[2], case[3]
    it(what .. (" ends after batch %d, warns once, and goes on from there"):format(good), function()
      local log = crashed_log()
      rewrite(log, damage)
      local damaged = log:file(0, ".log")
      local again
      local lines = logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
      assert.equal(3 * good, again:end_offset())
      local bases = {}
      for i = 1, good do bases[i] = 3 * (i - 1) end
      assert.same(bases, again:bases())
      local dropped = #damaged - good * BATCH
      assert.equal(dropped > 0 and 1 or 0, #lines)
      if dropped > 0 then
        assert.truthy(lines[1]:find(log:path(0, ".log"), 1, true))
        assert.truthy(lines[1]:find(good == 0 and ("dropped %d bytes, all there are: "):format(dropped)
          or ("dropped %d bytes from byte %d on, after offset %d: "):format(dropped, good * BATCH, 3 * good - 1), 1, true))
        assert.equal(unit.hex(damaged:sub(good * BATCH + 1)), unit.hex(again:file(0, ".log.cut")))
      else
        assert.is_nil(again:file(0, ".log.cut"))
      end
      assert.equal(good * BATCH, #again:file(0, ".log"))
      assert.same({ 3 * good }, again:append(logs.batch()))
      assert.equal(0, again:close())
      local third = logs.open { dir = log.dir, is_clean = true }
      assert.equal(3 * good + 1, third:end_offset())
      third:close()
    end)
  end

  it("its last batch cut at any byte ends before that batch", function()
    local log = crashed_log()
    local bytes = log:file(0, ".log")
    for size = 9 * BATCH + 1, 10 * BATCH - 1 do
      unit.write_file(log:path(0, ".log"), bytes:sub(1, size))
      local again
      local lines = logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
      assert.equal(27, again:end_offset())
      assert.equal(1, #lines)
      assert.equal(size - 9 * BATCH, #again:file(0, ".log.cut"))
      again:crash()
      os.remove(log:path(0, ".log.cut"))
    end
  end)

  it("any single bit of its last batch flipped loses no batch before, and keeps the last only if nothing that counts changed", function()
    local log = crashed_log()
    local bytes = log:file(0, ".log")
    for at = 9 * BATCH + 1, 10 * BATCH do
      local bit = 2 ^ (at % 8)
      local old = bytes:byte(at)
      local new = math.floor(old / bit) % 2 == 1 and old - bit or old + bit
      unit.write_file(log:path(0, ".log"), bytes:sub(1, at - 1) .. string.char(new) .. bytes:sub(at + 1))
      local again
      logs.lines_of(function() again = assert(logs.open { dir = log.dir }) end)
      -- The leader epoch is the one field that neither the CRC nor the order of offsets covers.
      local is_epoch = at > 9 * BATCH + 12 and at <= 9 * BATCH + 16
      assert.equal(is_epoch and 30 or 27, again:end_offset(), "byte " .. at - 9 * BATCH)
      again:crash()
      os.execute("rm -f '" .. log.dir .. "'/*.cut*")
    end
  end)
end)

describe("recovery", function()
  it("keeps what an earlier recovery cut", function()
    local log = crashed_log()
    rewrite(log, function(bytes) return bytes .. "first" end)
    logs.lines_of(function() logs.open({ dir = log.dir }):crash() end)
    rewrite(log, function(bytes) return bytes .. "second" end)
    logs.lines_of(function() logs.open({ dir = log.dir }):crash() end)
    assert.equal("first", log:file(0, ".log.cut"))
    assert.equal("second", log:file(0, ".log.cut.2"))
  end)

  it("sets segments that follow a cut aside, and warns of each", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    for _ = 1, 6 do log:append(logs.batch { size = 100 }) end
    assert.same({ 0, 2, 4 }, (log:segments()))
    log:crash()
    rewrite(log, function(bytes) return bytes:sub(1, 190) .. "\255" .. bytes:sub(192) end, 2)
    local again
    local lines = logs.lines_of(function() again = logs.open { dir = log.dir } end)
    assert.equal(3, again:end_offset())
    assert.same({ 0, 1, 2 }, again:bases())
    assert.equal(2, #lines)
    assert.equal(100, #again:file(2, ".log.cut"))
    assert.equal(200, #again:file(4, ".log.cut"))
    assert.is_nil(again:file(4, ".log"))
    again:close()
  end)

  it("drops a batch that overlaps with the next segment, and only that", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    for _ = 1, 4 do log:append(logs.batch { size = 100 }) end
    log:crash()
    -- As a truncation that did not get to cut the file would leave it.
    rewrite(log, function(bytes) return bytes .. logs.batch { size = 100, base = 2 } end, 0)
    local again
    local lines = logs.lines_of(function() again = logs.open { dir = log.dir } end)
    assert.equal(1, #lines)
    assert.same({ 0, 1, 2, 3 }, again:bases())
    again:close()
  end)

  it("allows holes in the offsets of a topic that is or was compacted", function()
    local config = { is_compacted = true }
    local log = logs.open { config = config }
    for _, base in ipairs { 0, 10, 500 } do log:append(logs.batch { base = base }, { is_follower = true }) end
    log:crash()
    assert.same({}, logs.lines_of(function()
      local again = logs.open { dir = log.dir, config = config }
      assert.same({ 0, 10, 500 }, again:bases())
      again:crash()
    end))
    -- On another topic the same file has lost batches.
    logs.lines_of(function()
      local again = logs.open { dir = log.dir }
      assert.same({ 0 }, again:bases())
      again:crash()
    end)
  end)

  it("rebuilds the indexes as they would have been", function()
    local config = { index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 20 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
    log:crash()
    assert.equal("", log:file(0, ".index"))
    local again = logs.open { dir = log.dir, config = config }
    again:close()
    local index, time_index = again:file(0, ".index"), again:file(0, ".timeindex")
    local twin = logs.open { config = config }
    for i = 1, 20 do twin:append(logs.batch { size = 100, ts = 1000 + i }) end
    twin:close()
    assert.equal(9 * 8, #index)
    assert.equal(unit.hex(twin:file(0, ".index")), unit.hex(index))
    assert.equal(unit.hex(twin:file(0, ".timeindex")), unit.hex(time_index))
  end)

  it("begins at the last index entry below the recovery point", function()
    local config = { index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 200 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
    log:crash()
    local index = log:file(0, ".index")
    assert.equal(64 * 8, #index)
    -- Damage below the recovery point is not looked for: it was on disk, and whole.
    rewrite(log, function(bytes) return bytes:sub(1, 190) .. "\255" .. bytes:sub(192) end)
    local again
    assert.same({}, logs.lines_of(function() again = logs.open { dir = log.dir, config = config, recovery_point = 100 } end))
    assert.equal(200, again:end_offset())
    assert.same({ 199, 1200, 0 }, again:newest())
    again:close()
    assert.equal(unit.hex(index), unit.hex(again:file(0, ".index"):sub(1, #index)))
    assert.equal(99 * 8, #again:file(0, ".index"))
    -- From the start it is found.
    logs.lines_of(function() again = logs.open { dir = log.dir, config = config } end)
    assert.equal(1, again:end_offset())
    again:close()
  end)

  it("does not trust an index whose entries make no sense", function()
    local config = { index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 200 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
    log:crash()
    local good = log:file(0, ".index")
    local bads = { good:sub(1, 100), ("\255"):rep(#good), put(good, 16, good:sub(1, 8)), good:sub(1, -9) .. ("\1"):rep(8) }
    for _, bad in ipairs(bads) do
      unit.write_file(log:path(0, ".index"), bad)
      local again = logs.open { dir = log.dir, config = config, recovery_point = 150 }
      assert.equal(200, #again:bases())
      again:close()
      assert.equal(99 * 8, #again:file(0, ".index"))
      assert.equal(unit.hex(good), unit.hex(again:file(0, ".index"):sub(1, #good)))
    end
  end)

  it("takes the leader epochs from the batches", function()
    local log = logs.open()
    for epoch = 0, 4 do log:append({ logs.batch(), logs.batch() }, { epoch = epoch }) end
    log:crash()
    assert.is_nil(unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
    local again = logs.open { dir = log.dir }
    assert.equal(4, C.log_latest_epoch(again.log))
    for offset = 0, 9 do assert.equal(math.floor(offset / 2), C.log_epoch_for_offset(again.log, offset)) end
    again:close()
    assert.equal("0\n5\n0 0\n1 2\n2 4\n3 6\n4 8\n", unit.read_file(log.dir .. "/leader-epoch-checkpoint"))
  end)
end)

describe("a clean start", function()
  it("takes everything over without a warning", function()
    local config = { segment_bytes = 400, index_interval_bytes = 50 }
    local log = logs.open { config = config }
    for i = 1, 9 do log:append(logs.batch { size = 100, ts = 1000 + i }, { epoch = 3 }) end
    assert.equal(0, log:close())
    local before = log:names()
    assert.same({}, logs.lines_of(function()
      local again = logs.open { dir = log.dir, is_clean = true, config = config }
      assert.equal(9, again:end_offset())
      assert.same({ 0, 1, 2, 3, 4, 5, 6, 7, 8 }, again:bases())
      assert.same({ 8, 1009, 3 }, again:newest())
      assert.equal(9, tonumber(C.log_recovery_point(again.log)))
      assert.equal(0, again:close())
    end))
    assert.same(before, log:names())
  end)

  it("rebuilds indexes that are missing, cut or nonsense", function()
    local config = { segment_bytes = 1000, index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 25 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
    log:close()
    local wanted = {}
    for _, base in ipairs { 0, 10, 20 } do wanted[base] = { log:file(base, ".index"), log:file(base, ".timeindex") } end
    local damages = {
      function(path) os.remove(path) end,
      function(path) unit.write_file(path, "") end,
      function(path) unit.write_file(path, (unit.read_file(path):sub(1, -4))) end,
      function(path) unit.write_file(path, ("\255"):rep(#unit.read_file(path))) end,
      function(path) unit.write_file(path, ("\1"):rep(#unit.read_file(path))) end,
    }
    for number, damage in ipairs(damages) do
      for _, suffix in ipairs { ".index", ".timeindex" } do
        for _, base in ipairs { 0, 10, 20 } do
          -- An empty offset index beside a good time index is what a small segment has.
          if not (number == 2 and suffix == ".index") then
            damage(log:path(base, suffix))
            local again = logs.open { dir = log.dir, is_clean = true, config = config }
            assert.equal(25, #again:bases())
            assert.same({ base + 3, 1004 + base, 0 }, again:by_time(1004 + base))
            assert.equal(0, again:close())
            assert.equal(unit.hex(wanted[base][1]), unit.hex(log:file(base, ".index")))
            assert.equal(unit.hex(wanted[base][2]), unit.hex(log:file(base, ".timeindex")))
          end
        end
      end
    end
  end)

  it("cuts zeros off an index that was preallocated", function()
    local config = { index_interval_bytes = 150 }
    local log = logs.open { config = config }
    for i = 1, 25 do log:append(logs.batch { size = 100, ts = 1000 + i }) end
    log:close()
    local index, time_index = log:file(0, ".index"), log:file(0, ".timeindex")
    unit.write_file(log:path(0, ".index"), index .. ("\0"):rep(8000))
    unit.write_file(log:path(0, ".timeindex"), time_index .. ("\0"):rep(12000))
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    assert.equal(25, #again:bases())
    again:close()
    assert.equal(unit.hex(index), unit.hex(log:file(0, ".index")))
    assert.equal(unit.hex(time_index), unit.hex(log:file(0, ".timeindex")))
  end)

  it("checks everything when the newest file is not what a clean shutdown leaves", function()
    local log = crashed_log()
    rewrite(log, function(bytes) return bytes .. "torn" end)
    local again
    local lines = logs.lines_of(function() again = logs.open { dir = log.dir, is_clean = true } end)
    assert.equal(2, #lines)
    assert.equal(30, again:end_offset())
    assert.equal("torn", again:file(0, ".log.cut"))
    again:close()
  end)

  it("makes the index entries once that it has made already when it comes upon that", function()
    local config = { index_interval_bytes = 0 }
    local log = crashed_log { config = config }
    rewrite(log, function(bytes) return bytes .. "torn" end)
    local again = logs.open { dir = log.dir, config = config, is_clean = true }
    assert.equal(0, again:close())
    assert.equal(9 * 8, #again:file(0, ".index"))
    assert.equal(9 * 12, #again:file(0, ".timeindex"))
  end)
end)

describe("log_open", function()
  it("makes a folder with a first segment and partition.metadata", function()
    local id = require "ffi".new "struct uuid"
    C.uuid_parse("Y13OqAbeTyqNGJjNXsO5hg", id)
    local log = logs.open { topic_id = id }
    local first = { "00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex" }
    assert.same({ first[1], first[2], first[3], "partition.metadata" }, log:names())
    assert.truthy(unit.read_file(log.dir .. "/partition.metadata"):match "^version: 0\ntopic_id: Y13OqAbeTyqNGJjNXsO5hg\n?$")
    assert.equal(0, log:end_offset())
    assert.equal(0, log:start_offset())
    log:close()
    local again = logs.open { dir = log.dir, is_clean = true }
    local found = require "ffi".new "struct uuid"
    C.log_topic_id(again.log, found)
    assert.is_true(C.uuid_equal(id, found))
    again:close()
  end)

  it("refuses the folder of another topic id", function()
    local ffi = require "ffi"
    local mine, other = ffi.new "struct uuid", ffi.new "struct uuid"
    C.uuid_random(mine)
    C.uuid_random(other)
    local log = logs.open { topic_id = mine }
    log:close()
    local again, err = logs.open { dir = log.dir, topic_id = other }
    assert.is_nil(again)
    assert.equal("ERR_INVALID", err)
  end)

  it("removes leftovers and keeps what it does not know", function()
    local log = logs.open()
    log:append(logs.batch())
    log:close()
    for _, name in ipairs { "00000000000000000000.log.deleted", "00000000000000000000.index.deleted",
      "00000000000000000005.log.cleaned", "00000000000000000007.index", "00000000000000000007.timeindex",
      "00000000000000000007.index.swap", "x.tmp", "00000000000000000003.log.cut", "notes.txt", "00000000000000000001.snapshot" } do
      unit.write_file(log.dir .. "/" .. name, "x")
    end
    local again = logs.open { dir = log.dir, is_clean = true }
    assert.same({ "00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex",
      "00000000000000000001.snapshot", "00000000000000000003.log.cut", "leader-epoch-checkpoint", "notes.txt" }, again:names())
    assert.same({ 0 }, again:bases())
    again:close()
  end)

  it("puts a segment in place that Kafka's cleaner had finished", function()
    local config = { is_compacted = true, segment_bytes = 200 }
    local log = logs.open { config = config }
    for _ = 1, 6 do log:append(logs.batch { size = 100 }) end
    log:close()
    -- Segments 0 and 2 were cleaned into one that holds offsets 1 and 3.
    local one, three = logs.batch { size = 90, base = 1, leader_epoch = 0 }, logs.batch { size = 90, base = 3, leader_epoch = 0 }
    unit.write_file(log:path(0, ".log.swap"), one .. three)
    unit.write_file(log:path(0, ".index.swap"), "")
    unit.write_file(log:path(0, ".timeindex.swap"), "")
    local again = logs.open { dir = log.dir, is_clean = true, config = config }
    assert.same({ 0, 4 }, (again:segments()))
    assert.same({ 1, 3, 4, 5 }, again:bases())
    again:close()
  end)

  it("takes log start and recovery point from the checkpoints, within what there is", function()
    local log = logs.open()
    for _ = 1, 10 do log:append(logs.batch()) end
    log:crash()
    local again = logs.open { dir = log.dir, start = 4, recovery_point = 6 }
    assert.equal(4, again:start_offset())
    assert.equal(6, tonumber(C.log_recovery_point(again.log)))
    again:crash()
    again = logs.open { dir = log.dir, recovery_point = 600 }
    assert.equal(10, tonumber(C.log_recovery_point(again.log)))
    again:crash()
  end)

  it("begins anew at a log start above the end, with a warning, and keeps what it had", function()
    local log = logs.open()
    log:append(logs.batch())
    log:crash()
    local again
    local bytes = log:file(0, ".log")
    local lines = logs.lines_of(function() again = logs.open { dir = log.dir, start = 50 } end)
    assert.equal(2, #lines)
    assert.truthy(lines[1]:find("ends at offset 1, below its start offset 50", 1, true), lines[1])
    assert.truthy(lines[2]:find(("dropped %d bytes, all of it, as it lies below the start offset"):format(#bytes), 1, true), lines[2])
    assert.equal(bytes, log:file(0, ".log.cut"))
    assert.equal(50, again:start_offset())
    assert.equal(50, again:end_offset())
    assert.same({ 50 }, again:append(logs.batch()))
    again:close()
  end)

  it("begins at the log start when the folder is empty", function()
    local log = logs.open { start = 42 }
    assert.same({ 42 }, (log:segments()))
    assert.same({ 42 }, log:append(logs.batch()))
    log:close()
  end)

  it("fails with the path when the disk does", function()
    C.errinj_set(C.ERRINJ_FILE_OPEN, 1, 5)
    local log, err, message = logs.open { dir = "/tmp/luka-no-such-log" }
    C.errinj_set(C.ERRINJ_FILE_OPEN, 0, 0)
    os.execute "rm -rf /tmp/luka-no-such-log"
    assert.is_nil(log)
    assert.equal("ERR_IO", err)
    assert.truthy(message:find("/tmp/luka-no-such-log", 1, true))
  end)
end)

describe("log_flush", function()
  it("raises the recovery point to what it was asked for, at most the end", function()
    local log = logs.open { config = { segment_bytes = 200 } }
    for _ = 1, 10 do log:append(logs.batch { size = 100 }) end
    assert.equal(0, C.log_flush(log.log, 4))
    assert.equal(4, tonumber(C.log_recovery_point(log.log)))
    assert.equal(0, C.log_flush(log.log, 3))
    assert.equal(4, tonumber(C.log_recovery_point(log.log)))
    assert.equal(0, C.log_flush(log.log, 1000))
    assert.equal(10, tonumber(C.log_recovery_point(log.log)))
    assert.equal(0, tonumber(C.log_unflushed_offsets(log.log)))
    log:close()
  end)

  it("leaves the recovery point alone when the disk fails", function()
    local log = logs.open()
    log:append(logs.batch())
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
    assert.equal("ERR_IO", logs.name(C.log_flush(log.log, 1)))
    assert.equal("ERR_IO", log:close())
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
  end)

  it("is asked for when a segment ends", function()
    local ffi = require "ffi"
    local log = logs.open { config = { segment_bytes = 200 } }
    log:crash()
    local asked = {}
    local callback = ffi.cast("void (*)(void *, struct log *, int64_t)", function(_, _, offset)
      asked[#asked + 1] = tonumber(offset)
    end)
    local args = ffi.new("struct log_open_args",
      { dir = log.dir, config = logs.config { segment_bytes = 200 }, on_rolled = callback })
    local out = ffi.new "struct log *[1]"
    assert.equal(0, C.log_open(args, out))
    log.log = out[0]
    for _ = 1, 5 do log:append(logs.batch { size = 100 }) end
    assert.same({ 2, 4 }, asked)
    log:close()
    callback:free()
  end)
end)
