-- SPDX-License-Identifier: Apache-2.0
-- produce(), tail() and records().
local arguments = require "luka.admin.arguments"
local explain = require "luka.words.explain"
local reading = require "luka.words.reading"
local view = require "luka.view"

local M = {}

local SETUP = 'create("clicks", { partitions = 2 })\n'
  .. 'for i = 1, 5 do produce("clicks", { key = "user" .. i, value = "click " .. i, headers = { page = "home" } }) end'

local READING = 'from: where to begin: "earliest", "latest", an offset, offsets by partition ({ [0] = 42 }), or a time ago: '
  .. '"90s", "15m", "1h", "7d". ago = hours(1) does the same.\n'
  .. "filter: a function that is given each record and says whether it is wanted. A record has topic, partition, offset, "
  .. "timestamp, key, value and headers.\n"
  .. "key: only records with this key. partition = n or partitions = { n, ... }: only of these.\n"
  .. "count: how many records are wanted."

---@type luka.Word[]
M.entries = {
  { name = "produce", group = "records",
    type = "fun(topic: string|luka.TopicObject, records: string|table, "
      .. "options?: { partition?: integer, compression?: string, acks?: integer }): table",
    text = "Writes a record, or a list of records.",
    usage = 'produce("topic", record | { record, ... } [, { partition = n, compression = "zstd" }])',
    about = "A record is { key =, value =, headers = { name = \"text\" }, timestamp = ms, partition = n }, or just a string, "
      .. "the value. Records with a key go to the partition that Kafka's Java client chooses for it, others to one "
      .. "partition after the other.",
    example = 'produce("clicks", { key = "user1", value = "home", headers = { trace = "42" } })',
    setup = 'create("clicks", { partitions = 2 })' },
  { name = "tail", group = "records", type = "fun(topic: string|luka.TopicObject, options?: luka.ReadingOptions)",
    text = "Shows records as they come, until Ctrl-C.",
    usage = 'tail("topic" [, { from =, filter =, count =, key =, partition = }])',
    about = "It begins with the last 10 records, unless it is told otherwise.\n" .. READING,
    example = 'tail("clicks", { from = "earliest", count = 2, filter = function(r) return r.value:find "click" end })',
    setup = SETUP },
  { name = "records", group = "records", type = "fun(topic: string|luka.TopicObject, options?: luka.ReadingOptions): luka.Record[]",
    text = "The records that are there now, as a list.",
    usage = 'records("topic" [, { from =, filter =, count =, key =, partition = }])',
    about = "At most 100, from the earliest on, unless it is told otherwise.\n" .. READING,
    example = 'records("clicks", { key = "user3" })[1].value', setup = SETUP },
}

local SHOWN = { "partition", "offset", "timestamp", "key", "value", "headers" }

--- Records of tail() that are shown at once, at most.
local AT_ONCE = 200

--- What was written, one row a partition.
local function summary(results)
  local by_partition, rows = {}, {}
  for _, result in ipairs(results) do
    local row = by_partition[result.partition]
    if not row then
      row = { partition = result.partition, records = 0, first_offset = result.offset }
      by_partition[result.partition] = row
      rows[#rows + 1] = row
    end
    row.records, row.last_offset = row.records + 1, result.offset
  end
  table.sort(rows, function(a, b) return a.partition < b.partition end)
  return view.list(rows, { "partition", "records", "first_offset", "last_offset" })
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  function words.produce(name, records, options)
    name = arguments.name("produce", name)
    local result = explain.call(context, name, context.admin.produce, name, records, options)
    if result.offset then return view.record(result, { "partition", "offset" }) end
    return summary(result)
  end

  function words.tail(name, options)
    name = arguments.name("tail", name)
    local reader = reading.open(context, "tail", name, options, "last")
    local left = reader.count or math.huge
    local recent = reader:recent(10)
    while true do
      local batch = recent
      recent = {}
      while #batch < math.min(left, AT_ONCE) do
        local record = reader:next()
        if not record then break end
        batch[#batch + 1] = record
      end
      if #batch > 0 then context.task.show(view.list(batch, SHOWN)) end
      left = left - #batch
      if left <= 0 then return end
      if not reader:has_more() then reader:wait() end
    end
  end

  function words.records(name, options)
    name = arguments.name("records", name)
    local reader = reading.open(context, "records", name, options, "earliest")
    local list = {}
    while #list < (reader.count or 100) do
      local record = reader:next_until_end()
      if not record then break end
      list[#list + 1] = record
    end
    return view.list(list, SHOWN)
  end

  return words
end

return M
