-- SPDX-License-Identifier: Apache-2.0
-- A program on a pseudo-terminal: what a user types, what is seen, the size of the window.
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local poll = require "posix.poll"
local signal = require "posix.signal"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"
local client = require "spec.support.client"

ffi.cdef [[
struct spec_winsize { unsigned short rows; unsigned short columns; unsigned short x; unsigned short y; };
int ioctl(int fd, unsigned long request, ...);
]]

local M = {}

local TIOCSWINSZ = 0x5414

---@class spec.Terminal
---@field screen string  all that was written to it, as it came
---@field status integer|string|nil
local Terminal = {}
Terminal.__index = Terminal

local running = {}
M._sentinel = newproxy(true)
getmetatable(M._sentinel).__gc = function()
  for pid in pairs(running) do signal.kill(-pid, signal.SIGKILL) end
end

--- Starts a program on a terminal of its own.
---
---@param line string[]  program and arguments
---@param options { env: table<string, string|false>?, rows: integer?, columns: integer?, output: string? }?  false unsets;
---   output: a file instead of the terminal
---@return spec.Terminal
function M.start(line, options)
  options = options or {}
  local master = assert(stdlib.openpt(fcntl.O_RDWR))
  assert(stdlib.grantpt(master))
  assert(stdlib.unlockpt(master))
  local self = setmetatable({ fd = master, screen = "", at = 1 }, Terminal)
  local name = stdlib.ptsname(master)
  self:set_size(options.rows or 24, options.columns or 80)
  io.stdout:flush()
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.setpid("s")
    local slave = fcntl.open(name, fcntl.O_RDWR)
    for fd = 0, 2 do unistd.dup2(slave, fd) end
    if options.output then unistd.dup2(fcntl.open(options.output, fcntl.O_WRONLY + fcntl.O_CREAT, 384), 1) end
    for fd = 3, 50 do unistd.close(fd) end
    stdlib.setenv("TERM", "xterm")
    for key, value in pairs(options.env or {}) do stdlib.setenv(key, value or nil) end
    local arguments = { unpack(line, 2) }
    unistd.execp(line[1], arguments)
    unistd._exit(127)
  end
  running[pid] = true
  self.pid = pid
  return self
end

--- Gives the window another size; the program gets SIGWINCH.
function Terminal:set_size(rows, columns)
  local size = ffi.new("struct spec_winsize", { rows = rows, columns = columns })
  assert(ffi.C.ioctl(self.fd, TIOCSWINSZ, size) == 0)
end

--- Takes what was written; false at the end.
function Terminal:read(timeout_ms)
  if poll.rpoll(self.fd, timeout_ms) ~= 1 then return true end
  local bytes = unistd.read(self.fd, 65536)
  if not bytes or bytes == "" then return false end
  self.screen = self.screen .. bytes
  return true
end

--- Waits until a text is seen, after what was waited for before; the text in between.
---
---@param text string  plain; line ends are those of a terminal, "\r\n"
---@return string before
function Terminal:wait_for(text)
  local deadline = client.now_ms() + client.PATIENCE_MS
  while true do
    local first, last = self.screen:find(text, self.at, true)
    if first then
      local before = self.screen:sub(self.at, first - 1)
      self.at = last + 1
      return before
    end
    local left = deadline - client.now_ms()
    if left <= 0 or not self:read(left) then
      error(("waited in vain for %q, seen:\n%q"):format(text, self.screen:sub(self.at)), 2)
    end
  end
end

--- Types.
function Terminal:type(text)
  assert(unistd.write(self.fd, text))
end

--- Waits for the end of the program, while what it writes is read; its exit status, or "signal N".
function Terminal:wait_exit()
  client.wait_until("the program on the terminal has ended", function()
    self:read(0)
    local pid, how, code = wait.wait(self.pid, wait.WNOHANG)
    if pid ~= self.pid or how == "running" then return false end
    self.status = how == "exited" and code or "signal " .. tostring(code)
    return true
  end)
  while poll.rpoll(self.fd, 0) == 1 and self:read(0) do end
  running[self.pid] = nil
  unistd.close(self.fd)
  return self.status
end

--- What is seen after what was waited for, without colours and movements of the cursor.
function Terminal:rest()
  return M.plain(self.screen:sub(self.at))
end

--- A text without escape sequences.
function M.plain(text)
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\r", ""))
end

--- Sends a signal to the program.
function Terminal:kill(number)
  assert(signal.kill(self.pid, number))
end

return M
