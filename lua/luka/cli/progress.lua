-- SPDX-License-Identifier: Apache-2.0
-- The line on standard error that shows how far `luka produce` and `luka consume` are: records, bytes, and how many a
-- second. Only on a terminal, redrawn a few times a second, and gone at the end.
local libc = require "luka.ffi.libc"

local M = {}

local STDERR = 2
local REDRAW_MS = 250
local CLEAR = "\r\27[K"

---@class luka.Progress
---@field is_shown boolean  standard error is a terminal, and nothing else is written there
---@field private drawn_ms number  when it was drawn last, or begun
---@field private began_ms number
---@field private records integer  as drawn last
---@field private is_drawn boolean
local Progress = {}
Progress.__index = Progress

---@param is_wanted boolean  false: something else is on the terminal
---@return luka.Progress
function M.new(is_wanted)
  local now = libc.now_ms()
  return setmetatable({
    is_shown = is_wanted and libc.is_terminal(STDERR), drawn_ms = now, began_ms = now, records = 0, is_drawn = false,
  }, Progress)
end

--- "12,345,678"
local function grouped(number)
  local text = ("%d"):format(number):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return (text:gsub("^,", ""))
end

local UNITS = { "KiB", "MiB", "GiB", "TiB" }

local function human(bytes)
  if bytes < 1024 then return ("%d B"):format(bytes) end
  local unit = 0
  repeat
    bytes, unit = bytes / 1024, unit + 1
  until bytes < 1024 or unit == #UNITS
  return ("%.1f %s"):format(bytes, UNITS[unit])
end

local function write(text)
  libc.write(STDERR, text, 1)
end

--- Draws the line, if it is time for it.
---
---@param records integer  so far
---@param bytes integer  of their keys and values
function Progress:update(records, bytes)
  if not self.is_shown then return end
  local now = libc.now_ms()
  local passed = now - self.drawn_ms
  if passed < REDRAW_MS then return end
  local rate = (records - self.records) * 1000 / passed
  local text = ("%s records, %s, %s records/s"):format(grouped(records), human(bytes), grouped(rate))
  local _, columns = libc.window_size(STDERR)
  if columns and #text >= columns then text = text:sub(1, columns - 1) end
  write(CLEAR .. text)
  self.drawn_ms, self.records, self.is_drawn = now, records, true
end

--- Takes the line away, for good or for something else to be written.
function Progress:clear()
  if self.is_drawn then write(CLEAR) end
  self.is_drawn = false
end

return M
