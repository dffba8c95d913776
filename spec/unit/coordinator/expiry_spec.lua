-- SPDX-License-Identifier: Apache-2.0
-- When offsets and groups of a shard go by themselves, or because somebody says so.
local shard = require "spec.support.shard"

local MINUTE, DAY = 60 * 1000, 24 * 60 * 60 * 1000
local GROUP_ID_NOT_FOUND = 69

local function commit(s, group, topic, partition, offset, more, version)
  local body = { groupId = group, topics = { { name = topic, partitions = { { partitionIndex = partition,
    committedOffset = offset } } } } }
  for key, value in pairs(more or {}) do body[key] = value end
  return s:call("OffsetCommit", version or 9, group, body).response.topics[1].partitions[1].errorCode
end

local function offset(s, group, topic, partition, options)
  local call = s:call("OffsetFetch", 9, group, { groupId = group, topics = { { name = topic,
    partitionIndexes = { partition } } } }, options)
  local found = call.response.topics[1].partitions[1]
  return found.errorCode ~= 0 and -found.errorCode or found.committedOffset
end

describe("an offset of a group without members", function()
  local s
  before_each(function() s = shard.new { topics = { t = 3 }, config = { offsets_retention_ms = 7 * DAY } } end)
  after_each(function() s:close() end)

  it("goes a retention time after its commit, at the next look", function()
    commit(s, "g", "t", 0, 1)
    s:advance(7 * DAY - 1)
    assert.equal(1, offset(s, "g", "t", 0))
    s:advance(10 * MINUTE)
    assert.equal(-1, offset(s, "g", "t", 0))
  end)

  it("stays while it is committed again", function()
    commit(s, "g", "t", 0, 1)
    s:advance(6 * DAY)
    commit(s, "g", "t", 0, 2)
    s:advance(6 * DAY)
    assert.equal(2, offset(s, "g", "t", 0))
  end)

  it("takes the group with it when it is the last", function()
    commit(s, "g", "t", 0, 1)
    s:advance(3 * DAY)
    commit(s, "g", "t", 1, 1)
    s:advance(5 * DAY)
    assert.same({ "g" }, s:groups())
    s:advance(3 * DAY)
    assert.same({}, s:groups())
    assert.equal("", s:log_dump())
  end)

  it("goes by its own time when the commit said how long", function()
    commit(s, "g", "t", 0, 1, { retentionTimeMs = 2 * DAY }, 4)
    commit(s, "g", "t", 1, 1, { retentionTimeMs = 30 * DAY }, 4)
    s:advance(2 * DAY + 10 * MINUTE)
    assert.equal(-1, offset(s, "g", "t", 0))
    s:advance(27 * DAY)
    assert.equal(1, offset(s, "g", "t", 1))
    s:advance(DAY + 10 * MINUTE)
    assert.equal(-1, offset(s, "g", "t", 1))
  end)

  it("keeps that time over a reload", function()
    commit(s, "g", "t", 0, 1, { retentionTimeMs = 2 * DAY }, 4)
    local again = s:reloaded()
    again:advance(2 * DAY + 10 * MINUTE)
    assert.equal(-1, offset(again, "g", "t", 0))
    again:close()
  end)

  it("stays when its tombstone cannot be written, and goes at a later look", function()
    commit(s, "g", "t", 0, 1)
    s.is_held = true
    s:advance(7 * DAY + 10 * MINUTE)
    assert.equal(1, #s.taken)
    s:settle(1, 16)
    assert.equal(1, offset(s, "g", "t", 0))
    s.is_held = false
    s:advance(10 * MINUTE)
    assert.equal(-1, offset(s, "g", "t", 0))
  end)

  it("goes with its topic", function()
    s:topic("u", 1)
    commit(s, "g", "t", 0, 1)
    commit(s, "g", "u", 0, 2)
    s:topics_deleted { "t" }
    assert.equal(-1, offset(s, "g", "t", 0))
    assert.equal(2, offset(s, "g", "u", 0))
    s:topics_deleted { "u", "other" }
    assert.same({}, s:groups())
  end)
end)

describe("a group", function()
  local s
  before_each(function() s = shard.new { topics = { t = 3 } } end)
  after_each(function() s:close() end)

  local function delete(group)
    return s:call("DeleteGroups", 2, group).response
  end

  it("is deleted with all its offsets", function()
    for partition = 0, 2 do commit(s, "g", "t", partition, 5) end
    assert.equal(0, delete("g").errorCode)
    assert.same({}, s:groups())
    assert.equal("", s:log_dump())
  end)

  it("that is not there cannot be deleted", function()
    assert.equal(GROUP_ID_NOT_FOUND, delete("nobody").errorCode)
  end)

  it("is deleted after the commits that came before", function()
    s.is_held = true
    local committed = s:call("OffsetCommit", 9, "g", { groupId = "g", topics = { { name = "t", partitions = {
      { partitionIndex = 0, committedOffset = 1 } } } } })
    local deleted = s:call("DeleteGroups", 2, "g")
    assert.equal(1, #s.taken)
    s:settle(1)
    assert.equal(0, committed.response.topics[1].partitions[1].errorCode)
    assert.is_nil(deleted.response)
    s:settle(1)
    assert.equal(0, deleted.response.errorCode)
    assert.same({}, s:groups())
  end)

  it("takes a commit that came while it was deleted as the first of a new one", function()
    commit(s, "g", "t", 0, 1)
    s.is_held = true
    local deleted = s:call("DeleteGroups", 2, "g")
    local committed = s:call("OffsetCommit", 9, "g", { groupId = "g", topics = { { name = "t", partitions = {
      { partitionIndex = 1, committedOffset = 2 } } } } })
    assert.equal(1, #s.taken)
    s:settle(1)
    assert.equal(0, deleted.response.errorCode)
    s:settle(1)
    assert.equal(0, committed.response.topics[1].partitions[1].errorCode)
    s.is_held = false
    assert.equal(-1, offset(s, "g", "t", 0))
    assert.equal(2, offset(s, "g", "t", 1))
  end)

  it("with more offsets than fit into one write is deleted with several", function()
    local partitions = {}
    s:topic(("t"):rep(100), 10000)
    for i = 0, 9999 do partitions[i + 1] = { partitionIndex = i, committedOffset = i, committedMetadata = "" } end
    s:call("OffsetCommit", 9, "g", { groupId = "g", topics = { { name = ("t"):rep(100), partitions = partitions } } })
    s.is_held = true
    local deleted = s:call("DeleteGroups", 2, "g")
    assert.truthy(#s.taken > 1)
    s:settle(1)
    assert.is_nil(deleted.response)
    s:settle(100)
    assert.equal(0, deleted.response.errorCode)
    assert.same({}, s:groups())
  end)

  it("is listed with its state and type, and passes filters whatever their case", function()
    commit(s, "g", "t", 0, 1)
    local function list(states, types)
      return s:call("ListGroups", 5, nil, { statesFilter = states, typesFilter = types }).response.groups
    end
    assert.same({ { groupId = "g", protocolType = "", groupState = "Empty", groupType = "classic" } }, list())
    assert.equal(1, #list({ "eMPTY" }, { "CLASSIC" }))
    assert.equal(0, #list { "Stable", "nonsense" })
    assert.equal(0, #list({}, { "consumer" }))
  end)
end)

describe("a step of the wall clock", function()
  local CONFIG = { offsets_retention_ms = 7 * DAY }

  it("takes no offset away that was committed before it", function()
    local s = shard.new { topics = { t = 3 }, config = CONFIG }
    commit(s, "g", "t", 0, 1)
    s:step_wall(30 * DAY)
    s:advance(DAY)
    assert.equal(1, offset(s, "g", "t", 0))
    s:close()
  end)

  it("is in the commits that come after it, so that a start by the right time does not take them for old", function()
    local s = shard.new { topics = { t = 3 }, config = CONFIG, now_ms = DAY }
    s:step_wall(365 * DAY)
    commit(s, "g", "t", 0, 1)
    commit(s, "g", "t", 1, 1, { retentionTimeMs = 2 * DAY }, 4)
    s:advance(DAY)
    local loaded = shard.new { topics = { t = 3 }, config = CONFIG, log = s.log, now_ms = 367 * DAY }
    loaded:advance(6 * 60 * MINUTE)
    assert.same({ 1, 1 }, { offset(loaded, "g", "t", 0), offset(loaded, "g", "t", 1) })
    loaded:advance(DAY)
    assert.same({ 1, -1 }, { offset(loaded, "g", "t", 0), offset(loaded, "g", "t", 1) })
    loaded:close()
    s:close()
  end)

  it("back takes no offset away either", function()
    local s = shard.new { topics = { t = 3 }, config = CONFIG }
    s:step_wall(-30 * DAY)
    commit(s, "g", "t", 0, 1)
    s:advance(6 * DAY)
    assert.equal(1, offset(s, "g", "t", 0))
    s:close()
  end)
end)

describe("a topic that is deleted", function()
  local s
  before_each(function()
    s = shard.new { topics = { t = 3, other = 1 } }
    commit(s, "before", "t", 0, 1)
    s.is_held = true
  end)
  after_each(function() s:close() end)

  local function send(group, topic)
    return s:call("OffsetCommit", 9, group, { topics = { { name = topic, partitions = { { partitionIndex = 0,
      committedOffset = 1 } } } } })
  end

  local function delete()
    s:topic("t", 0)
    s:topics_deleted { "t" }
  end

  local function settle_all()
    while #s.taken > 0 do s:settle(1) end
  end

  it("takes offsets with it whose commits were under way", function()
    local first, second = send("g", "t"), send("h", "t")
    delete()
    settle_all()
    assert.equal(0, first.response.topics[1].partitions[1].errorCode)
    assert.equal(0, second.response.topics[1].partitions[1].errorCode)
    assert.same({}, s:groups())
    assert.equal("", s:log_dump())
  end)

  it("leaves offsets of others alone", function()
    send("g", "other")
    delete()
    settle_all()
    assert.same({ "g" }, s:groups())
    assert.equal(1, offset(s, "g", "other", 0))
  end)

  it("has no commits any more, also of who saw it just before", function()
    delete()
    settle_all()
    local call = send("g", "t")
    settle_all()
    assert.equal(3, call.response.topics[1].partitions[1].errorCode)
    assert.same({}, s:groups())
  end)

  it("is waited for by nobody when the shard ends", function()
    send("g", "t")
    delete()
    s:stop()
  end)
end)
