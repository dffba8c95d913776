-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/image.h", "base/epoch.h")

describe("metadata image", function()
  local keep, images

  before_each(function() keep, images = {}, {} end)
  after_each(function() for _, image in ipairs(images) do C.metadata_image_unref(image) end end)

  local function id_of(n)
    local id = ffi.new "struct uuid"
    for i = 0, 15 do id.bytes[i] = (n * 7 + i) % 256 end
    id.bytes[0], id.bytes[1], id.bytes[2] = n % 256, math.floor(n / 256) % 256, 1
    return id
  end

  local function ids(list)
    local array = ffi.new("int32_t[?]", #list + 1, list)
    keep[#keep + 1] = array
    return array, #list
  end

  local config = ffi.new "struct topic_config"

  --- A topic; `replicas` is a list of lists.
  local function topic(name, id, replicas, overrides)
    local specs = ffi.new("struct metadata_partition_spec[?]", #replicas)
    for i, list in ipairs(replicas) do
      local spec = specs[i - 1]
      spec.leader, spec.leader_epoch, spec.partition_epoch = list[1], 3, 5
      spec.replicas, spec.replica_count = ids(list)
      spec.isr, spec.isr_count = ids { list[1] }
    end
    local entries = ffi.new("struct config_entry[?]", 4)
    for i, pair in ipairs(overrides or {}) do entries[i - 1].name, entries[i - 1].value = pair[1], pair[2] end
    config.retention_ms = 1234
    return C.metadata_topic_new(name, id_of(id), 2, specs, #replicas, entries, #(overrides or {}), config)
  end

  local function broker(id, rack)
    local endpoints, host = ffi.new("struct metadata_endpoint[2]"), "10.0.0." .. id
    endpoints[0].listener, endpoints[0].protocol, endpoints[0].host, endpoints[0].port = "IN", "PLAINTEXT", host, 9092
    endpoints[1].listener, endpoints[1].protocol, endpoints[1].host, endpoints[1].port = "OUT", "SSL", "kafka.example", 9093
    return C.metadata_broker_new(id, 77, rack, endpoints, 2)
  end

  local function finish(draft)
    local image = C.metadata_draft_finish(draft)
    images[#images + 1] = image
    return image
  end

  local function find(image, name)
    local found = C.metadata_image_topic(image, name, #name)
    return found ~= nil and found or nil
  end

  it("starts empty, without a controller", function()
    local image = finish(C.metadata_draft_new(nil))
    assert.equal(0, image.topic_count)
    assert.equal(0, image.broker_count)
    assert.equal(-1, image.controller_id)
    assert.is_nil(find(image, "a"))
    assert.is_true(C.metadata_image_topic_by_id(image, id_of(1)) == nil)
    assert.is_true(C.metadata_image_broker(image, 1) == nil)
  end)

  it("finds topics by name, by id and by place in the order of names", function()
    local draft = C.metadata_draft_new(nil)
    C.metadata_draft_put_broker(draft, broker(1))
    for n = 1, 300 do C.metadata_draft_put_topic(draft, topic(("t%03d"):format((n * 77) % 300), (n * 77) % 300, { { 1 } })) end
    local image = finish(draft)
    assert.equal(300, image.topic_count)
    assert.equal(300, tonumber(image.partition_count))
    for n = 0, 299 do
      local name = ("t%03d"):format(n)
      assert.equal(name, ffi.string(image.topics[n].name))
      assert.equal(name, ffi.string(find(image, name).name))
      assert.equal(name, ffi.string(C.metadata_image_topic_by_id(image, id_of(n)).name))
    end
    assert.is_nil(find(image, "t300"))
    assert.is_nil(find(image, "t00"))
    assert.is_true(C.metadata_image_topic_by_id(image, id_of(300)) == nil)
    assert.is_not_nil(C.metadata_image_topic(image, "t001tail", 4))
  end)

  it("copies all that a topic is made of", function()
    local draft = C.metadata_draft_new(nil)
    C.metadata_draft_put_broker(draft, broker(1))
    C.metadata_draft_put_broker(draft, broker(2))
    C.metadata_draft_put_topic(draft, topic("__consumer_offsets", 9, { { 1, 2 }, { 2, 1 } }, { { "retention.ms", "1234" } }))
    local found = find(finish(draft), "__consumer_offsets")
    keep = {}
    collectgarbage()
    assert.is_true(found.is_internal)
    assert.equal(2, found.version)
    assert.equal(2, found.partition_count)
    assert.equal(1234, tonumber(found.config.retention_ms))
    assert.equal(1, found.override_count)
    assert.equal("retention.ms", ffi.string(found.overrides[0].name))
    assert.equal("1234", ffi.string(found.overrides[0].value))
    local part = C.metadata_topic_partition(found, 1)
    assert.equal(2, part.leader)
    assert.equal(3, part.leader_epoch)
    assert.equal(5, part.partition_epoch)
    assert.same({ 2, 1 }, { part.replicas[0], part.replicas[1] })
    assert.equal(1, part.isr_count)
    assert.equal(2, part.isr[0])
    assert.equal(0, part.offline_count)
    assert.is_true(C.metadata_topic_partition(found, 2) == nil)
    assert.is_true(C.metadata_topic_partition(found, -1) == nil)
  end)

  it("tells a broker's address by listener", function()
    local draft = C.metadata_draft_new(nil)
    for _, id in ipairs { 30, 10, 20 } do C.metadata_draft_put_broker(draft, broker(id, id == 20 and "r1" or nil)) end
    local image = finish(draft)
    assert.same({ 10, 20, 30 }, { image.brokers[0].id, image.brokers[1].id, image.brokers[2].id })
    local found = C.metadata_image_broker(image, 20)
    assert.equal("r1", ffi.string(found.rack))
    assert.equal(77, tonumber(found.epoch))
    assert.is_true(C.metadata_image_broker(image, 10).rack == nil)
    local endpoint = C.metadata_broker_endpoint(found, "OUT")
    assert.equal("kafka.example", ffi.string(endpoint.host))
    assert.equal(9093, endpoint.port)
    assert.is_true(C.metadata_broker_endpoint(found, "NONE") == nil)
  end)

  it("shares unchanged topics with the image before and leaves that one as it was", function()
    local draft = C.metadata_draft_new(nil)
    C.metadata_draft_put_broker(draft, broker(1))
    for n, name in ipairs { "a", "b", "c" } do C.metadata_draft_put_topic(draft, topic(name, n, { { 1 } })) end
    C.metadata_draft_set_cluster(draft, "cluster")
    C.metadata_draft_set_controller(draft, 1, 4)
    local old = finish(draft)
    draft = C.metadata_draft_new(old)
    C.metadata_draft_put_topic(draft, topic("b", 12, { { 1 }, { 1 } }))
    C.metadata_draft_remove_topic(draft, "c")
    C.metadata_draft_remove_topic(draft, "none")
    C.metadata_draft_put_topic(draft, topic("d", 4, { { 1 } }))
    local new = finish(draft)
    assert.equal(3, old.topic_count)
    assert.equal(1, find(old, "b").partition_count)
    assert.is_not_nil(find(old, "c"))
    assert.equal(3, new.topic_count)
    assert.equal(2, find(new, "b").partition_count)
    assert.is_nil(find(new, "c"))
    assert.is_not_nil(find(new, "d"))
    assert.is_true(find(old, "a") == find(new, "a"))
    assert.equal(2, find(new, "a").refs)
    assert.equal("cluster", ffi.string(new.cluster_id))
    assert.equal(1, new.controller_id)
    assert.equal(4, new.controller_epoch)
    assert.equal(tonumber(old.version) + 1, tonumber(new.version))
    assert.is_true(C.metadata_image_topic_by_id(new, id_of(2)) == nil)
  end)

  it("names offline the replicas whose broker is not registered", function()
    local draft = C.metadata_draft_new(nil)
    C.metadata_draft_put_topic(draft, topic("a", 1, { { 1, 2 }, { 2, 3 } }))
    C.metadata_draft_put_broker(draft, broker(1))
    C.metadata_draft_put_broker(draft, broker(2))
    local old = finish(draft)
    assert.equal(0, find(old, "a").partitions[0].offline_count)
    assert.equal(1, find(old, "a").partitions[1].offline_count)
    assert.equal(3, find(old, "a").partitions[1].offline[0])
    draft = C.metadata_draft_new(old)
    C.metadata_draft_remove_broker(draft, 2)
    C.metadata_draft_remove_broker(draft, 9)
    local new = finish(draft)
    assert.equal(2, find(new, "a").partitions[0].offline[0])
    assert.equal(2, find(new, "a").partitions[1].offline_count)
    assert.equal(0, find(old, "a").partitions[0].offline_count)
  end)

  it("gives up a draft without touching its base", function()
    local draft = C.metadata_draft_new(nil)
    C.metadata_draft_put_topic(draft, topic("a", 1, { { 1 } }))
    local old = finish(draft)
    draft = C.metadata_draft_new(old)
    C.metadata_draft_put_topic(draft, topic("b", 2, { { 1 } }))
    C.metadata_draft_put_broker(draft, broker(1))
    C.metadata_draft_cancel(draft)
    assert.equal(1, old.topic_count)
    assert.equal(1, find(old, "a").refs)
  end)

  it("is replaced in the cache while a reader keeps the one it took", function()
    local cache, thread = ffi.new "struct metadata_cache", ffi.new "struct epoch_thread"
    C.epoch_register(thread)
    C.metadata_cache_create(cache)
    C.epoch_enter()
    local first = C.metadata_cache_get(cache)
    local draft = C.metadata_draft_new(first)
    C.metadata_draft_put_topic(draft, topic("a", 1, { { 1 } }))
    C.metadata_cache_publish(cache, C.metadata_draft_finish(draft))
    assert.equal(0, first.topic_count)
    C.metadata_image_ref(first)
    assert.equal(1, C.metadata_cache_get(cache).topic_count)
    C.epoch_leave()
    C.epoch_collect()
    assert.equal(0, first.topic_count)
    assert.equal(1, first.refs)
    C.metadata_image_unref(first)
    C.metadata_cache_destroy(cache)
    C.epoch_unregister()
  end)
end)
