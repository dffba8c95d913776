-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/image.h", "base/epoch.h", "base/uuid.h")

describe("views in the metadata image", function()
  local images
  local config = ffi.new "struct topic_config"

  before_each(function() images = {} end)
  after_each(function() for _, image in ipairs(images) do C.metadata_image_unref(image) end end)

  local function id_of(n)
    local id = ffi.new "struct uuid"
    id.bytes[0], id.bytes[15] = n, 1
    return id
  end

  local function topic(name, id, partitions, leader)
    local specs, ids = ffi.new("struct metadata_partition_spec[?]", partitions or 1), ffi.new("int32_t[1]", leader or 1)
    for i = 0, (partitions or 1) - 1 do
      local spec = specs[i]
      spec.leader, spec.leader_epoch, spec.replicas, spec.replica_count, spec.isr, spec.isr_count = ids[0], 7, ids, 1, ids, 1
    end
    return C.metadata_topic_new(name, id_of(id), 1, specs, partitions or 1, nil, 0, config)
  end

  local function broker(id)
    local endpoint = ffi.new("struct metadata_endpoint[1]")
    endpoint[0].listener, endpoint[0].protocol, endpoint[0].host, endpoint[0].port = "IN", "PLAINTEXT", "h", 9092
    return C.metadata_broker_new(id, 1, nil, endpoint, 1)
  end

  --- An image made from another: views { { name, from } ... } (nil: as they are), topics to put, names to remove.
  local function image(base, views, topics, gone)
    local draft = C.metadata_draft_new(base)
    if base == nil then C.metadata_draft_put_broker(draft, broker(1)) end
    for _, each in ipairs(topics or {}) do C.metadata_draft_put_topic(draft, each) end
    for _, name in ipairs(gone or {}) do C.metadata_draft_remove_topic(draft, name) end
    if views then
      local list, places = ffi.new("struct topic_view[?]", #views + 1), {}
      for i, view in ipairs(views) do
        places[i] = "config.lua:" .. i
        list[i - 1].name, list[i - 1].from, list[i - 1].place = view[1], view[2], places[i]
      end
      C.metadata_draft_set_views(draft, list, #views)
    end
    local made = C.metadata_draft_finish(draft)
    images[#images + 1] = made
    return made
  end

  local function find(from, name)
    local found = C.metadata_image_topic(from, name, #name)
    return found ~= nil and found or nil
  end

  local function names(from)
    local list = {}
    for i = 0, from.topic_count - 1 do list[#list + 1] = ffi.string(from.topics[i].name) end
    return list
  end

  local function id_text(found)
    local text = ffi.new "char[23]"
    C.uuid_format(found.id, text)
    return ffi.string(text)
  end

  it("are topics with the partitions of their source and an id of their own", function()
    local made = image(nil, { { "orders.eu", "orders" } }, { topic("orders", 3, 2) })
    local view, source = find(made, "orders.eu"), find(made, "orders")
    assert.equal(2, view.partition_count)
    assert.equal(7, view.partitions[1].leader_epoch)
    assert.is_true(view.source == source)
    assert.is_true(source.source == nil)
    assert.is_not.equal(id_text(source), id_text(view))
    assert.is_true(C.metadata_image_topic_by_id(made, view.id) == view)
    assert.equal(2, tonumber(made.partition_count))
  end)

  it("are sorted in among the other topics", function()
    local made = image(nil, { { "z", "b" }, { "a", "b" }, { "c", "d" }, { "ba", "d" } }, { topic("b", 1), topic("d", 2) })
    assert.same({ "a", "b", "ba", "c", "d", "z" }, names(made))
  end)

  it("keep their id as long as name and source are the same", function()
    local first = image(nil, { { "v", "t" }, { "w", "t" } }, { topic("t", 1), topic("u", 2) })
    local again = image(nil, { { "w", "t" }, { "v", "t" } }, { topic("t", 1, 5) })
    local other = image(nil, { { "v", "u" } }, { topic("u", 2) })
    assert.equal(id_text(find(first, "v")), id_text(find(again, "v")))
    assert.is_not.equal(id_text(find(first, "v")), id_text(find(first, "w")))
    assert.is_not.equal(id_text(find(first, "v")), id_text(find(other, "v")))
  end)

  it("stay the same from image to image while their source does", function()
    local first = image(nil, { { "v", "t" } }, { topic("t", 1) })
    local second = image(first, nil, { topic("other", 2) })
    assert.is_true(find(first, "v") == find(second, "v"))
  end)

  it("come, grow and go with their source", function()
    local none = image(nil, { { "v", "t" } }, {})
    assert.is_nil(find(none, "v"))
    assert.equal("t", ffi.string(C.metadata_image_view(none, "v", 1).from))
    local one = image(none, nil, { topic("t", 1, 1) })
    assert.equal(1, find(one, "v").partition_count)
    local three = image(one, nil, { topic("t", 1, 3) })
    assert.equal(3, find(three, "v").partition_count)
    local gone = image(three, nil, {}, { "t" })
    assert.same({}, names(gone))
  end)

  it("outlive the image of their source while someone has a reference", function()
    local first = image(nil, { { "v", "t" } }, { topic("t", 1) })
    local view = find(first, "v")
    C.metadata_topic_ref(view)
    C.metadata_image_unref(table.remove(images))
    assert.equal("t", ffi.string(view.source.name))
    C.metadata_topic_unref(view)
  end)

  it("go when they are not defined any more", function()
    local first = image(nil, { { "v", "t" }, { "w", "t" } }, { topic("t", 1) })
    local second = image(first, { { "w", "t" } })
    assert.same({ "t", "w" }, names(second))
    assert.same({ "t" }, names(image(second, {})))
  end)

  it("are hidden by a topic of their name, which stays", function()
    local made = image(nil, { { "u", "t" }, { "v", "t" } }, { topic("t", 1), topic("v", 2) })
    assert.is_true(find(made, "v").source == nil)
    assert.equal("config.lua:2", ffi.string(C.metadata_image_hidden_view(made).place))
    assert.is_true(C.metadata_image_hidden_view(image(made, nil, {}, { "v" })) == nil)
  end)

  it("show no other view", function()
    local made = image(nil, { { "v", "t" }, { "w", "v" } }, { topic("t", 1) })
    assert.same({ "t", "v" }, names(made))
  end)

  it("have the offline replicas of their source", function()
    local first = image(nil, { { "v", "t" } }, { topic("t", 1, 1, 9) })
    assert.equal(1, find(first, "v").partitions[0].offline_count)
    local draft = C.metadata_draft_new(first)
    C.metadata_draft_put_broker(draft, broker(9))
    images[#images + 1] = C.metadata_draft_finish(draft)
    assert.equal(0, find(images[#images], "v").partitions[0].offline_count)
  end)
end)
