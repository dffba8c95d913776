-- SPDX-License-Identifier: Apache-2.0
-- How results are shown. A list or a record is a plain table for the code that gets it; beside it stands, where user
-- code cannot reach it, in which order its fields are shown. view.of() makes of any value what is sent to a console:
-- something that JSON can hold, of bounded depth and size.
--
-- By the name of a field the reader of a view decides on units: `*_bytes`, `*_ms`, `*_time` and `timestamp`.
local errors = require "luka.errors"
local json = require "luka.native.json"

local M = {}

--- Levels of tables that are shown, and the most that is shown at all: elements and bytes of text together, so that a
--- view fits a frame of the console (16 MiB).
M.MAX_DEPTH, M.MAX_SIZE = 16, 12 * 1024 * 1024

local EXACT = 2 ^ 53

---@class (exact) luka.View.How
---@field kind "list"|"record"|"live"
---@field order string[]?  columns of a list, fields of a record
---@field show (fun(object: table): any)?  of a live object: makes what is shown in its place

--- How tables are shown that list(), record() and live() were given.
---@type table<table, luka.View.How>
local how = setmetatable({}, { __mode = "k" })

--- Marks rows as a list that is shown as a table of these columns; each row is a record.
---
---@param rows table[]
---@param columns string[]
---@return table[] rows  the same table
function M.list(rows, columns)
  local row_how = { kind = "record", order = columns }
  for i = 1, #rows do how[rows[i]] = row_how end
  how[rows] = { kind = "list", order = columns }
  return rows
end

--- The columns without those that no row has.
---
---@param rows table[]
---@param columns string[]
---@param rare table<string, boolean>  columns that may be left out
---@return string[] columns
function M.used(rows, columns, rare)
  local out = {}
  for _, column in ipairs(columns) do
    local is_used = not rare[column]
    for i = 1, is_used and 0 or #rows do is_used = is_used or rows[i][column] ~= nil end
    if is_used then out[#out + 1] = column end
  end
  return out
end

--- Marks a table as a record whose fields are shown in this order.
---
---@param value table
---@param order string[]
---@return table value  the same table
function M.record(value, order)
  how[value] = { kind = "record", order = order }
  return value
end

--- Marks an object that is shown as what a function makes of it at that moment.
---
---@param object table
---@param show fun(object: table): any  must not hold the object itself
---@return table object  the same table
function M.live(object, show)
  how[object] = { kind = "live", show = show }
  return object
end

--- Bytes of a text that are looked at in one go: a task that shows a long one can be suspended between two pieces.
local PIECE = 64 * 1024

local function clean(text)
  if not text:find "[\128-\255]" then return text end
  local out, at = {}, 1
  while at <= #text do
    local first, last = text:find("^[%z\1-\127]+", at)
    if not first then
      last = M.sequence(text, at)
      if last then first = at end
    end
    if first then
      out[#out + 1] = text:sub(first, last)
      at = last + 1
    else
      out[#out + 1] = ("\\x%02x"):format(text:byte(at))
      at = at + 1
    end
  end
  return table.concat(out)
end

--- Text that JSON can hold: what is not UTF-8 becomes \xNN, byte by byte.
---
---@param text string
---@return string
function M.text(text)
  if #text <= PIECE then return clean(text) end
  local out, at = {}, 1
  while at <= #text do
    local last = at + PIECE - 1
    for _ = 1, 3 do -- not within a character, which has up to three more bytes
      local byte = text:byte(last + 1)
      if not byte or byte < 0x80 or byte > 0xbf then break end
      last = last - 1
    end
    out[#out + 1] = clean(text:sub(at, last))
    at = last + 1
  end
  return table.concat(out)
end

--- Lowest and highest second byte after a lead byte, where that is narrower than 0x80 to 0xbf: no overlong forms, no
--- surrogates, nothing beyond U+10FFFF.
local SECOND = { [0xe0] = { 0xa0, 0xbf }, [0xed] = { 0x80, 0x9f }, [0xf0] = { 0x90, 0xbf }, [0xf4] = { 0x80, 0x8f } }

--- Where the character of several bytes ends that begins at a byte; nil when it is not UTF-8.
---
---@param text string
---@param at integer
---@return integer? last
function M.sequence(text, at)
  local lead, second = text:byte(at, at + 1)
  local more = lead >= 0xc2 and lead <= 0xdf and 1 or lead >= 0xe0 and lead <= 0xef and 2
    or lead >= 0xf0 and lead <= 0xf4 and 3
  if not more or not second then return nil end
  local bounds = SECOND[lead]
  if second < (bounds and bounds[1] or 0x80) or second > (bounds and bounds[2] or 0xbf) then return nil end
  for i = at + 2, at + more do
    local byte = text:byte(i)
    if not byte or byte < 0x80 or byte > 0xbf then return nil end
  end
  return at + more
end

--- A number as JSON has it: what it cannot hold is a text.
local function number(value)
  if value ~= value then return "nan" end
  if value == math.huge then return "inf" end
  if value == -math.huge then return "-inf" end
  return value
end

--- A value of C: integers of 64 bits as plain numbers while that is exact.
local function cdata(value)
  local text = tostring(value)
  local digits, suffix = text:match "^(%-?%d+)(U?LL)$"
  if not digits then return "<cdata>" end
  if suffix == "ULL" and value > 0x7fffffffffffffffULL then return digits end
  local signed = suffix == "ULL" and loadstring("return " .. digits .. "LL")() or value
  return signed >= -EXACT and signed <= EXACT and tonumber(signed) or signed
end

local function take(state, size)
  state.left = state.left - size
  if state.left < 0 then errors.raise("too_large", "the result is too large to be shown: ask for less of it") end
end

local convert

--- Whether a table has the keys 1 to n and no others.
local function is_array(value)
  local count = #value
  if count == 0 then return false end
  local seen = 0
  for key in next, value do
    if type(key) ~= "number" then return false end
    seen = seen + 1
  end
  return seen == count
end

local function key_text(key)
  if type(key) == "string" then return M.text(key) end
  if type(key) == "number" then return ("%.14g"):format(key) end
  return type(key) == "boolean" and tostring(key) or "<" .. type(key) .. ">"
end

local function convert_table(value, state, depth)
  if state.open[value] then return "<cycle>" end
  if depth > M.MAX_DEPTH then return "<too deep>" end
  state.open[value] = true
  local out = {}
  if is_array(value) then
    for i = 1, #value do out[i] = convert(rawget(value, i), state, depth + 1) end
  else
    for key, item in next, value do
      local name = key_text(key)
      take(state, #name)
      out[name] = convert(item, state, depth + 1)
    end
  end
  state.open[value] = nil
  return out
end

function convert(value, state, depth)
  local kind = type(value)
  if kind == "string" then
    take(state, #value + 8)
    return M.text(value)
  end
  take(state, 8)
  if kind == "number" then return number(value) end
  if kind == "boolean" or kind == "nil" then return value end
  if kind == "cdata" then return cdata(value) end
  if kind ~= "table" then return "<" .. kind .. ">" end
  local known = how[value]
  if known and known.kind == "live" then return convert(known.show(value), state, depth) end
  return convert_table(value, state, depth)
end

--- Fields of a record, in their order.
local function convert_row(row, order, state)
  local out = {}
  for i = 1, #order do
    local name = order[i]
    local value = rawget(row, name)
    if value ~= nil then out[name] = convert(value, state, 1) end
  end
  return out
end

--- The columns of an array of records that all have the same: what is left of a list that user code filtered.
local function columns_of(value)
  if not is_array(value) then return nil end
  local columns
  for i = 1, #value do
    local row = rawget(value, i)
    local known = type(row) == "table" and how[row]
    if not known or known.kind ~= "record" or columns and columns ~= known.order then return nil end
    columns = known.order
  end
  return columns
end

local function list_view(rows, columns, state)
  local out = { kind = "list", columns = columns, rows = json.array {} }
  for i = 1, #rows do
    local row = rawget(rows, i)
    take(state, 8)
    out.rows[i] = type(row) == "table" and convert_row(row, columns, state) or {}
  end
  return out
end

--- Whether a value is shown as a list or a record, and not as plain Lua.
---
---@param value any
---@return boolean
function M.has_form(value)
  return type(value) == "table" and (how[value] ~= nil or columns_of(value) ~= nil)
end

--- A record; fields that are lists themselves are shown as tables, of the columns in `lists`.
local function record_view(value, order, state)
  local plain, lists, rows = {}, nil, {}
  for i = 1, #order do
    local name = order[i]
    local field = rawget(value, name)
    local known = type(field) == "table" and how[field]
    if known and known.kind == "list" then
      lists = lists or {}
      lists[name], rows[name] = known.order, list_view(field, known.order, state).rows
    else
      plain[#plain + 1] = name
    end
  end
  local out = convert_row(value, plain, state)
  for name, list in pairs(rows) do out[name] = list end
  return { kind = "record", fields = order, value = out, lists = lists }
end

--- What is sent to show a value: { kind = "list", columns =, rows = }, { kind = "record", fields =, value =, lists =
--- columns of those fields that are lists, by name, or nil } or { kind = "plain", value = }. Runs the functions of live
--- objects, and no other code of anybody's.
---
---@param value any
---@return table view  of strings, booleans, numbers, int64 beyond 2^53, and tables of those
function M.of(value)
  local state = { left = M.MAX_SIZE, open = {} }
  for _ = 1, M.MAX_DEPTH do
    local known = type(value) == "table" and how[value]
    if not known or known.kind ~= "live" then break end
    value = known.show(value)
  end
  if type(value) == "table" then
    local known = how[value]
    if known and known.kind == "record" then
      return record_view(value, known.order, state)
    end
    local columns = known and known.order or columns_of(value)
    if columns then return list_view(value, columns, state) end
  end
  return { kind = "plain", value = convert(value, state, 1) }
end

return M
