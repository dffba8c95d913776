-- SPDX-License-Identifier: Apache-2.0
--
-- The simple field types: their C types, the functions of core/wire that read and write them, and their sizes.

local M = {}

-- suffix: of wire_reader_* and wire_writer_*; array: suffix for a whole array; bytes: least size on the wire, in
-- old and in flexible versions; sized: has a length, so the functions take flags and the field's name.
local SIMPLE = {
  bool = { c = "bool", suffix = "bool", bytes = { 1, 1 } },
  int8 = { c = "int8_t", suffix = "i8", array = "i8s", bytes = { 1, 1 }, bits = 8 },
  int16 = { c = "int16_t", suffix = "i16", array = "i16s", bytes = { 2, 2 }, bits = 16 },
  uint16 = { c = "uint16_t", suffix = "u16", bytes = { 2, 2 }, bits = 16, unsigned = true },
  int32 = { c = "int32_t", suffix = "i32", array = "i32s", bytes = { 4, 4 }, bits = 32 },
  uint32 = { c = "uint32_t", suffix = "u32", bytes = { 4, 4 }, bits = 32, unsigned = true },
  int64 = { c = "int64_t", suffix = "i64", array = "i64s", bytes = { 8, 8 }, bits = 64 },
  float64 = { c = "double", suffix = "f64", bytes = { 8, 8 } },
  uuid = { c = "struct uuid", suffix = "uuid", array = "uuids", bytes = { 16, 16 }, by_pointer = true },
  string = { c = "struct wire_string", suffix = "string", array = "strings", bytes = { 2, 1 }, sized = true,
    nullable = true },
  bytes = { c = "struct wire_bytes", suffix = "bytes", bytes = { 4, 1 }, sized = true, nullable = true },
  records = { c = "struct wire_records", suffix = "records", bytes = { 4, 1 }, sized = true, nullable = true },
}

function M.is_simple(name)
  return SIMPLE[name] ~= nil
end

function M.simple(name)
  return SIMPLE[name]
end

--- A default of the schema as a C literal; nil when it does not fit the type. Strings have no defaults but null.
---
---@param base string
---@param value any  a number, a boolean, or an integer beyond 2^53 as a string
---@return string?
function M.default_literal(base, value)
  local simple = SIMPLE[base]
  if base == "bool" then
    return type(value) == "boolean" and tostring(value) or nil
  end
  if not simple or not simple.bits then
    return nil
  end
  if type(value) == "string" then
    return simple.bits == 64 and value:match "^%-?%d+$" and "INT64_C(" .. value .. ")" or nil
  end
  if type(value) ~= "number" or value ~= math.floor(value) or math.abs(value) > 2 ^ 53 then
    return nil
  end
  local lo, hi = -2 ^ (simple.bits - 1), 2 ^ (simple.bits - 1) - 1
  if simple.unsigned then
    lo, hi = 0, 2 ^ simple.bits - 1
  end
  if value < lo or value > hi then
    return nil
  end
  if value == -2 ^ 31 and simple.bits == 32 then
    return "INT32_MIN"
  end
  return ("%.0f"):format(value)
end

--- Bytes that a struct takes at least in one version.
local function bytes_in(struct, version, flexible)
  local sum = flexible and 1 or 0
  for _, field in ipairs(struct.fields) do
    if not field.tag and version >= field.lo and version <= field.hi then
      local compact = flexible and not field.rigid
      if field.array then
        sum = sum + (compact and 1 or 4)
      elseif field.base ~= "struct" then
        sum = sum + SIMPLE[field.base].bytes[compact and 2 or 1]
      elseif field.null then
        sum = sum + 1
      else
        sum = sum + bytes_in(field.struct, version, flexible)
      end
    end
  end
  return sum
end

--- Least bytes on the wire of an element of an array of structs, over the versions that have the array.
---
---@param field wire.Field
---@param message wire.Message
---@param flexible boolean  over the flexible versions, or over the others
---@return integer?  at least 1; nil: there is no such version
function M.min_bytes(field, message, flexible)
  local first = message.flexible or math.huge
  local least
  for version = field.lo, field.hi do
    if (version >= first) == flexible then
      local bytes = bytes_in(field.struct, version, flexible)
      least = math.min(least or bytes, bytes)
    end
  end
  return least and math.max(least, 1)
end

return M
