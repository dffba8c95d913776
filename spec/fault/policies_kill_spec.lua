-- SPDX-License-Identifier: Apache-2.0
-- Topics with functions of Lua, and kill -9 under librdkafka's idempotent producers: afterwards every record that the
-- functions keep is there once, and those of a key are in their order. KILLS=20 kills twenty times.
local brokers = require "spec.support.broker"
local kills = require "spec.support.kills"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local PARTITIONS, RECORDS, KEYS = 4, 8000, 1000

local CONFIG = [[
broker { workers = 2, log_flush_offset_checkpoint_interval_ms = 200 }

local function place(record, n) return hash("x" .. record.key) % n end

local function change(record)
  local number = tonumber(record.value)
  if number % 3 == 0 then return nil end
  if number % 5 ~= 0 then return record end
  return { record, { key = record.key, value = "copy of " .. record.value } }
end

topic "divided" { partitions = 4, partitioner = place }
topic "changed" { partitions = 4, transform = change }
topic "both" { partitions = 4, partitioner = place, transform = change, jit = true }
]]

--- Topics, what kcat is told, and whether records are changed.
local TOPICS = {
  { name = "divided", batch = 50, flags = "-K: -X acks=all" },
  { name = "changed", batch = 50, flags = "-K: -z lz4", is_changed = true },
  { name = "both", batch = 50, flags = "-K: -X max.in.flight=5 -z snappy", is_changed = true },
}

--- Fails unless a topic has each record once, and those of a key in their order.
local function check(client, topic)
  local seen = {}
  for partition = 0, PARTITIONS - 1 do
    local last = {}
    for _, record in ipairs(records.read(requests.fetch_to_end(client, topic.made, 0, partition))) do
      seen[record.value] = (seen[record.value] or 0) + 1
      local number = tonumber(record.value)
      if number then
        if number <= (last[record.key] or 0) then
          error(("%s-%d: of key %s record %d is behind %d"):format(topic.name, partition, record.key, number, last[record.key]))
        end
        last[record.key] = number
      end
    end
  end
  local function expect(value, times)
    if (seen[value] or 0) ~= times then error(("%s: %s is there %d times"):format(topic.name, value, seen[value] or 0)) end
  end
  for i = 1, #topic.lines do
    local is_dropped = topic.is_changed and i % 3 == 0
    expect(tostring(i), is_dropped and 0 or 1)
    expect("copy of " .. i, topic.is_changed and not is_dropped and i % 5 == 0 and 1 or 0)
  end
end

describe("A broker with functions of Lua that is killed under idempotent producers", function()
  it(("has every record once and in order after %d kills"):format(kills.COUNT), function()
    local broker = reload.start(CONFIG)
    local client = broker:connect()
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.find(client, topic.name)
      topic.partitions, topic.lines = PARTITIONS, {}
      for i = 1, RECORDS * (kills.COUNT + 1) do topic.lines[i] = ("%d:%d"):format(i * 7919 % KEYS, i) end
    end
    broker, client = kills.run(broker, client, TOPICS, brokers.temp_dir(), finally)
    for _, topic in ipairs(TOPICS) do check(client, topic) end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
