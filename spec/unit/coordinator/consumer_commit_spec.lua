-- SPDX-License-Identifier: Apache-2.0
-- Offsets of consumer groups: who may commit and read them, by member epoch (KIP-848, KIP-1251).
local consumer = require "spec.support.consumer_group"
local shard = require "spec.support.shard"

local NO_ERROR, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH = 0, 25, 35, 113

describe("an offset of a consumer group", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 4 } }
    consumer.join(s, "g", "m1", { "t" })
  end)
  after_each(function() s:close() end)

  local function commit(member, epoch, partition, version)
    local answer = s:call("OffsetCommit", version or 9, "g", { groupId = "g", memberId = member,
      generationIdOrMemberEpoch = epoch,
      topics = { { name = "t", partitions = { { partitionIndex = partition or 0, committedOffset = 7 } } } } }).response
    return answer.topics[1].partitions[1].errorCode
  end

  local function fetch(member, epoch)
    return s:call("OffsetFetch", 9, "g", { groupId = "g", memberId = member, memberEpoch = epoch,
      topics = { { name = "t", partitionIndexes = { 0 } } } }).response
  end

  it("is committed by a member at its epoch, with version 9 at least", function()
    assert.equal(NO_ERROR, commit("m1", 2))
    assert.equal(7, fetch("m1", 2).topics[1].partitions[1].committedOffset)
    assert.equal(UNSUPPORTED_VERSION, commit("m1", 2, 0, 8))
  end)

  it("is not committed at another epoch, by others, or from outside while there are members", function()
    assert.equal(STALE_MEMBER_EPOCH, commit("m1", 1))
    assert.equal(STALE_MEMBER_EPOCH, commit("m1", 3))
    assert.equal(UNKNOWN_MEMBER_ID, commit("nobody", 2))
    assert.equal(UNKNOWN_MEMBER_ID, commit("", -1))
    consumer.beat(s, "g", "m1", -1)
    assert.equal(NO_ERROR, commit("", -1))
  end)

  it("is committed at an older epoch where the member has had the partition since then", function()
    consumer.join(s, "g", "m2", { "t" })
    s:advance(1000)
    consumer.beat(s, "g", "m1", 2)
    assert.equal(NO_ERROR, commit("m1", 2, 3)) -- it may commit what it is about to give up
    assert.equal(3, consumer.beat(s, "g", "m1", 2, { owned = "t:0,1" }).memberEpoch)
    assert.equal(NO_ERROR, commit("m1", 2, 1))
    assert.equal(STALE_MEMBER_EPOCH, commit("m1", 2, 3))
    assert.equal(STALE_MEMBER_EPOCH, commit("m1", 1, 1))
  end)

  it("is read by members at their epoch, and by anybody who says nothing", function()
    assert.equal(NO_ERROR, fetch("m1", 2).errorCode)
    assert.equal(STALE_MEMBER_EPOCH, fetch("m1", 1).errorCode)
    assert.equal(STALE_MEMBER_EPOCH, fetch("m1", 3).errorCode)
    assert.equal(UNKNOWN_MEMBER_ID, fetch("nobody", 2).errorCode)
    assert.equal(NO_ERROR, fetch(consumer.NULL, -1).errorCode)
  end)
end)
