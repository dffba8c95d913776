-- SPDX-License-Identifier: Apache-2.0
-- Walks message structs by the schemas: turns a struct into a Lua value in the form of the golden data (JSON of Kafka's
-- converter), fills a struct from such a value, and finds the first difference of two values.
local ffi = require "ffi"
local cjson = require("cjson").new()
local unit = require "spec.support.unit"
package.path = "scripts/generate/?.lua;" .. package.path
local schema = require "wire.schema"

cjson.decode_max_depth(100)
local NULL = cjson.null

local M = { NULL = NULL }

ffi.cdef "long long strtoll(const char *text, char **end, int base);"

-- Messages and the codec

-- Without the compiler, as the build reads them: Debian 12's LuaJIT has made it find fault with a right schema, once.
jit.off()
local files = assert(schema.load_dir "core/wire/schema")
jit.on()
local headers = { "base/arena.h", "base/error.h", "base/mem.h", "wire/apis.h", "wire/reader.h", "wire/writer.h" }
for _, file in ipairs(files) do headers[#headers + 1] = "wire/" .. file.base .. ".h" end
M.C = unit.load(unpack(headers))
local C = M.C

--- Schemas by message name, and the generated codec of each.
M.messages, M.codecs = {}, {}
for _, file in ipairs(files) do
  for _, message in ipairs(file.messages) do M.messages[message.name] = message end
end
do
  local i = 0
  while C.wire_codecs[i] ~= nil do
    M.codecs[ffi.string(C.wire_codecs[i].name)] = C.wire_codecs[i]
    i = i + 1
  end
end

-- JSON

--- Decodes JSON; integers of 16 digits or more become int64, which a double cannot hold.
function M.decode_json(text)
  local long = ("%d"):rep(16) .. "+"
  local marked = text:gsub("([:%[,])(%-?" .. long .. ")%f[,%]}]", '%1"@int64 %2"')
  local function restore(value)
    if type(value) == "table" then
      for key, item in pairs(value) do value[key] = restore(item) end
    elseif type(value) == "string" and value:sub(1, 7) == "@int64 " then
      return ffi.cast("int64_t", C.strtoll(value:sub(8), nil, 10))
    end
    return value
  end
  return restore(cjson.decode(marked))
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64_decode(text)
  local out, bits, count = {}, 0, 0
  for char in text:gsub("-", "+"):gsub("_", "/"):gsub("=", ""):gmatch "." do
    bits = bits * 64 + ALPHABET:find(char, 1, true) - 1
    count = count + 6
    if count >= 8 then
      count = count - 8
      local byte = math.floor(bits / 2 ^ count)
      out[#out + 1] = string.char(byte)
      bits = bits - byte * 2 ^ count
    end
  end
  return table.concat(out)
end

-- Struct to value

local INTEGER = { int8 = true, int16 = true, uint16 = true, int32 = true, uint32 = true, int64 = true }

--- The key of a field in the golden data.
local function key_of(field)
  return (field.name:gsub("^%u", string.lower))
end

--- Whether a version has a field; without a version: any of them.
local function is_in(field, version)
  return not version or version >= field.lo and version <= field.hi
end

local to_value

local function simple_to_value(base, item)
  if INTEGER[base] then
    return ffi.cast("int64_t", item)
  elseif base == "bool" or base == "float64" then
    return item
  elseif base == "uuid" then
    return ffi.string(item.bytes, 16)
  elseif item.length < 0 then
    return NULL
  end
  return ffi.string(item.data, item.length)
end

local function field_to_value(field, m, version)
  local item = m[field.c]
  if field.array then
    local count = m[field.c .. "_count"]
    if count < 0 then return NULL end
    local list = {}
    for i = 0, count - 1 do
      list[i + 1] = field.struct and to_value(field.struct, item[i], version) or simple_to_value(field.base, item[i])
    end
    return list
  elseif field.struct then
    if field.null and item == nil then return NULL end
    return to_value(field.struct, item, version)
  end
  return simple_to_value(field.base, item)
end

--- A struct as a table: integers as int64, bytes and ids as byte strings, null as NULL.
function to_value(struct, m, version)
  local value = {}
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) then value[key_of(field)] = field_to_value(field, m, version) end
  end
  return value
end

function M.to_value(message, m, version)
  return to_value(message.root, m, version)
end

-- Golden value to the same form

-- Names that 4.4.0 has changed; the golden data of old versions has the old ones.
local OLD_NAMES = {
  TxnOffsetCommitRequest = { generationIdOrMemberEpoch = "generationId" },
  VoteRequest = { replicaEpoch = "candidateEpoch", replicaId = "candidateId",
    replicaDirectoryId = "candidateDirectoryId" },
  ListConfigResourcesResponse = { configResources = "clientMetricsResources", resourceName = "name" },
}

local normalize

local function simple_from_json(base, json)
  if json == NULL then
    return NULL
  elseif INTEGER[base] then
    return ffi.cast("int64_t", json)
  elseif base == "bytes" or base == "records" or base == "uuid" then
    return base64_decode(json)
  end
  return json
end

local function default_value(field)
  if field.default_null or (field.struct and field.null and not field.array) then
    return NULL
  elseif field.array then
    return {}
  elseif field.base == "bool" then
    return field.default == "true"
  elseif field.struct then
    return normalize(field.struct, {}, field.hi)
  elseif INTEGER[field.base] then
    local text = (field.default or "0"):gsub("INT32_MIN", "-2147483648"):match "%-?%d%d+%f[)]" or field.default or "0"
    return ffi.cast("int64_t", C.strtoll(text:gsub("INT32_MIN", "-2147483648"), nil, 10))
  elseif field.base == "uuid" then
    return ("\0"):rep(16)
  end
  return field.base == "float64" and 0 or ""
end

--- The golden JSON of a struct in the form of to_value; tagged fields that it leaves out get their default.
function normalize(struct, json, version, old_names)
  local value, left = {}, {}
  for key in pairs(json) do left[key] = true end
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) then
      local key = key_of(field)
      local old = old_names and old_names[key]
      local name = json[key] == nil and old or key
      local item = json[name]
      left[name] = nil
      if item == nil then
        value[key] = default_value(field)
      elseif field.array and item ~= NULL then
        value[key] = {}
        for i, element in ipairs(item) do
          value[key][i] = field.struct and normalize(field.struct, element, version, old_names)
            or simple_from_json(field.base, element)
        end
      elseif field.struct and item ~= NULL then
        value[key] = normalize(field.struct, item, version, old_names)
      else
        value[key] = simple_from_json(field.base, item)
      end
    end
  end
  local extra = next(left)
  if extra then error(struct.what .. " has no field for " .. extra) end
  return value
end

function M.normalize(message, json, version)
  return normalize(message.root, json, version, OLD_NAMES[message.name])
end

-- Value to struct

local fill

--- Sets a field that is no struct; `keep` anchors what FFI memory points to.
local function fill_simple(base, target, key, value, keep)
  if INTEGER[base] or base == "bool" or base == "float64" then
    target[key] = value
  elseif base == "uuid" then
    ffi.copy(target[key].bytes, value, 16)
  elseif value == NULL then
    target[key].length = -1
  else
    keep[#keep + 1] = value
    target[key].data = ffi.cast(base == "string" and "const char *" or "const uint8_t *", value)
    target[key].length = #value
  end
end

local CTYPE = { int8 = "int8_t", int16 = "int16_t", int32 = "int32_t", int64 = "int64_t", uuid = "struct uuid",
  string = "struct wire_string" }

local function fill_field(field, m, value, version, keep)
  if field.array then
    m[field.c .. "_count"] = value == NULL and -1 or #value
    if value == NULL or #value == 0 then return end
    local array = ffi.new((field.struct and "struct " .. field.struct.c or CTYPE[field.base]) .. "[?]", #value)
    keep[#keep + 1] = array
    m[field.c] = array
    for i, item in ipairs(value) do
      if field.struct then
        fill(field.struct, array[i - 1], item, version, keep)
      else
        fill_simple(field.base, array, i - 1, item, keep)
      end
    end
  elseif field.struct and field.null then
    if value == NULL then
      m[field.c] = nil
    else
      local one = ffi.new("struct " .. field.struct.c)
      keep[#keep + 1] = one
      m[field.c] = one
      fill(field.struct, one, value, version, keep)
    end
  elseif field.struct then
    fill(field.struct, m[field.c], value, version, keep)
  else
    fill_simple(field.base, m, field.c, value, keep)
  end
end

function fill(struct, m, value, version, keep)
  C[struct.c .. "_init"](m)
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) then fill_field(field, m, value[key_of(field)], version, keep) end
  end
end

--- A new struct with the fields of a value; hold on to both results while the struct is used.
---@return ffi.cdata* m
---@return table keep
function M.fill(message, value, version)
  local m, keep = ffi.new("struct " .. message.c), {}
  fill(message.root, m, value, version, keep)
  return m, keep
end

--- The same for one of a message's structs.
function M.fill_struct(struct, value, version)
  local m, keep = ffi.new("struct " .. struct.c), {}
  fill(struct, m, value, version, keep)
  return m, keep
end

--- A table in the form of to_value from one with plain values, where what is left out has its default.
function M.complete(struct, partial, version)
  local value = {}
  for _, field in ipairs(struct.fields) do
    if is_in(field, version) then
      local item = partial[key_of(field)]
      if item == nil then
        value[key_of(field)] = default_value(field)
      elseif field.struct and field.array and item ~= NULL then
        local list = {}
        for i, element in ipairs(item) do list[i] = M.complete(field.struct, element, version) end
        value[key_of(field)] = list
      elseif field.struct and item ~= NULL then
        value[key_of(field)] = M.complete(field.struct, item, version)
      else
        value[key_of(field)] = item
      end
    end
  end
  return value
end

--- A struct of a message as a table.
function M.struct_value(struct, m, version)
  return to_value(struct, m, version)
end

-- Comparing

--- Nil when two values are the same, otherwise the path of the first difference.
function M.difference(a, b, path)
  path = path or ""
  if type(a) ~= "table" or type(b) ~= "table" then
    if a == b then return nil end
    return ("%s: %s is not %s"):format(path, tostring(a), tostring(b))
  end
  for key, item in pairs(a) do
    local found = M.difference(item, b[key], path .. "." .. key)
    if found then return found end
  end
  for key in pairs(b) do
    if a[key] == nil then return path .. "." .. key .. " is missing" end
  end
  return nil
end

-- Reading and writing

--- Reads bytes with a codec and calls fn(m, reader) while the memory lives. The bytes lie in a heap block of exactly
--- their size, so that the address sanitizer sees a read beyond them.
---@return integer code  what the reader returned
---@return any result    of fn, which is called on success only
function M.read(codec, bytes, version, fn)
  local block = C.mem_alloc(#bytes)
  ffi.copy(block, bytes, #bytes)
  local r, arena = ffi.new "struct wire_reader", ffi.new "struct arena"
  local m = ffi.new("uint8_t[?]", codec.size)
  C.wire_reader_init(r, block, #bytes)
  local code = codec.read(m, r, version, arena)
  local ok, result = true, nil
  if code == 0 and fn then ok, result = pcall(fn, m, r, arena) end
  C.arena_destroy(arena)
  C.mem_free(block)
  if not ok then error(result, 0) end
  return code, result
end

--- Writes a struct.
---@return integer code
---@return string bytes
function M.write(codec, m, version)
  local w = ffi.new "struct wire_writer"
  local code = codec.write(m, w, version)
  local bytes = ffi.string(w.data, w.size)
  C.wire_writer_destroy(w)
  return code, bytes
end

--- The golden lines, as tables with message, version, value, bytes.
function M.golden()
  local list = {}
  for line in io.lines "spec/data/golden-messages.jsonl" do
    local entry = M.decode_json(line)
    entry.bytes = unit.bytes(entry.hex)
    if not M.messages[entry.message] then
      entry.message = entry.message:gsub("^ListClientMetricsResources", "ListConfigResources")
    end
    list[#list + 1] = entry
  end
  return list
end

--- The same by message, and the names of the messages in the order of the file.
---
---@return table<string, table[]> by_message
---@return string[] names
---@return table[] list
function M.golden_by_message()
  local list, by_message, names = M.golden(), {}, {}
  for _, entry in ipairs(list) do
    if not by_message[entry.message] then
      by_message[entry.message] = {}
      names[#names + 1] = entry.message
    end
    table.insert(by_message[entry.message], entry)
  end
  return by_message, names, list
end

return M
