-- SPDX-License-Identifier: Apache-2.0
-- kill -9 under idempotent producers, librdkafka's own, which send again what was not answered: every record is there
-- afterwards, once, and in order, also for librdkafka's consumer with assigned partitions. KILLS=20 does it twenty times.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unistd = require "posix.unistd"
local signal = require "posix.signal"
local wait = require "posix.sys.wait"

local KILLS = tonumber(os.getenv "KILLS") or 3

--- Producers, by topic: records a kill, and what kcat is told.
local TOPICS = {
  { name = "async", configs = { ["segment.bytes"] = "1048576" }, records = 30000, batch = 100, flags = "-X acks=all" },
  { name = "packed", configs = {}, records = 30000, batch = 100, flags = "-z lz4 -X max.in.flight=5" },
  { name = "sync", configs = { ["luka.producer.type"] = "sync" }, records = 3000, batch = 20, flags = "-X acks=all" },
}

--- Starts kcat, which sends the lines of a file; the pid.
local function produce(broker, topic, path, log)
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.execp("sh", { "-c", ("exec kcat -P -E -b 127.0.0.1:%d -t %s -p 0 -X enable.idempotence=true -X message.timeout.ms=600000 "
      .. "-X linger.ms=0 -X batch.num.messages=%d -X reconnect.backoff.ms=20 -X reconnect.backoff.max.ms=100 -X retry.backoff.ms=20 "
      .. "-X queue.buffering.max.messages=%d %s -l %s >%s 2>&1"):format(broker.port, topic.name, topic.batch,
        topic.batch * 10, topic.flags, path, log) })
    unistd._exit(127)
  end
  return pid
end

--- What kcat reads of a partition that it is assigned, from the beginning to the end.
local function consume(broker, topic)
  local pipe = assert(io.popen(("exec kcat -C -b 127.0.0.1:%d -t %s -p 0 -o beginning -e -q"):format(broker.port, topic.name)))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

--- How many records a topic has; nil while the broker does not answer.
local function count(client, topic)
  local ok, offset = pcall(requests.end_offset, client, topic)
  return ok and offset or nil
end

describe("A broker that is killed under idempotent producers", function()
  it(("has every record of them once, in order, after %d kills"):format(KILLS), function()
    local folder = brokers.temp_dir()
    -- Clients know it by its port, so that has to stay.
    local broker = brokers.start { set = { "workers=2", "log_flush_offset_checkpoint_interval_ms=200" } }
    broker.options.listen = { "127.0.0.1:" .. broker.port }
    local client = broker:connect()
    local running = {}
    for _, topic in ipairs(TOPICS) do
      topic.made = requests.create(client, topic.name, { configs = topic.configs })
      topic.total = topic.records * (KILLS + 1)
      local path = folder .. "/" .. topic.name
      local file = assert(io.open(path, "w"))
      for i = 1, topic.total do file:write(i, "\n") end
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
      assert.equal(topic.total, requests.end_offset(client, topic.made))
      assert.is_true(consume(broker, topic) == io.open(folder .. "/" .. topic.name):read "*a")
      local values = records.values(requests.fetch_to_end(client, topic.made, 0))
      assert.equal(topic.total, #values)
      for i = 1, topic.total do
        if values[i] ~= tostring(i) then
          error(("%s: record %d is %s"):format(topic.name, i, tostring(values[i])))
        end
      end
    end
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
