-- SPDX-License-Identifier: Apache-2.0
-- Static members of classic groups (KIP-345): one that starts again takes its own place, and the one before is fenced.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"

local E = classic.errors
local s

local function error_of(call) return call.response and call.response.errorCode end

--- A stable group of static members i1, i2 ...: their ids, and the generation.
local function stable(count)
  local calls, ids, assignments = {}, {}, {}
  for i = 1, count do calls[i] = classic.join(s, { instance = "i" .. i }) end
  s:advance(0)
  for i, call in ipairs(calls) do
    ids[i] = call.response.memberId
    assignments[ids[i]] = tostring(i)
  end
  for i = count, 1, -1 do
    classic.sync(s, ids[i], 1, i == 1 and assignments or nil, { instance = "i" .. i })
  end
  assert(classic.state(s) == "Stable")
  return ids, 1
end

local function beat(id, generation, instance) return classic.heartbeat(s, id, generation, { instance = instance }) end

describe("a static member", function()
  local ids, generation
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    ids, generation = stable(2)
  end)
  after_each(function() s:close() end)

  it("takes its place without a rebalance, and the one before is fenced", function()
    local call = classic.join(s, { instance = "i2" })
    assert.same({ E.NONE, generation }, { error_of(call), call.response.generationId })
    assert.is_not.equal(ids[2], call.response.memberId)
    assert.equal("Stable", classic.state(s))
    assert.equal(E.FENCED_INSTANCE_ID, beat(ids[2], generation, "i2"))
    assert.equal(E.FENCED_INSTANCE_ID, error_of(classic.sync(s, ids[2], generation, nil, { instance = "i2" })))
    assert.equal(E.FENCED_INSTANCE_ID, error_of(classic.join(s, { member = ids[2], instance = "i2" })))
    assert.equal(E.FENCED_INSTANCE_ID, classic.commit(s, ids[2], generation, { instance = "i2" }))
    assert.equal(E.FENCED_INSTANCE_ID, classic.leave(s, { { ids[2], "i2" } }).members[1].errorCode)
    assert.equal(E.NONE, beat(call.response.memberId, generation, "i2"))
    assert.equal("2", classic.sync(s, call.response.memberId, generation, nil, { instance = "i2" }).response.assignment)
  end)

  it("is told not to assign when it led, from version 9", function()
    local answer = classic.join(s, { instance = "i1" }).response
    assert.same({ true, answer.memberId, 2 }, { answer.skipAssignment, answer.leader, #answer.members })
  end)

  it("is not told that it leads before version 9, since it would assign", function()
    local answer = classic.join(s, { instance = "i1", version = 8 }).response
    assert.same({ ids[1], 0 }, { answer.leader, #answer.members })
  end)

  it("has all rebalance when it comes back with other topics", function()
    local call = classic.join(s, { instance = "i2", metadata = classic.subscription("t", "u") })
    assert.is_nil(error_of(call))
    assert.equal(E.REBALANCE_IN_PROGRESS, beat(ids[1], generation, "i1"))
  end)

  it("has nobody rebalance when it comes back with the same topics in another order, and other bytes behind", function()
    s:close()
    s = shard.new { topics = { t = 4 } }
    local first = classic.join(s, { instance = "i1", metadata = classic.subscription("t", "u") })
    s:advance(0)
    classic.sync(s, first.response.memberId, 1, {}, { instance = "i1" })
    local call = classic.join(s, { instance = "i1", metadata = classic.subscription("u", "t") .. "more" })
    assert.equal(1, call.response.generationId)
  end)

  it("has all rebalance when it is replaced before the assignment", function()
    classic.join(s, { member = ids[1], instance = "i1" })
    local second = classic.join(s, { member = ids[2], instance = "i2" })
    assert.equal(2, second.response.generationId)
    local sync = classic.sync(s, ids[2], 2, nil, { instance = "i2" })
    local call = classic.join(s, { instance = "i2" })
    assert.equal(E.FENCED_INSTANCE_ID, error_of(sync))
    assert.is_nil(error_of(call))
    assert.equal("PreparingRebalance", classic.state(s))
  end)

  it("is fenced while it waits in a rebalance", function()
    local waiting = classic.join(s, { member = ids[2], instance = "i2", metadata = classic.subscription "u" })
    classic.join(s, { instance = "i2" })
    assert.same({ E.FENCED_INSTANCE_ID, ids[2] }, { error_of(waiting), waiting.response.memberId })
  end)

  it("is told apart from members that are no such", function()
    assert.equal(E.UNKNOWN_MEMBER_ID, beat(ids[1], generation, "i9"))
    assert.equal(E.FENCED_INSTANCE_ID, beat("", generation, "i1"))
    assert.equal(E.NONE, beat(ids[1], generation))
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = classic.join(s).response.memberId,
      instance = "i9" })))
  end)

  it("keeps its place while it is away, until its session ends", function()
    local call = classic.join(s, { member = ids[1], instance = "i1", metadata = classic.subscription "u",
      rebalance = 4000 })
    s:advance(9999)
    assert.is_nil(error_of(call))
    s:advance(1)
    assert.same({ E.NONE, 1 }, { error_of(call), #call.response.members })
  end)

  it("can be thrown out by its instance id alone", function()
    local answer = classic.leave(s, { { "", "i2" }, { "", "i9" } })
    assert.same({ E.NONE, E.UNKNOWN_MEMBER_ID }, { answer.members[1].errorCode, answer.members[2].errorCode })
    assert.equal(E.REBALANCE_IN_PROGRESS, beat(ids[1], generation, "i1"))
  end)

  it("joins at once with an instance id that is empty", function()
    local call = classic.join(s, { group = "h", instance = "" })
    s:advance(0)
    assert.same({ E.NONE, "" }, { error_of(call), call.response.members[1].groupInstanceId })
  end)

  describe("that takes over while the log is slow", function()
    local call
    before_each(function()
      s.is_held = true
      call = classic.join(s, { instance = "i2" })
      assert.is_nil(error_of(call))
    end)

    it("is answered when it is written", function()
      s:settle(1)
      assert.equal(generation, call.response.generationId)
      assert.truthy(classic.loaded_dump(s):find(call.response.memberId, 1, true))
    end)

    it("leaves the one before in its place when it is not written", function()
      s:settle(1, 19)
      assert.same({ E.COORDINATOR_NOT_AVAILABLE, "" }, { error_of(call), call.response.memberId })
      assert.equal(E.NONE, beat(ids[2], generation, "i2"))
    end)

    it("takes part in a rebalance that begins meanwhile", function()
      local leader = classic.join(s, { member = ids[1], instance = "i1" })
      assert.same({ 2, 2 }, { leader.response.generationId, call.response.generationId })
      s:settle(1, 19)
      assert.equal(E.NONE, beat(call.response.memberId, 2, "i2"))
    end)

    it("is fenced by the next that takes over", function()
      local next_call = classic.join(s, { instance = "i2" })
      assert.equal(E.FENCED_INSTANCE_ID, error_of(call))
      s:settle(2)
      assert.equal(E.NONE, error_of(next_call))
    end)
  end)
end)
