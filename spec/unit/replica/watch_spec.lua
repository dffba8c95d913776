-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("replica_driver.h")

describe("a watch", function()
  local probe = ffi.new "struct replica_watch_probe"
  local result = C.replica_watch_run(unit.temp_dir() .. "/spec-0", 20000, probe)

  it("loses no wake-up while another thread appends", function()
    assert.equal(0, result)
    assert.equal(20000, tonumber(probe.appended))
    assert.equal(1, tonumber(probe.is_done))
  end)

  it("fires at most once per append, and never early", function()
    assert.is_true(tonumber(probe.fired) >= 1 and tonumber(probe.fired) <= 20000)
    assert.equal(0, tonumber(probe.early))
  end)

  it("fires when its partition is deleted, whatever it waits for", function()
    assert.equal(1, C.replica_watch_delete_run(unit.temp_dir() .. "/spec-0"))
  end)
end)
