-- SPDX-License-Identifier: Apache-2.0
-- Consumer groups whose target assignment takes more than one batch: it is written in several, one after the other.
local consumer = require "spec.support.consumer_group"
local shard = require "spec.support.shard"

local MEMBERS, INTERVAL_MS, LOG_ERROR = 1200, 1000, 16
local BATCH_BYTES = 300 * 1024

describe("a target assignment that is large", function()
  local s, epoch, call

  --- Names that are long, so that not so many are needed.
  local function id(i) return ("member-%04d-"):format(i) .. ("x"):rep(250) end

  local function size_of_oldest()
    local size = 0
    for _, record in ipairs(s:records(1)) do size = size + #record.key + #(record.value or "") end
    return size
  end

  before_each(function()
    s = shard.new { topics = { t = MEMBERS }, config = { group_consumer_assignment_interval_ms = INTERVAL_MS,
      group_consumer_session_timeout_ms = 600000 } }
    for i = 1, MEMBERS do epoch = consumer.join(s, "g", id(i), { "t" }, { serverAssignor = "range" }).memberEpoch end
    assert.equal(2, epoch) -- all but the first wait for the interval
    s:advance(INTERVAL_MS)
    s.is_held = true
    call = consumer.send(s, "g", id(MEMBERS), epoch)
  end)
  after_each(function() s:close() end)

  it("is written in batches of a bounded size, each when the one before it is on the log", function()
    local batches = 0
    while #s.taken > 0 do
      assert.equal(1, #s.taken)
      assert.is_nil(call.response)
      assert.is_true(size_of_oldest() < BATCH_BYTES)
      batches = batches + 1
      s:settle(1)
    end
    assert.is_true(batches > 1)
    assert.same({ 0, 1 + MEMBERS }, { call.response.errorCode, call.response.memberEpoch })
    local group = consumer.describe(s, "g")
    assert.same({ 1 + MEMBERS, 1 + MEMBERS }, { group.groupEpoch, group.assignmentEpoch })
    for _, member in ipairs(group.members) do assert.equal(1, #member.targetAssignment.topicPartitions[1].partitions) end
  end)

  it("holds up other requests until all of it is written", function()
    local other = consumer.send(s, "g", id(1), epoch)
    while #s.taken > 0 and not call.response do
      assert.is_nil(other.response)
      s:settle(1)
    end
    s:settle(100)
    assert.equal(0, other.response.errorCode)
  end)

  it("is made again when a part of it could not be written", function()
    s:settle(1)
    s:settle(1, LOG_ERROR)
    assert.equal(0, #s.taken)
    assert.equal(LOG_ERROR, call.response.errorCode)
    local group = consumer.describe(s, "g")
    assert.same({ "Assigning", 2 }, { group.groupState, group.assignmentEpoch })
    assert.equal(s:log_dump(), s:dump_all())
    s.is_held = false
    assert.equal(1 + MEMBERS, consumer.beat(s, "g", id(MEMBERS), epoch).memberEpoch)
    assert.equal(1 + MEMBERS, consumer.describe(s, "g").assignmentEpoch)
    assert.equal(s:log_dump(), s:dump_all())
  end)

  it("ends with the shard", function()
    s:settle(1)
    s:stop(LOG_ERROR)
    assert.equal(LOG_ERROR, call.response.errorCode)
  end)
end)
