-- SPDX-License-Identifier: Apache-2.0
-- Topics that choose partitions themselves under faults: a disk that fails at one share of a batch, and kill -9 under
-- librdkafka's idempotent producers, after which every record is there once. KILLS=20 kills twenty times.
local brokers = require "spec.support.broker"
local faults = require "spec.support.faults"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local NONE, KAFKA_STORAGE_ERROR = 0, 56
local KILLS = tonumber(os.getenv "KILLS") or 3
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

--- Producers, by topic: partitioner, records a kill, and what kcat is told.
local TOPICS = {
  { name = "by-key", partitioner = "murmur2", records = 20000, batch = 100, flags = "-K: -X acks=all" },
  { name = "packed", partitioner = "consistent", records = 20000, batch = 100, flags = "-K: -z lz4 -X max.in.flight=5" },
  { name = "round", partitioner = "round_robin", records = 20000, batch = 100, flags = "-K: -X max.in.flight=5" },
  { name = "sync", partitioner = "range:2,4,6", records = 2000, batch = 20, flags = "-K: -X acks=all", producer = "sync" },
}

--- Starts kcat, which sends the lines of a file to two partitions; the pid.
local function produce(broker, topic, path, log)
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.execp("sh", { "-c", ("exec kcat -P -E -b 127.0.0.1:%d -t %s -X enable.idempotence=true -X message.timeout.ms=600000 "
      .. "-X linger.ms=0 -X batch.num.messages=%d -X reconnect.backoff.ms=20 -X reconnect.backoff.max.ms=100 -X retry.backoff.ms=20 "
      .. "-X topic.partitioner=random -X queue.buffering.max.messages=%d %s -l %s >%s 2>&1"):format(broker.port, topic.name,
        topic.batch, topic.batch * 10, topic.flags, path, log) })
    unistd._exit(127)
  end
  return pid
end

--- How many records a topic has; nil while the broker does not answer.
local function count(client, topic)
  local sum = 0
  for i = 0, PARTITIONS - 1 do
    local ok, offset = pcall(requests.end_offset, client, topic, i)
    if not ok then return nil end
    sum = sum + offset
  end
  return sum
end

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
  it(("has every record of them once after %d kills"):format(KILLS), function()
    local folder = brokers.temp_dir()
    -- Clients know it by its port, so that has to stay.
    local broker = brokers.start { set = { "workers=2", "log_flush_offset_checkpoint_interval_ms=200" } }
    broker.options.listen = { "127.0.0.1:" .. broker.port }
    local client = broker:connect()
    local running = {}
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.create(client, topic.name, { partitions = PARTITIONS, configs = {
        ["luka.partitioner"] = topic.partitioner, ["luka.producer.type"] = topic.producer or "async",
        ["segment.bytes"] = "1048576" } })
      topic.total = topic.records * (KILLS + 1)
      local file = assert(io.open(folder .. "/" .. topic.name, "w"))
      for i = 1, topic.total do file:write(i * 7919 % 10000, ":", i, "\n") end
      file:close()
    end
    for _, topic in ipairs(TOPICS) do
      topic.log = folder .. "/" .. topic.name .. ".log"
      topic.pid = produce(broker, topic, folder .. "/" .. topic.name, topic.log)
      running[topic.pid] = topic
    end
    finally(function()
      for pid in pairs(running) do signal.kill(pid, signal.SIGKILL) end
    end)

    for kill = 1, KILLS do
      -- Each kill has another topic's progress for its moment.
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
      assert.equal(0, code, io.open(topic.log):read "*a")
      local seen, total = values_of(client, topic.made)
      for i = 1, topic.total do
        if seen[tostring(i)] ~= 1 then error(("%s: record %d is there %d times"):format(topic.name, i, seen[tostring(i)] or 0)) end
      end
      assert.equal(topic.total, total)
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
