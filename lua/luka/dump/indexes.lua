-- SPDX-License-Identifier: Apache-2.0
-- The three indexes of a segment: offsets, times, aborted transactions. A broker that runs keeps room behind the
-- entries of the first two, which is zeros.
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local outputs = require "luka.dump.output"

local M = {}

local PIECE_ENTRIES = 16384 -- read at a time

---@class (exact) luka.DumpIndex
---@field what string
---@field size integer  bytes of an entry
---@field columns luka.DumpColumn[]
---@field names string[]
---@field read fun(bytes: string, at: integer, base: integer|ffi.cdata*): table  an entry
---@field texts fun(entry: table): string[]
---@field has_room boolean  zeros at the end are room for more

---@type table<string, luka.DumpIndex>
M.KINDS = {}

M.KINDS.index = {
  what = "offset index", size = 8, has_room = true, names = { "type", "offset", "position" },
  columns = { { name = "OFFSET", width = 12 }, { name = "POSITION", width = 12 } },
  read = function(bytes, at, base)
    return { type = "index", offset = files.add(base, files.u32(bytes, at)), position = files.u32(bytes, at + 4) }
  end,
  texts = function(entry) return { data.digits(entry.offset), tostring(entry.position) } end,
}

M.KINDS.timeindex = {
  what = "time index", size = 12, has_room = true, names = { "type", "timestamp", "offset" },
  columns = { { name = "TIME", width = 24, is_text = true }, { name = "OFFSET", width = 12 } },
  read = function(bytes, at, base)
    return { type = "timeindex", timestamp = files.i64(bytes, at), offset = files.add(base, files.u32(bytes, at + 8)) }
  end,
  texts = function(entry) return { data.time(entry.timestamp), data.digits(entry.offset) } end,
}

M.KINDS.txnindex = {
  what = "index of aborted transactions", size = 34, has_room = false,
  names = { "type", "version", "producer_id", "first_offset", "last_offset", "last_stable_offset" },
  columns = { { name = "PRODUCER", width = 8 }, { name = "FIRST OFFSET", width = 12 }, { name = "LAST OFFSET", width = 12 },
    { name = "LAST STABLE OFFSET", width = 12 } },
  read = function(bytes, at)
    return { type = "txnindex", version = files.i16(bytes, at), producer_id = files.i64(bytes, at + 2),
      first_offset = files.i64(bytes, at + 10), last_offset = files.i64(bytes, at + 18),
      last_stable_offset = files.i64(bytes, at + 26) }
  end,
  texts = function(entry)
    return { data.digits(entry.producer_id), data.digits(entry.first_offset), data.digits(entry.last_offset),
      data.digits(entry.last_stable_offset) }
  end,
}

--- What is odd about an entry, seen from the one before it.
local function disorder(kind, entry, before)
  if kind == M.KINDS.txnindex then
    if entry.version ~= 0 then return ("entry of version %d, which is not known"):format(entry.version) end
    if entry.first_offset > entry.last_offset then return "first offset above the last" end
    return before and entry.last_offset <= before.last_offset and "last offset is not above that of the entry before"
  end
  if not before then return nil end
  if entry.offset <= before.offset then
    return ("offset %s is not above %s of the entry before"):format(data.digits(entry.offset), data.digits(before.offset))
  end
  if entry.position and entry.position <= before.position then
    return ("position %d is not above %d of the entry before"):format(entry.position, before.position)
  end
  if entry.timestamp and entry.timestamp <= before.timestamp then
    return ("time %s is not after that of the entry before"):format(data.time(entry.timestamp))
  end
  return nil
end

--- Goes through the entries of an index.
---
---@param file luka.DumpFile
---@param kind luka.DumpIndex
---@param base integer|ffi.cdata*  base offset of the segment
---@return fun(): table?, string?  next entry with its `at` (byte in the file) and what is wrong with it; nil and what is
---wrong at the end
function M.entries(file, kind, base)
  local bytes, start, at, before = "", 0, 0, nil
  local room_at = kind.has_room and file:zeros() or file.size
  return function()
    if at - start + kind.size > #bytes then
      local err
      start = at
      bytes, err = file:read(at, PIECE_ENTRIES * kind.size)
      if not bytes then return nil, err end
    end
    local left = #bytes - (at - start)
    if left == 0 then return nil end
    if at >= room_at then return nil, nil, file.size - at end
    if left < kind.size then return nil, ("an entry is cut after %d bytes"):format(left) end
    local entry = kind.read(bytes, at - start + 1, base)
    entry.at, at = at, at + kind.size
    local wrong = disorder(kind, entry, before)
    before = entry
    return entry, wrong or nil
  end
end

--- The offset that an entry is about.
function M.offset(entry)
  return entry.offset or entry.last_offset
end

--- Prints an index.
---
---@param file luka.DumpFile
---@param output luka.DumpOutput
---@param wish luka.DumpWish
---@param kind luka.DumpIndex
---@param base integer|ffi.cdata*
function M.dump(file, output, wish, kind, base)
  output:file(file.path, ("%s, %d bytes"):format(kind.what, file.size))
  local left, next_entry = wish.count, M.entries(file, kind, base)
  while left > 0 do
    local entry, wrong, room = next_entry()
    if not entry then
      if wrong then output:problem(nil, wrong) end
      if room then output:note(nil, "room for " .. outputs.count(math.floor(room / kind.size), "more entry", "more entries")) end
      break
    end
    if M.offset(entry) >= wish.from then
      if output.is_json then output:object(kind.names, entry) else output:row(kind.columns, kind.texts(entry)) end
      left = left - 1
    end
    if wrong then output:problem(entry.at, wrong) end
  end
end

return M
