-- SPDX-License-Identifier: Apache-2.0
-- Functions on records come, change and go while a producer has requests under way: none fails, and none overtakes another.
local signal = require "posix.signal"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local PLAIN = 'topic "t" { partitions = 2 }'
local UPPER = 'topic "t" { partitions = 2, transform = function(r) r.value = r.value:upper() return r end }'
local SAME = 'topic "t" { partitions = 2, partitioner = function(record, n) return record.partition end }'
local MARKED = [[topic "t" {
  partitions = 2,
  partitioner = function(record, n) return record.partition end,
  transform = function(r) r.headers.seen = "1" return r end,
}]]

--- Divides, to partition 1 nearly all; and takes its time there.
local DIVIDED = 'topic "t" { partitions = 2, partitioner = function(record, n) return record.key == "a" and 0 or 1 end%s }'
local SLOW = DIVIDED:format [[, transform = function(record)
  local began = now()
  while now() < began + 10 do end
  return record
end]]

describe("functions on records that are reloaded under way:", function()
  it("no request fails, and a partition's batches stay in order", function()
    local broker = reload.start(PLAIN, { set = { "workers=2" } })
    local client = broker:connect()
    local topic = requests.find(client, "t")
    local steps = { UPPER, PLAIN, SAME, MARKED, PLAIN, MARKED, UPPER, PLAIN }
    local ids, count, window = {}, 800, 20
    for i = 1, count + window do
      if i <= count then
        ids[i] = requests.send_produce(client, topic, records.batch { records = { "v" .. i }, codec = i % 7 == 0 and 4 or 0 })
      end
      if i % 100 == 50 and i <= count then
        reload.write(broker, steps[(i + 50) / 100])
        signal.kill(broker.pid, signal.SIGHUP)
      end
      if i > window then
        local answer = client:answer("Produce", requests.PRODUCE, ids[i - window])
        assert.equal(0, answer.responses[1].partition_responses[1].error_code)
      end
    end
    local values = records.values(requests.fetch_to_end(client, topic, 0, 0))
    assert.equal(count, #values)
    for i, value in ipairs(values) do assert.equal("v" .. i, value:lower()) end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("what is divided does not overtake what a function that has gone is still at", function()
    local broker = reload.start(SLOW, { set = { "workers=2" } })
    local client = broker:connect()
    local topic = requests.find(client, "t")
    local function send(sequence)
      local list = {}
      for i = 1, 60 do list[i] = { key = i == 1 and "a" or "b", value = "v" .. sequence + i } end
      return requests.send_produce(client, topic,
        records.batch { records = list, producer_id = 7, producer_epoch = 0, sequence = sequence })
    end
    local ids = { send(0) }
    client:wait_until_read()
    reload.hup(broker, DIVIDED:format "")
    for i = 1, 3 do ids[i + 1] = send(60 * i) end
    for _, id in ipairs(ids) do
      assert.equal(0, client:answer("Produce", requests.PRODUCE, id).responses[1].partition_responses[1].error_code)
    end
    local values = records.values(requests.fetch_to_end(client, topic, 0, 1))
    local expected = {}
    for i = 1, 240 do if i % 60 ~= 1 then expected[#expected + 1] = "v" .. i end end
    assert.same(expected, values)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
