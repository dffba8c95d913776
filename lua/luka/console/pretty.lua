-- SPDX-License-Identifier: Apache-2.0
-- Any value as Lua that can be read, in one line where that fits.
local human = require "luka.console.human"
local text = require "luka.console.text"

local M = {}

--- What stands for values that could not be sent: no texts in quotes.
local STAND_INS = {
  ["<function>"] = true, ["<cycle>"] = true, ["<thread>"] = true, ["<userdata>"] = true, ["<cdata>"] = true,
  ["<too deep>"] = true,
}
local KEYWORDS = {
  ["and"] = true, ["break"] = true, ["do"] = true, ["else"] = true, ["elseif"] = true, ["end"] = true, ["false"] = true,
  ["for"] = true, ["function"] = true, ["goto"] = true, ["if"] = true, ["in"] = true, ["local"] = true, ["nil"] = true,
  ["not"] = true, ["or"] = true, ["repeat"] = true, ["return"] = true, ["then"] = true, ["true"] = true,
  ["until"] = true, ["while"] = true,
}
local MAX_DEPTH = 20

local function quoted(value)
  return '"' .. text.line((value:gsub('[\\"]', "\\%0"))) .. '"'
end

local function scalar(value, paint)
  local kind = type(value)
  if kind == "string" then return STAND_INS[value] and value or paint("text", quoted(value)) end
  if kind == "number" or kind == "cdata" then return paint("number", human.number(value)) end
  return paint("word", kind == "boolean" and tostring(value) or "nil") -- JSON's null is a light userdata
end

local function key_text(key)
  if type(key) ~= "string" then return "[" .. human.number(key) .. "]" end
  if key:find "^[%a_][%w_]*$" and not KEYWORDS[key] then return key end
  return "[" .. quoted(key) .. "]"
end

--- Keys of a table that are no elements of its list, in order.
local function named_keys(value)
  local keys, count = {}, #value
  for key in next, value do
    if type(key) ~= "number" or key < 1 or key > count then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

--- Writes a value: `out` gets its parts, `left` is how many columns are left for it in one line, nil for any number.
--- Returns nil when it does not fit.
local function inline(value, out, left, paint, depth)
  if type(value) ~= "table" then
    local piece = scalar(value, paint)
    out[#out + 1] = piece
    return left and left - text.width(scalar(value, M.no_paint)) or nil
  end
  if depth > MAX_DEPTH then
    out[#out + 1] = "<too deep>"
    return left and left - 10 or nil
  end
  local is_first = true
  local function item(prefix, element)
    prefix = (is_first and "" or ", ") .. prefix
    is_first = false
    out[#out + 1] = prefix
    if left then left = left - text.width(prefix) end
    local rest = inline(element, out, left, paint, depth + 1)
    left = left and rest
    return not left or left >= 0
  end
  out[#out + 1] = "{"
  if left then left = left - 4 end
  local has_items = next(value) ~= nil
  if has_items then out[#out + 1] = " " end
  for i = 1, #value do
    if not item("", value[i]) then return -1 end
  end
  for _, key in ipairs(named_keys(value)) do
    if not item(key_text(key) .. " = ", value[key]) then return -1 end
  end
  out[#out + 1] = has_items and " }" or "}"
  return left
end

--- Paints nothing.
---
---@param _ "text"|"number"|"word"
---@param piece string
---@return string
function M.no_paint(_, piece)
  return piece
end

--- A value in one line.
---
---@param value any
---@return string
function M.line(value)
  local out = {}
  inline(value, out, nil, M.no_paint, 1)
  return table.concat(out)
end

local function block(value, out, indent, width, paint, depth, prefix, suffix)
  local line = {}
  local left = width and math.max(width - #indent - text.width(prefix) - #suffix, 1) or 100
  if type(value) ~= "table" or depth > MAX_DEPTH or inline(value, line, left, paint, 1) >= 0 then
    if type(value) ~= "table" or depth > MAX_DEPTH then
      line = {}
      inline(value, line, nil, paint, depth)
    end
    out[#out + 1] = indent .. prefix .. table.concat(line) .. suffix
    return
  end
  out[#out + 1] = indent .. prefix .. "{"
  local deeper = indent .. "  "
  for i = 1, #value do block(value[i], out, deeper, width, paint, depth + 1, "", ",") end
  for _, key in ipairs(named_keys(value)) do
    block(value[key], out, deeper, width, paint, depth + 1, key_text(key) .. " = ", ",")
  end
  out[#out + 1] = indent .. "}" .. suffix
end

--- A value in as many lines as it needs.
---
---@param value any
---@param width integer?  columns of a line, 100 by default
---@param paint (fun(kind: "text"|"number"|"word", piece: string): string)?
---@return string[] lines
function M.lines(value, width, paint)
  local out = {}
  block(value, out, "", width, paint or M.no_paint, 1, "", "")
  return out
end

return M
