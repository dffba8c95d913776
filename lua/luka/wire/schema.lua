-- SPDX-License-Identifier: Apache-2.0
-- The protocol's schemas (core/wire/schema, whose README tells their form) as the codec uses them, each loaded when a
-- message of it is first needed. They were checked when the program was built: nothing is checked here.

---@class (exact) luka.wire.Field
---@field key string     name in snake_case
---@field base string    "int32" ... or "struct"
---@field array boolean
---@field struct luka.wire.Struct?
---@field lo integer     first version that has it
---@field hi integer     last one
---@field nullable boolean  null in some version
---@field tag integer?   tagged in all its versions
---@field default any    nil: zero, empty, or the defaults of a struct's fields
---@field default_null boolean
---@field rigid boolean  never in compact form

---@class (exact) luka.wire.Struct
---@field what string    name in errors
---@field fields luka.wire.Field[]

---@class (exact) luka.wire.Message
---@field name string    "ProduceRequest"
---@field key integer?   of the request
---@field lo integer     first version
---@field hi integer     last version
---@field flexible number  first flexible version, or infinity
---@field root luka.wire.Struct

local M = {}

local SIMPLE = {
  bool = true, int8 = true, int16 = true, uint16 = true, int32 = true, uint32 = true, int64 = true, float64 = true,
  uuid = true, string = true, bytes = true, records = true,
}

--- snake_case of a CamelCase name, as in C: ThrottleTimeMs, throttle_time_ms.
---
---@param name string
---@return string
function M.snake(name)
  name = name:gsub("KRaft", "Kraft"):gsub("([%l%d])(%u)", "%1_%2"):gsub("(%u)(%u%l)", "%1_%2")
  return name:lower()
end

--- "3", "3-5" or "3+" as two numbers.
local function range(text)
  local lo, sign, hi = tostring(text):match "^(%d+)([-+]?)(%d*)$"
  return tonumber(lo), sign == "+" and math.huge or tonumber(hi) or tonumber(lo)
end

--- A default of the schema as a value; integers beyond 2^53 are written as strings.
local function default_value(default)
  if type(default) ~= "string" or default == "null" then return default end
  return loadstring("return " .. default .. "LL")()
end

local parse

local function parse_field(raw, message, structs)
  local base = raw[2]
  local field = { key = M.snake(raw[1]), array = base:sub(1, 2) == "[]", nullable = raw.null ~= nil, tag = raw.tag,
    rigid = raw.flexible == "none" }
  base = base:gsub("^%[%]", "")
  field.lo, field.hi = range(raw[3])
  if SIMPLE[base] then
    field.base = base
  else
    field.base = "struct"
    field.struct = raw[4] and parse(raw, 4, message.name .. "." .. base, message, structs) or structs[base]
  end
  local default = default_value(raw.default)
  -- Records that may be null are absent as null, as in Kafka's own schema.
  field.default_null = default == "null" or default == nil and base == "records" and field.nullable
  if default ~= "null" then field.default = default end
  return field
end

--- The struct of the fields in a list, from item `first` on. Named structs may use those that come after them, so they
--- are filled in place.
function parse(list, first, what, message, structs, struct)
  struct = struct or {}
  struct.what, struct.fields = what, {}
  for i = first, #list do struct.fields[i - first + 1] = parse_field(list[i], message, structs) end
  return struct
end

local function parse_message(raw)
  local message = { name = raw.name, key = raw.key }
  message.lo, message.hi = range(raw.versions)
  message.flexible = raw.flexible == "none" and math.huge or range(raw.flexible)
  local structs = {}
  for _, named in ipairs(raw.structs or {}) do structs[named[1]] = {} end
  for _, named in ipairs(raw.structs or {}) do
    parse(named, 2, message.name .. "." .. named[1], message, structs, structs[named[1]])
  end
  message.root = parse(raw.fields, 1, message.name, message, structs)
  return message
end

local messages = {}

--- Loads a schema file; its messages by their names.
---
---@param file string  "produce"
---@return table<string, luka.wire.Message>
function M.load(file)
  local raw = require("luka.wire.schema." .. file)
  local out = {}
  for _, message in ipairs(raw.messages or {}) do out[message.name] = parse_message(message) end
  for _, kind in ipairs(raw.key and { "Request", "Response" } or {}) do
    local name, part = raw.name .. kind, kind:lower()
    out[name] = parse_message { name = name, key = raw.key, versions = raw.versions, flexible = raw.flexible,
      fields = raw[part], structs = raw[part .. "_structs"] }
  end
  for name, message in pairs(out) do messages[name] = message end
  return out
end

--- A message by its name; requests and responses are found in the file of their request.
---
---@param name string  "ProduceRequest", "RequestHeader"
---@return luka.wire.Message
function M.message(name)
  if not messages[name] then
    local file = name:match "^(.*)Request$" or name:match "^(.*)Response$"
    M.load(file and M.snake(file) or "header")
  end
  return messages[name]
end

return M
