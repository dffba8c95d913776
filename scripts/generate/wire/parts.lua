-- SPDX-License-Identifier: Apache-2.0
--
-- Pieces of C that the reading and the writing side share: conditions on the version, flags, comparisons with defaults.

local types = require "wire.types"

local M = {}

--- A C condition for "version is in lo..hi", nil when that always holds within the message.
function M.condition(message, lo, hi)
  if lo <= message.lo and hi >= message.hi then
    return nil
  elseif hi >= message.hi then
    return ("version >= %d"):format(lo)
  elseif lo <= message.lo then
    return ("version <= %d"):format(hi)
  elseif lo == hi then
    return ("version == %d"):format(lo)
  end
  return ("version >= %d && version <= %d"):format(lo, hi)
end

--- Where the versions lo..hi are with respect to the flexible ones: "all", "none", "some".
function M.flexibility(message, lo, hi)
  if not message.flexible or hi < message.flexible then
    return "none"
  end
  return lo >= message.flexible and "all" or "some"
end

--- The flags argument for a field with a length.
function M.flags(field, message)
  local parts = {}
  local kind = field.rigid and "none" or M.flexibility(message, field.lo, field.hi)
  if kind == "all" then
    parts[#parts + 1] = "WIRE_FLEXIBLE"
  elseif kind == "some" then
    parts[#parts + 1] = "flexible"
  end
  if field.null then
    if field.null.lo <= field.lo and field.null.hi >= field.hi then
      parts[#parts + 1] = "WIRE_NULLABLE"
    else
      parts[#parts + 1] = ("(%s ? WIRE_NULLABLE : 0)"):format(M.condition(message, field.null.lo, field.null.hi))
    end
  end
  return #parts > 0 and table.concat(parts, " | ") or "0"
end

--- Whether a function of the struct uses the local `flexible`.
function M.uses_flexible(struct, message)
  for _, field in ipairs(struct.fields) do
    if not field.rigid and M.flexibility(message, field.lo, field.hi) == "some"
      and (field.array or field.base ~= "struct" and types.simple(field.base).sized) then
      return true
    end
  end
  return false
end

--- Declares `flexible`, where it is used.
function M.add_flexible(out, struct, message)
  if M.uses_flexible(struct, message) then
    out:add("  const int flexible = version >= %d ? WIRE_FLEXIBLE : 0;", message.flexible)
  end
end

--- Wraps what `body` emits in a condition, if there is one.
function M.guarded(out, pad, cond, body)
  if not cond then
    return body(pad)
  end
  out:add("%sif (%s) {", pad, cond)
  body(pad .. "  ")
  out:add("%s}", pad)
end

--- The tagged fields of a struct by rising tag, as they are written.
function M.tagged_fields(struct)
  local list = {}
  for _, field in ipairs(struct.fields) do
    if field.tag then
      list[#list + 1] = field
    end
  end
  table.sort(list, function(a, b) return a.tag < b.tag end)
  return list
end

--- Silences the warnings for parameters that a struct without fields does not use.
function M.unused(out, struct, message, names)
  if #struct.fields == 0 and not message.flexible then
    for _, name in ipairs(names) do
      out:add("  (void)%s;", name)
    end
  elseif #struct.fields == 0 then
    out:add "  (void)m;"
  end
end

--- A C condition for "the field is not at its default".
function M.is_set(field)
  local at = "m->" .. field.c
  if field.array then
    return field.default_null and at .. "_count >= 0" or at .. "_count != 0"
  elseif field.base == "struct" then
    return field.null and at .. " != NULL" or ("!is_default_%s(&%s)"):format(field.struct.c, at)
  elseif field.base == "uuid" then
    return ("!uuid_is_zero(&%s)"):format(at)
  elseif types.simple(field.base).sized then
    return field.default_null and at .. ".length >= 0" or at .. ".length != 0"
  elseif field.base == "bool" then
    return field.default == "true" and "!" .. at or at
  end
  return ("%s != %s"):format(at, field.default or "0")
end

return M
