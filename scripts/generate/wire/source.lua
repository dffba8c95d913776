-- SPDX-License-Identifier: Apache-2.0
--
-- Emits the C of one schema file: for each struct its defaults, its reader and its writer, for each message its codec.

local output = require "wire.output"
local parts = require "wire.parts"
local read = require "wire.read"
local text = require "wire.text"
local types = require "wire.types"
local write = require "wire.write"

local M = {}

local function default_value(field)
  if field.array then
    return nil
  elseif field.base == "struct" then
    return nil
  elseif types.simple(field.base).sized then
    return field.default_null and "{.length = -1}" or nil
  end
  return field.default ~= "0" and field.default ~= "false" and field.default or nil
end

local function emit_init(out, struct)
  local set, calls = {}, {}
  for _, field in ipairs(struct.fields) do
    if field.array then
      if field.default_null then
        set[#set + 1] = ("    .%s_count = -1,"):format(field.c)
      end
    elseif field.base == "struct" then
      if not field.null then
        calls[#calls + 1] = ("  %s_init(&m->%s);"):format(field.struct.c, field.c)
      end
    elseif default_value(field) then
      set[#set + 1] = ("    .%s = %s,"):format(field.c, default_value(field))
    end
  end
  out:add("void %s_init(struct %s *m)", struct.c, struct.c)
  out:add "{"
  if #set == 0 then
    out:add("  memset(m, 0, sizeof *m);")
  else
    out:add("  *m = (struct %s){", struct.c)
    for _, line in ipairs(set) do
      out:add(line)
    end
    out:add "  };"
  end
  for _, line in ipairs(calls) do
    out:add(line)
  end
  out:add "}"
  out:add ""
end

--- Marks the structs whose default is compared: tagged ones, and those that a version may lack.
local function find_compared(message)
  local compared = {}
  local function mark(struct)
    if not compared[struct] then
      compared[struct] = true
      for _, field in ipairs(struct.fields) do
        if field.struct and not field.array and not field.null then
          mark(field.struct)
        end
      end
    end
  end
  for _, struct in ipairs(message.structs) do
    for _, field in ipairs(struct.fields) do
      if field.struct and not field.array and not field.null then
        local missing = parts.condition(message, field.lo, field.hi) ~= nil
        if field.tag or (missing and not field.ignorable) then
          mark(field.struct)
        end
      end
    end
  end
  return compared
end

local function emit_is_default(out, struct)
  local terms = {}
  for _, field in ipairs(struct.fields) do
    terms[#terms + 1] = "!(" .. parts.is_set(field) .. ")"
  end
  out:add("static bool is_default_%s(const struct %s *m)", struct.c, struct.c)
  out:add "{"
  out:add("  return %s;", table.concat(terms, " && "))
  out:add "}"
  out:add ""
end

local function emit_public(out, message)
  local c = message.c
  out:add("int %s_read(struct %s *m, struct wire_reader *r, int16_t version, struct arena *arena)", c, c)
  out:add "{"
  out:add("  %s_init(m);", c)
  out:add('  if (wire_reader_begin(r, version, %d, %d, arena, "%s") == 0) {', message.lo, message.hi, message.name)
  out:add("    read_%s(m, r, version);", c)
  out:add "  }"
  out:add "  if (r->error != 0) {"
  out:add("    %s_init(m);", c)
  out:add "  }"
  out:add "  return r->error;"
  out:add "}"
  out:add ""
  out:add("int %s_write(const struct %s *m, struct wire_writer *w, int16_t version)", c, c)
  out:add "{"
  out:add('  if (wire_writer_begin(w, version, %d, %d, "%s") == 0) {', message.lo, message.hi, message.name)
  out:add("    write_%s(m, w, version);", c)
  out:add "  }"
  out:add "  return w->error;"
  out:add "}"
  out:add ""
  out:add("static void any_init_%s(void *m)", c)
  out:add "{"
  out:add("  %s_init(m);", c)
  out:add "}"
  out:add ""
  out:add("static int any_read_%s(void *m, struct wire_reader *r, int16_t version, struct arena *arena)", c)
  out:add "{"
  out:add("  return %s_read(m, r, version, arena);", c)
  out:add "}"
  out:add ""
  out:add("static int any_write_%s(const void *m, struct wire_writer *w, int16_t version)", c)
  out:add "{"
  out:add("  return %s_write(m, w, version);", c)
  out:add "}"
  out:add ""
  out:add("const struct wire_codec %s_codec = {", c)
  out:add('  .name = "%s",', message.name)
  out:add("  .size = sizeof(struct %s),", c)
  out:add("  .min_version = %d,", message.lo)
  out:add("  .max_version = %d,", message.hi)
  out:add("  .flexible_version = %s,", message.flexible or "INT16_MAX")
  out:add("  .init = any_init_%s,", c)
  out:add("  .read = any_read_%s,", c)
  out:add("  .write = any_write_%s,", c)
  out:add "};"
  out:add ""
end

--- The text of a schema file's C file.
---
---@param file wire.File
---@return string
function M.file(file)
  local out = text.new()
  out:add(output.MARK)
  out:add('#include "wire/%s.h"', file.base)
  out:add ""
  out:add "#include <string.h>"
  out:add ""
  out:add '#include "wire/codec.h"'
  out:add '#include "wire/reader.h"'
  out:add '#include "wire/writer.h"'
  out:add ""
  for _, message in ipairs(file.messages) do
    local compared = find_compared(message)
    for _, struct in ipairs(message.structs) do
      emit_init(out, struct)
      if compared[struct] then
        emit_is_default(out, struct)
      end
      read.emit(out, struct, message)
      write.emit(out, struct, message)
    end
    emit_public(out, message)
  end
  return (out:concat():gsub("\n\n$", "\n"))
end

return M
