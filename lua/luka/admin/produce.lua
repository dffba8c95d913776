-- SPDX-License-Identifier: Apache-2.0
-- admin.produce: writes records, each to its partition, in batches that fit the topic's usual limit.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local clock = require "luka.native.clock"
local errors = require "luka.errors"
local native = require "luka.native.record"
local partitioner = require "luka.admin.partitioner"
local value_of = require "luka.config.value"

local M = {}

local TIMEOUT_MS = 30000

--- Bytes of keys, values and headers in a batch: max.message.bytes is 1 MiB by default, and what a record adds of its own
--- is counted below. A single record may be larger.
local BATCH_BYTES, RECORD_BYTES = 512 * 1024, 32

local COMPRESSIONS = { none = "none", gzip = "gzip", snappy = "snappy", lz4 = "lz4", zstd = "zstd" }
local FIELDS = { key = true, value = true, headers = true, timestamp = true, partition = true, topic = true,
  offset = true }

--- Where a wrong value stands. Put together only when there is one: lists may be long.
local function where_of(place, field)
  local text = place.is_list and ("produce: record %d"):format(place.index) or "produce"
  return field and ("%s: %s"):format(text, field) or text
end

--- A key or value: bytes. Numbers and booleans become their text.
local function bytes_of(place, field, value)
  if value == nil then return nil end
  return arguments.bytes(value) or arguments.refuse(where_of(place, field), value, "a string, a number or nil")
end

--- Headers: a list of { key =, value = }, or a table by key, whose order is the alphabet's.
local function headers_of(place, given)
  if given == nil then return nil end
  if type(given) ~= "table" then arguments.refuse(where_of(place, "headers"), given, 'a table: { trace = "1" }') end
  local out = {}
  for i, header in ipairs(given) do
    if type(header) ~= "table" or type(header.key) ~= "string" then
      arguments.refuse(where_of(place, "headers"), header, '{ key = "trace", value = "1" }')
    end
    out[i] = { key = header.key, value = bytes_of(place, "headers", header.value) }
  end
  local names = {}
  for name in pairs(given) do
    if type(name) == "string" then
      names[#names + 1] = name
    elseif not out[name] then
      arguments.refuse(where_of(place, "headers"), name, 'a name for each: { trace = "1" }')
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do out[#out + 1] = { key = name, value = bytes_of(place, "headers", given[name]) } end
  return out
end

--- A record as it is built, with the partition that it asks for.
local function record_of(place, given, now)
  if type(given) == "string" then return { value = given, timestamp = now }, nil end
  if type(given) ~= "table" then
    arguments.refuse(where_of(place), given, 'a record: { key = "a", value = "b" }')
  end
  for key in pairs(given) do
    if not FIELDS[key] then
      errors.raise("usage", "%s: a record has no field %s, only key, value, headers, timestamp and partition",
        where_of(place), value_of.show(key))
    end
  end
  local timestamp, partition = given.timestamp, given.partition
  if timestamp ~= nil then timestamp = arguments.offset(where_of(place, "timestamp"), timestamp) end
  if partition ~= nil then partition = arguments.integer(where_of(place, "partition"), partition, 0, 2 ^ 31 - 1) end
  return { key = bytes_of(place, "key", given.key), value = bytes_of(place, "value", given.value),
    headers = headers_of(place, given.headers), timestamp = timestamp or now }, partition
end

local function size_of(record)
  local size = RECORD_BYTES + #(record.key or "") + #(record.value or "")
  if record.headers then
    for _, header in ipairs(record.headers) do size = size + #header.key + #(header.value or "") + 10 end
  end
  return size
end

--- The records by partition, each with its place in the list that was given.
local function distribute(self, topic, count, given, options, is_list)
  local now, queues, order = clock.now(), {}, {}
  local place = { is_list = is_list }
  for i = 1, #given do
    place.index = i
    local record, partition = record_of(place, given[i], now)
    partition = partition or options.partition
    if partition and partition >= count then
      errors.raise("UNKNOWN_TOPIC_OR_PARTITION", '%s: topic "%s" has no partition %d, only 0 to %d', where_of(place),
        topic, partition, count - 1)
    end
    if not partition and record.key then partition = partitioner.of_key(record.key, count) end
    if not partition then
      partition = (self.turns[topic] or 0) % count
      self.turns[topic] = partition + 1
    end
    local queue = queues[partition]
    if not queue then
      queue = { partition = partition, at = 1, records = {}, places = {} }
      queues[partition] = queue
      order[#order + 1] = queue
    end
    local last = #queue.records + 1
    queue.records[last], queue.places[last] = record, i
  end
  return order
end

--- The next batch of a queue; how many records it has.
local function next_batch(queue, options)
  local records, size = {}, 0
  while queue.records[queue.at] do
    local record = queue.records[queue.at]
    size = size + size_of(record)
    if #records > 0 and size > BATCH_BYTES then break end
    records[#records + 1] = record
    queue.at = queue.at + 1
  end
  local bytes, err = native.build(records, { compression = options.compression, limit = math.max(size * 2, 2 ^ 20) })
  if not bytes then errors.raise("usage", "produce: %s", err.message) end
  return bytes, #records
end

--- Writes one batch; fills in the results of its records. `written` records went before it. Returns how many it has.
local function send(self, topic, queue, options, results, written)
  local first = queue.at
  local bytes, count = next_batch(queue, options)
  local answer = self.call("Produce", { acks = options.acks or -1, timeout_ms = TIMEOUT_MS, topic_data = {
    { name = topic, partition_data = { { index = queue.partition, records = bytes } } } } })
  local part = answer.responses[1].partition_responses[1]
  local reason = part.error_message
  if part.record_errors and part.record_errors[1] then
    reason = part.record_errors[1].batch_index_error_message or reason
  end
  calls.check(part.error_code, reason, ('topic "%s" partition %d'):format(topic, queue.partition),
    written > 0 and (written == 1 and " (1 record before it was written)"
      or (" (%d records before it were written)"):format(written)))
  for i = 0, count - 1 do
    results[queue.places[first + i]] = { partition = queue.partition, offset = part.base_offset + i }
  end
  return count
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
function M.add(admin, call)
  local self = { call = call, turns = {} }

  --- Writes a record, or a list of them: { key =, value =, headers = { name = "text" }, timestamp = ms, partition = }; a
  --- string is a value. Records with a key go to the partition that Kafka's Java client chooses. Options: partition,
  --- compression ("none", "gzip", "snappy", "lz4", "zstd"), acks (-1: all, 1).
  ---
  ---@param topic string
  ---@param records string|table
  ---@param options { partition: integer?, compression: string?, acks: integer? }?
  ---@return any result  { partition =, offset = }, or a list of those for a list
  function admin.produce(topic, records, options)
    topic = arguments.name("produce", topic)
    options = arguments.options("produce", options, { partition = true, compression = true, acks = true })
    local checked = { partition = arguments.optional_integer("produce: partition", options.partition, 0, 2 ^ 31 - 1),
      acks = arguments.optional_integer("produce: acks", options.acks, -1, 1) }
    if checked.acks == 0 then errors.raise("usage", "produce: acks: got 0, expected -1 or 1: an answer is needed") end
    if options.compression ~= nil then
      checked.compression = arguments.choice("produce: compression", options.compression, COMPRESSIONS)
    end
    local is_list = type(records) == "table" and records[1] ~= nil
    if records == nil then arguments.refuse("produce", records, 'a record: { key = "a", value = "b" }') end
    if is_list == false and type(records) == "table" and next(records) == nil then
      errors.raise("usage", 'produce: there are no records; a record without key and value is { value = "" }')
    end
    local count = #admin.describe_topic(topic).partitions
    local results, written = {}, 0
    for _, queue in ipairs(distribute(self, topic, count, is_list and records or { records }, checked, is_list)) do
      while queue.records[queue.at] do
        written = written + send(self, topic, queue, checked, results, written)
      end
    end
    return is_list and results or results[1]
  end
end

return M
