-- SPDX-License-Identifier: Apache-2.0
-- Files of lines: checkpoints, leader epochs, properties.
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local count = require("luka.dump.output").count

local M = {}

local FILE_MAX = 64 * 1024 * 1024 -- a checkpoint of a million partitions is smaller

local CHECKPOINT_COLUMNS = {
  { name = "TOPIC", width = 24, is_text = true }, { name = "PARTITION", width = 9 }, { name = "OFFSET", width = 12 },
}
local CHECKPOINT_NAMES = { "type", "topic", "partition", "offset" }
local EPOCH_COLUMNS = { { name = "EPOCH", width = 8 }, { name = "START OFFSET", width = 12 } }
local EPOCH_NAMES = { "type", "epoch", "start_offset" }
local PROPERTY_NAMES = { "type", "key", "value" }

--- The lines of a file; nil and why not.
local function lines_of(file)
  if file.size > FILE_MAX then return nil, "too large for a file of its kind" end
  local bytes, err = file:read(0, file.size)
  if not bytes then return nil, err end
  local lines = {}
  for line in (bytes:sub(-1) == "\n" and bytes or bytes .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  if bytes == "" then lines = {} end
  return lines
end

--- Reads a file with a version, a count and entries.
---
---@param read fun(line: string): table?  an entry, nil: the line is none
---@return table[] entries
---@return string? wrong
local function counted(file, read)
  local lines, err = lines_of(file)
  if not lines then return {}, err end
  if #lines == 0 then return {}, nil end -- Kafka makes it empty, too
  if lines[1] ~= "0" then return {}, ("line 1: version '%s', which is not known"):format(data.plain(lines[1]:sub(1, 40))) end
  local said = lines[2] and #lines[2] < 10 and tonumber(lines[2]:match "^%d+$")
  if not said then return {}, "line 2: no number of entries" end
  local entries = {}
  for i = 3, #lines do
    local entry = read(lines[i])
    if not entry then return entries, ("line %d: '%s' is no entry"):format(i, data.plain(lines[i]:sub(1, 100))) end
    entries[#entries + 1] = entry
  end
  if #entries ~= said then return entries, ("line 2: %d entries, but there are %d"):format(said, #entries) end
  return entries
end

local function checkpoint_entry(line)
  local topic, partition, offset = line:match "^(%S+) (%d+) (%d+)$"
  partition, offset = partition and files.number(partition), offset and files.number(offset)
  return partition and offset and { type = "checkpoint", topic = topic, partition = partition, offset = offset } or nil
end

local function epoch_entry(line)
  local epoch, offset = line:match "^(%d+) (%d+)$"
  epoch, offset = epoch and files.number(epoch), offset and files.number(offset)
  return epoch and offset and { type = "epoch", epoch = epoch, start_offset = offset } or nil
end

--- Reads a checkpoint of offsets.
---
---@param file luka.DumpFile
---@return { topic: string, partition: integer, offset: integer|ffi.cdata* }[] entries
---@return string? wrong
function M.checkpoint(file)
  return counted(file, checkpoint_entry)
end

--- Reads leader epochs.
---
---@param file luka.DumpFile
---@return { epoch: integer, start_offset: integer|ffi.cdata* }[] entries
---@return string? wrong
function M.epochs(file)
  local entries, wrong = counted(file, epoch_entry)
  for i = 2, #entries do
    local before, entry = entries[i - 1], entries[i]
    if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset then
      wrong = wrong or ("line %d: epochs and offsets have to rise"):format(i + 2)
    end
  end
  return entries, wrong
end

--- Prints a checkpoint of offsets.
---
---@param what string
function M.dump_checkpoint(file, output, what)
  local entries, wrong = M.checkpoint(file)
  output:file(file.path, what .. ", " .. count(#entries, "entry", "entries"))
  for _, entry in ipairs(entries) do
    if output.is_json then
      output:object(CHECKPOINT_NAMES, entry)
    else
      output:row(CHECKPOINT_COLUMNS, { data.plain(entry.topic), data.digits(entry.partition), data.digits(entry.offset) })
    end
  end
  if wrong then output:problem(nil, wrong) end
end

--- Prints leader epochs.
function M.dump_epochs(file, output)
  local entries, wrong = M.epochs(file)
  output:file(file.path, "leader epochs, " .. count(#entries, "entry", "entries"))
  for _, entry in ipairs(entries) do
    if output.is_json then
      output:object(EPOCH_NAMES, entry)
    else
      output:row(EPOCH_COLUMNS, { data.digits(entry.epoch), data.digits(entry.start_offset) })
    end
  end
  if wrong then output:problem(nil, wrong) end
end

--- Reads lines of `key=value` or `key: value`.
---
---@param file luka.DumpFile
---@param separator string  "=" or ":"
---@return { key: string, value: string }[] entries
---@return string? wrong
function M.properties(file, separator)
  local lines, wrong = lines_of(file)
  local entries = {}
  local pattern = "^%s*([^%s" .. separator .. "#][^" .. separator .. "]-)%s*" .. separator .. "%s*(.*)$"
  for i, line in ipairs(lines or {}) do
    local text = line:gsub("\r$", "")
    local key, value = text:match(pattern)
    if key then
      entries[#entries + 1] = { type = "property", key = key, value = value }
    elseif text ~= "" and not text:find "^%s*#" then
      wrong = wrong or ("line %d: '%s' is no property"):format(i, data.plain(text:sub(1, 100)))
    end
  end
  return entries, wrong
end

--- Prints such lines.
---
---@param what string
---@param separator string
function M.dump_properties(file, output, what, separator)
  local entries, wrong = M.properties(file, separator)
  output:file(file.path, what)
  for _, entry in ipairs(entries) do
    if output.is_json then
      output:object(PROPERTY_NAMES, entry)
    else
      output:text(("  %-20s  %s"):format(data.plain(entry.key), data.plain(entry.value)))
    end
  end
  if wrong then output:problem(nil, wrong) end
end

return M
