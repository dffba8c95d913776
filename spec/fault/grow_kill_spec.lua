-- SPDX-License-Identifier: Apache-2.0
-- kill -9 while partitions are added, at whatever point that is: afterwards the topic has all of them or none, each takes
-- records, and what was acknowledged is done.
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local KILLS = tonumber(os.getenv "KILLS") or 3
local STEP = 8 -- partitions added at a time

describe("A broker that is killed while it adds partitions", function()
  it(("has all of a request or nothing after each of %d kills"):format(KILLS * 4), function()
    local broker = brokers.start { set = { "workers=1" } }
    local client = broker:connect()
    local topic = requests.create(client, "grown")
    local count, appended = 1, { [0] = requests.append(client, topic, records.batch()) + 1 }
    for round = 1, KILLS * 4 do
      -- Later and later: before the request is read, between its steps, after its answer.
      local wanted = count + STEP
      local asked = client:request("CreatePartitions", 3, { topics = { { name = "grown", count = wanted, assignments = wire.NULL } },
        timeout_ms = 60000 })
      if round % 4 == 2 then
        requests.wait_until("the metadata is written", function() return broker:log():find("8 partitions added", 1, true) end)
      elseif round % 4 == 3 then
        requests.wait_until("a folder is made", function()
          return unistd.access(("%s/grown-%d"):format(broker.data, count)) ~= nil
        end)
      end
      local answer = round % 4 == 0 and client:answer("CreatePartitions", 3, asked, 60000) or nil
      assert.equal("signal 9", broker:kill())
      client:close()
      broker = broker:restart()
      client = broker:connect()
      local found = #requests.find(client, "grown").partitions
      assert.is_true(found == count or found == wanted, ("%d partitions"):format(found))
      if answer then assert.equal(0, answer.results[1].error_code) end
      if round % 4 ~= 1 then assert.equal(wanted, found) end
      count = found
      for partition = 0, count - 1 do
        local offset = appended[partition] or 0
        assert.equal(offset, requests.append(client, topic, records.batch(), { partition = partition }))
        appended[partition] = offset + 1
      end
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
