-- SPDX-License-Identifier: Apache-2.0
--
-- Emits the C function that reads a struct.

local parts = require "wire.parts"
local types = require "wire.types"

local M = {}

local function emit_read_value(out, field, message, pad)
  local at = "m->" .. field.c
  if field.base ~= "struct" then
    local simple = types.simple(field.base)
    if field.array then
      out:add('%s%s = wire_reader_%s(r, %s, &%s_count, "%s");', pad, at, simple.array, parts.flags(field, message), at,
        field.what)
    elseif simple.sized then
      out:add('%s%s = wire_reader_%s(r, %s, "%s");', pad, at, simple.suffix, parts.flags(field, message), field.what)
    else
      out:add('%s%s = wire_reader_%s(r, "%s");', pad, at, simple.suffix, field.what)
    end
  elseif field.array then
    local old, new = types.min_bytes(field, message, false), types.min_bytes(field, message, true)
    local least = old and new and old ~= new and ("version >= %d ? %d : %d"):format(message.flexible, new, old)
      or tostring(new or old)
    out:add('%s%s = wire_reader_array(r, %s, %s, sizeof *%s, &%s_count, "%s");', pad, at,
      parts.flags(field, message), least, at, at, field.what)
    out:add("%sfor (int32_t i = 0; i < %s_count && r->error == 0; i++) {", pad, at)
    out:add("%s  %s_init(&%s[i]);", pad, field.struct.c, at)
    out:add("%s  read_%s(&%s[i], r, version);", pad, field.struct.c, at)
    out:add("%s}", pad)
  elseif field.null then
    out:add('%s%s = wire_reader_nullable(r, sizeof *%s, "%s");', pad, at, at, field.what)
    out:add("%sif (%s != NULL) {", pad, at)
    out:add("%s  %s_init(%s);", pad, field.struct.c, at)
    out:add("%s  read_%s(%s, r, version);", pad, field.struct.c, at)
    out:add("%s}", pad)
  else
    out:add("%sread_%s(&%s, r, version);", pad, field.struct.c, at)
  end
end

local function emit_read_tags(out, struct, message)
  if not message.flexible then
    return
  end
  parts.guarded(out, "  ", parts.condition(message, message.flexible, message.hi), function(pad)
    local tagged = parts.tagged_fields(struct)
    if #tagged == 0 then
      out:add('%swire_reader_skip_tags(r, "%s");', pad, struct.what)
      return
    end
    out:add("%sstruct wire_tags tags;", pad)
    out:add('%sfor (wire_reader_tags(r, &tags, "%s"); wire_reader_next_tag(r, &tags);) {', pad, struct.what)
    for i, field in ipairs(tagged) do
      local cond = ("tags.tag == %d"):format(field.tag)
      if field.lo > message.flexible or field.hi < message.hi then
        cond = cond .. " && " .. parts.condition(message, field.lo, field.hi)
      end
      out:add("%s  %sif (%s) {", pad, i > 1 and "} else " or "", cond)
      emit_read_value(out, field, message, pad .. "    ")
    end
    out:add("%s  } else {", pad)
    out:add("%s    wire_reader_skip_tag(r);", pad)
    out:add("%s  }", pad)
    out:add("%s}", pad)
  end)
end

--- Emits read_<struct>().
function M.emit(out, struct, message)
  out:add("static void read_%s(struct %s *m, struct wire_reader *r, int16_t version)", struct.c, struct.c)
  out:add "{"
  out:add "  (void)version;"
  parts.unused(out, struct, message, { "m", "r" })
  parts.add_flexible(out, struct, message)
  for _, field in ipairs(struct.fields) do
    if not field.tag then
      parts.guarded(out, "  ", parts.condition(message, field.lo, field.hi), function(pad)
        emit_read_value(out, field, message, pad)
      end)
    end
  end
  emit_read_tags(out, struct, message)
  out:add "}"
  out:add ""
end

return M
