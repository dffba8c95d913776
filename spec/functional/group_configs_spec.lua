-- SPDX-License-Identifier: Apache-2.0
-- Configs of groups and of subscriptions to clients' metrics: what they have, what is refused and why, what stays.
-- Values and sentences are those of Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"

local BROKER, METRICS, GROUP = configs.BROKER, configs.METRICS, configs.GROUP
local SET, DELETE, APPEND, SUBTRACT = configs.SET, configs.DELETE, configs.APPEND, configs.SUBTRACT
local FROM_OWN, FROM_STATIC, FROM_DEFAULT = configs.FROM_OWN, configs.FROM_STATIC, configs.FROM_DEFAULT
local FROM_METRICS, FROM_GROUP = configs.FROM_METRICS, configs.FROM_GROUP

local BOOL, STRING, INT, LIST = 1, 2, 3, 7 -- types of configs

--- What a group has that nothing is set on: value, type, and the broker config behind it.
local DEFAULTS = {
  ["consumer.assignment.interval.ms"] = { "1000", INT, "group.consumer.assignment.interval.ms" },
  ["consumer.heartbeat.interval.ms"] = { "5000", INT, "group.consumer.heartbeat.interval.ms" },
  ["consumer.session.timeout.ms"] = { "45000", INT, "group.consumer.session.timeout.ms" },
  ["errors.deadletterqueue.copy.record.enable"] = { "false", BOOL },
  ["errors.deadletterqueue.topic.name"] = { "", STRING },
  ["share.assignment.interval.ms"] = { "1000", INT, "group.share.assignment.interval.ms" },
  ["share.auto.offset.reset"] = { "latest", STRING },
  ["share.delivery.count.limit"] = { "5", INT, "group.share.delivery.count.limit" },
  ["share.heartbeat.interval.ms"] = { "5000", INT, "group.share.heartbeat.interval.ms" },
  ["share.isolation.level"] = { "read_uncommitted", STRING },
  ["share.partition.max.record.locks"] = { "2000", INT, "group.share.partition.max.record.locks" },
  ["share.record.lock.duration.ms"] = { "30000", INT, "group.share.record.lock.duration.ms" },
  ["share.renew.acknowledge.enable"] = { "true", BOOL },
  ["share.session.timeout.ms"] = { "45000", INT, "group.share.session.timeout.ms" },
  ["streams.assignment.interval.ms"] = { "1000", INT, "group.streams.assignment.interval.ms" },
  ["streams.assignor.name"] = { "sticky", STRING, "group.streams.assignors" },
  ["streams.heartbeat.interval.ms"] = { "5000", INT, "group.streams.heartbeat.interval.ms" },
  ["streams.initial.rebalance.delay.ms"] = { "3000", INT, "group.streams.initial.rebalance.delay.ms" },
  ["streams.num.standby.replicas"] = { "0", INT, "group.streams.num.standby.replicas" },
  ["streams.rack.aware.assignment.tags"] = { "", LIST, "group.streams.rack.aware.assignment.tags" },
  ["streams.session.timeout.ms"] = { "45000", INT, "group.streams.session.timeout.ms" },
}

describe("Configs of groups", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function change(kind, name, entries, options)
    local answer = configs.incremental(client, { configs.change(kind, name, entries) }, options)
    return answer[1].error_code, answer[1].error_message
  end

  it("are the defaults where nothing is set, of a group that need not exist", function()
    local shown = configs.describe(client, GROUP, "none")
    local found = {}
    for name, config in pairs(shown) do
      local synonym = config.synonyms[1]
      found[name] = { config.value, config.config_type, synonym.name ~= name and synonym.name or nil }
      assert.same({ FROM_DEFAULT, false, 1, FROM_DEFAULT }, { config.config_source, config.read_only, #config.synonyms, synonym.source })
    end
    assert.same(DEFAULTS, found)
  end)

  it("are set, shown before the broker's, and deleted again", function()
    local name = "consumer.session.timeout.ms"
    assert.equal(0, change(GROUP, "g", { { name, SET, " 50000 " } }))
    assert.same({ "50000", FROM_GROUP, { { name, "50000", FROM_GROUP }, { "group." .. name, "45000", FROM_DEFAULT } } },
      { configs.shown(client, GROUP, "g", name) })
    assert.equal("45000", (configs.shown(client, GROUP, "other", name)))
    assert.equal(0, change(GROUP, "g", { { name, DELETE } }))
    assert.same({ "45000", FROM_DEFAULT }, { (configs.shown(client, GROUP, "g", name)), FROM_DEFAULT })
    assert.equal(0, change(GROUP, "g", { { name, DELETE }, { "no.such", DELETE } }))
  end)

  it("show what Kafka keeps to itself only where it is set", function()
    local names = { "streams.num.warmup.replicas", "streams.task.offset.interval.ms" }
    assert.is_nil((configs.shown(client, GROUP, "hidden", names[1])))
    assert.equal(0, change(GROUP, "hidden", { { names[1], SET, "1" }, { names[2], SET, "15000" } }))
    assert.same({ "1", FROM_GROUP, { { names[1], "1", FROM_GROUP }, { "group." .. names[1], "2", FROM_DEFAULT } } },
      { configs.shown(client, GROUP, "hidden", names[1]) })
    assert.same({ 40, names[1] .. " must be less than or equal to 20" }, { change(GROUP, "hidden", { { names[1], SET, "21" } }) })
    assert.same({ 40, names[2] .. " must be greater than or equal to 15000" },
      { change(GROUP, "hidden", { { names[2], SET, "14999" } }) })
  end)

  it("are replaced as a whole by AlterConfigs", function()
    local function replace(entries) return configs.replace(client, { configs.replacement(GROUP, "r", entries) })[1].error_code end
    assert.equal(0, replace { { "consumer.session.timeout.ms", "50000" } })
    assert.equal(0, replace { { "share.isolation.level", "read_committed" } })
    assert.equal("45000", (configs.shown(client, GROUP, "r", "consumer.session.timeout.ms")))
    assert.equal("read_committed", (configs.shown(client, GROUP, "r", "share.isolation.level")))
    assert.equal(40, replace { { "no.such", "1" } })
    assert.equal(0, replace {})
    assert.equal("read_uncommitted", (configs.shown(client, GROUP, "r", "share.isolation.level")))
  end)

  it("are checked and not changed where only validation is asked for", function()
    local options = { validate_only = true }
    assert.equal(0, change(GROUP, "v", { { "consumer.session.timeout.ms", SET, "50000" } }, options))
    assert.equal(40, (change(GROUP, "v", { { "consumer.session.timeout.ms", SET, "1" } }, options)))
    assert.equal("45000", (configs.shown(client, GROUP, "v", "consumer.session.timeout.ms")))
  end)

  local reset = "Invalid value %s for configuration share.auto.offset.reset: Invalid value `%s` for configuration "
    .. "share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
  local cases = {
    { "consumer.session.timeout.ms", "x", "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT" },
    { "consumer.session.timeout.ms", "0", "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1" },
    { "consumer.session.timeout.ms", "44999", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive." },
    { "consumer.session.timeout.ms", "60001", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive." },
    { "consumer.session.timeout.ms", "45000" }, { "consumer.session.timeout.ms", "60000" },
    { "consumer.heartbeat.interval.ms", "4999", "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive." },
    { "consumer.heartbeat.interval.ms", "15001", "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive." },
    { "consumer.heartbeat.interval.ms", "15000" },
    { "consumer.assignment.interval.ms", "-1",
      "Invalid value -1 for configuration consumer.assignment.interval.ms: Value must be at least 0" },
    { "consumer.assignment.interval.ms", "15001", "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive." },
    { "consumer.assignment.interval.ms", "0" },
    { "no.such", "1", "Unknown group config name: no.such" },
    { "share.auto.offset.reset", "earliest" }, { "share.auto.offset.reset", "by_duration:PT1H" },
    { "share.auto.offset.reset", "by_duration:P1D" }, { "share.auto.offset.reset", "by_duration:PT0S" },
    { "share.auto.offset.reset", "by_duration:pt5s" }, { "share.auto.offset.reset", "by_duration:P-1DT48H" },
    { "share.auto.offset.reset", "by_duration:P1DT2H3M4.5S" }, { "share.auto.offset.reset", " latest " },
    { "share.auto.offset.reset", "none", reset:format("none", "none") }, { "share.auto.offset.reset", "", reset:format("", "") },
    { "share.auto.offset.reset", "LATEST", reset:format("LATEST", "LATEST") },
    { "share.auto.offset.reset", "by_duration:-PT1H", reset:format("by_duration:-PT1H", "by_duration:-PT1H") },
    { "share.auto.offset.reset", "by_duration:", reset:format("by_duration:", "by_duration:") },
    { "share.auto.offset.reset", "by_duration:P", reset:format("by_duration:P", "by_duration:P") },
    { "share.auto.offset.reset", "by_duration:PT", reset:format("by_duration:PT", "by_duration:PT") },
    { "share.auto.offset.reset", "by_duration:P1H", reset:format("by_duration:P1H", "by_duration:P1H") },
    { "share.delivery.count.limit", "1", "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2" },
    { "share.delivery.count.limit", "11", "share.delivery.count.limit must be in the range 2 to 10 inclusive." },
    { "share.isolation.level", "x",
      "Invalid value x for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted" },
    { "share.partition.max.record.locks", "4001", "share.partition.max.record.locks must be in the range 100 to 4000 inclusive." },
    { "share.record.lock.duration.ms", "14999", "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive." },
    { "share.renew.acknowledge.enable", "x",
      "Invalid value x for configuration share.renew.acknowledge.enable: Expected value to be either true or false" },
    { "streams.assignor.name", "x", "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]." },
    { "streams.assignor.name", "sticky" },
    { "streams.num.standby.replicas", "3", "streams.num.standby.replicas must be less than or equal to 2" },
    { "streams.rack.aware.assignment.tags", "a,b" },
    { "streams.rack.aware.assignment.tags", "a,b, a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys." },
    { "streams.rack.aware.assignment.tags", "a,,b", "Configuration 'streams.rack.aware.assignment.tags' values must not be empty." },
    { "errors.deadletterqueue.topic.name", "__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'" },
    { "errors.deadletterqueue.topic.name", "x" },
  }
  for _, case in ipairs(cases) do
    it(("%s %s of %q"):format(case[3] and "refuse" or "take", case[1], case[2]), function()
      local code, message = change(GROUP, "c", { { case[1], SET, case[2] } }, { validate_only = true })
      assert.same({ case[3] and 40 or 0, case[3] }, { code, message })
    end)
  end

  it("have no lists that values could be added to or taken off", function()
    assert.same({ 40, "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST." },
      { change(GROUP, "g", { { "consumer.session.timeout.ms", APPEND, "5" } }) })
    assert.same({ 40, "Can't SUBTRACT to key streams.rack.aware.assignment.tags because its type is not LIST." },
      { change(GROUP, "g", { { "streams.rack.aware.assignment.tags", SUBTRACT, "a" } }) })
  end)

  it("refuse the empty name, a missing value and what no path can hold, and take any other name", function()
    local set = { { "consumer.session.timeout.ms", SET, "50000" } }
    assert.same({ 42, "Default group resources are not allowed." }, { change(GROUP, "", set) })
    assert.same({ 42, "Null value not supported for : consumer.session.timeout.ms" },
      { change(GROUP, "g", { { "consumer.session.timeout.ms", SET } }) })
    assert.equal(42, (change(GROUP, ("x"):rep(600), set)))
    for _, name in ipairs { ".", "..", "a/b ü%", "\1\0\255", ("x"):rep(400), "<default>" } do
      assert.equal(0, change(GROUP, name, set))
      assert.equal("50000", (configs.shown(client, GROUP, name, "consumer.session.timeout.ms")))
      assert.equal(0, change(GROUP, name, { { "consumer.session.timeout.ms", DELETE } }))
    end
  end)

  it("follow what is set on the broker while it runs, within its bounds", function()
    local name = "group.consumer.assignment.interval.ms"
    assert.equal(0, change(BROKER, "1", { { name, SET, "3000" } }))
    assert.same({ "3000", FROM_OWN, { { name, "3000", FROM_OWN }, { name, "1000", FROM_DEFAULT } } },
      { configs.shown(client, GROUP, "g", "consumer.assignment.interval.ms") })
    assert.same({ 42, name .. " must be less than or equal to group.consumer.max.assignment.interval.ms" },
      { change(BROKER, "1", { { name, SET, "15001" } }) })
    assert.equal(0, change(BROKER, "1", { { name, DELETE } }))
    assert.same({ 42, "Cannot update these configs dynamically: [group.consumer.session.timeout.ms]" },
      { change(BROKER, "1", { { "group.consumer.session.timeout.ms", SET, "50000" } }) })
  end)

  describe("of clients' metrics", function()
    it("are set, shown and deleted", function()
      local set = { { "interval.ms", SET, "60000" }, { "metrics", SET, "a,b" }, { "match", SET, "client_id=x" } }
      assert.equal(0, change(METRICS, "m", set))
      local shown = configs.describe(client, METRICS, "m")
      for _, entry in ipairs(set) do
        assert.same({ entry[3], FROM_METRICS, { { name = entry[1], value = entry[3], source = FROM_METRICS } } },
          { shown[entry[1]].value, shown[entry[1]].config_source, shown[entry[1]].synonyms })
      end
      for _, entry in ipairs(set) do assert.equal(0, change(METRICS, "m", { { entry[1], DELETE } })) end
      assert.same({ "300000", FROM_DEFAULT, {} }, { configs.shown(client, METRICS, "m", "interval.ms") })
    end)

    for _, case in ipairs {
      { "interval.ms", "99", 42, "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)" },
      { "interval.ms", "3600001", 42, "Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 (1 hour)" },
      { "interval.ms", "x", 40, "Invalid value x for configuration interval.ms: Not a number of type INT" },
      { "interval.ms", "100", 0 }, { "metrics", "*", 0 }, { "metrics", " ", 0 }, { "metrics", "b,b", 0 },
      { "metrics", "a.b,,", 40, "Configuration 'metrics' values must not be empty." },
      { "match", "", 0 }, { "match", "client_id=.*, client_software_name=a", 0 },
      { "match", "bad=x", 40, "Illegal client matching pattern: bad=x" },
      { "match", "client_id", 40, "Illegal client matching pattern: client_id" },
      { "match", "client_id=a=b", 40, "Illegal client matching pattern: client_id=a=b" },
      { "nosuch", "1", 42, "Unknown client metrics configuration: nosuch" },
    } do
      it(("answer %d to %s of %q"):format(case[3], case[1], case[2]), function()
        assert.same({ case[3], case[4] }, { change(METRICS, "c", { { case[1], SET, case[2] } }, { validate_only = true }) })
      end)
    end

    it("refuse the empty name and lists", function()
      assert.same({ 42, "Subscription name can't be empty" }, { change(METRICS, "", {}) })
      assert.same({ 40, "Can't APPEND to key metrics because its type is not LIST." },
        { change(METRICS, "m", { { "metrics", APPEND, "c" } }) })
    end)
  end)
end)

describe("Configs that were set on a group", function()
  it("stay over a restart, shown as set where the broker's bounds have become narrower", function()
    local name = "consumer.session.timeout.ms"
    local wide = { "group_consumer_min_session_timeout_ms=6000", "group_consumer_session_timeout_ms=50000" }
    local broker = brokers.start { set = wide }
    local client = broker:connect()
    configs.alter(client, GROUP, "a/b", { { name, SET, "7000" } })
    configs.alter(client, METRICS, "m", { { "interval.ms", SET, "5000" } })
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
    assert.same({ "7000", FROM_GROUP, { { name, "7000", FROM_GROUP }, { "group." .. name, "50000", FROM_STATIC },
      { "group." .. name, "45000", FROM_DEFAULT } } }, { configs.shown(client, GROUP, "a/b", name) })
    assert.equal("5000", (configs.shown(client, METRICS, "m", "interval.ms")))
    client:close()
    assert.equal(0, broker:stop())
    broker = brokers.start { data = broker.data }
    client = broker:connect()
    assert.equal("7000", (configs.shown(client, GROUP, "a/b", name)))
    -- All that is set is checked again when something is.
    local answer = configs.incremental(client, { configs.change(GROUP, "a/b", { { "share.isolation.level", SET, "read_committed" } }) })
    assert.same({ 40, name .. " must be in the range 45000 to 60000 inclusive." }, { answer[1].error_code, answer[1].error_message })
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
