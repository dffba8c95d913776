-- SPDX-License-Identifier: Apache-2.0
-- Decisions on partitions that are added. Errors and messages are those that Apache Kafka 4.4.0 gives to the same
-- requests.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/topic_plan.h", "base/arena.h", "metadata/broker_config.h", "wire/error_codes.h")

local HUGE = "Excessively large number of additional partitions per request."

describe("partitions that are added", function()
  local arena, config, image, context, kept

  local function keep(value)
    kept[#kept + 1] = value
    return value
  end

  --- Replaces the image: brokers by id; topics by name, each a list of the replicas of its partitions.
  local function cluster(brokers, topics)
    if image then C.metadata_image_unref(image) end
    local draft = C.metadata_draft_new(nil)
    for _, id in ipairs(brokers) do
      local endpoint = ffi.new "struct metadata_endpoint"
      endpoint.listener, endpoint.protocol, endpoint.host, endpoint.port = "PLAINTEXT", "PLAINTEXT", "h", 9092
      C.metadata_draft_put_broker(draft, C.metadata_broker_new(id, 1, nil, endpoint, 1))
    end
    local byte = 0
    for name, partitions in pairs(topics) do
      byte = byte + 1
      local id, specs = ffi.new "struct uuid", ffi.new("struct metadata_partition_spec[?]", #partitions)
      id.bytes[15] = byte
      for p, list in ipairs(partitions) do
        local spec, replicas = specs[p - 1], keep(ffi.new("int32_t[?]", #list + 1, list))
        spec.leader, spec.leader_epoch, spec.partition_epoch = list[1] or -1, 4, 9
        spec.replicas, spec.replica_count, spec.isr, spec.isr_count = replicas, #list, replicas, #list
      end
      local override = ffi.new("struct config_entry[1]", { { "retention.ms", "77" } })
      C.metadata_draft_put_topic(draft, C.metadata_topic_new(name, id, 5, specs, #partitions, override, 1, config.topic.values))
    end
    image = C.metadata_draft_finish(draft)
    context.image = image
  end

  before_each(function()
    arena, config, context, kept = ffi.new "struct arena", ffi.new "struct broker_config", ffi.new "struct topic_plan_context", {}
    C.broker_config_create(config)
    C.broker_config_resolve(config)
    context.config = config
    cluster({ 1 }, { a = { { 1 }, { 1 }, { 1 } }, b = { { 1 }, { 1 } } })
  end)
  after_each(function()
    C.metadata_image_unref(image)
    image = nil
    C.broker_config_destroy(config)
    C.arena_destroy(arena)
  end)

  local function partitions_of(topic)
    local list = {}
    for p = 0, topic.partition_count - 1 do
      local part, replicas = topic.partitions[p], {}
      for n = 0, part.replica_count - 1 do replicas[#replicas + 1] = part.replicas[n] end
      list[p + 1] = { leader = part.leader, epoch = part.leader_epoch, version = part.partition_epoch, replicas = replicas,
        isr = part.isr_count }
    end
    return list
  end

  --- Decides on topics { name, partitions, assignments }; the entries of the answer as { name, error, message }, and what
  --- grew by name.
  local function grow(topics, validate_only)
    local request, list = ffi.new "struct controller_grow", ffi.new("struct controller_grown_topic[?]", #topics + 1)
    for i, topic in ipairs(topics) do
      local t = list[i - 1]
      t.name, t.name_length, t.partitions, t.assignment_count = keep(topic[1]), #topic[1], topic[2], -1
      if topic[3] then
        t.assignment_count = #topic[3]
        t.assignments = keep(ffi.new("struct controller_assignment[?]", #topic[3] + 1))
        for n, brokers in ipairs(topic[3]) do
          t.assignments[n - 1].broker_count = #brokers
          t.assignments[n - 1].brokers = keep(ffi.new("int32_t[?]", #brokers + 1, brokers))
        end
      end
    end
    request.arena, request.topics, request.topic_count = arena, list, #topics
    request.is_validate_only = validate_only or false
    local grown = ffi.new("struct topic_plan_grown[?]", #topics + 1)
    local count, answers, made = C.topic_plan_grow(context, request, grown), {}, {}
    for i = 0, #topics - 1 do
      local t = list[i]
      if not t.is_repeat then
        answers[#answers + 1] = { ffi.string(t.name), t.error_code, t.error_message ~= nil and ffi.string(t.error_message) or nil }
      end
      assert.equal(grown[i].topic == nil, grown[i].opened == nil)
      if grown[i].topic ~= nil then
        count = count - 1
        local topic = grown[i].topic
        made[ffi.string(topic.name)] = { version = topic.version, id = topic.id.bytes[15], overrides = topic.override_count,
          all = partitions_of(topic), opened = partitions_of(grown[i].opened), opened_id = grown[i].opened.id.bytes[15] }
        C.metadata_topic_unref(grown[i].topic)
        C.metadata_topic_unref(grown[i].opened)
      end
    end
    assert.equal(0, count)
    return answers, made
  end

  local function one(...)
    local answers, made = grow { { ... } }
    assert.equal(1, #answers)
    assert.equal(answers[1][2] == 0, next(made) ~= nil)
    return answers[1][2], answers[1][3]
  end

  it("come behind those that are there, which stay as they are", function()
    local answers, made = grow { { "a", 5 } }
    assert.same({ { "a", 0 } }, answers)
    local old = { leader = 1, epoch = 4, version = 9, replicas = { 1 }, isr = 1 }
    local new = { leader = 1, epoch = 0, version = 0, replicas = { 1 }, isr = 1 }
    local none = { leader = -1, epoch = 0, version = 0, replicas = {}, isr = 0 }
    assert.same({ old, old, old, new, new }, made.a.all)
    assert.same({ none, none, none, new, new }, made.a.opened)
    assert.equal(6, made.a.version)
    assert.equal(1, made.a.overrides)
    assert.equal(made.a.id, made.a.opened_id)
  end)

  it("are placed as if the topic had been made with all of them", function()
    cluster({ 1, 2, 3 }, { t = { { 1, 2 }, { 2, 3 } } })
    local _, made = grow { { "t", 6 } }
    local replicas = {}
    for i, part in ipairs(made.t.all) do replicas[i] = part.replicas end
    assert.same({ { 1, 2 }, { 2, 3 }, { 3, 1 }, { 1, 2 }, { 2, 3 }, { 3, 1 } }, replicas)
  end)

  it("go where the request says", function()
    cluster({ 1, 2, 3 }, { t = { { 1, 2 } } })
    local answers, made = grow { { "t", 3, { { 3, 2 }, { 2, 1 } } } }
    assert.equal(0, answers[1][2])
    assert.same({ leader = 3, epoch = 0, version = 0, replicas = { 3, 2 }, isr = 2 }, made.t.all[2])
    assert.same({ leader = 2, epoch = 0, version = 0, replicas = { 2, 1 }, isr = 2 }, made.t.all[3])
  end)

  it("are not made by a request that only validates", function()
    local answers, made = grow({ { "a", 5 }, { "b", 1 } }, true)
    assert.same({ 0, 37 }, { answers[1][2], answers[2][2] })
    assert.same({}, made)
  end)

  it("are refused with 37 where a topic has as many or more", function()
    assert.same({ 37, "Topic already has 3 partition(s)." }, { one("a", 3) })
    assert.same({ 37, "The topic a currently has 3 partition(s); 2 would not be an increase." }, { one("a", 2) })
    assert.same({ 37, "The topic a currently has 3 partition(s); 0 would not be an increase." }, { one("a", 0) })
    assert.same({ 37, "The topic a currently has 3 partition(s); -2147483648 would not be an increase." }, { one("a", -2147483648) })
    assert.equal(0, (one("a", 4)))
  end)

  it("are refused with 3, and no more said, where there is no such topic", function()
    for _, name in ipairs { "no", "b b", "", "__cluster_metadata", "a\0" } do assert.same({ 3 }, { one(name, 9) }) end
  end)

  it("are given to the broker's own topics as well", function()
    cluster({ 1 }, { __consumer_offsets = { { 1 } } })
    assert.equal(0, (one("__consumer_offsets", 2)))
  end)

  local COUNT = "Attempted to add %d additional partition(s), but only %d assignment(s) were specified."
  for _, case in ipairs {
    { "too few assignments", 5, { { 1 } }, COUNT:format(2, 1) },
    { "too many assignments", 4, { { 1 }, { 1 } }, COUNT:format(1, 2) },
    { "an empty list of assignments", 4, {}, COUNT:format(1, 0) },
    { "a broker that is not there", 4, { { 7 } }, "The manual partition assignment includes broker 7, but no such broker is registered." },
    { "a negative broker", 4, { { -1 } }, "The manual partition assignment includes broker -1, but no such broker is registered." },
    { "a broker twice", 4, { { 1, 1 } }, "The manual partition assignment includes the broker 1 more than once." },
    { "no broker", 4, { {} }, "The manual partition assignment includes an empty replica list." },
    { "no broker for the second", 5, { { 1 }, {} }, "The manual partition assignment includes an empty replica list." },
  } do
    it("are refused with 39 for " .. case[1], function() assert.same({ 39, case[4] }, { one("a", case[2], case[3]) }) end)
  end

  it("are refused with 39 where they would have more or fewer replicas than the others", function()
    cluster({ 1, 2, 3 }, { t = { { 1, 2 } } })
    local text = "The manual partition assignment includes a partition with %d replica(s), but this is not consistent with "
      .. "previous partitions, which have 2 replica(s)."
    assert.same({ 39, text:format(1) }, { one("t", 2, { { 3 } }) })
    assert.same({ 39, text:format(3) }, { one("t", 2, { { 3, 2, 1 } }) })
  end)

  it("are refused with 38 where brokers for them are missing", function()
    cluster({ 1 }, { t = { { 1, 2 } } })
    local code, message = one("t", 2)
    assert.equal(38, code)
    assert.truthy(message:find("only 1 broker(s) are registered", 1, true))
  end)

  it("are placed on one broker where a topic's first partition has none", function()
    cluster({ 1 }, { t = { {} } })
    local _, made = grow { { "t", 2 } }
    assert.same({ 1 }, made.t.all[2].replicas)
  end)

  it("come to 10000 in one request at most, over all its topics; otherwise none is made", function()
    assert.equal(0, (one("a", 10003)))
    assert.same({ 44, HUGE }, { one("a", 10004) })
    assert.same({ 44, HUGE }, { one("a", 2147483647) })
    assert.same({ { "a", 0 }, { "b", 0 } }, (grow { { "a", 10002 }, { "b", 3 } }))
    assert.same({ { "a", 44, HUGE }, { "b", 44, HUGE } }, (grow { { "a", 10002 }, { "b", 4 } }))
    assert.same({ { "a", 44, HUGE }, { "b", 44, HUGE } }, (grow { { "a", 2147483647 }, { "b", 2147483647 } }))
    -- The limit is looked at before anything else but names given twice; what is not there counts nothing.
    assert.same({ { "no", 44, HUGE }, { "b", 44, HUGE }, { "a", 44, HUGE } }, (grow { { "no", 1 }, { "b", 2 }, { "a", 20003, { { 1 } } } }))
    assert.same({ { "a", 0 }, { "no", 3 } }, (grow { { "a", 10003 }, { "no", 4 } }))
    assert.same({ 3 }, { one("no", 20000) })
    assert.same({ { "a", 42, "Duplicate topic name." } }, (grow { { "a", 9000 }, { "a", 9000 } }))
  end)

  it("are refused once, with 42, for a topic named twice, and made for the others", function()
    local answers, made = grow { { "b", 9 }, { "a", 4 }, { "b", 9 }, { "no", 1 }, { "b", 8 } }
    assert.same({ { "b", 42, "Duplicate topic name." }, { "a", 0 }, { "no", 3 } }, answers)
    assert.is_nil(made.b)
    assert.equal(4, #made.a.all)
  end)

  it("are none for no topics", function() assert.same({}, (grow {})) end)
end)
