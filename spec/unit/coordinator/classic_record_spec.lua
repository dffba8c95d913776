-- SPDX-License-Identifier: Apache-2.0
-- What a classic group has in the log: when its record is written, what a coordinator that loads it knows, and what
-- happens when a write fails.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"
local unit = require "spec.support.unit"

local E = classic.errors
local s

local function error_of(call) return call.response and call.response.errorCode end

describe("the record of a classic group", function()
  before_each(function() s = shard.new { topics = { t = 4 } } end)
  after_each(function() s:close() end)

  -- Bytes that Apache Kafka 4.4.0 wrote for a new group, but for name and time.
  it("is written when the group is new, as Kafka does", function()
    classic.join(s)
    assert.equal(1, #s.log)
    assert.equal("0002000167", unit.hex(s.log[1].key))
    assert.equal("0003" .. "0000" .. "00000000" .. "ffff" .. "ffff" .. ("%016x"):format(s.now_ms) .. "00000000",
      unit.hex(s.log[1].value))
  end)

  it("has members and assignments when the leader has assigned, in the version that Kafka writes", function()
    local call = classic.join(s, { instance = "i1", metadata = "a" })
    s:advance(0)
    local id = call.response.memberId
    classic.sync(s, id, 1, { [id] = "x" }, { instance = "i1" })
    assert.equal(2, #s.log)
    local hex, time = unit.hex(id), ("%016x"):format(s.now_ms)
    local size = ("%04x"):format(#id)
    assert.equal("0003" .. "0008" .. unit.hex "consumer" .. "00000001" .. "0005" .. unit.hex "range" .. size .. hex .. time
      .. "00000001" .. size .. hex .. "0002" .. unit.hex "i1" .. "0006" .. unit.hex "client"
      .. "000a" .. unit.hex "/127.0.0.1" .. "0000ea60" .. "00002710" .. "00000001" .. "61" .. "00000001" .. "78",
      unit.hex(s.log[2].value))
  end)

  it("is written when the group becomes empty, and its tombstone when it is deleted", function()
    classic.leave(s, (classic.stable(s, 1)))
    assert.equal(3, #s.log)
    s:call("DeleteGroups", 2, "g")
    assert.equal(4, #s.log)
    assert.is_nil(s.log[4].value)
    assert.equal("", classic.loaded_dump(s))
  end)

  it("makes the same group of a coordinator that loads it, whose members' sessions begin anew", function()
    local ids, generation = classic.stable(s, 3)
    local before = s:dump "g"
    local after = s:reloaded()
    assert.equal(before, after:dump "g")
    s:close()
    s = after
    s:advance(9999)
    assert.equal(E.NONE, classic.heartbeat(s, ids[1], generation))
    s:advance(1)
    assert.equal(E.UNKNOWN_MEMBER_ID, classic.heartbeat(s, ids[2], generation))
    assert.equal(E.REBALANCE_IN_PROGRESS, classic.heartbeat(s, ids[1], generation))
  end)

  it("of a group in the middle of a rebalance is that of the generation before", function()
    local ids, generation = classic.stable(s, 2)
    local before = s:dump "g"
    classic.join(s, { member = ids[1] })
    classic.join(s, { member = ids[2] })
    local after = s:reloaded()
    assert.equal(before, after:dump "g")
    assert.equal(E.NONE, classic.heartbeat(after, ids[2], generation))
    after:close()
  end)

  it("that names a member twice is left out", function()
    classic.stable(s, 1)
    local value = s.log[#s.log].value
    local from = value:find "client%-" - 2
    local at = value:find("client-", from + 3, true) - 2 -- the member, behind the leader
    local twice = value:sub(1, at - 2) .. "\2" .. value:sub(at):rep(2)
    local other = shard.new { log = {} }
    assert.truthy(other:replay { key = s.log[1].key, value = twice } < 0)
    assert.same({}, other:groups())
    other:close()
  end)

  it("that is cut short anywhere is left out", function()
    classic.stable(s, 2)
    local record = s.log[#s.log]
    local other = shard.new { log = {} }
    for size = 2, #record.value - 1 do
      assert.truthy(other:replay { key = record.key, value = record.value:sub(1, size) } < 0)
    end
    assert.same({}, other:groups())
    other:close()
  end)
end)

describe("a write of a classic group", function()
  local call
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    call = classic.join(s, { version = 3 })
    s:advance(0)
    s.is_held = true
  end)
  after_each(function()
    s.is_held = false
    s:settle(#s.taken)
    s:close()
  end)

  it("is waited for by those that sync", function()
    local id = call.response.memberId
    local sync = classic.sync(s, id, 1, { [id] = "x" })
    assert.is_nil(error_of(sync))
    assert.equal("CompletingRebalance", classic.state(s))
    assert.equal(E.NONE, classic.heartbeat(s, id, 1))
    s:settle(1)
    assert.equal("x", sync.response.assignment)
    assert.equal("Stable", classic.state(s))
  end)

  for kafka, client in pairs { [19] = E.COORDINATOR_NOT_AVAILABLE, [7] = E.COORDINATOR_NOT_AVAILABLE,
    [6] = E.NOT_COORDINATOR, [56] = E.NOT_COORDINATOR, [10] = E.UNKNOWN_SERVER_ERROR, [16] = E.NOT_COORDINATOR } do
    it(("that fails with %d gives %d to those that sync, and all join again"):format(kafka, client), function()
      local id = call.response.memberId
      local sync = classic.sync(s, id, 1, { [id] = "x" })
      s:settle(1, kafka)
      assert.equal(client, error_of(sync))
      assert.equal("PreparingRebalance", classic.state(s))
      assert.equal("", classic.describe(s).members[1].memberAssignment)
      assert.equal(2, classic.join(s, { member = id }).response.generationId)
    end)
  end

  it("does not make a group stable that has gone on to another generation", function()
    local id = call.response.memberId
    local sync = classic.sync(s, id, 1, { [id] = "x" })
    local again = classic.join(s, { member = id, metadata = "new" })
    assert.equal(E.REBALANCE_IN_PROGRESS, error_of(sync))
    assert.equal(2, again.response.generationId)
    s:settle(1)
    assert.equal("CompletingRebalance", classic.state(s))
    assert.equal("", classic.describe(s).members[1].memberAssignment)
  end)

  it("is made once when the leader syncs twice", function()
    local id = call.response.memberId
    local first = classic.sync(s, id, 1, { [id] = "x" })
    local second = classic.sync(s, id, 1, { [id] = "y" })
    assert.equal(E.REBALANCE_IN_PROGRESS, error_of(first))
    s:settle(1)
    assert.equal(0, #s.taken)
    assert.equal("x", second.response.assignment)
  end)

  it("that a new group exists undoes it when it fails", function()
    local join = classic.join(s, { group = "h", version = 3 })
    s:settle(1, 19)
    assert.equal(E.COORDINATOR_NOT_AVAILABLE, error_of(join))
    assert.same({ "g" }, s:groups())
  end)

  it("that came after that one, and does not fail, brings the group back as it is in the log", function()
    local join = classic.join(s, { group = "h", version = 3 })
    s:advance(0)
    local id = join.response.memberId
    local sync = classic.sync(s, id, 1, { [id] = "x" }, { group = "h" })
    s:settle(1, 19)
    assert.equal(E.COORDINATOR_NOT_AVAILABLE, error_of(sync))
    s:settle(1)
    assert.equal(classic.loaded_dump(s, "h"), s:dump "h")
    assert.equal(E.NONE, classic.heartbeat(s, id, 1, { group = "h" }))
    s:advance(10000)
    assert.equal("Empty", classic.state(s, "h"))
  end)
end)
