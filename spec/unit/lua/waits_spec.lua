-- SPDX-License-Identifier: Apache-2.0
-- What a group waits for, in words.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local waits = require "luka.words.waits"

local AT = 1795996800000 -- 2026-11-30T00:00:00Z
local MINUTE = 60000

local function member(wait, id, silent_ms, fields)
  local out = { wait = wait, member_id = id .. "-uuid", client_id = id, host = "/10.0.0.7", silent_ms = silent_ms }
  for key, value in pairs(fields or {}) do out[key] = value end
  return out
end

local function inside(awaited, fields)
  local out = { now = AT, generation = 4, members = 5, is_initial_delay = false, is_storing = false, awaited = awaited,
    awaited_total = #awaited }
  for key, value in pairs(fields or {}) do out[key] = value end
  return out
end

describe("luka.words.waits, of classic groups", function()
  it("says nothing when nothing is waited for", function() assert.is_nil(waits.classic(inside {})) end)

  it("names who has not joined, the most silent first, with until when each is waited for", function()
    assert.equal("2 of 5 members to join again: consumer-2 (10.0.0.7, silent for 12 seconds, until 00:00:20Z), consumer-1 "
      .. "(10.0.0.7, heard of just now, until 00:01:00Z)", waits.classic(inside({
      member("join", "consumer-1", 999, { until_time = AT + 5 * MINUTE }),
      member("join", "consumer-2", 12345, { until_time = AT + 20000 }) }, { until_time = AT + MINUTE })))
  end)

  it("calls static members by their names, and clients without one by their member id", function()
    assert.equal("2 of 5 members to join again: static-a (10.0.0.7, silent for 2 minutes), -uuid (10.0.0.7, silent for 1 second)",
      waits.classic(inside { member("join", "", 1000), member("join", "x", 2 * MINUTE, { instance_id = "static-a" }) }))
  end)

  it("tells ids that nobody has joined with from members", function()
    assert.equal("1 of 5 members to join again: a (10.0.0.7, silent for 2 seconds); a new member to join with its id: b "
      .. "(10.0.0.7, silent for 3 seconds)", waits.classic(inside { member("first_join", "b", 3000), member("join", "a", 2000) }))
    assert.matches("^2 new members to join with their ids: ",
      waits.classic(inside { member("first_join", "b", 3000), member("first_join", "a", 2000) }))
  end)

  it("names the leader whose assignment is awaited, and those who have not taken theirs", function()
    assert.equal("the assignment by the leader: a (10.0.0.7, silent for 2 seconds); 1 of 5 members to take the assignment: b "
      .. "(10.0.0.7, silent for 3 seconds)", waits.classic(inside { member("sync", "b", 3000), member("assignment", "a", 2000) }))
  end)

  it("counts those that it does not name", function()
    local awaited = {}
    for i = 1, 8 do awaited[i] = member("join", "c" .. i, i * 1000) end
    assert.matches("^8 of 9 members to join again: c8 .* c4 %(10%.0%.0%.7, silent for 4 seconds%), and 3 more$",
      waits.classic(inside(awaited, { members = 9 })))
    assert.matches("^100 of 500 members to join again: c8 .*, and 95 more$",
      waits.classic(inside(awaited, { members = 500, awaited_total = 100 })))
  end)

  it("says that it waits for more members, or for the log", function()
    assert.equal("more members that join, until 00:00:03Z",
      waits.classic(inside({}, { is_initial_delay = true, until_time = AT + 3000 })))
    assert.equal("its assignment to be written", waits.classic(inside({}, { is_storing = true })))
  end)
end)

describe("luka.words.waits, of consumer groups", function()
  local function consumer(id, epoch, target)
    return { member_id = id .. "-uuid", client_id = id, host = "10.0.0.7", epoch = epoch, target = target }
  end

  it("says nothing when all have their assignment", function()
    assert.is_nil(waits.consumer { epoch = 3, assignment_epoch = 3, members = { consumer("a", 3) } })
  end)

  it("names who has not taken up the assignment", function()
    assert.equal("2 of 3 members to take up the new assignment: a (10.0.0.7), b (10.0.0.7)", waits.consumer { epoch = 3,
      assignment_epoch = 3, members = { consumer("a", 2), consumer("b", 3, { t = { 1 } }), consumer("c", 3) } })
  end)

  it("says that there is no new assignment yet", function()
    assert.equal("its assignment to be made", waits.consumer { epoch = 4, assignment_epoch = 3, members = {} })
  end)
end)
