-- SPDX-License-Identifier: Apache-2.0
-- Reads lines from a descriptor, many at a time and without a copy of each: a buffer holds what was read, and lines are
-- positions in it. Hot: all that `luka produce` sends comes through here.
local ffi = require "ffi"
local libc = require "luka.ffi.libc"

ffi.cdef [[
void *memchr(const void *bytes, int byte, size_t size);
void *memmem(const void *bytes, size_t size, const void *wanted, size_t wanted_size);
void *memmove(void *to, const void *from, size_t size);
]]

local C = ffi.C

local M = {}

local BUFFER_SIZE = 256 * 1024
local O_NONBLOCK, O_CLOEXEC = 2048, 524288

---@class luka.Lines
---@field bytes ffi.cdata*  uint8_t *, changes when more is read
---@field from integer  where the next line begins
---@field size integer  where what was read ends
---@field is_at_end boolean
---@field private scanned integer  no newline is between `from` and here
---@field private fd integer
---@field private room integer
---@field private longest integer
local Lines = {}
Lines.__index = Lines

---@param fd integer  is not closed
---@param longest integer  bytes of the longest line
---@return luka.Lines
function M.new(fd, longest)
  return setmetatable({
    fd = fd, longest = longest, room = BUFFER_SIZE, bytes = ffi.new("uint8_t[?]", BUFFER_SIZE), from = 0, size = 0,
    scanned = 0, is_at_end = false,
  }, Lines)
end

--- Opens a file for reading. A FIFO that nobody writes to yet is waited for where signals are looked at, not here.
---
---@param path string
---@return integer? fd  libc.close()
---@return string? err
function M.open(path)
  local fd = C.open(path, O_NONBLOCK + O_CLOEXEC)
  if fd < 0 then return nil, libc.error_text() end
  return fd
end

--- Reads more. What was read and not taken moves to the front of the buffer, which grows for a long line.
---
---@return boolean? ok
---@return string? err  "long": a line is longer than it may be; else why it cannot be read
function Lines:fill()
  local left = self.size - self.from
  if left > self.longest then return nil, "long" end
  if left == self.room then
    self.room = self.room * 2
    local larger = ffi.new("uint8_t[?]", self.room)
    ffi.copy(larger, self.bytes + self.from, left)
    self.bytes = larger
  elseif left > 0 and self.from > 0 then
    C.memmove(self.bytes, self.bytes + self.from, left)
  end
  self.from, self.size, self.scanned = 0, left, left
  local count, number
  repeat
    count = tonumber(C.read(self.fd, self.bytes + left, self.room - left))
    number = ffi.errno()
  until count >= 0 or number ~= libc.EINTR
  if count < 0 then
    if number == libc.EAGAIN then return true end -- somebody shares the descriptor, and was quicker
    return nil, libc.error_text(number)
  end
  self.size = left + count
  self.is_at_end = count == 0
  return true
end

--- Where the line that begins at `from` ends; nil when more has to be read first.
---
---@return integer? last  one behind its last byte; the newline, if it has one, is there
function Lines:line_end()
  local from, size = self.from, self.size
  local at = self.scanned > from and self.scanned or from
  local found = ffi.cast("uint8_t *", C.memchr(self.bytes + at, 10, size - at))
  if found ~= nil then return tonumber(found - self.bytes) end
  self.scanned = size
  if self.is_at_end and size > from then return size end
  return nil
end

--- Where some bytes are between two positions; nil for nowhere.
---
---@param from integer
---@param last integer  one behind
---@param wanted string
---@return integer?
function Lines:find(from, last, wanted)
  local found = ffi.cast("uint8_t *", C.memmem(self.bytes + from, last - from, wanted, #wanted))
  if found == nil then return nil end
  return tonumber(found - self.bytes)
end

return M
