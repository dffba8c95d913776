-- SPDX-License-Identifier: Apache-2.0
-- AlterConfigs and IncrementalAlterConfigs: what is changed, what is refused and why, what stays over a restart.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"

local TOPIC, BROKER, LOGGER = configs.TOPIC, configs.BROKER, configs.LOGGER
local SET, DELETE, APPEND, SUBTRACT = configs.SET, configs.DELETE, configs.APPEND, configs.SUBTRACT
local FROM_TOPIC, FROM_OWN, FROM_ALL = configs.FROM_TOPIC, configs.FROM_OWN, configs.FROM_ALL
local FROM_STATIC, FROM_DEFAULT = configs.FROM_STATIC, configs.FROM_DEFAULT

local VERSIONS = { AlterConfigs = { 0, 2 }, IncrementalAlterConfigs = { 0, 1 } }

describe("Changing configs", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "log_retention_hours=2", "message_max_bytes=2000000" } }
    client = broker:connect()
    requests.create(client, "a")
    requests.create(client, "b")
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)
  before_each(function() for _, name in ipairs { "a", "b" } do
    configs.replace(client, { configs.replacement(TOPIC, name, {}) })
  end end)

  local function incremental(kind, name, entries, options)
    local answer = configs.incremental(client, { configs.change(kind, name, entries) }, options)
    assert.equal(1, #answer)
    assert.equal(kind, answer[1].resource_type)
    assert.equal(name, answer[1].resource_name)
    return answer[1].error_code, answer[1].error_message
  end

  local function replace(kind, name, entries, options)
    local answer = configs.replace(client, { configs.replacement(kind, name, entries) }, options)
    assert.equal(1, #answer)
    return answer[1].error_code, answer[1].error_message
  end

  local function value(name, topic) return (configs.shown(client, TOPIC, topic or "a", name)) end

  for version = VERSIONS.AlterConfigs[1], VERSIONS.AlterConfigs[2] do
    it(("replaces all that is set on a topic, in AlterConfigs %d"):format(version), function()
      assert.equal(0, replace(TOPIC, "a", { { "retention.ms", "5" }, { "segment.ms", "6" } }, { version = version }))
      assert.equal("5", value "retention.ms")
      local code, message = replace(TOPIC, "a", { { "segment.ms", "7" } }, { version = version })
      assert.equal(0, code)
      assert.is_nil(message)
      assert.same({ "7", FROM_TOPIC, { { "segment.ms", "7", FROM_TOPIC }, } }, { configs.shown(client, TOPIC, "a", "segment.ms") })
      assert.same({ "7200000", FROM_STATIC }, { value "retention.ms", (select(2, configs.shown(client, TOPIC, "a", "retention.ms"))) })
    end)

    it(("checks and changes nothing where only validation is asked for, in AlterConfigs %d"):format(version), function()
      local options = { version = version, validate_only = true }
      assert.equal(0, replace(TOPIC, "a", { { "retention.ms", "77" } }, options))
      assert.equal(40, replace(TOPIC, "a", { { "retention.ms", "x" } }, options))
      assert.equal("7200000", value "retention.ms")
    end)
  end

  for version = VERSIONS.IncrementalAlterConfigs[1], VERSIONS.IncrementalAlterConfigs[2] do
    it(("sets and deletes single configs of a topic, in IncrementalAlterConfigs %d"):format(version), function()
      local options = { version = version }
      assert.equal(0, incremental(TOPIC, "a", { { "retention.ms", SET, "5" }, { "segment.ms", SET, "6" } }, options))
      assert.equal(0, incremental(TOPIC, "a", { { "retention.ms", DELETE }, { "segment.bytes", SET, "2000000" } }, options))
      assert.same({ "7200000", "6", "2000000" }, { value "retention.ms", value "segment.ms", value "segment.bytes" })
    end)

    it(("checks and changes nothing where only validation is asked for, in IncrementalAlterConfigs %d"):format(version), function()
      local options = { version = version, validate_only = true }
      assert.equal(0, incremental(TOPIC, "a", { { "retention.ms", SET, "77" } }, options))
      assert.equal(40, incremental(TOPIC, "a", { { "retention.ms", SET, "x" } }, options))
      assert.equal("7200000", value "retention.ms")
    end)
  end

  it("adds values to a list and takes them off it", function()
    incremental(TOPIC, "a", { { "cleanup.policy", APPEND, "compact" } })
    assert.equal("delete,compact", value "cleanup.policy")
    assert.equal(0, incremental(TOPIC, "a", { { "cleanup.policy", APPEND, "compact" } }))
    assert.equal("delete,compact", value "cleanup.policy")
    assert.equal(0, incremental(TOPIC, "a", { { "cleanup.policy", SUBTRACT, "delete" } }))
    assert.equal("compact", value "cleanup.policy")
    assert.equal(0, incremental(TOPIC, "a", { { "cleanup.policy", SUBTRACT, "delete" } }))
    assert.equal("compact", value "cleanup.policy")
    assert.equal(0, incremental(TOPIC, "a", { { "cleanup.policy", SUBTRACT, "compact" } }))
    assert.equal("", value "cleanup.policy")
  end)

  it("shows values without blanks, as they are read", function()
    incremental(TOPIC, "a", { { "retention.ms", SET, " 77 " }, { "cleanup.policy", SET, " compact , delete " },
      { "preallocate", SET, "TRUE" }, { "min.cleanable.dirty.ratio", SET, "1" } })
    assert.same({ "77", "compact,delete", "true", "1.0" },
      { value "retention.ms", value "cleanup.policy", value "preallocate", value "min.cleanable.dirty.ratio" })
  end)

  it("keeps a value that is the same as the default as set on the topic", function()
    incremental(TOPIC, "a", { { "segment.bytes", SET, "1073741824" } })
    assert.equal(FROM_TOPIC, (select(2, configs.shown(client, TOPIC, "a", "segment.bytes"))))
  end)

  -- Measured on Apache Kafka 4.4.0. The message names value, key and what is valid.
  local REFUSED = {
    { { "no.such", SET, "1" }, 40, "Unknown topic config name: no.such" },
    { { "message.format.version", SET, "2.0" }, 40, "Unknown topic config name: message.format.version" },
    { { "retention.ms", SET, "x" }, 40, "Invalid value x for configuration retention.ms: Not a number of type LONG" },
    { { "retention.ms", SET, "" }, 40, "Invalid value  for configuration retention.ms: Not a number of type LONG" },
    { { "retention.ms", SET, "-2" }, 40, "Invalid value -2 for configuration retention.ms: Value must be at least -1" },
    { { "segment.ms", SET, "0" }, 40, "Invalid value 0 for configuration segment.ms: Value must be at least 1" },
    { { "min.insync.replicas", SET, "0" }, 40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1" },
    { { "cleanup.policy", SET, "compactt" }, 40,
      "Invalid value compactt for configuration cleanup.policy: String must be one of: compact, delete" },
    { { "compression.type", SET, "SNAPPY" }, 40, "Invalid value SNAPPY for configuration compression.type: String must be "
      .. "one of: uncompressed, zstd, lz4, snappy, gzip, producer" },
    { { "cleanup.policy", APPEND, "x" }, 40,
      "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete" },
    { { "retention.ms", APPEND, "5" }, 40, "Can't APPEND to key retention.ms because its type is not LIST." },
    { { "retention.ms", SUBTRACT, "5" }, 40, "Can't SUBTRACT to key retention.ms because its type is not LIST." },
    { { "no.such", APPEND, "x" }, 40, "Can't APPEND to key no.such because its type is not LIST." },
    { { "retention.ms", SET }, 42, "Null value not supported for : retention.ms" },
    { { "cleanup.policy", APPEND }, 42, "Null value not supported for : cleanup.policy" },
    { { "", SET }, 42, "Null value not supported for : " },
    { { "", SUBTRACT }, 42, "Null value not supported for : " },
    { { "remote.storage.enable", SET, "true" }, 40,
      "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage." },
    { { "retention.ms", 9, "5" }, 42, "Unknown operations type 9" },
    { { "retention.ms", -1, "5" }, 42, "Unknown operations type -1" },
  }
  for _, case in ipairs(REFUSED) do
    it(("refuses %s of %s to %s"):format(case[1][2], case[1][1], tostring(case[1][3])), function()
      local code, message = incremental(TOPIC, "a", { { "segment.bytes", SET, "2000000" }, case[1] })
      assert.same({ case[2], case[3] }, { code, message })
      assert.equal("1073741824", value "segment.bytes") -- all changes of a resource, or none
      if case[1][2] == SET then
        assert.same({ case[2], case[3] }, { replace(TOPIC, "a", { { case[1][1], case[1][3] } }) })
      end
    end)
  end

  it("refuses configs that contradict each other, or what is set already", function()
    local message = "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
    assert.same({ 40, message },
      { incremental(TOPIC, "a", { { "min.compaction.lag.ms", SET, "10" }, { "max.compaction.lag.ms", SET, "5" } }) })
    assert.equal(0, incremental(TOPIC, "a", { { "max.compaction.lag.ms", SET, "5" } }))
    assert.same({ 40, message }, { incremental(TOPIC, "a", { { "min.compaction.lag.ms", SET, "10" } }) })
    assert.equal(0, incremental(TOPIC, "a", { { "min.compaction.lag.ms", SET, "5" } }))
  end)

  it("deletes what is not set, or not known, and takes an empty list of changes", function()
    assert.equal(0, incremental(TOPIC, "a", { { "flush.ms", DELETE } }))
    assert.equal(0, incremental(TOPIC, "a", { { "no.such", DELETE } }))
    assert.equal(0, incremental(TOPIC, "a", {}))
    assert.same({}, configs.incremental(client, {}))
    assert.same({}, configs.replace(client, {}))
  end)

  it("refuses a config that comes twice", function()
    local message = "Error due to duplicate config keys"
    assert.same({ 42, message }, { incremental(TOPIC, "a", { { "retention.ms", SET, "5" }, { "retention.ms", DELETE } }) })
    assert.same({ 42, message }, { replace(TOPIC, "a", { { "retention.ms", "5" }, { "retention.ms", "5" } }) })
  end)

  it("refuses a resource that comes twice, each of its entries, and changes the others", function()
    for _, send in ipairs { configs.incremental, configs.replace } do
      local make = send == configs.incremental and configs.change or configs.replacement
      local entry = send == configs.incremental and { "retention.ms", SET, "5" } or { "retention.ms", "5" }
      local answers = send(client, { make(TOPIC, "a", { entry }), make(TOPIC, "b", { entry }), make(TOPIC, "a", {}) })
      assert.same({ 42, 0, 42 }, { answers[1].error_code, answers[2].error_code, answers[3].error_code })
      assert.equal("Each resource must appear at most once.", answers[1].error_message)
      assert.equal("7200000", value "retention.ms")
      assert.equal("5", value("retention.ms", "b"))
    end
    local answers = configs.incremental(client, { configs.change(BROKER, "1", {}), configs.change(BROKER, "+1", {}) })
    assert.same({ 42, 42 }, { answers[1].error_code, answers[2].error_code })
  end)

  it("answers each resource for itself, and goes on serving the connection", function()
    local answers = configs.incremental(client, {
      configs.change(TOPIC, "a", { { "cleanup.policy", SET, "compactt" } }),
      configs.change(TOPIC, "b", { { "retention.ms", SET, "9" } }),
      configs.change(TOPIC, "nope", {}),
      configs.change(3, "1", {}),
    })
    assert.same({ 40, 0, 3, 42 },
      { answers[1].error_code, answers[2].error_code, answers[3].error_code, answers[4].error_code })
    assert.equal("The topic 'nope' does not exist.", answers[3].error_message)
    assert.equal("Unknown resource type 3", answers[4].error_message)
    assert.equal("9", value("retention.ms", "b"))
  end)

  it("refuses topics that do not exist or cannot", function()
    for name, expected in pairs { nope = { 3, "The topic 'nope' does not exist." },
      ["b b"] = { 17, "Topic name is invalid: 'b b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'" },
      ["a\0x"] = { 17, "Topic name is invalid: 'a' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'" },
      [""] = { 42, "Default topic resources are not allowed." } } do
      local code, message = incremental(TOPIC, name, { { "retention.ms", SET, "1" } })
      assert.equal(expected[1], code)
      assert.equal(expected[2], message)
      assert.equal(expected[1], (replace(TOPIC, name, { { "retention.ms", "1" } })))
    end
    -- Values are looked at first.
    assert.equal(40, incremental(TOPIC, "nope", { { "retention.ms", SET, "x" } }))
  end)

  it("changes internal topics like others", function()
    client:ask("Metadata", 12, { topics = { { name = "__consumer_offsets" } }, allow_auto_topic_creation = true })
    requests.wait_until("the topic is there", function() return requests.find(client, "__consumer_offsets") end)
    assert.equal(0, incremental(TOPIC, "__consumer_offsets", { { "segment.bytes", SET, "2000000" } }))
    assert.equal("2000000", value("segment.bytes", "__consumer_offsets"))
    assert.equal("compact", value("cleanup.policy", "__consumer_offsets"))
  end)

  it("refuses types of resources that do not exist", function()
    for _, kind in ipairs { 0, 1, 3, 99, -1, -128 } do
      assert.same({ 42, "Unknown resource type " .. kind }, { incremental(kind, "x", { { "a", SET, "1" } }) })
      assert.same({ 42, "Unknown resource type " .. kind }, { replace(kind, "x", { { "a", "1" } }) })
    end
    assert.same({ 42, "Unknown resource type 8" }, { replace(LOGGER, "1", { { "root", "INFO" } }) })
  end)

  describe("of brokers", function()
    after_each(function()
      assert.equal(0, (replace(BROKER, "1", {})))
      assert.equal(0, (replace(BROKER, "", {})))
    end)

    it("takes what is set on the broker before what is set on all, before config.lua, before the default", function()
      local default = { "message.max.bytes", "1048588", FROM_DEFAULT }
      local static = { "message.max.bytes", "2000000", FROM_STATIC }
      local function check(expected, source, ...)
        for _, resource in ipairs { { BROKER, "1", "message.max.bytes" }, { TOPIC, "a", "max.message.bytes" } } do
          assert.same({ expected, source, { ... } }, { configs.shown(client, resource[1], resource[2], resource[3]) })
        end
      end
      check("2000000", FROM_STATIC, static, default)
      configs.alter(client, BROKER, "", { { "message.max.bytes", SET, "3000" } })
      check("3000", FROM_ALL, { "message.max.bytes", "3000", FROM_ALL }, static, default)
      configs.alter(client, BROKER, "1", { { "message.max.bytes", SET, " 4000 " } })
      check("4000", FROM_OWN, { "message.max.bytes", " 4000 ", FROM_OWN }, { "message.max.bytes", "3000", FROM_ALL }, static, default)
      assert.same({ "3000", FROM_ALL, { { "message.max.bytes", "3000", FROM_ALL } } },
        { configs.shown(client, BROKER, "", "message.max.bytes") })
      configs.alter(client, BROKER, "", { { "message.max.bytes", DELETE } })
      check("4000", FROM_OWN, { "message.max.bytes", " 4000 ", FROM_OWN }, static, default)
      configs.alter(client, BROKER, "1", { { "message.max.bytes", DELETE } })
      check("2000000", FROM_STATIC, static, default)
      assert.same({}, configs.describe(client, BROKER, ""))
    end)

    it("shows a time in hours behind the same in milliseconds", function()
      configs.alter(client, BROKER, "1", { { "log.retention.ms", SET, "333333" } })
      assert.same({ "333333", FROM_OWN, { { "log.retention.ms", "333333", FROM_OWN }, { "log.retention.hours", "2", FROM_STATIC },
        { "log.retention.hours", "168", FROM_DEFAULT } } }, { configs.shown(client, TOPIC, "a", "retention.ms") })
      assert.same({ "2", FROM_STATIC, { { "log.retention.hours", "2", FROM_STATIC }, { "log.retention.hours", "168", FROM_DEFAULT } } },
        { configs.shown(client, BROKER, "1", "log.retention.hours") })
    end)

    it("replaces all that is set on the broker", function()
      configs.alter(client, BROKER, "1", { { "log.roll.ms", SET, "1000000" } })
      assert.equal("1000000", value "segment.ms")
      assert.equal(0, (replace(BROKER, "1", { { "log.retention.ms", "444444" } })))
      assert.same({ "604800000", "444444" }, { value "segment.ms", value "retention.ms" })
    end)

    it("adds values to lists and takes them off", function()
      configs.alter(client, BROKER, "1", { { "log.cleanup.policy", APPEND, "compact" } })
      assert.equal("delete,compact", value "cleanup.policy")
      configs.alter(client, BROKER, "1", { { "log.cleanup.policy", SUBTRACT, "delete" } })
      assert.equal("compact", value "cleanup.policy")
      configs.alter(client, BROKER, "1", { { "log.cleanup.policy", SUBTRACT, "compact" } })
      assert.equal("", value "cleanup.policy")
    end)

    it("checks only, where only validation is asked for", function()
      assert.equal(0, incremental(BROKER, "1", { { "log.roll.ms", SET, "5" } }, { validate_only = true }))
      assert.equal("604800000", value "segment.ms")
    end)

    it("creates topics with the defaults in force", function()
      configs.alter(client, BROKER, "", { { "log.segment.bytes", SET, "3000000" } })
      local answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = {
        { name = "later", num_partitions = 1, replication_factor = 1 } } })
      local shown = {}
      for _, config in ipairs(answer.topics[1].configs) do shown[config.name] = { config.value, config.config_source } end
      assert.same({ "3000000", FROM_ALL }, shown["segment.bytes"])
      requests.delete(client, { name = "later" })
    end)

    local CLEANER_THREADS = "Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads cannot be %s the "
      .. "current value 1 for configuration Invalid dynamic configuration"

    -- Measured on Apache Kafka 4.4.0, but for the last.
    local REFUSED_BROKER = {
      { { "log.retention.hours", SET, "5" }, 42, "Cannot update these configs dynamically: [log.retention.hours]" },
      { { "broker.rack", SET, "x" }, 42, "Cannot update these configs dynamically: [broker.rack]" },
      { { "process.roles", SET, "broker" }, 42, "Cannot update these configs dynamically: [process.roles]" },
      { { "log.retention.ms", SET, "x" }, 42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG" },
      { { "log.retention.ms", SET, "0" }, 42,
        "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1" },
      { { "log.roll.ms", SET, "0" }, 42, "requirement failed: log.roll.ms must be greater than or equal to 1" },
      { { "log.roll.jitter.ms", SET, "-1" }, 42, "requirement failed: log.roll.jitter.ms must be greater than or equal to 0" },
      { { "log.segment.bytes", SET, "10" }, 42, "Invalid value 10 for configuration log.segment.bytes: Value must be at least 1048576" },
      { { "compression.gzip.level", SET, "0" }, 42,
        "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1" },
      { { "unclean.leader.election.enable", SET, "yes" }, 42,
        "Invalid value yes for configuration unclean.leader.election.enable: Expected value to be either true or false" },
      { { "num.recovery.threads.per.data.dir", SET, "5" }, 42, "Invalid value org.apache.kafka.common.config.ConfigException: "
        .. "Dynamic thread count update validation failed for num.recovery.threads.per.data.dir=5, value should not be greater than "
        .. "double the current value 2 for configuration Invalid dynamic configuration" },
      { { "log.cleaner.threads", SET, "3" }, 42, CLEANER_THREADS:format "increased to more than double" },
      { { "log.cleaner.threads", SET, "-1" }, 42, "Invalid value -1 for configuration log.cleaner.threads: Value must be at least 0" },
      { { "log.retention.ms", APPEND, "5" }, 40, "Config value append is not allowed for config key: log.retention.ms" },
      { { "log.retention.ms", SUBTRACT, "5" }, 40, "Config value subtract is not allowed for config key: log.retention.ms" },
      { { "no.such", APPEND, "5" }, 40, "Unknown config name: no.such" },
      { { "log.retention.ms", 9, "5" }, 42, "Unknown operations type 9" },
      { { "log.retention.ms", SET }, 42, "Null value not supported for : log.retention.ms" },
      { { "background.threads", SET, "2" }, 42, "Broker config background.threads is known to Kafka but not supported by Luka yet" },
      { { "log.retentoin.ms", SET, "2" }, 40, "Unknown broker config name: log.retentoin.ms; did you mean log.retention.ms?" },
    }
    for _, case in ipairs(REFUSED_BROKER) do
      it(("refuses %s of %s to %s"):format(case[1][2], case[1][1], tostring(case[1][3])), function()
        for _, name in ipairs { "1", "" } do
          assert.same({ case[2], case[3] }, { incremental(BROKER, name, { { "log.index.interval.bytes", SET, "5" }, case[1] }) })
          assert.equal("4096", value "index.interval.bytes")
        end
      end)
    end

    it("sets min.insync.replicas on one broker and takes it away from all, as there are no eligible leader replicas", function()
      configs.alter(client, BROKER, "1", { { "min.insync.replicas", SET, "2" } })
      assert.equal("2", value "min.insync.replicas")
      configs.alter(client, BROKER, "", { { "min.insync.replicas", DELETE } })
    end)

    it("keeps settings of Kerberos, which there is none of, on one broker", function()
      local name = "sasl.kerberos.min.time.before.relogin"
      assert.equal(0, incremental(BROKER, "1", { { name, SET, "58000" } }))
      assert.same({ "58000", FROM_OWN, { { name, "58000", FROM_OWN }, { name, "60000", FROM_DEFAULT } } },
        { configs.shown(client, BROKER, "1", name) })
      assert.same({ 42, "Cannot update these configs at default cluster level, broker id must be specified: [" .. name .. "]" },
        { incremental(BROKER, "", { { name, SET, "58000" } }) })
    end)

    it("refuses settings of listeners for all brokers", function()
      assert.same({ 42, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]" },
        { incremental(BROKER, "", { { "listeners", SET, "PLAINTEXT://:9" } }) })
    end)

    it("deletes what is read-only, unknown or not set", function()
      for _, name in ipairs { "num.partitions", "no.such", "log.roll.ms" } do
        assert.equal(0, incremental(BROKER, "1", { { name, DELETE } }))
      end
    end)

    it("refuses other brokers, and what is no broker id", function()
      for name, message in pairs { ["1001"] = "Unexpected broker id, expected 1, but received 1001",
        x = "Node id must be an integer, but it is: x", ["99999999999"] = "Node id must be an integer, but it is: 99999999999" } do
        assert.same({ 42, message }, { incremental(BROKER, name, { { "log.roll.ms", SET, "5" } }) })
        assert.same({ 42, message }, { replace(BROKER, name, { { "log.roll.ms", "5" } }) })
      end
      assert.equal(0, incremental(BROKER, "+01", { { "log.roll.ms", SET, "5" } }, { validate_only = true }))
    end)
  end)

  it("closes the connection on a request that ends early, at every length", function()
    for api, versions in pairs(VERSIONS) do
      local make = api == "AlterConfigs" and configs.replacement or configs.change
      local entry = api == "AlterConfigs" and { "retention.ms", "5" } or { "retention.ms", SET, "5" }
      for _, version in ipairs(versions) do
        assert.is_nil(malformed.first_accepted_prefix(broker, api, version,
          { resources = { make(TOPIC, "a", { entry }), make(BROKER, "1", {}) } }))
      end
    end
  end)

  it("closes the connection of a request with a text that is too long for the protocol, as Kafka does", function()
    for _, entry in ipairs { { "retention.ms", SET, ("5"):rep(32768) }, { ("k"):rep(32768), SET, "5" } } do
      local greedy = broker:connect()
      greedy:request("IncrementalAlterConfigs", 1, { resources = { configs.change(TOPIC, "a", { entry }) } })
      assert.equal("", greedy:receive_end())
      greedy:close()
    end
    assert.equal(40, incremental(TOPIC, "a", { { "retention.ms", SET, ("5"):rep(32767) } }))
  end)

  it("closes the connection of a request with far more configs, or values of lists, than there are", function()
    local many = {}
    for i = 1, 100001 do many[i] = { "k" .. i, DELETE } end
    local long = {}
    for i = 1, 5 do long[i] = { "k" .. i, SET, ("1:1,"):rep(8000) } end
    for _, entries in ipairs { many, { { "a", SET, ("1,"):rep(16000) }, unpack(long) } } do
      local resources = {}
      for i = 1, 3 do resources[i] = configs.change(TOPIC, "a" .. i, entries) end
      local greedy = broker:connect()
      greedy:request("IncrementalAlterConfigs", 1, { resources = resources })
      assert.equal("", greedy:receive_end())
      greedy:close()
    end
  end)

  it("takes as many unknown configs as a request may have, and says which is the first", function()
    local many = {}
    for i = 1, 99000 do many[i] = { "k" .. i, SET, "1" } end
    assert.same({ 40, "Unknown topic config name: k1" }, { incremental(TOPIC, "a", many) })
    assert.same({ 40, "Unknown broker config name: k1" }, { incremental(BROKER, "1", many) })
    assert.same({ 40, "Unknown group config name: k1" }, { incremental(configs.GROUP, "g", many) })
    assert.same({ 42, "Unknown client metrics configuration: k1" }, { incremental(configs.METRICS, "m", many) })
  end)

  it("takes thousands of entries and long lists in little time", function()
    local many = {}
    for i = 1, 50000 do many[i] = { "k" .. i, DELETE } end
    assert.equal(0, incremental(TOPIC, "a", many))
    local pairs_of_replicas = {}
    for i = 1, 3000 do pairs_of_replicas[i] = i .. ":1" end
    local list = table.concat(pairs_of_replicas, ",")
    local name = "leader.replication.throttled.replicas"
    assert.equal(0, incremental(TOPIC, "a", { { name, APPEND, list } }))
    assert.equal(list, value(name))
    assert.equal(0, incremental(TOPIC, "a", { { name, APPEND, list } }))
    assert.equal(list, value(name))
    local more = list:gsub(":1", ":22")
    assert.same({ 40, "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes." },
      { incremental(TOPIC, "a", { { name, APPEND, more } }) })
    assert.equal(0, incremental(TOPIC, "a", { { name, SUBTRACT, list } }))
    assert.equal("", value(name))
  end)
end)

describe("Changed configs", function()
  it("are there after a clean stop and after a crash, and win over config.lua", function()
    local broker = brokers.start { set = { "message_max_bytes=2000000", "log_retention_hours=2" } }
    for _, stop in ipairs { "stop", "kill" } do
      local client = broker:connect()
      if stop == "stop" then
        requests.create(client, "a")
        configs.set(client, "a", { ["segment.bytes"] = "3000000", ["retention.ms"] = false })
        configs.alter(client, BROKER, "", { { "message.max.bytes", SET, "3000" }, { "log.roll.ms", SET, "7000" } })
        configs.alter(client, BROKER, "1", { { "log.roll.ms", SET, "8000" } })
      end
      client:close()
      broker[stop](broker)
      broker = broker:restart()
      client = broker:connect()
      local shown = configs.describe(client, TOPIC, "a")
      local found = {}
      for _, name in ipairs { "segment.bytes", "retention.ms", "max.message.bytes", "segment.ms" } do
        found[#found + 1] = { shown[name].value, shown[name].config_source }
      end
      assert.same({ { "3000000", FROM_TOPIC }, { "7200000", FROM_STATIC }, { "3000", FROM_ALL }, { "8000", FROM_OWN } }, found)
      client:close()
    end
    assert.equal(0, broker:stop())
  end)
end)
