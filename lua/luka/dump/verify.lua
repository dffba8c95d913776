-- SPDX-License-Identifier: Apache-2.0
-- `luka dump --verify`: looks whether the files of a partition are right in themselves and fit each other, and prints a
-- line for each.
local batches = require "luka.dump.batches"
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local indexes = require "luka.dump.indexes"
local outputs = require "luka.dump.output"
local record = require "luka.native.record"
local text_files = require "luka.dump.text_files"

local M = {}

--- Whether compaction has been at the partition of a file: then offsets may be missing.
local function is_compacted(file)
  local partition = file.folder:match "([^/]+)$"
  local topic, number = (partition or ""):match "^(.+)%-(%d+)$"
  if not topic then return false end
  local checkpoint = files.open(file.folder .. "/../cleaner-offset-checkpoint")
  if not checkpoint then return false end
  local entries = text_files.checkpoint(checkpoint)
  checkpoint:close()
  for _, entry in ipairs(entries) do
    if entry.topic == topic and data.digits(entry.partition) == number then return true end
  end
  return false
end

--- What is wrong with a batch's records.
local function check_records(batch)
  local header = batch.header
  local cursor, err = record.open(batch.bytes, batch.at, batches.UNPACK_MAX)
  if not cursor then return 0, "records cannot be read: " .. err.message end
  local count, last, wrong = 0, nil, nil
  while true do
    local each
    each, err = cursor:next()
    if not each then break end
    count = count + 1
    if each.offset > header.last_offset or header.base_offset and each.offset < header.base_offset then
      wrong = wrong or ("a record has offset %s, which is not the batch's"):format(data.digits(each.offset))
    elseif last and each.offset <= last then
      wrong = wrong or ("offset %s comes after %s"):format(data.digits(each.offset), data.digits(last))
    end
    last = each.offset
  end
  cursor:close()
  return count, err and "records cannot be read: " .. err.message or wrong
end

local function range(first, last)
  return first == last and "offset " .. data.digits(first) or ("offsets %s..%s"):format(data.digits(first), data.digits(last))
end

--- Whether the offsets of a batch follow those before it.
local function check_offsets(state, header)
  local first = header.base_offset or header.last_offset
  if not state.next then return state.base and first < state.base and "an offset below the name of the file" or nil end
  if first < state.next then
    return ("offset %s comes after %s"):format(data.digits(first), data.digits(files.add(state.next, -1)))
  end
  if first > state.next and not state.may_miss then
    return range(state.next, files.add(first, -1)) .. " missing, and the partition was not compacted"
  end
  return nil
end

--- Verifies a segment.
---
---@param file luka.DumpFile
---@param output luka.DumpOutput
---@param base integer|ffi.cdata*|nil  its base offset, where its name says one
---@return string seen
function M.segment(file, output, base)
  local walk = batches.walk(file)
  local state = { base = base, may_miss = is_compacted(file) }
  local batch_count, record_count, first = 0, 0, nil
  while true do
    local batch, problem = walk:next()
    if not batch then
      if problem then output:problem(walk.position, problem) end
      break
    end
    local header = batch.header
    batch_count = batch_count + 1
    if not header.is_intact then output:problem(batch.position, "the CRC is wrong") end
    problem = check_offsets(state, header)
    if problem then output:problem(batch.position, problem) end
    if header.is_intact then
      local count, wrong = check_records(batch)
      record_count = record_count + count
      if wrong then output:problem(batch.position, wrong) end
    end
    first, state.next = first or header.base_offset or header.last_offset, files.add(header.last_offset, 1)
  end
  return ("%s, %s%s"):format(outputs.count(batch_count, "batch", "batches"),
    outputs.count(record_count, "record"), first and ", " .. range(first, files.add(state.next, -1)) or "")
end

-- ---- indexes ----

--- Compares an entry with the batch that it should be about; what is wrong.
local COMPARE = {}

function COMPARE.index(entry, batch)
  if not batch or batch.position ~= entry.position then return "position %d is not where a batch begins", entry.position end
  local header = batch.header
  local first = header.base_offset or header.last_offset
  if entry.offset < first or entry.offset > header.last_offset then
    return "offset %s is not in the batch at position " .. entry.position, data.digits(entry.offset)
  end
end

function COMPARE.timeindex(entry, batch)
  if not batch then return "offset %s is not in the segment", data.digits(entry.offset) end
  if batch.header.max_timestamp ~= entry.timestamp then
    return "the batch with offset %s has the latest time " .. data.time(batch.header.max_timestamp), data.digits(entry.offset)
  end
end

function COMPARE.txnindex(entry, batch)
  if not batch then return "offset %s is not in the segment", data.digits(entry.last_offset) end
  if not batch.header.is_control or batch.header.producer_id ~= entry.producer_id then
    return "offset %s is no marker of producer " .. data.digits(entry.producer_id), data.digits(entry.last_offset)
  end
end

--- Moves a walk to the batch that an entry is about: at its position, or with its offset.
local function seek(state, entry)
  while state.batch do
    if entry.position then
      if state.batch.position >= entry.position then return state.batch end
    elseif state.batch.header.last_offset >= indexes.offset(entry) then
      local first = state.batch.header.base_offset or state.batch.header.last_offset
      return first <= indexes.offset(entry) and state.batch or nil
    end
    state.batch = state.walk:next()
  end
  return nil
end

--- The segment that an index belongs to.
local function open_segment(file)
  local name = file.name:gsub("%.%a*index", ".log", 1)
  return files.open(file.folder .. "/" .. name)
end

--- Verifies an index, and against its segment if that is there.
---
---@param file luka.DumpFile
---@param output luka.DumpOutput
---@param kind luka.DumpIndex
---@param base integer|ffi.cdata*
---@return string seen
function M.index(file, output, kind, base)
  local log = open_segment(file)
  local state = log and { walk = batches.walk(log) }
  if state then state.batch = state.walk:next() end
  local next_entry, count = indexes.entries(file, kind, base), 0
  while true do
    local entry, wrong = next_entry()
    if not entry then
      if wrong then output:problem(nil, wrong) end
      break
    end
    count = count + 1
    local about
    if not wrong and state then wrong, about = COMPARE[entry.type](entry, seek(state, entry)) end
    if wrong then output:problem(entry.at, about and wrong:format(about) or wrong) end
  end
  if log then log:close() end
  return outputs.count(count, "entry", "entries") .. (state and "" or "; its segment is not there to compare with")
end

return M
