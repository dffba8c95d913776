-- SPDX-License-Identifier: Apache-2.0
-- What tail() and records() read: where it begins, what is wanted of it, and where it ended when the reading began.
local arguments = require "luka.admin.arguments"
local clock = require "luka.native.clock"
local errors = require "luka.errors"
local explain = require "luka.words.explain"
local moment = require "luka.admin.moment"

local M = {}

--- How long the broker holds a request of tail() when there is nothing new; what runs is interrupted between requests.
local WAIT_MS = 250

local OPTIONS = { from = true, ago = true, filter = true, count = true, key = true, partition = true, partitions = true }

local FROM = '"earliest", "latest", an offset, offsets by partition ({ [0] = 42 }) or a time ago ("1h")'

---@class luka.Reading
---@field fetcher luka.Fetcher
---@field filter function?
---@field key string?
---@field count integer?
---@field ends table<integer, integer>  the offset that the next record would have got when the reading began
local Reading = {}
Reading.__index = Reading

--- Partitions to read, as a list.
local function wanted_partitions(where, topic, options)
  local count, list = #topic.partitions, {}
  if options.partition ~= nil and options.partitions ~= nil then
    errors.raise("usage", "%s: partition and partitions are given, one is enough", where)
  end
  local given = options.partitions
  if options.partition ~= nil then given = { options.partition } end
  if given == nil and type(options.from) == "table" then
    given = {}
    for partition in pairs(options.from) do given[#given + 1] = partition end
  end
  if given ~= nil and (type(given) ~= "table" or #given == 0) then
    arguments.refuse(where .. ": partitions", given, "a list: { 0, 1 }")
  end
  local seen = {}
  for i = 1, given and #given or 0 do
    local partition = arguments.integer(where .. ": partition", given[i], 0, 2 ^ 31 - 1)
    if partition >= count then
      errors.raise("UNKNOWN_TOPIC_OR_PARTITION", '%s: topic "%s" has no partition %d, only 0 to %d', where, topic.name,
        partition, count - 1)
    end
    if not seen[partition] then list[#list + 1] = partition end
    seen[partition] = true
  end
  for i = 1, given and 0 or count do list[i] = topic.partitions[i].partition end
  table.sort(list)
  return list
end

--- The time that `from` or `ago` means, ms since 1970; nil when it is no time.
local function time_of(where, options)
  if options.ago ~= nil then
    if options.from ~= nil then errors.raise("usage", "%s: from and ago are given, one is enough", where) end
    return clock.now() - arguments.integer(where .. ": ago", options.ago, 0, 2 ^ 53)
  end
  if type(options.from) ~= "string" then return nil end
  return moment.ago(options.from)
end

local function by_partition(list)
  local out = {}
  for _, entry in ipairs(list) do out[entry.partition] = entry.offset end
  return out
end

--- An offset between the first and the next one of a partition.
local function check_offset(where, topic, partition, offset, first, last)
  offset = arguments.offset(where .. ": from", offset)
  if first and (offset < first or offset > last) then
    errors.raise("OFFSET_OUT_OF_RANGE", '%s: topic "%s" partition %d has no offset %s, it has %s', where, topic,
      partition, arguments.digits(offset), first == last and "no records, the next one is " .. arguments.digits(last)
      or ("%s to %s"):format(arguments.digits(first), arguments.digits(last - 1)))
  end
  return offset
end

--- Where each partition begins.
local function positions_of(context, where, name, partitions, options, ends)
  local admin, from = context.admin, options.from
  local firsts = by_partition(admin.list_offsets(name, "earliest", partitions))
  local time = time_of(where, options)
  if time then
    local at = by_partition(admin.list_offsets(name, math.max(time, 0), partitions))
    for _, partition in ipairs(partitions) do at[partition] = at[partition] or ends[partition] end
    return at, firsts
  elseif from == "earliest" then
    local at = {}
    for partition, first in pairs(firsts) do at[partition] = first end
    return at, firsts
  elseif from == "latest" then
    local at = {}
    for partition, last in pairs(ends) do at[partition] = last end
    return at, firsts
  end
  local at = {}
  for _, partition in ipairs(partitions) do
    local offset = from
    if type(from) == "table" then offset = from[partition] end
    if type(offset) ~= "number" and type(offset) ~= "cdata" then
      arguments.refuse(where .. ": from", from, FROM)
    end
    at[partition] = check_offset(where, name, partition, offset, firsts[partition], ends[partition])
  end
  return at, firsts
end

--- The last records of each partition: a start that leaves few of them.
local function last_positions(ends, firsts, count)
  local at = {}
  for partition, last in pairs(ends) do
    local first = firsts[partition] or last
    at[partition] = last - count > first and last - count or first
  end
  return at
end

--- A partition has lost what was to be read next: retention or delete_records() was faster, or its topic was deleted and
--- made again. Reading goes on at what is there now, and says so. Returns the offset.
local function go_on(self, partition, offset)
  local first = self.context.admin.list_offsets(self.name, "earliest", { partition })[1].offset
  if first == offset then
    errors.raise("OFFSET_OUT_OF_RANGE", 'topic "%s" partition %d does not give its offset %s', self.name, partition,
      arguments.digits(offset))
  end
  local text = first > offset and "the records from offset %s on are gone; going on at %s"
    or "there is no offset %s any more; going on at %s"
  self.context.task.print(("partition %d: " .. text):format(partition, arguments.digits(offset), arguments.digits(first)))
  return first
end

--- Reads from positions on.
local function seek(self, positions)
  self.fetcher = self.context.admin.fetcher(self.name, positions, { max_wait_ms = 0,
    go_on = function(partition, offset) return go_on(self, partition, offset) end })
end

--- Asks for more; whether something came.
local function fetch(self) return explain.call(self.context, self.name, self.fetcher.fetch, self.fetcher) end

--- Opens a topic for reading.
---
---@param context luka.Words.Context
---@param where string  the word
---@param name string
---@param options table?
---@param default "last"|"earliest"  where it begins when `from` is not given
---@return luka.Reading
function M.open(context, where, name, options, default)
  options = arguments.options(where, options, OPTIONS)
  if options.filter ~= nil and type(options.filter) ~= "function" then
    arguments.refuse(where .. ": filter", options.filter, "a function: function(r) return r.key == \"a\" end")
  end
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  local partitions = wanted_partitions(where, topic, options)
  local ends = by_partition(context.admin.list_offsets(name, "latest", partitions))
  local self = setmetatable({ filter = options.filter, ends = ends, name = name, partitions = partitions,
    count = arguments.optional_integer(where .. ": count", options.count, 1, 2 ^ 53) }, Reading)
  if options.key ~= nil then
    self.key = arguments.bytes(options.key) or arguments.refuse(where .. ": key", options.key, "a string")
  end
  local positions
  if options.from == nil and options.ago == nil and default == "last" then
    positions = ends
    self.is_recent = true
    self.firsts = by_partition(context.admin.list_offsets(name, "earliest", partitions))
  else
    local given = {}
    for key, value in pairs(options) do given[key] = value end
    if options.from == nil and options.ago == nil then given.from = default end
    positions = positions_of(context, where, name, partitions, given, ends)
  end
  self.context = context
  seek(self, positions)
  return self
end

--- The last records of the topic that are wanted, by time, when the reading begins without a `from`.
---
---@param most integer
---@return luka.Record[]
function Reading:recent(most)
  if not self.is_recent then return {} end
  most = math.min(most, self.count or most)
  local all = {}
  seek(self, last_positions(self.ends, self.firsts, most))
  while true do
    local record = self:next_until_end()
    if not record then break end
    all[#all + 1] = record
  end
  table.sort(all, function(a, b)
    if a.timestamp ~= b.timestamp then return (a.timestamp or 0) < (b.timestamp or 0) end
    if a.partition ~= b.partition then return a.partition < b.partition end
    return a.offset < b.offset
  end)
  -- What came meanwhile is read after these.
  seek(self, self.ends)
  local out = {}
  for i = math.max(1, #all - most + 1), #all do out[#out + 1] = all[i] end
  return out
end

--- Headers as they are read best: { name = value }, if no name comes twice and each has a value.
local function named_headers(headers)
  if not headers or #headers == 0 then return nil end
  local out = {}
  for _, header in ipairs(headers) do
    if out[header.key] ~= nil or header.value == nil then return headers end
    out[header.key] = header.value
  end
  return out
end

local function is_wanted(self, record)
  if self.key and record.key ~= self.key then return false end
  record.headers = named_headers(record.headers)
  return not self.filter or self.filter(record)
end

--- The next record that is wanted of what has come already.
---
---@return luka.Record?
function Reading:next()
  while true do
    local record = self.fetcher:take()
    if not record then return nil end
    if is_wanted(self, record) then return record end
  end
end

--- Whether something has come that next() has not given.
---
---@return boolean
function Reading:has_more() return self.fetcher:has_waiting() end

--- Asks for more, and waits a little for it.
function Reading:wait()
  self.fetcher.options.max_wait_ms = WAIT_MS
  fetch(self)
end

--- Whether a partition has been read to its end.
local function is_at_end(self)
  for partition, offset in pairs(self.fetcher:positions_by_partition()) do
    if offset < self.ends[partition] then return false end
  end
  return true
end

--- The next record that is wanted of those that were there when the reading began; nil at the end.
---
---@return luka.Record?
function Reading:next_until_end()
  while true do
    local record = self.fetcher:take()
    if record then
      if record.offset < self.ends[record.partition] and is_wanted(self, record) then return record end
    elseif is_at_end(self) or not fetch(self) then
      return nil
    end
  end
end

return M
