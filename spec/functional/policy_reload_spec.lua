-- SPDX-License-Identifier: Apache-2.0
-- Functions on records come, change and go while a producer has requests under way: none fails, and none overtakes another.
local signal = require "posix.signal"
local clients = require "spec.support.client"
local console_of = require "spec.support.console"
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

  it("functions that cannot be run refuse what they are for, in place of those of before, until they can be", function()
    local broker = reload.start(UPPER, { set = { "workers=2" } })
    local client = broker:connect()
    local topic, plain = requests.find(client, "t"), requests.create(client, "plain")
    local function produce(to, value) return requests.produce(client, to, records.batch { records = { value } }) end
    assert.equal(0, produce(topic, "a").error_code)
    -- The first evaluation is that of the reload; those of the threads that run functions find no file.
    reload.hup(broker, ([[
      broker { unsafe = true }
      local log = io.open("%s/evaluations", "a")
      log:write "x"
      if log:seek "end" > 1 and not io.open "%s/may" then error "not yet" end
      log:close()
      topic "t" { partitions = 2, transform = function(r) r.value = r.value .. "!" return r end }
      topic "new" { transform = function(r) r.value = "new" return r end }]]):format(broker.folder, broker.folder))
    local new = requests.find(client, "new")
    for _, one in ipairs { topic, new, new } do
      local answer = produce(one, "b")
      assert.equal(44, answer.error_code)
      assert.truthy(answer.error_message:find("^policies cannot be run: .*not yet"), answer.error_message)
    end
    assert.equal(0, produce(plain, "c").error_code)
    reload.write(broker, "", "may")
    clients.wait_until("they can be run", function() return produce(new, "d").error_code == 0 end)
    clients.wait_until("they can be run", function() return produce(topic, "e").error_code == 0 end)
    assert.same({ "A", "e!" }, records.values(requests.fetch_to_end(client, topic, 0)))
    assert.same({ "new" }, records.values(requests.fetch_to_end(client, new, 0)))
    assert.same({ "c" }, records.values(requests.fetch_to_end(client, plain, 0)))
    client:close()
    assert.equal(0, broker:stop())
  end)

  for name, partitioner in pairs { ["of ours"] = '"range:a"', ["of the user's"] = "function(record, n) return 1 end" } do
    it("an idempotent producer goes on when a partitioner " .. name .. " has come and gone", function()
      local divided = ('topic "t" { partitions = 2, partitioner = %s }'):format(partitioner)
      local plain = 'topic "t" { partitions = 2, luka_partitioner = "none" }'
      local broker = reload.start(plain, { set = { "workers=2" } })
      local client = broker:connect()
      local topic = requests.find(client, "t")
      local function produce(sequence)
        return requests.produce(client, topic,
          records.batch { records = { { key = "b", value = "v" .. sequence } }, producer_id = 7, producer_epoch = 0,
            sequence = sequence }).error_code
      end
      assert.equal(0, produce(0))
      reload.hup(broker, divided)
      assert.equal(0, produce(1))
      assert.equal(0, produce(2))
      reload.hup(broker, plain)
      assert.equal(0, produce(3))
      assert.equal(0, produce(3))
      assert.equal(45, produce(5)) -- the rules are Kafka's again
      assert.equal(0, produce(4))
      assert.same({ "v0", "v3", "v4" }, records.values(requests.fetch_to_end(client, topic, 0, 0)))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)

describe("threads of functions on records", function()
  for _, count in ipairs { 1, 3 } do
    it(("are %d with lua_threads = %d"):format(count, count), function()
      local broker = reload.start(UPPER, { set = { "workers=2", "lua_threads=" .. count } })
      local console = console_of.connect(broker.data .. "/console.sock")
      requests.wait_until("the threads are there", function()
        return console:eval('metrics("policy")["policy.runners"]').values[1].value == count
      end)
      console:close()
      assert.equal(0, broker:stop())
    end)
  end
end)
