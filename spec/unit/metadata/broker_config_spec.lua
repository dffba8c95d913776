-- SPDX-License-Identifier: Apache-2.0
-- The layers of a broker's configuration: what is set at run time over what was configured at the start.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/broker_config.h", "base/error.h")

describe("A snapshot of the broker's configuration", function()
  local base, made, kept

  before_each(function()
    base, kept = ffi.new "struct broker_config", {}
    C.broker_config_create(base)
    C.broker_config_set(base, "message.max.bytes", "2000")
    C.broker_config_set(base, "log.retention.hours", "2")
    assert.equal(0, C.broker_config_resolve(base))
  end)
  after_each(function()
    if made then C.broker_config_unref(made) end
    made = nil
    C.broker_config_destroy(base)
  end)

  local function entries(list)
    local array = ffi.new("struct config_entry[?]", #list + 1)
    for i, pair in ipairs(list) do
      kept[#kept + 1] = pair
      array[i - 1].name, array[i - 1].value = pair[1], pair[2]
    end
    return array, #list
  end

  --- Lays over; nil and the sentence when that is refused.
  local function overlay(cluster, own)
    local out, message = ffi.new "struct broker_config *[1]", ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    local on_all, all_count = entries(cluster or {})
    local on_one, one_count = entries(own or {})
    local result = C.broker_config_overlay(base, on_all, all_count, on_one, one_count, out, message)
    if result < 0 then return nil, ffi.string(message) end
    made = out[0]
    return made
  end

  local function source(config, index) return tonumber(C.broker_config_source(config, index)) end

  it("without changes is what was configured at the start", function()
    local config = overlay()
    assert.equal(2000, config.message_max_bytes)
    assert.equal(4, source(config, C.BROKER_CONFIG_message_max_bytes))
    assert.equal(5, source(config, C.BROKER_CONFIG_num_partitions))
    assert.equal(7200000, tonumber(config.topic.values.retention_ms))
    assert.equal(4, config.topic.source[C.TOPIC_CONFIG_retention_ms])
  end)

  it("has what is set on this broker before what is set on all", function()
    local config = overlay({ { "message.max.bytes", "3000" }, { "log.roll.ms", "5" } }, { { "message.max.bytes", "4000" } })
    assert.equal(4000, config.message_max_bytes)
    assert.equal(4000, config.topic.values.max_message_bytes)
    assert.same({ 2, 3 }, { source(config, C.BROKER_CONFIG_message_max_bytes), source(config, C.BROKER_CONFIG_log_roll_ms) })
    assert.same({ 2, 3 }, { config.topic.source[C.TOPIC_CONFIG_max_message_bytes], config.topic.source[C.TOPIC_CONFIG_segment_ms] })
    assert.equal(5, tonumber(config.topic.values.segment_ms))
    assert.equal("4000", ffi.string(config.topic.text[C.TOPIC_CONFIG_max_message_bytes]))
    assert.equal(2000, base.message_max_bytes)
  end)

  it("takes a time in milliseconds before one in hours, wherever it is set", function()
    local config = overlay({ { "log.retention.ms", "-1" } })
    assert.equal(-1, tonumber(config.topic.values.retention_ms))
    assert.equal(3, config.topic.source[C.TOPIC_CONFIG_retention_ms])
  end)

  it("lists what a layer sets", function()
    local config = overlay({ { "log.roll.ms", "5" } }, { { "message.max.bytes", "4000" } })
    local list, found = ffi.new("struct config_entry[?]", C.BROKER_CONFIG_COUNT), {}
    for _, layer in ipairs { C.BROKER_LAYER_OWN, C.BROKER_LAYER_CLUSTER, C.BROKER_LAYER_STATIC } do
      for i = 0, C.broker_config_layer_entries(config, layer, list) - 1 do
        found[#found + 1] = ffi.string(list[i].name) .. "=" .. ffi.string(list[i].value)
      end
    end
    assert.same({ "message.max.bytes=4000", "log.roll.ms=5", "log.retention.hours=2", "message.max.bytes=2000" }, found)
  end)

  -- Measured on Apache Kafka 4.4.0.
  for _, case in ipairs {
    { "log.retention.ms", "0", "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1" },
    { "log.roll.ms", "0", "requirement failed: log.roll.ms must be greater than or equal to 1" },
    { "log.roll.jitter.ms", "-1", "requirement failed: log.roll.jitter.ms must be greater than or equal to 0" },
    { "log.roll.ms", "x", "Invalid value x for configuration log.roll.ms: Not a number of type LONG" },
  } do
    it(("is refused with %s = %s"):format(case[1], case[2]), function()
      local config, message = overlay({ { case[1], case[2] } })
      assert.is_nil(config)
      assert.equal(case[3], message)
      config, message = overlay(nil, { { case[1], case[2] } })
      assert.is_nil(config)
      assert.equal(case[3], message)
    end)
  end

  it("is allowed with negative retention, which is none", function()
    assert.equal(-1, tonumber(overlay({ { "log.retention.ms", "-2" } }).topic.values.retention_ms))
  end)

  it("names the configs that can give one value in the order in which they win", function()
    local names = ffi.new("enum broker_config_index[?]", C.BROKER_CONFIG_SYNONYMS_MAX)
    for _, index in ipairs { C.BROKER_CONFIG_log_retention_ms, C.BROKER_CONFIG_log_retention_hours } do
      assert.equal(3, C.broker_config_synonyms(index, names))
      assert.same({ C.BROKER_CONFIG_log_retention_ms, C.BROKER_CONFIG_log_retention_minutes, C.BROKER_CONFIG_log_retention_hours },
        { tonumber(names[0]), tonumber(names[1]), tonumber(names[2]) })
    end
    assert.equal(2, C.broker_config_synonyms(C.BROKER_CONFIG_log_roll_ms, names))
    assert.equal(1, C.broker_config_synonyms(C.BROKER_CONFIG_num_partitions, names))
    assert.equal(C.BROKER_CONFIG_num_partitions, tonumber(names[0]))
  end)
end)

describe("What a config may have changed at run time", function()
  for name, change in pairs { ["log.retention.ms"] = "ALLOWED", ["max.connections"] = "ALLOWED", ["num.partitions"] = "READ_ONLY",
    ["log.retention.hours"] = "READ_ONLY", ["process.roles"] = "READ_ONLY", ["log.cleaner.threads"] = "ALLOWED",
    ["background.threads"] = "UNSUPPORTED",
    ["log.flush.interval.ms"] = "ALLOWED", ["max.connections.per.ip"] = "UNSUPPORTED", ["listeners"] = "OWN_ONLY",
    ["ssl.keystore.location"] = "OWN_ONLY",
    ["my.own"] = "UNKNOWN" } do
    it(("of %s is %s"):format(name, change), function()
      assert.equal(C["BROKER_CHANGE_" .. change], tonumber(C.broker_config_change_of(name)))
    end)
  end
end)
