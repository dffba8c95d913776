-- SPDX-License-Identifier: Apache-2.0
-- Errors of a configuration: one line that names file and line, the key, the value and what is allowed.

---@class (exact) luka.Origin
---@field source string  file, or "--set"
---@field line integer?

---@class (exact) luka.Error
---@field code string
---@field message string

local M = {}

local TEXT_MAX = 900 -- of a message, bytes: C keeps LUA_STATE_TEXT_SIZE

local meta = { __tostring = function(err) return err.message end, __metatable = false }

--- "config.lua:12", or "--set".
---
---@param origin luka.Origin
---@return string
function M.where(origin)
  if origin.line then return ("%s:%d"):format(origin.source, origin.line) end
  return origin.source
end

--- Makes an error.
---
---@param origin luka.Origin
---@param path string?  the key, "broker.listen[1]"
---@param text string  what is wrong
---@return luka.Error
function M.new(origin, path, text)
  local where = M.where(origin)
  local message
  if origin.source == "--set" then
    message = path and ("%s %s: %s"):format(where, path, text) or ("%s: %s"):format(where, text)
  else
    message = path and ("%s: %s: %s"):format(where, path, text) or ("%s: %s"):format(where, text)
  end
  return setmetatable({ code = "config", message = message }, meta)
end

--- Raises an error of M.new.
function M.raise(origin, path, text, ...)
  if select("#", ...) > 0 then text = text:format(...) end
  error(M.new(origin, path, text), 0)
end

--- Whether a caught value is one of ours.
---
---@param err any
---@return boolean
function M.is(err)
  return type(err) == "table" and type(rawget(err, "message")) == "string" and rawget(err, "code") == "config"
end

--- A text that is not longer than an error message may be; cut between characters.
---
---@param text string
---@return string
function M.cut(text)
  if #text <= TEXT_MAX then return text end
  local last = TEXT_MAX
  while last > TEXT_MAX - 4 and text:byte(last + 1) and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xc0 do
    last = last - 1
  end
  return text:sub(1, last) .. "..."
end

--- Makes a text one printable line.
---
---@param text string
---@return string
function M.one_line(text)
  text = text:gsub("\n+$", ""):gsub("[%z\1-\31\127]", function(char)
    if char == "\n" then return " | " end
    if char == "\t" then return " " end
    return ("\\x%02x"):format(char:byte())
  end)
  local function escape(bytes)
    return (bytes:gsub(".", function(char) return ("\\x%02x"):format(char:byte()) end))
  end
  text = text:gsub("[\128-\255]+", function(bytes) return M.is_utf8(bytes) and bytes or escape(bytes) end)
  return (text:gsub("\194[\128-\159]", escape)) -- U+0080 to U+009F: terminals obey them
end

--- Whether bytes of 128 and above are well-formed UTF-8 (lengths only; enough for a terminal).
---
---@param bytes string
---@return boolean
function M.is_utf8(bytes)
  local at = 1
  while at <= #bytes do
    local lead = bytes:byte(at)
    local size = lead >= 0xf0 and lead < 0xf8 and 4
      or lead >= 0xe0 and lead < 0xf0 and 3
      or lead >= 0xc2 and lead < 0xe0 and 2
    if not size or not bytes:find("^[\128-\191]" .. ("[\128-\191]"):rep(size - 2), at + 1) then return false end
    at = at + size
  end
  return true
end

return M
