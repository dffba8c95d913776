-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua: broker, defaults, topic and the units; and those to come, which say so.
local failure = require "luka.config.failure"
local schema = require "luka.config.schema"
local source = require "luka.config.source"
local units = require "luka.units"
local value_of = require "luka.config.value"

local M = {}

--- Words followed by a table in braces.
M.BLOCKS = { broker = true, defaults = true, topic = true }

--- Where user code called, from inside a word.
---
---@param files luka.Files
---@return luka.Origin
local function caller(files)
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    local path = info.source:match "^@(.*)"
    if path and files.by_path[path] and info.currentline > 0 then return { source = path, line = info.currentline } end
    level = level + 1
  end
  return files.position()
end

--- The block of the source that a call is, or nil when its table was not written in place.
local function block_of(files, word, name, origin)
  local file = files.by_path[origin.source]
  if not file then return nil end
  file.blocks = file.blocks or source.by_line(source.blocks(file.text, M.BLOCKS))
  return source.find(file.blocks, word, name, origin.line)
end

--- Calls `take` for each field of a block's table, in the order of their lines.
local function each_field(files, word, name, path, values, origin, take)
  if type(values) ~= "table" then
    local example = name and 'topic "clicks" { ... }' or word .. " { ... }"
    failure.raise(origin, path, "got %s, expected a table: %s", value_of.show(values), example)
  end
  local block = block_of(files, word, name, origin)
  local keys, too_many = {}, schema.KEYS_MAX
  local function line_of(key) return block and block.keys[key] or origin.line end
  for key in next, values do
    if type(key) ~= "string" then
      failure.raise(origin, path, "got %s without a key, expected key = value", value_of.show(values[key]))
    end
    keys[#keys + 1] = key
    if #keys > too_many then failure.raise(origin, path, "has more than %d keys", too_many) end
  end
  table.sort(keys, function(a, b)
    local line_a, line_b = line_of(a), line_of(b)
    if line_a ~= line_b then return line_a < line_b end
    return a < b
  end)
  for _, key in ipairs(keys) do
    local key_path = path .. "." .. key
    local key_origin = { source = origin.source, line = line_of(key) }
    if block and block.earlier[key] then
      failure.raise(key_origin, key_path, "given already at %s:%d", origin.source, block.earlier[key])
    end
    take(key, rawget(values, key), key_origin, key_path)
  end
end

--- A word that may be used once.
local function once_word(files, calls, word, take)
  local first
  return function(values)
    calls.count = calls.count + 1
    local origin = caller(files)
    if first then failure.raise(origin, word, "given already at %s", failure.where(first)) end
    first = origin
    each_field(files, word, nil, word, values, origin, take)
  end
end

--- A word that comes with a later version.
local function later_word(files, word, kind)
  local function refuse() failure.raise(caller(files), word, "is not supported yet") end
  if kind == "call" then return refuse end
  return setmetatable({}, { __index = refuse, __newindex = refuse, __call = refuse, __metatable = false })
end

--- All words for the environment of a configuration file.
---
---@param files luka.Files
---@param settings luka.Settings
---@return table<string, any> words  luka.config.globals makes globals of them
---@return { count: integer } calls  how often one that sets something was called
function M.new(files, settings)
  local words, calls = {}, { count = 0 }
  for name, value in pairs(units) do words[name] = value end
  for name, kind in pairs(schema.WORDS_LATER) do words[name] = later_word(files, name, kind) end
  words.broker = once_word(files, calls, "broker", function(...) settings:set_broker(...) end)
  words.defaults = once_word(files, calls, "defaults", function(...) settings:set_default(...) end)
  words.topic = function(name, ...)
    calls.count = calls.count + 1
    local topic = settings:add_topic(name, caller(files))
    local function take(values)
      local origin = caller(files)
      if topic.is_complete then
        failure.raise(origin, topic.path, "given already at %s", failure.where(topic.origin))
      end
      each_field(files, "topic", name, topic.path, values, origin, function(...) settings:set_topic(topic, ...) end)
      topic.is_complete = true
    end
    if select("#", ...) == 0 then return take end
    take((...))
  end
  return words, calls
end

return M
