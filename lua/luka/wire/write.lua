-- SPDX-License-Identifier: Apache-2.0
-- Makes writers of the protocol's values: closures `write(out, value)` that add byte strings to a list.
local bit = require "bit"
local errors = require "luka.errors"
local zero = require("luka.wire.read").zero

local char, floor = string.char, math.floor

local M = { NULL = setmetatable({}, { __tostring = function() return "null" end, __metatable = false }) }

local NULL = M.NULL

local function misfit(value, what)
  errors.raise("misfit", "%s does not fit a field of type %s", tostring(value), what)
end

--- The writer of an integer of up to 32 bits.
local function small(size, is_unsigned, what)
  local modulus = 2 ^ (8 * size)
  local lo = is_unsigned and 0 or -modulus / 2
  local hi = lo + modulus
  return function(out, value)
    local n = tonumber(value)
    if not n or n ~= floor(n) or n < lo or n >= hi then misfit(value, what) end
    n = n % modulus
    if size == 4 then
      out[#out + 1] = char(floor(n / 0x1000000), floor(n / 0x10000) % 256, floor(n / 256) % 256, n % 256)
    elseif size == 2 then
      out[#out + 1] = char(floor(n / 256), n % 256)
    else
      out[#out + 1] = char(n)
    end
  end
end

local function int64(out, value)
  if type(value) == "number" then
    if value ~= floor(value) or value < -2 ^ 63 or value >= 2 ^ 63 then misfit(value, "int64") end
    local high, low = floor(value / 2 ^ 32) % 2 ^ 32, value % 2 ^ 32
    out[#out + 1] = char(floor(high / 0x1000000), floor(high / 0x10000) % 256, floor(high / 256) % 256, high % 256,
      floor(low / 0x1000000), floor(low / 0x10000) % 256, floor(low / 256) % 256, low % 256)
    return
  end
  -- Unsigned numbers that would come out negative, complex ones and other things of C are none.
  local sign = type(value) == "cdata" and tostring(value):match "^%-?%d+(U?)LL$"
  if not sign or sign == "U" and value > 0x7fffffffffffffffULL then misfit(value, "int64") end
  local bytes = {}
  for i = 8, 1, -1 do
    bytes[i] = char(tonumber(bit.band(value, 0xff)))
    value = bit.rshift(value, 8)
  end
  out[#out + 1] = table.concat(bytes)
end

local function float64(out, value)
  if type(value) ~= "number" then misfit(value, "float64") end
  local sign = (value < 0 or value == 0 and 1 / value < 0) and 128 or 0
  local exponent, mantissa
  if value ~= value then
    sign, exponent, mantissa = 0, 2047, 2 ^ 51
  elseif value == math.huge or value == -math.huge then
    exponent, mantissa = 2047, 0
  else
    local fraction, power = math.frexp(math.abs(value))
    exponent = power + 1022
    if fraction == 0 then
      exponent, mantissa = 0, 0
    elseif exponent < 1 then
      exponent, mantissa = 0, math.ldexp(fraction, power + 1074)
    else
      mantissa = (fraction * 2 - 1) * 2 ^ 52
    end
  end
  local bytes = {}
  for i = 8, 3, -1 do
    bytes[i] = char(mantissa % 256)
    mantissa = floor(mantissa / 256)
  end
  out[#out + 1] = char(sign + floor(exponent / 16), exponent % 16 * 16 + mantissa) .. table.concat(bytes, "", 3)
end

--- An unsigned varint of up to 32 bits.
---
---@param n integer
---@return string bytes
function M.uvarint(n)
  if n < 128 then return char(n) end
  local out = {}
  while n >= 128 do
    out[#out + 1] = char(n % 128 + 128)
    n = floor(n / 128)
  end
  out[#out + 1] = char(n)
  return table.concat(out)
end

--- The writer of a length; -1 is null.
local function length_of(compact, wide)
  if compact then return function(out, n) out[#out + 1] = M.uvarint(n + 1) end end
  return wide and small(4, false, "length") or small(2, false, "length")
end

local function sized(compact, wide, what)
  local length = length_of(compact, wide)
  return function(out, value)
    if value == NULL then return length(out, -1) end
    if type(value) ~= "string" then misfit(value, what) end
    length(out, #value)
    out[#out + 1] = value
  end
end

local FIXED = {
  int8 = small(1, false, "int8"), int16 = small(2, false, "int16"), uint16 = small(2, true, "uint16"),
  int32 = small(4, false, "int32"), uint32 = small(4, true, "uint32"), int64 = int64, float64 = float64,
  bool = function(out, value) out[#out + 1] = value and "\1" or "\0" end,
  uuid = function(out, value)
    if type(value) ~= "string" or #value ~= 16 then misfit(value, "uuid") end
    out[#out + 1] = value
  end,
}

local function simple(base, compact) return FIXED[base] or sized(compact, base ~= "string", base) end

local function array_of(item, compact)
  local length = length_of(compact, true)
  return function(out, value)
    if value == NULL then return length(out, -1) end
    if type(value) ~= "table" then misfit(value, "array") end
    length(out, #value)
    for i = 1, #value do item(out, value[i]) end
  end
end

local function field_writer(field, version, flexible)
  local compact = flexible and not field.rigid
  local item = field.struct and M.struct(field.struct, version, flexible) or simple(field.base, compact)
  if field.array then return array_of(item, compact) end
  if not (field.struct and field.nullable) then return item end
  return function(out, value)
    out[#out + 1] = value == NULL and "\255" or "\1"
    if value ~= NULL then item(out, value) end
  end
end

--- What is written for a field that is left out.
local function default_of(field)
  if field.default_null or field.struct and field.nullable and not field.array then return NULL end
  if field.array or field.struct then return {} end
  if field.default ~= nil then return field.default end
  return zero(field.base)
end

--- Whether a value is what a reader takes an absent field to be; tagged fields are not written then.
local function is_default(field, value, version)
  if field.default_null or field.struct and field.nullable and not field.array then return value == NULL end
  if value == NULL then return false end
  if field.array then return #value == 0 end
  if not field.struct then return value == default_of(field) end
  for _, inner in ipairs(field.struct.fields) do
    local item = value[inner.key]
    if version >= inner.lo and version <= inner.hi and item ~= nil and not is_default(inner, item, version) then
      return false
    end
  end
  return true
end

local function write_tags(out, value, tagged, version)
  local present = {}
  for _, known in ipairs(tagged) do
    local item = value[known.field.key]
    if item ~= nil and not is_default(known.field, item, version) then
      local part = {}
      known.write(part, item)
      present[#present + 1] = { known.field.tag, table.concat(part) }
    end
  end
  out[#out + 1] = M.uvarint(#present)
  for _, part in ipairs(present) do
    out[#out + 1] = M.uvarint(part[1]) .. M.uvarint(#part[2])
    out[#out + 1] = part[2]
  end
end

--- The writer of a struct.
---
---@param struct luka.wire.Struct
---@param version integer
---@param flexible boolean
---@return fun(out: string[], value: table)
function M.struct(struct, version, flexible)
  local known, fields, tagged = {}, {}, {}
  for _, field in ipairs(struct.fields) do
    known[field.key] = true
    if version >= field.lo and version <= field.hi then
      local one = { field = field, key = field.key, write = field_writer(field, version, flexible),
        default = default_of(field) }
      if field.tag then tagged[#tagged + 1] = one else fields[#fields + 1] = one end
    end
  end
  table.sort(tagged, function(a, b) return a.field.tag < b.field.tag end)
  return function(out, value)
    if type(value) ~= "table" then misfit(value, struct.what) end
    for name in pairs(value) do
      if not known[name] then errors.raise("misfit", "%s has no field '%s'", struct.what, tostring(name)) end
    end
    for i = 1, #fields do
      local field = fields[i]
      local item = value[field.key]
      if item == nil then item = field.default end
      field.write(out, item)
    end
    if flexible then write_tags(out, value, tagged, version) end
  end
end

return M
