-- SPDX-License-Identifier: Apache-2.0
-- When the members of a group were heard last, of either protocol.
local classic = require "spec.support.classic"
local consumer = require "spec.support.consumer_group"
local ffi = require "ffi"
local shard = require "spec.support.shard"
local unit = require "spec.support.unit"
local C = unit.load("base/arena.h", "coordinator/shard_private.h")

describe("members of a group", function()
  local s, arena

  --- How long ago each member was heard, ms.
  local function heard(group)
    local found = C.group_find(s.shard, ffi.new("struct wire_string", group, #group))
    local list, out = ffi.new "struct group_heard_list", {}
    C.group_kind_of(found).list_heard(found, arena, list)
    for i = 0, list.count - 1 do
      local one = list.items[i]
      out[ffi.string(one.member_id.data, one.member_id.length)] = tonumber(s.now_ms - one.heard_ms)
    end
    return out
  end

  before_each(function()
    s, arena = shard.new { topics = { t = 4 } }, ffi.new "struct arena"
  end)
  after_each(function()
    C.arena_destroy(arena)
    s:close()
  end)

  it("of the classic protocol are heard with each heartbeat", function()
    local ids = classic.stable(s, 2)
    s:advance(3000)
    assert.same({ [ids[1]] = 3000, [ids[2]] = 3000 }, heard(classic.GROUP))
    classic.heartbeat(s, ids[2], 1)
    s:advance(500)
    assert.same({ [ids[1]] = 3500, [ids[2]] = 500 }, heard(classic.GROUP))
  end)

  it("of the consumer protocol are heard with each heartbeat, whatever bytes their ids have", function()
    local odd = "m\0\2552"
    consumer.join(s, "g", "m1", { "t" })
    consumer.join(s, "g", odd, { "t" })
    s:advance(3000)
    assert.same({ m1 = 3000, [odd] = 3000 }, heard "g")
    consumer.beat(s, "g", odd, 2)
    s:advance(500)
    assert.same({ m1 = 3500, [odd] = 500 }, heard "g")
  end)

  it("of a group that was loaded again count from then on", function()
    consumer.join(s, "g", "m1", { "t" })
    s:advance(3000)
    local first = s
    s = s:reloaded()
    first:close()
    s:advance(200)
    assert.same({ m1 = 200 }, heard "g")
  end)

  it("that are gone are none", function()
    consumer.join(s, "g", "m1", { "t" })
    consumer.beat(s, "g", "m1", -1)
    assert.same({}, heard "g")
  end)
end)
