-- SPDX-License-Identifier: Apache-2.0
-- Decisions on changed configs. Errors, messages and which of several comes first are those of Apache Kafka 4.4.0.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/alter_plan.h", "base/arena.h", "metadata/broker_config.h", "wire/error_codes.h")

local TOPIC, BROKER = C.CONTROLLER_TOPIC, C.CONTROLLER_BROKER
local SET, UNSET, APPEND, SUBTRACT = C.CONTROLLER_SET, C.CONTROLLER_UNSET, C.CONTROLLER_APPEND, C.CONTROLLER_SUBTRACT

describe("alter plan", function()
  local arena, base, config, image, context, plan, kept

  local function keep(value)
    kept[#kept + 1] = value
    return value
  end

  local function entries(list)
    local array = keep(ffi.new("struct config_entry[?]", #list + 1))
    for i, pair in ipairs(list) do array[i - 1].name, array[i - 1].value = keep(pair[1]), keep(pair[2]) end
    return array, #list
  end

  --- Replaces the configuration by one with these set on all brokers.
  local function set_on_all(list)
    if config then C.broker_config_unref(config) end
    local made, message = ffi.new "struct broker_config *[1]", ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    local array, count = entries(list)
    assert.equal(0, C.broker_config_overlay(base, array, count, nil, 0, made, message))
    config = made[0]
    context.config = config
  end

  --- Replaces the image: topic "t" with these overrides.
  local function topic(list)
    if image then C.metadata_image_unref(image) end
    local draft = C.metadata_draft_new(nil)
    local id, spec, replicas = ffi.new "struct uuid", ffi.new "struct metadata_partition_spec", ffi.new("int32_t[1]", { 1 })
    id.bytes[15] = 7
    spec.leader, spec.replicas, spec.replica_count, spec.isr, spec.isr_count = 1, replicas, 1, replicas, 1
    local array, count = entries(list)
    C.metadata_draft_put_topic(draft, C.metadata_topic_new("t", id, 0, spec, 1, array, count, config.topic.values))
    image = C.metadata_draft_finish(draft)
    context.image = image
  end

  before_each(function()
    arena, base, context, kept = ffi.new "struct arena", ffi.new "struct broker_config", ffi.new "struct alter_plan_context", {}
    plan = ffi.new "struct alter_plan"
    C.broker_config_create(base)
    set_on_all {}
    topic {}
  end)
  after_each(function()
    C.alter_plan_destroy(plan)
    C.metadata_image_unref(image)
    C.broker_config_unref(config)
    image, config = nil, nil
    C.broker_config_destroy(base)
    C.arena_destroy(arena)
  end)

  --- Decides on one resource whose node has `stored`: { code, message, "a=1,b=2" of the node or nil }.
  local function decide(kind, name, changes, stored, options)
    C.alter_plan_destroy(plan)
    local request, resource = ffi.new "struct controller_alter", keep(ffi.new "struct controller_alter_resource[1]")
    local list = keep(ffi.new("struct controller_alter_entry[?]", #changes + 1))
    for i, change in ipairs(changes) do
      list[i - 1].name, list[i - 1].operation, list[i - 1].value = keep(change[1]), change[2], keep(change[3])
    end
    resource[0].type, resource[0].name, resource[0].name_length = kind, keep(name), #name
    resource[0].entries, resource[0].entry_count = list, #changes
    request.arena, request.resources, request.resource_count, request.is_incremental = arena, resource, 1, true
    for key, value in pairs(options or {}) do request[key] = value end
    local found = ffi.new "struct alter_found"
    found.is_there = stored ~= nil
    found.configs, found.config_count = entries(stored or {})
    C.alter_plan_begin(request, plan)
    C.alter_plan_decide(context, request, 0, found, plan)
    C.alter_plan_end(request, plan)
    local node
    if plan.change_count > 0 then
      node = {}
      for i = 0, plan.changes[0].config_count - 1 do
        node[i + 1] = ffi.string(plan.changes[0].configs[i].name) .. "=" .. ffi.string(plan.changes[0].configs[i].value)
      end
      node = table.concat(node, ",")
    end
    local message = resource[0].error_message
    return { resource[0].error_code, message ~= nil and ffi.string(message) or nil, node = node }
  end

  it("changes what is named and keeps the rest, in the order of the node", function()
    topic { { "retention.ms", "5" }, { "segment.ms", "6" } }
    local stored = { { "retention.ms", "5" }, { "segment.ms", "6" } }
    assert.same({ 0, node = "retention.ms=7,segment.ms=6,preallocate=true" },
      decide(TOPIC, "t", { { "preallocate", SET, "true" }, { "retention.ms", SET, "7" } }, stored))
    assert.equal(7, tonumber(plan.changes[0].topic.config.retention_ms))
    assert.is_true(plan.changes[0].topic.config.preallocate)
    assert.equal(3, plan.changes[0].topic.override_count)
    assert.same({ 0, node = "segment.ms=6" }, decide(TOPIC, "t", { { "retention.ms", UNSET } }, stored))
    assert.equal(604800000, tonumber(plan.changes[0].topic.config.retention_ms))
  end)

  it("takes what is named for all there is, where the request is no change of single configs", function()
    topic { { "retention.ms", "5" } }
    assert.same({ 0, node = "segment.ms=6" },
      decide(TOPIC, "t", { { "segment.ms", SET, "6" } }, { { "retention.ms", "5" } }, { is_incremental = false }))
    assert.same({ 0, node = "" }, decide(TOPIC, "t", {}, { { "retention.ms", "5" } }, { is_incremental = false }))
  end)

  it("decides and changes nothing where only validation is asked for", function()
    assert.same({ 0 }, decide(TOPIC, "t", { { "segment.ms", SET, "6" } }, {}, { is_validate_only = true }))
    assert.same({ 0 }, decide(BROKER, "", { { "log.roll.ms", SET, "6" } }, {}, { is_validate_only = true }))
    assert.is_true(plan.config == nil)
  end)

  it("begins lists that are not set with Kafka's default, whatever the broker's is", function()
    set_on_all { { "log.cleanup.policy", "compact" } }
    assert.same({ 0, node = "cleanup.policy=delete,compact" }, decide(TOPIC, "t", { { "cleanup.policy", APPEND, "compact" } }))
    assert.same({ 0, node = "cleanup.policy=" }, decide(TOPIC, "t", { { "cleanup.policy", SUBTRACT, "delete" } }))
  end)

  it("resolves topics against the broker's configuration", function()
    set_on_all { { "message.max.bytes", "3000" } }
    decide(TOPIC, "t", { { "segment.ms", SET, "6" } })
    assert.equal(3000, plan.changes[0].topic.config.max_message_bytes)
  end)

  it("makes the configuration that results, over what is set elsewhere", function()
    set_on_all { { "message.max.bytes", "3000" } }
    assert.same({ 0, node = "log.roll.ms=6" }, decide(BROKER, "1", { { "log.roll.ms", SET, "6" } }))
    assert.same({ 3000, 6 }, { plan.config.message_max_bytes, tonumber(plan.config.topic.values.segment_ms) })
    assert.same({ 0, node = "log.roll.ms=6" },
      decide(BROKER, "", { { "log.roll.ms", SET, "6" } }, { { "message.max.bytes", "3000" } }, { is_incremental = false }))
    assert.equal(1048588, plan.config.message_max_bytes)
  end)

  -- The first of several errors.
  for _, case in ipairs {
    { "an operation before a value", TOPIC, "t", { { "segment.ms", SET, "x" }, { "retention.ms", APPEND, "5" } },
      40, "Can't APPEND to key retention.ms because its type is not LIST." },
    { "a size before a name", TOPIC, "t", { { "no.such", SET, "x" }, { "retention.ms", SET, ("5"):rep(32768) } },
      40, "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes." },
    { "an unknown name before a value", TOPIC, "t", { { "retention.ms", SET, "x" }, { "no.such", SET, "x" } },
      40, "Unknown topic config name: no.such" },
    { "the topic's name before its configs", TOPIC, "b b", { { "retention.ms", SET, "x" } }, 17,
      "Topic name is invalid: 'b b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'" },
    { "configs before the existence of the topic", TOPIC, "no", { { "retention.ms", SET, "x" } },
      40, "Invalid value x for configuration retention.ms: Not a number of type LONG" },
    { "the existence of the topic last", TOPIC, "no", {}, 3, "The topic 'no' does not exist." },
    { "what is read-only before values", BROKER, "1", { { "log.retention.ms", SET, "x" }, { "num.partitions", SET, "x" },
      { "log.retention.hours", SET, "1" } }, 42, "Cannot update these configs dynamically: [num.partitions, log.retention.hours]" },
    { "values before what is for one broker", BROKER, "", { { "listeners", SET, "x" }, { "log.retention.ms", SET, "x" } },
      42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG" },
  } do
    it("tells " .. case[1], function()
      assert.same({ case[5], case[6] }, decide(case[2], case[3], case[4]))
    end)
  end

  it("takes a value of exactly 32767 bytes", function()
    local list = ("1:1,"):rep(8191) .. "1:1"
    assert.equal(32767, #list)
    assert.equal(0, decide(TOPIC, "t", { { "leader.replication.throttled.replicas", SET, list } })[1])
    assert.equal(40, decide(TOPIC, "t", { { "leader.replication.throttled.replicas", SET, list .. "1" } })[1])
  end)

  it("lets recovery threads become half as many or twice as many, and no fewer or more", function()
    set_on_all { { "num.recovery.threads.per.data.dir", "8" } }
    local function code(threads) return decide(BROKER, "1", { { "num.recovery.threads.per.data.dir", SET, threads } })[1] end
    assert.same({ 42, 0, 0, 42 }, { code "3", code "4", code "16", code "17" })
  end)

  it("lets the cleaner's threads become half as many or twice as many, and never none", function()
    local function answer(threads) return decide(BROKER, "1", { { "log.cleaner.threads", SET, threads } }) end
    local function code(threads) return answer(threads)[1] end
    set_on_all { { "log.cleaner.threads", "8" } }
    assert.same({ 42, 0, 0, 42 }, { code "3", code "4", code "16", code "17" })
    -- What is taken away counts by what is left.
    assert.equal(42, decide(BROKER, "", { { "log.cleaner.threads", UNSET } }, { { "log.cleaner.threads", "8" } })[1])
    set_on_all {}
    assert.same({ 42, 0, 0, 42 }, { code "0", code "1", code "2", code "3" })
    assert.equal("Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads should be at least 1 for "
      .. "configuration Invalid dynamic configuration", answer("0")[2])
  end)

  it("lets the cleaner have any number of threads while it is off, or was started without", function()
    for _, static in ipairs { { "log.cleaner.enable", "false" }, { "log.cleaner.threads", "0" } } do
      assert.equal(0, C.broker_config_set(base, static[1], static[2]))
      set_on_all {}
      assert.equal(0, decide(BROKER, "1", { { "log.cleaner.threads", SET, "5" } })[1])
      C.broker_config_destroy(base)
      C.broker_config_create(base)
    end
  end)

  it("leaves out of the topic what is stored and does not fit, and keeps it in the node", function()
    local stored = { { "no.such", "1" }, { "segment.bytes", "x" } }
    assert.same({ 0, node = "no.such=1,segment.bytes=x,retention.ms=5" }, decide(TOPIC, "t", { { "retention.ms", SET, "5" } }, stored))
    assert.equal(1, plan.changes[0].topic.override_count)
    assert.same({ 0, node = "no.such=1" }, decide(TOPIC, "t", { { "segment.bytes", UNSET } }, stored))
  end)

  describe("of groups, subscriptions and users", function()
    local GROUP, METRICS, USER = C.CONTROLLER_GROUP, C.CONTROLLER_CLIENT_METRICS, C.CONTROLLER_USER
    local session = "consumer.session.timeout.ms"

    it("makes the entity that results, or empties it", function()
      assert.same({ 0, node = session .. "=50000" }, decide(GROUP, "a\0b", { { session, SET, "50000" } }))
      local entity = plan.changes[0].entity
      assert.same({ "a\0b", C.METADATA_GROUP, 1, false },
        { ffi.string(entity.name, entity.name_length), tonumber(entity.kind), entity.entry_count, plan.changes[0].is_emptied })
      assert.same({ 0, node = "" }, decide(GROUP, "g", { { session, UNSET } }, { { session, "50000" } }))
      assert.is_true(plan.changes[0].is_emptied)
      assert.same({ 0 }, decide(GROUP, "g", { { session, SET, "50000" } }, { { session, "50000" } }))
    end)

    it("leaves alone what is stored and does not fit, and checks the rest of what is stored again", function()
      local stored = { { "no.such", "1" }, { session, "7000" } }
      assert.same({ 40, session .. " must be in the range 45000 to 60000 inclusive." },
        decide(GROUP, "g", { { "share.isolation.level", SET, "read_committed" } }, stored))
      assert.same({ 0, node = "no.such=1," .. session .. "=45000" }, decide(GROUP, "g", { { session, SET, "45000" } }, stored))
    end)

    it("takes the broker's bounds from the configuration in force", function()
      set_on_all { { "group.consumer.assignment.interval.ms", "15000" } }
      assert.equal(0, decide(GROUP, "g", { { session, SET, "50000" } })[1])
    end)

    for _, case in ipairs {
      { "an operation before the name", GROUP, "", { { session, APPEND, "5" } },
        40, "Can't APPEND to key " .. session .. " because its type is not LIST." },
      { "the name before configs", GROUP, "", { { "no.such", SET, "5" } }, 42, "Default group resources are not allowed." },
      { "an unknown name before a value", GROUP, "g", { { session, SET, "x" }, { "no.such", SET, "1" } },
        40, "Unknown group config name: no.such" },
      { "a value before the broker's bounds", GROUP, "g", { { session, SET, "1" }, { "share.session.timeout.ms", SET, "x" } },
        40, "Invalid value x for configuration share.session.timeout.ms: Not a number of type INT" },
      { "an unknown operation", GROUP, "g", { { session, 9, "1" } }, 42, "Unknown operations type 9" },
      { "the first config of a subscription", METRICS, "m", { { "interval.ms", SET, "1" }, { "no.such", SET, "1" } },
        42, "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)" },
      { "that a credential is missing before a second change", USER, "u", { { "A", UNSET }, { "B", SET, "1" } },
        91, "Attempt to delete a user credential that does not exist" },
      { "a second change", USER, "u", { { "A", SET, "1" }, { "B", SET, "1" } },
        92, "A user credential cannot be altered twice in the same request" },
    } do
      it("tells " .. case[1], function()
        assert.same({ case[5], case[6] }, decide(case[2], case[3], case[4]))
      end)
    end

    it("keeps what else a user has", function()
      assert.same({ 0, node = "producer_byte_rate=9,A=1" }, decide(USER, "u", { { "A", SET, "1" } }, { { "producer_byte_rate", "9" } }))
      assert.same({ 0, node = "producer_byte_rate=9" },
        decide(USER, "u", { { "A", UNSET } }, { { "producer_byte_rate", "9" }, { "A", "1" } }))
    end)
  end)

  it("changes nothing where the node has it all", function()
    assert.same({ 0 }, decide(TOPIC, "t", { { "retention.ms", SET, "5" } }, { { "retention.ms", "5" } }))
    assert.same({ 0 }, decide(TOPIC, "t", { { "segment.ms", UNSET } }, { { "retention.ms", "5" } }))
    assert.same({ 0 }, decide(BROKER, "1", {}, {}))
    assert.is_true(plan.config == nil)
  end)
end)
