-- SPDX-License-Identifier: Apache-2.0
-- Clearer words for what Lua says of a configuration: it speaks of nil values and unexpected symbols, where somebody
-- misspelt a word, forgot quotes or wrote a key as Kafka spells it.
local amount = require "luka.config.amount"
local kafka = require "luka.config.kafka"
local suggest = require "luka.config.suggest"
local units = require "luka.units"
local unsafe = require "luka.sandbox.unsafe"

local M = {}

--- What Lua has and a configuration, or the console, has not.
local OUT_OF_REACH = {
  collectgarbage = true, debug = true, dofile = true, ffi = true, gcinfo = true, getfenv = true, io = true, jit = true,
  loadfile = true, module = true, newproxy = true, package = true, require = true, setfenv = true,
}
local LIBRARIES = { "os", "string", "table", "math", "bit", "coroutine" }
local SIZES = { kb = "KiB", mb = "MiB", gb = "GiB", kib = "KiB", mib = "MiB", gib = "GiB" }

--- How much of a line is looked at, bytes: some patterns take the square of it.
local LINE_MAX = 1000

local function out_of_reach(name, place)
  if unsafe.NAMES[name] and place == "a configuration" then return ("%s %s"):format(name, unsafe.PROBLEM) end
  return ("%s is out of reach of %s"):format(name, place)
end

--- The name of a global that is nil where something was done to it.
local function missing_word(text)
  return text:match "^attempt to %a+ global '([%w_]+)' %(a nil value%)"
    or text:match "^attempt to perform arithmetic on global '([%w_]+)' %(a nil value%)"
end

--- What to say about a global that is nothing.
---
---@param name string
---@param known string[]  the words that are something
---@param place string?  "the console"; "a configuration" by default
---@return string
function M.unknown_word(name, known, place)
  if OUT_OF_REACH[name] then return out_of_reach(name, place or "a configuration") end
  local nearest = SIZES[name:lower()] or suggest.nearest(name, known)
  return nearest and ("unknown word %s, did you mean %s?"):format(name, nearest) or "unknown word " .. name
end

--- A function that a library of Lua has and ours does not: the source tells which library was meant.
local function missing_field(field, line, place)
  for _, library in ipairs(LIBRARIES) do
    if line:find("%f[%w_]" .. library .. "%s*%.%s*" .. field .. "%f[^%w_]") then
      return out_of_reach(library .. "." .. field, place)
    end
  end
  return nil
end

--- What to write for a number with a unit, "7d".
local function number_hint(text, line)
  local near = text:match "^malformed number near '(.-)'$"
  if not near then return nil end
  local unit = amount.unit(line:match "([%a_][%w_]*)%s*=%s*%d" or "")
  local source = unit and amount.rewrite(near, unit) or not unit and (amount.rewrite(near, "ms") or amount.rewrite(near, "bytes"))
  return source and ("%s: write %s"):format(text, source) or nil
end

--- A word of the console whose text stands without quotes behind it: `help tail`.
local function quotes_hint(text, line, known)
  local near = text:match "^'=' expected near '(.*)'$"
  local word, argument = line:match "^%s*([%a_][%w_]*)%s+([%w_.-]+)%s*$"
  if not word or argument:sub(1, #near) ~= near then return nil end
  for _, name in ipairs(known) do
    if name == word then return ('%s %s: a text goes in quotes: %s "%s"'):format(word, argument, word, argument) end
  end
  return nil
end

--- What other languages write otherwise, and what is easily forgotten.
local function habit_hint(text, near, line)
  if near == "!" then return line:find("!=", 1, true) and "not equal is ~= in Lua" or "write not x for !x" end
  if near == "&" and line:find("&&", 1, true) then return "&& is and in Lua" end
  if near == "|" and line:find("||", 1, true) then return "|| is or in Lua" end
  if near == "=" and text:find "^'then' expected" then return "equal is == in Lua" end
  if text:find "^'=' expected" and near:find "^[+*/-]$" and line:find("%" .. near .. "=") then
    return ("write x = x %s y for x %s= y"):format(near, near)
  end
  if text:find "^'}' expected" and near:find "^[%a_][%w_]*$" and line:find("%f[%w_]" .. near .. "%s*=") then
    return "is a comma missing before it?"
  end
  return nil
end

--- What a syntax error may come from.
local function syntax_hint(text, line, place)
  local near = text:match " near '(.*)'$"
  if not near then return nil end
  local key = near == "=" and text:find "^'}' expected" and line:match "([%a_][%w_]*%.[%w_.]*[%w_])%s*=%f[^=]"
  if key then return ("%s: keys are in snake_case: %s"):format(key, kafka.snake(key)) end
  for name in line:gmatch "%f[%w_]topic%s+([^%s{}()\"'=]+)" do
    if near ~= "" and name:sub(1, #near) == near then
      local rest = place == "the console" and "" or " { ... }"
      return ('topic %s: a topic\'s name goes in quotes: topic "%s"%s'):format(name, name, rest)
    end
  end
  local word = near == "=" and line:match "%f[%w_](broker)%s*%(%s*[%a_]" or near == "=" and line:match "%f[%w_](defaults)%s*%("
  if word then return ("%s: its keys go in braces: %s { ... }"):format(word, word) end
  local name = line:match "^%s*([%a_][%w_]*)%s*:"
  if name and (text:find "^'<name>' expected" or text:find "^function arguments expected") then
    return ("%s: write %s %s"):format(name, name, (name == "broker" or name == "defaults") and "{ ... }" or "= value")
  end
  local habit = habit_hint(text, near, line)
  return habit and ("%s: %s"):format(text, habit) or nil
end

--- Explains a message of Lua's.
---
---@param text string  without its place
---@param line string  the source line it is about, "" when not known
---@param place string?  "the console"; "a configuration" by default
---@param known string[]?  words that are something, where one that is nothing can be read
---@return string text
function M.message(text, line, place, known)
  place = place or "a configuration"
  line = line:sub(1, LINE_MAX)
  local word = known and missing_word(text)
  if word then return M.unknown_word(word, known, place) end
  local number = text:match "^attempt to call global '([%w_]+)' %(a number value%)"
  if number and units[number] then return ("%s is a number: write 5 * %s"):format(number, number) end
  local field = text:match "^attempt to call field '([%w_]+)' %(a nil value%)"
  return field and missing_field(field, line, place) or number_hint(text, line) or syntax_hint(text, line, place)
    or place == "the console" and known and quotes_hint(text, line, known) or text
end

return M
