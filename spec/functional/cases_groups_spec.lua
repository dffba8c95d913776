-- SPDX-License-Identifier: Apache-2.0
-- What people have reported about the groups of Kafka-compatible brokers: each report is a fact here. The values are
-- those that Apache Kafka 4.4.0 answers.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local group = require "spec.support.group"
local requests = require "spec.support.requests"

local CODE = group.CODE

describe("Reports about groups:", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "offsets_topic_num_partitions=4", "group_initial_rebalance_delay_ms=0",
      "group_min_session_timeout_ms=1000", "offsets_retention_check_interval_ms=200" } }
    client = broker:connect()
    requests.create(client, "t", { partitions = 4 })
    group.prepare(client)
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  -- confluentinc/librdkafka#5569, KAFKA-7824
  it("a member id that was handed out and never used holds a group up for a session timeout, not a rebalance timeout", function()
    local options = { session_ms = 2000, rebalance_ms = 60000 }
    local first, unused, second = group.member(broker, "unused-id", { session_ms = 30000 }),
      group.member(broker, "unused-id", options), group.member(broker, "unused-id", options)
    assert.equal(0, first:join().error_code)
    assert.equal(0, first:sync({ [first.id] = { t = { 0 } } }).error_code)
    for _, member in ipairs { unused, second } do
      assert.equal(CODE.MEMBER_ID_REQUIRED, member:take_join(5, member:send_join(5)).error_code)
      assert.are_not.equal("", member.id)
    end
    assert.are_not.equal(unused.id, second.id)
    local joining = second:send_join(5)
    clients.wait_until("the first one is told", function() return first:heartbeat() == CODE.REBALANCE_IN_PROGRESS end)
    local rejoining = first:send_join(5)
    assert.equal(0, second:take_join(5, joining).error_code)
    assert.equal(0, first:take_join(5, rejoining).error_code)
    local leader = first.is_leader and first or second
    assert.equal(2, #leader.members)
    assert.equal(0, leader:sync({ [first.id] = { t = { 0 } }, [second.id] = { t = { 1 } } }).error_code)
    local found = group.describe(client, "unused-id")
    assert.equal("Stable", found.group_state)
    assert.equal(2, #found.members)
    assert.equal(CODE.UNKNOWN_MEMBER_ID, unused:take_join(5, unused:send_join(5)).error_code)
  end)

  it("a member without an id joins at once in versions before the two steps", function()
    local member = group.member(broker, "one-step", {})
    local answer = member:take_join(3, member:send_join(3))
    assert.equal(0, answer.error_code)
    assert.are_not.equal("", answer.member_id)
  end)

  -- KAFKA-8500
  it("a static member that comes again replaces the one before it, which is fenced, and no rebalance comes of it", function()
    local first = group.member(broker, "static", { instance = "i1", topics = { "t" } })
    local answer = first:take_join(5, first:send_join(5))
    assert.equal(0, answer.error_code) -- no first step
    assert.equal(1, first.generation)
    assert.equal(0, first:sync({ [first.id] = { t = { 0, 1 } } }).error_code)
    local second = group.member(broker, "static", { instance = "i1", topics = { "t" } })
    answer = second:take_join(5, second:send_join(5))
    assert.equal(0, answer.error_code)
    assert.equal(1, second.generation)
    assert.are_not.equal(first.id, second.id)
    assert.equal(CODE.FENCED_INSTANCE_ID, first:heartbeat())
    assert.equal(CODE.FENCED_INSTANCE_ID, first:commit({ t = { [0] = 5 } }).t[0])
    assert.equal(0, second:heartbeat())
    assert.same({ t = { 0, 1 } }, group.read_assignment(second:sync().assignment))
  end)

  -- redpanda-data/redpanda#2597
  it("an offset that was never committed is -1 with no metadata and no error", function()
    assert.equal(0, group.commit(client, "known", { t = { [0] = 3 } }).t[0])
    for version = 1, 9 do
      for _, case in ipairs { { "unknown-group", "t", 0 }, { "known", "t", 1 }, { "known", "no-such-topic", 0 } } do
        local found = group.committed(client, case[1], { [case[2]] = { case[3] } }, { version = version })
        assert.same({ [case[2]] = { [case[3]] = { offset = -1, metadata = "", code = 0 } } }, found)
      end
      assert.equal(3, group.committed(client, "known", { t = { 0 } }, { version = version }).t[0].offset)
    end
  end)

  -- KAFKA-16371
  it("metadata that is too large costs the offset of its partition alone", function()
    local codes = group.commit(client, "metadata", { t = { [0] = { 7, ("m"):rep(4096) }, [1] = { 8, ("m"):rep(4097) } } })
    assert.same({ t = { [0] = 0, [1] = CODE.OFFSET_METADATA_TOO_LARGE } }, codes)
    local found = group.committed(client, "metadata", { t = { 0, 1 } }, { require_stable = true })
    assert.same({ offset = 7, metadata = ("m"):rep(4096), code = 0 }, found.t[0])
    assert.same({ offset = -1, metadata = "", code = 0 }, found.t[1])
  end)

  it("the limit of metadata counts characters, not bytes", function()
    local codes = group.commit(client, "characters", { t = { [0] = { 7, ("é"):rep(4096) }, [1] = { 8, ("é"):rep(4097) } } })
    assert.same({ t = { [0] = 0, [1] = CODE.OFFSET_METADATA_TOO_LARGE } }, codes)
  end)

  -- redpanda-data/redpanda#2904
  it("a commit of versions 2 to 4 with a retention of its own is kept for as long as it says", function()
    for version = 2, 4 do
      local name = "retention-" .. version
      assert.equal(0, group.commit(client, name, { t = { [0] = 5 } }, { version = version, retention_ms = 500 }).t[0])
      assert.equal(0, group.commit(client, name, { t = { [1] = 6 } }, { version = version, retention_ms = 3600000 }).t[1])
      clients.wait_until("the short one is gone", function()
        return group.committed(client, name, { t = { 0 } }).t[0].offset == -1
      end)
      assert.equal(6, group.committed(client, name, { t = { 1 } }).t[1].offset)
    end
  end)

  -- KAFKA-7610
  it("members that join without an id and go away do not pile up, and the group settles after their session timeout", function()
    local leader = group.member(broker, "pile", { session_ms = 30000, rebalance_ms = 30000 })
    assert.equal(0, leader:join().error_code)
    assert.equal(0, leader:sync({ [leader.id] = { t = { 0 } } }).error_code)
    local members = {}
    for i = 1, 100 do
      members[i] = group.member(broker, "pile", { session_ms = 1000, rebalance_ms = 30000 })
      members[i]:send_join(3)
    end
    clients.wait_until("all have asked", function() return #group.describe(client, "pile").members == 101 end)
    for _, member in ipairs(members) do member:close() end
    clients.wait_until("the group is down to the one that stayed", function()
      if leader:heartbeat() ~= 0 then
        local answer = leader:join()
        if answer.error_code == 0 and leader.is_leader then leader:sync({ [leader.id] = { t = { 0 } } }) end
      end
      local found = group.describe(client, "pile")
      assert.is_true(#found.members <= 101)
      return found.group_state == "Stable" and #found.members == 1
    end, 60000)
  end)

  -- redpanda-data/console#458
  it("a group is deleted unless it has members or there is none of that name", function()
    local member = group.member(broker, "live", {})
    assert.equal(0, member:join().error_code)
    assert.equal(0, member:sync({ [member.id] = { t = { 0 } } }).error_code)
    assert.equal(CODE.NON_EMPTY_GROUP, group.delete(client, "live"))
    assert.equal(0, member:leave())
    assert.equal("Empty", group.describe(client, "live").group_state)
    assert.equal(0, group.delete(client, "live"))
    assert.equal(CODE.GROUP_ID_NOT_FOUND, group.delete(client, "live"))
    assert.equal(CODE.GROUP_ID_NOT_FOUND, group.delete(client, "never-there"))
  end)
end)
