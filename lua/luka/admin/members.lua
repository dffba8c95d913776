-- SPDX-License-Identifier: Apache-2.0
-- Members of groups in one form, whichever protocol they speak. Classic ones carry their subscription and assignment in
-- bytes of the client's own, which for consumers have a known form; members that are no consumers (Kafka Connect) have
-- neither.
local codec = require "luka.wire.codec"
local schema = require "luka.wire.schema"

---@class (exact) luka.Member
---@field member_id string
---@field instance_id string?  name of a static member
---@field client_id string
---@field host string  "127.0.0.1"
---@field rack string?
---@field epoch integer?  of members of the consumer protocol
---@field topics string[]?  subscribed to
---@field regex string?  subscribed to
---@field assignment table<string, integer[]>?  partitions by topic; nil: not known
---@field target table<string, integer[]>?  what it is to have, where that differs
---@field protocol "classic"|"consumer"

local M = {}

local function present(text) return text ~= "" and text or nil end

--- Kafka shows addresses as Java does.
local function host_of(text) return (text:gsub("^/", "")) end

--- A message of the consumer's own, behind its version; nil when it is none. Newer versions begin like the newest one
--- that is known.
local function decode(name, bytes)
  if not bytes or #bytes < 2 then return nil end
  schema.load "consumer_protocol"
  local version = bytes:byte(1) * 256 + bytes:byte(2)
  if version >= 0x8000 then return nil end
  local ok, value = pcall(codec.decode, name, math.min(version, schema.message(name).hi), bytes, 3)
  return ok and value or nil
end

--- Partitions by topic, sorted.
local function by_topic(list, name_of)
  local out = {}
  for _, entry in ipairs(list) do
    local partitions = {}
    for i, partition in ipairs(entry.partitions) do partitions[i] = partition end
    table.sort(partitions)
    out[name_of(entry)] = partitions
  end
  return out
end

local function topic_name(entry) return entry.topic or entry.topic_name end

local function same(a, b)
  local count = 0
  for topic, partitions in pairs(a) do
    count = count + 1
    if not b[topic] or table.concat(partitions, ",") ~= table.concat(b[topic], ",") then return false end
  end
  for _ in pairs(b) do count = count - 1 end
  return count == 0
end

--- A member as DescribeGroups tells it.
---
---@param answer table
---@param protocol_type string
---@return luka.Member
function M.classic(answer, protocol_type)
  local member = { member_id = answer.member_id, instance_id = answer.group_instance_id, client_id = answer.client_id,
    host = host_of(answer.client_host), protocol = "classic" }
  if protocol_type ~= "consumer" then return member end
  local subscription = decode("ConsumerProtocolSubscription", answer.member_metadata)
  if subscription then
    table.sort(subscription.topics)
    member.topics, member.rack = subscription.topics, present(subscription.rack_id or "")
  end
  local assignment = decode("ConsumerProtocolAssignment", answer.member_assignment)
  member.assignment = assignment and by_topic(assignment.assigned_partitions, topic_name)
  return member
end

--- A member as ConsumerGroupDescribe tells it.
---
---@param answer table
---@return luka.Member
function M.consumer(answer)
  table.sort(answer.subscribed_topic_names)
  local assignment = by_topic(answer.assignment.topic_partitions, topic_name)
  local target = by_topic(answer.target_assignment.topic_partitions, topic_name)
  return { member_id = answer.member_id, instance_id = answer.instance_id, client_id = answer.client_id,
    host = host_of(answer.client_host), rack = present(answer.rack_id or ""), epoch = answer.member_epoch,
    topics = answer.subscribed_topic_names, regex = present(answer.subscribed_topic_regex or ""),
    assignment = assignment, target = not same(assignment, target) and target or nil,
    protocol = answer.member_type == 0 and "classic" or "consumer" }
end

return M
