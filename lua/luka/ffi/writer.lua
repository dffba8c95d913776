-- SPDX-License-Identifier: Apache-2.0
-- Collects bytes for standard output and writes them many at a time, so that a signal is never kept waiting by a reader
-- that does not read: a pipe is written to only as far as it takes without a wait. Hot.
local ffi = require "ffi"
local libc = require "luka.ffi.libc"

local M = {}

local BUFFER_SIZE = 256 * 1024
local PIPE_STEP = 4096 -- poll() says of a pipe that it takes so much at once
local STEP_MS = 100

---@class luka.Writer
---@field is_closed boolean  the reader has gone
---@field private fd integer
---@field private step integer
---@field private bytes ffi.cdata*
---@field private size integer
---@field private interrupted fun(): any
local Writer = {}
Writer.__index = Writer

--- Makes one.
---
---@param fd integer
---@param interrupted fun(): any  asked while the reader does not read: whether to give up
---@return luka.Writer
function M.new(fd, interrupted)
  local is_file = libc.kind("/proc/self/fd/" .. fd) == "file"
  return setmetatable({
    fd = fd, step = is_file and BUFFER_SIZE or PIPE_STEP, bytes = ffi.new("uint8_t[?]", BUFFER_SIZE), size = 0,
    interrupted = interrupted, is_closed = false,
  }, Writer)
end

--- Writes bytes out.
---
---@param bytes ffi.cdata*
---@return boolean  false: given up, or nobody reads any more
function Writer:put_out(bytes, size)
  local at = 0
  while at < size and not self.is_closed do
    local output = { fd = self.fd, is_output = true }
    libc.poll({ output }, STEP_MS)
    if output.is_ready then
      local count = tonumber(ffi.C.write(self.fd, bytes + at, math.min(self.step, size - at)))
      local number = ffi.errno()
      if count >= 0 then
        at = at + count
      elseif number == libc.EPIPE then
        self.is_closed = true
      elseif number ~= libc.EINTR and number ~= libc.EAGAIN then
        error({ code = "output", message = "cannot write to standard output: " .. libc.error_text(number) }, 0)
      end
    elseif self.interrupted() then
      return false
    end
  end
  return not self.is_closed
end

--- Writes out what was collected.
---
---@return boolean  false: given up, or nobody reads any more
function Writer:flush()
  local size = self.size
  self.size = 0
  return size == 0 or self:put_out(self.bytes, size)
end

--- Adds bytes.
---
---@param bytes ffi.cdata*|string
---@param size integer
---@return boolean
function Writer:add(bytes, size)
  if size > BUFFER_SIZE - self.size then
    if not self:flush() then return false end
    if size > BUFFER_SIZE then return self:put_out(ffi.cast("const uint8_t *", bytes), size) end
  end
  ffi.copy(self.bytes + self.size, bytes, size)
  self.size = self.size + size
  return true
end

--- Adds one byte.
---
---@param byte integer
---@return boolean
function Writer:add_byte(byte)
  if self.size == BUFFER_SIZE and not self:flush() then return false end
  self.bytes[self.size] = byte
  self.size = self.size + 1
  return true
end

return M
