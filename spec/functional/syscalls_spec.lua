-- SPDX-License-Identifier: Apache-2.0
-- What the hot paths ask of the kernel, as DESIGN.md promises: a produce is one write of the log and no fsync, a fetch of
-- what was written lately is one sendfile and no read of the log. Counted with strace, which does not get along with the
-- sanitizers' own use of ptrace, so a sanitizer build has no such tests.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local TRACED = "pread64,preadv,preadv2,readv,pwrite64,pwritev,pwritev2,writev,sendfile,fsync,fdatasync,sync_file_range,msync,open,openat"

--- Counts the traced system calls that a process makes while `work` runs.
local function count_calls(pid, work)
  local folder = unit.temp_dir()
  local out, said = folder .. "/calls", folder .. "/said"
  local tracer = assert(unistd.fork())
  if tracer == 0 then
    unistd.execp("sh", { "-c", ("exec strace -f -qq -e signal=none -e trace=%s -o %s -p %d 2>%s"):format(TRACED, out, pid, said) })
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
  work()
  signal.kill(tracer, signal.SIGINT)
  wait.wait(tracer)
  local counts = {}
  for line in io.lines(out) do
    local name = line:match "^%d+%s+([%w_]+)%("
    if name then counts[name] = (counts[name] or 0) + 1 end
  end
  return counts
end

if (os.getenv "LUKA_SAN" or "") == "" then
  describe("A broker's system calls", function()
    local broker, client, topic
    local batch = records.batch { { value = ("v"):rep(100) } }

    before_each(function()
      broker = brokers.start { set = { "workers=1" } }
      client = broker:connect()
      topic = requests.create(client, "calls")
      requests.append(client, topic, batch)
      requests.fetch_to_end(client, topic, 0)
    end)
    after_each(function()
      client:close()
      assert.equal(0, broker:stop())
    end)

    it("are one write of the log for a produce", function()
      local counts = count_calls(broker.pid, function() requests.append(client, topic, batch) end)
      assert.same({ pwritev = 1 }, counts)
    end)

    it("are one sendfile for a fetch of what was written lately", function()
      requests.append(client, topic, batch)
      local counts = count_calls(broker.pid, function() requests.fetch(client, topic, { fetch_offset = 1 }) end)
      assert.same({ sendfile = 1 }, counts)
    end)
  end)
end
