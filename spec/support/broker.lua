-- SPDX-License-Identifier: Apache-2.0
--
-- Starts real brokers for functional specs: `$LUKA_PROGRAM serve` with a port of the kernel's choice and data in a fresh
-- folder. Nothing is left running: brokers die with the spec's process, whatever ends it.
--
--   local broker = require("spec.support.broker").start { set = { "num_partitions=4" } }
--   local client = broker:connect()
--   assert.equal(0, broker:stop())
local ffi = require "ffi"
local fcntl = require "posix.fcntl"
local signal = require "posix.signal"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"
local client = require "spec.support.client"

ffi.cdef "int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);"

local M = { PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka" }

local PR_SET_PDEATHSIG = 1

-- What is left at the end of the process: brokers to kill, folders to remove.
local running, folders = {}, {}
local owner = unistd.getpid()

local function clean_up()
  if unistd.getpid() ~= owner then return end
  for pid in pairs(running) do signal.kill(-pid, signal.SIGKILL) end
  for _, path in ipairs(folders) do os.execute(("rm -rf '%s'"):format(path)) end
end

-- Lua 5.1 has no __gc for tables; a proxy's runs when the state is closed.
M._sentinel = newproxy(true)
getmetatable(M._sentinel).__gc = clean_up

--- A fresh folder, removed at the end; `in_memory`: on a disk that is none, where that is to be had, for specs that start
--- many brokers on fresh data and do not measure what a sync costs.
function M.temp_dir(in_memory)
  local base = in_memory and unistd.access("/dev/shm", "w") and "/dev/shm" or os.getenv "LUKA_TEST_TMP" or "/tmp"
  local path = assert(stdlib.mkdtemp(base .. "/luka-broker.XXXXXX"))
  folders[#folders + 1] = path
  return path
end

---@class spec.Broker
---@field port integer  of its first listener
---@field ports integer[]  of all
---@field hosts string[]  IPv4 addresses to reach them at
---@field data string  its data folder
---@field pid integer
local Broker = {}
Broker.__index = Broker

--- The command line; VALGRIND=1 and GDB=1 put those in front.
local function command_line(options, data)
  local line = {}
  if os.getenv "VALGRIND" then
    line = { "valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full" }
  elseif os.getenv "GDB" then
    line = { "gdb", "-q", "-batch", "-ex", "run", "-ex", "bt", "--args" }
  end
  for _, word in ipairs(options.program or { M.PROGRAM }) do line[#line + 1] = word end
  line[#line + 1] = "serve"
  if options.config then line[#line + 1] = options.config end
  local settings = { "data=" .. data }
  for _, listen in ipairs(options.listen or { "127.0.0.1:0" }) do settings[#settings + 1] = "listen=" .. listen end
  for _, setting in ipairs(options.set or {}) do settings[#settings + 1] = setting end
  for _, setting in ipairs(settings) do
    line[#line + 1] = "--set"
    line[#line + 1] = setting
  end
  for _, word in ipairs(options.args or {}) do line[#line + 1] = word end
  return line
end

--- Starts a process in a group of its own, with its standard error in a file and variables added to its environment.
local function spawn(line, log_path, environment)
  io.stdout:flush()
  local pid = assert(unistd.fork())
  if pid ~= 0 then
    running[pid] = true
    return pid
  end
  unistd.setpid("p", 0, 0)
  ffi.C.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
  local log = fcntl.open(log_path, fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_APPEND, 384)
  local null = fcntl.open("/dev/null", fcntl.O_RDONLY)
  unistd.dup2(null, 0)
  unistd.dup2(log, 1)
  unistd.dup2(log, 2)
  for name, value in pairs(environment or {}) do stdlib.setenv(name, value) end
  local program = table.remove(line, 1)
  unistd.execp(program, line)
  io.stderr:write("cannot run " .. program .. "\n")
  unistd._exit(127)
end

--- Starts a broker and waits until it listens.
---
---@param options { set: string[]?, listen: string[]?, data: string?, config: string?, args: string[]?, env: table?, wait: boolean? }?
---   set: key=value; program: words in place of the program's path; listen: addresses, 127.0.0.1:0 by default;
---   env: more environment variables; wait = false: do not wait
---@return spec.Broker
function M.start(options)
  options = options or {}
  local data = options.data or (M.temp_dir() .. "/data")
  local self = setmetatable({ data = data, log_path = M.temp_dir() .. "/stderr", options = options, ports = {} }, Broker)
  self.pid = spawn(command_line(options, data), self.log_path, options.env)
  if options.wait ~= false then self:wait_until_listening() end
  return self
end

--- A broker and a client of it for the specs of a block: one for all with `setup` and `teardown`, one for each with
--- `before_each` and `after_each`.
---
---@param begin fun(client: spec.Client)?  called when they are there
---@return { broker: spec.Broker, client: spec.Client }  a spec that starts the broker anew puts both there
function M.around(before, after, begin)
  local here = {}
  before(function()
    here.broker = M.start()
    here.client = here.broker:connect()
    if begin then begin(here.client) end
  end)
  after(function()
    here.client:close()
    local status = here.broker:stop()
    assert(status == 0, ("the broker ended with status %s"):format(tostring(status)))
  end)
  return here
end

--- Waits until it has said where it listens, on all its listeners.
function Broker:wait_until_listening()
  local expected = #(self.options.listen or { "" })
  client.wait_until("the broker listens", function()
    local hosts, ports = {}, {}
    for host, port in self:log():gmatch "listening on [^\n]-//([^\n]-):(%d+), advertised" do
      hosts[#hosts + 1] = host:match "^127%." and host or "127.0.0.1"
      ports[#ports + 1] = tonumber(port)
    end
    self.hosts, self.ports, self.port = hosts, ports, ports[1]
    if #ports >= expected then return true end
    if self:poll_exit() then
      error(("the broker ended with status %s instead of listening:\n%s"):format(tostring(self.status), self:log()), 0)
    end
  end)
end

--- What it has written to standard error.
function Broker:log()
  local file = io.open(self.log_path, "rb")
  if not file then return "" end
  local text = file:read "*a"
  file:close()
  return text
end

--- A connection to its first listener, or another one.
---
---@param index integer?
---@param from string?  the client's address
---@return spec.Client
function Broker:connect(index, from) return client.connect(self.ports[index or 1], self.hosts[index or 1], from) end

--- Whether the process has ended; then `status` is its exit status, or "signal N".
function Broker:poll_exit()
  if self.status then return true end
  local pid, how, code = wait.wait(self.pid, wait.WNOHANG)
  if pid ~= self.pid or how == "running" then return false end
  running[self.pid] = nil
  self.status = how == "exited" and code or "signal " .. tostring(code)
  return true
end

--- Waits for the end of the process; its exit status, or "signal N".
function Broker:wait_exit(timeout_ms)
  client.wait_until("the broker has ended", function() return self:poll_exit() end, timeout_ms)
  return self.status
end

--- Asks it to stop and waits until it has: the exit status, 0 for a clean stop. Any other shows the end of its log, where
--- sanitizers report.
function Broker:stop()
  if not self:poll_exit() then signal.kill(self.pid, signal.SIGTERM) end
  local status = self:wait_exit()
  if status ~= 0 then io.stderr:write(self:log():sub(-8000), "\n") end
  return status
end

--- Kills it, as a crash would.
function Broker:kill()
  if not self:poll_exit() then signal.kill(-self.pid, signal.SIGKILL) end
  return self:wait_exit()
end

--- Starts a stopped broker again, with the same data and settings, on a new port.
---@return spec.Broker
function Broker:restart()
  local options = {}
  for key, value in pairs(self.options) do options[key] = value end
  options.data = self.data
  return M.start(options)
end

return M
