-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("event_driver.h")

describe("the pool", function()
  for _, threads in ipairs { 1, 4 } do
    describe(("of %d thread(s)"):format(threads), function()
      local probe = ffi.new("struct pool_probe")
      C.pool_probe_run(threads, 2000, probe)

      it("runs every job before it is deleted", function() assert.equal(2000, tonumber(probe.worked)) end)
      it("mails every completion that was asked for", function() assert.equal(1000, tonumber(probe.done)) end)
      it("works on its threads and completes on the loop", function() assert.equal(0, tonumber(probe.misplaced)) end)
      it("works inside the epoch", function() assert.equal(0, tonumber(probe.outside)) end)
      it("takes jobs first come, first served", function() assert.equal(0, tonumber(probe.misordered)) end)
    end)
  end

  for _, threads in ipairs { 2, 4 } do
    describe(("of %d threads, given long jobs that wait for a later short one,"):format(threads), function()
      local probe = ffi.new("struct pool_long_probe")
      C.pool_long_probe_run(threads, probe)

      it("keeps a thread for the short one", function()
        assert.equal(0, probe.gave_up)
        assert.is_true(probe.is_short_first)
      end)
      it("runs one long job less than it has threads", function() assert.equal(threads - 1, probe.most_at_once) end)
      it("runs all of them before it is deleted", function() assert.equal(2 * threads, probe.long_worked) end)
      it("begins them in their order", function() assert.equal(0, probe.misordered) end)
    end)
  end

  it("of one thread runs long jobs too", function()
    local probe = ffi.new("struct pool_long_probe")
    C.pool_long_probe_alone(probe)
    assert.same({ 2, 1, 0 }, { probe.long_worked, probe.most_at_once, probe.misordered })
  end)
end)
