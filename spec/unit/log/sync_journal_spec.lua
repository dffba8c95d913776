-- SPDX-License-Identifier: Apache-2.0
-- The file that many partitions share a flush by: what is written is read, in order, whatever lies around it.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local logs = require "spec.unit.log.logs"

local C = unit.load "log/sync_journal.h"
local ALIGN = C.SYNC_JOURNAL_ALIGN
local HALF = 8 * ALIGN

local function id_of(text)
  local id = ffi.new "struct uuid"
  ffi.copy(id.bytes, text .. ("."):rep(16), 16)
  return id
end

local function path_of(dir) return dir .. "/luka.sync-journal" end

local function create(dir)
  local journal = ffi.new "struct sync_journal"
  assert.equal(0, C.sync_journal_create(path_of(dir), HALF, journal))
  return journal
end

--- Writes a group; each entry is { topic, partition, base offset, bytes }, or { topic, partition, forget = true }.
local function write(journal, entries)
  local group = ffi.new "struct sync_group"
  for _, entry in ipairs(entries) do
    local bytes = entry[4] or ""
    ffi.copy(C.sync_group_reserve(group, #bytes), bytes, #bytes)
    C.sync_group_add(group, ffi.new("struct sync_entry", { topic_id = id_of(entry[1]), partition = entry[2],
      kind = entry.forget and C.SYNC_ENTRY_FORGET or C.SYNC_ENTRY_RECORDS, base_offset = entry[3] or 0,
      end_offset = (entry[3] or 0) + 1, log_start_offset = 0, length = #bytes }))
  end
  if not C.sync_journal_fits(journal, group) then
    C.sync_group_destroy(group)
    return false
  end
  assert.equal(0, C.sync_journal_write(journal, group))
  C.sync_group_destroy(group)
  return true
end

local function put(journal, offset) return write(journal, { { "t", 0, offset, ("x"):rep(100) } }) end

--- What a new opening reads: lists of "topic-partition@offset" or "forget topic-partition", and what was found.
local function read(dir)
  local journal, reading = ffi.new "struct sync_journal", ffi.new "struct sync_reading"
  local opened = C.sync_journal_open(path_of(dir), journal)
  local found = {}
  local visit = ffi.cast("int (*)(void *, const struct sync_entry *)", function(_, entry)
    local topic = ffi.string(entry.topic_id.bytes, 16):gsub("%.+$", "")
    local name = ("%s-%d"):format(topic, entry.partition)
    if entry.kind == C.SYNC_ENTRY_FORGET then
      found[#found + 1] = "forget " .. name
    else
      local bytes = ffi.new("uint8_t[?]", entry.length)
      assert(C.file_read_at(journal.fd, bytes, entry.length, entry.pos) == 0)
      found[#found + 1] = ("%s@%d %s"):format(name, tonumber(entry.base_offset), ffi.string(bytes, entry.length):sub(1, 4))
    end
    return 0
  end)
  local result = C.sync_journal_read(journal, visit, nil, reading)
  visit:free()
  C.sync_journal_close(journal)
  assert.equal(0, result)
  return found, logs.name(opened), tonumber(reading.groups), tonumber(reading.missing)
end

local function offsets(from, to)
  local list = {}
  for offset = from, to do list[#list + 1] = ("t-0@%d xxxx"):format(offset) end
  return list
end

--- Changes bytes of the file.
local function poke(dir, pos, bytes)
  local file = assert(io.open(path_of(dir), "r+b"))
  file:seek("set", pos)
  file:write(bytes)
  file:close()
end

describe("A sync journal", function()
  local dir
  before_each(function() dir = unit.temp_dir() end)

  it("is empty when it is made, and has its size from the start", function()
    local journal = create(dir)
    C.sync_journal_close(journal)
    assert.equal(ALIGN + 2 * HALF, #unit.read_file(path_of(dir)))
    assert.same({ {}, 0, 0, 0 }, { read(dir) })
  end)

  it("gives the entries of all groups as they were written", function()
    local journal = create(dir)
    write(journal, { { "a", 0, 5, "one" }, { "b", 3, 0, "two" } })
    write(journal, { { "a", 0, forget = true }, { "a", 0, 6, "3" } })
    C.sync_journal_close(journal)
    local found, opened, groups, missing = read(dir)
    assert.same({ "a-0@5 one", "b-3@0 two", "forget a-0", "a-0@6 3" }, found)
    assert.same({ 0, 2, 0 }, { opened, groups, missing })
  end)

  it("begins each group in blocks of its own", function()
    local journal = create(dir)
    put(journal, 0)
    put(journal, 1)
    assert.equal(2 * ALIGN, tonumber(journal.pos))
    C.sync_journal_close(journal)
  end)

  it("does not grow when it is written over, and gives both halves in the order of time", function()
    local journal = create(dir)
    local offset = 0
    for _ = 1, 5 do
      while put(journal, offset) do offset = offset + 1 end
      C.sync_journal_turn(journal)
    end
    -- Five halves of eight groups were filled; the last two are there.
    assert.equal(40, offset)
    put(journal, 40)
    put(journal, 41)
    C.sync_journal_close(journal)
    assert.equal(ALIGN + 2 * HALF, #unit.read_file(path_of(dir)))
    -- What is left of the half's earlier use, from 26 on, is not taken.
    assert.same(offsets(32, 41), (read(dir)))
  end)

  it("forgets all of it when it is reset, though the bytes are there still", function()
    local journal = create(dir)
    for offset = 0, 4 do put(journal, offset) end
    assert.equal(0, C.sync_journal_reset(journal))
    assert.same({}, (read(dir)))
    put(journal, 7)
    C.sync_journal_close(journal)
    assert.same(offsets(7, 7), (read(dir)))
  end)

  it("leaves a damaged group out and says so, whatever byte of it is damaged", function()
    for _, at in ipairs { 0, 4, 8, 12, 16, 24, 40, 60, 100, 190 } do
      local journal = create(dir)
      for offset = 0, 3 do put(journal, offset) end
      C.sync_journal_close(journal)
      poke(dir, ALIGN + 2 * ALIGN + at, "\255\254")
      local found, _, groups, missing = read(dir)
      assert.same({ "t-0@0 xxxx", "t-0@1 xxxx", "t-0@3 xxxx" }, found)
      assert.same({ 3, 1 }, { groups, missing })
    end
  end)

  it("does not take a group that was not written to its end", function()
    local journal = create(dir)
    put(journal, 0)
    write(journal, { { "t", 0, 1, ("x"):rep(3 * ALIGN) } })
    C.sync_journal_close(journal)
    poke(dir, ALIGN + 3 * ALIGN, ("\0"):rep(ALIGN))
    local found, _, groups, missing = read(dir)
    assert.same({ offsets(0, 0), 1, 0 }, { found, groups, missing })
  end)

  it("is read without its header, which is reported", function()
    local journal = create(dir)
    for offset = 0, 3 do put(journal, offset) end
    C.sync_journal_close(journal)
    poke(dir, 0, ("\0"):rep(ALIGN))
    local found, opened = read(dir)
    assert.same({ offsets(0, 3), "ERR_CORRUPT" }, { found, opened })
  end)

  it("is read without its header from where it was last reset, whatever is left from before", function()
    local journal = create(dir)
    local offset = 0
    while put(journal, offset) do offset = offset + 1 end
    C.sync_journal_turn(journal)
    while put(journal, offset) do offset = offset + 1 end
    assert.equal(0, C.sync_journal_reset(journal))
    for at = 100, 101 do put(journal, at) end
    C.sync_journal_close(journal)
    poke(dir, 0, ("\0"):rep(ALIGN))
    assert.same(offsets(100, 101), (read(dir)))
  end)

  it("is empty when something else lies there", function()
    for _, bytes in ipairs { "", "text", ("\1"):rep(ALIGN), ("\2"):rep(ALIGN + 2 * HALF + 17) } do
      local file = assert(io.open(path_of(dir), "wb"))
      file:write(bytes)
      file:close()
      local found, opened = read(dir)
      assert.same({ {}, "ERR_CORRUPT" }, { found, opened })
    end
  end)
end)
