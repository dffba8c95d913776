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
local MAX_DEPTH, LINE_WIDTH = 20, 100

local function quoted(value)
  return '"' .. text.line((value:gsub('[\\"]', "\\%0"))) .. '"'
end

local function scalar(value, paint)
  local kind = type(value)
  if kind == "string" then return STAND_INS[value] and value or paint("text", quoted(value)) end
  if kind == "number" or kind == "cdata" then return paint("number", human.number(value)) end
  return paint("word", kind == "boolean" and tostring(value) or "nil") -- JSON's null is a light userdata
end

--- A key: JSON has made texts of numbers.
local function key_text(key)
  if type(key) ~= "string" then return "[" .. human.number(key) .. "]" end
  if key:find "^[%a_][%w_]*$" and not KEYWORDS[key] then return key end
  return key:find "^%-?%d+$" and "[" .. key .. "]" or "[" .. quoted(key) .. "]"
end

local function is_before(a, b)
  local number_a, number_b = tonumber(a), tonumber(b)
  if number_a and number_b then return number_a < number_b end
  if number_a or number_b then return number_a ~= nil end
  return tostring(a) < tostring(b)
end

--- Keys of a table that are no elements of its list, in order.
local function named_keys(value)
  local keys, count = {}, #value
  for key in next, value do
    if type(key) ~= "number" or key < 1 or key > count then keys[#keys + 1] = key end
  end
  table.sort(keys, is_before)
  return keys
end

--- Writes a value in one line: `out` gets its parts. Returns how much of `room` is left, which is negative when it does
--- not fit; then not all of it is written.
local function inline(value, out, room, paint, depth)
  if type(value) ~= "table" or depth > MAX_DEPTH then
    local piece = depth > MAX_DEPTH and "<too deep>" or scalar(value, M.no_paint)
    out[#out + 1] = depth > MAX_DEPTH and piece or scalar(value, paint)
    return room - text.width(piece)
  end
  local function item(prefix, element)
    out[#out + 1] = prefix
    room = inline(element, out, room - text.width(prefix), paint, depth + 1)
    return room >= 0
  end
  if next(value) == nil then
    out[#out + 1] = "{}"
    return room - 2
  end
  local prefix = "{ "
  room = room - 2 -- for what closes it
  for i = 1, #value do
    if not item(prefix, value[i]) then return room end
    prefix = ", "
  end
  for _, key in ipairs(named_keys(value)) do
    if not item(prefix .. key_text(key) .. " = ", value[key]) then return room end
    prefix = ", "
  end
  out[#out + 1] = " }"
  return room
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
  inline(value, out, math.huge, M.no_paint, 1)
  return table.concat(out)
end

--- Writes a value in lines, as few as fit.
local function block(value, out, indent, width, paint, depth, prefix, suffix)
  local line = {}
  local room = width - #indent - text.width(prefix) - #suffix
  if type(value) ~= "table" or depth > MAX_DEPTH then
    inline(value, line, math.huge, paint, depth)
  elseif inline(value, line, room, paint, depth) < 0 then
    line = nil
  end
  if line then
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
  block(value, out, "", width or LINE_WIDTH, paint or M.no_paint, 1, "", "")
  return out
end

return M
