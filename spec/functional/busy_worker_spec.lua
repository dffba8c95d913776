-- SPDX-License-Identifier: Apache-2.0
-- A worker with many requests is batch work to the scheduler; one with few is woken as everybody is (network/worker.c).
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local SCHED_OTHER, SCHED_BATCH = 0, 3
local STAT_POLICY = 39 -- field of /proc/PID/task/TID/stat, counted from the one after the name

--- The scheduling policy of the broker's one worker.
local function policy_of_worker(pid)
  for task in io.popen(("ls /proc/%d/task"):format(pid)):lines() do
    local name, rest = (unit.read_file(("/proc/%d/task/%s/stat"):format(pid, task)) or ""):match "%((.-)%) (.*)"
    if name == "luka-worker-0" then
      local at = 0
      for field in rest:gmatch "%S+" do
        at = at + 1
        if at == STAT_POLICY then return tonumber(field) end
      end
    end
  end
end

describe("A worker", function()
  local broker, client, topic
  before_each(function()
    broker = brokers.start { set = { "workers=1" } }
    client = broker:connect()
    topic = requests.create(client, "busy")
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is batch work while it is busy, and not afterwards", function()
    assert.equal(SCHED_OTHER, policy_of_worker(broker.pid))
    local pieces, batch = {}, records.batch { { value = "busy" } }
    client.send = function(_, bytes)
      pieces[#pieces + 1] = bytes
      return true
    end
    for _ = 1, 500 do requests.send_produce(client, topic, batch, { acks = 0 }) end
    client.send = nil
    local piece = table.concat(pieces)
    requests.wait_until("the worker is batch work", function()
      client:send(piece)
      return policy_of_worker(broker.pid) == SCHED_BATCH
    end)
    requests.wait_until("the worker is like any other", function()
      requests.end_offset(client, topic)
      return policy_of_worker(broker.pid) == SCHED_OTHER
    end)
  end)
end)
