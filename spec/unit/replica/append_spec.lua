-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("replica_driver.h")

local BATCH_BYTES = 61 + 12 -- header, and one record with a null key and the value "value"

describe("a partition's appender", function()
  for _, case in ipairs {
    { loops = 1, how = "" },
    { loops = 2, how = "" },
    { loops = 4, how = "" },
    { loops = 1, who = C.REPLICA_APPEND_GATHER, how = ", each gathering its appends" },
    { loops = 4, who = C.REPLICA_APPEND_GATHER, how = ", each gathering its appends" },
    { loops = 4, who = C.REPLICA_APPEND_GATHER, refused_each = 5, how = ", each gathering its appends, every fifth refused" },
    { loops = 1, who = C.REPLICA_APPEND_THREAD, how = " for a thread that is none" },
    { loops = 4, who = C.REPLICA_APPEND_THREAD, how = " for a thread each that is none" },
    { loops = 4, who = C.REPLICA_APPEND_THREAD, refused_each = 5, how = " for a thread each that is none, every fifth refused" },
    { loops = 6, who = C.REPLICA_APPEND_MIXED, how = ", by loops that gather or do not, and by threads that are none" },
    { loops = 6, who = C.REPLICA_APPEND_MIXED, refused_each = 5, how = ", by all of these, every fifth refused" },
  } do
    describe(("used by %d loop(s)%s"):format(case.loops, case.how), function()
      local jobs = 3000
      local refused = case.refused_each and case.loops * jobs / case.refused_each or 0
      local written = case.loops * jobs - refused
      local probe = ffi.new "struct replica_append_probe"
      local result = C.replica_append_run(unit.temp_dir() .. "/spec-0", case.loops, jobs, case.refused_each or 0,
        case.who or C.REPLICA_APPEND_LOOP, probe)

      it("appends every batch that is not refused", function()
        assert.equal(0, result)
        assert.equal(written, tonumber(probe.appended))
        assert.equal(refused, tonumber(probe.failed))
        assert.equal(refused, tonumber(probe.refused))
      end)

      it("gives each offset once, without gaps", function()
        assert.equal(written, tonumber(probe.end_offset))
        assert.equal(0, tonumber(probe.duplicates))
        assert.equal(0, tonumber(probe.gaps))
      end)

      it("keeps the order in which each of them submitted", function() assert.equal(0, tonumber(probe.misordered)) end)

      it("completes on the loop that is to be told", function() assert.equal(0, tonumber(probe.misplaced)) end)

      it("moves the high watermark to the log end and counts the bytes", function()
        assert.equal(written, tonumber(probe.high_watermark))
        assert.equal(written * BATCH_BYTES, tonumber(probe.visible_bytes))
      end)

      it("shows readers whole snapshots only", function() assert.equal(0, tonumber(probe.torn)) end)
    end)
  end
end)
