-- SPDX-License-Identifier: Apache-2.0
-- kill -9 under idempotent producers, librdkafka's own, which send again what was not answered: every record is there
-- afterwards, once, and in order, also for librdkafka's consumer with assigned partitions. KILLS=20 does it twenty times.
local brokers = require "spec.support.broker"
local kills = require "spec.support.kills"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

--- Producers, by topic: records a kill, and what kcat is told.
local TOPICS = {
  { name = "async", configs = { ["segment.bytes"] = "1048576" }, records = 30000, batch = 100, flags = "-p 0 -X acks=all" },
  { name = "packed", configs = {}, records = 30000, batch = 100, flags = "-p 0 -z lz4 -X max.in.flight=5" },
  { name = "sync", configs = { ["luka.producer.type"] = "sync" }, records = 3000, batch = 20, flags = "-p 0 -X acks=all" },
}

--- What kcat reads of a partition that it is assigned, from the beginning to the end.
local function consume(broker, topic)
  local pipe = assert(io.popen(("exec kcat -C -b 127.0.0.1:%d -t %s -p 0 -o beginning -e -q"):format(broker.port, topic.name)))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

describe("A broker that is killed under idempotent producers", function()
  it(("has every record of them once, in order, after %d kills"):format(kills.COUNT), function()
    local folder = brokers.temp_dir()
    local broker = brokers.start { set = { "workers=2", "log_flush_offset_checkpoint_interval_ms=200" } }
    local client = broker:connect()
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.create(client, topic.name, { configs = topic.configs })
      topic.partitions, topic.lines = 1, {}
      for i = 1, topic.records * (kills.COUNT + 1) do topic.lines[i] = tostring(i) end
    end
    broker, client = kills.run(broker, client, TOPICS, folder, finally)

    for _, topic in ipairs(TOPICS) do
      assert.equal(#topic.lines, requests.end_offset(client, topic.made))
      assert.is_true(consume(broker, topic) == io.open(folder .. "/" .. topic.name):read "*a")
      local values = records.values(requests.fetch_to_end(client, topic.made, 0))
      assert.equal(#topic.lines, #values)
      for i, line in ipairs(topic.lines) do
        if values[i] ~= line then error(("%s: record %d is %s"):format(topic.name, i, tostring(values[i]))) end
      end
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
