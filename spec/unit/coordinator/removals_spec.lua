-- SPDX-License-Identifier: Apache-2.0
-- What the log says of members that are thrown out: one line at once, and one a second for all that follow.
local classic = require "spec.support.classic"
local consumer = require "spec.support.consumer_group"
local manager = require "spec.unit.log.manager"
local shard = require "spec.support.shard"

local SILENT = "sent no heartbeat for 10000 ms"

describe("the log, of members that are thrown out,", function()
  local s
  before_each(function() s = shard.new { topics = { t = 4 } } end)
  after_each(function() s:close() end)

  --- The lines while a function runs, without their times.
  local function lines_of(fn)
    local lines = {}
    for i, line in ipairs(manager.lines_of(fn)) do lines[i] = line:match "^info +(.*)$" or line end
    return lines
  end

  it("names one", function()
    local id = classic.stable(s, 1)[1]
    assert.same({ ("group '%s': member %s is removed: it %s"):format(classic.GROUP, id, SILENT) },
      lines_of(function() s:advance(20000) end))
  end)

  it("names the first of many, and counts the others in one line", function()
    local ids = classic.stable(s, 50)
    local lines = lines_of(function() s:advance(20000) end)
    assert.equal(2, #lines)
    assert.equal(("group '%s': member %s is removed: it %s"):format(classic.GROUP, ids[1], SILENT), lines[1])
    assert.equal(("group '%s': 49 more members were removed, the last of which %s"):format(classic.GROUP, SILENT), lines[2])
  end)

  it("has one line a second, of all groups of the shard, in either protocol", function()
    consumer.join(s, "g", "m1", { "t" })
    consumer.join(s, "h", "m1", { "t" })
    s:advance(500)
    consumer.join(s, "h", "m2", { "t" })
    s:advance(2000)
    consumer.join(s, "g", "m3", { "t" })
    assert.same({
      "group 'g': member m1 is removed: it let its session expire",
      "group 'h': 2 more members were removed, the last of which let its session expire",
      "group 'g': member m3 is removed: it let its session expire",
    }, lines_of(function() s:advance(60000) end))
  end)

  it("says of how many groups they were", function()
    for i = 1, 5 do consumer.join(s, "g" .. i, "m", { "t" }) end
    assert.same({
      "group 'g1': member m is removed: it let its session expire",
      "group 'g2' and others: 4 more members were removed, the last of which let its session expire",
    }, lines_of(function() s:advance(60000) end))
  end)

  it("leaves nobody out when the shard is given up", function()
    classic.stable(s, 3)
    local lines = lines_of(function()
      s:advance(10000)
      s:stop()
    end)
    assert.equal(2, #lines)
    assert.equal(("group '%s': 2 more members were removed, the last of which %s"):format(classic.GROUP, SILENT), lines[2])
  end)
end)
