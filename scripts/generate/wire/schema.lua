-- SPDX-License-Identifier: Apache-2.0
--
-- Loads and checks the protocol schemas of core/wire/schema, whose README.md describes their form, and turns them into
-- what the emitters use: names in C, version ranges as numbers, structs in the order in which C needs them.
--
---@class wire.File      one schema file
---@field base string    file name without .lua
---@field api { key: integer, name: string }?  of a request and its response
---@field messages wire.Message[]
--
---@class wire.Message
---@field name string    "ProduceRequest"
---@field c string       "wire_produce_request"
---@field lo integer     first version
---@field hi integer     last version
---@field flexible integer?  first flexible version
---@field root wire.Struct
---@field structs wire.Struct[]  all of its structs, each after those it contains; the last is root
--
---@class wire.Struct
---@field c string       name in C
---@field what string    name in errors
---@field comment string?
---@field fields wire.Field[]
--
---@class wire.Field
---@field name string
---@field c string       name in C
---@field what string    name in errors
---@field comment string
---@field array boolean
---@field base string    "int32" ... or "struct"
---@field struct wire.Struct?
---@field lo integer     first version that has it
---@field hi integer     last one
---@field null { lo: integer, hi: integer }?  versions in which it may be null
---@field tag integer?   tagged in all its versions
---@field default string?  a C literal; nil: zero, empty or null
---@field default_null boolean  the default is null
---@field ignorable boolean  dropped in silence when set and absent from the version that is written
---@field rigid boolean  never in compact form, also in flexible versions

local fields = require "wire.fields"
local names = require "wire.names"
local output = require "wire.output"

local M = {}

local RESERVED = { apis = true, codec = true, error_codes = true, reader = true, types = true, writer = true }
local MESSAGE_KEYS = { name = true, versions = true, flexible = true, fields = true, structs = true }
local FILE_KEYS = {
  key = true, name = true, versions = true, flexible = true,
  request = true, request_structs = true, response = true, response_structs = true,
}

--- Resolves struct names and lists the structs of a message, contents first.
local function order_structs(ctx, message)
  local list, state = {}, {}
  local function visit(struct)
    if state[struct] == "open" then
      fields.fail(ctx, struct.line, "%s contains itself", struct.what)
    elseif state[struct] then
      return
    end
    state[struct] = "open"
    for _, field in ipairs(struct.fields) do
      if field.struct_name then
        field.struct = ctx.structs[field.struct_name]
        if not field.struct then
          fields.fail(ctx, field.line, "unknown type '%s'", field.struct_name)
        end
      end
      if field.struct then
        visit(field.struct)
      end
    end
    state[struct] = "done"
    list[#list + 1] = struct
  end
  visit(message.root)
  for name, struct in pairs(ctx.structs) do
    if not state[struct] then
      fields.fail(ctx, struct.line, "struct '%s' is not used", name)
    end
  end
  message.structs = list
end

--- Records may be spliced in from a file, which the size in front of a tagged field would not count.
local function check_tagged_records(ctx, message)
  local function has_records(struct)
    for _, field in ipairs(struct.fields) do
      if field.base == "records" or field.struct and has_records(field.struct) then
        return true
      end
    end
    return false
  end
  for _, struct in ipairs(message.structs) do
    for _, field in ipairs(struct.fields) do
      if field.tag and field.struct and has_records(field.struct) then
        fields.fail(ctx, field.line, "the tagged field '%s' contains records", field.name)
      end
    end
  end
end

local function parse_message(ctx, spec)
  local message = { name = spec.name, c = "wire_" .. names.snake(spec.name) }
  message.lo, message.hi = fields.range(ctx, nil, spec.versions, 32767, "versions of " .. spec.name)
  if spec.flexible ~= "none" then
    local lo, hi = fields.range(ctx, nil, spec.flexible, math.huge, "flexible of " .. spec.name)
    if hi ~= math.huge then
      fields.fail(ctx, nil, "flexible of %s is not open-ended, such as 9+: versions do not go back", spec.name)
    end
    if lo > message.hi then
      fields.fail(ctx, nil, "flexible of %s begins after its last version: write \"none\"", spec.name)
    end
    message.flexible = lo
  end
  ctx.structs = {}
  message.root = { c = message.c, what = spec.name }
  fields.parse(ctx, spec.fields, 1, message, message.root)
  for _, raw in ipairs(spec.structs or {}) do
    local mark = fields.take_line(ctx, raw[1])
    if ctx.structs[raw[1]] then
      fields.fail(ctx, mark.line, "struct '%s' is defined twice in %s", raw[1], spec.name)
    end
    local struct = { c = message.c .. "_" .. names.snake(raw[1]), what = spec.name .. "." .. raw[1],
      comment = mark.comment, line = mark.line }
    ctx.structs[raw[1]] = struct
    fields.parse(ctx, raw, 2, message, struct)
  end
  order_structs(ctx, message)
  check_tagged_records(ctx, message)
  return message
end

--- The lines that open a field or struct, `{ "Name", ...`, with the comment at their end or on the lines above.
local function scan_lines(text)
  local lines, number, above = {}, 0, nil
  for line in (text .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local name = line:match '^%s*{ "(%a%w*)",'
    local comment = line:match "^%s*%-%- (.*)$"
    if name then
      lines[#lines + 1] = { name = name, line = number, comment = line:match "%-%- (.*)$" or above }
      above = nil
    elseif comment then
      above = above and (above .. " " .. comment) or comment
    else
      above = nil
    end
  end
  return lines
end

local function parse_file(ctx, base, raw)
  local file = { base = base, messages = {} }
  if raw.messages then
    fields.check_keys(ctx, nil, raw, { messages = true }, "the file")
    for _, spec in ipairs(raw.messages) do
      fields.check_keys(ctx, nil, spec, MESSAGE_KEYS, "message " .. tostring(spec.name))
      file.messages[#file.messages + 1] = parse_message(ctx, spec)
    end
    return file
  end
  fields.check_keys(ctx, nil, raw, FILE_KEYS, "the file")
  if type(raw.key) ~= "number" or type(raw.name) ~= "string" or base ~= names.snake(raw.name) then
    fields.fail(ctx, nil, "needs a key, and a name that is the file's")
  end
  file.api = { key = raw.key, name = raw.name }
  for _, kind in ipairs { "request", "response" } do
    file.messages[#file.messages + 1] = parse_message(ctx, {
      name = raw.name .. kind:gsub("^%l", string.upper), versions = raw.versions, flexible = raw.flexible,
      fields = raw[kind] or fields.fail(ctx, nil, "has no " .. kind), structs = raw[kind .. "_structs"],
    })
  end
  return file
end

--- Loads one schema file.
---
---@param path string
---@return wire.File? file
---@return string? err  "path:line: what"
function M.load_file(path)
  local handle, err = io.open(path, "rb")
  if not handle then
    return nil, err
  end
  local text = handle:read "*a"
  handle:close()
  local chunk
  chunk, err = loadstring(text, "@" .. path)
  if not chunk then
    return nil, err
  end
  setfenv(chunk, {})
  local ctx = { path = path, lines = scan_lines(text), next_line = 0 }
  local ok, result = pcall(function()
    return parse_file(ctx, path:match "([^/]+)%.lua$", chunk())
  end)
  if not ok then
    return nil, type(result) == "table" and result.text or tostring(result)
  end
  return result
end

--- Loads all schemas of a folder, requests in the order of their keys, then the others.
---
---@param dir string
---@return wire.File[]? files
---@return string? err
function M.load_dir(dir)
  local files, by_key = {}, {}
  for _, name in ipairs(output.list(dir, ".lua")) do
    local file, err = M.load_file(dir .. "/" .. name)
    if not file then
      return nil, err
    end
    if RESERVED[file.base] then
      return nil, ("%s/%s: core/wire has %s.h already"):format(dir, name, file.base)
    end
    local key = file.api and file.api.key
    if key and by_key[key] then
      return nil, ("%s/%s: key %d is that of %s.lua"):format(dir, name, key, by_key[key].base)
    end
    by_key[key or file] = file
    files[#files + 1] = file
  end
  if #files == 0 then
    return nil, dir .. ": no schemas"
  end
  table.sort(files, function(a, b)
    local x, y = a.api and a.api.key or math.huge, b.api and b.api.key or math.huge
    if x ~= y then
      return x < y
    end
    return a.base < b.base
  end)
  return files
end

return M
