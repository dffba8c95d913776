-- SPDX-License-Identifier: Apache-2.0
-- What groups are configured with: the broker's defaults, what is set, and the broker's bounds.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/group_config.h", "metadata/broker_config.h", "metadata/image.h", "metadata/client_metrics_config.h",
  "base/error.h")

describe("group config", function()
  local config, kept

  before_each(function()
    config, kept = ffi.new "struct broker_config", {}
    C.broker_config_create(config)
  end)
  after_each(function() C.broker_config_destroy(config) end)

  local function entries(list)
    local array = ffi.new("struct config_entry[?]", #list + 1)
    kept[#kept + 1] = array
    for i, pair in ipairs(list) do array[i - 1].name, array[i - 1].value = pair[1], pair[2] end
    kept[#kept + 1] = list
    return array, #list
  end

  --- Sets broker configs and resolves them; the result, and the sentence on failure.
  local function set(list)
    for _, pair in ipairs(list) do assert.equal(0, C.broker_config_set(config, pair[1], pair[2])) end
    local result = C.broker_config_resolve(config)
    return result, result < 0 and ffi.string(C.error_last().message) or nil
  end

  local function lay(list)
    local values = ffi.new "struct group_config"
    local array, count = entries(list)
    return values, C.group_config_lay(config, array, count, values)
  end

  local function check(list)
    local message = ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    local array, count = entries(list)
    local result = C.group_config_check(config, array, count, message)
    return result, result < 0 and ffi.string(message) or nil
  end

  it("lists configs that are sorted by name, as are those of client metrics", function()
    for i = 1, C.GROUP_CONFIG_COUNT - 1 do
      assert.is_true(ffi.string(C.group_config_defs()[i - 1].name) < ffi.string(C.group_config_defs()[i].name))
    end
    for i = 1, C.CLIENT_METRICS_CONFIG_COUNT - 1 do
      local defs = C.client_metrics_config_defs()
      assert.is_true(ffi.string(defs[i - 1].name) < ffi.string(defs[i].name))
    end
    assert.equal(C.GROUP_CONFIG_consumer_session_timeout_ms, C.group_config_find "consumer.session.timeout.ms")
    assert.equal(-1, C.group_config_find "session.timeout.ms")
  end)

  it("has Kafka's defaults", function()
    local values = lay {}
    assert.same({ 45000, 5000, 1000 },
      { values.consumer_session_timeout_ms, values.consumer_heartbeat_interval_ms, values.consumer_assignment_interval_ms })
  end)

  it("takes the broker's configs for defaults, and what is set on the group before them", function()
    assert.equal(0, (set { { "group.consumer.session.timeout.ms", "50000" }, { "group.consumer.heartbeat.interval.ms", "6000" } }))
    local values, changed = lay { { "consumer.session.timeout.ms", "55000" } }
    assert.same({ 55000, 6000, 0 }, { values.consumer_session_timeout_ms, values.consumer_heartbeat_interval_ms, changed })
    assert.equal(C.CONFIG_SOURCE_STATIC_BROKER, config.groups.source[C.GROUP_CONFIG_consumer_session_timeout_ms])
    assert.equal("50000", ffi.string(config.groups.text[C.GROUP_CONFIG_consumer_session_timeout_ms]))
  end)

  it("keeps what is set within the broker's bounds", function()
    local values, changed = lay { { "consumer.session.timeout.ms", "7000" }, { "consumer.heartbeat.interval.ms", "20000" },
      { "streams.task.offset.interval.ms", "1" } }
    assert.same({ 45000, 15000, 15000, 3 }, { values.consumer_session_timeout_ms, values.consumer_heartbeat_interval_ms,
      values.streams_task_offset_interval_ms, changed })
  end)

  it("passes over what does not fit any more", function()
    local values, changed = lay { { "no.such", "1" }, { "consumer.session.timeout.ms", "x" } }
    assert.same({ 45000, 0 }, { values.consumer_session_timeout_ms, changed })
  end)

  it("refuses a session that is not longer than the heartbeat's interval, whichever is set", function()
    assert.equal(0, (set { { "group.consumer.max.heartbeat.interval.ms", "60000" }, { "group.consumer.min.session.timeout.ms", "100" } }))
    local sentence = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert.same({ C.ERR_CONFIG, sentence }, { check { { "consumer.session.timeout.ms", "5000" } } })
    assert.same({ C.ERR_CONFIG, sentence }, { check { { "consumer.heartbeat.interval.ms", "45000" } } })
    assert.equal(0, (check { { "consumer.session.timeout.ms", "5001" } }))
  end)

  for _, case in ipairs {
    { { { "group.consumer.session.timeout.ms", "60001" } },
      "group.consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms" },
    { { { "group.consumer.session.timeout.ms", "44999" } },
      "group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms" },
    { { { "group.consumer.heartbeat.interval.ms", "15001" } },
      "group.consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms" },
    { { { "group.consumer.min.assignment.interval.ms", "2000" } },
      "group.consumer.assignment.interval.ms must be greater than or equal to group.consumer.min.assignment.interval.ms" },
    { { { "group.consumer.min.session.timeout.ms", "1" }, { "group.consumer.session.timeout.ms", "5000" } },
      "group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms" },
  } do
    it("refuses broker configs that contradict each other: " .. case[2], function()
      assert.same({ C.ERR_CONFIG, case[2] }, { set(case[1]) })
    end)
  end

  describe("in the image", function()
    local images, snapshots

    before_each(function() images, snapshots = {}, {} end)
    after_each(function()
      for _, image in ipairs(images) do C.metadata_image_unref(image) end
      for _, one in ipairs(snapshots) do C.broker_config_unref(one) end
    end)

    local function snapshot(list)
      local made, message = ffi.new "struct broker_config *[1]", ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
      local array, count = entries(list)
      assert.equal(0, C.broker_config_overlay(config, array, count, nil, 0, made, message))
      snapshots[#snapshots + 1] = made[0]
      return made[0]
    end
    local function finish(draft)
      images[#images + 1] = C.metadata_draft_finish(draft)
      return images[#images]
    end
    local function entity(kind, name, list)
      local array, count = entries(list)
      return C.metadata_entity_new(kind, name, #name, array, count)
    end
    local function assignment_ms(image, name) return C.metadata_image_group_config(image, name, #name).consumer_assignment_interval_ms end

    it("belongs to any group by name, whether or not something is set on it", function()
      local draft = C.metadata_draft_new(nil)
      C.metadata_draft_set_config(draft, snapshot {})
      C.metadata_draft_put_entity(draft, entity(C.METADATA_GROUP, "b", { { "consumer.assignment.interval.ms", "7" } }))
      C.metadata_draft_put_entity(draft, entity(C.METADATA_GROUP, "a\0c", { { "consumer.assignment.interval.ms", "8" } }))
      local image = finish(draft)
      assert.same({ 7, 8, 1000, 1000 }, { assignment_ms(image, "b"), assignment_ms(image, "a\0c"), assignment_ms(image, "a"),
        assignment_ms(image, "") })
    end)

    it("follows the broker's configuration", function()
      local draft = C.metadata_draft_new(nil)
      C.metadata_draft_set_config(draft, snapshot {})
      C.metadata_draft_put_entity(draft, entity(C.METADATA_GROUP, "g", { { "consumer.session.timeout.ms", "50000" } }))
      local before = finish(draft)
      draft = C.metadata_draft_new(before)
      C.metadata_draft_set_config(draft, snapshot { { "group.consumer.assignment.interval.ms", "9" } })
      local after = finish(draft)
      assert.same({ 1000, 9, 9 }, { assignment_ms(before, "g"), assignment_ms(after, "g"), assignment_ms(after, "other") })
      assert.equal(50000, C.metadata_image_group_config(after, "g", 1).consumer_session_timeout_ms)
    end)

    it("is replaced and taken away with the entity, while others of the name stay", function()
      local draft = C.metadata_draft_new(nil)
      C.metadata_draft_set_config(draft, snapshot {})
      for _, kind in ipairs { C.METADATA_USER, C.METADATA_CLIENT_METRICS, C.METADATA_GROUP } do
        for i = 1, 20 do C.metadata_draft_put_entity(draft, entity(kind, "n" .. i, { { "x", tostring(i) } })) end
      end
      local first = finish(draft)
      draft = C.metadata_draft_new(first)
      C.metadata_draft_put_entity(draft, entity(C.METADATA_GROUP, "n3", { { "consumer.assignment.interval.ms", "5" } }))
      C.metadata_draft_remove_entity(draft, C.METADATA_GROUP, "n4", 2)
      C.metadata_draft_remove_entity(draft, C.METADATA_GROUP, "none", 4)
      C.metadata_draft_put_entity(draft, entity(C.METADATA_USER, "new", { { "x", "y" } }))
      local second = finish(draft)
      local count = ffi.new "int32_t[1]"
      local list = C.metadata_image_entities(second, C.METADATA_GROUP, count)
      assert.equal(19, count[0])
      for i = 1, 18 do assert.is_true(ffi.string(list[i - 1].name) < ffi.string(list[i].name)) end
      C.metadata_image_entities(second, C.METADATA_USER, count)
      assert.equal(21, count[0])
      assert.equal(5, assignment_ms(second, "n3"))
      assert.is_true(C.metadata_image_entity(second, C.METADATA_GROUP, "n4", 2) == nil)
      assert.is_true(C.metadata_image_entity(second, C.METADATA_USER, "n4", 2) ~= nil)
      assert.is_true(C.metadata_image_entity(first, C.METADATA_GROUP, "n4", 2) ~= nil)
      assert.equal("x", ffi.string(C.metadata_image_entity(second, C.METADATA_USER, "n7", 2).entries[0].name))
    end)
  end)
end)
