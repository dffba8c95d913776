-- SPDX-License-Identifier: Apache-2.0
-- Classic groups in a shard: joining, syncing, heartbeats, leaving.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"

local E = classic.errors

describe("a classic group", function()
  local s
  before_each(function() s = shard.new { topics = { t = 4 } } end)
  after_each(function() s:close() end)

  it("gives a first member an id before it joins", function()
    local call = classic.join(s)
    assert.equal(E.MEMBER_ID_REQUIRED, call.response.errorCode)
    assert.truthy(call.response.memberId:match "^client%-%x+%-%x+%-4%x+%-%x+%-%x+$")
    assert.equal("Empty", classic.state(s))
  end)

  it("makes a stable generation of who joined and synced", function()
    local ids, generation = classic.stable(s, 2)
    assert.equal(1, generation)
    local group = classic.describe(s)
    assert.equal("Stable", group.groupState)
    assert.equal("range", group.protocolData)
    assert.equal(2, #group.members)
    assert.equal("2", group.members[2].memberAssignment)
    assert.equal(E.NONE, classic.heartbeat(s, ids[2], generation))
  end)
end)
