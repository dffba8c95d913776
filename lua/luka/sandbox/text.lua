-- SPDX-License-Identifier: Apache-2.0
-- The functions of the library `string` that could run for hours inside C: bounded ones in their place, with the same
-- results (core/lua/native_text.h). A replacement function of gsub is called from Lua, so that it may be suspended.
local native = require "luka.native.text"
local watched = require "luka.sandbox.watched"

local M = { find = native.find, match = native.match, gmatch = native.gmatch }

local search, sub = native.search, string.sub

M.lower, M.upper, M.reverse = watched.text(string.lower), watched.text(string.upper), watched.text(string.reverse)
M.rep, M.format = watched.rep, watched.format

--- A text, or the digits of a number, as the library takes them.
local function text_of(value, index)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  local got = value == nil and "no value" or type(value)
  error(("bad argument #%d to 'gsub' (string expected, got %s)"):format(index, got), 3)
end

--- Adds what replaces one match, whose place and captures `search` gave: the value of the table or the function, or
--- the match itself for nil and false. Returns the place.
local function replace(parts, s, at, repl, start, stop, first, ...)
  if not start then return nil end
  local value
  if type(repl) == "table" then value = repl[first] else value = repl(first, ...) end
  if not value then
    value = sub(s, start, stop)
  elseif type(value) ~= "string" and type(value) ~= "number" then
    error(("invalid replacement value (a %s)"):format(type(value)), 3)
  end
  parts[#parts + 1] = sub(s, at, start - 1)
  parts[#parts + 1] = value
  return start, stop
end

--- string.gsub.
function M.gsub(s, pattern, repl, max)
  if type(repl) ~= "table" and type(repl) ~= "function" then return native.gsub(s, pattern, repl, max) end
  s, pattern = text_of(s, 1), text_of(pattern, 2)
  if max ~= nil and not tonumber(max) then
    error(("bad argument #4 to 'gsub' (number expected, got %s)"):format(type(max)), 2)
  end
  max = max and tonumber(max) or #s + 1
  local parts, count, at = {}, 0, 1
  local is_anchored = sub(pattern, 1, 1) == "^"
  while count < max do
    local start, stop = replace(parts, s, at, repl, search(s, pattern, at))
    if not start then break end
    count = count + 1
    at = stop + 1
    if stop < start then
      if start > #s then break end
      parts[#parts + 1] = sub(s, start, start)
      at = start + 1
    end
    if is_anchored then break end
  end
  parts[#parts + 1] = sub(s, at)
  return table.concat(parts), count
end

return M
