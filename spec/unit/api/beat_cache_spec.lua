-- SPDX-License-Identifier: Apache-2.0
-- A worker's members whose heartbeats need not go to their shards.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("api/beat_cache.h", "coordinator/member_beat.h", "wire/heartbeat.h")

local function text(out, value)
  out.data, out.length = value, value and #value or -1
end

--- The strings are those of the caller, who has them until it is used.
local function heartbeat(group, member, generation, instance)
  local request = ffi.new "struct wire_heartbeat_request"
  C.wire_heartbeat_request_init(request)
  text(request.group_id, group)
  text(request.member_id, member)
  text(request.group_instance_id, instance)
  request.generation_id = generation
  return request
end

describe("The cache of beats", function()
  local cache
  before_each(function() cache = C.beat_cache_new() end)
  after_each(function() C.beat_cache_delete(cache) end)

  --- Adds a member; its beat, of which the cache has a reference and the spec none.
  local function add(group, member, generation, instance)
    local beat = C.member_beat_new(generation, 1)
    C.beat_cache_add(cache, heartbeat(group, member, generation, instance), beat)
    return beat
  end

  it("notes heartbeats of members that it knows", function()
    local beat = add("g", "m", 3)
    assert.is_true(C.beat_cache_hear(cache, heartbeat("g", "m", 3), 500))
    assert.equal(500, tonumber(ffi.cast("int64_t *", ffi.cast("char *", beat) + 8)[0])) -- heard_ms
  end)

  it("knows a member by group, member and instance id together", function()
    add("g", "m", 3)
    add("g", "n", 3, "i")
    add("ab", "c", 3)
    for _, case in ipairs { { "g", "n", 3 }, { "g", "m", 3, "i" }, { "g", "m", 3, "" }, { "h", "m", 3 }, { "a", "bc", 3 },
      { "g", "n", 3, "j" }, { "g", "m", 2 }, { "g", "m", 4 }, { "g", "", 3 }, { "", "m", 3 } } do
      assert.same({ case, false }, { case, C.beat_cache_hear(cache, heartbeat(unpack(case, 1, 4)), 500) })
    end
    assert.is_true(C.beat_cache_hear(cache, heartbeat("g", "n", 3, "i"), 500))
    assert.is_true(C.beat_cache_hear(cache, heartbeat("ab", "c", 3), 500))
    assert.equal(3, C.beat_cache_count(cache))
  end)

  it("forgets one that has ended when it is asked for", function()
    local beat = C.member_beat_ref(add("g", "m", 3))
    C.member_beat_end(beat)
    assert.is_false(C.beat_cache_hear(cache, heartbeat("g", "m", 3), 500))
    assert.equal(0, C.beat_cache_count(cache))
    C.member_beat_unref(beat)
  end)

  it("takes a newer one of the same member", function()
    add("g", "m", 3)
    add("g", "m", 4)
    assert.is_false(C.beat_cache_hear(cache, heartbeat("g", "m", 3), 500))
    assert.is_true(C.beat_cache_hear(cache, heartbeat("g", "m", 4), 500))
    assert.equal(1, C.beat_cache_count(cache))
  end)

  it("does not grow with members that are gone", function()
    for i = 1, 10000 do
      local beat = C.member_beat_ref(add("g", "m" .. i, 3))
      C.member_beat_end(beat)
      C.member_beat_unref(beat)
    end
    assert.is_true(C.beat_cache_count(cache) <= 256)
  end)

  it("finds each of many", function()
    for i = 1, 5000 do add("g" .. i % 50, "m" .. i, i) end
    assert.equal(5000, C.beat_cache_count(cache))
    for i = 1, 5000 do assert.is_true(C.beat_cache_hear(cache, heartbeat("g" .. i % 50, "m" .. i, i), 500)) end
  end)

  it("knows no more members than it has room for", function()
    for i = 1, 100001 do add("g", "m" .. i, 3) end
    assert.equal(100000, C.beat_cache_count(cache))
    assert.is_false(C.beat_cache_hear(cache, heartbeat("g", "m100001", 3), 500))
  end)
end)
