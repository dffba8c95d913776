-- SPDX-License-Identifier: Apache-2.0
-- Classic groups in a shard: joining, syncing, heartbeats, commits, leaving.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"

local E = classic.errors

local s

local function new(config, more)
  more = more or {}
  return shard.new { topics = { t = 4 }, config = config, log = more.log, seed = more.seed }
end

local function error_of(call) return call.response and call.response.errorCode end

describe("joining a classic group", function()
  before_each(function() s = new() end)
  after_each(function() s:close() end)

  it("takes two steps for a dynamic member: first an id is given out", function()
    local call = classic.join(s)
    assert.equal(E.MEMBER_ID_REQUIRED, error_of(call))
    assert.truthy(call.response.memberId:match "^client%-%x+%-%x+%-4%x+%-%x+%-%x+$")
    assert.equal("Empty", classic.state(s))
    local again = classic.join(s, { member = call.response.memberId })
    s:advance(0)
    assert.equal(E.NONE, error_of(again))
    assert.equal(1, again.response.generationId)
    assert.equal(again.response.memberId, again.response.leader)
    assert.equal(1, #again.response.members)
  end)

  it("takes one step before version 4, and for static members", function()
    local old = classic.join(s, { version = 3 })
    s:advance(0)
    assert.equal(E.NONE, error_of(old))
    local static = classic.join(s, { group = "h", instance = "i" })
    s:advance(0)
    assert.equal(E.NONE, error_of(static))
    assert.truthy(static.response.memberId:match "^i%-")
  end)

  it("refuses what is not right", function()
    assert.equal(E.INVALID_GROUP_ID, error_of(classic.join(s, { group = "" })))
    assert.equal(E.INVALID_SESSION_TIMEOUT, error_of(classic.join(s, { session = 5999 })))
    assert.equal(E.INVALID_SESSION_TIMEOUT, error_of(classic.join(s, { session = 1800001 })))
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = "nobody" })))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, error_of(classic.join(s, { protocols = {} })))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, error_of(classic.join(s, { kind = "" })))
    classic.stable(s, 1)
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, error_of(classic.join(s, { kind = "connect" })))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, error_of(classic.join(s, { protocols = { { "sticky" } } })))
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = "nobody" })))
  end)

  it("chooses the protocol that most members like best among those that all can do", function()
    local calls = {}
    for i, names in ipairs { { "a", "b", "c" }, { "x", "c", "b" }, { "b", "c" } } do
      local protocols = {}
      for at, name in ipairs(names) do protocols[at] = { name, "of " .. i } end
      calls[i] = classic.join_new(s, { protocols = protocols })
    end
    s:advance(0)
    assert.equal("b", calls[1].response.protocolName)
    assert.same({ "of 1", "of 2", "of 3" }, { calls[1].response.members[1].metadata,
      calls[1].response.members[2].metadata, calls[1].response.members[3].metadata })
    assert.same({}, calls[2].response.members)
  end)

  it("answers at once who says nothing new, while the assignment is awaited", function()
    local call = classic.join_new(s)
    s:advance(0)
    local again = classic.join(s, { member = call.member })
    assert.equal(1, again.response.generationId)
    assert.equal(1, #again.response.members)
  end)

  it("answers at once a follower that says nothing new in a stable group; a leader has all rebalance", function()
    local ids = classic.stable(s, 2)
    assert.equal(1, classic.join(s, { member = ids[2] }).response.generationId)
    assert.equal("Stable", classic.state(s))
    assert.is_nil(error_of(classic.join(s, { member = ids[1] })))
    assert.equal("PreparingRebalance", classic.state(s))
  end)

  it("has all rebalance when a follower says something new", function()
    local ids = classic.stable(s, 2)
    assert.is_nil(error_of(classic.join(s, { member = ids[2], metadata = "new" })))
    assert.equal("PreparingRebalance", classic.state(s))
    local leader = classic.join(s, { member = ids[1] })
    assert.equal(2, leader.response.generationId)
    assert.equal("new", leader.response.members[2].metadata)
  end)

  it("answers an earlier request of the same member", function()
    local ids = classic.stable(s, 2)
    local first = classic.join(s, { member = ids[1] })
    classic.join(s, { member = ids[1] })
    assert.equal(E.REBALANCE_IN_PROGRESS, error_of(first))
  end)

  it("refuses more protocols, or larger ones, than a member may have", function()
    local protocols = {}
    for i = 1, 101 do protocols[i] = { "p" .. i } end
    local id = classic.join(s).response.memberId
    assert.equal(E.INVALID_REQUEST, error_of(classic.join(s, { member = id, protocols = protocols })))
    assert.equal(E.INVALID_REQUEST, error_of(classic.join(s, { member = id, metadata = ("x"):rep(4 * 1024 * 1024) })))
    assert.equal("Empty", classic.state(s))
  end)

  it("gives out at most 10000 ids that nobody uses: the oldest ends", function()
    local first = classic.join(s).response.memberId
    local second = classic.join(s).response.memberId
    for _ = 1, 9999 do classic.join(s) end
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = first })))
    local call = classic.join(s, { member = second })
    s:advance(0)
    assert.equal(E.NONE, error_of(call))
  end)

  it("gives out ids of at most 16 MiB that nobody uses: the oldest end", function()
    local name = ("c"):rep(30000)
    local first = classic.join(s, { client_id = name }).response.memberId
    local last
    for _ = 1, 600 do last = classic.join(s, { client_id = name }).response.memberId end
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(classic.join(s, { member = first })))
    local call = classic.join(s, { member = last })
    s:advance(0)
    assert.equal(E.NONE, error_of(call))
  end)
end)

describe("group.max.size", function()
  before_each(function() s = new { group_max_size = 2 } end)
  after_each(function() s:close() end)

  it("keeps out whoever comes when the group is full", function()
    classic.stable(s, 2)
    local call = classic.join(s)
    assert.equal(E.GROUP_MAX_SIZE_REACHED, error_of(call))
    assert.equal("", call.response.memberId)
    assert.equal("Stable", classic.state(s))
  end)

  it("keeps out whoever comes too late in a rebalance", function()
    local calls = { classic.join_new(s), classic.join_new(s) }
    assert.equal(E.GROUP_MAX_SIZE_REACHED, error_of(classic.join(s)))
    s:advance(0)
    assert.equal(E.NONE, error_of(calls[2]))
  end)

  it("shrinks a group that was loaded with more", function()
    local big = new()
    local ids = classic.stable(big, 3)
    s:close()
    s = new({ group_max_size = 2 }, { log = big.log })
    big:close()
    assert.equal("PreparingRebalance", classic.state(s))
    classic.join(s, { member = ids[1] })
    local second = classic.join(s, { member = ids[2] })
    assert.equal(E.GROUP_MAX_SIZE_REACHED, error_of(classic.join(s, { member = ids[3] })))
    assert.equal(E.NONE, error_of(second))
    assert.equal(2, #classic.describe(s).members)
  end)
end)

describe("a classic group", function()
  local ids, generation
  before_each(function()
    s = new()
    ids, generation = classic.stable(s, 2)
  end)
  after_each(function() s:close() end)

  it("gives each member what the leader assigned, again and again", function()
    assert.equal("2", classic.sync(s, ids[2], generation).response.assignment)
    assert.equal("2", classic.sync(s, ids[2], generation).response.assignment)
    local group = classic.describe(s)
    assert.same({ "Stable", "range", "1", "2" }, { group.groupState, group.protocolData,
      group.members[1].memberAssignment, group.members[2].memberAssignment })
  end)

  it("refuses a SyncGroup that is not of its members, generation or protocol", function()
    local function sync(...) return error_of(classic.sync(s, ...)) end
    assert.equal(E.UNKNOWN_MEMBER_ID, sync("nobody", generation))
    assert.equal(E.ILLEGAL_GENERATION, sync(ids[1], generation + 1))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, sync(ids[1], generation, nil, { kind = "connect" }))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, sync(ids[1], generation, nil, { protocol = "sticky" }))
    assert.equal(E.INCONSISTENT_GROUP_PROTOCOL, sync(ids[1], generation, nil, { protocol = shard.NULL }))
    assert.equal(E.INVALID_GROUP_ID, sync(ids[1], generation, nil, { group = "" }))
    assert.equal(E.UNKNOWN_MEMBER_ID, sync(ids[1], generation, nil, { group = "other" }))
    classic.join(s, { member = ids[1] })
    assert.equal(E.REBALANCE_IN_PROGRESS, sync(ids[1], generation))
  end)

  it("tells by heartbeats whether a member is one, and has to join again", function()
    local function beat(...) return classic.heartbeat(s, ...) end
    assert.equal(E.NONE, beat(ids[1], generation))
    assert.equal(E.UNKNOWN_MEMBER_ID, beat("nobody", generation))
    assert.equal(E.ILLEGAL_GENERATION, beat(ids[1], generation - 1))
    assert.equal(E.UNKNOWN_MEMBER_ID, beat(ids[1], generation, { instance = "i" }))
    assert.equal(E.INVALID_GROUP_ID, beat(ids[1], generation, { group = "" }))
    assert.equal(E.UNKNOWN_MEMBER_ID, beat(ids[1], generation, { group = "other" }))
    assert.equal(E.UNKNOWN_MEMBER_ID, beat(classic.join(s).response.memberId, -1))
    classic.join(s, { member = ids[1] })
    assert.equal(E.REBALANCE_IN_PROGRESS, beat(ids[2], generation))
  end)

  it("takes commits of its members, but not between their join and the assignment", function()
    assert.equal(E.NONE, classic.commit(s, ids[1], generation))
    assert.equal(E.ILLEGAL_GENERATION, classic.commit(s, ids[1], generation + 1))
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.commit(s, "nobody", generation))
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.commit(s, "", -1))
    classic.join(s, { member = ids[1] })
    assert.equal(E.NONE, classic.commit(s, ids[2], generation))
    local call = classic.join(s, { member = ids[2] })
    assert.equal(E.REBALANCE_IN_PROGRESS, classic.commit(s, ids[2], call.response.generationId))
  end)

  it("takes commits of nobody once it is empty", function()
    classic.leave(s, ids)
    assert.equal("Empty", classic.state(s))
    assert.equal(E.NONE, classic.commit(s, "", -1))
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.commit(s, ids[1], generation))
  end)

  it("rebalances when a member leaves, with another leader when the leader does", function()
    assert.equal(E.NONE, classic.leave(s, { ids[1] }).members[1].errorCode)
    assert.equal(E.REBALANCE_IN_PROGRESS, classic.heartbeat(s, ids[2], generation))
    local call = classic.join(s, { member = ids[2] })
    assert.same({ 2, ids[2], 1 }, { call.response.generationId, call.response.leader, #call.response.members })
  end)

  it("lets many leave at once, each with its own answer", function()
    local answer = classic.leave(s, { ids[1], "nobody", { ids[2], "i" }, ids[2] })
    local codes = {}
    for i, member in ipairs(answer.members) do codes[i] = member.errorCode end
    assert.same({ E.NONE, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID, E.NONE }, codes)
    assert.equal("Empty", classic.state(s))
  end)

  it("answers a LeaveGroup of one member before version 3", function()
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.leave(s, { "nobody" }, { version = 2 }).errorCode)
    assert.equal(E.NONE, classic.leave(s, { ids[1] }, { version = 2 }).errorCode)
    assert.equal(E.INVALID_GROUP_ID, classic.leave(s, { ids[1] }, { version = 2, group = "" }).errorCode)
  end)

  it("answers what a member waits for when it leaves", function()
    local join = classic.join(s, { member = ids[2], metadata = "new" })
    classic.leave(s, { ids[2] })
    assert.equal(E.UNKNOWN_MEMBER_ID, error_of(join))
  end)

  it("is described as Dead, or not found from version 6, when there is none", function()
    local old = classic.describe(s, { group = "none", version = 5 })
    assert.same({ 0, "Dead" }, { old.errorCode, old.groupState })
    local new_answer = classic.describe(s, { group = "none" })
    assert.same({ E.GROUP_ID_NOT_FOUND, "Dead", "Group none not found." },
      { new_answer.errorCode, new_answer.groupState, new_answer.errorMessage })
  end)

  it("can be deleted when it is empty", function()
    local function delete() return error_of(s:call("DeleteGroups", 2, "g")) end
    assert.equal(E.NON_EMPTY_GROUP, delete())
    classic.leave(s, ids)
    assert.equal(E.NONE, delete())
    assert.equal(E.GROUP_ID_NOT_FOUND, delete())
    assert.same({}, s:groups())
  end)
end)
