-- SPDX-License-Identifier: Apache-2.0
--
-- A broker's life in a few steps, for specs that let its disk fail in the midst of it: topics made, batches of all
-- codecs appended over several segments, read, retired, a topic deleted, kill -9 that leaves a torn tail; a second start
-- that recovers it, more batches, a clean stop. What the broker said of each step is kept, so that a later start without
-- faults can be held to it:
--
--   an acknowledged batch is there, at its offset, once;   a refused one is not there at all;
--   one without an answer is there whole or not at all;     a topic is there, or not, as it was said.
local signal = require "posix.signal"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local M = {}

local Run = {}
Run.__index = Run

--- Intervals so short that all the broker does by itself happens in the run.
M.SETTINGS = { "workers=1", "log_flush_offset_checkpoint_interval_ms=15", "log_flush_start_offset_checkpoint_interval_ms=15",
  "replica_high_watermark_checkpoint_interval_ms=15", "log_retention_check_interval_ms=15", "log_segment_delete_delay_ms=10" }

-- Each batch is a segment of its own: its timestamp is more than segment.ms after the one before.
local TOPICS = {
  { name = "kept", partitions = 2, configs = { ["segment.ms"] = "1000", ["index.interval.bytes"] = "0" } },
  { name = "short", partitions = 1, configs = { ["segment.ms"] = "1000", ["retention.bytes"] = "300" }, is_retired = true },
  { name = "doomed", partitions = 1, configs = {} },
}
local BATCHES = 5

--- A run on a data folder.
---@param disk spec.Faults?
function M.new(data, disk)
  return setmetatable({ data = data, disk = disk, topics = {}, produced = {}, notes = {} }, Run)
end

--- One step: errors of the connection end it and are kept as a note.
function Run:step(what, fn)
  if not self.broker or self.broker:poll_exit() then return end
  local client
  local ok, err = pcall(function()
    client = self.broker:connect()
    fn(client)
  end)
  if client then client:close() end
  if not ok then self.notes[#self.notes + 1] = what .. ": " .. tostring(err) end
end

--- Starts the broker; false when it said in one line why it does not, and ended.
function Run:start()
  self.broker = brokers.start { data = self.data, set = M.SETTINGS, env = self.disk and self.disk.env, wait = false }
  local ok, err = pcall(self.broker.wait_until_listening, self.broker)
  if not ok and not self.broker.status then error(err, 0) end
  return ok
end

--- Makes a topic, and keeps what was said of it: "there", or "unknown".
function Run:create(client, topic)
  local configs = { { name = "retention.ms", value = "-1" } }
  for key, value in pairs(topic.configs) do configs[#configs + 1] = { name = key, value = value } end
  self.topics[topic.name] = "unknown"
  local answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = topic.name,
    num_partitions = topic.partitions, replication_factor = 1, configs = configs } } })
  if not answer then return end
  local code = answer.topics[1].error_code
  self.topics[topic.name] = code == 0 and "there" or "unknown"
  if code ~= 0 then self.notes[#self.notes + 1] = ("creating %s gave %d"):format(topic.name, code) end
end

--- Appends one batch; keeps values, and what became of them: an offset, "refused" or "unknown".
function Run:append(client, name, partition, number, codec)
  local key = name .. "-" .. partition
  -- One is so large that it is read by sendfile().
  local size = name == "kept" and number == 2 and 90000 or 100
  local values = { ("%s %d %s"):format(key, number, records.noise(size, number)), ("%s %d b"):format(key, number) }
  local batch = { values = values, fate = "unknown" }
  self.produced[key] = self.produced[key] or {}
  table.insert(self.produced[key], batch)
  local topic = requests.find(client, name)
  if not topic then return end
  local answer = client:ask("Produce", requests.PRODUCE, requests.produce_body(requests.PRODUCE, { { topic,
    { { partition, records.batch { records = values, codec = codec, ts = 1000000 + 2000 * number } } } } }))
  if not answer then return end
  local part = answer.responses[1].partition_responses[1]
  batch.fate = part.error_code == 0 and part.base_offset or "refused"
  batch.code = part.error_code
end

function Run:make_topics()
  for _, topic in ipairs(TOPICS) do
    self:step("create", function(client) self:create(client, topic) end)
  end
end

--- Batches for each partition, by numbers.
function Run:fill(first, last)
  for number = first, last do
    for _, topic in ipairs(TOPICS) do
      for partition = 0, topic.partitions - 1 do
        self:step("append", function(client) self:append(client, topic.name, partition, number, (number + partition) % 5) end)
      end
    end
  end
end

--- Reads a partition as a careful client does: from the start, each batch checked. Returns records by offset, and how far
--- it came: `whole` when that is the end.
function Run:read(client, name, partition)
  local topic = requests.find(client, name)
  if not topic then return nil end
  local answer = client:ask("ListOffsets", 7, { replica_id = -1, topics = { { name = name, partitions = {
    { partition_index = partition, timestamp = -2 } } } } })
  local entry = answer and answer.topics[1].partitions[1]
  if not entry or entry.error_code ~= 0 then return {}, false end
  local at, found = entry.offset, {}
  while true do
    local part = requests.fetch(client, topic, { partition = partition, fetch_offset = at })
    -- Retention may have been faster.
    if part.error_code == 1 then
      clients.wait_until("the log begins later", function() return requests.start_offset(client, topic, partition) > at end)
      return self:read(client, name, partition)
    end
    if part.error_code ~= 0 then return found, false, entry.offset end
    local batches = records.parse(part.records or "")
    if #batches == 0 then return found, at == part.high_watermark, entry.offset end
    for _, record in ipairs(records.read(part.records)) do
      if record.offset < at and record.offset >= batches[1].base then
        assert(found[record.offset] == nil, "an offset is there twice")
      end
      found[record.offset] = record.value
    end
    at = batches[#batches].last + 1
  end
end

--- Compares what is there with what was said; a partition named by `self.damaged` is left out. `is_final`: without faults,
--- so that nothing may be missing.
function Run:compare(client, is_final)
  for _, topic in ipairs(TOPICS) do
    for partition = 0, topic.partitions - 1 do
      local key = topic.name .. "-" .. partition
      if key ~= self.damaged then self:compare_partition(client, topic, partition, is_final) end
    end
  end
end

function Run:compare_partition(client, topic, partition, is_final)
  local key = topic.name .. "-" .. partition
  local found, is_whole, start = self:read(client, topic.name, partition)
  if found == nil then
    assert(not is_final or self.topics[topic.name] ~= "there", topic.name .. " is gone")
    return
  end
  if is_final then
    assert(self.topics[topic.name] ~= "gone", topic.name .. " was deleted, and is back")
    assert(is_whole, key .. " cannot be read to its end")
    assert(topic.is_retired or start == 0, key .. " does not start at 0")
  end
  self:compare_batches(key, found, is_whole, start or 0)
end

function Run:compare_batches(key, found, is_whole, start)
  local places = {}
  for offset, value in pairs(found) do
    assert(not places[value], ("%s: '%.30s' is there twice"):format(key, value))
    places[value] = offset
  end
  for _, batch in ipairs(self.produced[key] or {}) do
    local first, second = places[batch.values[1]], places[batch.values[2]]
    local text = ("%s: '%.12s' was %s (%s) and is at %s, %s"):format(key, batch.values[1], batch.fate, tostring(batch.code),
      tostring(first), tostring(second))
    if type(batch.fate) == "number" then
      if batch.fate >= start and is_whole then assert(first == batch.fate and second == batch.fate + 1, text) end
      assert(first == nil or first == batch.fate, text)
    elseif batch.fate == "refused" then
      assert(first == nil and second == nil, text)
    else
      assert((first == nil) == (second == nil) and (first == nil or second == first + 1), text)
    end
    places[batch.values[1]], places[batch.values[2]] = nil, nil
  end
  for value, offset in pairs(places) do error(("%s: nobody sent '%.30s', at %d"):format(key, value, offset)) end
end

--- Waits, but not long, until retention has taken something away.
function Run:retire()
  self:step("retire", function(client)
    local topic = requests.find(client, "short")
    if not topic or self.topics.short ~= "there" then return end
    local deadline = clients.now_ms() + 200
    while clients.now_ms() < deadline do
      local answer = client:ask("ListOffsets", 7, { replica_id = -1, topics = { { name = "short", partitions = {
        { partition_index = 0, timestamp = -2 } } } } })
      local entry = answer and answer.topics[1].partitions[1]
      if not entry or entry.error_code ~= 0 or entry.offset > 0 then return end
    end
  end)
end

--- Deletes a topic; it is "gone", or nobody knows.
function Run:delete()
  self:step("delete", function(client)
    if self.topics.doomed ~= "there" then return end
    self.topics.doomed = "unknown"
    local answer = client:ask("DeleteTopics", 6, { timeout_ms = 30000, topics = { { name = "doomed" } } })
    if answer and answer.responses[1].error_code == 0 then self.topics.doomed = "gone" end
  end)
end

--- A full disk has room again: whoever was refused is served, without a restart.
function Run:resume()
  self.disk:disarm()
  self:step("resume", function(client)
    for _, topic in ipairs(TOPICS) do
      if self.topics[topic.name] == "there" then
        local found = assert(requests.find(client, topic.name), topic.name .. " is gone")
        for partition = 0, topic.partitions - 1 do
          local key, number = topic.name .. "-" .. partition, BATCHES + 10
          clients.wait_until(("writes to %s resume"):format(key), function()
            self:append(client, found.name, partition, number, 0)
            number = number + 1
            local list = self.produced[key]
            return type(list[#list].fate) == "number"
          end)
        end
      end
    end
  end)
  local note = self.notes[#self.notes]
  assert(not note or not note:match "^resume", note)
end

--- What the broker wrote to standard error says nothing of bugs.
function Run:check_log()
  local log = self.broker:log()
  self.log = (self.log or "") .. log
  for _, word in ipairs { "Sanitizer", "runtime error", "CHECK", "check failed" } do
    assert(not log:find(word, 1, true), log)
  end
end

--- Ends the broker: the exit status is 0, or 1 or 2 with a line that says why; never a signal.
function Run:stop()
  local broker = self.broker
  if not broker:poll_exit() then signal.kill(broker.pid, signal.SIGTERM) end
  local status = broker:wait_exit()
  local log = broker:log()
  assert(status == 0 or status == 1 or status == 2, ("status %s:\n%s"):format(tostring(status), log))
  if status ~= 0 then
    local lines = {}
    for line in log:gmatch "[^\n]+" do
      if line:match "^luka: " or line:find("stopped, but not cleanly", 1, true) then lines[#lines + 1] = line end
    end
    assert(#lines == 1, "it did not say in one line why it ended:\n" .. log)
  end
  self:check_log()
  return status
end

--- kill -9, and a torn tail on the newest segment of one partition.
function Run:crash()
  if self.broker:poll_exit() then
    self:stop()
  else
    self.broker:kill()
    self:check_log()
  end
  local pipe = io.popen(("ls '%s'/kept-1/*.log 2>/dev/null | tail -1"):format(self.data))
  local path = pipe:read "*l"
  pipe:close()
  if path then
    local file = assert(io.open(path, "ab"))
    file:write(("\0"):rep(7) .. "torn")
    file:close()
  end
end

--- All of it, under whatever faults are armed. `is_full`: the faults are those of a full disk, which gets room again.
function Run:live(is_full)
  if self:start() then
    self:make_topics()
    self:fill(1, BATCHES)
    self:step("read", function(client) self:compare(client, false) end)
    self:retire()
    self:delete()
    if is_full then self:resume() end
  end
  self:crash()
  if self:start() then
    self:step("read", function(client) self:compare(client, false) end)
    self:fill(BATCHES + 1, BATCHES + 2)
  end
  return self:stop()
end

--- Starts without faults: all is as it was said, and the broker is as good as new.
function Run:verify()
  if self.disk then self.disk:disarm() end
  if not self:start() then error("it does not start without faults:\n" .. self.broker:log(), 0) end
  local client = self.broker:connect()
  self:compare(client, true)
  for name, state in pairs(self.topics) do
    local topic = requests.find(client, name)
    if topic then
      assert(state ~= "gone", name .. " is back")
      local at = requests.end_offset(client, topic)
      local offset = requests.append(client, topic, records.batch { records = { "more" } })
      assert(offset == at, ("%s ends at %d, and the next record got %d"):format(name, at, offset))
    else
      assert(state ~= "there", name .. " is gone")
    end
  end
  requests.create(client, "fresh")
  client:close()
  assert(self:stop() == 0, self.broker:log())
end

return M
