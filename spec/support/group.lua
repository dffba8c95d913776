-- SPDX-License-Identifier: Apache-2.0
--
-- Consumer groups for functional specs, in raw requests of the classic protocol: a member is a connection and what it was
-- told, and does nothing that it is not asked to do.
--
--   local member = group.member(broker, "g", { topics = { "t" } })
--   member:join()
--   assert.equal(0, member:sync({ [member.id] = { t = { 0, 1 } } }).error_code)
local clients = require "spec.support.client"
local wire = require "spec.support.wire"

local M = {
  JOIN = 9, SYNC = 5, HEARTBEAT = 4, LEAVE = 5, COMMIT = 9, FETCH = 9, -- newest versions that name topics
}

--- Error codes that specs of groups name.
M.CODE = { NONE = 0, OFFSET_METADATA_TOO_LARGE = 12, COORDINATOR_LOAD_IN_PROGRESS = 14, COORDINATOR_NOT_AVAILABLE = 15,
  NOT_COORDINATOR = 16, ILLEGAL_GENERATION = 22, UNKNOWN_MEMBER_ID = 25, REBALANCE_IN_PROGRESS = 27, NON_EMPTY_GROUP = 68,
  GROUP_ID_NOT_FOUND = 69, MEMBER_ID_REQUIRED = 79, FENCED_INSTANCE_ID = 82 }

--- The two bytes of a version of the consumer protocol.
local function versioned(version, bytes) return string.char(0, version) .. bytes end

--- What a member subscribes to, as consumers say it.
---
---@param topics string[]
---@return string bytes
function M.subscription(topics)
  return versioned(0, wire.encode("ConsumerProtocolSubscription", 0, { topics = topics }))
end

--- What a leader assigns.
---
---@param partitions table<string, integer[]>  by topic
---@return string bytes
function M.assignment(partitions)
  local topics = {}
  for topic, list in pairs(partitions) do topics[#topics + 1] = { topic = topic, partitions = list } end
  table.sort(topics, function(a, b) return a.topic < b.topic end)
  return versioned(0, wire.encode("ConsumerProtocolAssignment", 0, { assigned_partitions = topics }))
end

--- What a member was assigned; an empty table for no bytes.
---
---@param bytes string
---@return table<string, integer[]>
function M.read_assignment(bytes)
  local out = {}
  if bytes == "" then return out end
  for _, topic in ipairs(wire.decode("ConsumerProtocolAssignment", 0, bytes:sub(3)).assigned_partitions) do
    out[topic.topic] = topic.partitions
  end
  return out
end

--- Has the broker make the topic of offsets, and waits until it coordinates groups of any name.
---
---@param client spec.Client
function M.prepare(client)
  clients.wait_until("groups have a coordinator", function()
    return client:ask("FindCoordinator", 4, { coordinator_keys = { "any" }, key_type = 0 }).coordinators[1].error_code == 0
  end, 60000)
  local groups = {}
  for i = 1, 500 do groups[i] = { group_id = "any-" .. i, topics = wire.NULL } end -- of every partition of that topic some
  clients.wait_until("all groups are loaded", function()
    for _, group in ipairs(client:ask("OffsetFetch", 8, { groups = groups }).groups) do
      if group.error_code ~= 0 then return false end
    end
    return true
  end, 60000)
end

--- Topics of a commit or a fetch, in the order of their names.
local function sorted(topics)
  local names = {}
  for name in pairs(topics) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The body of an OffsetCommit.
---
---@param name string  of the group
---@param offsets table<string, table<integer, integer|table>>  by topic and partition: an offset, or { offset, metadata }
---@param options { version: integer?, generation: integer?, member: string?, instance: string?, retention_ms: integer? }?
function M.commit_body(name, offsets, options)
  options = options or {}
  local version = options.version or M.COMMIT
  local body = { group_id = name, generation_id_or_member_epoch = options.generation or -1, member_id = options.member or "",
    topics = {} }
  if version >= 7 then body.group_instance_id = options.instance or wire.NULL end
  if version >= 2 and version <= 4 then body.retention_time_ms = options.retention_ms or -1 end
  for _, topic in ipairs(sorted(offsets)) do
    local partitions = {}
    for partition, value in pairs(offsets[topic]) do
      local offset, metadata = value, ""
      if type(value) == "table" then offset, metadata = value[1], value[2] end
      partitions[#partitions + 1] = { partition_index = partition, committed_offset = offset, committed_metadata = metadata }
    end
    table.sort(partitions, function(a, b) return a.partition_index < b.partition_index end)
    body.topics[#body.topics + 1] = { name = topic, partitions = partitions }
  end
  return body
end

--- Error codes of an OffsetCommit's answer by topic and partition.
local function commit_codes(answer)
  local out = {}
  for _, topic in ipairs(answer.topics) do
    out[topic.name] = {}
    for _, part in ipairs(topic.partitions) do out[topic.name][part.partition_index] = part.error_code end
  end
  return out
end

--- Commits offsets; the error codes by topic and partition. Arguments as of commit_body().
function M.commit(client, name, offsets, options)
  local answer, why = client:ask("OffsetCommit", options and options.version or M.COMMIT, M.commit_body(name, offsets, options))
  if not answer then error("OffsetCommit was not answered: " .. why, 2) end
  return commit_codes(answer)
end

--- What a group has committed, by topic and partition: { offset, metadata, code }. Fails for an error of the whole group
--- other than that it is being loaded, which is waited for.
---
---@param client spec.Client
---@param name string
---@param partitions table<string, integer[]>?  by topic; all that have an offset by default
---@param options { version: integer?, require_stable: boolean? }?
---@return table<string, table<integer, { offset: integer, metadata: string, code: integer }>>
function M.committed(client, name, partitions, options)
  local version = options and options.version or M.FETCH
  local topics
  if partitions then
    topics = {}
    for _, topic in ipairs(sorted(partitions)) do
      topics[#topics + 1] = { name = topic, partition_indexes = partitions[topic] }
    end
  elseif version >= 2 then
    topics = wire.NULL
  end
  local body = version >= 8 and { groups = { { group_id = name, topics = topics } } } or { group_id = name, topics = topics }
  if version >= 7 then body.require_stable = options and options.require_stable or false end
  local group
  clients.wait_until(("the offsets of %s are loaded"):format(name), function()
    local answer, why = client:ask("OffsetFetch", version, body)
    if not answer then error("OffsetFetch was not answered: " .. why, 0) end
    group = version >= 8 and answer.groups[1] or answer
    return group.error_code ~= M.CODE.COORDINATOR_LOAD_IN_PROGRESS and group.error_code ~= M.CODE.NOT_COORDINATOR
  end)
  if (group.error_code or 0) ~= 0 then error(("OffsetFetch of %s gave %d"):format(name, group.error_code), 2) end
  local out = {}
  for _, topic in ipairs(group.topics) do
    out[topic.name] = {}
    for _, part in ipairs(topic.partitions) do
      out[topic.name][part.partition_index] = { offset = part.committed_offset, metadata = part.metadata, code = part.error_code }
    end
  end
  return out
end

--- What DescribeGroups says of a group.
function M.describe(client, name) return client:ask("DescribeGroups", 5, { groups = { name } }).groups[1] end

--- Deletes a group; the error code.
function M.delete(client, name) return client:ask("DeleteGroups", 2, { groups_names = { name } }).results[1].error_code end

---@class spec.Member
---@field client spec.Client  its connection
---@field name string  of the group
---@field id string  member id, "" before it has one
---@field instance string?  name of a static member
---@field generation integer
---@field is_leader boolean
---@field members string[]  ids of all members, in the leader
local Member = {}
Member.__index = Member

--- A member that has not joined, with a connection of its own.
---
---@param broker spec.Broker
---@param name string  of the group
---@param options { topics: string[]?, instance: string?, session_ms: integer?, rebalance_ms: integer?, protocols: string[]? }?
---@return spec.Member
function M.member(broker, name, options)
  options = options or {}
  return setmetatable({ client = broker:connect(), name = name, id = "", instance = options.instance, generation = -1,
    topics = options.topics or {}, session_ms = options.session_ms or 30000, rebalance_ms = options.rebalance_ms or 60000,
    protocols = options.protocols or { "range" }, members = {} }, Member)
end

--- Sends JoinGroup without waiting; its correlation id.
---
---@param version integer?
function Member:send_join(version)
  version = version or M.JOIN
  local protocols = {}
  for i, protocol in ipairs(self.protocols) do
    protocols[i] = { name = protocol, metadata = M.subscription(self.topics) }
  end
  local body = { group_id = self.name, session_timeout_ms = self.session_ms, member_id = self.id, protocol_type = "consumer",
    protocols = protocols }
  if version >= 1 then body.rebalance_timeout_ms = self.rebalance_ms end
  if version >= 5 then body.group_instance_id = self.instance or wire.NULL end
  return self.client:request("JoinGroup", version, body)
end

--- Waits for the answer of a JoinGroup and remembers what it says; nil and "timeout" or "closed".
function Member:take_join(version, id, timeout_ms)
  local answer, why = self.client:answer("JoinGroup", version or M.JOIN, id, timeout_ms)
  if not answer then return nil, why end
  if answer.error_code == M.CODE.MEMBER_ID_REQUIRED or answer.error_code == 0 then self.id = answer.member_id end
  if answer.error_code == 0 then
    self.generation, self.is_leader, self.members = answer.generation_id, answer.leader == answer.member_id, {}
    for i, member in ipairs(answer.members) do self.members[i] = member.member_id end
  end
  return answer
end

--- Joins, in two steps where the broker wants that; the last answer.
function Member:join(version)
  local answer = assert(self:take_join(version, self:send_join(version)))
  if answer.error_code == M.CODE.MEMBER_ID_REQUIRED then
    answer = assert(self:take_join(version, self:send_join(version)))
  end
  return answer
end

--- Sends SyncGroup without waiting; its correlation id.
---
---@param assignments table<string, table<string, integer[]>>?  from the leader: by member id and topic
function Member:send_sync(assignments)
  local list = {}
  for id, partitions in pairs(assignments or {}) do
    list[#list + 1] = { member_id = id, assignment = M.assignment(partitions) }
  end
  return self.client:request("SyncGroup", M.SYNC, { group_id = self.name, generation_id = self.generation,
    member_id = self.id, group_instance_id = self.instance or wire.NULL, protocol_type = "consumer",
    protocol_name = self.protocols[1], assignments = list })
end

--- Sends SyncGroup and waits; the answer.
function Member:sync(assignments)
  return assert(self.client:answer("SyncGroup", M.SYNC, self:send_sync(assignments)))
end

--- Sends a heartbeat; the error code.
function Member:heartbeat()
  return assert(self.client:ask("Heartbeat", M.HEARTBEAT, { group_id = self.name, generation_id = self.generation,
    member_id = self.id, group_instance_id = self.instance or wire.NULL })).error_code
end

--- Leaves; the error code.
function Member:leave()
  local answer = assert(self.client:ask("LeaveGroup", M.LEAVE, { group_id = self.name, members = { { member_id = self.id,
    group_instance_id = self.instance or wire.NULL } } }))
  return answer.error_code ~= 0 and answer.error_code or answer.members[1].error_code
end

--- Commits as this member; the error codes by topic and partition.
function Member:commit(offsets, version)
  return M.commit(self.client, self.name, offsets, { version = version, generation = self.generation, member = self.id,
    instance = self.instance })
end

function Member:close() self.client:close() end

return M
