-- SPDX-License-Identifier: Apache-2.0
--
-- strace: counts what a broker asks of the kernel, and makes system calls slow or fail. It does not get along with the
-- sanitizers' own use of ptrace, so a sanitizer build has no such tests.
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local M = { WORKS = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND" }

local TRACED = "pread64,preadv,preadv2,readv,pwrite64,pwritev,pwritev2,writev,sendfile,fsync,fdatasync,sync_file_range,msync,open,openat"

--- Counts the traced system calls that a process makes while `work` runs.
---
---@param pid integer
---@param work fun(counts: fun(): table<string, integer>)  may ask for the counts so far
---@param injections string[]?  as strace's -e inject= takes them: "fdatasync:error=EIO:when=2", "fsync:delay_enter=1000"
---@param traced string?  counts these instead, as strace's -e trace= takes them
---@return table<string, integer>
function M.count(pid, work, injections, traced)
  local folder = unit.temp_dir()
  local out, said = folder .. "/calls", folder .. "/said"
  local inject = ""
  for _, injection in ipairs(injections or {}) do inject = inject .. " -e inject=" .. injection end
  local tracer = assert(unistd.fork())
  if tracer == 0 then
    unistd.execp("sh", { "-c", ("exec strace -f -qq -e signal=none -e trace=%s%s -o %s -p %d 2>%s"):format(traced or TRACED,
      inject, out, pid, said) })
    os.exit(127)
  end
  -- Attached when every thread of the process has a tracer.
  requests.wait_until("strace is attached", function()
    for task in io.popen(("ls /proc/%d/task"):format(pid)):lines() do
      local status = unit.read_file(("/proc/%d/task/%s/status"):format(pid, task)) or ""
      if status:match "TracerPid:%s+0\n" then return false end
    end
    return true
  end)
  local function counts()
    local result = {}
    for line in io.lines(out) do
      local name = line:match "^%d+%s+([%w_]+)%("
      if name then result[name] = (result[name] or 0) + 1 end
    end
    return result
  end
  local ok, err = pcall(work, counts)
  signal.kill(tracer, signal.SIGINT)
  wait.wait(tracer)
  if not ok then error(err, 0) end
  return counts()
end

return M
