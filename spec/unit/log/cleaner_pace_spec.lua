-- SPDX-License-Identifier: Apache-2.0
-- log.cleaner.io.max.bytes.per.second on a clock of the spec's own.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "log/cleaner_pace.h"

local S = 1000000000

describe("The pace of the log cleaner", function()
  local pace
  before_each(function() pace = ffi.new "struct cleaner_pace" end)

  --- When a step that reads or writes so many bytes may be made, in seconds.
  local function take(now, bytes) return tonumber(C.cleaner_pace_take(pace, now * S, bytes).from_ns) / S end

  it("has no limit to begin with, and none of 0 and less", function()
    for _ = 1, 3 do assert.equal(5, take(5, 1000000)) end
    for _, limit in ipairs { 0, -1, -1 / 0 } do
      C.cleaner_pace_set(pace, limit)
      for _ = 1, 3 do assert.equal(5, take(5, 1000000)) end
    end
  end)

  it("has each step wait for those before it", function()
    C.cleaner_pace_set(pace, 100)
    assert.same({ 7, 10, 12, 13 }, { take(7, 300), take(7, 200), take(8, 100), take(13, 0) })
    assert.equal(13, take(12.5, 0))
  end)

  it("saves nothing up while nobody reads or writes", function()
    C.cleaner_pace_set(pace, 100)
    assert.same({ 1, 1000, 1001 }, { take(1, 100), take(1000, 100), take(1000, 100) })
  end)

  it("gives out no more bytes in any stretch of time than the limit, and one step", function()
    math.randomseed(7)
    C.cleaner_pace_set(pace, 1000)
    local now, done = 0, {}
    for i = 1, 1000 do
      local bytes = math.random(500)
      done[i] = { at = take(now, bytes), bytes = bytes }
      now = done[i].at + (math.random(10) == 1 and math.random() or 0)
    end
    for first = 1, 1000, 13 do
      local bytes = 0
      for i = first, 1000 do
        bytes = bytes + done[i].bytes
        assert.is_true(bytes <= (done[i].at - done[first].at) * 1000 + 500 + 1)
      end
    end
  end)

  it("has nobody wait longer than an hour for a step, however low the limit", function()
    C.cleaner_pace_set(pace, 1e-300)
    assert.same({ 1, 3601, 7201 }, { take(1, 1), take(1, 2147483647), take(1, 1) })
  end)

  it("makes who waits by another limit go on at once, and the next step wait by the new one", function()
    C.cleaner_pace_set(pace, 1)
    take(1, 1000)
    local turn = C.cleaner_pace_take(pace, 1 * S, 1000)
    assert.is_false(C.cleaner_pace_is_due(pace, turn, 1000 * S))
    C.cleaner_pace_set(pace, 1)
    assert.is_false(C.cleaner_pace_is_due(pace, turn, 1000 * S))
    C.cleaner_pace_set(pace, 1000)
    assert.is_true(C.cleaner_pace_is_due(pace, turn, 1000 * S))
    assert.same({ 1000, 1001 }, { take(1000, 1000), take(1000, 1000) })
  end)

  it("says that a turn has come at its time, not before", function()
    C.cleaner_pace_set(pace, 100)
    take(1, 100)
    local turn = C.cleaner_pace_take(pace, 1 * S, 100)
    assert.is_false(C.cleaner_pace_is_due(pace, turn, 2 * S - 1))
    assert.is_true(C.cleaner_pace_is_due(pace, turn, 2 * S))
  end)
end)
