-- SPDX-License-Identifier: Apache-2.0
-- Checks of what callers of admin.* and of the console's words pass: whoever gets it wrong reads one sentence that names
-- the function, the value and what is allowed.
local errors = require "luka.errors"
local suggest = require "luka.config.suggest"
local value_of = require "luka.config.value"

local M = {}

--- Longest name of a topic, as in Kafka.
local NAME_MAX = 249

--- Raises that an argument is wrong.
---
---@param where string  "create_topic: partitions"
---@param value any
---@param expected string
function M.refuse(where, value, expected)
  errors.raise("usage", "%s: got %s, expected %s", where, value_of.show(value), expected)
end

--- A name of a topic; objects of the word topic are taken as well.
---
---@param where string
---@param value any
---@return string
function M.name(where, value)
  if type(value) == "table" and type(value.name) == "string" then value = value.name end
  if type(value) ~= "string" or value == "" then M.refuse(where, value, 'the name of a topic: "clicks"') end
  if #value > NAME_MAX then
    errors.raise("INVALID_TOPIC_EXCEPTION", "%s: the name is longer than %d characters", where, NAME_MAX)
  end
  return value
end

--- Longest id of a group: the oldest requests have 16 bits for its length.
local GROUP_MAX = 32767

--- A name of a group; objects of the word group are taken as well.
---
---@param where string
---@param value any
---@return string
function M.group(where, value)
  if type(value) == "table" and type(value.name) == "string" then value = value.name end
  if type(value) ~= "string" then M.refuse(where, value, 'the name of a group: "orders"') end
  if #value > GROUP_MAX then
    errors.raise("INVALID_GROUP_ID", "%s: the name is longer than %d bytes", where, GROUP_MAX)
  end
  return value
end

--- A whole number within bounds, or nil when it is not given.
---
---@param where string
---@param value any
---@param lo number
---@param hi number
---@return number? value
function M.optional_integer(where, value, lo, hi)
  if value == nil then return nil end
  local number = value_of.integer(value)
  if not number or number < lo or number > hi then
    M.refuse(where, value, ("a whole number from %.0f to %.0f"):format(lo, hi))
  end
  return number
end

--- A whole number within bounds.
---
---@return number
function M.integer(where, value, lo, hi)
  local number = M.optional_integer(where, value, lo, hi)
  if not number then M.refuse(where, value, ("a whole number from %.0f to %.0f"):format(lo, hi)) end
  return number
end

--- Bytes of a record: a string as it is, of a number or a boolean its text. Nil when it is neither.
---
---@param value any
---@return string?
function M.bytes(value)
  if type(value) == "string" then return value end
  return type(value) ~= "table" and value_of.text(value) or nil
end

--- Largest int64; beyond it unsigned numbers of C would be written as negative ones, which mean something else.
local OFFSET_MAX = 0x7fffffffffffffffULL

--- An offset or a timestamp: a whole number or int64 from 0.
---
---@return number|ffi.cdata*
function M.offset(where, value)
  local digits = type(value) == "cdata" and tostring(value):match "^%d+(U?)LL$"
  if digits == "" or digits == "U" and value <= OFFSET_MAX then return value end
  if type(value) == "cdata" then M.refuse(where, value, "a whole number from 0 to 9223372036854775807") end
  return M.integer(where, value, 0, 2 ^ 53)
end

--- An offset as its digits.
---
---@param offset number|ffi.cdata*
---@return string
function M.digits(offset)
  return type(offset) == "number" and ("%.0f"):format(offset) or tostring(offset):match "^%-?%d+"
end

--- Options: a table whose keys are known, or nil.
---
---@param where string
---@param options any
---@param known table<string, boolean>|nil  nil: any
---@return table
function M.options(where, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then M.refuse(where, options, "a table of options") end
  for key in pairs(known and options or {}) do
    if not known[key] then
      local names = {}
      for name in pairs(known) do names[#names + 1] = name end
      table.sort(names)
      local nearest = type(key) == "string" and suggest.nearest(key, names)
      errors.raise("usage", "%s: there is no option %s, %s", where, value_of.show(key),
        nearest and ("did you mean %s?"):format(nearest) or "only " .. table.concat(names, ", "))
    end
  end
  return options
end

--- A list.
---
---@param where string
---@param value any
---@return table
function M.list(where, value)
  if type(value) ~= "table" then M.refuse(where, value, "a list") end
  return value
end

--- One of several words.
---
---@param where string
---@param value any
---@param choices table<string, any>
---@return any  what stands for it
function M.choice(where, value, choices)
  local found = type(value) == "string" and choices[value]
  if found then return found end
  local names = {}
  for name in pairs(choices) do names[#names + 1] = ('"%s"'):format(name) end
  table.sort(names)
  M.refuse(where, value, "one of " .. table.concat(names, ", "))
end

return M
