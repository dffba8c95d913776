-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("replica_driver.h")

local BATCH_BYTES = 61 + 12 -- header, and one record with a null key and the value "value"

describe("a partition's appender", function()
  for _, loops in ipairs { 1, 2, 4 } do
    describe(("used by %d loop(s)"):format(loops), function()
      local jobs = 3000
      local probe = ffi.new "struct replica_append_probe"
      local result = C.replica_append_run(unit.temp_dir() .. "/spec-0", loops, jobs, probe)

      it("appends every batch", function()
        assert.equal(0, result)
        assert.equal(loops * jobs, tonumber(probe.appended))
        assert.equal(0, tonumber(probe.failed))
      end)

      it("gives each offset once, without gaps", function()
        assert.equal(loops * jobs, tonumber(probe.end_offset))
        assert.equal(0, tonumber(probe.duplicates))
        assert.equal(0, tonumber(probe.gaps))
      end)

      it("keeps the order in which each loop submitted", function() assert.equal(0, tonumber(probe.misordered)) end)

      it("completes on the loop that submitted", function() assert.equal(0, tonumber(probe.misplaced)) end)

      it("moves the high watermark to the log end and counts the bytes", function()
        assert.equal(loops * jobs, tonumber(probe.high_watermark))
        assert.equal(loops * jobs * BATCH_BYTES, tonumber(probe.visible_bytes))
      end)

      it("shows readers whole snapshots only", function() assert.equal(0, tonumber(probe.torn)) end)
    end)
  end
end)
