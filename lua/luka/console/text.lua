-- SPDX-License-Identifier: Apache-2.0
-- Texts on a terminal: how wide they are, cutting them, and making them harmless. What a broker sends may come from
-- anybody's records, so control characters never reach the terminal.
local libc = require "luka.ffi.libc"

local M = {}

local NAMES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(char)
  return NAMES[char] or ("\\x%02x"):format(char:byte())
end

--- The character that begins at a byte, and the byte behind it. Bytes that are no UTF-8 are characters of their own.
local function character(text, at)
  local lead = text:byte(at)
  local size = lead >= 0xf0 and lead < 0xf5 and 4 or lead >= 0xe0 and 3 or lead >= 0xc2 and 2 or 1
  if lead >= 0xf5 or size == 1 then return lead, at + 1 end
  local code = lead % 2 ^ (7 - size)
  for i = at + 1, at + size - 1 do
    local byte = text:byte(i)
    if not byte or byte < 0x80 or byte > 0xbf then return lead, at + 1 end
    code = code * 64 + byte - 0x80
  end
  return code, at + size
end

--- Columns of one character: what the C library does not know is one.
local function columns(code)
  if code < 0x80 then return 1 end
  local width = libc.character_width(code)
  return width < 0 and 1 or width
end

--- One line without control characters: those of ASCII and of Latin 1 are shown as escapes, as are the characters that
--- turn the direction of what follows.
---
---@param text string
---@return string
function M.line(text)
  text = text:gsub("[%z\1-\31\127]", escape)
  if not text:find "[\194\226]" then return text end
  text = text:gsub("\194([\128-\159])", function(byte) return ("\\u%04x"):format(byte:byte()) end)
  return (text:gsub("\226\128([\168-\174])", function(byte) return ("\\u%04x"):format(0x2000 + byte:byte() - 128) end)
    :gsub("\226\129([\166-\169])", function(byte) return ("\\u%04x"):format(0x2040 + byte:byte() - 128) end))
end

--- The same for a text of several lines, whose line ends and tabs stay.
---
---@param text string
---@return string
function M.lines(text)
  return (text:gsub("[^\n\t]+", M.line))
end

--- Columns that a line takes.
---
---@param text string
---@return integer
function M.width(text)
  if not text:find "[\128-\255]" then return #text end
  local width, at = 0, 1
  while at <= #text do
    local code
    code, at = character(text, at)
    width = width + columns(code)
  end
  return width
end

--- Cuts a line to a number of columns; what is cut ends with "…".
---
---@param text string
---@param width integer  at least 1
---@return string text
---@return integer width  that it takes
function M.cut(text, width)
  local full = M.width(text)
  if full <= width then return text, full end
  local used, at = 0, 1
  while true do
    local code, next_at = character(text, at)
    local more = columns(code)
    if used + more > width - 1 then break end
    used, at = used + more, next_at
  end
  return text:sub(1, at - 1) .. "…", used + 1
end

--- Breaks a line at its blanks into lines that fit; a word that is longer than a line has one of its own.
---
---@param text string
---@param width integer
---@return string[] lines  at least one
function M.wrap(text, width)
  local lines, line, used = {}, nil, 0
  for word in text:gmatch "[^ ]+" do
    local size = M.width(word)
    if line and used + 1 + size <= width then
      line, used = line .. " " .. word, used + 1 + size
    else
      lines[#lines + 1] = line
      line, used = word, size
    end
  end
  lines[#lines + 1] = line or ""
  return lines
end

--- Calls a function for each line of a text; a line end at its end begins no further line.
---
---@param text string
---@return fun(): string?
function M.each_line(text)
  return (text:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n"
end

return M
