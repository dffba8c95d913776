-- SPDX-License-Identifier: Apache-2.0
-- A controller that changes configs: nodes, notifications, images, restarts, failures.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller_driver.h", "base/error.h", "os/errinj.h", "wire/error_codes.h", "metadata/broker_config.h")

local TOPIC, BROKER, SET, UNSET = C.CONTROLLER_TOPIC, C.CONTROLLER_BROKER, C.CONTROLLER_SET, C.CONTROLLER_UNSET

describe("A controller that changes configs", function()
  local path, driver, kept, post

  local function start()
    driver = C.controller_driver_new(path, nil, true)
    assert.equal(0, C.controller_driver_load_result(driver))
  end
  local function stop()
    C.controller_driver_delete(driver)
    driver = nil
  end
  local function keep(value)
    kept[#kept + 1] = value
    return value
  end

  before_each(function()
    path, kept, post = unit.temp_dir() .. "/luka.mdb", {}, C.controller_driver_alter
    start()
  end)
  after_each(function()
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    if driver then stop() end
  end)

  local function create(name)
    local request, list = ffi.new "struct controller_create", ffi.new "struct controller_new_topic[1]"
    list[0].name, list[0].name_length, list[0].partitions, list[0].replication_factor = keep(name), #name, 2, -1
    request.topics, request.topic_count = list, 1
    assert.is_true(C.controller_driver_create(driver, request))
    assert.equal(0, list[0].error_code)
  end

  --- Changes resources { type, name, { name, operation, value } ... }; their errors.
  local function alter(resources, options)
    local request = ffi.new "struct controller_alter"
    local list = keep(ffi.new("struct controller_alter_resource[?]", #resources))
    for i, resource in ipairs(resources) do
      local entries = keep(ffi.new("struct controller_alter_entry[?]", #resource + 1))
      for j = 3, #resource do
        local entry = resource[j]
        entries[j - 3].name, entries[j - 3].operation, entries[j - 3].value = keep(entry[1]), entry[2], keep(entry[3])
      end
      list[i - 1].type, list[i - 1].name, list[i - 1].name_length = resource[1], keep(resource[2]), #resource[2]
      list[i - 1].entries, list[i - 1].entry_count = entries, #resource - 2
    end
    request.resources, request.resource_count, request.is_incremental = list, #resources, true
    for key, value in pairs(options or {}) do request[key] = value end
    keep(request)
    assert.is_true(post(driver, request))
    local codes = {}
    for i = 1, #resources do codes[i] = list[i - 1].error_code end
    return codes, list
  end

  local function node(at)
    local text = C.controller_driver_node(driver, at)
    return text ~= nil and ffi.string(text) or nil
  end
  local function children(at) return ffi.string(C.controller_driver_children(driver, at)) end
  local function diary() return ffi.string(C.controller_driver_diary(driver)) end
  local function image() return C.controller_driver_image(driver) end
  local function topic(name)
    local found = C.metadata_image_topic(image(), name, #name)
    return found ~= nil and found or nil
  end

  it("writes a topic's node and a notification, gives its logs the configs, then publishes it", function()
    create "t"
    assert.same({ 0 }, alter { { TOPIC, "t", { "retention.ms", SET, "5" }, { "segment.ms", SET, " 7 " } } })
    assert.equal('{"version":1,"config":{"retention.ms":"5","segment.ms":" 7 "}}', node "/config/topics/t")
    assert.equal("config_change_0000000000", children "/config/changes")
    assert.equal('{"version":2,"entity_path":"topics/t"}', node "/config/changes/config_change_0000000000")
    assert.equal("publish 0; open t 2; publish 1; configure t 2; publish 1; ", diary())
    assert.same({ 5, 7 }, { tonumber(topic("t").config.retention_ms), tonumber(topic("t").config.segment_ms) })
    assert.equal(2, topic("t").partition_count)
    assert.equal(1, topic("t").partitions[1].leader)
  end)

  it("writes nodes of brokers as Kafka does, and lays them over the topics", function()
    create "t"
    create "own"
    alter { { TOPIC, "own", { "max.message.bytes", SET, "77" } } }
    local before = image().version
    assert.same({ 0, 0 }, alter { { BROKER, "", { "message.max.bytes", SET, "3000" } },
      { BROKER, "1", { "log.roll.ms", SET, "9" } } })
    assert.equal('{"version":1,"config":{"message.max.bytes":"3000"}}', node "/config/brokers/<default>")
    assert.equal('{"version":1,"config":{"log.roll.ms":"9"}}', node "/config/brokers/1")
    assert.equal('{"version":2,"entity_path":"brokers/<default>"}', node "/config/changes/config_change_0000000001")
    assert.equal('{"version":2,"entity_path":"brokers/1"}', node "/config/changes/config_change_0000000002")
    assert.same({ 3000, 9 }, { topic("t").config.max_message_bytes, tonumber(topic("t").config.segment_ms) })
    assert.same({ 77, 9 }, { topic("own").config.max_message_bytes, tonumber(topic("own").config.segment_ms) })
    assert.equal(3000, image().config.message_max_bytes)
    assert.is_true(image().version > before)
    assert.is_truthy(diary():find("configure own 2", 1, true) or diary():find("configure t 2", 1, true))
  end)

  it("changes thousands of resources in one write, between which others have their turn", function()
    local COUNT = 3000
    local set, unset = {}, {}
    for i = 1, COUNT do
      local name = ("g%05d"):format(i * 7919 % 10007)
      set[i] = { C.CONTROLLER_GROUP, name, { "consumer.session.timeout.ms", SET, "50000" } }
      unset[i] = { C.CONTROLLER_GROUP, name, { "consumer.session.timeout.ms", UNSET } }
    end
    set[COUNT + 1] = { C.CONTROLLER_GROUP, "wrong", { "consumer.session.timeout.ms", SET, "x" } }
    local seen = image().version
    local codes = alter(set)
    for i = 1, COUNT do assert.equal(0, codes[i]) end
    assert.equal(C.WIRE_INVALID_CONFIG, codes[COUNT + 1])
    assert.equal(COUNT, image().entity_count)
    assert.equal(seen + 1, image().version)
    alter(unset)
    assert.equal(0, image().entity_count)
    assert.equal("", children "/config/groups")
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
    codes = alter(set)
    for i = 1, COUNT do assert.equal(C.WIRE_KAFKA_STORAGE_ERROR, codes[i]) end
    assert.equal(0, image().entity_count)
  end)

  it("has the changes again after a start", function()
    create "t"
    alter { { TOPIC, "t", { "retention.ms", SET, "5" } }, { BROKER, "", { "message.max.bytes", SET, "3000" } },
      { BROKER, "1", { "log.roll.ms", SET, "9" } } }
    stop()
    start()
    assert.same({ 5, 3000, 9 }, { tonumber(topic("t").config.retention_ms), topic("t").config.max_message_bytes,
      tonumber(topic("t").config.segment_ms) })
    assert.equal(2, tonumber(C.broker_config_source(image().config, C.BROKER_CONFIG_log_roll_ms)))
    alter { { BROKER, "1", { "log.roll.ms", UNSET } }, { TOPIC, "t", { "retention.ms", UNSET } } }
    assert.equal('{"version":1,"config":{}}', node "/config/brokers/1")
    assert.equal('{"version":1,"config":{}}', node "/config/topics/t")
    assert.equal(604800000, tonumber(topic("t").config.segment_ms))
  end)

  it("writes nothing for what changes nothing, and nothing where only validation is asked for", function()
    create "t"
    alter { { TOPIC, "t", { "retention.ms", SET, "5" } } }
    local seen = diary()
    assert.same({ 0 }, alter { { TOPIC, "t", { "retention.ms", SET, "5" } } })
    assert.same({ 0 }, alter { { TOPIC, "t" } })
    assert.same({ 0, 0 }, alter({ { TOPIC, "t", { "retention.ms", SET, "6" } }, { BROKER, "1", { "log.roll.ms", SET, "9" } } },
      { is_validate_only = true }))
    assert.equal(seen, diary())
    assert.equal('{"version":1,"config":{"retention.ms":"5"}}', node "/config/topics/t")
    assert.is_nil(node "/config/brokers/1")
    assert.equal("config_change_0000000000", children "/config/changes")
  end)

  it("keeps what is stored and does not fit in its node, until it is named", function()
    create "t"
    C.controller_driver_write(driver, "/config/topics/t", '{"version":1,"config":{"no.such":"1","retention.ms":"7"}}', false)
    stop()
    start()
    assert.same({ 0 }, alter { { TOPIC, "t", { "segment.ms", SET, "9" } } })
    assert.equal('{"version":1,"config":{"no.such":"1","retention.ms":"7","segment.ms":"9"}}', node "/config/topics/t")
    assert.same({ 40 }, alter { { TOPIC, "t", { "no.such", SET, "2" } } })
    assert.same({ 0 }, alter { { TOPIC, "t", { "no.such", UNSET } } })
    assert.equal('{"version":1,"config":{"retention.ms":"7","segment.ms":"9"}}', node "/config/topics/t")
  end)

  it("ignores what is stored for brokers and cannot be set", function()
    C.controller_driver_write(driver, "/config/brokers/<default>",
      '{"version":1,"config":{"num.partitions":"9","log.cleaner.threads":"2","log.roll.ms":"x","message.max.bytes":"3000"}}', true)
    stop()
    start()
    assert.equal(3000, image().config.message_max_bytes)
    assert.equal(4, image().config.num_partitions)
    assert.same({ 0 }, alter { { BROKER, "", { "log.roll.ms", SET, "9" } } })
    assert.equal('{"version":1,"config":{"num.partitions":"9","log.cleaner.threads":"2","log.roll.ms":"9","message.max.bytes":"3000"}}',
      node "/config/brokers/<default>")
  end)

  it("does not start with a node of a broker that cannot be read", function()
    C.controller_driver_write(driver, "/config/brokers/1", "not JSON", true)
    stop()
    driver = C.controller_driver_new(path, nil, true)
    assert.equal(C.ERR_CORRUPT, C.controller_driver_load_result(driver))
    assert.is_truthy(ffi.string(C.controller_driver_load_message(driver)):find("metastore node /config/brokers/1: ", 1, true))
  end)

  describe("of groups, subscriptions and users", function()
    local GROUP, METRICS, USER = C.CONTROLLER_GROUP, C.CONTROLLER_CLIENT_METRICS, C.CONTROLLER_USER
    local session = "consumer.session.timeout.ms"

    local function entity(kind, name)
      local found = C.metadata_image_entity(image(), kind, name, #name)
      return found ~= nil and found or nil
    end

    it("writes nodes and notifications as Kafka does, and publishes what is set", function()
      assert.same({ 0, 0, 0 }, alter { { GROUP, "a b", { session, SET, "50000" } }, { METRICS, "m", { "interval.ms", SET, "5000" } },
        { USER, "bob", { "SCRAM-SHA-256", SET, "salt=" } } })
      assert.equal('{"version":1,"config":{"consumer.session.timeout.ms":"50000"}}', node "/config/groups/a%20b")
      assert.equal('{"version":1,"config":{"interval.ms":"5000"}}', node "/config/client-metrics/m")
      assert.equal('{"version":1,"config":{"SCRAM-SHA-256":"salt="}}', node "/config/users/bob")
      assert.equal('{"version":2,"entity_path":"groups/a%20b"}', node "/config/changes/config_change_0000000000")
      assert.equal('{"version":2,"entity_path":"client-metrics/m"}', node "/config/changes/config_change_0000000001")
      assert.equal('{"version":2,"entity_path":"users/bob"}', node "/config/changes/config_change_0000000002")
      assert.equal(50000, C.metadata_image_group_config(image(), "a b", 3).consumer_session_timeout_ms)
      assert.equal("5000", ffi.string(entity(METRICS, "m").entries[0].value))
      assert.equal("salt=", ffi.string(entity(USER, "bob").entries[0].value))
      stop()
      start()
      assert.equal(50000, C.metadata_image_group_config(image(), "a b", 3).consumer_session_timeout_ms)
      assert.equal("5000", ffi.string(entity(METRICS, "m").entries[0].value))
      assert.equal("salt=", ffi.string(entity(USER, "bob").entries[0].value))
    end)

    it("takes away the node of a group on which nothing is set any more, and leaves an empty one of a user", function()
      alter { { GROUP, "g", { session, SET, "50000" } }, { USER, "u", { "SCRAM-SHA-256", SET, "salt=" } } }
      assert.same({ 0, 0 }, alter { { GROUP, "g", { session, UNSET } }, { USER, "u", { "SCRAM-SHA-256", UNSET } } })
      assert.is_nil(node "/config/groups/g")
      assert.equal('{"version":1,"config":{}}', node "/config/users/u")
      assert.is_nil(entity(GROUP, "g"))
      assert.is_nil(entity(USER, "u"))
      stop()
      start()
      assert.is_nil(entity(USER, "u"))
      assert.same({ 0 }, alter { { USER, "u", { "SCRAM-SHA-512", SET, "salt=" } } })
      assert.equal('{"version":1,"config":{"SCRAM-SHA-512":"salt="}}', node "/config/users/u")
    end)

    it("lays groups over what is set on brokers, at once", function()
      alter { { GROUP, "g", { session, SET, "50000" } } }
      alter { { BROKER, "", { "group.consumer.assignment.interval.ms", SET, "7" } } }
      local values = C.metadata_image_group_config(image(), "g", 1)
      assert.same({ 50000, 7 }, { values.consumer_session_timeout_ms, values.consumer_assignment_interval_ms })
    end)

    it("reads what Kafka wrote for users, and leaves alone what stands for all and clients of users", function()
      C.controller_driver_write(driver, "/config/users/bob%40x",
        '{"version":1,"config":{"producer_byte_rate":"9","SCRAM-SHA-256":"salt="}}', true)
      C.controller_driver_write(driver, "/config/users/<default>", '{"version":1,"config":{"producer_byte_rate":"9"}}', true)
      C.controller_driver_write(driver, "/config/users/a b", '{"version":1,"config":{}}', true)
      C.controller_driver_write(driver, "/config/users/alice", "", true)
      C.controller_driver_write(driver, "/config/users/alice/clients", "", true)
      stop()
      start()
      assert.equal(2, entity(USER, "bob@x").entry_count)
      for _, name in ipairs { "<default>", "a b", "alice" } do assert.is_nil(entity(USER, name)) end
      assert.same({ 0 }, alter { { USER, "bob@x", { "SCRAM-SHA-256", UNSET } } })
      assert.equal('{"version":1,"config":{"producer_byte_rate":"9"}}', node "/config/users/bob%40x")
    end)

    it("does not start with a node of a group that cannot be read", function()
      C.controller_driver_write(driver, "/config/groups/g", "not JSON", true)
      stop()
      driver = C.controller_driver_new(path, nil, true)
      assert.equal(C.ERR_CORRUPT, C.controller_driver_load_result(driver))
      assert.is_truthy(ffi.string(C.controller_driver_load_message(driver)):find("metastore node /config/groups/g: ", 1, true))
    end)

    it("changes nothing when the metastore cannot be written", function()
      C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
      assert.same({ C.WIRE_KAFKA_STORAGE_ERROR }, alter { { GROUP, "g", { session, SET, "50000" } } })
      assert.is_nil(entity(GROUP, "g"))
    end)
  end)

  it("keeps the newest hundred notifications", function()
    create "t"
    for i = 1, 105 do alter { { TOPIC, "t", { "retention.ms", SET, tostring(i) } } } end
    local names = {}
    for name in children("/config/changes"):gmatch "[^,]+" do names[#names + 1] = name end
    assert.equal(101, #names)
    assert.equal("config_change_0000000004", names[1])
    assert.equal("config_change_0000000104", names[101])
  end)

  it("changes nothing when the metastore cannot be written", function()
    create "t"
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
    local codes = alter { { TOPIC, "t", { "retention.ms", SET, "5" } }, { TOPIC, "no", { "retention.ms", SET, "5" } },
      { BROKER, "1", { "log.roll.ms", SET, "9" } } }
    assert.same({ C.WIRE_KAFKA_STORAGE_ERROR, 3, C.WIRE_KAFKA_STORAGE_ERROR }, codes)
    assert.same({ 604800000, 604800000 }, { tonumber(topic("t").config.retention_ms), tonumber(topic("t").config.segment_ms) })
  end)

  it("answers 41 when another broker has become controller", function()
    create "t"
    C.controller_driver_write(driver, "/controller_epoch", "7", false)
    assert.same({ C.WIRE_NOT_CONTROLLER }, alter { { TOPIC, "t", { "retention.ms", SET, "5" } } })
    assert.equal('{"version":1,"config":{}}', node "/config/topics/t")
  end)

  it("leaves resources alone that were refused or settled before", function()
    create "t"
    local request = ffi.new "struct controller_alter"
    local list = keep(ffi.new "struct controller_alter_resource[3]")
    list[0].type, list[0].name, list[0].name_length, list[0].is_settled = 32, keep "g", 1, true
    list[1].type, list[1].name, list[1].name_length, list[1].error_code = 99, keep "x", 1, 42
    local entry = keep(ffi.new "struct controller_alter_entry[1]")
    entry[0].name, entry[0].value = keep "retention.ms", keep "5"
    list[2].type, list[2].name, list[2].name_length, list[2].entries, list[2].entry_count = TOPIC, keep "t", 1, entry, 1
    request.resources, request.resource_count, request.is_incremental = list, 3, true
    assert.is_true(C.controller_driver_alter(driver, request))
    assert.same({ 0, 42, 0 }, { list[0].error_code, list[1].error_code, list[2].error_code })
    assert.equal(5, tonumber(topic("t").config.retention_ms))
  end)

  it("answers what is under way when it is freed, and has the change again after a start", function()
    create "t"
    post = C.controller_driver_hang_alter
    local _, list = alter { { TOPIC, "t", { "retention.ms", SET, "5" } }, { BROKER, "", { "log.retention.ms", SET, "7" } } }
    stop()
    assert.same({ C.WIRE_NOT_CONTROLLER, C.WIRE_NOT_CONTROLLER }, { list[0].error_code, list[1].error_code })
    start()
    assert.equal(5, tonumber(topic "t".config.retention_ms))
  end)
end)
