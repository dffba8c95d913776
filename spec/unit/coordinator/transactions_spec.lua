-- SPDX-License-Identifier: Apache-2.0
-- Offsets of transactions in a log that Apache Kafka wrote, and records that a shard leaves out.
local shard = require "spec.support.shard"
local walk = require "spec.unit.wire.walk"

local UNSTABLE_OFFSET_COMMIT = 88

local function i16(number) return string.char(math.floor(number / 256) % 256, number % 256) end

--- A message of the protocol as bytes.
local function message(name, version, fields)
  local m, keep = walk.fill_struct(walk.messages[name].root, walk.complete(walk.messages[name].root, fields))
  local code, bytes = walk.write(walk.codecs[name], m, version)
  assert(keep and code == 0)
  return bytes
end

--- A record that commits an offset.
local function committed(group, topic, partition, offset, producer_id, version)
  version = version or 3
  return { key = i16(1) .. message("OffsetCommitKey", 0, { group = group, topic = topic, partition = partition }),
    value = i16(version) .. message("OffsetCommitValue", version, { offset = offset, metadata = "", commitTimestamp = 1000,
      expireTimestamp = -1 }), producer_id = producer_id }
end

local function tombstone(group, topic, partition)
  return { key = i16(1) .. message("OffsetCommitKey", 0, { group = group, topic = topic, partition = partition }) }
end

local function offset(s, is_stable)
  local call = s:call("OffsetFetch", 9, "g", { groupId = "g", topics = { { name = "t", partitionIndexes = { 0 } } } },
    { is_stable = is_stable })
  local found = call.response.topics[1].partitions[1]
  return found.errorCode ~= 0 and -found.errorCode or found.committedOffset
end

describe("an offset of a transaction", function()
  local s
  local function load(...) s = shard.new { log = { ... } } end
  after_each(function() s:close() end)

  it("counts when the transaction is committed", function()
    load(committed("g", "t", 0, 5, 77), { ends = 77, is_commit = true })
    assert.equal(5, offset(s))
  end)

  it("never counts when it is aborted, and leaves no group", function()
    load(committed("g", "t", 0, 5, 77), { ends = 77, is_commit = false })
    assert.equal(-1, offset(s))
    assert.same({}, s:groups())
  end)

  it("is not seen while the transaction is open, and is UNSTABLE_OFFSET_COMMIT to who wants stable ones", function()
    load(committed("g", "t", 0, 4), committed("g", "t", 0, 5, 77))
    assert.equal(4, offset(s))
    assert.equal(-UNSTABLE_OFFSET_COMMIT, offset(s, true))
  end)

  it("leaves other partitions stable", function()
    load(committed("g", "t", 1, 5, 77), committed("g", "t", 0, 4))
    assert.equal(4, offset(s, true))
  end)

  it("does not replace what was committed later", function()
    load(committed("g", "t", 0, 5, 77), committed("g", "t", 0, 6), { ends = 77, is_commit = true })
    assert.equal(6, offset(s))
  end)

  it("counts in the order of the records, not of the markers", function()
    load(committed("g", "t", 0, 5, 77), committed("g", "t", 0, 6, 78), { ends = 78, is_commit = true },
      { ends = 77, is_commit = true })
    assert.equal(6, offset(s))
  end)

  it("replaces what an aborted one would have committed", function()
    load(committed("g", "t", 0, 5, 77), committed("g", "t", 0, 6, 78), { ends = 78, is_commit = false },
      { ends = 77, is_commit = true })
    assert.equal(5, offset(s))
  end)

  it("goes with a tombstone", function()
    load(committed("g", "t", 0, 5, 77), tombstone("g", "t", 0), { ends = 77, is_commit = true })
    assert.equal(-1, offset(s))
  end)

  it("is the last of its transaction", function()
    load(committed("g", "t", 0, 5, 77), committed("g", "t", 0, 9, 77), { ends = 77, is_commit = true })
    assert.equal(9, offset(s))
  end)

  it("keeps its group from expiring", function()
    load(committed("g", "t", 0, 5, 77))
    s:advance(30 * 24 * 3600 * 1000)
    assert.same({ "g" }, s:groups())
  end)

  it("goes when the group is deleted", function()
    load(committed("g", "t", 0, 5, 77))
    assert.equal(0, s:call("DeleteGroups", 2, "g").response.errorCode)
    assert.same({}, s:groups())
  end)
end)

describe("a record of __consumer_offsets", function()
  for version = 0, 4 do
    it(("with a value of version %d is read"):format(version), function()
      local s = shard.new { log = { committed("g", "t", 0, 40 + version, nil, version) } }
      assert.equal(40 + version, offset(s))
      s:close()
    end)
  end

  it("of the oldest kind is read", function()
    local s = shard.new { log = { {
      key = i16(0) .. message("LegacyOffsetCommitKey", 0, { group = "g", topic = "t", partition = 0 }),
      value = i16(0) .. message("LegacyOffsetCommitValue", 0, { offset = 12, metadata = "m", commitTimestamp = 1 }) } } }
    assert.equal(12, offset(s))
    s:close()
  end)

  it("with a key or value of an unknown version is left out, and the others are read", function()
    local newer = committed("g", "t", 0, 1)
    newer.value = i16(9) .. newer.value:sub(3)
    local s = shard.new { log = { { key = i16(99) .. "what", value = i16(0) }, committed("g", "t", 0, 7), newer } }
    assert.equal(7, offset(s))
    s:close()
  end)

  it("that is cut anywhere is refused and changes nothing", function()
    local s = shard.new { log = { committed("g", "t", 0, 7) } }
    local whole = committed("g", "t", 0, 8)
    local before = s:dump_all()
    for size = 0, #whole.key - 1 do
      assert.truthy(s:replay { key = whole.key:sub(1, size), value = whole.value } < 0)
    end
    for size = 0, #whole.value - 1 do
      assert.truthy(s:replay { key = whole.key, value = whole.value:sub(1, size) } < 0)
    end
    assert.equal(before, s:dump_all())
    s:close()
  end)
end)

