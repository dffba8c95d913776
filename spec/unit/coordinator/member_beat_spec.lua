-- SPDX-License-Identifier: Apache-2.0
-- Heartbeats that are noted elsewhere, and what the shard makes of them.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"
local unit = require "spec.support.unit"
local C = unit.load "coordinator/member_beat.h"

local E = classic.errors
local SESSION_MS = 10000

describe("A member's beat", function()
  local s, ids, generation
  local held = {}

  --- A heartbeat to the shard that asks for one.
  local function beat_of(id, o)
    o = o or {}
    o.wants_beat = true
    local code, beat = classic.heartbeat(s, id, generation, o)
    held[#held + 1] = beat
    return beat, code
  end

  before_each(function()
    s = shard.new { topics = { t = 4 } }
    ids, generation = classic.stable(s, 2)
  end)
  after_each(function()
    s:close()
    for _, beat in ipairs(held) do
      assert.is_true(C.member_beat_has_ended(beat))
      C.member_beat_unref(beat)
    end
    held = {}
  end)

  it("comes with a heartbeat to a stable group, for those who want one", function()
    local beat, code = beat_of(ids[1])
    assert.equal(0, code)
    assert.is_truthy(beat)
    assert.is_true(C.member_beat_hear(beat, generation, s.now_ms))
    local _, none = classic.heartbeat(s, ids[2], generation)
    assert.is_nil(none)
  end)

  it("hears its generation alone", function()
    local beat = beat_of(ids[1])
    for _, other in ipairs { generation - 1, generation + 1, -1, 0 } do
      assert.is_false(C.member_beat_hear(beat, other, s.now_ms))
    end
  end)

  it("keeps its member in the group for a session after what it heard last", function()
    local beat = beat_of(ids[1])
    for _ = 1, 5 do
      s:advance(SESSION_MS - 1000)
      assert.is_true(C.member_beat_hear(beat, generation, s.now_ms))
      classic.heartbeat(s, ids[2], generation)
    end
    assert.equal("Stable", classic.state(s))
    s:advance(SESSION_MS - 1)
    classic.heartbeat(s, ids[2], generation)
    assert.equal("Stable", classic.state(s))
    s:advance(1)
    assert.equal("PreparingRebalance", classic.state(s))
    assert.equal(E.UNKNOWN_MEMBER_ID, (classic.heartbeat(s, ids[1], generation)))
    assert.is_false(C.member_beat_hear(beat, generation, s.now_ms))
  end)

  it("ends when a rebalance begins, and what it heard counts", function()
    local beat = beat_of(ids[1])
    s:advance(SESSION_MS - 1000)
    assert.is_true(C.member_beat_hear(beat, generation, s.now_ms))
    assert.equal(E.NONE, classic.leave(s, { ids[2] }).members[1].errorCode)
    assert.is_false(C.member_beat_hear(beat, generation, s.now_ms))
    s:advance(SESSION_MS - 1)
    assert.equal(E.REBALANCE_IN_PROGRESS, (classic.heartbeat(s, ids[1], generation)))
  end)

  it("is not given while a rebalance is under way, and is another one after it", function()
    local before = beat_of(ids[1])
    classic.leave(s, { ids[2] })
    local beat, code = beat_of(ids[1])
    assert.equal(E.REBALANCE_IN_PROGRESS, code)
    assert.is_nil(beat)
    local joined = classic.join(s, { member = ids[1] }).response
    assert.equal(0, joined.errorCode)
    generation = joined.generationId
    assert.equal(0, classic.sync(s, ids[1], generation, { [ids[1]] = "1" }).response.errorCode)
    beat = beat_of(ids[1])
    assert.is_true(C.member_beat_hear(beat, generation, s.now_ms))
    assert.is_false(C.member_beat_hear(before, generation, s.now_ms))
  end)

  it("ends when its member leaves or is thrown out", function()
    local first, second = beat_of(ids[1]), beat_of(ids[2])
    classic.leave(s, { ids[1] })
    assert.is_false(C.member_beat_hear(first, generation, s.now_ms))
    assert.is_false(C.member_beat_hear(second, generation, s.now_ms))
  end)

  it("ends when another static member takes over, with the id that is fenced", function()
    s:call("DeleteGroups", 2, "static")
    local o = { group = "static", instance = "i" }
    local joined = classic.join(s, o)
    s:advance(0)
    local id = joined.response.memberId
    generation = joined.response.generationId
    assert.equal(0, classic.sync(s, id, generation, { [id] = "1" }, o).response.errorCode)
    local beat = beat_of(id, { group = "static", instance = "i" })
    assert.is_true(C.member_beat_hear(beat, generation, s.now_ms))
    assert.equal(0, classic.join(s, o).response.errorCode)
    assert.is_false(C.member_beat_hear(beat, generation, s.now_ms))
    assert.equal(E.FENCED_INSTANCE_ID, (classic.heartbeat(s, id, generation, o)))
    assert.equal("Stable", classic.state(s, "static"))
  end)

  it("ends with its shard", function()
    local beat = beat_of(ids[1])
    s:stop()
    assert.is_false(C.member_beat_hear(beat, generation, s.now_ms))
  end)
end)
