-- SPDX-License-Identifier: Apache-2.0
-- What hooks are told of the cluster, by what is different between two images: brokers that come and go, leaders and
-- in-sync replicas. A single broker sees none go.
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load("broker/events.h", "metadata/image.h", "policy/hooks.h", "hooks_driver.h")

describe("events of the image", function()
  local driver, hooks, events, keep

  before_each(function()
    driver, keep = C.hooks_driver_new(), {}
    hooks = C.hooks_driver_hooks(driver)
    events = ffi.new "struct events"
    events.hooks, events.is_serving = hooks, true
    C.hooks_publish(hooks, 2 ^ C.HOOK_BROKER_UP + 2 ^ C.HOOK_BROKER_DOWN + 2 ^ C.HOOK_LEADER_CHANGE + 2 ^ C.HOOK_ISR_CHANGE)
  end)
  after_each(function()
    C.events_destroy(events)
    C.hooks_close(hooks)
    C.hooks_driver_delete(driver)
  end)

  local function numbers(list)
    local array = ffi.new("int32_t[?]", #list + 1, list)
    keep[#keep + 1] = array
    return array, #list
  end

  local function topic_of(name, topic)
    local specs, id = ffi.new("struct metadata_partition_spec[?]", #topic), ffi.new "struct uuid"
    id.bytes[0] = topic.id
    for i, part in ipairs(topic) do
      local spec = specs[i - 1]
      spec.leader, spec.leader_epoch = part[1], part[2]
      spec.replicas, spec.replica_count = numbers(part[3])
      spec.isr, spec.isr_count = numbers(part[3])
    end
    return C.metadata_topic_new(name, id, 0, specs, #topic, nil, 0, ffi.new "struct topic_config")
  end

  --- Publishes an image; what is told of it.
  ---
  ---@param brokers integer[]
  ---@param topics table<string, table>?  by name: `id`, and for each partition its leader, leader epoch and ISR
  ---@param views string[]?  name and source of a view
  local function published(brokers, topics, views)
    local draft = C.metadata_draft_new(nil)
    for _, id in ipairs(brokers) do
      local endpoint = ffi.new "struct metadata_endpoint"
      endpoint.listener, endpoint.protocol, endpoint.host, endpoint.port = "PLAINTEXT", "PLAINTEXT", "localhost", 9092
      C.metadata_draft_put_broker(draft, C.metadata_broker_new(id, 0, nil, endpoint, 1))
    end
    for name, topic in pairs(topics or {}) do C.metadata_draft_put_topic(draft, topic_of(name, topic)) end
    if views then
      local view = ffi.new "struct topic_view"
      view.name, view.from, view.place = views[1], views[2], "config.lua:1"
      C.metadata_draft_set_views(draft, view, 1)
    end
    local image = C.metadata_draft_finish(draft)
    C.events_published(events, image)
    C.metadata_image_unref(image)
    local out = {}
    for told in function() return C.hooks_next_told(hooks) end do
      if told == nil then break end
      local words = { ffi.string(C.hook_name(told.event.hook)) }
      for i = 0, told.event.field_count - 1 do
        local field = told.event.fields[i]
        if field.kind == C.HOOK_TEXT then
          words[#words + 1] = ffi.string(field.text)
        elseif field.kind == C.HOOK_NUMBER then
          words[#words + 1] = tostring(tonumber(field.number))
        else
          local list = {}
          for j = 1, field.count do list[j] = field.numbers[j - 1] end
          words[#words + 1] = "[" .. table.concat(list, " ") .. "]"
        end
      end
      out[#out + 1] = table.concat(words, " ")
      C.hook_told_delete(told)
    end
    return out
  end

  it("tell of the brokers that there are at first", function()
    assert.same({ "broker.up 1", "broker.up 5" }, published { 1, 5 })
    assert.same({}, published { 1, 5 })
  end)

  it("tell of a broker that has gone, and when it is back", function()
    published { 1, 2, 3 }
    assert.same({ "broker.down 2" }, published { 1, 3 })
    assert.same({ "broker.up 2" }, published { 1, 2, 3 })
    assert.same({ "broker.down 3" }, published { 1, 2 })
    assert.same({ "broker.down 1", "broker.down 2" }, published {})
  end)

  it("tell of brokers that come and go at once", function()
    published { 2, 4, 6 }
    assert.same({ "broker.up 1", "broker.down 4", "broker.up 5", "broker.down 6", "broker.up 7" }, published { 1, 2, 5, 7 })
  end)

  it("tell nothing before the broker serves, and then of all that there is", function()
    events.is_serving = false
    assert.same({}, published { 1 })
    events.is_serving = true
    assert.same({ "broker.up 1" }, published { 1 })
  end)

  it("tell those hooks only that there are functions for", function()
    C.hooks_publish(hooks, 2 ^ C.HOOK_BROKER_DOWN)
    assert.same({}, published({ 1, 2 }, { a = { id = 1, { 1, 0, { 1 } } } }))
    assert.same({ "broker.down 1" }, published { 2 })
  end)

  it("know what there was while nobody wanted to", function()
    C.hooks_publish(hooks, 0)
    published { 1, 2 }
    C.hooks_publish(hooks, 2 ^ C.HOOK_BROKER_UP + 2 ^ C.HOOK_BROKER_DOWN)
    assert.same({ "broker.down 1", "broker.up 3" }, published { 2, 3 })
  end)

  it("tell of partitions whose leader or in-sync replicas are others", function()
    published({}, { a = { id = 1, { 1, 3, { 1, 2 } }, { 2, 3, { 2, 1 } } }, b = { id = 2, { 1, 0, { 1 } } } })
    assert.same({ "leader.change a 0 2 4 1", "isr.change a 0 [2] [1 2]", "leader.change a 1 2 4 2" },
      published({}, { a = { id = 1, { 2, 4, { 2 } }, { 2, 4, { 2, 1 } } }, b = { id = 2, { 1, 0, { 1 } } } }))
  end)

  it("tell of partitions that are added, and of a topic that is another one of that name", function()
    published({}, { a = { id = 1, { 1, 3, { 1 } } } })
    assert.same({ "leader.change a 1 1 0 -1", "isr.change a 1 [1] []" },
      published({}, { a = { id = 1, { 1, 3, { 1 } }, { 1, 0, { 1 } } } }))
    assert.same({ "leader.change a 0 1 0 -1", "isr.change a 0 [1] []" }, published({}, { a = { id = 2, { 1, 0, { 1 } } } }))
    assert.same({}, published {})
  end)

  it("do not tell of views", function()
    assert.same({ "leader.change a 0 1 0 -1", "isr.change a 0 [1] []" },
      published({}, { a = { id = 1, { 1, 0, { 1 } } } }, { "v", "a" }))
  end)
end)
