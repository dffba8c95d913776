-- SPDX-License-Identifier: Apache-2.0
-- kill -9 of a broker while kcat's idempotent producers write to it. They send again what was not answered, so that a
-- spec can look afterwards whether every record is there, once. KILLS=20 kills twenty times.
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local wait = require "posix.sys.wait"

local M = {}

--- How often a broker is killed.
M.COUNT = tonumber(os.getenv "KILLS") or 3

---@class (exact) spec.KilledTopic
---@field name string
---@field made spec.Topic   as requests.create() gave it
---@field partitions integer
---@field lines string[]    what kcat sends
---@field batch integer     records of a batch
---@field flags string      what else kcat is told

--- Starts kcat, which sends the lines of a file; the pid.
local function produce(broker, topic, path, log)
  local pid = assert(unistd.fork())
  if pid == 0 then
    unistd.execp("sh", { "-c", ("exec kcat -P -E -b 127.0.0.1:%d -t %s -X enable.idempotence=true -X message.timeout.ms=600000 "
      .. "-X linger.ms=0 -X batch.num.messages=%d -X reconnect.backoff.ms=20 -X reconnect.backoff.max.ms=100 -X retry.backoff.ms=20 "
      .. "-X queue.buffering.max.messages=%d %s -l %s >%s 2>&1"):format(broker.port, topic.name, topic.batch,
        topic.batch * 10, topic.flags, path, log) })
    unistd._exit(127)
  end
  return pid
end

--- How many offsets a topic has; nil while the broker does not answer.
local function count(client, topic)
  local sum = 0
  for i = 0, topic.partitions - 1 do
    local ok, offset = pcall(requests.end_offset, client, topic.made, i)
    if not ok then return nil end
    sum = sum + offset
  end
  return sum
end

--- Has producers write to topics and kills the broker M.COUNT times meanwhile; returns when all is written.
---
---@param broker spec.Broker  its port stays, as clients know it by that
---@param client spec.Client
---@param topics spec.KilledTopic[]
---@param folder string
---@param finally fun(fn: function)  busted's
---@return spec.Broker broker  as it runs at the end
---@return spec.Client client
function M.run(broker, client, topics, folder, finally)
  broker.options.listen = { "127.0.0.1:" .. broker.port }
  local running = {}
  for _, topic in ipairs(topics) do
    local path = folder .. "/" .. topic.name
    local file = assert(io.open(path, "w"))
    file:write(table.concat(topic.lines, "\n"), "\n")
    file:close()
    running[topic] = produce(broker, topic, path, path .. ".log")
  end
  finally(function()
    for _, pid in pairs(running) do signal.kill(pid, signal.SIGKILL) end
  end)

  for kill = 1, M.COUNT do
    -- Each kill has another topic's progress for its moment.
    local topic = topics[1 + kill % #topics]
    local at = math.floor(#topic.lines * kill / (M.COUNT + 1))
    requests.wait_until(("%s has %d records"):format(topic.name, at), function()
      return (count(client, topic) or 0) >= at
    end, 120000)
    client:close()
    local how = broker:kill()
    if how ~= "signal 9" then error("the broker ended by itself: " .. how) end
    broker = broker:restart()
    client = broker:connect()
  end

  for _, topic in ipairs(topics) do
    local code
    requests.wait_until(topic.name .. " is written to its end", function()
      local pid, _, status = wait.wait(running[topic], wait.WNOHANG)
      code = status
      return pid == running[topic]
    end, 300000)
    running[topic] = nil
    if code ~= 0 then
      error(io.open(("%s/%s.log"):format(folder, topic.name)):read("*a"):sub(-4000) .. broker:log():sub(-4000))
    end
  end
  return broker, client
end

return M
