-- SPDX-License-Identifier: Apache-2.0
-- A word with a table in braces: where it is called, and its keys with the lines on which they stand.
local failure = require "luka.config.failure"
local schema = require "luka.config.schema"
local source = require "luka.config.source"
local value_of = require "luka.config.value"

local M = {}

--- Words followed by a table in braces.
M.WORDS = { broker = true, defaults = true, topic = true, view = true }

--- Where user code called, from inside a word.
---
---@param files luka.Files
---@return luka.Origin
function M.caller(files)
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
  file.blocks = file.blocks or source.by_line(source.blocks(file.text, M.WORDS))
  return source.find(file.blocks, word, name, origin.line)
end

--- Calls `take` for each field of a block's table, in the order of their lines.
function M.each_field(files, word, name, path, values, origin, take)
  if type(values) ~= "table" then
    local example = word == "view" and 'view("orders.eu", { from = "orders" })'
      or name and 'topic "clicks" { ... }' or word .. " { ... }"
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

return M
