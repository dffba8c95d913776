-- SPDX-License-Identifier: Apache-2.0
-- A client of the classic protocol in the schedules of spec/support/consumer_sim.lua: it joins, syncs, beats and, as
-- leader, assigns. An eager one gives all up before it joins; a cooperative one says what it keeps. As leader it never
-- takes a partition away from one that has it, so that both sorts may be in one group.
local shard = require "spec.support.shard"
local wire = require "spec.support.wire"

local M = {}

local NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, UNKNOWN = 16, 15, -1
local ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 22, 25, 27, 79
local FENCED_INSTANCE_ID = 82
local SESSION_MS, REBALANCE_MS, VERSION = 10000, 5000, "\0\2"

function M.create(client, is_eager)
  client.is_classic, client.is_eager, client.id, client.phase, client.regex = true, is_eager, "", "idle", nil
  client.generation = 0
end

--- It has nothing any more.
local function drop_all(client)
  client.owned, client.next, client.is_stale, client.must_join = {}, nil, nil, nil
end

--- It gave up what it was told to, and has what it is to have.
function M.give_up(client)
  if not client.next then return end
  client.owned, client.next = client.next, nil
  if client.is_renewed then client.is_stale = nil end
end

--- It starts from nothing.
local function restart(client)
  drop_all(client)
  client.id, client.phase, client.epoch, client.generation, client.is_leader = "", "idle", 0, 0, nil
end
M.restart = restart

--- Looks whether others may have what it believes to have: it was thrown out and has not heard of that, even if it came
--- back since then, or it is a static member that did not join in time, which stays one, but the others go on without it.
--- So it is until it gives all up, or is told what it is to have.
---
---@param group table  what the group says: members, state, generation
---@param log table    what was written since the last look (spec/support/group_log.lua)
function M.look(client, group, log)
  client.generation = math.max(client.generation, log.carried[client.id] or 0)
  local began = group.generation and group.state ~= "PreparingRebalance" and group.generation or log.epochs[client.id] or 0
  local has_missed = began > client.generation
  assert(not has_missed or not group.members[client.id] or client.instance or not next(client.owned),
    client.id .. " is in a generation that it did not join")
  if has_missed or log.gone[client.id] or not group.members[client.id] then
    client.is_stale, client.is_renewed = next(client.owned) ~= nil or nil, nil
  end
end

--- It would not wait for its next heartbeat.
function M.is_busy(client) return client.phase ~= "in" or client.must_join end

-- ---- bytes ----

--- Partitions, a set of "topic:number", as the protocol lists them.
local function by_topic(set)
  local map, list = {}, {}
  for key in pairs(set) do
    local topic, number = key:match "^(.-):(%d+)$"
    if not map[topic] then
      map[topic] = { topic = topic, partitions = {} }
      list[#list + 1] = map[topic]
    end
    table.insert(map[topic].partitions, tonumber(number))
  end
  for _, topic in ipairs(list) do table.sort(topic.partitions) end
  table.sort(list, function(a, b) return a.topic < b.topic end)
  return list
end

local function to_set(list)
  local set = {}
  for _, topic in ipairs(list) do
    for _, number in ipairs(topic.partitions) do set[topic.topic .. ":" .. number] = true end
  end
  return set
end

local function read_assignment(bytes)
  if #bytes == 0 then return {} end
  local version = bytes:byte(2)
  return to_set(wire.decode("ConsumerProtocolAssignment", version, bytes:sub(3)).assigned_partitions)
end

-- ---- the leader ----

--- Who is to have what: what is had stays, what nobody has goes to who has least. Of two that say they have it, it is the
--- one who had it in a later generation (KIP-792).
local function assign(sim, client, members)
  local sets, topics, list, taken, all = {}, {}, {}, {}, {}
  for i, member in ipairs(members) do
    all[i] = wire.decode("ConsumerProtocolSubscription", member.metadata:byte(2), member.metadata:sub(3))
    all[i].id = member.memberId
  end
  table.sort(all, function(a, b)
    return a.generation_id > b.generation_id or a.generation_id == b.generation_id and a.id < b.id
  end)
  for _, said in ipairs(all) do
    local id = said.id
    list[#list + 1], sets[id], topics[id] = id, {}, {}
    for _, topic in ipairs(said.topics) do topics[id][topic] = true end
    for key in pairs(to_set(said.owned_partitions)) do
      if topics[id][key:match "^(.-):"] and not taken[key] then sets[id][key], taken[key] = true, true end
    end
  end
  table.sort(list)
  client.counts = {}
  local size = {}
  for id, set in pairs(sets) do
    size[id] = 0
    for _ in pairs(set) do size[id] = size[id] + 1 end
  end
  for _, topic in ipairs { "a", "b", "c" } do
    client.counts[topic] = sim.s.topics[topic] or 0
    for number = 0, client.counts[topic] - 1 do
      local key, best = topic .. ":" .. number, nil
      for _, id in ipairs(list) do
        if topics[id][topic] and (not best or size[id] < size[best]) then best = id end
      end
      if best and not taken[key] then sets[best][key], size[best] = true, size[best] + 1 end
    end
  end
  local assignments = {}
  for _, id in ipairs(list) do
    assignments[#assignments + 1] = { memberId = id,
      assignment = VERSION .. wire.encode("ConsumerProtocolAssignment", 2, { assigned_partitions = by_topic(sets[id]) }) }
  end
  return assignments
end

local function topics_grew(sim, client)
  for topic, count in pairs(client.is_leader and client.counts or {}) do
    if (sim.s.topics[topic] or 0) ~= count then return true end
  end
  return false
end

-- ---- requests ----

local function send(sim, client, api, version, body)
  body.groupId, body.groupInstanceId = "g", client.instance or shard.NULL
  client.call = sim.s:call(api, version, "g", body)
  client.call.api = api
end

local function join(sim, client)
  M.give_up(client)
  if client.is_eager then drop_all(client) end
  client.must_join = nil
  local said = wire.encode("ConsumerProtocolSubscription", 2, { topics = client.topics,
    owned_partitions = by_topic(client.owned), generation_id = client.epoch > 0 and client.epoch or -1 })
  send(sim, client, "JoinGroup", 9, { memberId = client.id, sessionTimeoutMs = SESSION_MS,
    rebalanceTimeoutMs = REBALANCE_MS, protocolType = "consumer", protocols = { { name = "range", metadata = VERSION .. said } } })
end

--- What it does on its own, unless it waits for an answer.
function M.act(sim, client)
  if client.call then return end
  local wants_join = client.must_join and not client.next or topics_grew(sim, client)
  if client.phase == "idle" or (client.phase == "in" and wants_join) then
    client.phase = "idle"
    join(sim, client)
  elseif client.phase == "joined" then
    send(sim, client, "SyncGroup", 5, { memberId = client.id, generationId = client.epoch, protocolType = "consumer",
      protocolName = "range", assignments = client.assign or {} })
  else
    send(sim, client, "Heartbeat", 4, { memberId = client.id, generationId = client.epoch })
  end
  sim:answers()
end

function M.leave(sim, client)
  send(sim, client, "LeaveGroup", 5, { memberId = client.id, members = { { memberId = client.id,
    groupInstanceId = client.instance or shard.NULL } } })
  restart(client)
end

--- What an error does to it. True: it was one.
local function on_error(client, code)
  if code == 0 then return false end
  client.phase = "idle"
  if code == UNKNOWN_MEMBER_ID or code == FENCED_INSTANCE_ID then
    restart(client)
  elseif code == ILLEGAL_GENERATION then
    drop_all(client)
  elseif code ~= REBALANCE_IN_PROGRESS and code ~= NOT_COORDINATOR and code ~= COORDINATOR_NOT_AVAILABLE
    and code ~= UNKNOWN then
    error(("%s gets error %d"):format(client.id, code))
  end
  return true
end

--- Its request was answered. @param is_lost  it never hears that
function M.take_answer(sim, client, call, is_lost)
  local answer = call.response
  client.call = nil
  if call.api == "LeaveGroup" then return end
  if call.api == "JoinGroup" and answer.errorCode == 0 then client.generation = answer.generationId end
  if is_lost then
    client.phase = call.api == "SyncGroup" and "joined" or call.api == "JoinGroup" and "idle" or client.phase
  elseif answer.errorCode == MEMBER_ID_REQUIRED then
    client.id, client.phase = answer.memberId, "idle"
  elseif on_error(client, answer.errorCode) then
    return
  elseif call.api == "JoinGroup" then
    client.id, client.epoch, client.phase, client.assign = answer.memberId, answer.generationId, "joined", nil
    client.is_leader = answer.leader == answer.memberId
    -- A leader that took over (KIP-814) does not assign, and looks whether topics are as they were when it did.
    if client.is_leader and not answer.skipAssignment then client.assign = assign(sim, client, answer.members) end
  elseif call.api == "SyncGroup" then
    local parts = read_assignment(answer.assignment)
    client.phase, client.is_renewed = "in", true
    -- A cooperative one joins again when it has given up what it lost.
    for key in pairs(client.owned) do client.must_join = client.must_join or not parts[key] end
    sim:take_parts(client, parts)
  end
end

return M
