-- SPDX-License-Identifier: Apache-2.0
-- DescribeConfigs: what topics and the broker are configured with, and where each value is from.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local NEWEST = 4
local TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32 -- types of resources
local FROM_TOPIC, FROM_BROKER, FROM_DEFAULT = 1, 4, 5 -- sources
local BOOL, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7 -- types of configs

--- Names of the topic configs of Kafka 4.4.0, in order.
local TOPIC_CONFIGS = { "cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type",
  "compression.zstd.level", "delete.retention.ms", "errors.deadletterqueue.group.enable", "file.delete.delay.ms",
  "flush.messages", "flush.ms", "follower.replication.throttled.replicas", "index.interval.bytes",
  "leader.replication.throttled.replicas", "local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms",
  "max.decompressed.message.bytes", "max.message.bytes", "message.timestamp.after.max.ms",
  "message.timestamp.before.max.ms", "message.timestamp.type", "min.cleanable.dirty.ratio", "min.compaction.lag.ms",
  "min.insync.replicas", "preallocate", "remote.copy.lag.bytes", "remote.copy.lag.ms", "remote.log.copy.disable",
  "remote.log.delete.on.disable", "remote.storage.enable", "retention.bytes", "retention.ms", "segment.bytes",
  "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable" }

--- Configs of a broker that can be changed while it runs, as in Kafka 4.4.0.
local CHANGEABLE = {}
for name in ([[compression.gzip.level compression.lz4.level compression.type compression.zstd.level
  group.consumer.assignment.interval.ms group.share.assignment.interval.ms group.streams.assignment.interval.ms
  log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
  log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second log.cleaner.threads
  log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
  log.cleaner.min.compaction.lag.ms log.cleanup.policy log.flush.interval.messages log.flush.interval.ms
  log.index.interval.bytes log.index.size.max.bytes log.message.timestamp.after.max.ms
  log.message.timestamp.before.max.ms log.message.timestamp.type log.preallocate log.retention.bytes log.retention.ms
  log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms max.connections
  max.connections.per.ip max.connections.per.ip.overrides sasl.kerberos.min.time.before.relogin
  sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
  max.decompressed.message.bytes message.max.bytes min.insync.replicas num.recovery.threads.per.data.dir
  luka.producer.type luka.validate producer.id.expiration.ms unclean.leader.election.enable]]):gmatch "%S+" do CHANGEABLE[name] = true end

local function resource(kind, name, keys)
  return { resource_type = kind, resource_name = name, configuration_keys = keys or wire.NULL }
end

local function describe_all(client, resources, options)
  options = options or {}
  return client:ask("DescribeConfigs", options.version or NEWEST, { resources = resources,
    include_synonyms = options.synonyms, include_documentation = options.documentation }).results
end

--- Describes one resource; its answer, with its configs by name as well.
local function describe_one(client, kind, name, options)
  local results = describe_all(client, { resource(kind, name, options and options.keys) }, options)
  assert.equal(1, #results)
  local result = results[1]
  assert.equal(kind, result.resource_type)
  assert.equal(name, result.resource_name)
  result.by_name = {}
  for _, config in ipairs(result.configs) do result.by_name[config.name] = config end
  return result
end

local function names_of(result)
  local names = {}
  for i, config in ipairs(result.configs) do names[i] = config.name end
  return names
end

--- The synonyms as { name, value, source }.
local function synonyms_of(config)
  local list = {}
  for i, synonym in ipairs(config.synonyms) do list[i] = { synonym.name, synonym.value, synonym.source } end
  return list
end

describe("DescribeConfigs", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "num_partitions=4", "log_retention_hours=2", "message_max_bytes=2000000" } }
    client = broker:connect()
    requests.create(client, "a", { configs = { ["cleanup.policy"] = "compact,delete", ["min.insync.replicas"] = "1" } })
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  for version = 0, NEWEST do
    it(("shows all configs of a topic, by name, with what was set on it, in version %d"):format(version), function()
      local result = describe_one(client, TOPIC, "a", { version = version })
      assert.equal(0, result.error_code)
      assert.equal("", result.error_message)
      assert.same(TOPIC_CONFIGS, names_of(result))
      local policy, bytes = result.by_name["cleanup.policy"], result.by_name["segment.bytes"]
      assert.equal("compact,delete", policy.value)
      assert.equal("1073741824", bytes.value)
      assert.equal("-1", result.by_name["retention.ms"].value)
      for _, config in ipairs(result.configs) do
        assert.is_false(config.read_only)
        assert.is_false(config.is_sensitive)
      end
      if version == 0 then
        assert.is_false(policy.is_default)
        assert.is_true(bytes.is_default)
      else
        assert.equal(FROM_TOPIC, policy.config_source)
        assert.equal(FROM_DEFAULT, bytes.config_source)
        assert.same({}, policy.synonyms)
      end
      if version >= 3 then
        assert.equal(LIST, policy.config_type)
        assert.is_nil(policy.documentation)
      end
    end)

    it(("answers 3 for an unknown topic and 17 for a name that none can have, in version %d"):format(version), function()
      local results = describe_all(client, { resource(TOPIC, "no"), resource(TOPIC, "b b"), resource(TOPIC, "") },
        { version = version })
      assert.equal(3, results[1].error_code)
      assert.equal("", results[1].error_message)
      assert.equal(17, results[2].error_code)
      assert.equal("Topic name is invalid: 'b b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
        results[2].error_message)
      assert.equal(17, results[3].error_code)
      assert.equal("Topic name is invalid: the empty string is not allowed", results[3].error_message)
      for _, result in ipairs(results) do assert.same({}, result.configs) end
    end)

    it(("shows the broker's configs, and which can be changed while it runs, in version %d"):format(version), function()
      local result = describe_one(client, BROKER, "1", { version = version })
      assert.equal(0, result.error_code)
      local partitions, bytes = result.by_name["num.partitions"], result.by_name["log.segment.bytes"]
      assert.equal("4", partitions.value)
      assert.equal("1073741824", bytes.value)
      assert.is_nil(result.by_name["broker.rack"].value)
      for _, config in ipairs(result.configs) do assert.equal(CHANGEABLE[config.name] == nil, config.read_only, config.name) end
      if version == 0 then
        assert.is_false(partitions.is_default)
        assert.is_true(bytes.is_default)
      else
        assert.equal(FROM_BROKER, partitions.config_source)
        assert.equal(FROM_DEFAULT, bytes.config_source)
      end
    end)
  end

  it("tells the type of each config", function()
    local result = describe_one(client, TOPIC, "a")
    for name, kind in pairs { ["preallocate"] = BOOL, ["compression.type"] = STRING, ["segment.bytes"] = INT,
      ["compression.gzip.level"] = INT, ["retention.ms"] = LONG, ["min.cleanable.dirty.ratio"] = DOUBLE, ["cleanup.policy"] = LIST,
      ["leader.replication.throttled.replicas"] = LIST } do
      assert.equal(kind, result.by_name[name].config_type, name)
    end
    assert.equal(STRING, describe_one(client, BROKER, "1").by_name["broker.rack"].config_type)
  end)

  it("has a sentence about each config when documentation is asked for", function()
    for _, version in ipairs { 3, 4 } do
      for _, asked in ipairs { { TOPIC, "a" }, { BROKER, "1" }, { METRICS, "m" } } do
        local result = describe_one(client, asked[1], asked[2], { version = version, documentation = true })
        for _, config in ipairs(result.configs) do assert.truthy(config.documentation:match "%w+ .*%.$", config.name) end
      end
    end
  end)

  it("shows only the keys that are asked for, and passes over those that do not exist", function()
    local keys = { "retention.ms", "cleanup.policy", "no.such", "retention.ms" }
    assert.same({ "cleanup.policy", "retention.ms" }, names_of(describe_one(client, TOPIC, "a", { keys = keys })))
    assert.same({ "log.retention.hours" },
      names_of(describe_one(client, BROKER, "1", { keys = { "no.such", "log.retention.hours" } })))
    assert.same({}, names_of(describe_one(client, TOPIC, "a", { keys = { "no.such" } })))
    assert.same({ "match" }, names_of(describe_one(client, METRICS, "m", { keys = { "match" } })))
  end)

  it("shows all configs for an empty list of keys", function()
    assert.same(TOPIC_CONFIGS, names_of(describe_one(client, TOPIC, "a", { keys = {} })))
  end)

  it("answers each resource in the order of the request, also one that is named twice, and none for none", function()
    local keys = { "retention.ms" }
    local results = describe_all(client, { resource(TOPIC, "no"), resource(TOPIC, "a", keys), resource(BROKER, "1"),
      resource(TOPIC, "a", keys) })
    assert.same({ "no", "a", "1", "a" }, { results[1].resource_name, results[2].resource_name, results[3].resource_name,
      results[4].resource_name })
    assert.same(results[2], results[4])
    assert.equal("-1", results[2].configs[1].value)
    assert.same({}, describe_all(client, {}))
  end)

  describe("with synonyms", function()
    it("shows first what is set on the topic, then the broker's default", function()
      for version = 1, NEWEST do
        local result = describe_one(client, TOPIC, "a", { version = version, synonyms = true })
        assert.same({ { "cleanup.policy", "compact,delete", FROM_TOPIC }, { "log.cleanup.policy", "delete", FROM_DEFAULT } },
          synonyms_of(result.by_name["cleanup.policy"]))
        assert.same({ { "min.insync.replicas", "1", FROM_TOPIC }, { "min.insync.replicas", "1", FROM_DEFAULT } },
          synonyms_of(result.by_name["min.insync.replicas"]))
        assert.same({ { "log.local.retention.ms", "-2", FROM_DEFAULT } }, synonyms_of(result.by_name["local.retention.ms"]))
      end
    end)

    it("shows what is set for the broker before its default", function()
      local topic = describe_one(client, TOPIC, "a", { synonyms = true }).by_name["max.message.bytes"]
      local expected = { { "message.max.bytes", "2000000", FROM_BROKER }, { "message.max.bytes", "1048588", FROM_DEFAULT } }
      assert.equal("2000000", topic.value)
      assert.equal(FROM_BROKER, topic.config_source)
      assert.same(expected, synonyms_of(topic))
      assert.same(expected, synonyms_of(describe_one(client, BROKER, "1", { synonyms = true }).by_name["message.max.bytes"]))
    end)

    it("shows a time that is set for the broker in another unit", function()
      client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = "timed", num_partitions = 1, replication_factor = 1 } } })
      local retention = describe_one(client, TOPIC, "timed", { synonyms = true }).by_name["retention.ms"]
      assert.equal("7200000", retention.value)
      assert.equal(FROM_BROKER, retention.config_source)
      assert.same({ { "log.retention.hours", "2", FROM_BROKER } }, synonyms_of(retention))
    end)

    it("shows the unit that wins where a time is set in several", function()
      local other = brokers.start { set = { "log_retention_hours=2", "log_retention_minutes=7", "log_roll_hours=3", "log_roll_ms=5000" } }
      local asking = other:connect()
      asking:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = "t", num_partitions = 1, replication_factor = 1 } } })
      local configs = describe_one(asking, TOPIC, "t", { synonyms = true }).by_name
      assert.equal("420000", configs["retention.ms"].value)
      assert.same({ { "log.retention.minutes", "7", FROM_BROKER } }, synonyms_of(configs["retention.ms"]))
      assert.equal("5000", configs["segment.ms"].value)
      assert.same({ { "log.roll.ms", "5000", FROM_BROKER }, { "log.roll.hours", "168", FROM_DEFAULT } },
        synonyms_of(configs["segment.ms"]))
      asking:close()
      assert.equal(0, other:stop())
    end)

    it("shows none for a config without a value behind it", function()
      local result = describe_one(client, TOPIC, "a", { synonyms = true })
      for _, name in ipairs { "segment.ms", "flush.ms", "remote.storage.enable", "follower.replication.throttled.replicas" } do
        assert.same({}, result.by_name[name].synonyms, name)
      end
      assert.same({}, describe_one(client, BROKER, "1", { synonyms = true }).by_name["broker.rack"].synonyms)
    end)
  end)

  it("shows Luka's own topic configs behind Kafka's, where they are set", function()
    requests.create(client, "own", { configs = { ["luka.validate"] = "full" } })
    local result = describe_one(client, TOPIC, "own", { synonyms = true })
    local last = result.configs[#result.configs]
    assert.equal(#TOPIC_CONFIGS + 1, #result.configs)
    assert.equal("luka.validate", last.name)
    assert.equal("full", last.value)
    assert.same({ { "luka.validate", "full", FROM_TOPIC }, { "luka.validate", "header", FROM_DEFAULT } }, synonyms_of(last))
  end)

  it("answers 42 for another broker and for what is no broker id", function()
    for name, message in pairs { ["1001"] = "Unexpected broker id, expected 1 or empty string, but received 1001",
      ["-1"] = "Unexpected broker id, expected 1 or empty string, but received -1",
      x = "Broker id must be an integer, but it is: x", ["1x"] = "Broker id must be an integer, but it is: 1x",
      ["-"] = "Broker id must be an integer, but it is: -", [" 1"] = "Broker id must be an integer, but it is:  1",
      ["4294967297"] = "Broker id must be an integer, but it is: 4294967297",
      ["2147483648"] = "Broker id must be an integer, but it is: 2147483648" } do
      local result = describe_one(client, BROKER, name)
      assert.equal(42, result.error_code, name)
      assert.equal(message, result.error_message)
      assert.same({}, result.configs)
    end
    assert.equal(0, describe_one(client, BROKER, "+01").error_code)
    assert.equal(42, describe_one(client, BROKER, ("9"):rep(30000)).error_code)
  end)

  it("shows what the broker was started as, under Kafka's names", function()
    local names = { "advertised.listeners", "broker.id", "listeners", "log.dirs", "node.id" }
    local result = describe_one(client, BROKER, "1", { keys = names, synonyms = true })
    local address = "PLAINTEXT://127.0.0.1:" .. broker.port
    for i, wanted in ipairs { { address, LIST }, { "1", INT }, { address, LIST }, { broker.data, LIST }, { "1", INT } } do
      local config = result.configs[i]
      assert.same({ names[i], wanted[1], wanted[2], FROM_BROKER, true },
        { config.name, config.value, config.config_type, config.config_source, config.read_only })
      assert.same({ { names[i], wanted[1], FROM_BROKER } }, synonyms_of(config))
    end
    local all, before = describe_one(client, BROKER, "1"), ""
    for _, config in ipairs(all.configs) do
      assert.is_true(config.name > before, config.name)
      before = config.name
    end
  end)

  it("has no configs for all brokers where none was set", function()
    local result = describe_one(client, BROKER, "")
    assert.equal(0, result.error_code)
    assert.same({}, result.configs)
  end)

  it("has Kafka's defaults for client metrics", function()
    local values = {}
    for i, config in ipairs(describe_one(client, METRICS, "m").configs) do
      values[i] = { config.name, config.value, config.config_source }
    end
    assert.same({ { "interval.ms", "300000", FROM_DEFAULT }, { "match", "", FROM_DEFAULT }, { "metrics", "", FROM_DEFAULT } }, values)
  end)

  it("answers 42 for empty names of loggers, client metrics and groups", function()
    for _, kind in ipairs { LOGGER, METRICS, GROUP } do assert.equal(42, describe_one(client, kind, "").error_code) end
    assert.equal("Unexpected broker id, expected 1, but received 2", describe_one(client, LOGGER, "2").error_message)
  end)

  it("answers 42 for types that do not exist", function()
    for _, kind in ipairs { 0, 1, 3, 5, 99, -1 } do
      local result = describe_one(client, kind, "x")
      assert.equal(42, result.error_code)
      assert.same({}, result.configs)
    end
  end)

  it("closes the connection of a request for far more configs than there are", function()
    for _, keys in ipairs { wire.NULL, { "no.such" } } do
      local resources = {}
      for i = 1, 5000 do resources[i] = resource(TOPIC, "a", keys) end
      local greedy = broker:connect()
      greedy:request("DescribeConfigs", NEWEST, { resources = resources })
      assert.equal("", greedy:receive_end())
      greedy:close()
    end
    assert.truthy(broker:log():find("asks for more configs than all topics have", 1, true))
  end)

  it("closes the connection on a request that ends early, at every length", function()
    for _, version in ipairs { 0, NEWEST } do
      assert.is_nil(malformed.first_accepted_prefix(broker, "DescribeConfigs", version,
        { resources = { resource(TOPIC, "a", { "retention.ms" }), resource(BROKER, "1") } }))
    end
    assert.equal(0, describe_one(client, TOPIC, "a").error_code)
  end)
end)
