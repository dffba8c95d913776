-- SPDX-License-Identifier: Apache-2.0
-- CreateTopics and DeleteTopics, in all versions, up to the folders on disk.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local malformed = require "spec.support.malformed"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"
local dirent = require "posix.dirent"

local CREATE, DELETE = 7, 6 -- newest versions
local TIMEOUT = 10000

--- A topic of the request: new("a", 3, 1, { ["retention.ms"] = "5" }).
local function new(name, partitions, replicas, configs)
  local topic = { name = name, num_partitions = partitions or 1, replication_factor = replicas or 1, configs = {} }
  for key, value in pairs(configs or {}) do topic.configs[#topic.configs + 1] = { name = key, value = value } end
  return topic
end

--- A topic with a manual assignment, { [partition] = { broker ids } }.
local function assigned(name, assignment)
  local topic = new(name, -1, -1)
  topic.assignments = {}
  for partition, ids in pairs(assignment) do
    topic.assignments[#topic.assignments + 1] = { partition_index = partition, broker_ids = ids }
  end
  return topic
end

local function create(client, version, topics, more)
  local body = { topics = topics, timeout_ms = TIMEOUT }
  for key, value in pairs(more or {}) do body[key] = value end
  return client:ask("CreateTopics", version, body).topics
end

--- Creates one topic and returns its entry of the answer.
local function create_one(client, topic, more)
  local answer = create(client, CREATE, { topic }, more)
  assert.equal(1, #answer)
  return answer[1]
end

local function delete(client, version, names, more)
  local body = { timeout_ms = TIMEOUT }
  if version >= 6 then
    body.topics = {}
    for i, name in ipairs(names) do body.topics[i] = { name = name } end
  else
    body.topic_names = names
  end
  for key, value in pairs(more or {}) do body[key] = value end
  return client:ask("DeleteTopics", version, body).responses
end

local function describe_topic(client, name)
  return client:ask("Metadata", 13, { topics = { { name = name } }, allow_auto_topic_creation = false }).topics[1]
end

local function exists(client, name) return describe_topic(client, name).error_code == 0 end

--- Folders of the data directory that begin with a name.
local function folders_of(broker, name)
  local found = {}
  for _, folder in ipairs(dirent.dir(broker.data)) do
    if folder:sub(1, #name) == name then found[#found + 1] = folder end
  end
  table.sort(found)
  return found
end

local function config_of(entry, name)
  for _, config in ipairs(entry.configs) do
    if config.name == name then return config end
  end
end

describe("CreateTopics", function()
  local broker, client, node

  setup(function()
    broker = brokers.start { set = { "num_partitions=4", "log_segment_delete_delay_ms=10" } }
    client = broker:connect()
    node = client:ask("Metadata", 13, { topics = {} }).brokers[1].node_id
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  for version = 0, CREATE do
    it(("makes a topic that is there when it answers, in version %d"):format(version), function()
      local name = "made" .. version
      local entry = create(client, version, { new(name, 3) })[1]
      assert.equal(name, entry.name)
      assert.equal(0, entry.error_code)
      assert.is_nil(entry.error_message)
      local topic = describe_topic(client, name)
      assert.equal(3, #topic.partitions)
      for _, partition in ipairs(topic.partitions) do
        assert.equal(0, partition.error_code)
        assert.equal(node, partition.leader_id)
      end
      assert.same({ name .. "-0", name .. "-1", name .. "-2" }, folders_of(broker, name))
      if version >= 5 then
        assert.equal(3, entry.num_partitions)
        assert.equal(1, entry.replication_factor)
        assert.equal(0, entry.topic_config_error_code)
        assert.equal("delete", config_of(entry, "cleanup.policy").value)
      end
      assert.equal(version >= 7 and topic.topic_id or nil, entry.topic_id)
    end)

    it(("answers 36 for a topic that is there, in version %d"):format(version), function()
      create(client, version, { new "there" })
      local entry = create(client, version, { new "there" })[1]
      assert.equal(36, entry.error_code)
      if version >= 1 then assert.truthy(entry.error_message:find("there", 1, true)) end
      if version >= 5 then
        assert.equal(-1, entry.num_partitions)
        assert.equal(-1, entry.replication_factor)
        assert.same({}, entry.configs)
      end
      if version >= 7 then assert.equal(wire.NO_UUID, entry.topic_id) end
    end)

    it(("takes the broker's defaults for -1 in version %d"):format(version), function()
      assert.equal(0, create(client, version, { new("default" .. version, -1, -1) })[1].error_code)
      assert.equal(4, #describe_topic(client, "default" .. version).partitions)
    end)
  end

  it("only checks when asked to", function()
    for version = 1, CREATE do
      assert.equal(0, create(client, version, { new("checked", 2) }, { validate_only = true })[1].error_code)
      assert.equal(36, create(client, version, { new "made0" }, { validate_only = true })[1].error_code)
    end
    assert.is_false(exists(client, "checked"))
    assert.same({}, folders_of(broker, "checked"))
  end)

  it("answers the configs of the new topic with where they come from", function()
    local entry = create_one(client, new("configured", 1, 1, { ["cleanup.policy"] = "compact", ["retention.ms"] = "1234" }))
    assert.same({ name = "cleanup.policy", value = "compact", read_only = false, config_source = 1, is_sensitive = false },
      config_of(entry, "cleanup.policy"))
    assert.equal("1234", config_of(entry, "retention.ms").value)
    assert.equal(5, config_of(entry, "max.message.bytes").config_source)
  end)

  it("takes the last value of a config that is given twice", function()
    local topic = new "config-twice"
    topic.configs = { { name = "retention.ms", value = "1" }, { name = "retention.ms", value = "2" } }
    assert.equal("2", config_of(create_one(client, topic), "retention.ms").value)
  end)

  for _, case in ipairs {
    { "an unknown key", { ["no.such"] = "1" }, "no.such" },
    { "a value that is no number", { ["retention.ms"] = "abc" }, "abc" },
    { "a value out of range", { ["retention.ms"] = "-2" }, "retention.ms" },
    { "a value that is not on the list", { ["cleanup.policy"] = "compactt" }, "compact, delete" },
    { "a codec in capitals", { ["compression.type"] = "SNAPPY" }, "SNAPPY" },
    { "null", { ["retention.ms"] = wire.NULL }, "retention.ms" },
    { "a value with a NUL byte", { ["retention.ms"] = "5\0" }, "retention.ms" },
    { "a key with a NUL byte", { ["retention.ms\0x"] = "5" }, "retention.ms" },
    { "minimum above maximum", { ["min.compaction.lag.ms"] = "9", ["max.compaction.lag.ms"] = "1" }, "compaction.lag" },
  } do
    it(("answers 40 and says why for a config with %s, and stays open"):format(case[1]), function()
      local entry = create_one(client, new("bad-config", 1, 1, case[2]))
      assert.equal(40, entry.error_code)
      assert.truthy(entry.error_message:find(case[3], 1, true), entry.error_message)
      assert.is_false(exists(client, "bad-config"))
    end)
  end

  it("answers 17 for names that no topic can have, and leaves nothing on disk", function()
    local before = dirent.dir(broker.data)
    for _, name in ipairs { "", ".", "..", "a/b", "a b", "caf\195\169", ("y"):rep(250), "a\0b" } do
      local entry = create_one(client, new(name))
      assert.equal(17, entry.error_code)
      assert.equal(name, entry.name)
    end
    local after = dirent.dir(broker.data)
    table.sort(before)
    table.sort(after)
    assert.same(before, after)
  end)

  it("takes a name of 249 characters, which can be deleted", function()
    local name = ("n"):rep(249)
    assert.equal(0, create_one(client, new(name)).error_code)
    assert.equal(1, #folders_of(broker, name))
    assert.equal(0, delete(client, DELETE, { name })[1].error_code)
    clients.wait_until("its folder is gone", function() return #folders_of(broker, "nnn") == 0 end)
  end)

  it("refuses names that differ only in '.' and '_', and names the other topic", function()
    assert.equal(0, create_one(client, new "a.b_c").error_code)
    local entry = create_one(client, new "a_b.c")
    assert.equal(17, entry.error_code)
    assert.truthy(entry.error_message:find("a.b_c", 1, true))
    assert.equal(0, create_one(client, new "a-b.c").error_code)
  end)

  it("answers 42 for __cluster_metadata", function()
    assert.equal(42, create_one(client, new "__cluster_metadata").error_code)
  end)

  it("answers 37 for numbers of partitions that cannot be", function()
    for _, count in ipairs { 0, -2, -2147483648 } do
      assert.equal(37, create_one(client, new("partitions", count)).error_code)
    end
  end)

  it("answers 44 for more than 10000 partitions", function()
    assert.equal(44, create_one(client, new("many", 10001)).error_code)
    assert.equal(44, create_one(client, new("many", 2147483647)).error_code)
  end)

  it("answers 38 for numbers of replicas that cannot be", function()
    for _, count in ipairs { 0, -2, 2, 3, 100 } do
      local entry = create_one(client, new("replicas", 1, count))
      assert.equal(38, entry.error_code)
      assert.is_string(entry.error_message)
    end
  end)

  it("takes a manual assignment", function()
    local entry = create_one(client, assigned("assigned", { [0] = { node }, [1] = { node } }))
    assert.equal(0, entry.error_code)
    assert.equal(2, entry.num_partitions)
  end)

  for _, case in ipairs {
    { "an unknown broker", function() return { [0] = { node + 1000 } } end },
    { "a broker twice", function() return { [0] = { node, node } } end },
    { "a gap", function() return { [0] = { node }, [2] = { node } } end },
    { "a start that is not 0", function() return { [1] = { node } } end },
    { "a negative partition", function() return { [-1] = { node } } end },
    { "no brokers", function() return { [0] = {} } end },
    { "a negative broker", function() return { [0] = { -1 } } end },
  } do
    it(("answers 39 for a manual assignment with %s"):format(case[1]), function()
      assert.equal(39, create_one(client, assigned("misassigned", case[2]())).error_code)
    end)
  end

  it("answers 42 for a manual assignment together with a count", function()
    local topic = assigned("both", { [0] = { node } })
    topic.num_partitions = 1
    assert.equal(42, create_one(client, topic).error_code)
    topic = assigned("both", { [0] = { node } })
    topic.replication_factor = 1
    assert.equal(42, create_one(client, topic).error_code)
  end)

  it("answers a topic that is named twice once, with 42, and makes the others", function()
    local answer = create(client, CREATE, { new "twice", new("twice", 2), new "once" })
    assert.equal(2, #answer)
    assert.same({ "twice", 42 }, { answer[1].name, answer[1].error_code })
    assert.same({ "once", 0 }, { answer[2].name, answer[2].error_code })
    assert.is_false(exists(client, "twice"))
    assert.is_true(exists(client, "once"))
  end)

  it("makes the good topics of a request with bad ones, and answers in its order", function()
    local answer = create(client, CREATE, { new "good", new "b b", new("zero", 0), new "good2" })
    local codes = {}
    for i, entry in ipairs(answer) do codes[i] = entry.error_code end
    assert.same({ 0, 17, 37, 0 }, codes)
    assert.is_true(exists(client, "good2"))
  end)

  it("answers nothing for no topics", function()
    for version = 0, CREATE do assert.same({}, create(client, version, {})) end
  end)

  it("makes the topic also for clients that do not want to wait", function()
    for i, timeout in ipairs { 0, -1, -2147483648, 1 } do
      local entry = create_one(client, new("impatient" .. i), { timeout_ms = timeout })
      assert.equal(0, entry.error_code)
      assert.is_true(exists(client, "impatient" .. i))
    end
  end)

  it("lets one of many clients make a topic", function()
    local others, codes = {}, {}
    for i = 1, 10 do
      others[i] = broker:connect()
      others[i]:request("CreateTopics", CREATE, { topics = { new "race" }, timeout_ms = TIMEOUT })
    end
    for i = 1, 10 do
      codes[i] = others[i]:answer("CreateTopics", CREATE).topics[1].error_code
      others[i]:close()
    end
    table.sort(codes)
    assert.same({ 0, 36, 36, 36, 36, 36, 36, 36, 36, 36 }, codes)
  end)

  it("answers before what the same connection asked for after it", function()
    local id = client:request("CreateTopics", CREATE, { topics = { new("pipelined", 2) }, timeout_ms = TIMEOUT })
    local next_id = client:request("Metadata", 13, { topics = { { name = "pipelined" } }, allow_auto_topic_creation = false })
    assert.equal(0, client:answer("CreateTopics", CREATE, id).topics[1].error_code)
    assert.equal(2, #client:answer("Metadata", 13, next_id).topics[1].partitions)
  end)

  it("makes the topic of a client that has gone", function()
    local gone = broker:connect()
    gone:request("CreateTopics", CREATE, { topics = { new "orphan" }, timeout_ms = TIMEOUT })
    gone:close()
    clients.wait_until("the topic is there", function() return exists(client, "orphan") end)
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local topic = assigned("cut", { [0] = { 1 } })
    topic.configs = { { name = "a", value = "b" } }
    assert.is_nil(malformed.first_accepted_prefix(broker, "CreateTopics", CREATE, { topics = { topic } }))
    assert.is_nil(malformed.first_accepted_prefix(broker, "CreateTopics", 1, { topics = { topic } }))
    assert.is_false(exists(client, "cut"))
  end)

  it("closes the connection on null topics and on counts that cannot be", function()
    assert.equal("", malformed.send(broker, unit.bytes "0013 0001 00000001 0001 78 ffffffff 000003e8 00"))
    assert.equal("", malformed.send(broker, unit.bytes "0013 0001 00000001 0001 78 7fffffff 0001 61"))
    assert.is_true(exists(client, "good"))
  end)
end)

describe("DeleteTopics", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "log_segment_delete_delay_ms=10" } }
    client = broker:connect()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  for version = 0, DELETE do
    it(("deletes a topic, whose name is free at once, in version %d"):format(version), function()
      local name = "deleted" .. version
      local id = create_one(client, new(name, 2)).topic_id
      local entry = delete(client, version, { name })[1]
      assert.same({ name, 0 }, { entry.name, entry.error_code })
      assert.is_nil(entry.error_message)
      assert.equal(version >= 6 and id or nil, entry.topic_id)
      assert.is_false(exists(client, name))
      local again = create_one(client, new(name))
      assert.equal(0, again.error_code)
      assert.not_equal(id, again.topic_id)
      clients.wait_until("the old folders are gone", function() return #folders_of(broker, name) == 1 end)
    end)

    it(("answers 3 for what is not there, also for names that no topic can have, in version %d"):format(version), function()
      local answer = delete(client, version, { "missing", "b b", "" })
      assert.equal(3, #answer)
      for i, name in ipairs { "missing", "b b", "" } do
        assert.same({ name, 3 }, { answer[i].name, answer[i].error_code })
        if version >= 5 then assert.is_string(answer[i].error_message) end
        if version >= 6 then assert.equal(wire.NO_UUID, answer[i].topic_id) end
      end
    end)

    it(("answers a topic that is named twice once, with 42, and keeps it, in version %d"):format(version), function()
      create(client, CREATE, { new "kept" })
      local answer = delete(client, version, { "kept", "kept" })
      assert.equal(1, #answer)
      assert.same({ "kept", 42 }, { answer[1].name, answer[1].error_code })
      assert.is_true(exists(client, "kept"))
    end)

    it(("answers nothing for no topics in version %d"):format(version), function()
      assert.same({}, delete(client, version, {}))
    end)
  end

  describe("by id", function()
    local function by_id(...)
      local topics = {}
      for i, topic in ipairs { ... } do topics[i] = type(topic) == "table" and topic or { name = wire.NULL, topic_id = topic } end
      return client:ask("DeleteTopics", 6, { topics = topics, timeout_ms = TIMEOUT }).responses
    end

    it("deletes the topic and answers its name", function()
      local id = create_one(client, new "by-id").topic_id
      local entry = by_id(id)[1]
      assert.same({ "by-id", id, 0 }, { entry.name, entry.topic_id, entry.error_code })
      assert.is_false(exists(client, "by-id"))
    end)

    it("answers 100 and a null name for an unknown id", function()
      local unknown = ("u"):rep(16)
      local entry = by_id(unknown)[1]
      assert.is_nil(entry.name)
      assert.equal(unknown, entry.topic_id)
      assert.equal(100, entry.error_code)
    end)

    it("answers 42 for neither name nor id, for both, and for an id given twice", function()
      local id = create_one(client, new "identified").topic_id
      assert.equal(42, by_id(wire.NO_UUID)[1].error_code)
      assert.equal(42, by_id({ name = "identified", topic_id = id })[1].error_code)
      local answer = by_id(id, id)
      assert.equal(1, #answer)
      assert.equal(42, answer[1].error_code)
      assert.is_nil(answer[1].name)
      assert.is_true(exists(client, "identified"))
    end)
  end)

  it("closes the connection on a request that ends early, at every length", function()
    create(client, CREATE, { new "whole" })
    assert.is_nil(malformed.first_accepted_prefix(broker, "DeleteTopics", 6, { topics = { { name = "whole" } } }))
    assert.is_nil(malformed.first_accepted_prefix(broker, "DeleteTopics", 1, { topic_names = { "whole" } }))
    assert.is_true(exists(client, "whole"))
  end)
end)

describe("delete.topic.enable=false", function()
  it("keeps topics: 73 from version 3 on, 42 before", function()
    local broker = brokers.start { set = { "delete_topic_enable=false" } }
    local client = broker:connect()
    create(client, CREATE, { new "safe" })
    for version = 0, DELETE do
      local entry = delete(client, version, { "safe" })[1]
      assert.same({ "safe", version >= 3 and 73 or 42 }, { entry.name, entry.error_code })
    end
    assert.is_true(exists(client, "safe"))
    assert.equal(0, broker:stop())
  end)
end)

describe("topics", function()
  it("are there after a clean restart and after a crash, with their ids and configs", function()
    local broker = brokers.start()
    local client = broker:connect()
    local id = create_one(client, new("lasting", 3, 1, { ["retention.ms"] = "77" })).topic_id
    create(client, CREATE, { new "gone" })
    delete(client, DELETE, { "gone" })
    for _, stop in ipairs { "stop", "kill" } do
      client:close()
      broker[stop](broker)
      broker = broker:restart()
      client = broker:connect()
      local topic = describe_topic(client, "lasting")
      assert.equal(0, topic.error_code)
      assert.equal(id, topic.topic_id)
      assert.equal(3, #topic.partitions)
      assert.is_false(exists(client, "gone"))
    end
    assert.equal(0, broker:stop())
  end)

  it("get one replica by default and 38 for more than there are brokers, with no settings at all", function()
    local broker = brokers.start()
    local client = broker:connect()
    assert.equal(1, create_one(client, new("single", -1, -1)).replication_factor)
    assert.equal(38, create_one(client, new("triple", 1, 3)).error_code)
    assert.equal(0, broker:stop())
  end)
end)
