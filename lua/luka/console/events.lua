-- SPDX-License-Identifier: Apache-2.0
-- What the console waits for, in one place: keys, the broker, signals, room in a pipe. The program has one thread and
-- no handlers of signals; these come through a descriptor like everything else.
local libc = require "luka.ffi.libc"

local M = {}

--- Bytes that a pipe with room takes without blocking (PIPE_BUF).
local PIPE_BYTES = 4096

---@class luka.console.Events
---@field on_resize fun()?  called when the terminal has another size
---@field on_continue fun()?  called when the program goes on after it was stopped
---@field interrupts integer  Ctrl-C pressed and not yet taken
---@field ended integer?  the signal that asks the program to end
local Events = {}
Events.__index = Events

--- Takes the signals of the process; once in its life.
---
---@return luka.console.Events
function M.new()
  local fd = assert(libc.take_signals { libc.SIGHUP, libc.SIGINT, libc.SIGTERM, libc.SIGCONT, libc.SIGWINCH })
  return setmetatable({ fd = fd, interrupts = 0 }, Events)
end

--- Takes the signals that have come.
function Events:take_signals()
  local number = libc.next_signal(self.fd)
  while number do
    if number == libc.SIGINT then
      self.interrupts = self.interrupts + 1
    elseif number == libc.SIGWINCH then
      if self.on_resize then self.on_resize() end
    elseif number == libc.SIGCONT then
      if self.on_continue then self.on_continue() end
    else
      self.ended = number
    end
    number = libc.next_signal(self.fd)
  end
end

--- Whether Ctrl-C was pressed since the last call.
---
---@return boolean
function Events:take_interrupt()
  local was = self.interrupts > 0
  self.interrupts = 0
  return was
end

--- Waits until a descriptor is ready, a signal has come, or the time is over.
---
---@param fds { fd: integer, is_output: boolean?, is_ready: boolean? }[]  is_ready is set
---@param timeout_ms integer?
function Events:wait(fds, timeout_ms)
  local all = { { fd = self.fd } }
  for i, item in ipairs(fds) do all[i + 1] = item end
  libc.poll(all, timeout_ms)
  if all[1].is_ready then self:take_signals() end
end

--- Writes a text to standard output or a pipe. Ctrl-C leaves it when the reader takes nothing.
---
---@param fd integer
---@param text string
---@return boolean? ok
---@return string? err
---@return integer? errno  nil: Ctrl-C
function Events:write(fd, text)
  local at, target = 1, { fd = fd, is_output = true }
  while at <= #text do
    self:wait({ target })
    if self.ended or not target.is_ready and self.interrupts > 0 then return nil, "interrupted" end
    if target.is_ready then
      local count, err, errno = libc.write(fd, text, at, PIPE_BYTES)
      if not count and errno ~= libc.EINTR and errno ~= libc.EAGAIN then return nil, err, errno end
      at = at + (count or 0)
    end
  end
  return true
end

--- Gives the signals' descriptor back.
function Events:close()
  libc.close(self.fd)
end

return M
