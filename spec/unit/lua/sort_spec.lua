-- SPDX-License-Identifier: Apache-2.0
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local sort = require "luka.sort"

local function less(a, b) return a < b end

describe("luka.sort", function()
  it("sorts lists of every length up to 70", function()
    for count = 0, 70 do
      local list, expected = {}, {}
      for i = 1, count do
        list[i] = i * 7919 % 31
        expected[i] = list[i]
      end
      table.sort(expected)
      assert.same(expected, sort(list, less))
    end
  end)

  it("gives back the list itself", function()
    for count = 0, 5 do
      local list = {}
      for i = 1, count do list[i] = -i end
      assert.equal(list, sort(list, less))
      assert.equal(count, #list)
    end
  end)

  it("leaves equal items in their order", function()
    local list = {}
    for i = 1, 50 do list[i] = { key = i % 3, place = i } end
    sort(list, function(a, b) return a.key < b.key end)
    for i = 2, 50 do
      assert.is_true(list[i - 1].key < list[i].key or list[i - 1].key == list[i].key and list[i - 1].place < list[i].place)
    end
  end)

  it("can be suspended while it compares", function()
    local co = coroutine.wrap(function()
      return sort({ 3, 1, 2 }, function(a, b)
        coroutine.yield()
        return a < b
      end)
    end)
    local result
    repeat result = co() until result
    assert.same({ 1, 2, 3 }, result)
  end)
end)
