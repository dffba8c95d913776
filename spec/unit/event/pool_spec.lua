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
end)
