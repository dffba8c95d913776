-- SPDX-License-Identifier: Apache-2.0
-- What specs of consumer groups say again and again: heartbeats to a shard (spec/support/shard.lua), and assignments as
-- text, "clicks:0,1 views:0".
local shard = require "spec.support.shard"

local M = { JOIN = 0, LEAVE = -1, STATIC_LEAVE = -2 }

--- The topic of an id, as bytes. One that came back is another one, "t2".
local function name_of(s, id)
  s.known_topics = s.known_topics or {}
  for name in pairs(s.topics) do
    local known = s:topic_id(name)
    if not s.known_topics[known] then
      local count, shown = 1, name
      for _, other in pairs(s.known_topics) do
        if other:match("^" .. name .. "%d*$") then count = count + 1 end
      end
      if count > 1 then shown = name .. count end
      s.known_topics[known] = shown
    end
  end
  return s.known_topics[id] or "?"
end

--- Learns the ids of all topics that there are, before one of them goes.
function M.learn(s) name_of(s, "") end

local function id_of(s, shown)
  name_of(s, "")
  for id, name in pairs(s.known_topics) do
    if name == shown then return id end
  end
  error("no topic " .. shown)
end

--- An assignment as sorted text; nil for none.
function M.text(s, assignment)
  if not assignment then return nil end
  local parts = {}
  for _, topic in ipairs(assignment.topicPartitions) do
    local numbers = {}
    for i, number in ipairs(topic.partitions) do numbers[i] = number end
    table.sort(numbers)
    parts[#parts + 1] = name_of(s, topic.topicId) .. ":" .. table.concat(numbers, ",")
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

--- The partitions of such a text as a request names them.
function M.owned(s, text)
  local list = {}
  for topic, numbers in (text or ""):gmatch "([^%s:]+):([%d,]+)" do
    local partitions = {}
    for number in numbers:gmatch "%d+" do partitions[#partitions + 1] = tonumber(number) end
    list[#list + 1] = { topicId = id_of(s, topic), partitions = partitions }
  end
  return list
end

--- Sends a heartbeat; the call, whose response may come later. `more.owned` is text.
function M.send(s, group, member, epoch, more)
  local body = { groupId = group, memberId = member, memberEpoch = epoch }
  for key, value in pairs(more or {}) do
    if key == "owned" then
      body.topicPartitions = M.owned(s, value)
    elseif key ~= "version" then
      body[key] = value
    end
  end
  return s:call("ConsumerGroupHeartbeat", more and more.version or 1, group, body)
end

--- A heartbeat that is answered at once: errorCode, memberEpoch, errorMessage, and the assignment as text.
function M.beat(s, group, member, epoch, more)
  local response = assert(M.send(s, group, member, epoch, more).response, "no answer")
  response.parts = M.text(s, response.assignment)
  return response
end

--- A member joins, subscribed to `topics`.
function M.join(s, group, member, topics, more)
  local body = { rebalanceTimeoutMs = 5000, subscribedTopicNames = topics, owned = "" }
  for key, value in pairs(more or {}) do body[key] = value end
  return M.beat(s, group, member, M.JOIN, body)
end

--- ConsumerGroupDescribe, with members by their ids.
function M.describe(s, group)
  local out = s:call("ConsumerGroupDescribe", 1, group).response
  out.by_id = {}
  for _, member in ipairs(out.members) do out.by_id[member.memberId] = member end
  return out
end

M.NULL = shard.NULL

return M
