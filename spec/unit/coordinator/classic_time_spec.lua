-- SPDX-License-Identifier: Apache-2.0
-- What bounds each state of a classic group: sessions, rebalance timeouts, the delay of the first rebalance.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"

local E = classic.errors
local s

local function new(config) return shard.new { topics = { t = 4 }, config = config } end
local function error_of(call) return call.response and call.response.errorCode end

describe("a session", function()
  local ids, generation
  before_each(function()
    s = new()
    ids, generation = classic.stable(s, 2)
  end)
  after_each(function() s:close() end)

  it("ends when no heartbeat comes for the session timeout, and the others rebalance", function()
    s:advance(9000)
    classic.heartbeat(s, ids[1], generation)
    s:advance(1000)
    assert.equal(E.REBALANCE_IN_PROGRESS, classic.heartbeat(s, ids[1], generation))
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.heartbeat(s, ids[2], generation))
  end)

  it("goes on with each commit", function()
    s:advance(9000)
    classic.commit(s, ids[1], generation)
    classic.commit(s, ids[2], generation)
    s:advance(9999)
    assert.equal("Stable", classic.state(s))
    s:advance(1)
    assert.equal("Empty", classic.state(s))
  end)

  it("is over for who deletes the group in the moment in which it ends", function()
    s:advance(9999)
    assert.equal(E.NON_EMPTY_GROUP, s:call("DeleteGroups", 2, "g").response.errorCode)
    s:set_now(s.now_ms + 1) -- the loop's timer has not run yet
    assert.equal(E.NONE, s:call("DeleteGroups", 2, "g").response.errorCode)
  end)

  it("does not run while a member waits for the others to join", function()
    local call = classic.join(s, { member = ids[1] })
    for _ = 1, 5 do
      s:advance(9000)
      assert.equal(E.REBALANCE_IN_PROGRESS, classic.heartbeat(s, ids[2], generation))
    end
    assert.is_nil(error_of(call))
    classic.join(s, { member = ids[2] })
    assert.equal(E.NONE, error_of(call))
  end)

  it("of an id that was given out ends too, and a rebalance does not wait for it any longer", function()
    local pending = classic.join(s, { session = 6000 }).response.memberId
    local calls = { classic.join(s, { member = ids[1] }), classic.join(s, { member = ids[2] }) }
    s:advance(5999)
    assert.is_nil(error_of(calls[1]))
    assert.equal(2, #classic.describe(s).members)
    s:advance(1)
    assert.equal(E.NONE, error_of(calls[1]))
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = pending })))
  end)

  it("of a new member whose client may be gone ends after five minutes in a rebalance", function()
    classic.join(s, { member = ids[1], rebalance = 600000 })
    local new_member = classic.join(s, { version = 3, rebalance = 600000 })
    for _ = 1, 33 do
      s:advance(9000)
      classic.heartbeat(s, ids[2], generation)
    end
    assert.is_nil(error_of(new_member))
    s:advance(3000)
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(new_member))
  end)
end)

describe("a rebalance", function()
  after_each(function() s:close() end)

  it("goes on without those that do not join again in the longest rebalance timeout", function()
    s = new()
    local ids, generation = classic.stable(s, 2, { rebalance = 20000, session = 15000 })
    local call = classic.join(s, { member = ids[1], rebalance = 20000, session = 15000 })
    s:advance(10000)
    classic.heartbeat(s, ids[2], generation)
    s:advance(9999)
    assert.is_nil(error_of(call))
    s:advance(1)
    assert.equal(E.NONE, error_of(call))
    assert.equal(1, #call.response.members)
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.heartbeat(s, ids[2], generation))
  end)

  it("throws out who joins, sends heartbeats and does not sync", function()
    s = new()
    local calls = { classic.join_new(s, { rebalance = 20000 }), classic.join_new(s, { rebalance = 20000 }) }
    s:advance(0)
    classic.sync(s, calls[1].member, 1, { [calls[1].member] = "all" })
    for _ = 1, 4 do
      s:advance(4999)
      assert.equal(E.NONE, classic.heartbeat(s, calls[1].member, 1))
      assert.equal(E.NONE, classic.heartbeat(s, calls[2].member, 1))
    end
    s:advance(4)
    assert.equal(E.REBALANCE_IN_PROGRESS, classic.heartbeat(s, calls[1].member, 1))
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.heartbeat(s, calls[2].member, 1))
  end)

  it("has followers join again when the leader does not sync", function()
    s = new()
    local calls = { classic.join_new(s, { rebalance = 8000 }), classic.join_new(s, { rebalance = 8000 }) }
    s:advance(0)
    local sync = classic.sync(s, calls[2].member, 1)
    s:advance(7999)
    assert.is_nil(error_of(sync))
    s:advance(1)
    assert.equal(E.REBALANCE_IN_PROGRESS, error_of(sync))
    assert.equal(calls[2].member, classic.join(s, { member = calls[2].member }).response.leader)
  end)

  it("of an empty group waits group.initial.rebalance.delay.ms, longer while members come", function()
    s = new { group_initial_rebalance_delay_ms = 3000 }
    local first = classic.join_new(s, { rebalance = 10000 })
    s:advance(2000)
    local second = classic.join_new(s, { rebalance = 10000 })
    s:advance(1000)
    assert.is_nil(error_of(first))
    s:advance(2999)
    assert.is_nil(error_of(first))
    s:advance(1)
    assert.equal(2, #first.response.members)
    assert.equal(E.NONE, error_of(second))
  end)

  it("of an empty group never waits longer than the rebalance timeout, whoever comes", function()
    s = new { group_initial_rebalance_delay_ms = 3000 }
    local first = classic.join_new(s, { rebalance = 10000 })
    for _ = 1, 9 do
      s:advance(1000)
      classic.join_new(s, { rebalance = 10000 })
    end
    assert.is_nil(error_of(first))
    s:advance(1000)
    assert.equal(10, #first.response.members)
  end)

  it("ends with an empty group when all leave meanwhile", function()
    s = new { group_initial_rebalance_delay_ms = 3000 }
    local call = classic.join_new(s)
    classic.leave(s, { call.member })
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(call))
    s:advance(3000)
    assert.equal("Empty", classic.state(s))
  end)

  it("takes a rebalance timeout of nothing, or less, for a moment", function()
    s = new()
    local call = classic.join(s, { instance = "i", rebalance = -5 })
    s:advance(0)
    assert.equal(E.NONE, error_of(call))
    s:advance(1)
    assert.equal("Empty", classic.state(s))
  end)
end)
