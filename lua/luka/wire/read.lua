-- SPDX-License-Identifier: Apache-2.0
-- Makes readers of the protocol's values: closures `read(bytes, at) -> value, at`. Hot: a Metadata response of 10,000
-- partitions calls them 100,000 times, interpreted.
local errors = require "luka.errors"

local byte, sub = string.byte, string.sub

local M = {}

local function cut(bytes, at)
  errors.raise("malformed", "the message ends early, at byte %d of %d", at, #bytes)
end

local function too_long(at)
  errors.raise("malformed", "a number at byte %d has more than 32 bits", at)
end

local function i8(bytes, at)
  local a = byte(bytes, at)
  if not a then cut(bytes, at) end
  return a < 128 and a or a - 256, at + 1
end

local function u16(bytes, at)
  local a, b = byte(bytes, at, at + 1)
  if not b then cut(bytes, at) end
  return a * 256 + b, at + 2
end

local function i16(bytes, at)
  local n
  n, at = u16(bytes, at)
  return n < 0x8000 and n or n - 0x10000, at
end

local function u32(bytes, at)
  local a, b, c, d = byte(bytes, at, at + 3)
  if not d then cut(bytes, at) end
  return ((a * 256 + b) * 256 + c) * 256 + d, at + 4
end

local function i32(bytes, at)
  local a, b, c, d = byte(bytes, at, at + 3)
  if not d then cut(bytes, at) end
  local n = ((a * 256 + b) * 256 + c) * 256 + d
  return a < 128 and n or n - 2 ^ 32, at + 4
end

--- Plain to 2^53, an int64 beyond.
local function i64(bytes, at)
  local a, b, c, d, e, f, g, h = byte(bytes, at, at + 7)
  if not h then cut(bytes, at) end
  local high = ((a * 256 + b) * 256 + c) * 256 + d
  local low = ((e * 256 + f) * 256 + g) * 256 + h
  if a >= 128 then high = high - 2 ^ 32 end
  if high >= -0x200000 and high < 0x200000 or high == 0x200000 and low == 0 then return high * 2 ^ 32 + low, at + 8 end
  return high * 0x100000000LL + low, at + 8
end

local function f64(bytes, at)
  local a, b, c, d, e, f, g, h = byte(bytes, at, at + 7)
  if not h then cut(bytes, at) end
  local exponent = a % 128 * 16 + math.floor(b / 16)
  local mantissa = (((((b % 16 * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g) * 256 + h
  local value
  if exponent == 2047 then
    value = mantissa == 0 and math.huge or 0 / 0
  elseif exponent == 0 then
    value = math.ldexp(mantissa, -1074)
  else
    value = math.ldexp(mantissa + 2 ^ 52, exponent - 1075)
  end
  return a >= 128 and -value or value, at + 8
end

local function bool(bytes, at)
  local a = byte(bytes, at)
  if not a then cut(bytes, at) end
  return a ~= 0, at + 1
end

local function uuid(bytes, at)
  if at + 15 > #bytes then cut(bytes, at) end
  return sub(bytes, at, at + 15), at + 16
end

local function uvarint(bytes, at)
  local a = byte(bytes, at)
  if not a then cut(bytes, at) end
  if a < 128 then return a, at + 1 end
  local n, scale, start = a - 128, 128, at
  repeat
    at = at + 1
    a = byte(bytes, at)
    if not a then cut(bytes, at) end
    n = n + a % 128 * scale
    scale = scale * 128
    if n >= 2 ^ 32 or at - start > 4 then too_long(start) end
  until a < 128
  return n, at + 1
end

--- The reader of a length; -1 is null.
local function length_of(compact, wide)
  if not compact then return wide and i32 or i16 end
  return function(bytes, at)
    local n
    n, at = uvarint(bytes, at)
    return n - 1, at
  end
end

--- The reader of a string, of bytes or of records.
local function sized(compact, wide)
  local length = length_of(compact, wide)
  return function(bytes, at)
    local n
    n, at = length(bytes, at)
    if n < 0 then return nil, at end
    if n > #bytes - at + 1 then cut(bytes, at) end
    return sub(bytes, at, at + n - 1), at + n
  end
end

local FIXED = { bool = bool, int8 = i8, int16 = i16, uint16 = u16, int32 = i32, uint32 = u32, int64 = i64, float64 = f64,
  uuid = uuid }

local function simple(base, compact) return FIXED[base] or sized(compact, base ~= "string") end

local function array_of(item, compact)
  local length = length_of(compact, true)
  return function(bytes, at)
    local count
    count, at = length(bytes, at)
    if count < 0 then return nil, at end
    -- Each element takes a byte at least.
    if count > #bytes - at + 1 then cut(bytes, at) end
    local list = {}
    for i = 1, count do list[i], at = item(bytes, at) end
    return list, at
  end
end

local function nullable(inner)
  return function(bytes, at)
    local mark
    mark, at = i8(bytes, at)
    if mark < 0 then return nil, at end
    return inner(bytes, at)
  end
end

local function field_reader(field, version, flexible)
  local compact = flexible and not field.rigid
  local item = field.struct and M.struct(field.struct, version, flexible) or simple(field.base, compact)
  if field.array then return array_of(item, compact) end
  return field.struct and field.nullable and nullable(item) or item
end

--- What a tagged field is when it is left out, as a function that makes it anew.
local function absent(field, version)
  if field.default_null or field.struct and field.nullable and not field.array then return function() end end
  if field.array then return function() return {} end end
  if not field.struct then
    local value = field.default
    if value == nil then value = M.zero(field.base) end
    return function() return value end
  end
  local makers = {}
  for _, inner in ipairs(field.struct.fields) do
    if version >= inner.lo and version <= inner.hi then makers[inner.key] = absent(inner, version) end
  end
  return function()
    local value = {}
    for key, make in pairs(makers) do value[key] = make() end
    return value
  end
end

--- The value of a simple type that is left out and has no default.
function M.zero(base)
  if base == "bool" then return false end
  if base == "uuid" then return ("\0"):rep(16) end
  if base == "string" or base == "bytes" or base == "records" then return "" end
  return 0
end

--- Reads the tagged fields at the end of a struct; unknown ones are skipped (KIP-482).
local function read_tags(bytes, at, value, tagged, what)
  local count
  count, at = uvarint(bytes, at)
  for _ = 1, count do
    local tag, size
    tag, at = uvarint(bytes, at)
    size, at = uvarint(bytes, at)
    if size > #bytes - at + 1 then cut(bytes, at) end
    local known = tagged[tag]
    if known then
      local after
      value[known.key], after = known.read(bytes, at)
      if after ~= at + size then errors.raise("malformed", "%s: tag %d has the wrong size", what, tag) end
    end
    at = at + size
  end
  return at
end

--- The reader of a struct.
---
---@param struct luka.wire.Struct
---@param version integer
---@param flexible boolean
---@return fun(bytes: string, at: integer): any, integer
function M.struct(struct, version, flexible)
  local keys, readers, tagged, has_tagged, count = {}, {}, {}, false, 0
  for _, field in ipairs(struct.fields) do
    if version >= field.lo and version <= field.hi then
      local read = field_reader(field, version, flexible)
      if field.tag then
        tagged[field.tag] = { key = field.key, read = read, make = absent(field, version) }
        has_tagged = true
      else
        count = count + 1
        keys[count], readers[count] = field.key, read
      end
    end
  end
  return function(bytes, at)
    local value = {}
    for i = 1, count do value[keys[i]], at = readers[i](bytes, at) end
    if flexible then
      if has_tagged then
        for _, known in pairs(tagged) do value[known.key] = known.make() end
      end
      if byte(bytes, at) == 0 then return value, at + 1 end
      at = read_tags(bytes, at, value, tagged, struct.what)
    end
    return value, at
  end
end

return M
