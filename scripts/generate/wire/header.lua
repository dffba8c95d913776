-- SPDX-License-Identifier: Apache-2.0
--
-- Emits the header of one schema file: structs and prototypes. Plain declarations only, so that FFI can read them.

local output = require "wire.output"
local text = require "wire.text"
local types = require "wire.types"

local M = {}

local function versions(field)
  return field.lo == field.hi and ("version %d"):format(field.lo) or ("versions %d to %d"):format(field.lo, field.hi)
end

local function describe(field, message)
  local parts = { field.comment }
  if field.lo > message.lo or field.hi < message.hi then
    parts[#parts + 1] = versions(field)
  end
  return table.concat(parts, "; ")
end

local function member(field)
  if field.array then
    if field.base == "struct" then
      return ("struct %s *%s;"):format(field.struct.c, field.c)
    end
    return ("const %s *%s;"):format(types.simple(field.base).c, field.c)
  end
  if field.base == "struct" then
    return ("struct %s %s%s;"):format(field.struct.c, field.null and "*" or "", field.c)
  end
  return ("%s %s;"):format(types.simple(field.base).c, field.c)
end

local function emit_struct(out, struct, message, is_root)
  if is_root then
    out:add("/// %s, versions %d to %d%s.", message.name, message.lo, message.hi,
      message.flexible and (", flexible from %d"):format(message.flexible) or "")
  elseif struct.comment then
    out:add("/// %s", struct.comment)
  end
  out:add("struct %s {", struct.c)
  for _, field in ipairs(struct.fields) do
    out:add("  %s ///< %s", member(field), describe(field, message))
    if field.array then
      out:add("  int32_t %s_count; ///< elements%s", field.c, field.null and "; -1: null" or "")
    end
  end
  if #struct.fields == 0 then
    out:add "  char unused; ///< the message has no fields"
  end
  out:add "};"
  out:add ""
end

--- The text of a schema file's header.
---
---@param file wire.File
---@return string
function M.file(file)
  local out = text.new()
  out:add(output.MARK)
  out:add "#pragma once"
  out:add ""
  out:add "#include <stdbool.h>"
  out:add "#include <stdint.h>"
  out:add ""
  out:add '#include "base/uuid.h"'
  out:add '#include "wire/types.h"'
  out:add ""
  out:add "struct arena;"
  out:add "struct wire_codec;"
  out:add "struct wire_reader;"
  out:add "struct wire_writer;"
  out:add ""
  for _, message in ipairs(file.messages) do
    for _, struct in ipairs(message.structs) do
      emit_struct(out, struct, message, struct == message.root)
    end
    for _, struct in ipairs(message.structs) do
      out:add("void %s_init(struct %s *m);", struct.c, struct.c)
    end
    out:add("int %s_read(struct %s *m, struct wire_reader *r, int16_t version, struct arena *arena);", message.c,
      message.c)
    out:add("int %s_write(const struct %s *m, struct wire_writer *w, int16_t version);", message.c, message.c)
    out:add("extern const struct wire_codec %s_codec;", message.c)
    out:add ""
  end
  return out:concat()
end

return M
