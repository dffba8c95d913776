-- SPDX-License-Identifier: Apache-2.0
-- Heartbeats of the consumer protocol; answers, epochs and texts as Apache Kafka 4.4.0 gave them.
local consumer = require "spec.support.consumer_group"
local shard = require "spec.support.shard"

local NO_ERROR, UNKNOWN_MEMBER_ID, INVALID_REQUEST, GROUP_ID_NOT_FOUND = 0, 25, 42, 69
local GROUP_MAX_SIZE_REACHED, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH = 81, 82, 110
local UNRELEASED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR = 111, 112
local INTERVAL_MS, SESSION_MS = 1000, 45000
local beat, join, describe_group = consumer.beat, consumer.join, consumer.describe

describe("a heartbeat that joins", function()
  local s
  before_each(function() s = shard.new { topics = { t = 4 } } end)
  after_each(function() s:close() end)

  it("makes the group, at epoch 2, and gives the member all partitions", function()
    local answer = join(s, "g", "m1", { "t" })
    assert.equal(NO_ERROR, answer.errorCode)
    assert.equal(2, answer.memberEpoch)
    assert.equal("t:0,1,2,3", answer.parts)
    assert.equal(5000, answer.heartbeatIntervalMs)
    assert.equal("m1", answer.memberId)
  end)

  it("is answered when what it makes is on the log, and not before", function()
    s.is_held = true
    local call = consumer.send(s, "g", "m1", 0, { rebalanceTimeoutMs = 5000, subscribedTopicNames = { "t" }, owned = "" })
    assert.is_nil(call.response)
    s:settle(1)
    assert.equal(2, call.response.memberEpoch)
  end)

  it("leaves nothing behind when it cannot be written", function()
    s.is_held = true
    local call = consumer.send(s, "g", "m1", 0, { rebalanceTimeoutMs = 5000, subscribedTopicNames = { "t" }, owned = "" })
    s:settle(1, 16)
    assert.equal(16, call.response.errorCode)
    assert.is_nil(call.response.memberId)
    assert.same({}, s:groups())
  end)

  it("is taken again from a member that is there", function()
    join(s, "g", "m1", { "t" })
    local answer = join(s, "g", "m1", { "t" })
    assert.equal(2, answer.memberEpoch)
    assert.equal("t:0,1,2,3", answer.parts)
  end)

  it("of a topic that is not there gives nothing", function()
    local answer = join(s, "g", "m1", { "nope" })
    assert.equal(2, answer.memberEpoch)
    assert.equal("", answer.parts)
  end)

  it("of version 0 without a member id gets one", function()
    local answer = join(s, "g", "", { "t" }, { version = 0 })
    assert.equal(NO_ERROR, answer.errorCode)
    assert.equal(36, #answer.memberId)
  end)

  it("is refused beyond the size of the group", function()
    s:close()
    s = shard.new { topics = { t = 4 }, config = { group_consumer_max_size = 1 } }
    join(s, "g", "m1", { "t" })
    local answer = join(s, "g", "m2", { "t" })
    assert.equal(GROUP_MAX_SIZE_REACHED, answer.errorCode)
    assert.equal("The consumer group has reached its maximum capacity of 1 members.", answer.errorMessage)
  end)

  it("is refused with Kafka's words when something is missing", function()
    for _, case in ipairs {
      { "MemberId can't be empty.", { memberId = "" } },
      { "InstanceId can't be empty.", { instanceId = "", rackId = "" } },
      { "RackId can't be empty.", { rackId = "" } },
      { "RebalanceTimeoutMs must be provided in first request.", { rebalanceTimeoutMs = -1 } },
      { "TopicPartitions must be empty when (re-)joining.", { owned = "t:0" } },
      { "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        { subscribedTopicNames = consumer.NULL } },
    } do
      local answer = join(s, "g", "m1", { "t" }, case[2])
      assert.equal(INVALID_REQUEST, answer.errorCode)
      assert.equal(case[1], answer.errorMessage)
    end
    local answer = join(s, "g", "m1", { "t" }, { serverAssignor = "nonsense" })
    assert.equal(UNSUPPORTED_ASSIGNOR, answer.errorCode)
    assert.equal("ServerAssignor nonsense is not supported. Supported assignors: uniform, range.", answer.errorMessage)
    assert.same({}, s:groups())
  end)
end)

describe("a heartbeat of a member", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    join(s, "g", "m1", { "t" })
  end)
  after_each(function() s:close() end)

  it("hears nothing new while nothing changes, and writes nothing", function()
    local before = #s.log
    local answer = beat(s, "g", "m1", 2)
    assert.equal(2, answer.memberEpoch)
    assert.is_nil(answer.parts)
    assert.equal(before, #s.log)
  end)

  it("hears its assignment when it says all there is to say", function()
    local answer = beat(s, "g", "m1", 2, { rebalanceTimeoutMs = 5000, subscribedTopicNames = { "t" }, owned = "t:0,1,2,3" })
    assert.equal("t:0,1,2,3", answer.parts)
  end)

  it("is fenced with another epoch", function()
    local answer = beat(s, "g", "m1", 1, { owned = "" })
    assert.equal(FENCED_MEMBER_EPOCH, answer.errorCode)
    assert.equal("The consumer group member has a smaller member epoch (1) than the one known by the group coordinator "
      .. "(2). The member must abandon all its partitions and rejoin.", answer.errorMessage)
    answer = beat(s, "g", "m1", 3)
    assert.equal("The consumer group member has a greater member epoch (3) than the one known by the group coordinator "
      .. "(2). The member must abandon all its partitions and rejoin.", answer.errorMessage)
  end)

  it("is unknown when it is no member, or there is no group", function()
    assert.equal("Member nobody is not a member of group g.", beat(s, "g", "nobody", 2).errorMessage)
    local answer = beat(s, "x", "m1", 5)
    assert.equal(GROUP_ID_NOT_FOUND, answer.errorCode)
    assert.equal("Consumer group x not found.", answer.errorMessage)
    answer = beat(s, "x", "m1", 5, { version = 0 })
    assert.equal(UNKNOWN_MEMBER_ID, answer.errorCode)
    assert.equal("Member m1 is not a member of group x.", answer.errorMessage)
    assert.equal("MemberEpoch is invalid.", beat(s, "g", "m1", -3).errorMessage)
  end)

  it("may show its previous epoch when the answer was lost and it has nothing that it should not", function()
    join(s, "g", "m2", { "t" })
    s:advance(INTERVAL_MS)
    assert.equal("t:0,1", beat(s, "g", "m1", 2).parts)
    assert.equal(3, beat(s, "g", "m1", 2, { owned = "t:0,1" }).memberEpoch)
    local answer = beat(s, "g", "m1", 2, { owned = "t:0" })
    assert.equal(NO_ERROR, answer.errorCode)
    assert.equal(3, answer.memberEpoch)
    assert.equal(FENCED_MEMBER_EPOCH, beat(s, "g", "m1", 2, { owned = "t:0,3" }).errorCode)
    assert.equal(FENCED_MEMBER_EPOCH, beat(s, "g", "m1", 2).errorCode)
  end)

  it("makes the group rebalance with another subscription, and loses at once what it no longer wants", function()
    local answer = beat(s, "g", "m1", 2, { subscribedTopicNames = { "nope" }, owned = "" })
    assert.equal("", answer.parts)
    assert.equal(3, describe_group(s, "g").groupEpoch)
  end)

  it("makes the group rebalance when another assignor is in the majority", function()
    beat(s, "g", "m1", 2, { serverAssignor = "uniform" })
    assert.equal(2, describe_group(s, "g").groupEpoch)
    beat(s, "g", "m1", 2, { serverAssignor = "range" })
    assert.equal(3, describe_group(s, "g").groupEpoch)
    assert.equal("range", describe_group(s, "g").assignorName)
    assert.equal("Assigning", describe_group(s, "g").groupState)
  end)

  it("is thrown out when it is silent for the session timeout", function()
    s:advance(SESSION_MS - 1)
    assert.equal(NO_ERROR, beat(s, "g", "m1", 2).errorCode)
    s:advance(SESSION_MS - 1)
    assert.equal(1, #describe_group(s, "g").members)
    s:advance(1)
    local group = describe_group(s, "g")
    assert.same({ "Empty", 3, 3, 0 }, { group.groupState, group.groupEpoch, group.assignmentEpoch, #group.members })
  end)

  it("keeps its session when it cannot be thrown out, for a write failed", function()
    s.is_held = true
    s:advance(SESSION_MS)
    s:settle(1, 16)
    assert.equal(NO_ERROR, consumer.send(s, "g", "m1", 2).response.errorCode)
  end)
end)

describe("members of a consumer group", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    join(s, "g", "m1", { "t" })
  end)
  after_each(function() s:close() end)

  it("give up partitions before others get them", function()
    assert.equal("", join(s, "g", "m2", { "t" }).parts)
    assert.is_nil(beat(s, "g", "m1", 2).parts) -- the interval between two assignments is not over
    s:advance(INTERVAL_MS)
    local answer = beat(s, "g", "m1", 2)
    assert.equal("t:0,1", answer.parts)
    assert.equal(2, answer.memberEpoch)
    answer = beat(s, "g", "m2", 2)
    assert.equal(3, answer.memberEpoch)
    assert.is_nil(answer.parts)
    assert.equal("Reconciling", describe_group(s, "g").groupState)
    assert.is_nil(beat(s, "g", "m1", 2, { owned = "t:0,1,2,3" }).parts)
    assert.is_nil(beat(s, "g", "m2", 3).parts)
    assert.equal(3, beat(s, "g", "m1", 2, { owned = "t:0,1" }).memberEpoch)
    assert.equal("t:2,3", beat(s, "g", "m2", 3).parts)
    assert.equal("Stable", describe_group(s, "g").groupState)
  end)

  it("get what one that leaves had", function()
    join(s, "g", "m2", { "t" })
    s:advance(INTERVAL_MS)
    local answer = beat(s, "g", "m1", -1)
    assert.same({ -1, 0 }, { answer.memberEpoch, answer.heartbeatIntervalMs })
    assert.equal(UNKNOWN_MEMBER_ID, beat(s, "g", "m1", -1).errorCode)
    assert.equal("t:0,1,2,3", beat(s, "g", "m2", 2).parts)
  end)

  it("are thrown out when they do not give up in their time", function()
    join(s, "g", "m2", { "t" })
    s:advance(INTERVAL_MS)
    beat(s, "g", "m1", 2)
    s:advance(4999)
    beat(s, "g", "m1", 2)
    assert.equal(2, #describe_group(s, "g").members)
    s:advance(1)
    assert.equal(1, #describe_group(s, "g").members)
  end)

  it("learn of partitions that were added and of topics that are new or gone", function()
    s:topic("t", 6)
    s:advance(INTERVAL_MS)
    s:topics_changed()
    assert.equal("t:0,1,2,3,4,5", beat(s, "g", "m1", 2).parts)
    s:topic("t", 0)
    s:topics_changed()
    s:advance(INTERVAL_MS)
    assert.equal("", beat(s, "g", "m1", 3).parts)
  end)

  it("do not rebalance for topics of others", function()
    s:topic("other", 6)
    s:topics_changed()
    beat(s, "g", "m1", 2)
    assert.equal(2, describe_group(s, "g").groupEpoch)
  end)

  it("are the same when the log is read again", function()
    join(s, "g", "m2", { "t" }, { instanceId = "i", rackId = "r", serverAssignor = "range" })
    s:advance(INTERVAL_MS)
    beat(s, "g", "m1", 2)
    local other = s:reloaded()
    assert.equal(s:dump_all(), other:dump_all())
    -- And their time goes on there.
    other:advance(5000)
    assert.equal(1, #describe_group(other, "g").members)
    other:close()
  end)

  it("leave a group that can be deleted, of which nothing is left", function()
    assert.equal(68, s:call("DeleteGroups", 2, "g").response.errorCode)
    beat(s, "g", "m1", -1)
    assert.equal("Empty", describe_group(s, "g").groupState)
    assert.equal(0, s:call("DeleteGroups", 2, "g").response.errorCode)
    assert.same({}, s:groups())
    local other = s:reloaded()
    assert.same({}, other:groups())
    other:close()
    local group = describe_group(s, "g")
    assert.same({ GROUP_ID_NOT_FOUND, "Group g not found." }, { group.errorCode, group.errorMessage })
  end)
end)

describe("a static member", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4, u = 1 } }
    join(s, "g", "a", { "t" }, { instanceId = "i" })
  end)
  after_each(function() s:close() end)

  it("cannot be joined by another, or itself, until it has left", function()
    for _, id in ipairs { "a", "b" } do
      local answer = join(s, "g", id, { "t" }, { instanceId = "i" })
      assert.equal(UNRELEASED_INSTANCE_ID, answer.errorCode)
      assert.equal("Static member " .. id .. " with instance id i cannot join the group because the instance id is owned "
        .. "by a member.", answer.errorMessage)
    end
  end)

  it("is fenced under another member id, and unknown under another name", function()
    for _, epoch in ipairs { 2, -1, -2 } do
      local answer = beat(s, "g", "b", epoch, { instanceId = "i" })
      assert.equal(FENCED_INSTANCE_ID, answer.errorCode)
      assert.equal("Static member b with instance id i was fenced by member a.", answer.errorMessage)
      assert.equal("Instance id j is unknown.", beat(s, "g", "a", epoch, { instanceId = "j" }).errorMessage)
    end
    assert.equal("InstanceId can't be null.", beat(s, "g", "a", -2).errorMessage)
  end)

  it("finds its partitions when it comes back under another id, without a rebalance", function()
    assert.equal(-2, beat(s, "g", "a", -2, { instanceId = "i" }).memberEpoch)
    local group = describe_group(s, "g")
    assert.same({ "Reconciling", -2 }, { group.groupState, group.by_id.a.memberEpoch })
    local answer = join(s, "g", "b", { "t" }, { instanceId = "i" })
    assert.same({ 2, "t:0,1,2,3" }, { answer.memberEpoch, answer.parts })
    group = describe_group(s, "g")
    assert.same({ 2, 1, "b" }, { group.groupEpoch, #group.members, group.members[1].memberId })
    local other = s:reloaded()
    assert.equal(s:dump_all(), other:dump_all())
    other:close()
  end)

  it("comes back under the same id", function()
    beat(s, "g", "a", -2, { instanceId = "i" })
    assert.equal(FENCED_MEMBER_EPOCH, beat(s, "g", "a", 2, { instanceId = "i" }).errorCode)
    assert.equal("t:0,1,2,3", join(s, "g", "a", { "t" }, { instanceId = "i" }).parts)
    assert.equal(NO_ERROR, beat(s, "g", "a", 2, { instanceId = "i" }).errorCode)
  end)

  it("rebalances the group when it comes back with another subscription", function()
    beat(s, "g", "a", -2, { instanceId = "i" })
    join(s, "g", "b", { "t", "u" }, { instanceId = "i" })
    assert.equal(3, describe_group(s, "g").groupEpoch)
    s:advance(INTERVAL_MS)
    assert.equal("t:0,1,2,3 u:0", beat(s, "g", "b", 2, { instanceId = "i" }).parts)
  end)

  it("is gone when it does not come back within its session", function()
    beat(s, "g", "a", -2, { instanceId = "i" })
    s:advance(SESSION_MS)
    assert.equal("Empty", describe_group(s, "g").groupState)
  end)
end)
