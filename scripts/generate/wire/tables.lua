-- SPDX-License-Identifier: Apache-2.0
--
-- Emits the table of all requests, and Kafka's error codes.

local names = require "wire.names"
local output = require "wire.output"
local text = require "wire.text"

local M = {}

--- Loads error_codes.lua: a list of { code, "NAME", retriable }.
---
---@param path string
---@return table? codes
---@return string? err
function M.load_codes(path)
  local chunk, err = loadfile(path)
  if not chunk then
    return nil, err
  end
  setfenv(chunk, {})
  local codes, seen = chunk(), {}
  for i, entry in ipairs(codes) do
    local code, name, retriable = entry[1], entry[2], entry[3]
    if type(code) ~= "number" or type(name) ~= "string" or not name:match "^[%u%d_]+$"
      or type(retriable) ~= "boolean" then
      return nil, ("%s: entry %d is not { code, \"NAME\", retriable }"):format(path, i)
    end
    if seen[code] or seen[name] then
      return nil, ("%s: %d or %s is there twice"):format(path, code, name)
    end
    seen[code], seen[name] = true, true
  end
  return codes
end

function M.codes_header(codes)
  local out = text.new()
  out:add(output.MARK)
  out:add "//"
  out:add "// Error codes as they are on the wire."
  out:add "#pragma once"
  out:add ""
  out:add "#include <stdbool.h>"
  out:add "#include <stdint.h>"
  out:add ""
  out:add "enum wire_error {"
  local last = 0
  for _, entry in ipairs(codes) do
    last = math.max(last, entry[1])
    out:add("  WIRE_%s = %d,%s", entry[2], entry[1], entry[3] and " ///< may be retried" or "")
  end
  out:add("  WIRE_ERROR_MAX = %d, ///< the highest", last)
  out:add "};"
  out:add ""
  out:add '/// The name, such as "OFFSET_OUT_OF_RANGE"; "UNKNOWN_SERVER_ERROR" for unknown codes. Any thread.'
  out:add "const char *wire_error_name(int16_t code);"
  out:add ""
  out:add "/// True when a client may simply try again. Any thread."
  out:add "bool wire_error_is_retriable(int16_t code);"
  return out:concat()
end

function M.codes_source(codes)
  local out = text.new()
  out:add(output.MARK)
  out:add '#include "wire/error_codes.h"'
  out:add ""
  out:add "const char *wire_error_name(int16_t code)"
  out:add "{"
  out:add "  switch (code) {"
  for _, entry in ipairs(codes) do
    out:add("    case WIRE_%s:", entry[2])
    out:add('      return "%s";', entry[2])
  end
  out:add "    default:"
  out:add '      return "UNKNOWN_SERVER_ERROR";'
  out:add "  }"
  out:add "}"
  out:add ""
  out:add "bool wire_error_is_retriable(int16_t code)"
  out:add "{"
  out:add "  switch (code) {"
  for _, entry in ipairs(codes) do
    if entry[3] then
      out:add("    case WIRE_%s:", entry[2])
    end
  end
  out:add "      return true;"
  out:add "    default:"
  out:add "      return false;"
  out:add "  }"
  out:add "}"
  return out:concat()
end

function M.apis_header(files)
  local out = text.new()
  local last
  out:add(output.MARK)
  out:add "//"
  out:add "// All requests of the protocol."
  out:add "#pragma once"
  out:add ""
  out:add '#include "wire/codec.h"'
  out:add ""
  out:add "enum wire_api_key {"
  for _, file in ipairs(files) do
    if file.api then
      out:add("  WIRE_API_%s = %d,", names.upper(file.api.name), file.api.key)
      last = file.api.key
    end
  end
  out:add("  WIRE_API_KEY_MAX = %d, ///< the highest key", last)
  out:add "};"
  out:add ""
  out:add("/// By key; a key that is not used has a NULL name. Use wire_api_find().")
  out:add("extern const struct wire_api wire_apis[%d];", last + 1)
  out:add ""
  out:add "/// All messages, requests, responses and others; ends with NULL."
  out:add "extern const struct wire_codec *const wire_codecs[];"
  return out:concat()
end

function M.apis_source(files)
  local out = text.new()
  out:add(output.MARK)
  out:add '#include "wire/apis.h"'
  out:add ""
  for _, file in ipairs(files) do
    out:add('#include "wire/%s.h"', file.base)
  end
  out:add ""
  out:add("const struct wire_api wire_apis[WIRE_API_KEY_MAX + 1] = {")
  for _, file in ipairs(files) do
    if file.api then
      local request, response = file.messages[1], file.messages[2]
      out:add("  [%d] = {%d, \"%s\", %d, %d, %s, &%s_codec, &%s_codec},", file.api.key, file.api.key, file.api.name,
        request.lo, request.hi, request.flexible or "INT16_MAX", request.c, response.c)
    end
  end
  out:add "};"
  out:add ""
  out:add "const struct wire_codec *const wire_codecs[] = {"
  for _, file in ipairs(files) do
    for _, message in ipairs(file.messages) do
      out:add("  &%s_codec,", message.c)
    end
  end
  out:add "  NULL,"
  out:add "};"
  return out:concat()
end

return M
