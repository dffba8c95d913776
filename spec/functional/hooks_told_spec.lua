-- SPDX-License-Identifier: Apache-2.0
-- Hooks that are told what has happened, timers and placement, with a real broker.
local admins = require "spec.support.admin"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local faults = require "spec.support.faults"
local groups = require "spec.support.group"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local function wait_for_line(broker, text)
  clients.wait_until("the log says " .. text, function() return broker:log():find(text, 1, true) ~= nil end)
end

describe("hooks that are told", function()
  it("hear of starts, reloads and stops", function()
    local config = [[
      broker { id = 7 }
      hook("broker.start", function(event) log.info("started", event.broker) end)
      hook("broker.stop", function(event) log.info("stopping", event.broker, #admin.topics()) end)
      hook("reload", function(event) log.info("read again", event.file:match "[^/]+$") end)]]
    local broker = reload.start(config)
    wait_for_line(broker, "config.lua:2: started 7")
    reload.hup(broker, config .. " -- more")
    wait_for_line(broker, "config.lua:4: read again config.lua")
    assert.equal(0, broker:stop())
    wait_for_line(broker, "config.lua:3: stopping 7 0")
  end)

  it("do not hold up a stop for long", function()
    local broker = reload.start 'broker {} hook("broker.stop", function() while true do admin.topics() end end)'
    assert.equal(0, broker:stop())
  end)

  it("hear of leaders, replicas and brokers, those of before too", function()
    local broker = reload.start [[
      broker { id = 1 }
      topic "old" { partitions = 1 }
      hook("leader.change", function(e) log.info("leader", e.topic, e.partition, e.before, e.leader, e.epoch) end)
      hook("isr.change", function(e) log.info("isr", e.topic, e.partition, #e.before, e.isr[1]) end)
      hook("broker.up", function(e) log.info("up", e.broker) end)]]
    wait_for_line(broker, "leader old 0 -1 1 0")
    wait_for_line(broker, "up 1")
    admins.of(broker).create_topic("new", { partitions = 2 })
    wait_for_line(broker, "leader new 1 -1 1 0")
    wait_for_line(broker, "isr new 1 0 1")
    assert.equal(0, broker:stop())
  end)

  it("hear of segments that begin and go", function()
    local broker = reload.start [[
      broker { log_retention_check_interval_ms = 100 }
      hook("log.roll", function(e) log.info("roll", e.topic, e.partition, e.base_offset) end)
      hook("log.delete", function(e) log.info("gone", e.topic, e.partition, e.base_offset, e.size > 0) end)]]
    local client = broker:connect()
    local topic = requests.create(client, "rolling", { configs = { ["segment.bytes"] = "1048576" } })
    for _ = 1, 3 do requests.append(client, topic, records.batch { records = { ("x"):rep(700000) } }) end
    wait_for_line(broker, "roll rolling 0 1")
    wait_for_line(broker, "roll rolling 0 2")
    admins.of(broker).delete_records("rolling", { [0] = 2 })
    wait_for_line(broker, "gone rolling 0 0 true")
    wait_for_line(broker, "gone rolling 0 1 true")
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("hear of a disk that fails", function()
    local data = brokers.temp_dir() .. "/data"
    local disk = faults.new(data)
    local broker = reload.start([[
      broker { id = 1 }
      hook("disk.fail", function(e) log.info("disk", e.path:match "[^/]+$", e.error ~= "") end)]], { data = data, env = disk.env })
    local client = broker:connect()
    local topic = requests.create(client, "ill")
    disk:arm { kind = "write", err = "EIO", times = -1, suffix = ".log" }
    client:ask("Produce", 7, { acks = 1, timeout_ms = 10000, topic_data = { { name = topic.name,
      partition_data = { { index = 0, records = records.batch { records = { "x" } } } } } } })
    wait_for_line(broker, "config.lua:2: disk data true")
    disk:disarm()
    client:close()
    broker:kill()
  end)

  it("hear of groups that have members, and of those that have none any more", function()
    local broker = reload.start [[
      broker { offsets_topic_num_partitions = 1, workers = 2, group_initial_rebalance_delay_ms = 0 }
      hook("group.rebalance", function(e) log.info("rebalance", e.group, e.type, e.generation, e.members) end)
      hook("group.empty", function(e) log.info("empty", e.group, e.type) end)]]
    local client = broker:connect()
    groups.prepare(client)
    requests.create(client, "topic")
    local beat = client:ask("ConsumerGroupHeartbeat", 1, { group_id = "new", member_id = "m1", member_epoch = 0,
      rebalance_timeout_ms = 1000, subscribed_topic_names = { "topic" }, topic_partitions = {} })
    assert.equal(0, beat.error_code)
    clients.wait_until("the group is assigned", function()
      client:ask("ConsumerGroupHeartbeat", 1, { group_id = "new", member_id = "m1", member_epoch = beat.member_epoch })
      return broker:log():match "rebalance new consumer %d+ 1" ~= nil
    end)
    client:ask("ConsumerGroupHeartbeat", 1, { group_id = "new", member_id = "m1", member_epoch = -1 })
    wait_for_line(broker, "empty new consumer")
    local join = { group_id = "old", session_timeout_ms = 10000, rebalance_timeout_ms = 10000, member_id = "",
      protocol_type = "consumer", protocols = { { name = "range", metadata = groups.subscription { "topic" } } } }
    local joined = client:ask("JoinGroup", 3, join)
    assert.equal(0, joined.error_code)
    client:ask("SyncGroup", 2, { group_id = "old", generation_id = joined.generation_id, member_id = joined.member_id,
      assignments = { { member_id = joined.member_id, assignment = groups.assignment { topic = { 0 } } } } })
    wait_for_line(broker, "rebalance old classic 1 1")
    client:ask("LeaveGroup", 2, { group_id = "old", member_id = joined.member_id })
    wait_for_line(broker, "empty old classic")
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("lose what does not fit the line, which is said", function()
    local broker = reload.start([[
      broker {}
      topic "many" { partitions = 1300 }
      hook("leader.change", function(e) if e.topic == "many" then admin.topics() end end)]], { data = brokers.temp_dir(true) .. "/data" })
    wait_for_line(broker, "events were not told to their functions")
    assert.equal(0, broker:stop())
  end)
end)

describe("timers", function()
  it("run again and again, or once, and call the broker", function()
    local broker = reload.start [[
      broker {}
      every(20, function()
        local n = shared "n":incr("runs", 1, 0)
        if n == 1 then admin.create_topic("made") elseif n == 3 then log.info("third run", admin.topics()[1].name) end
        if n == 4 then produce("made", { value = "hello" }) log.info "produced" end
      end)
      after(30, function() log.info("once", shared "n":incr("once", 1, 0)) end)]]
    wait_for_line(broker, "third run made")
    wait_for_line(broker, "produced")
    wait_for_line(broker, "once 1")
    assert.is_nil(broker:log():find("once 2", 1, true))
    assert.equal(0, broker:stop())
  end)

  it("leave out a run while the one before is not over", function()
    local broker = reload.start [[
      broker {}
      every(20, function()
        local start = now()
        while now() < start + 200 do admin.topics() end
        log.info "slow run"
      end)]]
    wait_for_line(broker, "timer every 20 ms:")
    wait_for_line(broker, "the run before is not over yet, this one is left out")
    wait_for_line(broker, "slow run")
    assert.equal(0, broker:stop())
  end)

  it("say their errors once a second, with file and line, and end with a reload", function()
    local broker = reload.start "broker {}\nevery(10, function()\n  error \"sour\"\nend)"
    wait_for_line(broker, "config.lua:3: sour (error 1 of this policy)")
    local _, said = broker:log():gsub("sour", "")
    assert.is_true(said <= 2)
    reload.hup(broker, "broker {}\nafter(10, function() log.info \"sweet\" end)")
    wait_for_line(broker, "sweet")
    assert.equal(0, broker:stop())
  end)
end)

describe("placement", function()
  local CONFIG = [[
    broker { id = 5, auto_create_topics_enable = true }
    defaults { partitions = 2, placement = function(topic, partitions, replicas, brokers)
      log.info("place", topic, partitions, replicas, #brokers)
      local out = {}
      for i = 1, partitions do out[i] = { brokers[1] } end
      if topic == "few" then out[1] = nil end
      if topic == "unknown" then out[1] = { 9 } end
      if topic == "twice" then out[1] = { 5, 5 } end
      if topic == "text" then return "5" end
      if topic == "nothing" then return nil end
      if topic == "fraction" then out[1] = { 5.5 } end
      if topic == "broken" then error "no place" end
      if topic == "no" then reject "not here" end
      if topic == "slow" then while true do admin.topics() end end
      return out
    end }]]

  local broker, admin
  setup(function()
    broker = reload.start(CONFIG)
    admin = admins.of(broker)
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  it("decides for new topics and new partitions", function()
    admin.create_topic("good", { partitions = 3 })
    wait_for_line(broker, "place good 3 1 1")
    admin.create_partitions("good", 5)
    wait_for_line(broker, "place good 2 1 1")
    local topic = admin.describe_topic("good")
    assert.same({ 5, { 5 } }, { #topic.partitions, topic.partitions[5].replicas })
  end)

  it("is told the defaults", function()
    admin.create_topic("plain")
    wait_for_line(broker, "place plain 2 1 1")
  end)

  for topic, said in pairs {
    few = "placement gave 1 partitions, expected 2", unknown = "placement: partition 0: 9 is no broker",
    twice = "placement: partition 0 has 2 brokers, expected 1", text = "placement gave a string, expected a list",
    nothing = "placement gave a nil, expected a list", fraction = "placement: partition 0: 5.5 is no broker",
    broken = "no place",
  } do
    it("is refused for nonsense: " .. topic, function()
      local err = admins.refusal(admin.create_topic, topic)
      assert.equal("INVALID_REPLICA_ASSIGNMENT", err.code)
      assert.truthy(err.message:match "^placement of defaults: .*config%.lua:%d+: ")
      assert.truthy(err.message:find(said, 1, true))
    end)
  end

  it("may reject", function()
    local err = admins.refusal(admin.create_topic, "no")
    assert.same({ "POLICY_VIOLATION", "not here" }, { err.code, err.message })
  end)

  it("gives way to the classic rule when it takes too long", function()
    admin.create_topic("slow")
    assert.same({ 5 }, admin.describe_topic("slow").partitions[1].replicas)
  end)
end)
