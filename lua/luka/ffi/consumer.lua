-- SPDX-License-Identifier: Apache-2.0
-- Reads partitions of a topic, all into one queue, without a group. Records come in batches; what they point to is valid
-- until the next batch. Hot.
local ffi = require "ffi"
local rdkafka = require "luka.ffi.rdkafka"

local M = {}

local BATCH = 1000 -- records at a time
local OFFSET_BEGINNING, OFFSET_END, OFFSET_TAIL_BASE = -2, -1, -2000

---@class (exact) luka.ConsumeStart
---@field kind "earliest"|"latest"|"offset"|"tail"|"time"
---@field value integer?  offset, how many, or ms since 1970

---@class luka.Consumer
---@field client luka.KafkaClient
---@field count integer  records in `messages`, those before the first error
---@field messages ffi.cdata*  rd_kafka_message_t *[]
---@field at_end integer  partitions whose end was reached
---@field partitions integer[]
---@field failure luka.Error?  why no more can be read
---@field private topic string
---@field private rkt ffi.cdata*
---@field private queue ffi.cdata*
---@field private first integer?  offset; what comes before is left out
local Consumer = {}
Consumer.__index = Consumer
M.Consumer = Consumer

---@param client luka.KafkaClient
---@param topic string
---@param queue ffi.cdata*?  owned: where records come in; nil: one of its own
---@return luka.Consumer
function M.new(client, topic, queue)
  local C = client.C
  local self = setmetatable({
    client = client, topic = topic, partitions = {}, count = 0, at_end = 0, is_at_end = {},
    messages = ffi.new("rd_kafka_message_t *[?]", BATCH), rkt = C.rd_kafka_topic_new(client.rk, topic, nil),
  }, Consumer)
  if self.rkt == nil then rdkafka.fail("topic '%s': %s", topic, rdkafka.text(C.rd_kafka_last_error())) end
  self.queue = queue or C.rd_kafka_queue_new(client.rk)
  return self
end

--- Which partitions there are.
---
---@return integer? count  nil: interrupted
function Consumer:partition_count()
  return self.client:partitions(self.rkt, self.topic)
end

--- The first offset of a partition, and one behind its last.
---
---@return integer? low  nil: interrupted
---@return integer? high
function Consumer:bounds(partition)
  local client, low, high = self.client, ffi.new "int64_t[1]", ffi.new "int64_t[1]"
  local code = client:ask(function(timeout_ms)
    return client.C.rd_kafka_query_watermark_offsets(client.rk, self.topic, partition, low, high, timeout_ms)
  end)
  if not code then return nil end
  if code ~= 0 then rdkafka.fail("topic '%s', partition %d: %s", self.topic, partition, rdkafka.text(code)) end
  return low[0], high[0]
end

--- Where each partition has the first record at or after a time.
---
---@return table<integer, ffi.cdata*>? offsets  by partition; nil: interrupted
function Consumer:offsets_at(time_ms)
  local client, C = self.client, self.client.C
  local list = C.rd_kafka_topic_partition_list_new(#self.partitions)
  local code = client:ask(function(timeout_ms)
    list.cnt = 0
    for _, partition in ipairs(self.partitions) do
      C.rd_kafka_topic_partition_list_add(list, self.topic, partition).offset = time_ms
    end
    return C.rd_kafka_offsets_for_times(client.rk, list, timeout_ms)
  end)
  local offsets = {}
  for i = 0, list.cnt - 1 do
    offsets[list.elems[i].partition] = list.elems[i].offset
    if code == 0 and list.elems[i].err ~= 0 then code = list.elems[i].err end
  end
  C.rd_kafka_topic_partition_list_destroy(list)
  if not code then return nil end
  if code ~= 0 then rdkafka.fail("topic '%s': %s", self.topic, rdkafka.text(code)) end
  return offsets
end

--- What librdkafka is given as the start of a partition; nil: interrupted.
function Consumer:start_of(partition, start, times)
  if start.kind == "earliest" then return OFFSET_BEGINNING end
  if start.kind == "latest" then return OFFSET_END end
  if start.kind == "tail" then return OFFSET_TAIL_BASE - start.value end
  if start.kind == "time" then return times[partition] end
  local low, high = self:bounds(partition)
  if not low then return nil end
  self.first = start.value
  return start.value < low and low or start.value > high and high or start.value
end

--- Begins to read.
---
---@param partitions integer[]
---@param start luka.ConsumeStart
---@return boolean  false: interrupted
function Consumer:start(partitions, start)
  self.partitions = partitions
  local times
  if start.kind == "time" then
    times = self:offsets_at(start.value)
    if not times then return false end
  end
  local offsets = {}
  for i, partition in ipairs(partitions) do
    offsets[i] = self:start_of(partition, start, times)
    if not offsets[i] then return false end
  end
  for i, partition in ipairs(partitions) do
    local C = self.client.C
    if C.rd_kafka_consume_start_queue(self.rkt, partition, offsets[i], self.queue) ~= 0 then
      rdkafka.fail("topic '%s', partition %d: %s", self.topic, partition, rdkafka.text(C.rd_kafka_last_error()))
    end
  end
  return true
end

--- Takes what is no record: the end of a partition, or an error, which is returned.
function Consumer:take_error(message)
  local code, partition = message.err, message.partition
  if code == rdkafka.PARTITION_EOF then
    if not self.is_at_end[partition] then self.at_end = self.at_end + 1 end
    self.is_at_end[partition] = true
    return nil
  end
  if code == rdkafka.UNKNOWN_TOPIC_OR_PART then return rdkafka.error("topic '%s' is gone", self.topic) end
  return rdkafka.error("topic '%s', partition %d: %s", self.topic, partition, rdkafka.text(code))
end

--- Whether all partitions were read to their ends.
---
---@return boolean
function Consumer:is_finished() return self.at_end == #self.partitions end

--- The first records of the batch were printed. Without a group nothing comes of it.
---
---@param _ integer  how many
function Consumer:store(_) end -- luacheck: ignore self

--- Frees the records of the last batch and waits for more: then `messages` has the first `count`.
---
---@param timeout_ms integer
function Consumer:next(timeout_ms)
  local C, messages = self.client.C, self.messages
  self:release()
  local got = tonumber(C.rd_kafka_consume_batch_queue(self.queue, timeout_ms, messages, BATCH))
  local count, first, failure = 0, self.first, nil
  for i = 0, got - 1 do
    local message = messages[i]
    if message.err == 0 and (not first or message.offset >= first) then
      messages[count] = message
      count = count + 1
    else
      if message.err ~= 0 then failure = failure or self:take_error(message) end
      C.rd_kafka_message_destroy(message)
    end
  end
  self.count, self.failure = count, failure
end

--- Frees the records of the last batch.
function Consumer:release()
  local C, messages = self.client.C, self.messages
  for i = 0, self.count - 1 do C.rd_kafka_message_destroy(messages[i]) end
  self.count = 0
end

--- Ends it, and the client.
function Consumer:close()
  local C = self.client.C
  self:release()
  for _, partition in ipairs(self.partitions) do C.rd_kafka_consume_stop(self.rkt, partition) end
  C.rd_kafka_queue_destroy(self.queue)
  C.rd_kafka_topic_destroy(self.rkt)
  self.client:close()
end

-- ---- records ----

local name_out, value_out, size_out = ffi.new "const char *[1]", ffi.new "const void *[1]", ffi.new "size_t[1]"
local headers_out = ffi.new "rd_kafka_headers_t *[1]"

local function bytes_of(pointer, size)
  if pointer == nil then return nil end
  return ffi.string(pointer, size)
end

---@return string?
function M.key(message)
  return bytes_of(message.key, message.key_len)
end

---@return string?
function M.value(message)
  return bytes_of(message.payload, message.len)
end

--- Milliseconds since 1970, -1: none.
---
---@return ffi.cdata*
function Consumer:timestamp(message)
  return self.client.C.rd_kafka_message_timestamp(message, nil)
end

--- The headers of a record, in their order.
---
---@return { key: string, value: string? }[]
function Consumer:headers(message)
  local C, out = self.client.C, {}
  if C.rd_kafka_message_headers(message, headers_out) ~= 0 then return out end
  local index = 0
  while C.rd_kafka_header_get_all(headers_out[0], index, name_out, value_out, size_out) == 0 do
    index = index + 1
    out[index] = { key = ffi.string(name_out[0]), value = bytes_of(value_out[0], size_out[0]) }
  end
  return out
end

return M
