-- SPDX-License-Identifier: Apache-2.0
-- What a console is told of a classic group: why a rebalance waits, and for whom.
local classic = require "spec.support.classic"
local ffi = require "ffi"
local shard = require "spec.support.shard"
local unit = require "spec.support.unit"
local C = unit.load("base/arena.h", "coordinator/shard_private.h", "coordinator/classic_inspect.h")

local s, arena

--- The group as a table; awaited: member id to what it is awaited for, since when it was heard, until when.
local function inspect(group)
  group = group or classic.GROUP
  local found = C.group_find(s.shard, ffi.new("struct wire_string", group, #group))
  local out = ffi.new "struct classic_inspection"
  C.classic_inspect(found, arena, out)
  local awaited = {}
  for i = 0, out.awaited_count - 1 do
    local one = out.awaited[i]
    awaited[ffi.string(one.member_id)] = { tonumber(one.wait), tonumber(one.heard_ms - s.now_ms),
      tonumber(one.until_ms - s.now_ms) }
  end
  return { state = ffi.string(out.state), reason = ffi.string(out.reason), awaited = awaited,
    total = out.awaited_total, joined = out.joined_count, since = tonumber(out.rebalance_ms - s.now_ms),
    ends = out.until_ms >= 0 and tonumber(out.until_ms - s.now_ms) or nil, is_storing = out.is_storing,
    is_initial = out.is_initial_delay }
end

describe("a rebalance that is looked at", function()
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    arena = ffi.new "struct arena"
  end)
  after_each(function()
    C.arena_destroy(arena)
    s:close()
  end)

  it("waits for members that have not joined again, and for ids that were given out", function()
    local ids = classic.stable(s, 3)
    s:advance(1000)
    classic.join(s, { member = ids[1], reason = "new partitions" })
    s:advance(500)
    local pending = classic.join(s, { session = 6000 }).response.memberId
    local seen = inspect()
    assert.equal("PreparingRebalance", seen.state)
    assert.truthy(seen.reason:find(ids[1], 1, true) and seen.reason:find("new partitions", 1, true))
    assert.same({ -500, 59500, 1, 3 }, { seen.since, seen.ends, seen.joined, seen.total })
    assert.same({
      [ids[2]] = { C.CLASSIC_WAIT_JOIN, -1500, 8500 },
      [ids[3]] = { C.CLASSIC_WAIT_JOIN, -1500, 8500 },
      [pending] = { C.CLASSIC_WAIT_FIRST_JOIN, 0, 6000 },
    }, seen.awaited)
  end)

  it("waits for the leader's assignment, for those that did not sync, then for the log", function()
    local calls = { classic.join_new(s), classic.join_new(s) }
    s:advance(0)
    local leader, follower = calls[1].member, calls[2].member
    assert.same({ [leader] = { C.CLASSIC_WAIT_ASSIGNMENT, 0, 10000 }, [follower] = { C.CLASSIC_WAIT_SYNC, 0, 10000 } },
      inspect().awaited)
    s.is_held = true
    classic.sync(s, leader, 1, {})
    local seen = inspect()
    assert.same({ true, 60000 }, { seen.is_storing, seen.ends })
    assert.same({ [follower] = { C.CLASSIC_WAIT_SYNC, 0, 10000 } }, seen.awaited)
    s:settle(1)
    classic.sync(s, follower, 1)
    seen = inspect()
    assert.same({ "Stable", 0 }, { seen.state, seen.total })
    assert.is_nil(seen.ends)
  end)

  it("waits for more members while it is the first", function()
    s.driver.config.group_initial_rebalance_delay_ms = 3000
    classic.join_new(s)
    local seen = inspect()
    assert.same({ true, 3000, 0 }, { seen.is_initial, seen.ends, seen.total })
  end)

  it("names who left, how many others went along, and what they say", function()
    local ids = classic.stable(s, 4)
    classic.leave(s, { { ids[1] } })
    assert.equal("member " .. ids[1] .. " left", (inspect().reason:gsub(";.*", "")))
    for i = 2, 4 do classic.join(s, { member = ids[i] }) end
    for i = 2, 4 do classic.sync(s, ids[i], 2, i == 2 and {} or nil) end
    classic.leave(s, { { ids[2] }, { ids[3] } })
    assert.equal("member " .. ids[2] .. " and 1 other left", (inspect().reason:gsub(";.*", "")))
  end)

  it("is none in a group that has offsets alone", function()
    classic.commit(s, "", -1)
    assert.same({ "Empty", "", 0 }, { inspect().state, inspect().reason, inspect().total })
  end)
end)
