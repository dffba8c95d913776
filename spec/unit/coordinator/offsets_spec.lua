-- SPDX-License-Identifier: Apache-2.0
-- Committed offsets in a shard of __consumer_offsets.
local shard = require "spec.support.shard"

local NO_ERROR, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, METADATA_TOO_LARGE = 0, 22, 25, 12
local GROUP_ID_NOT_FOUND, NOT_COORDINATOR = 69, 16

--- A commit of one offset of each { topic, partition, offset, metadata, epoch }.
local function topics_of(offsets)
  local topics, by_name = {}, {}
  for _, offset in ipairs(offsets) do
    local topic = by_name[offset[1]]
    if not topic then
      topic = { name = offset[1], partitions = {} }
      by_name[offset[1]] = topic
      topics[#topics + 1] = topic
    end
    table.insert(topic.partitions, { partitionIndex = offset[2], committedOffset = offset[3],
      committedMetadata = offset[4], committedLeaderEpoch = offset[5] })
  end
  return topics
end

local function commit(s, group, offsets, more, version)
  local body = { groupId = group, topics = topics_of(offsets) }
  for key, value in pairs(more or {}) do body[key] = value end
  return s:call("OffsetCommit", version or 9, group, body)
end

local function fetch(s, group, topic, partitions, options)
  local call = s:call("OffsetFetch", 9, group, { groupId = group,
    topics = { { name = topic, partitionIndexes = partitions } } }, options)
  return call.response.topics[1].partitions
end

local function fetch_all(s, group, options)
  return s:call("OffsetFetch", 9, group, { groupId = group, topics = shard.NULL }, options).response.topics
end

local function first_error(call) return call.response.topics[1].partitions[1].errorCode end

describe("an offset", function()
  local s
  before_each(function() s = shard.new { topics = { t = 3 } } end)
  after_each(function() s:close() end)

  it("is stored with its metadata and leader epoch", function()
    local call = commit(s, "g", { { "t", 0, 42, "note", 7 } })
    assert.equal(NO_ERROR, first_error(call))
    assert.same({ { partitionIndex = 0, committedOffset = 42, committedLeaderEpoch = 7, metadata = "note",
      errorCode = NO_ERROR } }, fetch(s, "g", "t", { 0 }))
  end)

  it("is -1 where nothing was committed", function()
    assert.equal(-1, fetch(s, "g", "t", { 0 })[1].committedOffset)
    commit(s, "g", { { "t", 0, 42 } })
    assert.equal(-1, fetch(s, "g", "t", { 1 })[1].committedOffset)
  end)

  it("is not seen, nor acknowledged, before it is on the log", function()
    s.is_held = true
    local call = commit(s, "g", { { "t", 0, 42 } })
    assert.is_nil(call.response)
    assert.equal(-1, fetch(s, "g", "t", { 0 })[1].committedOffset)
    s:settle(1)
    assert.equal(NO_ERROR, first_error(call))
    assert.equal(42, fetch(s, "g", "t", { 0 })[1].committedOffset)
  end)

  it("stays as it was when the write fails", function()
    commit(s, "g", { { "t", 0, 1 } })
    s.is_held = true
    local call = commit(s, "g", { { "t", 0, 2 } })
    s:settle(1, NOT_COORDINATOR)
    assert.equal(NOT_COORDINATOR, first_error(call))
    assert.equal(1, fetch(s, "g", "t", { 0 })[1].committedOffset)
  end)

  it("leaves no group behind when its first write fails", function()
    s.is_held = true
    commit(s, "g", { { "t", 0, 2 } })
    s:settle(1, NOT_COORDINATOR)
    assert.same({}, s:groups())
  end)

  it("may have 4096 characters of metadata, however many bytes they take", function()
    local wide = ("é"):rep(4096)
    local call = commit(s, "g", { { "t", 0, 1, wide }, { "t", 1, 1, wide .. "x" }, { "t", 2, 1, ("😀"):rep(2048) } })
    local partitions = call.response.topics[1].partitions
    assert.same({ NO_ERROR, METADATA_TOO_LARGE, NO_ERROR },
      { partitions[1].errorCode, partitions[2].errorCode, partitions[3].errorCode })
    assert.equal(-1, fetch(s, "g", "t", { 1 })[1].committedOffset)
  end)

  it("keeps the last of two in one request", function()
    commit(s, "g", { { "t", 0, 1 }, { "t", 0, 2 } })
    assert.equal(2, fetch(s, "g", "t", { 0 })[1].committedOffset)
  end)

  it("is fetched by topic and partition when all are asked for", function()
    s:topic("a", 3)
    s:topic("b", 2)
    commit(s, "g", { { "b", 1, 11 }, { "a", 2, 2 }, { "b", 0, 10 }, { "a", 0, 0 } })
    local topics, seen = fetch_all(s, "g"), {}
    for _, topic in ipairs(topics) do
      for _, partition in ipairs(topic.partitions) do
        seen[#seen + 1] = ("%s-%d %d"):format(topic.name, partition.partitionIndex, partition.committedOffset)
      end
    end
    assert.same({ "a-0 0", "a-2 2", "b-0 10", "b-1 11" }, seen)
  end)

  it("of a group with an empty id is one like others", function()
    commit(s, "", { { "t", 0, 5 } })
    assert.equal(5, fetch(s, "", "t", { 0 })[1].committedOffset)
  end)

  it("of another topic id than the one asked for does not count", function()
    local old = ("\1"):rep(16)
    s:set_topic_id("t", old)
    s:call("OffsetCommit", 10, "g", { groupId = "g", topics = { { name = "t", topicId = old,
      partitions = { { partitionIndex = 0, committedOffset = 9 } } } } })
    assert.equal(9, fetch(s, "g", "t", { 0 })[1].committedOffset)
    local call = s:call("OffsetFetch", 10, "g", { groupId = "g",
      topics = { { name = "t", topicId = ("\2"):rep(16), partitionIndexes = { 0 } } } })
    assert.equal(-1, call.response.topics[1].partitions[1].committedOffset)
  end)
end)

describe("a commit of a member of no group", function()
  local s
  before_each(function() s = shard.new { topics = { t = 3 } } end)
  after_each(function() s:close() end)

  it("is ILLEGAL_GENERATION up to version 8", function()
    local call = commit(s, "g", { { "t", 0, 1 } }, { generationIdOrMemberEpoch = 3, memberId = "m" }, 8)
    assert.equal(ILLEGAL_GENERATION, first_error(call))
  end)

  it("is GROUP_ID_NOT_FOUND from version 9 on", function()
    local call = commit(s, "g", { { "t", 0, 1 } }, { generationIdOrMemberEpoch = 3, memberId = "m" }, 9)
    assert.equal(GROUP_ID_NOT_FOUND, first_error(call))
  end)

  it("is UNKNOWN_MEMBER_ID to a group that has offsets alone", function()
    commit(s, "g", { { "t", 0, 1 } })
    local call = commit(s, "g", { { "t", 0, 2 } }, { generationIdOrMemberEpoch = 3, memberId = "m" })
    assert.equal(UNKNOWN_MEMBER_ID, first_error(call))
  end)
end)
