-- SPDX-License-Identifier: Apache-2.0
-- How long committed offsets are kept (KIP-211): as long as the group has members that subscribe to the topic, and
-- offsets.retention.minutes after that or, without members, after the commit. The broker's calendar is put ahead while it is
-- down, as the shortest retention is a minute. As on Apache Kafka 4.4.0, by its clock.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local clock = require "spec.support.clock"
local group = require "spec.support.group"
local requests = require "spec.support.requests"

local RETENTION_MS = 60000

describe("A committed offset", function()
  local broker, client
  local members = {}

  local function offset_of(name, partition) return group.committed(client, name, { t = { partition } }).t[partition].offset end

  local function wait_until_gone(name)
    clients.wait_until("the offset of " .. name .. " is gone", function() return offset_of(name, 0) == -1 end)
  end

  --- A group with one member that has committed.
  local function join(name, topic)
    local member = group.member(broker, name, { topics = { topic } })
    assert.equal(0, member:join().error_code)
    assert.equal(0, member:sync({ [member.id] = { t = { 0 } } }).error_code)
    assert.equal(0, member:commit({ t = { [0] = 5 } }).t[0])
    members[name] = member
    return member
  end

  setup(function()
    broker = brokers.start { set = { "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0",
      "offsets_retention_minutes=1", "offsets_retention_check_interval_ms=100" } }
    client = broker:connect()
    requests.create(client, "t", { partitions = 2 })
    requests.create(client, "other")
    group.prepare(client)
    join("live", "t")
    join("elsewhere", "other")
    assert.equal(0, join("left", "t"):leave())
    assert.equal(0, group.commit(client, "simple", { t = { [0] = 5 } }).t[0])
    assert.equal(0, group.commit(client, "kept", { t = { [0] = 5 } }, { version = 4, retention_ms = 10 * RETENTION_MS }).t[0])
    client:close()
    assert.equal(0, broker:stop())
    broker.options.env = clock.ahead(RETENTION_MS + 5000)
    broker = broker:restart()
    client = broker:connect()
    assert.equal(0, group.commit(client, "fresh", { t = { [0] = 5 } }).t[0])
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  it("of a client without a group is gone a retention after the commit", function() wait_until_gone "simple" end)

  it("of a group without members is gone a retention after the last one left, and so is the group", function()
    wait_until_gone "left"
    assert.equal("Dead", group.describe(client, "left").group_state)
  end)

  it("of a group with members stays while they subscribe to its topic", function()
    wait_until_gone "simple" -- so long ago that it would be gone, too
    assert.equal(5, offset_of("live", 0))
    local member = members.live
    assert.equal(0, client:ask("Heartbeat", group.HEARTBEAT, { group_id = "live", generation_id = member.generation,
      member_id = member.id }).error_code)
  end)

  it("of a topic that no member subscribes to goes as if there were none", function()
    wait_until_gone "elsewhere"
    assert.equal("Stable", group.describe(client, "elsewhere").group_state)
  end)

  it("with a retention of its own stays for that", function()
    wait_until_gone "simple"
    assert.equal(5, offset_of("kept", 0))
  end)

  it("that was made since stays", function()
    wait_until_gone "simple"
    assert.equal(5, offset_of("fresh", 0))
  end)
end)
