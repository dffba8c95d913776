-- SPDX-License-Identifier: Apache-2.0
-- Values of a configuration file as texts: how they are shown in errors, and how they are handed to Kafka's configs,
-- whose values are texts. Numbers keep all their digits or are refused.
local M = {}

local INEXACT = 2 ^ 53 -- also what 2^53 + 1 becomes, so that it may not be what was written
local SHOWN = 80

--- A value as an error message shows it; cut when long.
---
---@param value any
---@return string
function M.show(value)
  local kind = type(value)
  if kind == "string" then
    local text = value
    if #text > SHOWN then text = text:sub(1, SHOWN) .. "..." end
    return '"' .. text .. '"'
  end
  if kind == "number" then
    local is_whole = value == math.floor(value) and math.abs(value) < 1e18
    return M.number(value) or is_whole and ("%.0f"):format(value) or tostring(value)
  end
  if kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind == "cdata" then return tostring(value) end
  return "a " .. kind
end

--- A number as a text with all its digits.
---
---@param value number
---@return string?  nil when it is not exact: an integer of 2^53 or more, infinite, not a number
function M.number(value)
  if value ~= value or value == math.huge or value == -math.huge then return nil end
  if value == math.floor(value) then
    if value >= INEXACT or value <= -INEXACT then return nil end
    return ("%d"):format(value)
  end
  local text = ("%.14g"):format(value)
  if tonumber(text) ~= value then text = ("%.17g"):format(value) end
  return text
end

--- A 64-bit integer (9223372036854775807LL) as a text; nil for other cdata.
local function int64(value)
  return tostring(value):match "^(%-?%d+)U?LL$"
end

local function scalar(value)
  local kind = type(value)
  if kind == "string" then
    if value:find("%z") then return nil, "contains a zero byte" end
    return value
  end
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then
    local text = M.number(value)
    if text then return text end
    if value ~= value or value == math.huge or value == -math.huge then return nil, "expected a finite number" end
    return nil, "is 2^53 or more, where Lua numbers are not exact; write it as a string, or with LL behind it"
  end
  if kind == "cdata" then
    local text = int64(value)
    if text then return text end
  end
  return nil, "expected a string, a number, a boolean or a list of those"
end

--- A value as the text of a Kafka config; a list becomes its elements with commas between.
---
---@param value any
---@return string? text
---@return string? problem  what is wrong with it
---@return any culprit  the value or element that is wrong
function M.text(value)
  if type(value) ~= "table" then
    local text, problem = scalar(value)
    return text, problem, value
  end
  local items, problem, culprit = M.list(value)
  if not items then return nil, problem, culprit end
  local texts = {}
  for i, item in ipairs(items) do
    local text
    text, problem = scalar(item)
    if not text then return nil, problem, item end
    texts[i] = text
  end
  return table.concat(texts, ",")
end

--- Checks that a table is a plain list.
---
---@param value table
---@return any[]? items
---@return string? problem
---@return any culprit
function M.list(value)
  local count = 0
  for key in next, value do
    if type(key) ~= "number" then return nil, "expected a list, but it has the key " .. M.show(key), value end
    count = count + 1
  end
  for i = 1, count do
    if rawget(value, i) == nil then return nil, "expected a list without holes", value end
  end
  return value
end

--- A value as an integer: a whole number, an int64, or with `from_text` decimal digits.
---
---@param value any
---@param from_text boolean?
---@return number?
function M.integer(value, from_text)
  if type(value) == "cdata" then
    local text = int64(value)
    value = text and tonumber(text) or nil
  elseif type(value) == "string" then
    value = from_text and value:match "^%-?%d+$" and tonumber(value) or nil
  end
  if type(value) ~= "number" or value ~= math.floor(value) or value >= INEXACT or value <= -INEXACT then return nil end
  return value
end

return M
