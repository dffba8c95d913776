-- SPDX-License-Identifier: Apache-2.0
-- What becomes of the topic blocks of a configuration: the decisions, then a controller's start with them.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/static_topics.h", "controller_driver.h", "base/arena.h", "base/error.h",
  "metadata/broker_config.h", "wire/error_codes.h")

local kept = {}

--- Keeps what C points to until the end of the spec.
local function keep(value)
  kept[#kept + 1] = value
  return value
end

local function entries(configs)
  local list = keep(ffi.new("struct config_entry[?]", #configs + 1))
  for i, pair in ipairs(configs) do list[i - 1].name, list[i - 1].value = keep(pair[1]), keep(pair[2]) end
  return list, #configs
end

--- Fills in a block: { name, partitions, factor, configs = { { name, text } }, text = }; its place is c.lua:<line>.
local function fill(block, topic, line)
  block.name, block.partitions, block.replication_factor = keep(topic[1]), topic[2] or -1, topic[3] or -1
  block.configs, block.config_count = entries(topic.configs or {})
  local text = {}
  for _, pair in ipairs(topic.configs or {}) do text[#text + 1] = pair[1] .. "=" .. pair[2] end
  block.text = keep(topic.text or ("%d %d %s"):format(block.partitions, block.replication_factor, table.concat(text, " ")))
  block.place = keep("c.lua:" .. line)
end

after_each(function() kept = {} end)

describe("static topic plan", function()
  local arena, config, image, context, block, found, plan

  local make_id = ffi.cast("void (*)(struct uuid *)", function(id) id.bytes[15] = 7 end)

  --- Replaces the image: ids of brokers; topics { name, replicas of each partition, configs }.
  local function cluster(brokers, topics)
    if image then C.metadata_image_unref(image) end
    local draft = C.metadata_draft_new(nil)
    for _, id in ipairs(brokers) do
      local endpoint = ffi.new "struct metadata_endpoint"
      endpoint.listener, endpoint.protocol, endpoint.host, endpoint.port = "PLAINTEXT", "PLAINTEXT", "h", 9092
      C.metadata_draft_put_broker(draft, C.metadata_broker_new(id, 1, nil, endpoint, 1))
    end
    for i, topic in ipairs(topics or {}) do
      local id, specs = ffi.new "struct uuid", ffi.new("struct metadata_partition_spec[?]", #topic[2])
      id.bytes[15] = i
      for p, replicas in ipairs(topic[2]) do
        local ids = keep(ffi.new("int32_t[?]", #replicas, replicas))
        specs[p - 1] = { replicas[1], 5, 6, ids, #replicas, ids, #replicas }
      end
      local list, count = entries(topic[3] or {})
      C.metadata_draft_put_topic(draft, C.metadata_topic_new(topic[1], id, 3, specs, #topic[2], list, count, config.topic.values))
    end
    image = C.metadata_draft_finish(draft)
    context.image = image
  end

  before_each(function()
    arena, config, context = ffi.new "struct arena", ffi.new "struct broker_config", ffi.new "struct topic_plan_context"
    block, found, plan = ffi.new "struct static_topic", ffi.new "struct static_topic_found", ffi.new "struct static_topic_plan"
    C.broker_config_create(config)
    C.broker_config_set(config, "num.partitions", "4")
    C.broker_config_resolve(config)
    context.config, context.make_id = config, make_id
    cluster { 1 }
  end)
  after_each(function()
    C.static_topics_destroy(plan)
    C.metadata_image_unref(image)
    image = nil
    C.broker_config_destroy(config)
    C.arena_destroy(arena)
  end)

  local function texts(list, count)
    local result = {}
    for i = 0, count - 1 do result[i + 1] = ffi.string(list[i].name) .. "=" .. ffi.string(list[i].value) end
    return result
  end

  --- A topic of a plan as a table.
  local function described(topic)
    if topic == nil then return nil end
    local result = { id = topic.id.bytes[15], version = topic.version, configs = texts(topic.overrides, topic.override_count),
      retention_ms = tonumber(topic.config.retention_ms) }
    for p = 0, topic.partition_count - 1 do
      local part, replicas = topic.partitions[p], {}
      for n = 0, part.replica_count - 1 do replicas[n + 1] = part.replicas[n] end
      result[p + 1] = { part.leader, part.leader_epoch, part.partition_epoch, part.isr_count, replicas }
    end
    return result
  end

  --- Decides on a block; `stored` are the configs of the topic's node, `applied` the text last applied.
  local function decide(topic, stored, applied)
    fill(block, topic, 12)
    found.applied = applied and keep(applied) or nil
    found.has_configs = stored ~= nil
    found.configs, found.config_count = entries(stored or {})
    local result = C.static_topics_plan(context, arena, block, found, plan)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    local warnings = {}
    for i = 0, 1 do
      if plan.warnings[i] ~= nil then warnings[#warnings + 1] = ffi.string(plan.warnings[i]) end
    end
    return { is_applied = plan.is_applied, is_new = plan.is_new, is_gone = plan.is_gone, topic = described(plan.topic),
      opened = described(plan.opened), added = plan.added_partitions, set = plan.set_configs, warnings = warnings,
      configs = plan.set_configs > 0 and texts(plan.configs, plan.config_count) or nil }
  end

  it("creates a topic that is missing, with its partitions and configs", function()
    local made = decide { "t", 2, 1, configs = { { "retention.ms", "5" } } }
    assert.is_true(made.is_applied and made.is_new)
    assert.same({ id = 7, version = 0, configs = { "retention.ms=5" }, retention_ms = 5, { 1, 0, 0, 1, { 1 } }, { 1, 0, 0, 1, { 1 } } },
      made.topic)
    assert.same(made.topic, made.opened)
    assert.same({}, made.warnings)
  end)

  it("takes the broker's defaults where the block says nothing", function()
    local made = decide { "t" }
    assert.equal(4, #made.topic)
    assert.same({ 1, 0, 0, 1, { 1 } }, made.topic[4])
  end)

  it("does nothing for a block that was applied, whatever its topic is like now", function()
    cluster({ 1 }, { { "t", { { 1 } }, { { "retention.ms", "9" } } } })
    local nothing = decide({ "t", 3, text = "same" }, { { "retention.ms", "9" } }, "same")
    assert.same({ is_applied = false, is_new = false, is_gone = false, added = 0, set = 0, warnings = {} }, nothing)
  end)

  it("does not bring back a topic that was deleted since its block was applied", function()
    local nothing = decide({ "t", text = "same" }, nil, "same")
    assert.is_true(nothing.is_gone)
    assert.is_false(nothing.is_applied)
  end)

  it("creates a deleted topic again when its block changes", function()
    assert.is_true(decide({ "t", text = "new" }, nil, "old").is_new)
  end)

  it("adds partitions, leaving those that are there as they are", function()
    cluster({ 1, 2, 3 }, { { "t", { { 3 }, { 2 } } } })
    local changed = decide({ "t", 4 }, {})
    assert.is_true(changed.is_applied)
    assert.is_false(changed.is_new)
    assert.equal(2, changed.added)
    assert.same({ { 3, 5, 6, 1, { 3 } }, { 2, 5, 6, 1, { 2 } }, { 3, 0, 0, 1, { 3 } }, { 1, 0, 0, 1, { 1 } } },
      { changed.topic[1], changed.topic[2], changed.topic[3], changed.topic[4] })
    assert.same({ 1, 4 }, { changed.topic.id, changed.topic.version })
  end)

  it("has only the new partitions opened", function()
    cluster({ 1 }, { { "t", { { 1 }, { 1 } } } })
    local opened = decide({ "t", 3 }, {}).opened
    assert.same({ { -1, 0, 0, 0, {} }, { -1, 0, 0, 0, {} }, { 1, 0, 0, 1, { 1 } } }, { opened[1], opened[2], opened[3] })
  end)

  it("gives new partitions as many replicas as the others have", function()
    cluster({ 1, 2, 3 }, { { "t", { { 2, 1 } } } })
    assert.same({ 2, 0, 0, 2, { 2, 3 } }, decide({ "t", 2 }, {}).topic[2])
  end)

  it("sets the configs of the block over those of the topic, and keeps the others", function()
    cluster({ 1 }, { { "t", { { 1 } }, { { "retention.ms", "9" }, { "segment.ms", "8" } } } })
    local changed = decide({ "t", configs = { { "retention.ms", "5" }, { "index.interval.bytes", "7" } } },
      { { "retention.ms", "9" }, { "no.such", "x" }, { "segment.ms", "8" } })
    assert.equal(2, changed.set)
    assert.same({ "retention.ms=5", "no.such=x", "segment.ms=8", "index.interval.bytes=7" }, changed.configs)
    assert.same({ "retention.ms=5", "segment.ms=8", "index.interval.bytes=7" }, changed.topic.configs)
    assert.equal(5, changed.topic.retention_ms)
    assert.is_nil(changed.opened)
    assert.equal(3, changed.topic.version)
  end)

  it("only notes a block that the topic agrees with", function()
    cluster({ 1 }, { { "t", { { 1 } }, { { "retention.ms", "9" } } } })
    local noted = decide({ "t", 1, 1, configs = { { "retention.ms", "9" } } }, { { "retention.ms", "9" } })
    assert.same({ is_applied = true, is_new = false, is_gone = false, added = 0, set = 0, warnings = {} }, noted)
  end)

  it("warns of fewer partitions and of other replicas, and changes neither", function()
    cluster({ 1 }, { { "t", { { 1 }, { 1 }, { 1 } } } })
    local noted = decide({ "t", 2, 3 }, {})
    assert.same({ 'c.lua:12: topic "t": has 3 partitions, not 2: partitions are never removed',
      'c.lua:12: topic "t": has replication factor 1, not 3: replicas are not added or removed' }, noted.warnings)
    assert.is_nil(noted.topic)
  end)

  for _, case in ipairs {
    { "more replicas than there are brokers", { "t", 1, 3 },
      "this broker is alone: the replication factor is 1, not 3" },
    { "a name that collides", { "a.b" }, "Topic 'a.b' collides with existing topic: a_b" },
    { "configs that contradict those of the topic", { "lag", configs = { { "min.compaction.lag.ms", "11" } } },
      "conflict topic config setting min.compaction.lag.ms (11) > max.compaction.lag.ms (10)" },
    { "new partitions of a topic with more replicas than there are brokers", { "wide", 2 },
      "this broker is alone: the replication factor is 1, not 2" },
    { "very many partitions", { "t", 10001 }, "10001 partitions are more than the 10000 that can be made at a time" },
    { "very many partitions more", { "lag", 10002 }, "10001 partitions are more than the 10000 that can be made at a time" },
  } do
    it("refuses " .. case[1] .. ", in one line with the block's place", function()
      cluster({ 1 }, { { "a_b", { { 1 } } }, { "lag", { { 1 } }, { { "max.compaction.lag.ms", "10" } } }, { "wide", { { 1, 2 } } } })
      local made, result, message = decide(case[2], { { "max.compaction.lag.ms", "10" } })
      assert.is_nil(made)
      assert.equal(C.ERR_TOPIC_BLOCK, result)
      assert.equal(('c.lua:12: topic "%s": %s'):format(case[2][1], case[3]), message)
    end)
  end
end)

describe("a controller with topic blocks", function()
  local path, driver, blocks

  --- Starts one; blocks as fill() takes them, on lines 1, 2, ...
  local function start(...)
    local topics = { ... }
    blocks = ffi.new("struct static_topic[?]", #topics + 1)
    for i, topic in ipairs(topics) do fill(blocks[i - 1], topic, i) end
    driver = C.controller_driver_new_static(path, blocks, #topics)
    assert.is_true(driver ~= nil)
    return C.controller_driver_load_result(driver)
  end

  local function stop()
    C.controller_driver_delete(driver)
    driver = nil
  end

  --- Stops it and starts another with the same store.
  local function restart(...)
    stop()
    return start(...)
  end

  before_each(function() path = unit.temp_dir() .. "/luka.mdb" end)
  after_each(function() if driver then stop() end end)

  local function node(at)
    local text = C.controller_driver_node(driver, at)
    return text ~= nil and ffi.string(text) or nil
  end
  local function children(at)
    local text = C.controller_driver_children(driver, at)
    return text ~= nil and ffi.string(text) or nil
  end
  local function diary() return ffi.string(C.controller_driver_diary(driver)) end
  local function topic(name)
    local found = C.metadata_image_topic(C.controller_driver_image(driver), name, #name)
    return found ~= nil and found or nil
  end
  local function message() return ffi.string(C.controller_driver_load_message(driver)) end
  local function drop(name)
    local request, list = ffi.new "struct controller_drop", ffi.new "struct controller_old_topic[1]"
    list[0].name, list[0].name_length = name, #name
    request.topics, request.topic_count = list, 1
    assert.is_true(C.controller_driver_drop(driver, request))
    assert.equal(0, list[0].error_code)
  end

  it("makes their topics before the first image is published, and notes the blocks", function()
    assert.equal(0, start({ "a", 2, 1, configs = { { "retention.ms", "5" } } }, { "b" }))
    assert.equal("open a 2; open b 4; publish 2; ", diary())
    assert.same({ 2, 4 }, { topic("a").partition_count, topic("b").partition_count })
    assert.equal(5, tonumber(topic("a").config.retention_ms))
    assert.equal('{"version":1,"config":{"retention.ms":"5"}}', node "/config/topics/a")
    assert.equal('{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1]}', node "/brokers/topics/b/partitions/3/state")
    assert.equal("a,b", children "/luka/topics")
    assert.equal('{"version":1,"text":"2 1 retention.ms=5"}', node "/luka/topics/a")
  end)

  it("writes nothing at the next start", function()
    start { "a", 2 }
    assert.equal(0, restart { "a", 2 })
    assert.equal("open a 2 load; publish 1; ", diary())
    assert.equal(0, topic("a").version)
  end)

  it("has none, and no node for them, without a configuration", function()
    assert.equal(0, start())
    assert.is_nil(children "/luka/topics")
  end)

  it("adds partitions and sets configs when a block has changed", function()
    start { "a", 1, configs = { { "retention.ms", "5" }, { "segment.ms", "6" } } }
    assert.equal(0, restart { "a", 3, configs = { { "retention.ms", "7" } } })
    assert.equal("open a 1 load; open a 2; publish 1; ", diary())
    assert.equal(3, topic("a").partition_count)
    assert.equal(1, topic("a").version)
    assert.equal(7, tonumber(topic("a").config.retention_ms))
    assert.equal('{"version":1,"config":{"retention.ms":"7","segment.ms":"6"}}', node "/config/topics/a")
    assert.is_truthy(node("/brokers/topics/a"):find('"partitions":{"0":[1],"1":[1],"2":[1]}', 1, true))
    assert.equal("0,1,2", children "/brokers/topics/a/partitions")
    assert.equal('{"version":1,"text":"3 -1 retention.ms=7"}', node "/luka/topics/a")
    assert.equal(0, restart { "a", 3, configs = { { "retention.ms", "7" } } })
    assert.equal("open a 3 load; publish 1; ", diary())
  end)

  it("lets a change at run time stand until the block changes", function()
    start { "a", configs = { { "retention.ms", "5" } } }
    C.controller_driver_write(driver, "/config/topics/a", '{"version":1,"config":{"retention.ms":"9","flush.ms":"3"}}', false)
    restart { "a", configs = { { "retention.ms", "5" } } }
    assert.equal(9, tonumber(topic("a").config.retention_ms))
    restart { "a", configs = { { "retention.ms", "6" } } }
    assert.equal(6, tonumber(topic("a").config.retention_ms))
    assert.equal('{"version":1,"config":{"retention.ms":"6","flush.ms":"3"}}', node "/config/topics/a")
  end)

  it("keeps a stored config that does not fit, beside those of the block", function()
    start { "a" }
    C.controller_driver_write(driver, "/config/topics/a", '{"version":1,"config":{"no.such":"1"}}', false)
    restart { "a", configs = { { "retention.ms", "6" } } }
    assert.equal('{"version":1,"config":{"no.such":"1","retention.ms":"6"}}', node "/config/topics/a")
    assert.equal(1, topic("a").override_count)
  end)

  it("does not bring back a topic that was deleted, until the block changes", function()
    start { "a", 1 }
    drop "a"
    restart { "a", 1 }
    assert.equal("publish 0; ", diary())
    assert.equal(0, restart { "a", 2 })
    assert.equal("open a 2; publish 1; ", diary())
  end)

  it("deletes nothing when a block is gone", function()
    start({ "a" }, { "b" })
    assert.equal(0, restart { "b" })
    assert.is_not_nil(topic "a")
    assert.equal("a,b", children "/luka/topics")
  end)

  it("finishes a deletion before it makes a topic of that name again", function()
    start { "a", 2 }
    C.controller_driver_write(driver, "/admin/delete_topics/a", nil, true)
    assert.equal(0, restart { "a", 3 })
    assert.equal("delete a 2 load; open a 3; publish 1; ", diary())
    assert.equal(3, topic("a").partition_count)
    assert.equal("", children "/admin/delete_topics")
  end)

  it("makes a topic whose configs another one of its name left behind", function()
    start()
    C.controller_driver_write(driver, "/config/topics/a", '{"version":1,"config":{"retention.ms":"1"}}', true)
    assert.equal(0, restart { "a", configs = { { "segment.ms", "6" } } })
    assert.equal('{"version":1,"config":{"segment.ms":"6"}}', node "/config/topics/a")
  end)

  it("applies none of them when one cannot be applied, and does not start", function()
    assert.equal(C.ERR_TOPIC_BLOCK, start({ "a" }, { "b", 1, 2 }))
    assert.equal('c.lua:2: topic "b": this broker is alone: the replication factor is 1, not 2', message())
    assert.equal("", diary())
    assert.equal("", children "/brokers/topics")
    assert.is_nil(children "/luka/topics")
    assert.equal(0, restart { "a" })
    assert.is_not_nil(topic "a")
  end)

  it("does not start when what it noted cannot be read", function()
    start { "a" }
    C.controller_driver_write(driver, "/luka/topics/a", '{"version":1}', false)
    assert.equal(C.ERR_CORRUPT, restart { "a" })
    assert.equal("metastore node /luka/topics/a: 'text' is missing", message())
  end)
end)
