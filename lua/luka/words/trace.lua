-- SPDX-License-Identifier: Apache-2.0
-- Lines of trace(): what a request asks for, and what came of it.
local codec = require "luka.wire.codec"
local error_codes = require "luka.wire.error_codes"
local text = require "luka.words.text"

local M = {}

--- Longest list of topics, bytes, and most of them that are looked at.
local TOPICS_MAX, ITEMS_MAX = 200, 50

local NAMES = {}
for _, entry in ipairs(error_codes) do NAMES[entry[1]] = entry[2] end

--- What requests call the topics they name, and those of a topic's partitions.
local TOPICS = { "topics", "topic_data", "topic_names", "topic_partitions" }
local PARTITIONS = { "partitions", "partition_data", "partition_indexes" }

--- "clicks[0,1]".
local function shown(context, topic)
  if type(topic) == "string" then return topic end
  if type(topic) ~= "table" then return nil end
  local name = topic.name or topic.topic
  if (name == nil or name == "") and topic.topic_id then
    name = context.native.topic_name(topic.topic_id) or "(an unknown id)"
  end
  local numbers = {}
  for _, key in ipairs(PARTITIONS) do
    for i, part in ipairs(type(topic[key]) == "table" and topic[key] or {}) do
      if i > ITEMS_MAX then break end
      if type(part) == "table" then part = part.partition or part.partition_index or part.index end
      numbers[#numbers + 1] = type(part) == "number" and ("%.0f"):format(part) or nil
    end
  end
  return #numbers > 0 and ("%s[%s]"):format(name, table.concat(numbers, ",")) or name
end

--- What a request is about: its topics and its group.
local function about(context, api, version, body)
  local ok, request = pcall(codec.decode, api .. "Request", version, body)
  if not ok then return "" end
  local out = {}
  if type(request.group_id) == "string" then out[#out + 1] = "group " .. request.group_id end
  for _, key in ipairs(TOPICS) do
    for i, topic in ipairs(type(request[key]) == "table" and request[key] or {}) do
      if i > ITEMS_MAX then break end
      out[#out + 1] = shown(context, topic)
    end
  end
  local line = table.concat(out, " ")
  return #line > TOPICS_MAX and line:sub(1, TOPICS_MAX) .. "..." or line
end

local function latency(us)
  us = tonumber(us)
  return us < 10000 and ("%.2f ms"):format(us / 1000) or ("%.0f ms"):format(us / 1000)
end

--- A line.
---
---@param context luka.Words.Context
---@param note table     what C says, see core/lua/script_probe.c
---@param body string?  of a request
---@return string
function M.format(context, note, body)
  local time = tonumber(note.time)
  local out = {
    ("%s.%03d"):format(os.date("%H:%M:%S", time / 1000), time % 1000), note.client_id ~= "" and note.client_id or "-", note.address,
    ("%s v%d #%d"):format(note.api, tonumber(note.version), tonumber(note.correlation_id)),
  }
  if not note.is_answer then
    out[#out + 1] = "asks, " .. text.size(note.size)
    local topics = note.topics or body and about(context, note.api, tonumber(note.version), body) or ""
    if topics ~= "" then out[#out] = out[#out] .. ":" end
    out[#out + 1] = topics ~= "" and topics or nil
  elseif note.is_closed then
    out[#out + 1] = "is closed after " .. latency(note.latency_us)
  elseif note.size < 0 then
    out[#out + 1] = "gets no answer, after " .. latency(note.latency_us)
  else
    out[#out + 1] = ("gets %s after %s"):format(text.size(note.size), latency(note.latency_us))
    local code = tonumber(note.error_code)
    if code ~= 0 then out[#out + 1] = NAMES[code] or ("error %d"):format(code) end
  end
  return table.concat(out, " ")
end

return M
