-- SPDX-License-Identifier: Apache-2.0
-- What is typed, byte by byte, while the broker and signals are listened to. What was typed ahead stays here.
local bit = require "bit"
local libc = require "luka.ffi.libc"

local M = {}

local INPUT, CONTROL_C = 0, 3

---@class luka.console.Keyboard
---@field is_dropping boolean  nothing is running: what the broker sends is an answer that comes too late
---@field why "interrupt"|"eof"|"gone"|"ended"|nil  why the last read gave nothing
local Keyboard = {}
Keyboard.__index = Keyboard

--- Reads standard input.
---
---@param session luka.console.Session
---@return luka.console.Keyboard
function M.new(session)
  return setmetatable({ session = session, buffer = "", at = 1, is_dropping = true }, Keyboard)
end

--- Whether more was typed already.
---
---@return boolean
function Keyboard:has_more()
  return self.at <= #self.buffer
end

--- Waits for keys; false when there are none to come.
local function fill(self)
  local session, input = self.session, { fd = INPUT }
  while not self:has_more() do
    if session.link.failure then
      self.why = "gone"
    elseif session.events.ended then
      self.why = "ended"
    elseif session.events:take_interrupt() then
      self.why = "interrupt"
    elseif input.is_ready then
      local bytes, _, errno = libc.read(INPUT)
      if bytes == "" or not bytes and errno ~= libc.EINTR and errno ~= libc.EAGAIN then
        self.why = "eof"
      else
        self.buffer, self.at, input.is_ready = bytes or "", 1, false
      end
    else
      session:wait(nil, input)
      while self.is_dropping and session.link:next() do end
    end
    if self.why then return false end
  end
  return true
end

--- The next byte; nil when there is none (`why`).
---
---@return integer? byte
function Keyboard:byte()
  self.why = nil
  if not fill(self) then return nil end
  local byte = self.buffer:byte(self.at)
  self.at = self.at + 1
  if byte ~= CONTROL_C then return byte end
  self.why = "interrupt"
  return nil
end

--- The next character of UTF-8; bytes that are none are dropped.
---
---@return integer? code  its code point
function Keyboard:character()
  while true do
    local lead = self:byte()
    if not lead or lead < 0x80 then return lead end
    local more = lead >= 0xf0 and lead < 0xf5 and 3 or lead >= 0xe0 and lead < 0xf0 and 2
      or lead >= 0xc2 and lead < 0xe0 and 1
    local code = more and bit.band(lead, bit.rshift(0x3f, more))
    for _ = 1, more or 0 do
      local byte = self:byte()
      if not byte then return nil end
      if byte < 0x80 or byte > 0xbf then
        self.at = self.at - 1
        code = nil
        break
      end
      code = code * 64 + byte - 0x80
    end
    if code then return code end
  end
end

--- A line as the terminal gives it, without editing of ours; nil when there is none (`why`).
---
---@return string?
function Keyboard:line()
  local bytes = {}
  while true do
    local byte = self:byte()
    if not byte then
      if self.why == "eof" and #bytes > 0 then return table.concat(bytes) end
      return nil
    end
    if byte == 10 then return table.concat(bytes) end
    bytes[#bytes + 1] = string.char(byte)
  end
end

return M
