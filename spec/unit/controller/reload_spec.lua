-- SPDX-License-Identifier: Apache-2.0
-- A controller that puts another configuration in force: all of it, or nothing.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller_driver.h", "controller/static_topics.h", "base/error.h", "os/errinj.h",
  "metadata/broker_config.h")

describe("A controller that gets another configuration", function()
  local path, driver, kept

  local function keep(value)
    kept[#kept + 1] = value
    return value
  end
  local function start()
    driver = C.controller_driver_new(path, nil, true)
    assert.equal(0, C.controller_driver_load_result(driver))
  end
  local function stop()
    C.controller_driver_delete(driver)
    driver = nil
  end

  before_each(function()
    path, kept = unit.temp_dir() .. "/luka.mdb", {}
    start()
  end)
  after_each(function()
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    if driver then stop() end
  end)

  local function entries(configs)
    local list = keep(ffi.new("struct config_entry[?]", #configs + 1))
    for i, pair in ipairs(configs) do list[i - 1].name, list[i - 1].value = keep(pair[1]), keep(pair[2]) end
    return list, #configs
  end

  --- A request: static configs { name = text } and blocks { name, partitions, { { name, text } ... } }, on lines 1, 2, ...
  local function request_of(configs, blocks)
    local config = keep(ffi.gc(ffi.new "struct broker_config", C.broker_config_destroy))
    C.broker_config_create(config)
    for name, text in pairs(configs) do assert.equal(0, C.broker_config_set(config, name, text)) end
    assert.equal(0, C.broker_config_resolve(config))
    local topics = keep(ffi.new("struct static_topic[?]", #blocks + 1))
    for i, block in ipairs(blocks) do
      local topic = topics[i - 1]
      topic.name, topic.partitions, topic.replication_factor = keep(block[1]), block[2] or -1, block.factor or -1
      topic.configs, topic.config_count = entries(block[3] or {})
      local text = { tostring(block[2]), block.factor and "factor " .. block.factor }
      for _, pair in ipairs(block[3] or {}) do text[#text + 1] = pair[1] .. "=" .. pair[2] end
      topic.text, topic.place = keep(table.concat(text, " ")), keep("c.lua:" .. i)
    end
    local request = keep(ffi.new "struct controller_reload")
    request.config, request.topics, request.topic_count = config, topics, #blocks
    return request
  end

  --- Has it done; the request, or nil and what was wrong.
  local function reload(configs, blocks)
    local request = request_of(configs, blocks)
    assert.is_true(C.controller_driver_reload(driver, request))
    if request.error ~= nil then
      assert.is_true(request.before == nil and request.after == nil)
      return nil, ffi.string(request.error)
    end
    keep(ffi.gc(request.before, C.broker_config_unref))
    keep(ffi.gc(request.after, C.broker_config_unref))
    return request
  end

  local function node(at)
    local text = C.controller_driver_node(driver, at)
    return text ~= nil and ffi.string(text) or nil
  end
  local function diary() return ffi.string(C.controller_driver_diary(driver)) end
  local function image() return C.controller_driver_image(driver) end
  local function topic(name)
    local found = C.metadata_image_topic(image(), name, #name)
    return found ~= nil and found or nil
  end
  local function static(name, config)
    local index = C.config_find(C.broker_config_defs(), C.BROKER_CONFIG_COUNT, name)
    local text = (config or image().config).layers[C.BROKER_LAYER_STATIC][index]
    return text ~= nil and ffi.string(text) or nil
  end
  local function alter(name, value)
    local request, list = ffi.new "struct controller_alter", ffi.new "struct controller_alter_resource[1]"
    local entry = ffi.new "struct controller_alter_entry[1]"
    entry[0].name, entry[0].value = name, value
    list[0].type, list[0].name, list[0].name_length, list[0].entries, list[0].entry_count = C.CONTROLLER_BROKER, "1", 1, entry, 1
    request.resources, request.resource_count, request.is_incremental = list, 1, true
    assert.is_true(C.controller_driver_alter(driver, request))
    assert.equal(0, list[0].error_code)
  end

  it("opens what is new, configures what changes, then publishes it all at once", function()
    reload({ ["num.partitions"] = "2" }, { { "a", 1, { { "retention.ms", "5" } } }, { "b", 2 } })
    local seen = #diary()
    local done = reload({ ["num.partitions"] = "3", ["message.max.bytes"] = "77" },
      { { "a", 3, { { "retention.ms", "6" } } }, { "b", 2 }, { "c" } })
    assert.equal("open a 2; open c 3; configure a 1; configure b 2; publish 3; ", diary():sub(seen + 1))
    assert.same({ 3, 2, 3 }, { topic("a").partition_count, topic("b").partition_count, topic("c").partition_count })
    assert.same({ 77, 77, 77 }, { topic("a").config.max_message_bytes, topic("b").config.max_message_bytes,
      topic("c").config.max_message_bytes })
    assert.equal(6, tonumber(topic("a").config.retention_ms))
    assert.equal('{"version":1,"text":"3 retention.ms=6"}', node "/luka/topics/a")
    assert.same({ C.CONTROLLER_BLOCK_CHANGED, C.CONTROLLER_BLOCK_SAME, C.CONTROLLER_BLOCK_CREATED },
      { tonumber(done.blocks[0].outcome), tonumber(done.blocks[1].outcome), tonumber(done.blocks[2].outcome) })
    assert.same({ 1, 3, 1 }, { done.blocks[0].partitions_before, done.blocks[0].partitions, done.blocks[0].set_count })
    local change = done.blocks[0].changes[0]
    assert.same({ "retention.ms", "5", "6" }, { ffi.string(change.name), ffi.string(change.before), ffi.string(change.after) })
    assert.same({ "2", "3" }, { static("num.partitions", done.before), static("num.partitions", done.after) })
  end)

  it("gives the partitions that a topic had the new defaults when it only grows", function()
    reload({}, { { "a", 1 } })
    local seen = #diary()
    reload({ ["message.max.bytes"] = "77" }, { { "a", 2 } })
    assert.equal("open a 1; configure a 1; publish 1; ", diary():sub(seen + 1))
    assert.equal(77, topic("a").config.max_message_bytes)
  end)

  it("writes nothing and opens nothing when nothing has changed", function()
    reload({}, { { "a", 1 } })
    local seen = #diary()
    local done = reload({}, { { "a", 1 } })
    assert.equal("publish 1; ", diary():sub(seen + 1))
    assert.equal(C.CONTROLLER_BLOCK_SAME, done.blocks[0].outcome)
  end)

  it("leaves what needs a restart as it was", function()
    local done = reload({ ["socket.request.max.bytes"] = "1000", ["broker.rack"] = "r", ["message.max.bytes"] = "77" }, {})
    assert.is_nil(static "socket.request.max.bytes")
    assert.is_nil(static "broker.rack")
    assert.equal("77", static("message.max.bytes", done.after))
    assert.equal(104857600, image().config.socket_request_max_bytes)
  end)

  it("lays what clients have set over it, and takes later changes of theirs on top", function()
    alter("message.max.bytes", "55")
    reload({ ["message.max.bytes"] = "77", ["log.roll.ms"] = "9" }, {})
    assert.same({ 55, 9 }, { image().config.message_max_bytes, tonumber(image().config.log_roll_ms) })
    alter("log.retention.ms", "8")
    assert.same({ 55, 9, 8 }, { image().config.message_max_bytes, tonumber(image().config.log_roll_ms),
      tonumber(image().config.log_retention_ms) })
    assert.equal("77", static "message.max.bytes")
  end)

  for what, case in pairs {
    ["fewer partitions"] = { { "a", 1 }, 'c.lua:2: topic "a": has 2 partitions, not 1: partitions are never removed' },
    ["other replicas"] = { { "a", 2, factor = 3 },
      'c.lua:2: topic "a": has replication factor 1, not 3: replicas are not added or removed' },
    ["a name that collides"] = { { "x.y" }, "c.lua:2: topic \"x.y\": Topic 'x.y' collides with existing topic: x_y" },
    ["configs that do not go together"] = { { "a", 2, { { "max.compaction.lag.ms", "1" }, { "min.compaction.lag.ms", "2" } } },
      'c.lua:2: topic "a": conflict topic config setting min.compaction.lag.ms (2) > max.compaction.lag.ms (1)' },
  } do
    it("refuses " .. what .. " and does nothing", function()
      reload({}, { { "a", 2 }, { "x_y" } })
      local seen, version = diary(), image().version
      local done, message = reload({ ["message.max.bytes"] = "77" }, { { "new", 1 }, case[1] })
      assert.is_nil(done)
      assert.equal(case[2], message)
      assert.equal(seen, diary())
      assert.equal(version, image().version)
      assert.is_nil(node "/brokers/topics/new")
      assert.equal('{"version":1,"text":"2"}', node "/luka/topics/a")
      assert.is_truthy(reload({}, { { "a", 2 } })) -- and goes on
    end)
  end

  it("changes nothing when the metastore cannot be written", function()
    reload({}, { { "a", 1 } })
    local seen = diary()
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 5)
    local done, message = reload({ ["message.max.bytes"] = "77" }, { { "a", 2 } })
    assert.is_nil(done)
    assert.matches("^The metadata cannot be written: ", message)
    assert.equal(seen, diary())
    assert.is_nil(static "message.max.bytes")
    assert.equal(1, topic("a").partition_count)
  end)

  it("changes nothing when another broker has become controller", function()
    C.controller_driver_write(driver, "/controller_epoch", "7", false)
    local done, message = reload({}, { { "a", 1 } })
    assert.is_nil(done)
    assert.equal("This is not the correct controller for this cluster.", message)
  end)

  it("names the node that cannot be read", function()
    reload({}, { { "a", 1 } })
    C.controller_driver_write(driver, "/luka/topics/a", "not JSON", false)
    local done, message = reload({}, { { "a", 2 } })
    assert.is_nil(done)
    assert.matches("^metastore node /luka/topics/a: ", message)
  end)

  it("has the topics, and not the configs, at the next start", function()
    reload({ ["message.max.bytes"] = "77" }, { { "a", 2, { { "retention.ms", "5" } } } })
    stop()
    start()
    assert.equal(2, topic("a").partition_count)
    assert.equal(5, tonumber(topic("a").config.retention_ms))
    assert.equal(1048588, topic("a").config.max_message_bytes)
  end)

  it("frees what a reload holds that never ends", function()
    reload({}, { { "a", 1, { { "retention.ms", "5" } } } })
    local request = request_of({ ["message.max.bytes"] = "77" }, { { "a", 2, { { "retention.ms", "6" } } }, { "b", 1 } })
    assert.is_true(C.controller_driver_hang_reload(driver, request))
    stop()
    assert.equal("This is not the correct controller for this cluster.", ffi.string(request.error))
  end)
end)
