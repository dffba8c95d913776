-- SPDX-License-Identifier: Apache-2.0
-- Reads a topic as a member of a consumer group: which partitions is up to the group, where to begin up to what it has
-- committed. An offset is committed once its record was printed: store() says so. Hot.
local consumers = require "luka.ffi.consumer"
local ffi = require "ffi"
local rdkafka = require "luka.ffi.rdkafka"

ffi.cdef [[
int rd_kafka_subscribe(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *topics);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *rk);
int rd_kafka_offsets_store(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *offsets);
int rd_kafka_assignment(rd_kafka_t *rk, rd_kafka_topic_partition_list_t **partitions);
int rd_kafka_consumer_close(rd_kafka_t *rk);
]]

local M = {}

--- How long a rebalance has to be over before a member without partitions is left out, ms: cooperative assignors give a
--- newcomer its share by a second rebalance, which it learns of by a heartbeat, every 3 seconds.
local SETTLED_MS = 5000

---@class luka.GroupConsumer: luka.Consumer
---@field group string
---@field is_left_out boolean  it is a member, and the group has given all partitions to others
---@field ends table<integer, boolean>  partitions whose end was reached
local GroupConsumer = setmetatable({}, { __index = consumers.Consumer })
GroupConsumer.__index = GroupConsumer

---@param client luka.KafkaClient  with group.id among its properties, and enable.auto.offset.store off
---@param topic string
---@param group string
---@return luka.GroupConsumer
function M.new(client, topic, group)
  local self = consumers.new(client, topic, client.C.rd_kafka_queue_get_consumer(client.rk))
  self.group, self.is_left_out = group, false
  client.on_statistics = function(text) self:take_statistics(text) end
  return setmetatable(self, GroupConsumer)
end

--- Joins the group.
function GroupConsumer:subscribe()
  local C = self.client.C
  local list = C.rd_kafka_topic_partition_list_new(1)
  C.rd_kafka_topic_partition_list_add(list, self.topic, -1)
  local code = C.rd_kafka_subscribe(self.client.rk, list)
  C.rd_kafka_topic_partition_list_destroy(list)
  if code ~= 0 then rdkafka.fail("group '%s': %s", self.group, rdkafka.text(code)) end
end

--- The partitions that it has now.
local function assignment(self)
  local C, out, partitions = self.client.C, ffi.new "rd_kafka_topic_partition_list_t *[1]", {}
  if C.rd_kafka_assignment(self.client.rk, out) ~= 0 then return partitions end
  for i = 0, out[0].cnt - 1 do partitions[i + 1] = out[0].elems[i].partition end
  C.rd_kafka_topic_partition_list_destroy(out[0])
  return partitions
end

--- Whether it has partitions, and has read all of them to their ends.
---
---@return boolean
function GroupConsumer:is_finished()
  local partitions = assignment(self)
  for _, partition in ipairs(partitions) do
    if not self.is_at_end[partition] then return false end
  end
  return #partitions > 0
end

--- What librdkafka says of itself, with statistics.interval.ms among the properties: only there does it say that it was
--- given no partitions, and not just none yet.
---
---@param text string  JSON
function GroupConsumer:take_statistics(text)
  local state = text:match '"cgrp":%s*(%b{})' or ""
  local function number(name) return tonumber(state:match(('"%s":%%s*(%%d+)'):format(name))) end
  self.is_left_out = state:match '"join_state":%s*"([^"]*)"' == "steady" and number "assignment_size" == 0
    and (number "rebalance_age" or 0) >= SETTLED_MS
end

--- What is no record: an end, or why the group cannot be read.
function GroupConsumer:take_error(message)
  -- Nothing was taken for longer than max.poll.interval.ms: it has left the group, and joins again now.
  if message.err == rdkafka.MAX_POLL_EXCEEDED then return nil end
  if message.partition < 0 and message.err ~= rdkafka.UNKNOWN_TOPIC_OR_PART then
    return rdkafka.error("group '%s': %s", self.group, rdkafka.text(message.err))
  end
  return consumers.Consumer.take_error(self, message)
end

--- The first records of the batch were printed: their offsets may be committed. Those of partitions that the group has
--- taken away meanwhile are read again by whoever has them.
---
---@param count integer
function GroupConsumer:store(count)
  if count == 0 then return end
  local C, last = self.client.C, {}
  for i = 0, count - 1 do
    last[self.messages[i].partition] = self.messages[i].offset
    self.is_at_end[self.messages[i].partition] = nil
  end
  local list = C.rd_kafka_topic_partition_list_new(1)
  for partition, offset in pairs(last) do
    C.rd_kafka_topic_partition_list_add(list, self.topic, partition).offset = offset + 1
  end
  C.rd_kafka_offsets_store(self.client.rk, list)
  C.rd_kafka_topic_partition_list_destroy(list)
end

--- Commits what was stored, leaves the group, and ends.
function GroupConsumer:close()
  self:release()
  self.client.C.rd_kafka_consumer_close(self.client.rk)
  consumers.Consumer.close(self)
end

return M
