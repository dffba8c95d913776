-- SPDX-License-Identifier: Apache-2.0
-- Errors and messages are those that Apache Kafka 4.4.0 gives to the same requests on a cluster of one broker.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("controller/topic_plan.h", "base/arena.h", "metadata/broker_config.h", "wire/error_codes.h")

describe("topic plan", function()
  local arena, config, image, context, kept, next_id
  local ZERO = ("00"):rep(16)

  local make_id = ffi.cast("void (*)(struct uuid *)", function(id)
    next_id = next_id + 1
    id.bytes[15] = next_id
  end)

  local function id_hex(n) return ("00"):rep(15) .. ("%02x"):format(n) end

  --- Replaces the image: brokers by id, topics by name with an id byte.
  local function cluster(brokers, topics)
    if image then C.metadata_image_unref(image) end
    local draft = C.metadata_draft_new(nil)
    for _, id in ipairs(brokers) do
      local endpoint = ffi.new "struct metadata_endpoint"
      endpoint.listener, endpoint.protocol, endpoint.host, endpoint.port = "PLAINTEXT", "PLAINTEXT", "h", 9092
      C.metadata_draft_put_broker(draft, C.metadata_broker_new(id, 1, nil, endpoint, 1))
    end
    for name, byte in pairs(topics or {}) do
      local id, spec, replicas = ffi.new "struct uuid", ffi.new "struct metadata_partition_spec", ffi.new("int32_t[1]", { brokers[1] })
      id.bytes[15] = byte
      spec.leader, spec.replicas, spec.replica_count, spec.isr, spec.isr_count = brokers[1], replicas, 1, replicas, 1
      C.metadata_draft_put_topic(draft, C.metadata_topic_new(name, id, 0, spec, 1, nil, 0, config.topic.values))
    end
    image = C.metadata_draft_finish(draft)
    context.image = image
  end

  before_each(function()
    arena, config, context, kept, next_id = ffi.new "struct arena", ffi.new "struct broker_config", ffi.new "struct topic_plan_context",
      {}, 0
    C.broker_config_create(config)
    C.broker_config_set(config, "num.partitions", "4")
    C.broker_config_resolve(config)
    context.config, context.make_id = config, make_id
    cluster { 1 }
  end)
  after_each(function()
    C.metadata_image_unref(image)
    image = nil
    C.broker_config_destroy(config)
    C.arena_destroy(arena)
  end)

  local function keep(value)
    kept[#kept + 1] = value
    return value
  end

  --- Decides on topics { name, partitions, factor, assign = { [p] = brokers }, configs = { { name, value } } }; returns
  --- one table for each entry of the answer.
  local function create(topics, options)
    options = options or {}
    local request, list = ffi.new "struct controller_create", ffi.new("struct controller_new_topic[?]", #topics + 1)
    for i, topic in ipairs(topics) do
      local t = list[i - 1]
      t.name, t.name_length = keep(topic[1]), #topic[1]
      t.partitions, t.replication_factor = topic[2] or 1, topic[3] or 1
      if topic.assign then
        if not topic[2] then t.partitions = -1 end
        if not topic[3] then t.replication_factor = -1 end
        t.assignment_count = #topic.assign
        t.assignments = keep(ffi.new("struct controller_assignment[?]", #topic.assign))
        for n, entry in ipairs(topic.assign) do
          t.assignments[n - 1].partition, t.assignments[n - 1].broker_count = entry[1], #entry[2]
          t.assignments[n - 1].brokers = keep(ffi.new("int32_t[?]", #entry[2] + 1, entry[2]))
        end
      end
      local configs = topic.configs or {}
      local entries = keep(ffi.new("struct config_entry[?]", #configs + 1))
      for n, pair in ipairs(configs) do entries[n - 1].name, entries[n - 1].value = pair[1], pair[2] end
      t.configs, t.config_count = entries, #configs
    end
    request.arena, request.topics, request.topic_count = arena, list, #topics
    request.is_validate_only, request.is_auto = options.validate_only or false, options.auto or false
    local made = ffi.new("struct metadata_topic *[?]", #topics + 1)
    local answers = { count = C.topic_plan_create(context, request, made), made = {} }
    for i = 0, #topics - 1 do
      local t = list[i]
      if not t.is_repeat then
        local shown = {}
        for n = 0, t.shown_count - 1 do shown[ffi.string(t.shown[n].name)] = { ffi.string(t.shown[n].value), t.shown[n].source } end
        answers[#answers + 1] = { ffi.string(t.name), t.error_code, t.error_message ~= nil and ffi.string(t.error_message) or nil,
          id = unit.hex(t.id.bytes, 16), partitions = t.partition_count, factor = t.made_replication_factor, shown = shown,
            shown_count = t.shown_count }
      end
      if made[i] ~= nil then
        local topic = { name = ffi.string(made[i].name), id = unit.hex(made[i].id.bytes, 16), overrides = {},
          retention_ms = tonumber(made[i].config.retention_ms) }
        for p = 0, made[i].partition_count - 1 do
          local part, replicas, isr = made[i].partitions[p], {}, {}
          for n = 0, part.replica_count - 1 do replicas[#replicas + 1] = part.replicas[n] end
          for n = 0, part.isr_count - 1 do isr[#isr + 1] = part.isr[n] end
          topic[#topic + 1] = { leader = part.leader, epoch = part.leader_epoch, replicas = replicas, isr = isr }
        end
        for n = 0, made[i].override_count - 1 do topic.overrides[#topic.overrides + 1] = { ffi.string(made[i].overrides[n].name),
          ffi.string(made[i].overrides[n].value) } end
        answers.made[#answers.made + 1] = topic
        C.metadata_topic_unref(made[i])
      end
    end
    return answers
  end

  local function one(topic, options) return create({ topic }, options)[1] end

  it("makes a topic with an id, its partitions on the broker, and all configs in the answer", function()
    local answers = create { { "ok", 3, 1 } }
    assert.equal(1, answers.count)
    local answer = answers[1]
    assert.same({ "ok", 0 }, { answer[1], answer[2], answer[3] })
    assert.equal(id_hex(1), answer.id)
    assert.equal(3, answer.partitions)
    assert.equal(1, answer.factor)
    assert.equal(37, answer.shown_count)
    assert.same({ "604800000", 5 }, answer.shown["retention.ms"])
    assert.same({ "1", 5 }, answer.shown["min.insync.replicas"])
    local made = answers.made[1]
    assert.equal("ok", made.name)
    assert.equal(id_hex(1), made.id)
    assert.equal(3, #made)
    assert.same({ leader = 1, epoch = 0, replicas = { 1 }, isr = { 1 } }, made[3])
  end)

  it("fills in the broker's counts for -1", function()
    local answer = one { "def", -1, -1 }
    assert.equal(0, answer[2])
    assert.equal(4, answer.partitions)
    assert.equal(1, answer.factor)
  end)

  it("only validates when asked to, with an answer as if it had been made", function()
    local answers = create({ { "val", 2, 1 } }, { validate_only = true })
    assert.equal(0, answers.count)
    assert.equal(0, #answers.made)
    assert.equal(2, answers[1].partitions)
    assert.are_not.equal(ZERO, answers[1].id)
    assert.equal(37, answers[1].shown_count)
  end)

  it("keeps configs as they were given, the last of a doubled name", function()
    local answers = create { { "conf", 1, 1, configs = { { "retention.ms", "1" }, { "min.insync.replicas", "1" }, { "retention.ms",
      " 5 " } } } }
    assert.same({ { "min.insync.replicas", "1" }, { "retention.ms", " 5 " } }, answers.made[1].overrides)
    assert.equal(5, answers.made[1].retention_ms)
    assert.same({ " 5 ", 1 }, answers[1].shown["retention.ms"])
    assert.same({ "1", 1 }, answers[1].shown["min.insync.replicas"])
  end)

  it("accepts an empty cleanup.policy", function()
    assert.equal(0, one({ "e", 1, 1, configs = { { "cleanup.policy", "" } } })[2])
  end)

  local illegal = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
  local not_consecutive = "partitions should be a consecutive 0-based integer sequence"
  for _, case in ipairs {
    { "an empty name", { "" }, 17, "Topic name is invalid: the empty string is not allowed" },
    { "a blank in the name", { "a b" }, 17, "Topic name is invalid: 'a b' " .. illegal },
    { "a name that is not ASCII", { "caf\195\169" }, 17, "Topic name is invalid: 'caf\195\169' " .. illegal },
    { "a dot alone", { "." }, 17, "Topic name is invalid: '.' is not allowed" },
    { "two dots", { ".." }, 17, "Topic name is invalid: '..' is not allowed" },
    { "a long name", { ("y"):rep(250) }, 17, "Topic name is invalid: the length of '" .. ("y"):rep(250)
      .. "' is longer than the max allowed length 249" },
    { "the cluster's log", { "__cluster_metadata" }, 42, "Creation of internal topic __cluster_metadata is prohibited." },
    { "no partitions", { "p", 0 }, 37, "Number of partitions was set to an invalid non-positive value." },
    { "-2 partitions", { "p", -2 }, 37, "Number of partitions was set to an invalid non-positive value." },
    { "10001 partitions", { "p", 10001 }, 44, "Excessively large number of partitions per request." },
    { "replication factor 0", { "r", 1, 0 }, 38, "Replication factor must be larger than 0, or -1 to use the default value." },
    { "replication factor -2", { "r", 1, -2 }, 38, "Replication factor must be larger than 0, or -1 to use the default value." },
    { "more replicas than brokers", { "r", 1, 2 }, 38,
      "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached "
      .. "because only 1 broker(s) are registered or some brokers have all their log directories cordoned." },
    { "an unknown broker", { "a", assign = { { 0, { 1001 } } } }, 39,
      "The manual partition assignment includes broker 1001, but no such broker is registered." },
    { "a negative broker", { "a", assign = { { 0, { -1 } } } }, 39,
      "The manual partition assignment includes broker -1, but no such broker is registered." },
    { "a broker twice", { "a", assign = { { 0, { 1, 1 } } } }, 39,
      "The manual partition assignment includes the broker 1 more than once." },
    { "a gap", { "a", assign = { { 0, { 1 } }, { 2, { 1 } } } }, 39, not_consecutive },
    { "a start at 1", { "a", assign = { { 1, { 1 } } } }, 39, not_consecutive },
    { "a negative partition", { "a", assign = { { -1, { 1 } } } }, 39, not_consecutive },
    { "no brokers", { "a", assign = { { 0, {} } } }, 39, "The manual partition assignment includes an empty replica list." },
    { "a partition twice", { "a", assign = { { 0, { 1 } }, { 0, { 1 } } } }, 39,
      "Found multiple manual partition assignments for partition 0" },
    { "uneven replicas with an unknown broker", { "a", assign = { { 0, { 1 } }, { 1, { 1, 1001 } } } }, 39,
      "The manual partition assignment includes broker 1001, but no such broker is registered." },
    { "an assignment and a count", { "a", 1, assign = { { 0, { 1 } } } }, 42,
      "A manual partition assignment was specified, but numPartitions was not set to -1." },
    { "an assignment and a factor", { "a", nil, 1, assign = { { 0, { 1 } } } }, 42,
      "A manual partition assignment was specified, but replication factor was not set to -1." },
    { "an unknown config", { "c", configs = { { "no.such", "1" } } }, 40, "Unknown topic config name: no.such" },
    { "a config that is not a number", { "c", configs = { { "retention.ms", "x" } } }, 40,
      "Invalid value x for configuration retention.ms: Not a number of type LONG" },
    { "a config out of range", { "c", configs = { { "retention.ms", "-2" } } }, 40,
      "Invalid value -2 for configuration retention.ms: Value must be at least -1" },
    { "a config without a value", { "c", configs = { { "retention.ms", nil } } }, 40,
      "Null value not supported for topic configs: retention.ms" },
    { "a small segment", { "c", configs = { { "segment.bytes", "1" } } }, 40,
      "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576" },
    { "configs that conflict", { "c", configs = { { "min.compaction.lag.ms", "9" }, { "max.compaction.lag.ms", "1" } } }, 40,
      "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (1)" },
    { "a bad config before a bad count", { "c", 0, configs = { { "retention.ms", "x" } } }, 40,
      "Invalid value x for configuration retention.ms: Not a number of type LONG" },
    { "a bad factor before a bad count", { "c", 0, 0 }, 38, "Replication factor must be larger than 0, or -1 to use the default value." },
  } do
    it("refuses " .. case[1] .. " with Kafka's error and message", function()
      local answers = create { case[2] }
      assert.equal(0, answers.count)
      assert.equal(case[3], answers[1][2])
      assert.equal(case[4], answers[1][3])
      assert.equal(ZERO, answers[1].id)
      assert.equal(-1, answers[1].partitions)
      assert.equal(-1, answers[1].factor)
      assert.equal(0, answers[1].shown_count)
    end)
  end

  it("refuses a name with a NUL inside", function()
    assert.equal(17, one({ "a\0b" })[2])
  end)

  it("takes manual assignments in any order", function()
    cluster { 1, 2, 3 }
    local made = create({ { "m", assign = { { 1, { 3, 1 } }, { 0, { 2, 3 } } } } }).made[1]
    assert.same({ { leader = 2, epoch = 0, replicas = { 2, 3 }, isr = { 2, 3 } }, { leader = 3, epoch = 0, replicas = { 3, 1 }, isr = { 3,
      1 } } }, { made[1], made[2] })
  end)

  it("refuses uneven replica lists of known brokers", function()
    cluster { 1, 2 }
    local answer = one { "m", assign = { { 0, { 1 } }, { 1, { 1, 2 } } } }
    assert.equal(39, answer[2])
    assert.equal("The manual partition assignment includes a partition with 2 replica(s), "
      .. "but this is not consistent with previous partitions, which have 1 replica(s).", answer[3])
  end)

  it("places by the classic rule", function()
    cluster { 1, 2, 5 }
    local made = create({ { "m", 4, 2 } }).made[1]
    local leaders = {}
    for i, part in ipairs(made) do leaders[i] = table.concat(part.replicas, ",") end
    assert.same({ "1,2", "2,5", "5,1", "1,2" }, leaders)
  end)

  it("says that a topic exists, also when only validating", function()
    cluster({ 1 }, { ok = 9 })
    for _, validate_only in ipairs { false, true } do
      local answer = one({ "ok", 3 }, { validate_only = validate_only })
      assert.equal(36, answer[2])
      assert.equal("Topic 'ok' already exists.", answer[3])
    end
  end)

  it("refuses a name that collides with one that exists or that the request has made", function()
    cluster({ 1 }, { ["a.b_c"] = 9 })
    local answers = create { { "a_b.c" }, { "a-b.c" }, { "x.y" }, { "x_y" } }
    assert.same({ "a_b.c", 17, "Topic 'a_b.c' collides with existing topic: a.b_c" }, { unpack(answers[1], 1, 3) })
    assert.equal(0, answers[2][2])
    assert.equal(0, answers[3][2])
    assert.same({ "x_y", 17, "Topic 'x_y' collides with existing topic: x.y" }, { unpack(answers[4], 1, 3) })
  end)

  it("does not count a name that was refused as one to collide with", function()
    local answers = create { { "x.y", 0 }, { "x_y" } }
    assert.equal(37, answers[1][2])
    assert.equal(0, answers[2][2])
  end)

  it("gives one entry with an error to a topic named twice", function()
    local answers = create { { "tw" }, { "tw", 2 }, { "tw2" }, { "tw" } }
    assert.equal(2, #answers)
    assert.same({ "tw", 42, "Duplicate topic name." }, { unpack(answers[1], 1, 3) })
    assert.equal(0, answers[2][2])
    assert.equal(1, answers.count)
  end)

  it("makes the good topics of a request beside the bad", function()
    local answers = create { { "g" }, { "b b" }, { "g2", 0 } }
    assert.same({ 0, 17, 37 }, { answers[1][2], answers[2][2], answers[3][2] })
    assert.equal("g", answers.made[1].name)
  end)

  it("refuses the whole request when it has too many partitions in all", function()
    local answers = create { { "a", 9999 }, { "b", 1 }, { "c", 1 } }
    assert.equal(3, #answers)
    for _, answer in ipairs(answers) do assert.equal(44, answer[2]) end
    assert.equal(2, create({ { "a", 9999 }, { "b", 1 } }).count)
  end)

  it("answers nothing to nothing", function()
    assert.equal(0, #create {})
  end)

  describe("of auto-creation", function()
    it("succeeds for a topic that is there", function()
      cluster({ 1 }, { ok = 9 })
      local answers = create({ { "ok", -1, -1 }, { "new", -1, -1 } }, { auto = true })
      assert.equal(1, answers.count)
      assert.same({ 0, id_hex(9), 1, 1 }, { answers[1][2], answers[1].id, answers[1].partitions, answers[1].factor })
      assert.same({ 0, 4 }, { answers[2][2], answers[2].partitions })
    end)

    it("gives the broker's own topics 50 partitions and their configs", function()
      local answers = create({ { "__consumer_offsets", -1, -1 }, { "__transaction_state", -1, -1 } }, { auto = true })
      assert.equal(50, answers[1].partitions)
      assert.equal(1, answers[1].factor)
      assert.same({ "compact", 1 }, answers[1].shown["cleanup.policy"])
      assert.same({ "104857600", 1 }, answers[1].shown["segment.bytes"])
      assert.same({ "uncompressed", 1 }, answers[2].shown["compression.type"])
      assert.same({ "1", 1 }, answers[2].shown["min.insync.replicas"])
    end)
  end)

  --- Decides on topics { name = , id = byte }.
  local function drop(topics)
    local request, list = ffi.new "struct controller_drop", ffi.new("struct controller_old_topic[?]", #topics + 1)
    for i, topic in ipairs(topics) do
      if topic.name then list[i - 1].name, list[i - 1].name_length = keep(topic.name), #topic.name end
      list[i - 1].id.bytes[15] = topic.id or 0
    end
    request.arena, request.topics, request.topic_count = arena, list, #topics
    local doomed = ffi.new("const struct metadata_topic *[?]", #topics + 1)
    local answers = { count = C.topic_plan_delete(context, request, doomed), doomed = {} }
    for i = 0, #topics - 1 do
      local t = list[i]
      if not t.is_repeat then
        answers[#answers + 1] = { t.name ~= nil and ffi.string(t.name) or "none", t.error_code,
          t.error_message ~= nil and ffi.string(t.error_message) or nil,
          id = unit.hex(t.id.bytes, 16) }
      end
      if doomed[i] ~= nil then answers.doomed[#answers.doomed + 1] = ffi.string(doomed[i].name) end
    end
    return answers
  end

  describe("of deletion", function()
    before_each(function() cluster({ 1 }, { a = 1, b = 2, c = 3 }) end)

    it("finds topics by name and by id, and tells both", function()
      local answers = drop { { name = "a" }, { id = 3 } }
      assert.equal(2, answers.count)
      assert.same({ "a", "c" }, answers.doomed)
      assert.same({ "a", 0, id = id_hex(1) }, answers[1])
      assert.same({ "c", 0, id = id_hex(3) }, answers[2])
    end)

    local unknown = "This server does not host this topic-partition."
    for _, case in ipairs {
      { "an unknown name", { name = "none" }, { "none", 3, unknown, id = ZERO } },
      { "an illegal name", { name = "b b" }, { "b b", 3, unknown, id = ZERO } },
      { "an empty name", { name = "" }, { "", 3, unknown, id = ZERO } },
      { "an unknown id", { id = 77 }, { "none", 100, "This server does not host this topic ID.", id = id_hex(77) } },
      { "neither name nor id", {}, { "none", 42, "Neither topic name nor id were specified.", id = ZERO } },
      { "both name and id", { name = "a", id = 1 }, { "a", 42, "You may not specify both topic name and topic id.", id = id_hex(1) } },
    } do
      it("refuses " .. case[1] .. " with Kafka's error and message", function()
        local answers = drop { case[2] }
        assert.equal(0, answers.count)
        assert.same(case[3], answers[1])
      end)
    end

    it("gives one entry with an error to a name or an id given twice, and deletes nothing", function()
      local answers = drop { { name = "b" }, { name = "b" }, { id = 3 }, { id = 3 }, { id = 3 } }
      assert.equal(0, answers.count)
      assert.equal(2, #answers)
      assert.same({ "b", 42, "Duplicate topic name.", id = ZERO }, answers[1])
      assert.same({ "none", 42, "Duplicate topic id.", id = id_hex(3) }, answers[2])
    end)

    it("refuses a topic given by name and by id", function()
      local answers = drop { { id = 1 }, { name = "b" }, { name = "a" } }
      assert.same({ "b" }, answers.doomed)
      assert.equal(1, answers.count)
      assert.equal(2, #answers)
      assert.same({ "a", 42, "The provided topic name maps to an ID that was already supplied.", id = id_hex(1) }, answers[2])
    end)

    it("is refused where delete.topic.enable is false", function()
      C.broker_config_set(config, "delete.topic.enable", "false")
      local answers = drop { { name = "a" } }
      assert.equal(0, answers.count)
      assert.same({ "a", 73, "Topic deletion is disabled.", id = ZERO }, answers[1])
    end)
  end)
end)
