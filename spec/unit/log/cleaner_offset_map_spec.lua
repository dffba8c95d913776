-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load "log/cleaner_offset_map.h"

describe("the cleaner's offset map", function()
  local map = ffi.new "struct cleaner_offset_map"
  after_each(function() C.cleaner_offset_map_destroy(map) end)

  local function create(bytes, load) C.cleaner_offset_map_create(map, bytes, load or 0.9) end
  local function put(key, offset) return C.cleaner_offset_map_put(map, key, #key, offset) end
  local function get(key) return tonumber(C.cleaner_offset_map_get(map, key, #key)) end

  it("knows no key at first", function()
    create(65536)
    assert.equal(-1, get "a")
    assert.equal(-1, get "")
  end)

  it("gives the largest offset of a key, whatever the order", function()
    create(65536)
    assert.is_true(put("a", 5))
    assert.is_true(put("a", 9))
    assert.is_true(put("a", 7))
    assert.is_true(put("", 0))
    assert.same({ 9, 0, -1 }, { get "a", get "", get "b" })
    assert.equal(2, tonumber(map.count))
  end)

  it("keeps every key through all its growth", function()
    create(16 * 1048576)
    local rooms, keys = {}, 400000
    for i = 1, keys do
      assert(put("key-" .. i, i))
      rooms[tonumber(map.room)] = true
    end
    for i = 1, keys do
      if get("key-" .. i) ~= i then error(("key-%d has offset %d"):format(i, get("key-" .. i))) end
    end
    assert.equal(-1, get "key-0")
    local sizes = 0
    for _ in pairs(rooms) do sizes = sizes + 1 end
    assert.is_true(sizes >= 7)
    assert.is_true(tonumber(map.room) * C.CLEANER_OFFSET_SLOT_SIZE <= 16 * 1048576)
  end)

  for _, case in ipairs { { 32768, 0.9 }, { 262144, 0.9 }, { 1048576, 0.5 }, { 1048577, 1.0 } } do
    it(("of %d bytes takes at most %g of its slots, and stays right when it is full"):format(case[1], case[2]), function()
      create(case[1], case[2])
      local taken = 0
      while put("k" .. taken, taken) do taken = taken + 1 end
      local slots = math.floor(case[1] / C.CLEANER_OFFSET_SLOT_SIZE)
      assert.is_true(taken <= slots * math.min(case[2], 0.9))
      assert.is_true(taken >= slots * math.min(case[2], 0.9) * 0.7)
      for i = 0, taken - 1 do assert(get("k" .. i) == i) end
      assert.equal(-1, get("k" .. taken))
      -- What it has already it takes again.
      assert.is_true(put("k0", 1000000))
      assert.equal(1000000, get "k0")
    end)
  end

  it("begins small, whatever it may grow to", function()
    create(1073741824)
    put("a", 1)
    assert.is_true(tonumber(map.room) * C.CLEANER_OFFSET_SLOT_SIZE < 262144)
  end)
end)
