-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("flush_driver.h")

local ALL = 0x7fffffffffffffffLL
local SYNC = 0 -- luka.producer.type=sync
local LOOPS, JOBS = 3, 400

local function run(flush_messages, event)
  local probe = ffi.new "struct flush_probe"
  assert.equal(0, C.flush_run(unit.temp_dir(), LOOPS, JOBS, flush_messages, event, probe))
  local result = {}
  for _, name in ipairs { "appended", "failed", "unsafe", "above", "lost", "end_offset", "high_watermark", "recovery_point",
    "durable_offset", "visible_bytes", "batch_bytes" } do result[name] = tonumber(probe[name]) end
  return result
end

-- flush.messages; 0 stands for luka.producer.type=sync.
describe("a partition that acknowledges by what is on disk", function()
  for _, flush_messages in ipairs { 1, 2, 50, ALL, SYNC } do
    it(("acknowledges every append once flush.messages=%s allows it"):format(tostring(flush_messages)), function()
      local probe = run(flush_messages, C.FLUSH_NOTHING)
      assert.same({ LOOPS * JOBS, 0 }, { probe.appended, probe.failed })
      assert.same({ 0, 0, 0 }, { probe.unsafe, probe.above, probe.lost })
      assert.same({ LOOPS * JOBS, LOOPS * JOBS }, { probe.end_offset, probe.high_watermark })
      assert.equal(probe.end_offset * probe.batch_bytes, probe.visible_bytes)
    end)
  end

  it("acknowledges every append while its configuration changes", function()
    local probe = run(ALL, C.FLUSH_SWITCHES)
    assert.same({ LOOPS * JOBS, 0, 0 }, { probe.appended, probe.failed, probe.above })
    assert.same({ LOOPS * JOBS, LOOPS * JOBS }, { probe.end_offset, probe.high_watermark })
    assert.equal(probe.end_offset * probe.batch_bytes, probe.visible_bytes)
  end)

  for _, flush_messages in ipairs { 1, 4, SYNC } do
    it(("answers everybody when a flush fails, and acknowledges nothing that is not on disk, with %d"):format(flush_messages), function()
      local probe = run(flush_messages, C.FLUSH_FAILS)
      assert.equal(LOOPS * JOBS, probe.appended + probe.failed)
      assert.is_true(probe.failed > 0)
      assert.same({ 0, 0, 0 }, { probe.unsafe, probe.above, probe.lost })
      if flush_messages == SYNC then
        assert.is_true(probe.durable_offset >= probe.high_watermark)
      else
        assert.is_true(probe.recovery_point + flush_messages > probe.high_watermark)
      end
    end)

    it(("answers everybody when it is deleted, with %d"):format(flush_messages), function()
      local probe = run(flush_messages, C.FLUSH_DELETES)
      assert.equal(LOOPS * JOBS, probe.appended + probe.failed)
      assert.is_true(probe.failed > 0)
      assert.same({ 0, 0 }, { probe.unsafe, probe.lost })
    end)

    it(("answers everybody when the broker stops, with %d"):format(flush_messages), function()
      local probe = run(flush_messages, C.FLUSH_STOPS)
      assert.equal(LOOPS * JOBS, probe.appended + probe.failed)
      assert.same({ 0, 0, 0 }, { probe.unsafe, probe.above, probe.lost })
    end)
  end
end)
