-- SPDX-License-Identifier: Apache-2.0
-- A topic that moves between two directories while it is compacted all the time, as in compaction_kill_spec.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local compaction = require "spec.support.compaction"
local requests = require "spec.support.requests"

local MOVES = tonumber(os.getenv "MOVES") or 30

describe("A topic that is compacted", function()
  it(("moves to the other directory and back, %d times, and loses nothing"):format(MOVES), function()
    local a, b = brokers.temp_dir(true) .. "/a", brokers.temp_dir(true) .. "/b"
    local broker = brokers.start { data = a, set = { "data=" .. b, "workers=2", "log_cleaner_backoff_ms=1" } }
    local client = broker:connect()
    local topic = requests.create(client, "t", { configs = compaction.CONFIGS })
    local model = compaction.new(math.random)
    local where = a
    for _ = 1, MOVES do
      for _ = 1, 15 do model:append(client, topic) end
      where = where == a and b or a
      local answer = client:ask("AlterReplicaLogDirs", 2, { dirs = { { path = where,
        topics = { { name = "t", partitions = { 0 } } } } } })
      assert.equal(0, answer.results[1].partitions[1].error_code)
      clients.wait_until("it has moved", function()
        for _, result in ipairs(client:ask("DescribeLogDirs", 4, { topics = requests.NULL }).results) do
          local found = result.log_dir == where and result.topics[1]
          if found and not found.partitions[1].is_future_key then return true end
        end
        assert.is_nil(broker:log():match "[^\n]* error [^\n]*")
        return false
      end)
    end
    model:verify(client, topic)
    assert.truthy(broker:log():find(" compacted t-0 ", 1, true))
    assert.is_nil(broker:log():match "[^\n]* error [^\n]*")
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
