-- SPDX-License-Identifier: Apache-2.0
-- What functions on records see of who produced: in batches as they come, in shares of them, and in what is stored. And
-- what producers are told when functions refuse their records.
local clients = require "spec.support.client"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local CONFIG = [[
broker { workers = 2 }
local function producer_of(record)
  return ("%s:%s:%s"):format(tostring(record.producer_id), tostring(record.producer_epoch), tostring(record.sequence))
end
local function show(record)
  record.value = record.value .. " " .. producer_of(record)
  return record
end
policy.partitioner("last", function(record, n) return record.sequence and record.sequence % n or 0 end)
topic "produced" { partitions = 1, transform = show }
topic "divided" { partitions = 2, partitioner = function(record, n) return tonumber(record.key) end, transform = show }
topic "named" { partitions = 3, luka_partitioner = "last" }
topic "refused" { transform = function(record)
  if record.value == "bad" then reject "it is bad" end
  return record
end }
topic "broken" { transform = function() error "it breaks" end }
topic "fetched" { partitions = 1, transform_fetch = show }
]]

describe("functions on records see", function()
  local broker, client
  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function send(name, list, producer)
    local batch = { records = list }
    if producer then batch.producer_id, batch.producer_epoch, batch.sequence = producer[1], producer[2], producer[3] end
    local answer = requests.produce(client, requests.find(client, name), records.batch(batch))
    assert.equal(0, answer.error_code, answer.error_message)
  end
  local function read(name, partition)
    return records.values(requests.fetch_to_end(client, requests.find(client, name), 0, partition or 0))
  end

  it("the producer of what comes, and the sequence of each record", function()
    send("produced", { "a", "b" }, { 77, 1, 10 })
    send("produced", { "c" })
    assert.same({ "a 77:1:10", "b 77:1:11", "c nil:nil:nil" }, read "produced")
  end)

  it("the client's producer id in its shares, whose sequences begin with their first record's", function()
    local function keyed(...)
      local list = {}
      for i, key in ipairs { ... } do list[i] = { key = key, value = tostring(i) } end
      return list
    end
    send("divided", keyed("0", "1", "0"), { 78, 0, 0 })
    send("divided", keyed("1", "1"), { 78, 0, 3 })
    assert.same({ "1 78:0:0", "3 78:0:1" }, read "divided")
    assert.same({ "2 78:0:1", "1 78:0:3", "2 78:0:4" }, read("divided", 1))
  end)

  it("sequences to choose partitions by", function()
    send("named", { "a", "b", "c", "d" }, { 79, 0, 0 })
    assert.same({ { "a", "d" }, { "b" }, { "c" } }, { read("named", 0), read("named", 1), read("named", 2) })
  end)

  it("the producer of what is stored", function()
    send("fetched", { "a", "b" }, { 80, 2, 5 })
    send("fetched", { "c", "d" }, { 80, 2, 7 })
    send("fetched", { "e" })
    assert.same({ "a 80:2:5", "b 80:2:6", "c 80:2:7", "d 80:2:8", "e nil:nil:nil" }, read "fetched")
  end)
end)

describe("what a producer is told", function()
  local broker, client
  local NEWEST = 13
  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function produce(name, version)
    return requests.produce(client, requests.find(client, name), records.batch { records = { "good", "bad", "bad" } },
      { version = version })
  end

  for version = 8, NEWEST do
    it("of rejected records is why, and which: Produce " .. version, function()
      local answer = produce("refused", version)
      assert.equal(87, answer.error_code) -- INVALID_RECORD
      assert.equal(("2 records were rejected by the transform of topic refused (%s/config.lua:13): it is bad"):format(
        broker.folder), answer.error_message)
      assert.same({ { batch_index = 1, batch_index_error_message = "it is bad" },
        { batch_index = 2, batch_index_error_message = "it is bad" } }, answer.record_errors)
    end)

    it("of a function that fails is what it said: Produce " .. version, function()
      local answer = produce("broken", version)
      assert.equal(44, answer.error_code) -- POLICY_VIOLATION
      assert.equal(("transform of topic broken: %s/config.lua:17: it breaks"):format(broker.folder), answer.error_message)
      assert.same({}, answer.record_errors)
    end)
  end

  for version = 3, 7 do
    it("is the code alone where an answer has no room for more: Produce " .. version, function()
      assert.same({ 87, 44 }, { produce("refused", version).error_code, produce("broken", version).error_code })
    end)
  end

  it("of rejected records is in the log, too, with how many there were, once a second at most", function()
    local function lines()
      local list = {}
      for line in broker:log():gmatch "[^\n]+" do list[#list + 1] = line:match "records were rejected by .*" end
      return list
    end
    local sent = 1
    produce("refused", 3)
    clients.wait_until("it is logged again", function()
      produce("refused", 3)
      sent = sent + 1
      return #lines() > 1
    end)
    assert.equal(("records were rejected by the transform of topic refused (%s/config.lua:13): it is bad (2 so far)"):format(
      broker.folder), lines()[1])
    assert.is_true(tonumber(lines()[2]:match "%((%d+) so far%)$") >= 4)
    assert.is_true(#lines() < sent)
  end)
end)
