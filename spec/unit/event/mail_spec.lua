-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("event_driver.h")

describe("a mailbox", function()
  it("runs mails in the order in which they were posted", function()
    local order = ffi.new("int[?]", 100)
    C.mail_probe_order(100, order)
    for i = 0, 99 do assert.equal(i, order[i]) end
  end)

  it("asks for one wake-up, however many mails arrive before the receiver looks", function()
    local order = ffi.new("int[?]", 100)
    assert.equal(1, C.mail_probe_order(100, order))
  end)

  it("loses nothing and keeps each thread's order when several threads post to a running loop", function()
    local probe = ffi.new("struct mail_probe")
    C.mail_probe_threads(4, 20000, probe)
    assert.equal(80000, tonumber(probe.run))
    assert.equal(0, tonumber(probe.misordered))
    assert.equal(0, tonumber(probe.foreign))
  end)
end)
