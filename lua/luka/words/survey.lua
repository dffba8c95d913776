-- SPDX-License-Identifier: Apache-2.0
-- What several words show of partitions, asked for in few requests however many partitions there are: offsets, sizes and
-- directories, configs that were set.
local codec = require "luka.wire.codec"

local M = {}

--- The topics whose names have a part.
---
---@param context luka.Words.Context
---@param part string?  nil: all
---@return luka.Topic[]
function M.topics(context, part)
  local wanted = {}
  for _, topic in ipairs(context.admin.topics()) do
    if not part or topic.name:find(part, 1, true) then wanted[#wanted + 1] = topic end
  end
  return wanted
end

--- Offsets of all partitions of topics at a special timestamp: { [topic] = { [partition] = offset } }.
local function offsets(context, topics, timestamp)
  local body = {}
  for i, topic in ipairs(topics) do
    local partitions = {}
    for j, part in ipairs(topic.partitions) do
      partitions[j] = { partition_index = part.partition, timestamp = timestamp }
    end
    body[i] = { name = topic.name, partitions = partitions }
  end
  local out = {}
  for _, topic in ipairs(context.admin.call("ListOffsets", { replica_id = -1, topics = body }).topics) do
    local by_partition = {}
    for _, part in ipairs(topic.partitions) do
      -- A partition whose directory is offline has no offsets, and is shown without.
      if part.error_code == 0 and part.offset ~= -1 then by_partition[part.partition_index] = part.offset end
    end
    out[topic.name] = by_partition
  end
  return out
end

--- Sizes and directories: { [topic] = { [partition] = { size_bytes =, path = } } }.
local function places(context, topics)
  local body = codec.NULL
  if #topics == 1 then
    local partitions = {}
    for i, part in ipairs(topics[1].partitions) do partitions[i] = part.partition end
    body = { { topic = topics[1].name, partitions = partitions } }
  end
  local out = {}
  for _, dir in ipairs(context.admin.call("DescribeLogDirs", { topics = body }).results) do
    for _, topic in ipairs(dir.topics) do
      local by_partition = out[topic.name] or {}
      out[topic.name] = by_partition
      for _, part in ipairs(topic.partitions) do
        if not part.is_future_key then
          by_partition[part.partition_index] = { size_bytes = part.partition_size, path = dir.log_dir }
        end
      end
    end
  end
  return out
end

--- The partitions of topics, one a row: topic, partition, leader, replicas, isr, first_offset, next_offset, records,
--- size_bytes, log_dir.
---
---@param context luka.Words.Context
---@param topics luka.Topic[]
---@return table[] rows
function M.partitions(context, topics)
  local rows = {}
  if #topics == 0 then return rows end
  local first, next_offsets, placed = offsets(context, topics, -2), offsets(context, topics, -1), places(context, topics)
  for _, topic in ipairs(topics) do
    for _, part in ipairs(topic.partitions) do
      local row = { topic = topic.name, partition = part.partition, leader = part.leader, replicas = part.replicas,
        isr = part.isr, first_offset = (first[topic.name] or {})[part.partition],
        next_offset = (next_offsets[topic.name] or {})[part.partition] }
      local place = (placed[topic.name] or {})[part.partition]
      if place then row.size_bytes, row.log_dir = place.size_bytes, place.path end
      if row.first_offset and row.next_offset then row.records = row.next_offset - row.first_offset end
      rows[#rows + 1] = row
    end
  end
  return rows
end

--- The configs that were set on a topic itself: { [key] = value }.
---
---@param context luka.Words.Context
---@param name string
---@return table<string, any>
---@return string? from  the topic that a view shows
function M.set_configs(context, name)
  local set, from = {}, nil
  for _, config in ipairs(context.admin.describe_configs("topic", name)) do
    if config.source == "topic" then set[config.name] = config.value end
    if config.name == "luka_view_from" then from = config.value end
  end
  return set, from
end

--- Sums of a topic's rows of M.partitions().
---
---@param rows table[]
---@return number records
---@return number size_bytes
---@return integer unknown  partitions that did not say what they have
function M.sum(rows)
  local records, size_bytes, unknown = 0, 0, 0
  for _, row in ipairs(rows) do
    records = records + (row.records or 0)
    size_bytes = size_bytes + (row.size_bytes or 0)
    if not row.records then unknown = unknown + 1 end
  end
  return records, size_bytes, unknown
end

--- Says that sums are not of everything.
---
---@param context luka.Words.Context
---@param unknown integer  partitions that are not counted
function M.note(context, unknown)
  if unknown > 0 then
    context.task.print(("%s offline, and not counted: log_dirs() says more"):format(
      unknown == 1 and "1 partition is" or ("%d partitions are"):format(unknown)))
  end
end

return M
