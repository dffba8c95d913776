-- SPDX-License-Identifier: Apache-2.0
-- Producer snapshots: what a log knew of its idempotent producers at an offset. Luka adds the earlier batches of each
-- producer where Kafka does not look (core/log/producer_state.h).
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local record = require "luka.native.record"

local M = {}

local VERSION = 1
local HEADER, PRODUCER = 10, 46 -- bytes
local EARLIER_HEADER, EARLIER = 8, 32
local FILE_MAX = 64 * 1024 * 1024 -- a snapshot of a million producers is smaller

local COLUMNS = {
  { name = "PRODUCER", width = 8 }, { name = "EPOCH", width = 5 }, { name = "SEQUENCES", width = 10 },
  { name = "OFFSETS", width = 12 }, { name = "TIME", width = 24, is_text = true }, { name = "NOTES", width = 0, is_text = true },
}

local NAMES = {
  "type", "producer_id", "producer_epoch", "first_sequence", "last_sequence", "first_offset", "last_offset", "timestamp",
  "coordinator_epoch", "transaction_first_offset", "is_earlier",
}

local function known(value)
  return value ~= -1 and value or nil
end

--- Adds the first sequence and offset of a batch to its last and the distance.
local function complete(entry, delta)
  if entry.last_offset and delta >= 0 then entry.first_offset = files.add(entry.last_offset, -delta) end
  if entry.last_sequence and delta >= 0 then entry.first_sequence = (entry.last_sequence - delta) % 2147483648 end
  return entry
end

local function read_producer(bytes, at)
  return complete({
    type = "producer", producer_id = files.i64(bytes, at), producer_epoch = files.i16(bytes, at + 8),
    last_sequence = known(files.i32(bytes, at + 10)), last_offset = known(files.i64(bytes, at + 14)),
    timestamp = known(files.i64(bytes, at + 26)), coordinator_epoch = known(files.i32(bytes, at + 34)),
    transaction_first_offset = known(files.i64(bytes, at + 38)),
  }, files.i32(bytes, at + 22))
end

local function read_earlier(bytes, at)
  return complete({
    type = "producer", is_earlier = true, producer_id = files.i64(bytes, at), last_sequence = files.i32(bytes, at + 8),
    last_offset = files.i64(bytes, at + 12), timestamp = known(files.i64(bytes, at + 24)),
  }, files.i32(bytes, at + 20))
end

local function range(first, last)
  if not last then return "-" end
  return first and first ~= last and data.digits(first) .. ".." .. data.digits(last) or data.digits(last)
end

local function print_entry(output, entry)
  if output.is_json then return output:object(NAMES, entry) end
  local notes = {}
  if entry.is_earlier then notes[1] = "earlier batch" end
  if entry.transaction_first_offset then
    notes[#notes + 1] = "transaction open since offset " .. data.digits(entry.transaction_first_offset)
  end
  if entry.coordinator_epoch then notes[#notes + 1] = "coordinator epoch " .. entry.coordinator_epoch end
  output:row(COLUMNS, {
    data.digits(entry.producer_id), entry.producer_epoch and tostring(entry.producer_epoch) or "",
    range(entry.first_sequence, entry.last_sequence), range(entry.first_offset, entry.last_offset),
    data.time(entry.timestamp), table.concat(notes, ", "),
  })
end

--- Reads the entries that a snapshot has.
---
---@param bytes string
---@return table[] entries
---@return string? wrong
local function read(bytes)
  if #bytes < HEADER then return {}, ("%d bytes are no snapshot"):format(#bytes) end
  local version = files.i16(bytes, 1)
  if version ~= VERSION then return {}, ("snapshot of version %d, which is not known"):format(version) end
  local wrong = files.u32(bytes, 3) ~= record.crc32c(bytes, 7) and "the checksum is wrong" or nil
  local entries, count, at = {}, files.u32(bytes, 7), HEADER + 1
  for i = 1, count do
    if at + PRODUCER > #bytes + 1 then return entries, wrong or ("cut after %d of %d producers"):format(i - 1, count) end
    entries[#entries + 1] = read_producer(bytes, at)
    at = at + PRODUCER
  end
  if bytes:sub(at, at + 3) ~= "LUKA" or at + EARLIER_HEADER > #bytes + 1 then return entries, wrong end
  count, at = files.u32(bytes, at + 4), at + EARLIER_HEADER
  for i = 1, count do
    if at + EARLIER > #bytes + 1 then return entries, wrong or ("cut after %d of %d earlier batches"):format(i - 1, count) end
    entries[#entries + 1] = read_earlier(bytes, at)
    at = at + EARLIER
  end
  return entries, wrong
end

--- Reads a snapshot.
---
---@param file luka.DumpFile
---@return table[]? entries
---@return string? wrong
function M.read(file)
  if file.size > FILE_MAX then return {}, "too large for a snapshot" end
  local bytes, err = file:read(0, file.size)
  if not bytes then return {}, err end
  return read(bytes)
end

--- Prints a snapshot.
---
---@param file luka.DumpFile
---@param output luka.DumpOutput
---@param wish luka.DumpWish
function M.dump(file, output, wish)
  local entries, wrong = M.read(file)
  output:file(file.path, ("producers, %d bytes"):format(file.size))
  for i = 1, math.min(#entries, wish.count) do print_entry(output, entries[i]) end
  if wrong then output:problem(nil, wrong) end
end

return M
