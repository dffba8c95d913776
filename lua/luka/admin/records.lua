-- SPDX-License-Identifier: Apache-2.0
-- admin.fetch, delete_records, list_offsets; and `fetcher`, which the console's tail and records() read with.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local fetcher = require "luka.admin.fetcher"
local sort = require "luka.sort"

local M = {}

local TIMEOUT_MS = 30000
local MAX_RECORDS = 10000

--- Timestamps of ListOffsets that stand for something else.
local SPECIAL = { latest = -1, earliest = -2, max_timestamp = -3 }

local function partition_of(topic, partition) return ('topic "%s" partition %d'):format(topic, partition) end

--- A table by partition, checked: { [0] = value }, as a list of { partition, value }.
local function by_partition(where, given, check)
  if type(given) ~= "table" or next(given) == nil then
    arguments.refuse(where, given, "a table by partition: { [0] = 42 }")
  end
  local list = {}
  for partition, value in pairs(given) do
    list[#list + 1] = { arguments.integer(where .. ": partition", partition, 0, 2 ^ 31 - 1), check(value) }
  end
  sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

--- "earliest", "latest", "max_timestamp", or ms since 1970.
local function timestamp_of(where, what)
  if type(what) == "number" or type(what) == "cdata" then return arguments.offset(where, what) end
  return arguments.choice(where, what, SPECIAL)
end

local FETCH = { max_records = true, max_wait_ms = true, max_bytes = true }

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
function M.add(admin, call)
  local function partitions_of(topic)
    local list = {}
    for i, part in ipairs(admin.describe_topic(topic).partitions) do list[i] = part.partition end
    return list
  end

  --- Offsets of partitions: the first ("earliest"), the one that the next record gets ("latest"), that of the largest
  --- timestamp ("max_timestamp"), or the first record not before a time (ms since 1970; no offset: there is none).
  ---
  ---@param topic string
  ---@param what "earliest"|"latest"|"max_timestamp"|integer|table<integer, any>  for all partitions, or by partition
  ---@param partitions integer[]?  all of them when not given
  ---@return { partition: integer, offset: integer?, timestamp: integer? }[]
  function admin.list_offsets(topic, what, partitions)
    topic = arguments.name("list_offsets", topic)
    local wanted = {}
    if type(what) == "table" then
      wanted = by_partition("list_offsets", what, function(value) return timestamp_of("list_offsets", value) end)
    else
      local timestamp = timestamp_of("list_offsets", what)
      if partitions ~= nil then arguments.list("list_offsets: partitions", partitions) end
      for i, partition in ipairs(partitions or partitions_of(topic)) do
        wanted[i] = { arguments.integer("list_offsets: partition", partition, 0, 2 ^ 31 - 1), timestamp }
      end
    end
    local body = {}
    for i, pair in ipairs(wanted) do body[i] = { partition_index = pair[1], timestamp = pair[2] } end
    local answer = call("ListOffsets", { replica_id = -1, topics = { { name = topic, partitions = body } } })
    local list = {}
    for i, part in ipairs(answer.topics[1].partitions) do
      calls.check(part.error_code, nil, partition_of(topic, part.partition_index))
      list[i] = { partition = part.partition_index, offset = part.offset ~= -1 and part.offset or nil,
        timestamp = part.timestamp ~= -1 and part.timestamp or nil }
    end
    sort(list, function(a, b) return a.partition < b.partition end)
    return list
  end

  --- Deletes the records before an offset, by partition; "latest": all that are committed.
  ---
  ---@param topic string
  ---@param offsets table<integer, integer|"latest">
  ---@return table<integer, integer> first  the first offset that is left, by partition
  function admin.delete_records(topic, offsets)
    topic = arguments.name("delete_records", topic)
    local body = {}
    local function check(value) return value == "latest" and -1 or arguments.offset("delete_records", value) end
    for i, pair in ipairs(by_partition("delete_records", offsets, check)) do
      body[i] = { partition_index = pair[1], offset = pair[2] }
    end
    local answer = call("DeleteRecords", { topics = { { name = topic, partitions = body } }, timeout_ms = TIMEOUT_MS })
    local first, failed, done = {}, nil, 0
    for _, part in ipairs(answer.topics[1].partitions) do
      if part.error_code ~= 0 then
        failed = failed or part
      else
        first[part.partition_index], done = part.low_watermark, done + 1
      end
    end
    if failed then
      calls.check(failed.error_code, nil, partition_of(topic, failed.partition_index),
        done > 0 and (" (those of %d %s were deleted)"):format(done, done == 1 and "partition" or "partitions"))
    end
    return first
  end

  --- Reads records of a topic's partitions, once. Options: max_records (10000), max_wait_ms (0: do not wait for
  --- records), max_bytes (1 MiB; the first batch comes whole). Errors: OFFSET_OUT_OF_RANGE and others.
  ---
  ---@param topic string
  ---@param offsets table<integer, integer>  where to begin, by partition
  ---@param options { max_records: integer?, max_wait_ms: integer?, max_bytes: integer? }?
  ---@return luka.Record[] records
  ---@return table<integer, integer> next  where to go on, by partition
  function admin.fetch(topic, offsets, options)
    topic = arguments.name("fetch", topic)
    options = arguments.options("fetch", options, FETCH)
    local positions = {}
    local function check(value) return arguments.offset("fetch", value) end
    for _, pair in ipairs(by_partition("fetch", offsets, check)) do positions[pair[1]] = pair[2] end
    local reader = fetcher.new(call, topic, positions, {
      max_wait_ms = arguments.optional_integer("fetch: max_wait_ms", options.max_wait_ms, 0, 2 ^ 31 - 1) or 0,
      max_bytes = arguments.optional_integer("fetch: max_bytes", options.max_bytes, 1, 2 ^ 31 - 1) })
    local most = arguments.optional_integer("fetch: max_records", options.max_records, 1, 2 ^ 53) or MAX_RECORDS
    local records = {}
    reader:fetch()
    while #records < most do
      local record = reader:take()
      if not record then break end
      records[#records + 1] = record
    end
    return records, reader:positions_by_partition()
  end

  --- Reads a topic from positions on, record by record; for tail and records() of the console.
  ---
  ---@param topic string
  ---@param positions table<integer, integer>
  ---@param options luka.Fetcher.Options
  ---@return luka.Fetcher
  function admin.fetcher(topic, positions, options) return fetcher.new(call, topic, positions, options) end
end

return M
