-- SPDX-License-Identifier: Apache-2.0
-- Topics that choose partitions themselves under faults: a disk that fails at one share of a batch, and kill -9 under
-- librdkafka's idempotent producers, after which every record is there once. KILLS=20 kills twenty times.
local brokers = require "spec.support.broker"
local faults = require "spec.support.faults"
local kills = require "spec.support.kills"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local NONE, KAFKA_STORAGE_ERROR = 0, 56
local PARTITIONS = 6

describe("A batch of which one share cannot be written", function()
  for _, codec in ipairs { records.NONE, records.LZ4 } do
    it("gets that share's error, and is there once after it came again, codec " .. codec, function()
      local data = brokers.temp_dir(true) .. "/data"
      local disk = faults.new(data)
      local broker = brokers.start { data = data, env = disk.env, set = { "workers=1" } }
      local client = broker:connect()
      local topic = requests.create(client, "split", { partitions = 3, configs = { ["luka.partitioner"] = "round_robin" } })
      local function send(sequence)
        return requests.produce(client, topic, records.batch { records = { "a", "b", "c", "d", "e", "f" }, codec = codec,
          producer_id = 1, producer_epoch = 0, sequence = sequence }).error_code
      end
      assert.equal(NONE, send(0))
      disk:arm { kind = "write", err = "ENOSPC", suffix = "split-1/00000000000000000000.log" }
      assert.equal(KAFKA_STORAGE_ERROR, send(6))
      assert.equal(1, (disk:acted()))
      local ends = {}
      for i = 0, 2 do ends[i + 1] = requests.end_offset(client, topic, i) end
      assert.same({ 4, 2, 4 }, ends)
      disk:disarm()
      assert.equal(NONE, send(6))
      assert.equal(NONE, send(6))
      for i = 0, 2 do assert.equal(4, requests.end_offset(client, topic, i)) end
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)

--- Keys and values, to any partition.
local RANDOM = "-K: -X topic.partitioner=random "

--- Producers, by topic: partitioner, records a kill, and what kcat is told.
local TOPICS = {
  { name = "by-key", partitioner = "murmur2", records = 20000, batch = 100, flags = RANDOM .. "-X acks=all" },
  { name = "packed", partitioner = "consistent", records = 20000, batch = 100, flags = RANDOM .. "-z lz4 -X max.in.flight=5" },
  { name = "round", partitioner = "round_robin", records = 20000, batch = 100, flags = RANDOM .. "-X max.in.flight=5" },
  { name = "sync", partitioner = "range:2,4,6", records = 2000, batch = 20, flags = RANDOM .. "-X acks=all", producer = "sync" },
}

--- Each value of a topic with how often it is there, and how many there are.
local function values_of(client, topic)
  local seen, total = {}, 0
  for i = 0, PARTITIONS - 1 do
    for _, value in ipairs(records.values(requests.fetch_to_end(client, topic, 0, i))) do
      seen[value] = (seen[value] or 0) + 1
      total = total + 1
    end
  end
  return seen, total
end

describe("A broker that divides batches and is killed under idempotent producers", function()
  it(("has every record of them once after %d kills"):format(kills.COUNT), function()
    local broker = brokers.start { set = { "workers=2", "log_flush_offset_checkpoint_interval_ms=200" } }
    local client = broker:connect()
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.create(client, topic.name, { partitions = PARTITIONS, configs = {
        ["luka.partitioner"] = topic.partitioner, ["luka.producer.type"] = topic.producer or "async",
        ["segment.bytes"] = "1048576" } })
      topic.partitions, topic.lines = PARTITIONS, {}
      for i = 1, topic.records * (kills.COUNT + 1) do topic.lines[i] = ("%d:%d"):format(i * 7919 % 10000, i) end
    end
    broker, client = kills.run(broker, client, TOPICS, brokers.temp_dir(), finally)

    for _, topic in ipairs(TOPICS) do
      local seen, total = values_of(client, topic.made)
      for i = 1, #topic.lines do
        if seen[tostring(i)] ~= 1 then error(("%s: record %d is there %d times"):format(topic.name, i, seen[tostring(i)] or 0)) end
      end
      assert.equal(#topic.lines, total)
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
