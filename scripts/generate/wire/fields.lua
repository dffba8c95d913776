-- SPDX-License-Identifier: Apache-2.0
--
-- Parses and checks the fields of a schema. A broken rule raises { text = "path:line: what" }, which schema.lua
-- catches.

local names = require "wire.names"
local types = require "wire.types"

local M = {}

local FIELD_KEYS = { null = true, tag = true, default = true, ignorable = true, flexible = true }

--- Raises a broken rule.
function M.fail(ctx, line, ...)
  local where = line and (ctx.path .. ":" .. line) or ctx.path
  error({ text = where .. ": " .. string.format(...) }, 0)
end

function M.check_keys(ctx, line, t, allowed, what)
  for key in pairs(t) do
    if type(key) ~= "number" and not allowed[key] then
      M.fail(ctx, line, "%s has an unknown key '%s'", what, tostring(key))
    end
  end
end

--- "3", "3-5", "3+" as two numbers, the second not over `top`.
function M.range(ctx, line, text, top, what)
  local lo, hi = tostring(text):match "^(%d+)%-(%d+)$"
  if not lo then
    lo = tostring(text):match "^(%d+)%+$"
    hi = top
  end
  if not lo then
    lo = tostring(text):match "^(%d+)$"
    hi = lo
  end
  if not lo then
    M.fail(ctx, line, "%s '%s' is not a version range such as 3, 3-5 or 3+", what, tostring(text))
  end
  lo, hi = tonumber(lo), tonumber(hi)
  if lo > hi and lo <= top then
    M.fail(ctx, line, "%s '%s' ends before it begins", what, tostring(text))
  end
  return lo, math.min(hi, top)
end

--- The next line of the file that opens a field or struct; it has to be that of `name`.
function M.take_line(ctx, name)
  ctx.next_line = ctx.next_line + 1
  local mark = ctx.lines[ctx.next_line]
  if not mark or mark.name ~= name then
    M.fail(ctx, mark and mark.line, "expected the line that opens '%s': each field begins a line, and the parts of a "
      .. "file come in the order request, request_structs, response, response_structs", tostring(name))
  end
  return mark
end

local function parse_type(ctx, mark, raw, field, message)
  local base = tostring(raw[2])
  if base:sub(1, 2) == "[]" then
    field.array = true
    base = base:sub(3)
  end
  if types.is_simple(base) then
    if raw[4] ~= nil then
      M.fail(ctx, mark.line, "'%s' of type %s cannot have fields", field.name, base)
    end
    if field.array and not types.simple(base).array then
      M.fail(ctx, mark.line, "arrays of %s are not supported", base)
    end
    field.base = base
    return
  end
  if not base:match "^%u%w*$" then
    M.fail(ctx, mark.line, "unknown type '%s'", tostring(raw[2]))
  end
  field.base = "struct"
  if raw[4] == nil then
    -- A struct of the *_structs list; resolved when all are known.
    field.struct_name = base
    return
  end
  if ctx.structs[base] then
    M.fail(ctx, mark.line, "struct '%s' is defined twice in %s", base, message.name)
  end
  local struct = { c = message.c .. "_" .. names.snake(base), what = message.name .. "." .. base,
    comment = ("%s%s: %s"):format(field.array and "One of " or "", field.c, field.comment), line = mark.line }
  ctx.structs[base] = struct
  field.struct = struct
  struct.fields = M.parse(ctx, raw, 4, message, struct)
end

local function parse_nullable(ctx, mark, raw, field, message)
  if raw.null == nil then
    return
  end
  local lo, hi = M.range(ctx, mark.line, raw.null, message.hi, "null")
  lo, hi = math.max(lo, field.lo), math.min(hi, field.hi)
  if not (field.array or field.base == "struct" or types.simple(field.base).nullable) then
    M.fail(ctx, mark.line, "'%s' of type %s cannot be null", field.name, field.base)
  end
  if lo > hi then
    M.fail(ctx, mark.line, "'%s' is never null in the versions that have it", field.name)
  end
  if field.base == "struct" and not field.array and (lo ~= field.lo or hi ~= field.hi) then
    M.fail(ctx, mark.line, "a struct is null in all versions of '%s' or in none", field.name)
  end
  field.null = { lo = lo, hi = hi }
end

local function parse_default(ctx, mark, raw, field)
  local whole = field.null and field.null.lo == field.lo and field.null.hi == field.hi
  if field.base == "struct" and not field.array and field.null and raw.default ~= "null" then
    M.fail(ctx, mark.line, "the nullable struct '%s' needs default = \"null\"", field.name)
  end
  if raw.default == nil then
    field.default_null = field.base == "records" and not field.array and whole or false
    return
  end
  if raw.default == "null" then
    if not whole then
      M.fail(ctx, mark.line, "the default of '%s' is null, which not all of its versions allow", field.name)
    end
    field.default_null = true
    return
  end
  if field.array or not types.default_literal(field.base, raw.default) then
    M.fail(ctx, mark.line, "default %s does not fit '%s' of type %s", tostring(raw.default), field.name,
      tostring(raw[2]))
  end
  field.default_null = false
  field.default = types.default_literal(field.base, raw.default)
end

local function parse_tag(ctx, mark, raw, field, message)
  if raw.tag == nil then
    return
  end
  if type(raw.tag) ~= "number" or raw.tag < 0 or raw.tag ~= math.floor(raw.tag) then
    M.fail(ctx, mark.line, "the tag of '%s' is not a number from 0", field.name)
  end
  if not message.flexible or field.lo < message.flexible then
    M.fail(ctx, mark.line, "'%s' is tagged in versions that are not flexible", field.name)
  end
  if field.base == "records" then
    M.fail(ctx, mark.line, "records cannot be tagged")
  end
  field.tag = raw.tag
end

local function parse_field(ctx, raw, message, struct)
  local name = raw[1]
  if type(name) ~= "string" or not name:match "^%a%w*$" then
    M.fail(ctx, nil, "a field of %s has no name", struct.what)
  end
  local mark = M.take_line(ctx, name)
  M.check_keys(ctx, mark.line, raw, FIELD_KEYS, "'" .. name .. "'")
  local field = { name = name, c = names.snake(name), what = struct.what .. "." .. name, line = mark.line,
    comment = mark.comment, array = false, ignorable = raw.ignorable == true }
  if not field.comment then
    M.fail(ctx, mark.line, "'%s' has no comment", name)
  end
  if names.is_keyword(field.c) then
    M.fail(ctx, mark.line, "'%s' is a word of C", field.c)
  end
  field.lo, field.hi = M.range(ctx, mark.line, raw[3], message.hi, "versions")
  field.lo = math.max(field.lo, message.lo)
  if field.lo > field.hi then
    M.fail(ctx, mark.line, "no version of %s has '%s'", message.name, name)
  end
  if raw.flexible ~= nil and raw.flexible ~= "none" then
    M.fail(ctx, mark.line, "flexible of a field can only be \"none\"")
  end
  field.rigid = raw.flexible == "none"
  parse_type(ctx, mark, raw, field, message)
  parse_nullable(ctx, mark, raw, field, message)
  parse_default(ctx, mark, raw, field)
  parse_tag(ctx, mark, raw, field, message)
  return field
end

--- Names, and the tags of tagged fields, are unique in a struct.
local function check_clashes(ctx, struct)
  local seen, tags, count = {}, {}, 0
  for _, field in ipairs(struct.fields) do
    if seen[field.c] or (field.array and seen[field.c .. "_count"]) then
      M.fail(ctx, field.line, "'%s' is in %s twice", field.name, struct.what)
    end
    seen[field.c] = true
    if field.array then
      seen[field.c .. "_count"] = true
    end
    if field.tag then
      if tags[field.tag] then
        M.fail(ctx, field.line, "tag %d of '%s' is that of '%s'", field.tag, field.name, tags[field.tag])
      end
      tags[field.tag] = field.name
      count = count + 1
    end
  end
  for tag = 0, count - 1 do
    if not tags[tag] then
      M.fail(ctx, struct.line, "%s has no tag %d: tags count up from 0", struct.what, tag)
    end
  end
end

--- Parses the fields of `list` from item `first` on into struct.fields.
function M.parse(ctx, list, first, message, struct)
  local fields = {}
  for i = first, #list do
    if type(list[i]) ~= "table" then
      M.fail(ctx, struct.line, "%s: item %d is not a field", struct.what, i - first + 1)
    end
    fields[#fields + 1] = parse_field(ctx, list[i], message, struct)
  end
  struct.fields = fields
  check_clashes(ctx, struct)
  return fields
end

return M
