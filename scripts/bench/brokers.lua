-- SPDX-License-Identifier: Apache-2.0
-- The two brokers that are measured, with one face: a pid, a port, what they used, and their administration.
local ffi = require "ffi"
local signal = require "posix.signal"
local client = require "spec.support.client"
local luka_broker = require "spec.support.broker"
local admin = require "spec.support.admin"
local kafka = require "scripts.bench.kafka"
local process = require "scripts.bench.process"
local unit = require "spec.support.unit"

local M = { SYNCS = nil } -- the library that counts syncs

local FIRST_ANSWER_SECONDS = 60

---@class bench.Broker
---@field side "luka"|"kafka"
---@field pid integer
---@field port integer
---@field data string  its folder
---@field first_answer_s number  from exec to the first answer
local Broker = {}
Broker.__index = Broker

function Broker:cpu_s() return process.cpu_s(self.pid) end

function Broker:resident_bytes() return process.resident_bytes(self.pid) end

--- Its administration, over a connection of its own.
function Broker:admin()
  if not self._admin then self._admin = admin.of(self) end
  return self._admin
end

--- Gives up the connection of its administration, which may be in the middle of an answer.
function Broker:disconnect() self._admin = nil end

--- A connection.
function Broker:connect() return client.connect(self.port) end

--- How often it has called fdatasync or fsync so far.
function Broker:syncs()
  local bytes = unit.read_file(self.syncs_path)
  if not bytes or #bytes ~= 8 then error(("%s counts no syncs: is %s loaded?"):format(self.side, M.SYNCS), 0) end
  local count = ffi.new "int64_t[1]"
  ffi.copy(count, bytes, 8)
  return tonumber(count[0])
end

--- Creates a topic, and waits until all of its partitions have a leader: Kafka answers before it.
---
---@param name string
---@param options { partitions: integer }  and any topic config
function Broker:create(name, options)
  self:admin().create_topic(name, options)
  client.wait_until(("%s has topic %s"):format(self.side, name), function()
    local ok, topic = pcall(self:admin().describe_topic, name)
    if not ok or #topic.partitions < options.partitions then return false end
    for _, partition in ipairs(topic.partitions) do
      if not partition.leader or partition.error then return false end
    end
    return true
  end)
end

--- Deletes topics.
function Broker:delete(...)
  for _, name in ipairs { ... } do self:admin().delete_topic(name) end
end

--- Waits until it answers ApiVersions, with a look each millisecond; seconds since `start_s`.
local function first_answer(self, start_s)
  while process.now_s() - start_s < FIRST_ANSWER_SECONDS do
    if not process.is_alive(self.pid) then error(("%s ended as it started; it said:\n%s"):format(self.side, self:log()), 0) end
    local ok, connection = pcall(client.connect, self.port)
    if ok then
      connection:ask("ApiVersions", 0, {})
      local took_s = process.now_s() - start_s
      connection:close()
      return took_s
    end
    process.sleep(0.001)
  end
  error(("%s does not answer within %d s; it said:\n%s"):format(self.side, FIRST_ANSWER_SECONDS, self:log()), 0)
end

--- What it has said.
function Broker:log() return self._log() end

--- Asks it to stop, and waits; killed when it does not within 30 s.
function Broker:stop()
  self:disconnect()
  signal.kill(self.pid, signal.SIGTERM)
  local ok, err = pcall(self._wait)
  process.forget(self.pid)
  if not ok then error(("%s does not stop: %s"):format(self.side, err), 0) end
end

--- What has a broker count its syncs; the file with the count.
local function counting(data)
  local path = data .. ".syncs"
  return { LD_PRELOAD = M.SYNCS, LUKA_BENCH_SYNCS = path }, path
end

--- Starts a Luka.
---
---@param data string  folder
---@param settings string[]?  key=value
---@return bench.Broker
function M.luka(data, settings)
  local port, environment, syncs_path = process.free_port(), counting(data)
  local start_s = process.now_s()
  local inner = luka_broker.start { data = data, set = settings, listen = { "127.0.0.1:" .. port }, wait = false,
    env = environment }
  process.adopt(inner.pid)
  local self = setmetatable({ side = "luka", pid = inner.pid, port = port, data = data, syncs_path = syncs_path }, Broker)
  self._log = function() return inner:log() end
  self._wait = function() inner:wait_exit(30000) end
  self.first_answer_s = first_answer(self, start_s)
  return self
end

--- Starts a Kafka.
---
---@param data string  folder
---@param settings string[]?  key=value, in Kafka's names
---@return bench.Broker
function M.kafka(data, settings)
  local port, environment, syncs_path = process.free_port(), counting(data)
  local line = kafka.prepare(data, port, settings or {})
  local start_s = process.now_s()
  local inner = process.start(line, { env = environment })
  local self = setmetatable({ side = "kafka", pid = inner.pid, port = port, data = data, syncs_path = syncs_path }, Broker)
  self._log = function() return kafka.said(inner) end
  self._wait = function() process.wait(inner, 30) end
  self.first_answer_s = first_answer(self, start_s)
  return self
end

return M
