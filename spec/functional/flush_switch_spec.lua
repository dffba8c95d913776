-- SPDX-License-Identifier: Apache-2.0
-- luka.producer.type changed while the broker runs, as it is heeded at once.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"
local sync_journal = require "spec.support.sync_journal"

local function set(client, topic, value)
  local answer = client:ask("IncrementalAlterConfigs", 1, { validate_only = false, resources = { { resource_type = 2,
    resource_name = topic.name, configs = { { name = "luka.producer.type", config_operation = 0, value = value } } } } })
  assert.equal(0, answer.responses[1].error_code)
end

if strace.WORKS then
  describe("A topic whose luka.producer.type is changed", function()
    it("has all on disk once it is sync, and what follows flushed until it is async", function()
      local broker = brokers.start { set = { "workers=2" } }
      local client = broker:connect()
      local topic = requests.create(client, "t")
      local batch = records.batch { records = { "x" } }
      for i = 0, 4 do assert.equal(i, requests.append(client, topic, batch)) end
      strace.count(broker.pid, function(counts)
        -- One is the metastore's.
        set(client, topic, "sync")
        requests.wait_until("the log is flushed", function() return (counts().fdatasync or 0) >= 2 end)
      end)
      sync_journal.wait(broker.data, client, topic)
      local last
      local counts = strace.count(broker.pid, function() last = requests.append(client, topic, batch) end)
      assert.same({ 2, 1 }, { counts.pwritev, counts.fdatasync })
      set(client, topic, "async")
      assert.same({ pwritev = 1 }, strace.count(broker.pid, function() requests.append(client, topic, batch) end))
      assert.equal(last + 2, requests.end_offset(client, topic))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end)
end
