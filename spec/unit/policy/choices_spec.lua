-- SPDX-License-Identifier: Apache-2.0
-- What homes remember of partitioners' choices.
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load "policy/choices.h"

describe("choices", function()
  local choices
  before_each(function() choices = C.policy_choices_new() end)
  after_each(function() C.policy_choices_delete(choices) end)

  local function key(producer, sequence, fields)
    local out = ffi.new("struct policy_choices_key", { producer_id = producer, sequence = sequence })
    for name, value in pairs(fields or {}) do out[name] = value end
    return out
  end
  local function keep(which, list) C.policy_choices_keep(choices, which, ffi.new("int32_t[?]", #list, list), #list) end
  local function find(which, count)
    local out = ffi.new("int32_t[?]", count)
    if not C.policy_choices_find(choices, which, out, count) then return nil end
    local list = {}
    for i = 1, count do list[i] = out[i - 1] end
    return list
  end

  for _, list in ipairs { { 0, 1, 255 }, { 3, 65535, 0 }, { 1, 65536, 2 ^ 31 - 1 } } do
    it("keep numbers up to " .. math.max(unpack(list)), function()
      keep(key(7, 0), list)
      assert.same(list, find(key(7, 0), 3))
    end)
  end

  it("are those of the last five batches", function()
    for i = 0, 5 do keep(key(7, i), { i }) end
    assert.is_nil(find(key(7, 0), 1))
    for i = 1, 5 do assert.same({ i }, find(key(7, i), 1)) end
  end)

  it("are of one producer, epoch, partition, topic and batch", function()
    keep(key(7, 3), { 1, 2 })
    assert.is_nil(find(key(8, 3), 2))
    assert.is_nil(find(key(7, 4), 2))
    assert.is_nil(find(key(7, 3), 1))
    assert.is_nil(find(key(7, 3, { epoch = 1 }), 2))
    assert.is_nil(find(key(7, 3, { partition = 1 }), 2))
    assert.is_nil(find(key(7, 3, { crc = 1 }), 2))
    assert.is_nil(find(key(7, 3, { topic_id = { { 1 } } }), 2))
  end)

  it("of who was silent longest are forgotten when there are too many", function()
    local list = {}
    for i = 1, 100000 do list[i] = i % 200 end
    for producer = 0, 99 do
      for sequence = 0, 4 do keep(key(producer, sequence), list) end
      keep(key(0, producer), { producer % 3 }) -- this one goes on
    end
    assert.is_nil(find(key(1, 4), #list))
    assert.same(list, find(key(99, 4), #list))
    assert.same({ 0 }, find(key(0, 99), 1))
  end)
end)
