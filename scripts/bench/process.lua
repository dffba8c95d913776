-- SPDX-License-Identifier: Apache-2.0
-- Processes that are measured: what one has used, read from the kernel, and the end of all of them whatever ends the
-- runner. CPU is always the process's own, never wall time: on a shared machine only that can be compared.
local fcntl = require "posix.fcntl"
local poll = require "posix.poll"
local signal = require "posix.signal"
local socket = require "posix.sys.socket"
local time = require "posix.time"
local unistd = require "posix.unistd"
local support = require "spec.support.process"
local unit = require "spec.support.unit"

local M = {}

local running = {}

--- Seconds on a clock that nothing sets.
function M.now_s()
  local now = time.clock_gettime(time.CLOCK_MONOTONIC)
  return now.tv_sec + now.tv_nsec / 1e9
end

--- Sleeps.
function M.sleep(seconds) poll.poll({}, math.floor(seconds * 1000)) end

--- Whether a process is alive.
function M.is_alive(pid)
  local stat = io.open(("/proc/%d/stat"):format(pid))
  if not stat then return false end
  local state = stat:read("*a"):match "%) (%a)"
  stat:close()
  return state ~= "Z" and state ~= "X"
end

--- Seconds of CPU that a process has used, all its threads together, to the nanosecond.
---
---@param pid integer
---@return number
function M.cpu_s(pid)
  -- The clock of a process, as clock_getcpuclockid(3) makes it of the pid.
  local now = time.clock_gettime(bit.bor(bit.lshift(bit.bnot(pid), 3), 2))
  if not now then error(("process %d has ended"):format(pid), 0) end
  return now.tv_sec + now.tv_nsec / 1e9
end

--- A number of /proc/PID/status.
local function status_number(path, name)
  local file = io.open(path)
  if not file then return nil end
  local value = file:read("*a"):match("\n" .. name .. ":%s+(%d+)")
  file:close()
  return tonumber(value)
end

--- Bytes of memory that a process holds.
function M.resident_bytes(pid)
  local kib = status_number(("/proc/%d/status"):format(pid), "VmRSS")
  if not kib then error(("process %d has ended"):format(pid), 0) end
  return kib * 1024
end

--- How often the threads of a process have been put on a core so far.
function M.wake_ups(pid)
  local total = 0
  for task in io.popen(("ls /proc/%d/task"):format(pid)):lines() do
    local path = ("/proc/%d/task/%s/status"):format(pid, task)
    total = total + (status_number(path, "voluntary_ctxt_switches") or 0)
      + (status_number(path, "nonvoluntary_ctxt_switches") or 0)
  end
  return total
end

--- A port of 127.0.0.1 that nobody has.
function M.free_port()
  local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
  assert(socket.bind(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = 0 }))
  local port = socket.getsockname(fd).port
  unistd.close(fd)
  return port
end

--- Starts a program; see spec.support.process. It ends with the runner.
function M.start(line, options)
  local process = support.start(line, options)
  process.line = table.concat(line, " ")
  running[process.pid] = true
  return process
end

--- Waits for a program's end; its exit status or "signal N", what it printed, and what it said on standard error.
function M.wait(process, timeout_s)
  timeout_s = timeout_s or 60
  local ok, status, out, err = pcall(process.wait, process, timeout_s * 1000)
  if not ok then
    local said = (unit.read_file(process.folder .. "/out") or "") .. (unit.read_file(process.folder .. "/err") or "")
    error(("this has not ended within %d s: %s\n%s"):format(timeout_s, process.line, said:sub(-2000)), 0)
  end
  running[process.pid] = nil
  return status, out, err
end

--- Has a process that another module started end with the runner.
function M.adopt(pid) running[pid] = true end

--- A process has been seen to end.
function M.forget(pid) running[pid] = nil end

--- Kills all that runs, but for some.
---
---@param kept table<integer, boolean>?  pids
function M.kill_all(kept)
  local ending = {}
  for pid in pairs(running) do
    if not (kept and kept[pid]) then ending[#ending + 1] = pid end
  end
  for _, pid in ipairs(ending) do signal.kill(-pid, signal.SIGKILL) end
  for _, pid in ipairs(ending) do
    for _ = 1, 200 do
      if not M.is_alive(pid) then break end
      M.sleep(0.01)
    end
    running[pid] = nil
  end
end

--- Runs a program to its end; raises with what it said when it fails. What it printed.
---
---@param line string[]
---@param options table?  see spec.support.process.start, and timeout_s
---@return string out
function M.run(line, options)
  local status, out, err = M.wait(M.start(line, options), options and options.timeout_s)
  if status ~= 0 then
    error(("%s ended with status %s\n%s%s"):format(table.concat(line, " "), status, out, err), 0)
  end
  return out
end

--- Has Ctrl-C, SIGTERM and SIGHUP call `clean_up` and end this process. lposix calls its handlers from a hook, which
--- compiled code does not look for: the compiler is off.
function M.on_interrupt(clean_up)
  jit.off()
  for _, number in ipairs { signal.SIGINT, signal.SIGTERM, signal.SIGHUP } do
    signal.signal(number, function()
      clean_up()
      unistd._exit(128 + number)
    end)
  end
end

--- One run at a time in a folder: the file's lock, held until this process ends. False when another has it.
function M.lock(path)
  local fd = assert(fcntl.open(path, fcntl.O_RDWR + fcntl.O_CREAT, 384))
  return fcntl.fcntl(fd, fcntl.F_SETLK, { l_type = fcntl.F_WRLCK, l_whence = unistd.SEEK_SET, l_start = 0, l_len = 0 }) ~= nil
end

return M
