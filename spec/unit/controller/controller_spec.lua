-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller_driver.h", "base/error.h", "os/errinj.h", "wire/error_codes.h")

describe("controller", function()
  local path, driver, kept

  local function start(cluster_id, is_clean)
    driver = C.controller_driver_new(path, cluster_id, is_clean ~= false)
    assert.is_true(driver ~= nil)
    return C.controller_driver_load_result(driver)
  end

  local function stop()
    C.controller_driver_delete(driver)
    driver = nil
  end

  before_each(function() path, kept = unit.temp_dir() .. "/luka.mdb", {} end)
  after_each(function()
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    if driver then stop() end
  end)

  local function new_topics(topics)
    local create, list = ffi.new "struct controller_create", ffi.new("struct controller_new_topic[?]", #topics)
    for i, topic in ipairs(topics) do
      list[i - 1].name, list[i - 1].name_length = topic[1], #topic[1]
      list[i - 1].partitions, list[i - 1].replication_factor = topic[2] or 1, -1
      if topic[3] then
        local entry = ffi.new "struct config_entry[1]"
        entry[0].name, entry[0].value = topic[3], topic[4]
        list[i - 1].configs, list[i - 1].config_count = entry, 1
        kept[#kept + 1] = entry
      end
    end
    create.topics, create.topic_count = list, #topics
    kept[#kept + 1] = { create, list, topics }
    return create, list
  end

  local function create(...)
    local request, list = new_topics { ... }
    assert.is_true(C.controller_driver_create(driver, request))
    return list
  end

  local function drop(...)
    local names = { ... }
    local request, list = ffi.new "struct controller_drop", ffi.new("struct controller_old_topic[?]", #names)
    for i, name in ipairs(names) do list[i - 1].name, list[i - 1].name_length = name, #name end
    request.topics, request.topic_count = list, #names
    kept[#kept + 1] = { request, list, names }
    assert.is_true(C.controller_driver_drop(driver, request))
    return list
  end

  --- Adds partitions: grow({ "a", 3 }, { "b", 2 }).
  local function grow(...)
    local topics = { ... }
    local request, list = ffi.new "struct controller_grow", ffi.new("struct controller_grown_topic[?]", #topics)
    for i, entry in ipairs(topics) do
      list[i - 1].name, list[i - 1].name_length, list[i - 1].partitions, list[i - 1].assignment_count = entry[1], #entry[1], entry[2], -1
    end
    request.topics, request.topic_count = list, #topics
    kept[#kept + 1] = { request, list, topics }
    assert.is_true(C.controller_driver_grow(driver, request))
    return list
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
  local function uuid(id)
    local text = ffi.new "char[23]"
    C.uuid_format(id, text)
    return ffi.string(text)
  end

  it("registers its broker, becomes controller and publishes an image of the cluster", function()
    assert.equal(0, start())
    assert.equal("1", children "/brokers/ids")
    assert.equal("1", node "/controller_epoch")
    assert.is_truthy(node("/controller"):match '^{"version":2,"brokerid":1,"timestamp":"%d+","kraftControllerEpoch":%-1}$')
    assert.is_truthy(node("/brokers/ids/1"):find('"endpoints":["PLAINTEXT://127.0.0.1:9092"]', 1, true))
    local id = node("/cluster/id"):match '"id":"([%w_-]+)"'
    assert.equal(22, #id)
    assert.equal(id, ffi.string(image().cluster_id))
    assert.equal(1, image().controller_id)
    assert.equal(1, image().controller_epoch)
    assert.equal(1, image().broker_count)
    assert.equal("127.0.0.1", ffi.string(image().brokers[0].endpoints[0].host))
    assert.equal("publish 0; ", diary())
  end)

  it("keeps its cluster id, and counts its epochs, over starts", function()
    start()
    local id = node "/cluster/id"
    stop()
    start()
    assert.equal(id, node "/cluster/id")
    assert.equal("2", node "/controller_epoch")
    assert.equal(2, image().controller_epoch)
  end)

  it("takes over the cluster id of its data directories, and refuses another later", function()
    assert.equal(0, start "dgKQHFcXRG2alo1SXhHoSw")
    assert.equal('{"version":"1","id":"dgKQHFcXRG2alo1SXhHoSw"}', node "/cluster/id")
    stop()
    assert.equal(C.ERR_CONFIG, start "AAKQHFcXRG2alo1SXhHoSw")
    assert.equal("the data directories belong to cluster AAKQHFcXRG2alo1SXhHoSw, the metastore to cluster dgKQHFcXRG2alo1SXhHoSw",
      ffi.string(C.controller_driver_load_message(driver)))
  end)

  it("writes Kafka's nodes of a new topic, opens its replicas, then publishes it", function()
    start()
    local made = create { "t", 2, "retention.ms", "1234" }
    assert.equal(0, made[0].error_code)
    local id = uuid(made[0].id)
    assert.equal(('{"version":3,"topic_id":"%s","partitions":{"0":[1],"1":[1]},"adding_replicas":{},"removing_replicas":{}}'):format(id),
      node "/brokers/topics/t")
    assert.equal('{"version":1,"config":{"retention.ms":"1234"}}', node "/config/topics/t")
    assert.equal('{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1]}', node "/brokers/topics/t/partitions/1/state")
    assert.equal("0,1", children "/brokers/topics/t/partitions")
    assert.equal("publish 0; open t 2; publish 1; ", diary())
    assert.equal(1234, tonumber(topic("t").config.retention_ms))
    assert.equal(id, uuid(topic("t").id))
    assert.equal(1, topic("t").partitions[1].leader)
    assert.equal(0, topic("t").partitions[1].offline_count)
  end)

  it("writes nothing for a request that only validates", function()
    start()
    local request, list = new_topics { { "t" } }
    request.is_validate_only = true
    assert.is_true(C.controller_driver_create(driver, request))
    assert.equal(0, list[0].error_code)
    assert.equal(37, list[0].shown_count)
    assert.equal("", children "/brokers/topics")
    assert.is_nil(topic "t")
    assert.equal("publish 0; ", diary())
  end)

  it("has the same topics after another start", function()
    start()
    create({ "a", 3, "retention.ms", "7" }, { "b" })
    local id = uuid(topic("a").id)
    stop()
    start()
    assert.equal("open a 3 load; open b 1 load; publish 2; ", diary())
    assert.equal(id, uuid(topic("a").id))
    assert.equal(7, tonumber(topic("a").config.retention_ms))
    assert.equal(0, topic("a").partitions[2].leader_epoch)
    assert.equal(0, topic("a").partitions[2].partition_epoch)
    assert.equal(36, create({ "a" })[0].error_code)
  end)

  it("raises the leader epochs after a stop that was not clean", function()
    start()
    create { "a", 2 }
    stop()
    start(nil, false)
    assert.equal(1, topic("a").partitions[0].leader_epoch)
    assert.equal(1, topic("a").partitions[0].partition_epoch)
    assert.equal('{"version":1,"leader":1,"leader_epoch":1,"controller_epoch":2,"isr":[1]}', node "/brokers/topics/a/partitions/1/state")
  end)

  it("works on requests in the order in which they came", function()
    start()
    local first, list = new_topics { { "t", 2 } }
    local second, other = new_topics { { "t", 3 } }
    assert.is_true(C.controller_driver_both(driver, first, second))
    assert.equal(0, list[0].error_code)
    assert.equal(36, other[0].error_code)
    assert.equal(2, topic("t").partition_count)
  end)

  it("deletes a topic: gone from the image first, then its replicas, then its nodes", function()
    start()
    create({ "a", 2 }, { "b" })
    local dropped = drop "a"
    assert.equal(0, dropped[0].error_code)
    assert.is_nil(topic "a")
    assert.is_not_nil(topic "b")
    assert.equal("b", children "/brokers/topics")
    assert.equal("b", children "/config/topics")
    assert.equal("", children "/admin/delete_topics")
    assert.equal("publish 0; open a 2; open b 1; publish 2; publish 1; delete a 2; ", diary())
    assert.equal(C.WIRE_UNKNOWN_TOPIC_OR_PARTITION, drop("a")[0].error_code)
    assert.equal(0, create({ "a" })[0].error_code)
  end)

  it("adds partitions: writes Kafka's nodes, opens the new replicas alone, then publishes the topic", function()
    start()
    create({ "a", 2, "retention.ms", "7" }, { "b" })
    local id = uuid(topic("a").id)
    local grown = grow({ "a", 4 }, { "no", 2 }, { "b", 2 })
    assert.same({ 0, 3, 0 }, { grown[0].error_code, grown[1].error_code, grown[2].error_code })
    assert.equal("publish 0; open a 2; open b 1; publish 2; open a 2; open b 1; publish 2; ", diary())
    assert.equal(('{"version":3,"topic_id":"%s","partitions":{"0":[1],"1":[1],"2":[1],"3":[1]},'
      .. '"adding_replicas":{},"removing_replicas":{}}'):format(id), node "/brokers/topics/a")
    assert.equal('{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1]}', node "/brokers/topics/a/partitions/3/state")
    assert.same({ 4, 2 }, { topic("a").partition_count, topic("b").partition_count })
    assert.equal(id, uuid(topic("a").id))
    assert.equal(7, tonumber(topic("a").config.retention_ms))
    assert.equal(0, grow({ "a", 5 })[0].error_code)
    stop()
    start()
    assert.equal("open a 5 load; open b 2 load; publish 2; ", diary())
    assert.equal(0, drop("a")[0].error_code)
    assert.equal("b", children "/brokers/topics")
  end)

  it("adds no partitions that it cannot write, and can add them afterwards", function()
    start()
    create { "a" }
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 28)
    local grown = grow({ "a", 2 }, { "no", 2 })
    assert.same({ C.WIRE_KAFKA_STORAGE_ERROR, 3 }, { grown[0].error_code, grown[1].error_code })
    assert.is_truthy(ffi.string(grown[0].error_message):find("The metadata cannot be written: ", 1, true))
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    assert.equal(1, topic("a").partition_count)
    assert.equal("0", children "/brokers/topics/a/partitions")
    assert.equal(0, grow({ "a", 2 })[0].error_code)
  end)

  it("adds no partitions once another broker has become controller", function()
    start()
    create { "a" }
    C.controller_driver_write(driver, "/controller_epoch", "2", false)
    assert.equal(C.WIRE_NOT_CONTROLLER, grow({ "a", 2 })[0].error_code)
    assert.equal("0", children "/brokers/topics/a/partitions")
    assert.equal(C.WIRE_NOT_CONTROLLER, grow({ "a", 2 })[0].error_code)
  end)

  it("gives a topic that is made again another id", function()
    start()
    local first = uuid(create({ "a" })[0].id)
    drop "a"
    assert.are_not.equal(first, uuid(create({ "a" })[0].id))
  end)

  it("removes the nodes of a deleted topic later when the disk was full, before the next change", function()
    start()
    create { "a" }
    C.errinj_set_once(C.ERRINJ_FILE_SYNC, 2, 28) -- the second write of the deletion
    assert.equal(0, drop("a")[0].error_code)
    assert.is_nil(topic "a")
    assert.equal("a", children "/brokers/topics")
    assert.equal("a", children "/admin/delete_topics")
    assert.equal(0, create({ "a", 3 })[0].error_code)
    assert.equal(3, topic("a").partition_count)
    assert.equal("", children "/admin/delete_topics")
    C.errinj_set_once(C.ERRINJ_FILE_SYNC, 2, 28)
    assert.equal(0, drop("a")[0].error_code)
    assert.equal(3, drop("b")[0].error_code)
    assert.equal("", children "/brokers/topics")
  end)

  it("deletes a topic of the longest name", function()
    start()
    local name = ("y"):rep(249)
    assert.equal(0, create({ name })[0].error_code)
    assert.equal(0, drop(name)[0].error_code)
    assert.equal("", children "/brokers/topics")
  end)

  it("finishes at start a deletion that a crash cut short", function()
    start()
    create({ "a", 2 }, { "b" })
    C.controller_driver_write(driver, "/admin/delete_topics/a", nil, true)
    C.controller_driver_write(driver, "/admin/delete_topics/never", nil, true)
    stop()
    assert.equal(0, start())
    assert.equal("delete a 2 load; open b 1 load; publish 1; ", diary())
    assert.is_nil(topic "a")
    assert.equal("b", children "/brokers/topics")
    assert.equal("b", children "/config/topics")
    assert.equal("", children "/admin/delete_topics")
  end)

  it("gives a topic that another tool wrote an id, states and a leader", function()
    start()
    C.controller_driver_write(driver, "/brokers/topics/old", '{"version":1,"partitions":{"0":[1],"1":[2,1],"2":[2]}}', true)
    stop()
    assert.equal(0, start())
    local old = topic "old"
    assert.are_not.equal("AAAAAAAAAAAAAAAAAAAAAA", uuid(old.id))
    assert.is_truthy(node("/brokers/topics/old"):find(uuid(old.id), 1, true))
    assert.same({ 1, 1, -1 }, { old.partitions[0].leader, old.partitions[1].leader, old.partitions[2].leader })
    assert.equal(1, old.partitions[1].isr_count)
    assert.equal(2, old.partitions[1].offline[0])
    assert.equal('{"version":1,"config":{}}', node "/config/topics/old")
    assert.equal(0, drop("old")[0].error_code)
    assert.equal("", children "/brokers/topics")
  end)

  it("leaves out a stored config that does not fit, and keeps the rest", function()
    start()
    create { "a" }
    C.controller_driver_write(driver, "/config/topics/a", '{"version":1,"config":{"no.such":"1","retention.ms":"7","segment.bytes":"x"}}',
      false)
    stop()
    assert.equal(0, start())
    assert.equal(7, tonumber(topic("a").config.retention_ms))
    assert.equal(1, topic("a").override_count)
  end)

  for at, why in pairs {
    ["/brokers/topics/a"] = "not JSON",
    ["/config/topics/a"] = "not JSON",
    ["/brokers/topics/a/partitions/0/state"] = "not JSON",
    ["/controller_epoch"] = "not a number",
    ["/cluster/id"] = "not JSON",
  } do
    it("stops at start with one line when " .. at .. " cannot be read", function()
      start()
      create { "a" }
      C.controller_driver_write(driver, at, "soup", false)
      stop()
      assert.equal(C.ERR_CORRUPT, start())
      local message = ffi.string(C.controller_driver_load_message(driver))
      assert.equal(("metastore node %s: %s"):format(at, why), message:sub(1, #at + #why + 17))
      assert.equal(C.WIRE_NOT_CONTROLLER, create({ "b" })[0].error_code)
      assert.equal(C.WIRE_NOT_CONTROLLER, drop("b")[0].error_code)
    end)
  end

  it("refuses to write once another broker has become controller", function()
    start()
    create { "a" }
    C.controller_driver_write(driver, "/controller_epoch", "2", false)
    local made = create({ "b" }, { "a" })
    assert.equal(C.WIRE_NOT_CONTROLLER, made[0].error_code)
    assert.equal(-1, made[0].partition_count)
    assert.equal(36, made[1].error_code)
    assert.equal("a", children "/brokers/topics")
    assert.equal(C.WIRE_NOT_CONTROLLER, drop("a")[0].error_code)
    assert.equal("a", children "/brokers/topics")
  end)

  it("answers a storage error when the metastore cannot be written, and works again afterwards", function()
    start()
    create { "a" }
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 28)
    local made = create { "b" }
    assert.equal(C.WIRE_KAFKA_STORAGE_ERROR, made[0].error_code)
    assert.is_truthy(ffi.string(made[0].error_message):find("The metadata cannot be written: ", 1, true))
    local dropped = drop "a"
    assert.equal(C.WIRE_KAFKA_STORAGE_ERROR, dropped[0].error_code)
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    assert.is_not_nil(topic "a")
    assert.is_nil(topic "b")
    assert.equal(0, create({ "b" })[0].error_code)
    assert.equal(0, drop("a")[0].error_code)
  end)

  local function hang()
    start()
    local first, a = new_topics { { "a" } }
    local second, b = new_topics { { "b" } }
    assert.is_true(C.controller_driver_hang(driver, first, second))
    return a, b
  end

  it("ends what it is at when it is stopped, and refuses what waits", function()
    local a, b = hang()
    assert.is_true(C.controller_driver_stop(driver))
    assert.same({ 0, C.WIRE_NOT_CONTROLLER }, { a[0].error_code, b[0].error_code })
    assert.equal("publish 0; open a 1; publish 1; stopped; ", diary())
    assert.equal(C.WIRE_NOT_CONTROLLER, create({ "c" })[0].error_code)
  end)

  it("answers what waits and what is under way when it is freed", function()
    local a, b = hang()
    stop()
    assert.same({ C.WIRE_NOT_CONTROLLER, C.WIRE_NOT_CONTROLLER }, { a[0].error_code, b[0].error_code })
    assert.equal("This is not the correct controller for this cluster.", ffi.string(a[0].error_message))
    assert.same({ -1, 0 }, { a[0].partition_count, a[0].shown_count })
    assert.equal(0, start())
    assert.is_not_nil(topic "a")
  end)

  it("makes a topic of 10000 partitions", function()
    start()
    assert.equal(0, create({ "big", 10000 })[0].error_code)
    assert.equal(10000, topic("big").partition_count)
    assert.equal('{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1]}',
      node "/brokers/topics/big/partitions/9999/state")
    assert.equal(0, drop("big")[0].error_code)
    assert.equal("", children "/brokers/topics")
  end)

  describe("producer ids", function()
    local NODE = "/latest_producer_id_block"
    local error_code = ffi.new "int16_t[1]"

    local function id() return tonumber(C.controller_driver_producer_id(driver, error_code)) end

    it("count from 0, and come from blocks of 1000 of which the store tells", function()
      start()
      assert.same({ 0, 1, 2 }, { id(), id(), id() })
      assert.equal('{"version":1,"broker":1,"block_start":"0","block_end":"999"}', node(NODE))
      for _ = 3, 999 do id() end
      assert.equal('{"version":1,"broker":1,"block_start":"0","block_end":"999"}', node(NODE))
      assert.equal(1000, id())
      assert.equal('{"version":1,"broker":1,"block_start":"1000","block_end":"1999"}', node(NODE))
    end)

    it("are never given twice: a new start takes the next block", function()
      start()
      assert.equal(0, id())
      stop()
      start()
      assert.equal(1000, id())
    end)

    it("go on after a block of another broker", function()
      start()
      C.controller_driver_write(driver, NODE, '{"version":1,"broker":7,"block_start":"5000","block_end":"5999"}', false)
      assert.equal(6000, id())
      assert.equal('{"version":1,"broker":1,"block_start":"6000","block_end":"6999"}', node(NODE))
    end)

    for _, text in ipairs { "{", "{}", '{"block_end":17}', '{"block_end":"x"}', '{"block_end":"-5"}',
      '{"block_end":"9223372036854775000"}' } do
      it("are not given when the store says " .. text, function()
        start()
        C.controller_driver_write(driver, NODE, text, false)
        assert.same({ -1, C.WIRE_UNKNOWN_SERVER_ERROR }, { id(), error_code[0] })
        assert.equal(text, node(NODE))
      end)
    end

    it("are not given when another broker is controller", function()
      start()
      C.controller_driver_write(driver, "/controller_epoch", "9", false)
      assert.same({ -1, C.WIRE_NOT_CONTROLLER }, { id(), error_code[0] })
    end)
  end)
end)
