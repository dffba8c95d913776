-- SPDX-License-Identifier: Apache-2.0
-- A program with its standard input from a file or a pipe and its output into files, while the spec goes on.
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local signal = require "posix.signal"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"
local client = require "spec.support.client"
local unit = require "spec.support.unit"

ffi.cdef "int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);"

local M = {}

local PR_SET_PDEATHSIG = 1

---@class spec.Process
---@field pid integer
---@field status integer|string|nil  exit status, or "signal N"
---@field out string|nil  standard output, after wait()
---@field err string|nil
local Process = {}
Process.__index = Process

local running = {}
M._sentinel = newproxy(true)
getmetatable(M._sentinel).__gc = function()
  for pid in pairs(running) do signal.kill(-pid, signal.SIGKILL) end
end

--- Starts a program.
---
---@param line string[]  program and arguments
---@param options { input: string?, output: integer|string|nil, env: table<string, string>? }?  input: text, by default
---   nothing; output: a descriptor, or a path, in place of a file
---@return spec.Process
function M.start(line, options)
  options = options or {}
  local folder = unit.temp_dir()
  unit.write_file(folder .. "/in", options.input or "")
  io.stdout:flush()
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.setpid("p", 0, 0)
    ffi.C.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    local flags = fcntl.O_WRONLY + fcntl.O_CREAT
    local out = options.output or folder .. "/out"
    unistd.dup2(fcntl.open(folder .. "/in", fcntl.O_RDONLY), 0)
    unistd.dup2(type(out) == "number" and out or fcntl.open(out, flags, 384), 1)
    unistd.dup2(fcntl.open(folder .. "/err", flags, 384), 2)
    for fd = 3, 50 do unistd.close(fd) end
    for key, value in pairs(options.env or {}) do stdlib.setenv(key, value) end
    unistd.execp(line[1], { unpack(line, 2) })
    unistd._exit(127)
  end
  running[pid] = true
  return setmetatable({ pid = pid, folder = folder }, Process)
end

--- Waits for its end.
---
---@param timeout_ms integer?  how long, client.PATIENCE_MS by default
---@return integer|string status
---@return string? out
---@return string? err
function Process:wait(timeout_ms)
  client.wait_until("the program has ended", function()
    local pid, how, code = wait.wait(self.pid, wait.WNOHANG)
    if pid ~= self.pid or how == "running" then return false end
    self.status = how == "exited" and code or "signal " .. tostring(code)
    return true
  end, timeout_ms)
  running[self.pid] = nil
  self.out, self.err = unit.read_file(self.folder .. "/out"), unit.read_file(self.folder .. "/err")
  return self.status, self.out, self.err
end

--- Waits until it has written a text to standard output.
function Process:wait_for(text)
  client.wait_until(("the program has written %q"):format(text), function()
    return (unit.read_file(self.folder .. "/out") or ""):find(text, 1, true) ~= nil
  end)
end

--- Sends a signal.
function Process:kill(number)
  assert(signal.kill(self.pid, number))
end

return M
