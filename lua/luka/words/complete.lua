-- SPDX-License-Identifier: Apache-2.0
-- What Tab offers: names of topics, groups and configs, methods and options of words.
local explain = require "luka.words.explain"
local object = require "luka.words.object"

local M = {}

local RESET = { "topic", "topics", "partition", "partitions", "to", "by", "ago", "time", "dry" }
local READING = { "from", "ago", "filter", "count", "key", "partition", "partitions" }

--- Where names come from, by kind.
---@type table<string, fun(context: luka.Words.Context): string[]>
local KINDS = {
  topic = explain.topic_names,
  config = explain.topic_config_keys,
  method = function() return object.method_names "topic" end,
  group = explain.group_names,
  group_method = function() return object.method_names "group" end,
  reset = function() return RESET end,
  create = explain.create_keys,
  reading = function() return READING end,
  record = function() return { "key", "value", "headers", "timestamp", "partition" } end,
  word = function()
    local names = {}
    for _, entry in ipairs(require("luka.words").help().entries) do
      if not entry.name:find ":" then names[#names + 1] = entry.name end
    end
    return names
  end,
  help = function()
    local names = {}
    for i, entry in ipairs(require("luka.words").help().entries) do names[i] = entry.name:gsub("^%l+:", "") end
    return names
  end,
}

--- Names of a kind that begin with a prefix, sorted. May wait for the broker: call it in a task.
---
---@param context luka.Words.Context
---@param kind "topic"|"config"|"method"|"group"|"group_method"|"reset"|"create"|"reading"|"record"|"word"|"help"
---@param prefix string
---@return string[]
function M.names(context, kind, prefix)
  local out, seen = {}, {}
  for _, name in ipairs(KINDS[kind] and KINDS[kind](context) or {}) do
    if name:sub(1, #prefix) == prefix and not seen[name] then
      seen[name] = true
      out[#out + 1] = name
    end
  end
  table.sort(out)
  return out
end

return M
