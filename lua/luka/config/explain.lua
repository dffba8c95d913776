-- SPDX-License-Identifier: Apache-2.0
-- Clearer words for what Lua says of a configuration: it speaks of nil values and unexpected symbols, where somebody
-- misspelt a word, forgot quotes or wrote a key as Kafka spells it.
local schema = require "luka.config.schema"
local suggest = require "luka.config.suggest"
local units = require "luka.units"

local M = {}

--- What Lua has and a configuration has not.
local OUT_OF_REACH = {
  collectgarbage = true, debug = true, dofile = true, ffi = true, gcinfo = true, getfenv = true, io = true, jit = true,
  loadfile = true, module = true, newproxy = true, package = true, setfenv = true,
}
local LIBRARIES = { "os", "string", "table", "math", "bit", "coroutine" }
local SIZES = { kb = "KiB", mb = "MiB", gb = "GiB", kib = "KiB", mib = "MiB", gib = "GiB" }

local function out_of_reach(name)
  return name .. " is out of reach of a configuration"
end

--- The name of a global that is nil where something was done to it.
local function missing_word(text)
  return text:match "^attempt to %a+ global '([%w_]+)' %(a nil value%)"
    or text:match "^attempt to perform arithmetic on global '([%w_]+)' %(a nil value%)"
end

local function unknown_word(name, env)
  if OUT_OF_REACH[name] then return out_of_reach(name) end
  local known = {}
  for word in pairs(env) do known[#known + 1] = word end
  local nearest = SIZES[name:lower()] or suggest.nearest(name, known)
  return nearest and ("unknown word %s, did you mean %s?"):format(name, nearest) or "unknown word " .. name
end

--- A function that a library of Lua has and ours does not: the source tells which library was meant.
local function missing_field(field, line)
  for _, library in ipairs(LIBRARIES) do
    if line:find("%f[%w_]" .. library .. "%s*%.%s*" .. field .. "%f[^%w_]") then
      return out_of_reach(library .. "." .. field)
    end
  end
  return nil
end

--- What a syntax error may come from.
local function syntax_hint(text, line)
  if text:find "^'}' expected" and text:find "near '='$" then
    local key = line:match "([%a_][%w_]*%.[%w_.]*[%w_])%s*=%f[^=]"
    if key then return ("%s: keys are in snake_case: %s"):format(key, schema.snake(key)) end
  end
  local name = text:find " near '" and line:match "^%s*topic%s+([^%s{}()\"'=]+)"
  if name then return ('topic %s: a topic\'s name goes in quotes: topic "%s" { ... }'):format(name, name) end
  return nil
end

--- Explains a message of Lua's.
---
---@param text string  without its place
---@param line string  the source line it is about, "" when not known
---@param env table  what the configuration can reach
---@return string text
function M.message(text, line, env)
  local word = missing_word(text)
  if word then return unknown_word(word, env) end
  local number = text:match "^attempt to call global '([%w_]+)' %(a number value%)"
  if number and units[number] then return ("%s is a number: write 5 * %s"):format(number, number) end
  local field = text:match "^attempt to call field '([%w_]+)' %(a nil value%)"
  return field and missing_field(field, line) or syntax_hint(text, line) or text
end

return M
