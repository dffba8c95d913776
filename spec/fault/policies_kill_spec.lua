-- SPDX-License-Identifier: Apache-2.0
-- Topics with functions of Lua, and kill -9 under librdkafka's idempotent producers: afterwards every record that the
-- functions keep is there once, and those of a key are in their order. KILLS=20 kills twenty times.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local KILLS = tonumber(os.getenv "KILLS") or 3
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
  { name = "divided", flags = "-X acks=all" },
  { name = "changed", flags = "-z lz4", is_changed = true },
  { name = "both", flags = "-X max.in.flight=5 -z snappy", is_changed = true },
}

--- Starts kcat, which sends the lines of a file; the pid.
local function produce(broker, topic, path, log)
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.execp("sh", { "-c", ("exec kcat -P -E -b 127.0.0.1:%d -t %s -K: -X enable.idempotence=true -X message.timeout.ms=600000 "
      .. "-X linger.ms=0 -X batch.num.messages=50 -X reconnect.backoff.ms=20 -X reconnect.backoff.max.ms=100 "
      .. "-X retry.backoff.ms=20 -X queue.buffering.max.messages=500 %s -l %s >%s 2>&1"):format(broker.port, topic.name,
        topic.flags, path, log) })
    unistd._exit(127)
  end
  return pid
end

--- How many offsets a topic has; nil while the broker does not answer.
local function count(client, topic)
  local sum = 0
  for i = 0, PARTITIONS - 1 do
    local ok, offset = pcall(requests.end_offset, client, topic, i)
    if not ok then return nil end
    sum = sum + offset
  end
  return sum
end

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
  for i = 1, topic.total do
    local is_dropped = topic.is_changed and i % 3 == 0
    expect(tostring(i), is_dropped and 0 or 1)
    expect("copy of " .. i, topic.is_changed and not is_dropped and i % 5 == 0 and 1 or 0)
  end
end

describe("A broker with functions of Lua that is killed under idempotent producers", function()
  it(("has every record once and in order after %d kills"):format(KILLS), function()
    local folder = brokers.temp_dir()
    local broker = reload.start(CONFIG)
    broker.options.listen = { "127.0.0.1:" .. broker.port } -- clients know it by its port
    local client = broker:connect()
    local running = {}
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.find(client, topic.name)
      topic.total = RECORDS * (KILLS + 1)
      local file = assert(io.open(folder .. "/" .. topic.name, "w"))
      for i = 1, topic.total do file:write(i * 7919 % KEYS, ":", i, "\n") end
      file:close()
      topic.log = folder .. "/" .. topic.name .. ".log"
      topic.pid = produce(broker, topic, folder .. "/" .. topic.name, topic.log)
      running[topic.pid] = topic
    end
    finally(function()
      for pid in pairs(running) do signal.kill(pid, signal.SIGKILL) end
    end)

    for kill = 1, KILLS do
      -- Each kill has another topic's progress for its moment. A changed one has a bit more offsets than records.
      local topic = TOPICS[1 + kill % #TOPICS]
      local at = math.floor(topic.total * kill / (KILLS + 1))
      requests.wait_until(("%s has %d records"):format(topic.name, at), function()
        return (count(client, topic.made) or 0) >= at
      end, 120000)
      client:close()
      assert.equal("signal 9", broker:kill())
      broker = broker:restart()
      client = broker:connect()
    end

    for _, topic in ipairs(TOPICS) do
      local code
      requests.wait_until(topic.name .. " is written to its end", function()
        local pid, _, status = wait.wait(topic.pid, wait.WNOHANG)
        code = status
        return pid == topic.pid
      end, 300000)
      running[topic.pid] = nil
      assert.equal(0, code, io.open(topic.log):read("*a"):sub(-4000) .. broker:log():sub(-4000))
      check(client, topic)
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
