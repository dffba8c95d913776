-- SPDX-License-Identifier: Apache-2.0
-- A log and its sync journal: what goes into it, and what of it is appended after a crash.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C = unit.load "log/sync_journal.h"
local LIMIT = 256 * 1024

local ID = ffi.new "struct uuid"
ffi.fill(ID.bytes, 16, 7)

local opened = {}

local function open(options)
  options.topic_id = ID
  opened[#opened + 1] = assert(logs.open(options))
  return opened[#opened]
end

--- Frees them, as LeakSanitizer looks.
local function forget_all()
  for _, log in ipairs(opened) do log:crash() end
  opened = {}
end

--- Gathers what is not on disk; returns the result's name, the entry's bytes, and the range.
local function gather(log, limit)
  local group, range = ffi.new "struct sync_group", ffi.new "struct log_sync_range"
  local result = logs.name(C.log_sync_gather(log.log, 0, limit or LIMIT, group, range))
  local head = C.SYNC_JOURNAL_GROUP_HEADER + C.SYNC_JOURNAL_ENTRY_HEADER
  local bytes = group.count > 0 and ffi.string(group.bytes + head, group.size - head) or ""
  C.sync_group_destroy(group)
  return result, bytes, range
end

--- Has a log take entries: each { base offset, end offset, bytes, log start offset }. Returns how many records it took.
local function replay(log, list)
  local path = unit.temp_dir() .. "/entries"
  local file = assert(io.open(path, "wb"))
  local entries, pos = ffi.new("struct sync_entry[?]", #list), 0
  for i, entry in ipairs(list) do
    file:write(entry[3])
    entries[i - 1] = { topic_id = ID, base_offset = entry[1], end_offset = entry[2], length = #entry[3], pos = pos,
      log_start_offset = entry[4] or 0 }
    pos = pos + #entry[3]
  end
  file:close()
  local fd, records = ffi.new "int[1]", ffi.new "int64_t[1]"
  assert.equal(0, C.file_open(path, C.FILE_READ, fd))
  assert.equal(0, C.log_sync_replay(log.log, fd[0], entries, #list, logs.NOW, records))
  C.file_close(fd[0])
  return tonumber(records[0])
end

--- Batches as a log stores them, one for each list of records.
local function stored(...)
  local log = open {}
  local out = {}
  for _, records in ipairs { ... } do
    local at = log:end_offset()
    log:append { logs.batch { records = records } }
    out[#out + 1] = log:read(at, { max = 1 })
  end
  return out
end

describe("log_sync_gather", function()
  after_each(forget_all)

  it("takes all that is not on disk, over several segments, and nothing twice", function()
    local log = open { config = { segment_bytes = 400 } }
    local list = {}
    for i = 1, 9 do list[i] = logs.batch { size = 150 } end
    for i = 1, 9 do log:append { list[i] } end
    local result, bytes, range = gather(log)
    assert.same({ 0, 9 * 150, 9, 9 * 150 }, { result, #bytes, tonumber(range.end_offset), tonumber(range.bytes) })
    assert.equal(0, tonumber(C.log_durable_offset(log.log)))
    assert.is_true(C.log_sync_done(log.log, range))
    assert.equal(9, tonumber(C.log_durable_offset(log.log)))
    assert.equal(0, tonumber(C.log_recovery_point(log.log)))
    assert.equal(9, tonumber(C.log_journaled_offset(log.log)))
    assert.equal("", (select(2, gather(log))))
    log:append { list[1] }
    assert.equal(150, #select(2, gather(log)))
  end)

  it("leaves to a flush what is more than the limit", function()
    local log = open {}
    for _ = 1, 4 do log:append { logs.batch { size = 150 } } end
    assert.equal("ERR_LIMIT", (gather(log, 599)))
    assert.equal("ERR_LIMIT", (gather(log, 100)))
    assert.equal(0, (gather(log, 600)))
  end)

  it("leaves to a flush what is damaged already", function()
    local log = open {}
    log:append { logs.batch { size = 150 } }
    local file = assert(io.open(log.dir .. "/00000000000000000000.log", "r+b"))
    file:seek("set", 100)
    file:write "!"
    file:close()
    assert.equal("ERR_LIMIT", (gather(log)))
  end)

  it("is worth nothing once records were cut off meanwhile", function()
    local log = open {}
    for _ = 1, 4 do log:append { logs.batch { size = 150 } } end
    local _, _, range = gather(log)
    assert.equal(0, C.log_truncate_to(log.log, 2, logs.NOW))
    assert.is_false(C.log_sync_done(log.log, range))
    assert.equal(0, tonumber(C.log_durable_offset(log.log)))
    log:append { logs.batch { size = 150 } }
    assert.equal(3 * 150, #select(2, gather(log)))
  end)

  it("counts no more as on disk than is left after a truncation", function()
    local log = open {}
    for _ = 1, 4 do log:append { logs.batch { size = 150 } } end
    local _, _, range = gather(log)
    C.log_sync_done(log.log, range)
    assert.equal(0, C.log_truncate_to(log.log, 2, logs.NOW))
    assert.equal(2, tonumber(C.log_durable_offset(log.log)))
  end)
end)

describe("log_sync_replay", function()
  after_each(forget_all)

  local three = stored({ "a" }, { "b", "c" }, { "d" }) -- at 0, 1 and 3, up to 4

  local function log_with(count)
    local log = open {}
    for i = 1, count do log:append({ three[i] }, { is_follower = true }) end
    return log
  end

  for have, offset in ipairs { 1, 3 } do
    it(("appends what follows offset %d, and leaves out what is there"):format(offset), function()
      local log = log_with(have)
      assert.equal(4 - offset, replay(log, { { 0, 4, table.concat(three) } }))
      assert.equal(4, log:end_offset())
      assert.equal(table.concat(three), log:read(0))
    end)
  end

  it("appends nothing that the log has, however often", function()
    local log = log_with(3)
    for _ = 1, 2 do assert.equal(0, replay(log, { { 0, 3, three[1] .. three[2] }, { 3, 4, three[3] } })) end
    assert.equal(4, log:end_offset())
  end)

  it("goes from entry to entry", function()
    local log = log_with(0)
    assert.equal(4, replay(log, { { 0, 1, three[1] }, { 1, 3, three[2] }, { 3, 4, three[3] } }))
    assert.equal(table.concat(three), log:read(0))
  end)

  it("keeps to what follows: a missing entry ends it", function()
    local log = log_with(0)
    assert.equal(1, replay(log, { { 0, 1, three[1] }, { 3, 4, three[3] } }))
    assert.equal(1, log:end_offset())
  end)

  it("takes nothing where the log has other records than the journal", function()
    local log = open {}
    log:append { logs.batch { records = { "another" } } }
    assert.equal(0, replay(log, { { 0, 4, table.concat(three) } }))
    assert.equal(1, log:end_offset())
  end)

  it("goes on behind a closed segment of a compacted log, which may have been written anew, and behind no other", function()
    for is_compacted, taken in pairs { [true] = 1, [false] = 0 } do
      local log = open { config = { is_compacted = is_compacted } }
      log:append({ three[1], logs.batch { base = 1, records = { { key = "k", value = "another" } }, last_delta = 1, count = 1 } },
        { is_follower = true })
      assert.equal(0, C.log_roll(log.log, logs.NOW))
      assert.equal(taken, replay(log, { { 0, 4, table.concat(three) } }))
    end
  end)

  it("takes nothing when the log ends in the midst of a batch of the journal", function()
    local log = open {}
    log:append { logs.batch { records = { "1" } } }
    log:append { logs.batch { records = { "2" } } }
    assert.equal(0, replay(log, { { 1, 3, three[2] } }))
  end)

  it("stops at a damaged batch", function()
    local log = log_with(0)
    local damaged = three[2]:sub(1, -2) .. string.char((three[2]:byte(-1) + 1) % 256)
    assert.equal(1, replay(log, { { 0, 4, three[1] .. damaged .. three[3] } }))
    assert.equal(1, log:end_offset())
  end)

  it("begins within a batch when all before was deleted", function()
    local log = open { start = 2 }
    assert.equal(3, replay(log, { { 0, 4, table.concat(three), 2 } }))
    assert.same({ 2, 4 }, { log:start_offset(), log:end_offset() })
  end)

  it("begins where the journal does when all before was deleted and nothing of that was noted", function()
    local log = open {}
    assert.equal(1, replay(log, { { 3, 4, three[3], 3 } }))
    assert.same({ 3, 4 }, { log:start_offset(), log:end_offset() })
  end)
end)
