-- SPDX-License-Identifier: Apache-2.0
--
-- The requests that most functional specs need, in any version: topics are given as what create() returns, and named by
-- name or by id as the version wants it.
local clients = require "spec.support.client"
local wire = require "spec.support.wire"

local M = { PRODUCE = 13, FETCH = 18 } -- newest versions

---@class spec.Topic
---@field name string
---@field id string  16 bytes

--- An id that no topic has.
M.UNKNOWN = { name = "no-such-topic", id = ("\1"):rep(15) .. "\2" }

--- Creates a topic that keeps its records, however old they are.
---
---@param client spec.Client
---@param name string
---@param options { partitions: integer?, configs: table<string, string>? }?
---@return spec.Topic
function M.create(client, name, options)
  options = options or {}
  local configs = { { name = "retention.ms", value = "-1" } }
  for key, value in pairs(options.configs or {}) do configs[#configs + 1] = { name = key, value = value } end
  local answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = name,
    num_partitions = options.partitions or 1, replication_factor = 1, configs = configs } } })
  local topic = answer.topics[1]
  if topic.error_code ~= 0 then
    error(("creating %s gave %d: %s"):format(name, topic.error_code, tostring(topic.error_message)), 2)
  end
  return { name = name, id = topic.topic_id }
end

--- Deletes a topic.
function M.delete(client, topic)
  local answer = client:ask("DeleteTopics", 6, { timeout_ms = 30000, topics = { { name = topic.name } } })
  if answer.responses[1].error_code ~= 0 then error("deleting gave " .. answer.responses[1].error_code, 2) end
end

--- The topic of a name, as Metadata knows it; nil when it is not there.
---@return spec.Topic?
function M.find(client, name)
  local answer = client:ask("Metadata", 12, { topics = { { name = name } }, allow_auto_topic_creation = false })
  local topic = answer.topics[1]
  return topic.error_code == 0 and { name = name, id = topic.topic_id, partitions = topic.partitions } or nil
end

local function named(topic, version, field, by_id)
  return version >= by_id and { topic_id = topic.id } or { [field] = topic.name }
end

--- The body of a Produce.
---
---@param version integer
---@param entries { [1]: spec.Topic, [2]: { [1]: integer, [2]: any }[] }[]  topics, each with partitions and records
---@param options { acks: integer?, transactional_id: string? }?
function M.produce_body(version, entries, options)
  options = options or {}
  local body = { acks = options.acks or -1, timeout_ms = 30000, topic_data = {}, transactional_id = options.transactional_id }
  for i, entry in ipairs(entries) do
    local topic = named(entry[1], version, "name", 13)
    topic.partition_data = {}
    for j, part in ipairs(entry[2]) do topic.partition_data[j] = { index = part[1], records = part[2] } end
    body.topic_data[i] = topic
  end
  return body
end

--- Appends the records of one partition; the partition's answer.
---
---@param options { version: integer?, partition: integer?, acks: integer?, transactional_id: string? }?
function M.produce(client, topic, records, options)
  options = options or {}
  local version = options.version or M.PRODUCE
  local answer, why = client:ask("Produce", version,
    M.produce_body(version, { { topic, { { options.partition or 0, records } } } }, options))
  if not answer then error("Produce was not answered: " .. tostring(why), 2) end
  return answer.responses[1].partition_responses[1]
end

--- Appends, or fails; the offset of the first record.
function M.append(client, topic, records, options)
  local answer = M.produce(client, topic, records, options)
  if answer.error_code ~= 0 then error(("Produce gave %d"):format(answer.error_code), 2) end
  return answer.base_offset
end

--- Sends a Produce without waiting; its correlation id. Read the answer with client:answer("Produce", version, id).
function M.send_produce(client, topic, records, options)
  options = options or {}
  local version = options.version or M.PRODUCE
  return client:request("Produce", version,
    M.produce_body(version, { { topic, { { options.partition or 0, records } } } }, options))
end

--- The body of a Fetch.
---
---@param version integer
---@param entries { [1]: spec.Topic, [2]: table[] }[]  topics, each with partitions as the protocol has them; what is left
---   out: partition 0 from offset 0 with 1 MiB
---@param options table?  fields of the request; forget = { { topic, { partitions } } }
function M.fetch_body(version, entries, options)
  local body = { max_wait_ms = 0, min_bytes = 0, max_bytes = 50 * 1024 * 1024, topics = {} }
  if version < 15 then body.replica_id = -1 end
  for i, entry in ipairs(entries) do
    local topic = named(entry[1], version, "topic", 13)
    topic.partitions = {}
    for j, part in ipairs(entry[2] or { {} }) do
      local copy = { partition = 0, fetch_offset = 0, partition_max_bytes = 1024 * 1024 }
      for key, value in pairs(part) do copy[key] = value end
      topic.partitions[j] = copy
    end
    body.topics[i] = topic
  end
  for key, value in pairs(options or {}) do
    if key == "forget" then
      body.forgotten_topics_data = {}
      for i, entry in ipairs(value) do
        local topic = named(entry[1], version, "topic", 13)
        topic.partitions = entry[2]
        body.forgotten_topics_data[i] = topic
      end
    elseif key ~= "version" then
      body[key] = value
    end
  end
  return body
end

--- Fetches several partitions; the whole answer.
function M.fetch_all(client, entries, options)
  local version = options and options.version or M.FETCH
  local answer, why = client:ask("Fetch", version, M.fetch_body(version, entries, options))
  if not answer then error("Fetch was not answered: " .. tostring(why), 2) end
  return answer
end

--- Fetches one partition; the partition's answer.
---
---@param part table?  fields of the partition: fetch_offset, partition, partition_max_bytes ...
---@param options table?  fields of the request, and version
function M.fetch(client, topic, part, options)
  return M.fetch_all(client, { { topic, { part or {} } } }, options).responses[1].partitions[1]
end

--- Fetches until the partition's end; all bytes from an offset on.
function M.fetch_to_end(client, topic, offset, partition)
  local records = require "spec.support.records"
  local all = {}
  while true do
    local answer = M.fetch(client, topic, { partition = partition, fetch_offset = offset })
    if answer.error_code ~= 0 then error(("Fetch at %d gave %d"):format(offset, answer.error_code), 2) end
    local list = records.parse(answer.records or "")
    if #list == 0 then
      if offset ~= answer.high_watermark then error(("nothing at %d below %d"):format(offset, answer.high_watermark), 2) end
      return table.concat(all)
    end
    for _, batch in ipairs(list) do all[#all + 1] = batch.bytes end
    offset = list[#list].last + 1
  end
end

--- An offset of a partition by ListOffsets.
function M.list_offset(client, topic, timestamp, partition)
  local answer = client:ask("ListOffsets", 7, { replica_id = -1, topics = { { name = topic.name, partitions = {
    { partition_index = partition or 0, timestamp = timestamp } } } } })
  local entry = answer.topics[1].partitions[1]
  if entry.error_code ~= 0 then error(("ListOffsets gave %d"):format(entry.error_code), 2) end
  return entry.offset
end

--- The offset that the next record gets.
function M.end_offset(client, topic, partition) return M.list_offset(client, topic, -1, partition) end

--- The first offset.
function M.start_offset(client, topic, partition) return M.list_offset(client, topic, -2, partition) end

--- True when the broker answers a Metadata request on a new connection as it should.
function M.is_well(broker)
  local client = broker:connect()
  local answer = client:ask("Metadata", 9, { topics = {} })
  client:close()
  return answer ~= nil and #answer.brokers == 1 and answer.brokers[1].port == broker.port
end

--- Waits until a file or another condition is there; see client.wait_until().
M.wait_until = clients.wait_until

M.NULL = wire.NULL

return M
