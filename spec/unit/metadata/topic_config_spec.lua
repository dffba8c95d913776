-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/broker_config.h", "base/error.h")

describe("topic config", function()
  local defaults, kept
  before_each(function()
    defaults = ffi.new "struct topic_config_defaults"
    C.topic_config_defaults_create(defaults)
    kept = {}
  end)

  local function entries(list)
    local array = ffi.new("struct config_entry[?]", #list + 1)
    for i, pair in ipairs(list) do
      kept[#kept + 1] = pair
      array[i - 1].name = pair[1]
      array[i - 1].value = pair[2]
    end
    return array, #list
  end

  local function resolve(list)
    local values, message = ffi.new "struct topic_config", ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    local array, count = entries(list)
    local result = C.topic_config_resolve(defaults, array, count, values, message)
    if result < 0 then return result, ffi.string(message) end
    return values
  end

  local function show(list)
    local shown = ffi.new("struct config_shown[?]", C.TOPIC_CONFIG_COUNT)
    local array, count = entries(list)
    local out, names = {}, {}
    for i = 0, C.topic_config_list(defaults, array, count, shown) - 1 do
      local name = ffi.string(shown[i].name)
      out[name] = { ffi.string(shown[i].value), shown[i].source }
      names[#names + 1] = name
    end
    return out, names
  end

  it("has Kafka's defaults", function()
    local values = resolve {}
    assert.equal(604800000, tonumber(values.retention_ms))
    assert.equal(-1, tonumber(values.retention_bytes))
    assert.equal(1073741824, values.segment_bytes)
    assert.equal(1048588, values.max_message_bytes)
    assert.equal(C.CLEANUP_DELETE, values.cleanup_policy)
    assert.equal(C.TOPIC_COMPRESSION_PRODUCER, values.compression_type)
    assert.equal(C.TOPIC_TIMESTAMP_CREATE, values.message_timestamp_type)
    assert.equal(C.TOPIC_PRODUCER_ASYNC, values.luka_producer_type)
    assert.equal(C.TOPIC_VALIDATE_HEADER, values.luka_validate)
    assert.equal(0.5, values.min_cleanable_dirty_ratio)
  end)

  it("is equal to another exactly when every value is", function()
    assert.is_true(C.topic_config_equal(resolve {}, resolve { { "retention.ms", "604800000" } }))
    for _, pair in ipairs { { "preallocate", "true" }, { "segment.bytes", "1048576" }, { "compression.gzip.level", "1" },
      { "retention.ms", "5" }, { "min.cleanable.dirty.ratio", "0.6" }, { "compression.type", "lz4" }, { "cleanup.policy", "compact" },
      { "luka.validate", "full" } } do
      assert.is_false(C.topic_config_equal(resolve {}, resolve { pair }), pair[1])
      assert.is_true(C.topic_config_equal(resolve { pair }, resolve { pair }), pair[1])
    end
  end)

  it("knows Kafka's 37 configs in Kafka's order", function()
    local _, names = show {}
    assert.equal(37, #names)
    local sorted = { unpack(names) }
    table.sort(sorted)
    assert.same(sorted, names)
    assert.equal("cleanup.policy", names[1])
    assert.equal("unclean.leader.election.enable", names[37])
  end)

  it("has a default, bounds and documentation for each config", function()
    local defs = C.topic_config_defs()
    for i = 0, C.TOPIC_CONFIG_COUNT - 1 do
      assert.is_true(#ffi.string(defs[i].doc) > 20, ffi.string(defs[i].name))
      assert.is_true(defs[i].default_text ~= nil)
    end
  end)

  it("takes the last text of a name given twice", function()
    assert.equal(2, tonumber(resolve({ { "retention.ms", "1" }, { "retention.ms", "2" } }).retention_ms))
    assert.equal("2", show({ { "retention.ms", "1" }, { "retention.ms", "2" } })["retention.ms"][1])
  end)

  for _, case in ipairs {
    { "an unknown name", { { "no.such", "1" } }, "Unknown topic config name: no.such" },
    { "a missing value", { { "retention.ms", nil } }, "Null value not supported for topic configs: retention.ms" },
    { "two missing values", { { "retention.ms", nil }, { "preallocate", "true" }, { "flush.ms", nil } },
      "Null value not supported for topic configs: retention.ms,flush.ms" },
    { "a compaction lag above its maximum", { { "min.compaction.lag.ms", "9" }, { "max.compaction.lag.ms", "1" } },
      "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (1)" },
    { "tiered storage", { { "remote.storage.enable", "true" } },
      "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage." },
  } do
    it("refuses " .. case[1], function()
      local result, text = resolve(case[2])
      assert.equal(C.ERR_CONFIG, result)
      assert.equal(case[3], text)
    end)
  end

  it("shows texts as they were set, with their source", function()
    local shown = show { { "retention.ms", " 5 " }, { "cleanup.policy", "" } }
    assert.same({ " 5 ", C.CONFIG_SOURCE_TOPIC }, shown["retention.ms"])
    assert.same({ "", C.CONFIG_SOURCE_TOPIC }, shown["cleanup.policy"])
    assert.same({ "1073741824", C.CONFIG_SOURCE_DEFAULT }, shown["segment.bytes"])
    assert.same({ "0.5", C.CONFIG_SOURCE_DEFAULT }, shown["min.cleanable.dirty.ratio"])
    assert.same({ "", C.CONFIG_SOURCE_DEFAULT }, shown["leader.replication.throttled.replicas"])
  end)

  it("shows Luka's own configs only where they are set", function()
    assert.is_nil(show({})["luka.producer.type"])
    assert.same({ "sync", C.CONFIG_SOURCE_TOPIC }, show({ { "luka.producer.type", "sync" } })["luka.producer.type"])
  end)

  it("shows Luka's own configs where they are set as a default for all topics", function()
    local broker = ffi.new "struct broker_config"
    C.broker_config_create(broker)
    assert.equal(0, C.broker_config_set(broker, "luka.producer.type", "sync"))
    assert.equal(0, C.broker_config_resolve(broker))
    defaults = broker.topic
    local shown = show({})
    assert.same({ "sync", C.CONFIG_SOURCE_STATIC_BROKER }, shown["luka.producer.type"])
    assert.is_nil(shown["luka.validate"])
    C.broker_config_destroy(broker)
  end)
end)

describe("broker config", function()
  local config
  before_each(function()
    config = ffi.new "struct broker_config"
    C.broker_config_create(config)
  end)
  after_each(function() C.broker_config_destroy(config) end)

  local function set(name, text)
    local result = C.broker_config_set(config, name, text)
    return result, result < 0 and ffi.string(C.error_last().message) or nil
  end

  local function source(index) return config.topic.source[index] end
  local function text(index) return ffi.string(config.topic.text[index]) end

  it("has Kafka's defaults", function()
    assert.equal(1, config.num_partitions)
    assert.equal(1, config.default_replication_factor)
    assert.is_true(config.auto_create_topics_enable)
    assert.equal(1048588, config.message_max_bytes)
    assert.equal(300000, tonumber(config.log_retention_check_interval_ms))
    assert.equal(104857600, config.socket_request_max_bytes)
    assert.equal(604800000, tonumber(config.topic.values.retention_ms))
    assert.equal("604800000", text(C.TOPIC_CONFIG_retention_ms))
    assert.equal(C.CONFIG_SOURCE_DEFAULT, source(C.TOPIC_CONFIG_retention_ms))
    assert.equal("9223372036854775807", text(C.TOPIC_CONFIG_flush_ms))
  end)

  it("gives topics their defaults", function()
    set("message.max.bytes", "2000000")
    set("log.segment.bytes", " 2097152 ")
    set("log.cleanup.policy", "compact,delete")
    assert.equal(0, C.broker_config_resolve(config))
    assert.equal(2000000, config.topic.values.max_message_bytes)
    assert.equal(2097152, config.topic.values.segment_bytes)
    assert.equal(3, config.topic.values.cleanup_policy)
    assert.equal("compact,delete", text(C.TOPIC_CONFIG_cleanup_policy))
    assert.equal(C.CONFIG_SOURCE_STATIC_BROKER, source(C.TOPIC_CONFIG_max_message_bytes))
    assert.equal(C.CONFIG_SOURCE_DEFAULT, source(C.TOPIC_CONFIG_flush_ms))
  end)

  for _, case in ipairs {
    { { ["log.retention.hours"] = "1" }, 3600000 },
    { { ["log.retention.hours"] = "1", ["log.retention.minutes"] = "2" }, 120000 },
    { { ["log.retention.hours"] = "1", ["log.retention.ms"] = "60000" }, 60000 },
    { { ["log.retention.minutes"] = "2", ["log.retention.ms"] = "-1" }, -1 },
    { { ["log.retention.hours"] = "-1" }, -1 },
  } do
    it("computes retention " .. case[2] .. ": ms before minutes before hours", function()
      for name, value in pairs(case[1]) do assert.equal(0, (set(name, value))) end
      assert.equal(0, C.broker_config_resolve(config))
      assert.equal(case[2], tonumber(config.topic.values.retention_ms))
      assert.equal(tostring(case[2]), text(C.TOPIC_CONFIG_retention_ms))
      assert.equal(C.CONFIG_SOURCE_STATIC_BROKER, source(C.TOPIC_CONFIG_retention_ms))
    end)
  end

  it("cannot be set where nothing would heed it", function()
    local refused = {}
    for i = 0, C.BROKER_CONFIG_COUNT - 1 do
      local name = ffi.string(C.broker_config_defs()[i].name)
      -- Share and streams groups are not served, but groups may have configs for them already.
      local is_later = name:find "^group%.share%." or name:find "^group%.streams%."
      assert.is_false(is_later ~= nil and C.broker_config_is_supported(i), name)
      if not is_later and not C.broker_config_is_supported(i) then refused[#refused + 1] = name end
    end
    assert.same({}, refused)
    for _, name in ipairs { "group.share.session.timeout.ms", "group.streams.session.timeout.ms" } do
      local result, message = set(name, "1")
      assert.equal(C.ERR_CONFIG, result)
      assert.equal(("broker config '%s' is known to Kafka but not supported by Luka yet"):format(name), message)
    end
  end)

  it("computes roll and jitter from hours", function()
    set("log.roll.hours", "2")
    set("log.roll.jitter.hours", "1")
    assert.equal(0, C.broker_config_resolve(config))
    assert.equal(7200000, tonumber(config.topic.values.segment_ms))
    assert.equal(3600000, tonumber(config.topic.values.segment_jitter_ms))
  end)

  for _, case in ipairs {
    { "log.retention.ms", "foobar", "broker config log.retention.ms = 'foobar' is not allowed: it takes a whole number" },
    { "log.retention.ms", "7d", "broker config log.retention.ms = '7d' is not allowed: it takes a whole number" },
    { "log.segment.bytes", "10MB",
      "broker config log.segment.bytes = '10MB' is not allowed: it takes a whole number from 1048576 to 2147483647" },
    { "log.segment.bytes", "1",
      "broker config log.segment.bytes = '1' is not allowed: it takes a whole number from 1048576 to 2147483647" },
    { "num.partitions", "0", "broker config num.partitions = '0' is not allowed: it takes a whole number from 1 to 2147483647" },
    { "replica.high.watermark.checkpoint.interval.ms", "-1",
      "broker config replica.high.watermark.checkpoint.interval.ms = '-1' is not allowed: it takes a whole number of at least 1" },
    { "auto.create.topics.enable", "yes", "broker config auto.create.topics.enable = 'yes' is not allowed: it takes true or false" },
    { "compression.type", "none",
      "broker config compression.type = 'none' is not allowed: it takes one of: uncompressed, zstd, lz4, snappy, gzip, producer" },
    { "log.retention.mss", "1", "unknown broker config 'log.retention.mss'; did you mean 'log.retention.ms'?" },
    { "num.partition", "1", "unknown broker config 'num.partition'; did you mean 'num.partitions'?" },
    { "quite.something.else", "1", "unknown broker config 'quite.something.else'" },
    { "process.roles", "broker", "broker config 'process.roles' is known to Kafka but not supported by Luka yet" },
    { "log.dirs", "/tmp", "broker config 'log.dirs' is set by `data` here" },
  } do
    it(("refuses %s = %s in one line"):format(case[1], case[2]), function()
      local result, message = set(case[1], case[2])
      assert.equal(C.ERR_CONFIG, result)
      assert.equal(case[3], message)
    end)
  end

  it("keeps the value that was there when a new one is refused", function()
    set("num.partitions", "3")
    set("num.partitions", "x")
    assert.equal(3, config.num_partitions)
    assert.is_true(C.broker_config_is_set(config, C.BROKER_CONFIG_num_partitions))
    assert.is_false(C.broker_config_is_set(config, C.BROKER_CONFIG_message_max_bytes))
  end)

  for _, case in ipairs {
    { { ["log.retention.ms"] = "0" }, "broker config log.retention.ms (or minutes, hours) is 0; it takes -1, or 1 and more" },
    { { ["log.roll.ms"] = "0" }, "broker config log.roll.ms = 0 is not allowed: it takes 1 and more" },
  } do
    it("refuses to resolve: " .. case[2], function()
      for name, value in pairs(case[1]) do assert.equal(0, (set(name, value))) end
      assert.equal(C.ERR_CONFIG, C.broker_config_resolve(config))
      assert.equal(case[2], ffi.string(C.error_last().message))
    end)
  end

  it("documents each config and sorts them by name", function()
    local defs, last = C.broker_config_defs(), ""
    for i = 0, C.BROKER_CONFIG_COUNT - 1 do
      local name = ffi.string(defs[i].name)
      assert.is_true(last < name, name)
      assert.is_true(#ffi.string(defs[i].doc) > 10, name)
      last = name
    end
  end)
end)
