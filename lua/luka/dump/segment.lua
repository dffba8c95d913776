-- SPDX-License-Identifier: Apache-2.0
-- Segment files: batches, and their records when asked for.
local batches = require "luka.dump.batches"
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local record = require "luka.native.record"

local M = {}

local COLUMNS = {
  { name = "OFFSETS", width = 14 }, { name = "COUNT", width = 5 }, { name = "POSITION", width = 8 },
  { name = "SIZE", width = 7 }, { name = "LATEST TIME", width = 24, is_text = true },
  { name = "CODEC", width = 6, is_text = true }, { name = "EPOCH", width = 5 }, { name = "PRODUCER", width = 8 },
  { name = "SEQUENCE", width = 8 }, { name = "NOTES", width = 0, is_text = true },
}

local BATCH = {
  "type", "position", "size", "base_offset", "last_offset", "count", "magic", "crc", "is_intact", "compression",
  "timestamp_type", "base_timestamp", "max_timestamp", "delete_horizon", "leader_epoch", "producer_id",
  "producer_epoch", "base_sequence", "last_sequence", "is_transactional", "is_control",
}

--- The sequence number of a batch's last record: they wrap around.
local function last_sequence(header)
  if not header.base_sequence or not header.count or header.count == 0 then return nil end
  return (header.base_sequence + tonumber(header.last_offset - header.base_offset)) % 2147483648
end

local function range(first, last)
  if not first then return ".." .. data.digits(last) end
  if first == last then return data.digits(first) end
  return data.digits(first) .. ".." .. data.digits(last)
end

local function notes(header)
  local out = {}
  if header.is_intact == false then out[#out + 1] = "WRONG CRC" end
  if header.magic < 2 then out[#out + 1] = "format " .. header.magic end
  if header.timestamp_type == "LogAppendTime" then out[#out + 1] = "append time" end
  if header.is_control then
    out[#out + 1] = "control"
  elseif header.is_transactional then
    out[#out + 1] = "transactional"
  end
  if header.delete_horizon then out[#out + 1] = "tombstones go after " .. data.time(header.delete_horizon) end
  return table.concat(out, ", ")
end

local function print_batch(output, batch)
  local header = batch.header
  if output.is_json then
    header.type, header.position, header.last_sequence = "batch", batch.position, last_sequence(header)
    return output:object(BATCH, header)
  end
  local sequence = last_sequence(header)
  output:row(COLUMNS, {
    range(header.base_offset, header.last_offset), header.count and tostring(header.count) or "?",
    tostring(batch.position), tostring(header.size), data.time(header.max_timestamp), header.compression,
    header.leader_epoch and tostring(header.leader_epoch) or "-",
    header.producer_id and ("%s:%s"):format(data.digits(header.producer_id), header.producer_epoch or "-") or "-",
    sequence and header.producer_id and range(header.base_sequence, sequence) or "-", notes(header),
  })
end

-- ---- records ----

local MARKERS = { [0] = "abort", [1] = "commit" }

--- What a control record says: "commit", "abort" or "control type N", and the coordinator's epoch.
---
---@param each table  a record
---@return string
---@return integer? coordinator_epoch
function M.control(each)
  local key, value = each.key, each.value
  if not key or #key < 4 then return "control record without a type" end
  local kind = files.i16(key, 3)
  return MARKERS[kind] or ("control type " .. kind), MARKERS[kind] and value and #value >= 6 and files.i32(value, 3) or nil
end

local function record_json(output, header, each)
  local out = { "{", data.json_bytes("file", output.path), ',"type":"record","offset":', data.digits(each.offset) }
  if each.timestamp then out[#out + 1] = ',"timestamp":' .. data.digits(each.timestamp) end
  if header.is_control then
    local control, coordinator_epoch = M.control(each)
    out[#out + 1] = ',"control":' .. data.json_string(control)
    if coordinator_epoch then out[#out + 1] = ',"coordinator_epoch":' .. coordinator_epoch end
  end
  out[#out + 1] = "," .. data.json_bytes("key", each.key) .. "," .. data.json_bytes("value", each.value)
  out[#out + 1] = ',"headers":' .. data.json_headers(each.headers) .. "}"
  output:text(table.concat(out))
end

local function record_text(output, header, each)
  local what
  if header.is_control then
    local control, coordinator_epoch = M.control(each)
    what = control .. (coordinator_epoch and ", coordinator epoch " .. coordinator_epoch or "")
  else
    what = data.quote(each.key) .. " = " .. data.quote(each.value)
  end
  local headers = {}
  for i, one in ipairs(each.headers) do headers[i] = data.quote(one.key) .. ": " .. data.quote(one.value) end
  output:text(("    | %s  %s  %s%s"):format(data.digits(each.offset), data.time(each.timestamp), what,
    headers[1] and "  {" .. table.concat(headers, ", ") .. "}" or ""))
end

--- Prints records of a batch from an offset on.
---
---@return integer printed
local function print_records(output, batch, from, count)
  local cursor, err = record.open(batch.bytes, batch.at, batches.UNPACK_MAX)
  local printed = 0
  while cursor and printed < count do
    local each
    each, err = cursor:next()
    if not each then break end
    if each.offset >= from then
      (output.is_json and record_json or record_text)(output, batch.header, each)
      printed = printed + 1
    end
  end
  if cursor then cursor:close() end
  if err then output:problem(batch.position, "records cannot be read: " .. err.message) end
  return printed
end

---@class (exact) luka.DumpWish
---@field with_records boolean
---@field from integer|ffi.cdata*  offset; what is below is not printed
---@field count number  batches, or records, to print; math.huge: all

--- Prints a segment.
---
---@param file luka.DumpFile
---@param output luka.DumpOutput
---@param wish luka.DumpWish
function M.dump(file, output, wish)
  output:file(file.path, ("segment, %d bytes"):format(file.size))
  local walk, left = batches.walk(file), wish.count
  while left > 0 do
    local batch, problem = walk:next()
    if not batch then
      if problem then output:problem(walk.position, problem) end
      break
    end
    if batch.header.last_offset >= wish.from then
      print_batch(output, batch)
      if batch.header.is_intact == false then output:problem(batch.position, "the CRC is wrong") end
      left = left - (wish.with_records and print_records(output, batch, wish.from, left) or 1)
    end
  end
end

return M
