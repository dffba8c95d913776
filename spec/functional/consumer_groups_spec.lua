-- SPDX-License-Identifier: Apache-2.0
-- Groups of the consumer protocol (KIP-848) with a real broker: raw heartbeats on connections of their own, commits with
-- a member epoch, what other requests say of such groups, classic members beside them, and a restart in the middle.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local groups = require "spec.support.group"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local NONE, LOADING, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 0, 14, 23, 25, 27
local INVALID_REQUEST, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, FENCED_MEMBER_EPOCH = 42, 68, 69, 110
local FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR = 82, 111, 112
local STALE_MEMBER_EPOCH, INVALID_REGULAR_EXPRESSION = 113, 128

local SETTINGS = { "workers=2", "offsets_topic_num_partitions=5", "group_consumer_min_session_timeout_ms=1000",
  "group_consumer_session_timeout_ms=30000", "group_consumer_min_heartbeat_interval_ms=100",
  "group_consumer_heartbeat_interval_ms=200", "group_consumer_assignment_interval_ms=0" }

local broker, client
local topics = {} -- name by id
local count = 0

local function fresh(what)
  count = count + 1
  return (what or "g") .. count
end

local function start(options)
  options = options or {}
  options.set = SETTINGS
  broker = brokers.start(options)
  client = broker:connect()
  groups.prepare(client)
end

local function create(name, partitions)
  local topic = requests.create(client, name, { partitions = partitions })
  topics[topic.id] = name
  return topic
end

--- An assignment as sorted text, "t:0,1 u:0"; nil for none.
local function text(assignment)
  if not assignment then return nil end
  local parts = {}
  for i, topic in ipairs(assignment.topic_partitions) do
    local numbers = {}
    for j, number in ipairs(topic.partitions) do numbers[j] = number end
    table.sort(numbers)
    parts[i] = topics[topic.topic_id] .. ":" .. table.concat(numbers, ",")
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

local Member = {}
Member.__index = Member

local function member(group, id, more)
  local self = setmetatable({ client = broker:connect(), group = group, id = id or group .. "-" .. fresh "m", epoch = 0,
    version = 1, list = {} }, Member)
  for key, value in pairs(more or {}) do self[key] = value end
  return self
end

--- A heartbeat; the answer, of which it takes over id, epoch and assignment.
function Member:beat(more)
  local body = { group_id = self.group, member_id = self.id, member_epoch = self.epoch, instance_id = self.instance }
  for key, value in pairs(more or {}) do body[key] = value end
  local answer
  clients.wait_until("the group is loaded", function()
    answer = assert(self.client:ask("ConsumerGroupHeartbeat", self.version, body))
    return answer.error_code ~= LOADING
  end)
  if answer.error_code == NONE then
    self.id, self.epoch = answer.member_id, answer.member_epoch
    if answer.assignment then
      self.list, self.parts = answer.assignment.topic_partitions, text(answer.assignment)
    end
  end
  return answer
end

function Member:join(more)
  local body = { member_epoch = 0, rebalance_timeout_ms = 30000, subscribed_topic_names = self.topics or {},
    topic_partitions = {} }
  for key, value in pairs(more or {}) do body[key] = value end
  return self:beat(body)
end

--- Says that it has what it was told to have.
function Member:acknowledge() return self:beat { topic_partitions = self.list } end

--- Beats until it has what it is to have.
function Member:beat_until(parts)
  clients.wait_until(self.id .. " has " .. parts, function()
    assert.equal(NONE, self:acknowledge().error_code)
    return self.parts == parts
  end)
end

function Member:leave(epoch)
  local answer = self.client:ask("ConsumerGroupHeartbeat", self.version, { group_id = self.group, member_id = self.id,
    member_epoch = epoch or -1, instance_id = self.instance })
  return answer.error_code, answer.member_epoch
end

function Member:commit(topic, offset, epoch)
  return groups.commit(self.client, self.group, { [topic] = { [0] = offset } },
    { generation = epoch or self.epoch, member = self.id, instance = self.instance })[topic][0]
end

local function describe_group(group, version)
  return client:ask("ConsumerGroupDescribe", version or 1, { group_ids = { group } }).groups[1]
end

local function listed(group)
  for _, row in ipairs(client:ask("ListGroups", 5, {}).groups) do
    if row.group_id == group then return row.protocol_type, row.group_state, row.group_type end
  end
end

describe("a consumer group", function()
  setup(start)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for version = 0, 1 do
    it(("is joined, kept and left with version %d of the heartbeat"):format(version), function()
      local topic, group = create(fresh "t", 3), fresh()
      local a = member(group, version == 0 and "" or nil, { version = version, topics = { topic.name } })
      local answer = a:join()
      assert.same({ NONE, 2, 200, topic.name .. ":0,1,2" },
        { answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, a.parts })
      assert.is_true(#a.id > 0)
      answer = a:acknowledge()
      assert.same({ NONE, 2 }, { answer.error_code, answer.member_epoch })
      answer = a:beat()
      assert.same({ NONE, 2 }, { answer.error_code, answer.member_epoch })
      assert.is_nil(answer.assignment)
      assert.same({ NONE, -1 }, { a:leave() })
      assert.equal(UNKNOWN_MEMBER_ID, a:beat().error_code)
      assert.equal("Empty", describe_group(group).group_state)
    end)
  end

  it("takes partitions from one member, and gives them to another when they are given up", function()
    local topic, group = create(fresh "t", 4), fresh()
    local a, b = member(group, "a", { topics = { topic.name } }), member(group, "b", { topics = { topic.name } })
    a:join()
    assert.equal(topic.name .. ":0,1,2,3", a.parts)
    b:join()
    assert.equal("", b.parts)
    local all = a.list
    assert.equal("Reconciling", describe_group(group).group_state)
    a:beat()
    local half = a.parts
    assert.equal(2, #a.list[1].partitions)
    -- it still has them all: the other has to wait
    a.list = all
    a:acknowledge()
    assert.equal("", (b:beat() and b.parts))
    a.list = { { topic_id = topic.id, partitions = {} } }
    for number in half:match(":(.*)"):gmatch "%d+" do table.insert(a.list[1].partitions, tonumber(number)) end
    a:acknowledge()
    b:beat()
    assert.equal(2, #b.list[1].partitions)
    assert.are_not.equal(half, b.parts)
    assert.same({ 3, 3 }, { a.epoch, b.epoch })
    assert.equal("Stable", describe_group(group).group_state)
    assert.equal(NONE, (b:leave()))
    a:beat_until(topic.name .. ":0,1,2,3")
  end)

  it("keeps the partitions of a static member that leaves for a while", function()
    local topic, group = create(fresh "t", 2), fresh()
    local a = member(group, "a1", { topics = { topic.name }, instance = "a" })
    local b = member(group, "b1", { topics = { topic.name }, instance = "b" })
    a:join()
    b:join()
    clients.wait_until("each has one", function()
      a:acknowledge()
      b:acknowledge()
      return #a.list == 1 and #a.list[1].partitions == 1 and #b.list == 1 and #b.list[1].partitions == 1
    end)
    local intruder = member(group, "a2", { topics = { topic.name }, instance = "a" })
    assert.equal(UNRELEASED_INSTANCE_ID, intruder:join().error_code)
    assert.same({ NONE, -2 }, { a:leave(-2) })
    local epoch = describe_group(group).group_epoch
    assert.equal(NONE, intruder:join().error_code)
    assert.equal(a.parts, intruder.parts)
    assert.equal(epoch, describe_group(group).group_epoch)
    assert.equal(FENCED_INSTANCE_ID, a:beat().error_code)
  end)

  it("tells members what is wrong with what they say", function()
    local topic, group = create(fresh "t", 1), fresh()
    local a = member(group, "a", { topics = { topic.name } })
    assert.equal(GROUP_ID_NOT_FOUND, a:beat({ member_epoch = 5 }).error_code)
    assert.equal(INVALID_REQUEST, a:join({ rebalance_timeout_ms = -1 }).error_code)
    assert.equal(UNSUPPORTED_ASSIGNOR, a:join({ server_assignor = "none" }).error_code)
    assert.equal(INVALID_REGULAR_EXPRESSION, a:join({ subscribed_topic_regex = "[" }).error_code)
    assert.is_nil(listed(group))
    a:join()
    assert.equal(FENCED_MEMBER_EPOCH, a:beat({ member_epoch = a.epoch + 1 }).error_code)
    assert.equal(UNKNOWN_MEMBER_ID, a:beat({ member_id = "nobody" }).error_code)
    assert.equal(NONE, a:beat().error_code)
  end)

  it("has what an expression matches, soon after it joined", function()
    local first, group = create(fresh "logs-", 1), fresh()
    local other = create(fresh "other", 1)
    local a = member(group, "a")
    local pattern = first.name:gsub("%d+$", "") .. "[0-9]+"
    assert.equal(NONE, a:join({ subscribed_topic_names = wire.NULL, subscribed_topic_regex = pattern }).error_code)
    a:beat_until(first.name .. ":0")
    assert.is_nil(a.parts:find(other.name, 1, true))
    assert.equal(pattern, describe_group(group).members[1].subscribed_topic_regex)
  end)

  it("commits for a member at its epoch only", function()
    local topic, group = create(fresh "t", 1), fresh()
    local a = member(group, "a", { topics = { topic.name } })
    a:join()
    assert.equal(NONE, a:commit(topic.name, 7))
    assert.equal(STALE_MEMBER_EPOCH, a:commit(topic.name, 8, a.epoch + 1))
    assert.equal(7, groups.committed(client, group)[topic.name][0].offset)
    local function fetched(id, epoch)
      return client:ask("OffsetFetch", 9, { groups = { { group_id = group, member_id = id, member_epoch = epoch,
        topics = wire.NULL } } }).groups[1].error_code
    end
    assert.equal(NONE, fetched("a", a.epoch))
    assert.equal(STALE_MEMBER_EPOCH, fetched("a", a.epoch + 1))
    assert.equal(UNKNOWN_MEMBER_ID, fetched("b", a.epoch))
  end)

  it("is listed and described, and deleted when it is empty", function()
    local topic, group = create(fresh "t", 2), fresh()
    local a = member(group, "a", { topics = { topic.name } })
    a:join { rack_id = "r", server_assignor = "range" }
    assert.same({ "consumer", "Stable", "consumer" }, { listed(group) })
    for version = 0, 1 do
      local seen = describe_group(group, version)
      assert.same({ NONE, "Stable", 2, 2, "range", 1 }, { seen.error_code, seen.group_state, seen.group_epoch,
        seen.assignment_epoch, seen.assignor_name, #seen.members })
      local one = seen.members[1]
      assert.same({ "a", "r", 2, "spec", "/127.0.0.1", topic.name, topic.name .. ":0,1", topic.name .. ":0,1" },
        { one.member_id, one.rack_id, one.member_epoch, one.client_id, one.client_host, one.subscribed_topic_names[1],
          text(one.assignment), text(one.target_assignment) })
      assert.equal(topic.name, one.assignment.topic_partitions[1].topic_name)
      if version == 1 then assert.equal(1, one.member_type) end
    end
    assert.equal(GROUP_ID_NOT_FOUND, describe_group "no-such-group".error_code)
    assert.equal(NON_EMPTY_GROUP, groups.delete(client, group))
    a:leave()
    assert.equal(NONE, groups.delete(client, group))
    assert.equal(GROUP_ID_NOT_FOUND, describe_group(group).error_code)
    assert.is_nil(listed(group))
  end)

  it("throws out a member that is silent", function()
    local topic, group = create(fresh "t", 1), fresh()
    assert.equal(NONE, client:ask("IncrementalAlterConfigs", 1, { resources = { { resource_type = 32,
      resource_name = group, configs = { { name = "consumer.session.timeout.ms", config_operation = 0, value = "1000" } } } },
    }).responses[1].error_code)
    local a = member(group, "a", { topics = { topic.name } })
    a:join()
    clients.wait_until("it is empty", function() return describe_group(group).group_state == "Empty" end)
    assert.equal(UNKNOWN_MEMBER_ID, a:beat().error_code)
  end)

  it("is what a classic group becomes, and is one again when the last new member leaves", function()
    local topic, group = create(fresh "t", 2), fresh()
    local old = groups.member(broker, group, { topics = { topic.name } })
    assert.equal(NONE, old:join().error_code)
    assert.equal(NONE, old:sync({ [old.id] = { [topic.name] = { 0, 1 } } }).error_code)
    assert.equal(NONE, old:commit({ [topic.name] = { [0] = 3 } })[topic.name][0])
    local new = member(group, "new", { topics = { topic.name } })
    assert.equal(NONE, new:join().error_code)
    assert.equal("", new.parts)
    assert.equal(REBALANCE_IN_PROGRESS, old:heartbeat())
    assert.equal(NONE, old:join().error_code)
    local had = groups.read_assignment(old:sync().assignment)
    assert.equal(1, #had[topic.name])
    clients.wait_until("both have one", function()
      new:acknowledge()
      if old:heartbeat() == REBALANCE_IN_PROGRESS then
        old:join()
        old:sync()
      end
      return #new.list == 1
    end)
    assert.equal(3, groups.committed(client, group)[topic.name][0].offset)
    assert.equal(NONE, (new:leave()))
    assert.equal("classic", select(3, listed(group)))
    assert.equal(REBALANCE_IN_PROGRESS, old:heartbeat())
    assert.equal(NONE, old:join().error_code)
    assert.is_true(old.is_leader)
    assert.equal(NONE, old:sync({ [old.id] = { [topic.name] = { 0, 1 } } }).error_code)
    assert.equal(3, groups.committed(client, group)[topic.name][0].offset)
    old:close()
  end)

  it("is not joined by classic members with another protocol type", function()
    local topic, group = create(fresh "t", 1), fresh()
    local a = member(group, "a", { topics = { topic.name } })
    a:join()
    local answer = client:ask("JoinGroup", 9, { group_id = group, session_timeout_ms = 30000, rebalance_timeout_ms = 30000,
      member_id = "", protocol_type = "connect", protocols = { { name = "x", metadata = "" } } })
    assert.equal(INCONSISTENT_GROUP_PROTOCOL, answer.error_code)
  end)

  it("goes on after a restart of the broker, with members, epochs and offsets", function()
    local topic, group = create(fresh "t", 2), fresh()
    local a, b = member(group, "a", { topics = { topic.name } }), member(group, "b", { topics = { topic.name } })
    a:join()
    b:join()
    a:acknowledge() -- it is asked to give one up, and does not before the restart
    a:commit(topic.name, 5)
    local before = describe_group(group)
    local data = broker.data
    client:close()
    assert.equal(0, broker:stop())
    start { data = data }
    local after = describe_group(group)
    for _, seen in ipairs { before, after } do
      table.sort(seen.members, function(x, y) return x.member_id < y.member_id end)
    end
    assert.same(before, after)
    a.client, b.client = broker:connect(), broker:connect()
    a:acknowledge()
    a:acknowledge()
    clients.wait_until("both have one", function()
      a:acknowledge()
      b:acknowledge()
      return #b.list == 1 and #b.list[1].partitions == 1
    end)
    assert.equal("Stable", describe_group(group).group_state)
    assert.equal(5, groups.committed(client, group)[topic.name][0].offset)
    assert.equal(NONE, a:commit(topic.name, 6))
  end)
end)

describe("a consumer group with expressions, among many topics", function()
  local COUNT, BATCH = 500, 250

  setup(function()
    start()
    for first = 0, COUNT - 1, BATCH do
      local list = {}
      for i = 1, BATCH do
        list[i] = { name = ("some.application.topic-%05d"):format(first + i - 1), num_partitions = 1, replication_factor = 1 }
      end
      for _, topic in ipairs(client:ask("CreateTopics", 7, { timeout_ms = 60000, topics = list }).topics) do
        topics[topic.topic_id] = topic.name
      end
    end
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function expect(pattern)
    local parts = {}
    for i = 0, COUNT - 1 do
      local name = ("some.application.topic-%05d"):format(i)
      if name:find(pattern) then parts[#parts + 1] = name .. ":0" end
    end
    return table.concat(parts, " ")
  end

  it("gives each member what its expression matches", function()
    local group = fresh()
    local a, b = member(group, "a"), member(group, "b")
    assert.equal(NONE, a:join { subscribed_topic_regex = "some.*7" }.error_code)
    assert.equal(NONE, b:join { subscribed_topic_regex = "[a-z.]+-0*[0-9]{1,2}5" }.error_code)
    a:beat_until(expect "7$")
    b:beat_until(expect "%-00%d%d5$")
  end)
end)
