-- SPDX-License-Identifier: Apache-2.0
-- Requests of the classic group protocol, short, to a shard that a spec drives (spec/support/shard.lua). Each returns the
-- call: `response` is nil while it waits.
local M = { GROUP = "g" }

M.errors = {
  UNKNOWN_SERVER_ERROR = -1, NONE = 0,
  NOT_COORDINATOR = 16, ILLEGAL_GENERATION = 22, INCONSISTENT_GROUP_PROTOCOL = 23, INVALID_GROUP_ID = 24,
  UNKNOWN_MEMBER_ID = 25, INVALID_SESSION_TIMEOUT = 26, REBALANCE_IN_PROGRESS = 27, INVALID_REQUEST = 42,
  COORDINATOR_NOT_AVAILABLE = 15, NON_EMPTY_GROUP = 68, GROUP_ID_NOT_FOUND = 69, MEMBER_ID_REQUIRED = 79,
  GROUP_MAX_SIZE_REACHED = 81, FENCED_INSTANCE_ID = 82,
}

local shard = require "spec.support.shard"

--- What a consumer says of itself: version 0 of ConsumerProtocolSubscription.
function M.subscription(...)
  local parts = { "\0\0\0\0\0" .. string.char(select("#", ...)) }
  for _, topic in ipairs { ... } do parts[#parts + 1] = "\0" .. string.char(#topic) .. topic end
  parts[#parts + 1] = "\255\255\255\255"
  return table.concat(parts)
end

--- JoinGroup. `o`: group, version, member, instance, session, rebalance, kind, protocols ({ { name, metadata } ... }),
--- metadata, reason.
function M.join(s, o)
  o = o or {}
  local protocols = {}
  for i, p in ipairs(o.protocols or { { "range", o.metadata or M.subscription "t" } }) do
    protocols[i] = { name = p[1], metadata = p[2] or "" }
  end
  return s:call("JoinGroup", o.version or 9, o.group or M.GROUP, {
    groupId = o.group or M.GROUP, sessionTimeoutMs = o.session or 10000, rebalanceTimeoutMs = o.rebalance or 60000,
    memberId = o.member or "", groupInstanceId = o.instance or shard.NULL, protocolType = o.kind or "consumer",
    protocols = protocols, reason = o.reason or shard.NULL,
  }, o)
end

--- Both steps of a dynamic member's first join; the call waits for the rebalance.
function M.join_new(s, o)
  local copy = {}
  for key, value in pairs(o or {}) do copy[key] = value end
  local first = M.join(s, copy)
  assert(first.response.errorCode == M.errors.MEMBER_ID_REQUIRED, "error " .. first.response.errorCode)
  copy.member = first.response.memberId
  local call = M.join(s, copy)
  call.member = copy.member
  return call
end

--- SyncGroup. `assignments`: member id to bytes.
function M.sync(s, member, generation, assignments, o)
  o = o or {}
  local list = {}
  for id, bytes in pairs(assignments or {}) do list[#list + 1] = { memberId = id, assignment = bytes } end
  return s:call("SyncGroup", o.version or 5, o.group or M.GROUP, {
    groupId = o.group or M.GROUP, generationId = generation, memberId = member,
    groupInstanceId = o.instance or shard.NULL, protocolType = o.kind or "consumer",
    protocolName = o.protocol or "range", assignments = list,
  })
end

--- Heartbeat; its error, and with `o.wants_beat` what it came back with.
function M.heartbeat(s, member, generation, o)
  o = o or {}
  local call = s:call("Heartbeat", o.version or 4, o.group or M.GROUP, {
    groupId = o.group or M.GROUP, generationId = generation, memberId = member,
    groupInstanceId = o.instance or shard.NULL,
  }, o)
  return call.response.errorCode, call.beat
end

--- LeaveGroup of members, each an id or { id, instance }; returns the answer.
function M.leave(s, members, o)
  o = o or {}
  local list = {}
  for i, who in ipairs(members) do
    who = type(who) == "table" and who or { who }
    list[i] = { memberId = who[1], groupInstanceId = who[2] or shard.NULL }
  end
  return s:call("LeaveGroup", o.version or 5, o.group or M.GROUP, {
    groupId = o.group or M.GROUP, memberId = list[1] and list[1].memberId or "", members = list,
  }).response
end

function M.describe(s, o)
  o = o or {}
  return s:call("DescribeGroups", o.version or 6, o.group or M.GROUP).response
end

function M.state(s, group) return M.describe(s, { group = group }).groupState end

--- What a coordinator that loads the log knows of a group.
function M.loaded_dump(s, group)
  local other = s:reloaded()
  local text = other:dump(group or M.GROUP)
  other:close()
  return text
end

--- A commit of the group's member; its error.
function M.commit(s, member, generation, o)
  o = o or {}
  local call = s:call("OffsetCommit", 8, o.group or M.GROUP, {
    groupId = o.group or M.GROUP, generationIdOrMemberEpoch = generation, memberId = member,
    groupInstanceId = o.instance or shard.NULL,
    topics = { { name = "t", partitions = { { partitionIndex = 0, committedOffset = o.offset or 1,
      committedMetadata = "" } } } },
  })
  return call.response.topics[1].partitions[1].errorCode
end

--- A stable group of `count` dynamic members: their ids, leader first, and the generation. Each is assigned its number.
function M.stable(s, count, o)
  local calls = {}
  for i = 1, count do calls[i] = M.join_new(s, o) end
  s:advance(0)
  local ids, leader, generation = {}, nil, nil
  for i, call in ipairs(calls) do
    assert(call.response and call.response.errorCode == 0, "a member has not joined")
    ids[i], leader, generation = call.response.memberId, call.response.leader, call.response.generationId
  end
  local assignments = {}
  for i, id in ipairs(ids) do assignments[id] = tostring(i) end
  for _, id in ipairs(ids) do
    if id ~= leader then M.sync(s, id, generation, nil, o) end
  end
  assert(M.sync(s, leader, generation, assignments, o).response.errorCode == 0)
  assert(leader == ids[1])
  return ids, generation
end

return M
