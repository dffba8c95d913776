-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("event_driver.h")

describe("an event loop", function()
  local probe = ffi.new("struct loop_probe")
  C.loop_probe_run(probe)

  it("runs a mail that was posted before it was started", function() assert.is_true(probe.early_mail_ran) end)
  it("runs a mail that was posted before it was asked to stop", function() assert.is_true(probe.late_mail_ran) end)
  it("is the current loop of its thread only", function() assert.is_true(probe.knows_itself) end)
  it("runs callbacks inside the epoch", function() assert.is_true(probe.inside_epoch) end)
  it("pins what was retired while a callback runs", function() assert.is_true(probe.pinned_in_callback) end)
  it("pins nothing while it waits", function() assert.is_true(probe.freed_while_waiting) end)
  it("calls on_stop once, on its thread", function() assert.is_true(probe.stop_on_thread) end)

  it("fires a timer of 30 ms after at least 30 ms", function()
    assert.is_true(probe.timer_ms >= 30 and probe.timer_ms < 5000, tostring(probe.timer_ms))
  end)

  it("waits for a timer in one turn: nothing wakes it before", function()
    assert.equal(1, tonumber(probe.turns_for_timer))
  end)
end)
