-- SPDX-License-Identifier: Apache-2.0
--
-- Kafka's protocol for functional specs: encodes any request and decodes any response, in any version, straight from
-- the schemas, without the C codec that is under test.
--
-- Values are tables with the fields in snake_case, as in C: { topics = { { name = "a" } }, timeout_ms = 1000 }. What is
-- left out has its default; wire.NULL is null. Decoded null is nil. Integers beyond 2^53 are int64_t, both ways; uuids
-- are 16 bytes; bytes and records are strings.
local bit = require "bit"
local ffi = require "ffi"
package.path = "scripts/generate/?.lua;" .. package.path
local schema = require "wire.schema"

local M = { NULL = setmetatable({}, { __tostring = function() return "null" end }), NO_UUID = ("\0"):rep(16) }

local EXACT = 2 ^ 53

-- Schemas -------------------------------------------------------------------------------------------------------------

M.messages, M.apis = {}, {}
for _, file in ipairs(assert(schema.load_dir "core/wire/schema")) do
  for _, message in ipairs(file.messages) do M.messages[message.name] = message end
  if file.api then
    M.apis[file.api.name] = { key = file.api.key, name = file.api.name,
      request = M.messages[file.api.name .. "Request"], response = M.messages[file.api.name .. "Response"] }
  end
end

local function is_in(field, version) return version >= field.lo and version <= field.hi end

local function is_flexible(message, version) return message.flexible ~= nil and version >= message.flexible end

--- The value of a field that is left out; the schema has integers as C literals.
local function default_of(field)
  if field.default_null then return M.NULL end
  if field.array then return {} end
  if field.struct then return field.null and M.NULL or {} end
  local base = field.base
  if base == "bool" then return field.default == "true" end
  if base == "string" or base == "bytes" or base == "records" then return "" end
  if base == "uuid" then return M.NO_UUID end
  local text = field.default or "0"
  if text == "INT32_MIN" then return -2 ^ 31 end
  local wide = text:match "INT64_C%((.*)%)"
  return wide and loadstring("return " .. wide .. "LL")() or tonumber(text)
end

-- Writing -------------------------------------------------------------------------------------------------------------

local function integer(value, size)
  local n = ffi.cast("int64_t", value)
  local out = {}
  for i = size, 1, -1 do
    out[i] = string.char(tonumber(bit.band(n, 0xff)))
    n = bit.rshift(n, 8)
  end
  return table.concat(out)
end

--- An unsigned varint of up to 32 bits.
function M.uvarint(n)
  local out = {}
  while n >= 128 do
    out[#out + 1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  out[#out + 1] = string.char(n)
  return table.concat(out)
end

local SIZES = { int8 = 1, int16 = 2, uint16 = 2, int32 = 4, uint32 = 4, int64 = 8 }

--- A length; -1 is null.
local function length(n, compact, wide)
  if compact then return M.uvarint(n + 1) end
  return integer(n, wide and 4 or 2)
end

local function write_simple(base, value, compact)
  if SIZES[base] then
    return integer(value, SIZES[base])
  elseif base == "bool" then
    return value and "\1" or "\0"
  elseif base == "uuid" then
    assert(#value == 16, "a uuid has 16 bytes")
    return value
  elseif base == "float64" then
    return ffi.string(ffi.new("double[1]", value), 8):reverse()
  elseif value == M.NULL then
    return length(-1, compact, base ~= "string")
  end
  return length(#value, compact, base ~= "string") .. value
end

local write_struct

local function write_field(field, value, version, flexible)
  local compact = flexible and not field.rigid
  if field.array then
    if value == M.NULL then return length(-1, compact, true) end
    local out = { length(#value, compact, true) }
    for _, item in ipairs(value) do
      out[#out + 1] = field.struct and write_struct(field.struct, item, version, flexible)
        or write_simple(field.base, item, compact)
    end
    return table.concat(out)
  elseif field.struct then
    if not field.null then return write_struct(field.struct, value, version, flexible) end
    return value == M.NULL and "\255" or "\1" .. write_struct(field.struct, value, version, flexible)
  end
  return write_simple(field.base, value, compact)
end

function write_struct(struct, value, version, flexible)
  local out, tags, known = {}, {}, {}
  for _, field in ipairs(struct.fields) do
    known[field.c] = true
    if is_in(field, version) then
      local item = value[field.c]
      if field.tag then
        if item ~= nil then tags[#tags + 1] = { field.tag, write_field(field, item, version, flexible) } end
      else
        if item == nil then item = default_of(field) end
        out[#out + 1] = write_field(field, item, version, flexible)
      end
    end
  end
  for name in pairs(value) do
    if not known[name] then error(("%s has no field '%s'"):format(struct.what, tostring(name)), 0) end
  end
  if flexible then
    table.sort(tags, function(a, b) return a[1] < b[1] end)
    out[#out + 1] = M.uvarint(#tags)
    for _, tag in ipairs(tags) do out[#out + 1] = M.uvarint(tag[1]) .. M.uvarint(#tag[2]) .. tag[2] end
  end
  return table.concat(out)
end

--- Encodes a message.
---
---@param name string  "MetadataRequest"
---@param version integer
---@param value table
---@return string bytes
function M.encode(name, version, value)
  local message = M.messages[name] or error("no message is called " .. tostring(name), 2)
  local ok, result = pcall(write_struct, message.root, value, version, is_flexible(message, version))
  if not ok then error(result, 2) end
  return result
end

--- Encodes a request with its header, without the frame's length.
---
---@param api string  "Metadata"
---@param version integer
---@param body table
---@param options { correlation_id: integer?, client_id: any }?
---@return string bytes
function M.request(api, version, body, options)
  options = options or {}
  local what = M.apis[api] or error("no request is called " .. tostring(api), 2)
  local client_id = options.client_id
  if client_id == nil then client_id = "spec" end
  return M.encode("RequestHeader", is_flexible(what.request, version) and 2 or 1, { request_api_key = what.key,
    request_api_version = version, correlation_id = options.correlation_id or 0, client_id = client_id })
    .. M.encode(api .. "Request", version, body)
end

-- Reading -------------------------------------------------------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

function Reader:take(count)
  if count < 0 or self.at + count - 1 > #self.bytes then
    error(("%s ends early, at byte %d of %d"):format(self.what, self.at, #self.bytes), 0)
  end
  local text = self.bytes:sub(self.at, self.at + count - 1)
  self.at = self.at + count
  return text
end

function Reader:integer(size, is_unsigned)
  local n = ffi.cast("int64_t", 0)
  local text = self:take(size)
  for i = 1, size do n = n * 256 + text:byte(i) end
  if size < 8 and not is_unsigned and text:byte(1) >= 128 then n = n - ffi.cast("int64_t", 2 ^ (8 * size)) end
  local number = tonumber(n)
  return math.abs(number) <= EXACT and number or n
end

function Reader:uvarint()
  local n, scale = 0, 1
  repeat
    local byte = self:take(1):byte()
    n = n + byte % 128 * scale
    scale = scale * 128
  until byte < 128
  return n
end

function Reader:length(compact, wide)
  if compact then return self:uvarint() - 1 end
  return self:integer(wide and 4 or 2)
end

local function read_simple(r, base, compact)
  if SIZES[base] then
    return r:integer(SIZES[base], base:sub(1, 1) == "u")
  elseif base == "bool" then
    return r:take(1) ~= "\0"
  elseif base == "uuid" then
    return r:take(16)
  elseif base == "float64" then
    return ffi.cast("double *", ffi.cast("const char *", r:take(8):reverse()))[0]
  end
  local count = r:length(compact, base ~= "string")
  if count < 0 then return nil end
  return r:take(count)
end

local read_struct

local function read_field(r, field, version, flexible)
  local compact = flexible and not field.rigid
  if field.array then
    local count = r:length(compact, true)
    if count < 0 then return nil end
    local list = {}
    for i = 1, count do
      list[i] = field.struct and read_struct(r, field.struct, version, flexible) or read_simple(r, field.base, compact)
    end
    return list
  elseif field.struct then
    if field.null and r:integer(1) < 0 then return nil end
    return read_struct(r, field.struct, version, flexible)
  end
  return read_simple(r, field.base, compact)
end

--- The value of a tagged field that is left out, in the form of decoded values.
local shown_default
function shown_default(field, version)
  local value = default_of(field)
  if value == M.NULL then return nil end
  if field.struct and not field.array then
    for _, inner in ipairs(field.struct.fields) do
      if is_in(inner, version) then value[inner.c] = shown_default(inner, version) end
    end
  end
  return value
end

function read_struct(r, struct, version, flexible)
  local value, tagged = {}, {}
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) then
      if field.tag then
        tagged[field.tag] = field
        value[field.c] = shown_default(field, version)
      else
        value[field.c] = read_field(r, field, version, flexible)
      end
    end
  end
  if flexible then
    for _ = 1, r:uvarint() do
      local tag, size = r:uvarint(), r:uvarint()
      local start = r.at
      if tagged[tag] then
        value[tagged[tag].c] = read_field(r, tagged[tag], version, flexible)
        if r.at ~= start + size then error(("%s: tag %d has the wrong size"):format(struct.what, tag), 0) end
      else
        r:take(size)
      end
    end
  end
  return value
end

--- Decodes a message.
---
---@param name string  "MetadataResponse"
---@param version integer
---@param bytes string
---@return table value
---@return string rest  what follows it
function M.decode(name, version, bytes)
  local message = M.messages[name] or error("no message is called " .. tostring(name), 2)
  local r = setmetatable({ bytes = bytes, at = 1, what = name }, Reader)
  local ok, value = pcall(read_struct, r, message.root, version, is_flexible(message, version))
  if not ok then error(value, 2) end
  return value, bytes:sub(r.at)
end

--- Decodes a response with its header; fails when bytes are left.
---
---@param api string
---@param version integer
---@param bytes string  the frame without its length
---@return table body
---@return integer correlation_id
function M.response(api, version, bytes)
  local what = M.apis[api] or error("no request is called " .. tostring(api), 2)
  -- ApiVersions always has the old header, so that clients of any age can read it.
  local header_version = api ~= "ApiVersions" and is_flexible(what.response, version) and 1 or 0
  local header, rest = M.decode("ResponseHeader", header_version, bytes)
  local body
  body, rest = M.decode(api .. "Response", version, rest)
  if rest ~= "" then error(("%s version %d: %d bytes are left"):format(api, version, #rest), 2) end
  return body, header.correlation_id
end

return M
