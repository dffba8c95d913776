-- SPDX-License-Identifier: Apache-2.0
-- Groups that change their kind: classic members in consumer groups, up and down (KIP-848).
local classic = require "spec.support.classic"
local consumer = require "spec.support.consumer_group"
local shard = require "spec.support.shard"

local E = classic.errors
local INTERVAL_MS = 1000

--- An assignment in version 0 of ConsumerProtocolAssignment: topic "t".
local function assignment(...)
  local parts = { "\0\0\0\0\0\1\0\1t\0\0\0", string.char(select("#", ...)) }
  for _, partition in ipairs { ... } do parts[#parts + 1] = "\0\0\0" .. string.char(partition) end
  parts[#parts + 1] = "\255\255\255\255"
  return table.concat(parts)
end

--- A subscription in version 1, which says what is owned.
local function subscription(...)
  local owned = select("#", ...)
  local parts = { "\0\1\0\0\0\1\0\1t\255\255\255\255" }
  if owned == 0 then
    parts[2] = "\0\0\0\0"
  else
    parts[2] = "\0\0\0\1\0\1t\0\0\0" .. string.char(owned)
    for _, partition in ipairs { ... } do parts[#parts + 1] = "\0\0\0" .. string.char(partition) end
  end
  return table.concat(parts)
end

--- The partitions of "t" in the bytes of a SyncGroup answer, as text.
local function partitions(bytes)
  if #bytes < 8 or bytes:byte(6) == 0 then return "" end
  local at = 2 + 4 + 3
  local count, out = bytes:byte(at + 4), {}
  for i = 1, count do out[i] = bytes:byte(at + 4 + i * 4) end
  return table.concat(out, ",")
end

local function join(s, member, ...)
  local response = classic.join(s, { member = member, metadata = subscription(...) }).response
  return response
end

local function sync(s, member, generation)
  local response = classic.sync(s, member, generation).response
  response.parts = partitions(response.assignment or "")
  return response
end

local heartbeat = classic.heartbeat

--- A classic group with one member that has all of "t", at generation 1.
local function classic_group(s)
  local call = classic.join_new(s, { metadata = subscription() })
  s:advance(0)
  local id = call.response.memberId
  classic.sync(s, id, 1, { [id] = assignment(0, 1, 2, 3) })
  return id
end

describe("a consumer group that nobody is in", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    consumer.join(s, "g", "new", { "t" })
    consumer.beat(s, "g", "new", -1)
  end)
  after_each(function() s:close() end)

  it("becomes a classic group with the first member that speaks that protocol, whatever its type", function()
    local call = classic.join_new(s, { kind = "connect" })
    s:advance(0)
    assert.equal(E.NONE, call.response.errorCode)
    assert.equal(call.response.memberId, call.response.leader)
    assert.equal("classic", s:call("ListGroups", 5, nil, {}).response.groups[1].groupType)
    local other = s:reloaded()
    assert.is_nil(other:dump("g"):find("consumer epoch", 1, true))
    other:close()
  end)

  it("stays what it is when that cannot be written", function()
    s.is_held = true
    local call = classic.join(s, {})
    s:settle(1, 16)
    assert.equal(16, call.response.errorCode)
    assert.equal("Empty", consumer.describe(s, "g").groupState)
  end)
end)

describe("a classic group that a member of the new protocol joins", function()
  local s, old
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    old = classic_group(s)
  end)
  after_each(function() s:close() end)

  it("becomes a consumer group, in which the classic member keeps what it has until it joins again", function()
    local answer = consumer.join(s, "g", "new", { "t" })
    assert.same({ 0, "" }, { answer.errorCode, answer.parts })
    local group = consumer.describe(s, "g")
    assert.same({ 0, 1 }, { group.by_id[old].memberType, group.by_id.new.memberType })
    assert.equal(E.REBALANCE_IN_PROGRESS, heartbeat(s, old, 1))
    -- It joins, is asked to give up half, joins without that half, and the other gets it.
    local joined = join(s, old, 0, 1, 2, 3)
    assert.equal(E.NONE, joined.errorCode)
    local synced = sync(s, old, joined.generationId)
    assert.same({ E.NONE, "0,1" }, { synced.errorCode, synced.parts })
    assert.equal(E.REBALANCE_IN_PROGRESS, heartbeat(s, old, joined.generationId))
    joined = join(s, old, 0, 1)
    assert.equal("0,1", sync(s, old, joined.generationId).parts)
    assert.equal(E.NONE, heartbeat(s, old, joined.generationId))
    assert.equal("t:2,3", consumer.beat(s, "g", "new", answer.memberEpoch).parts)
    assert.equal("Stable", consumer.describe(s, "g").groupState)
  end)

  it("goes on from its generation, also when there is no topic that anybody wants", function()
    s:topic("t", 0)
    classic.join(s, { member = old, metadata = subscription() })
    s:advance(0)
    classic.sync(s, old, 2, { [old] = assignment() })
    assert.equal(2, consumer.join(s, "g", "idle", {}).memberEpoch)
    local group = consumer.describe(s, "g")
    assert.same({ 2, 2 }, { group.groupEpoch, group.assignmentEpoch })
    assert.equal(E.NONE, heartbeat(s, old, 2))
    consumer.join(s, "g", "new", { "t" })
    assert.equal(E.REBALANCE_IN_PROGRESS, heartbeat(s, old, 2))
  end)

  it("gives an eager member its new part with one join", function()
    consumer.join(s, "g", "new", { "t" })
    local joined = join(s, old)
    assert.equal("0,1", sync(s, old, joined.generationId).parts)
  end)

  it("is the same after a reload", function()
    consumer.join(s, "g", "new", { "t" })
    local other = s:reloaded()
    assert.equal(s:dump_all(), other:dump_all())
    other:close()
  end)

  it("stays classic when that cannot be written, and rebalances", function()
    s.is_held = true
    local call = consumer.send(s, "g", "new", 0, { rebalanceTimeoutMs = 5000, subscribedTopicNames = { "t" }, owned = "" })
    s:settle(1, 16)
    assert.equal(16, call.response.errorCode)
    assert.equal("PreparingRebalance", classic.state(s))
    assert.equal(E.REBALANCE_IN_PROGRESS, heartbeat(s, old, 1))
  end)

  it("stays classic where the policy says so, or its bytes cannot be read", function()
    s:close()
    s = shard.new { topics = { t = 4 }, config = { is_upgrade_allowed = false } }
    classic_group(s)
    local answer = consumer.join(s, "g", "new", { "t" })
    assert.same({ E.GROUP_ID_NOT_FOUND, "Group g is not a consumer group." }, { answer.errorCode, answer.errorMessage })
    s:close()
    s = shard.new { topics = { t = 4 } }
    classic.join_new(s, { protocols = { { "own", "\1" } } })
    s:advance(0)
    assert.equal(E.GROUP_ID_NOT_FOUND, consumer.join(s, "g", "new", { "t" }).errorCode)
  end)

  it("becomes classic again when the last member of the new protocol leaves, and rebalances", function()
    consumer.join(s, "g", "new", { "t" })
    consumer.beat(s, "g", "new", -1)
    assert.equal("PreparingRebalance", classic.state(s))
    local call = classic.join(s, { member = old, metadata = subscription() })
    s:advance(0)
    assert.equal(E.NONE, call.response.errorCode)
    assert.equal(old, call.response.leader)
  end)

  it("gives nobody what a member was asked to give up, when it is classic in between", function()
    consumer.join(s, "g", "new", { "t" })
    join(s, old, 0, 1, 2, 3) -- it is to give up half, and has not heard of that
    consumer.beat(s, "g", "new", -1)
    assert.equal("PreparingRebalance", classic.state(s))
    local answer = consumer.join(s, "g", "next", { "t" })
    assert.same({ E.NONE, "" }, { answer.errorCode, answer.parts })
    local joined = join(s, old, 0, 1)
    assert.equal("0,1", sync(s, old, joined.generationId).parts)
    assert.equal("t:2,3", consumer.beat(s, "g", "next", answer.memberEpoch).parts)
  end)

  it("becomes classic again when the last member of the new protocol is silent", function()
    consumer.join(s, "g", "new", { "t" })
    for _ = 1, 10 do
      s:advance(5000)
      local joined = join(s, old)
      if joined then sync(s, old, joined.generationId) end
    end
    assert.equal("classic", s:call("ListGroups", 5, nil, {}).response.groups[1].groupType)
  end)

  it("throws out a classic member that does not join again in its time", function()
    local answer = consumer.join(s, "g", "new", { "t" })
    for _ = 1, 13 do
      s:advance(5000)
      heartbeat(s, old, 1)
      consumer.beat(s, "g", "new", answer.memberEpoch)
    end
    assert.equal(1, #consumer.describe(s, "g").members)
  end)
end)

describe("a classic member that comes to a consumer group", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    consumer.join(s, "g", "new", { "t" })
  end)
  after_each(function() s:close() end)

  it("gets an id first, joins at once, and its part when it is free", function()
    local first = classic.join(s, { metadata = subscription() }).response
    assert.equal(E.MEMBER_ID_REQUIRED, first.errorCode)
    s:advance(INTERVAL_MS)
    local joined = join(s, first.memberId)
    assert.same({ E.NONE, "consumer", "range", "" },
      { joined.errorCode, joined.protocolType, joined.protocolName, joined.leader })
    assert.equal("", sync(s, first.memberId, joined.generationId).parts)
    assert.equal(E.NONE, heartbeat(s, first.memberId, joined.generationId))
    assert.equal("t:0,1", consumer.beat(s, "g", "new", 2).parts)
    consumer.beat(s, "g", "new", 2, { owned = "t:0,1" })
    assert.equal(E.REBALANCE_IN_PROGRESS, heartbeat(s, first.memberId, joined.generationId))
    joined = join(s, first.memberId)
    assert.equal("2,3", sync(s, first.memberId, joined.generationId).parts)
  end)

  it("is refused with another protocol type, unreadable bytes, or as a member of the other protocol", function()
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, classic.join(s, { kind = "connect" }).response.errorCode)
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL,
      classic.join(s, { member = "m", protocols = { { "range", "\1" } } }).response.errorCode)
    assert.equal(E.UNKNOWN_MEMBER_ID, heartbeat(s, "new", 2))
    assert.equal(E.UNKNOWN_MEMBER_ID, sync(s, "new", 2).errorCode)
    assert.equal(E.UNKNOWN_MEMBER_ID, sync(s, "nobody", 2).errorCode)
  end)

  it("is fenced by its generation, and may leave", function()
    local joined = join(s, "m")
    assert.equal(E.ILLEGAL_GENERATION, heartbeat(s, "m", joined.generationId + 1))
    assert.equal(E.ILLEGAL_GENERATION, sync(s, "m", joined.generationId + 1).errorCode)
    local left = s:call("LeaveGroup", 4, "g", { groupId = "g", members = { { memberId = "m" }, { memberId = "x" } } })
    assert.same({ E.NONE, E.UNKNOWN_MEMBER_ID },
      { left.response.members[1].errorCode, left.response.members[2].errorCode })
    assert.equal(1, #consumer.describe(s, "g").members)
  end)

  it("commits by its generation", function()
    local joined = join(s, "m")
    local body = { groupId = "g", memberId = "m", generationIdOrMemberEpoch = joined.generationId + 1,
      topics = { { name = "t", partitions = { { partitionIndex = 0, committedOffset = 5 } } } } }
    assert.equal(E.ILLEGAL_GENERATION,
      s:call("OffsetCommit", 8, "g", body).response.topics[1].partitions[1].errorCode)
    body.generationIdOrMemberEpoch = joined.generationId
    assert.equal(E.NONE, s:call("OffsetCommit", 8, "g", body).response.topics[1].partitions[1].errorCode)
  end)
end)
