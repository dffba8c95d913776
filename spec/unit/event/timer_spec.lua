-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("event_driver.h")

describe("timers", function()
  local probe
  before_each(function() probe = C.timer_probe_new() end)
  after_each(function() C.timer_probe_delete(probe) end)

  local fired = ffi.new("int[1000]")
  --- Sets the clock and returns the numbers of the timers that fired, in order.
  local function run(now_ms)
    local numbers = {}
    for i = 0, C.timer_probe_run(probe, now_ms, fired) - 1 do numbers[i + 1] = fired[i] end
    return numbers
  end

  it("fire by due time, not by the order of their starts", function()
    C.timer_probe_start(probe, 1, 30)
    C.timer_probe_start(probe, 2, 10)
    C.timer_probe_start(probe, 3, 20)
    assert.same({ 2, 3, 1 }, run(100))
  end)

  it("fire in the order of their starts when they are due together", function()
    for number = 0, 20 do C.timer_probe_start(probe, number, 5) end
    local numbers = run(100)
    for i = 1, 21 do assert.equal(i - 1, numbers[i]) end
  end)

  it("never fire before their delay has passed, whatever part of a millisecond the clock hides", function()
    C.timer_probe_start(probe, 1, 10)
    assert.same({}, run(10))
    assert.same({ 1 }, run(11))
  end)

  it("fire once", function()
    C.timer_probe_start(probe, 1, 1)
    assert.same({ 1 }, run(5))
    assert.same({}, run(50))
    assert.is_false(C.timer_probe_is_running(probe, 1))
  end)

  it("do not fire once stopped, and stopping twice is harmless", function()
    C.timer_probe_start(probe, 1, 1)
    C.timer_probe_start(probe, 2, 2)
    C.timer_probe_stop(probe, 1)
    C.timer_probe_stop(probe, 1)
    assert.same({ 2 }, run(10))
  end)

  it("move when they are started again", function()
    C.timer_probe_start(probe, 1, 5)
    C.timer_probe_start(probe, 1, 50)
    assert.same({}, run(40))
    assert.same({ 1 }, run(51))
  end)

  it("wait for the next turn when started with no delay by one that fires", function()
    C.timer_probe_repeat(probe, 1, 0, 0)
    assert.same({ 1 }, run(0))
    assert.same({ 1 }, run(0))
  end)

  it("fire even after the longest delay there is was asked for another", function()
    C.timer_probe_start(probe, 1, 0x7fffffffffffffffLL)
    C.timer_probe_start(probe, 2, 1)
    assert.same({ 2 }, run(1000))
    assert.is_true(C.timer_probe_is_running(probe, 1))
  end)

  it("stay in order through 1000 starts and stops in a scrambled sequence", function()
    local due, seed = {}, 7
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return math.floor(seed / 65536) % n
    end
    for _ = 1, 3000 do
      local number = random(1000)
      if random(3) == 0 then
        C.timer_probe_stop(probe, number)
        due[number] = nil
      else
        local delay = 1 + random(500)
        C.timer_probe_start(probe, number, delay)
        due[number] = delay + 1
      end
    end
    local expected = 0
    for _ in pairs(due) do expected = expected + 1 end
    local numbers = run(1000)
    assert.equal(expected, #numbers)
    for i = 2, #numbers do assert.is_true(due[numbers[i - 1]] <= due[numbers[i]]) end
  end)
end)
