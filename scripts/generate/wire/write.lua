-- SPDX-License-Identifier: Apache-2.0
--
-- Emits the C function that writes a struct.

local parts = require "wire.parts"
local types = require "wire.types"

local M = {}

local function emit_write_value(out, field, message, pad)
  local at = "m->" .. field.c
  if field.base ~= "struct" then
    local simple = types.simple(field.base)
    if field.array then
      out:add('%swire_writer_%s(w, %s, %s, %s_count, "%s");', pad, simple.array, parts.flags(field, message), at, at,
        field.what)
    elseif simple.sized then
      out:add('%swire_writer_%s(w, %s, %s, "%s");', pad, simple.suffix, parts.flags(field, message), at, field.what)
    elseif field.base == "int16" and field.c == "error_code" then
      out:add("%swire_writer_error_code(w, %s);", pad, at)
    else
      out:add("%swire_writer_%s(w, %s%s);", pad, simple.suffix, simple.by_pointer and "&" or "", at)
    end
  elseif field.array then
    out:add('%swire_writer_count(w, %s, %s_count, "%s");', pad, parts.flags(field, message), at, field.what)
    out:add("%sfor (int32_t i = 0; i < %s_count && w->error == 0; i++) {", pad, at)
    out:add("%s  write_%s(&%s[i], w, version);", pad, field.struct.c, at)
    out:add("%s}", pad)
  elseif field.null then
    out:add("%swire_writer_i8(w, %s == NULL ? -1 : 1);", pad, at)
    out:add("%sif (%s != NULL) {", pad, at)
    out:add("%s  write_%s(%s, w, version);", pad, field.struct.c, at)
    out:add("%s}", pad)
  else
    out:add("%swrite_%s(&%s, w, version);", pad, field.struct.c, at)
  end
end

--- Emits the check that a field which this version lacks was not set.
local function emit_unsupported(out, field, pad)
  out:add("%sif (%s) {", pad, parts.is_set(field))
  out:add('%s  wire_writer_unsupported(w, version, "%s");', pad, field.what)
  out:add("%s}", pad)
end

local function emit_write_field(out, field, message)
  local cond = parts.condition(message, field.lo, field.hi)
  parts.guarded(out, "  ", cond, function(pad)
    emit_write_value(out, field, message, pad)
  end)
  if cond and not field.ignorable then
    out:add("  if (!(%s)) {", cond)
    emit_unsupported(out, field, "    ")
    out:add "  }"
  end
end

local function emit_write_tags(out, struct, message)
  local tagged = parts.tagged_fields(struct)
  for _, field in ipairs(tagged) do
    local cond = parts.condition(message, field.lo, field.hi)
    out:add("  const bool has_%s = %s;", field.c, parts.is_set(field))
    if cond and not field.ignorable then
      out:add("  if (has_%s && !(%s)) {", field.c, cond)
      out:add('    wire_writer_unsupported(w, version, "%s");', field.what)
      out:add "  }"
    end
  end
  if not message.flexible then
    return
  end
  parts.guarded(out, "  ", parts.condition(message, message.flexible, message.hi), function(pad)
    local sum, has = {}, {}
    for _, field in ipairs(tagged) do
      has[field] = "has_" .. field.c
      if field.lo > message.flexible or field.hi < message.hi then
        has[field] = ("(has_%s && %s)"):format(field.c, parts.condition(message, field.lo, field.hi))
      end
      sum[#sum + 1] = ("(uint32_t)%s"):format(has[field])
    end
    out:add("%swire_writer_varint(w, %s);", pad, #sum > 0 and table.concat(sum, " + ") or "0")
    for _, field in ipairs(tagged) do
      out:add("%sif (%s) {", pad, has[field])
      out:add("%s  size_t mark = wire_writer_tag_begin(w, %d);", pad, field.tag)
      emit_write_value(out, field, message, pad .. "  ")
      out:add("%s  wire_writer_tag_end(w, mark);", pad)
      out:add("%s}", pad)
    end
  end)
end

--- Emits write_<struct>().
function M.emit(out, struct, message)
  out:add("static void write_%s(const struct %s *m, struct wire_writer *w, int16_t version)", struct.c, struct.c)
  out:add "{"
  out:add "  (void)version;"
  parts.unused(out, struct, message, { "m", "w" })
  parts.add_flexible(out, struct, message)
  for _, field in ipairs(struct.fields) do
    if not field.tag then
      emit_write_field(out, field, message)
    end
  end
  emit_write_tags(out, struct, message)
  out:add "}"
  out:add ""
end

return M
