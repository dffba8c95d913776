-- SPDX-License-Identifier: Apache-2.0
-- A disk whose fsync fails under topics that are promised one: nobody who waited is told that all is well, what failed is
-- not tried again, and only the partitions of that disk are lost.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local stdlib = require "posix.stdlib"

local STORAGE = 56

local function batch(sequence)
  return records.batch { records = { "v" .. sequence }, producer_id = 7, producer_epoch = 0, sequence = sequence }
end

--- A broker with two disks, the nth fsync of whose logs fails, with all after it.
local function start(nth, options)
  stdlib.setenv("LUKA_ERRINJ", ("log_flush=%d:5"):format(nth))
  options.wait = false
  local broker = brokers.start(options)
  stdlib.setenv("LUKA_ERRINJ", nil)
  options.wait = nil -- for a restart
  broker:wait_until_listening()
  return broker
end

describe("A disk whose fsync fails", function()
  for _, case in ipairs { { ["luka.producer.type"] = "sync" }, { ["flush.messages"] = "1" } } do
    local name = next(case)
    it("costs the partitions on it, and no record that was acknowledged, with " .. name, function()
      local other = brokers.temp_dir() .. "/other"
      local broker = start(4, { set = { "workers=2", "data=" .. other } })
      local client = broker:connect()
      local topic = requests.create(client, "promised", { configs = case })
      local healthy = requests.create(client, "healthy") -- goes to the other disk
      for i = 0, 2 do assert.equal(i, requests.append(client, topic, batch(i))) end
      assert.equal(0, requests.append(client, healthy, records.batch()))
      local waiting = broker:connect()
      local fetch = waiting:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH,
        { { topic, { { fetch_offset = 3 } } } }, { max_wait_ms = 30000, min_bytes = 1 }))

      assert.same({ STORAGE, -1 }, { requests.produce(client, topic, batch(3)).error_code,
        requests.produce(client, topic, batch(3)).base_offset })
      assert.equal(STORAGE, waiting:answer("Fetch", requests.FETCH, fetch).responses[1].partitions[1].error_code)
      -- Also what was acknowledged: nothing of that disk is answered for any more.
      assert.equal(STORAGE, requests.produce(client, topic, batch(2)).error_code)
      assert.equal(STORAGE, requests.fetch(client, topic).error_code)
      assert.is_true(requests.append(client, healthy, records.batch()) > 0)
      assert.truthy(broker:log():match "is offline until the next start: [^\n]*cannot sync a s")
      client:close()
      waiting:close()
      broker:kill()

      -- The next start looks at what is on disk; the one that failed may be there or not, but only once.
      broker = broker:restart()
      client = broker:connect()
      for i = 2, 5 do
        local answer = requests.produce(client, topic, batch(i))
        assert.same({ 0, i }, { answer.error_code, answer.base_offset })
      end
      assert.same({ "v0", "v1", "v2", "v3", "v4", "v5" }, records.values(requests.fetch_to_end(client, topic, 0)))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)
