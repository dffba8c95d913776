-- SPDX-License-Identifier: Apache-2.0
-- Metadata: all or some topics, by name and by id, addresses, and auto-creation.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local malformed = require "spec.support.malformed"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local NEWEST = 13
local NOT_ASKED = -2147483648

local function create(client, ...)
  local topics = {}
  for _, topic in ipairs { ... } do
    topics[#topics + 1] = { name = topic.name or topic, num_partitions = topic.partitions or 1, replication_factor = 1 }
  end
  local answer = client:ask("CreateTopics", 7, { topics = topics, timeout_ms = 10000 })
  for _, topic in ipairs(answer.topics) do assert.equal(0, topic.error_code) end
  return answer.topics
end

local function names_of(answer)
  local names = {}
  for _, topic in ipairs(answer.topics) do names[#names + 1] = topic.name end
  table.sort(names)
  return names
end

--- Asks for topics by name; auto-creation only where the version has a flag against it and it is not given.
local function ask(client, version, names, more)
  local body = { topics = {} }
  for i, name in ipairs(names) do body.topics[i] = { name = name } end
  if version >= 4 then body.allow_auto_topic_creation = false end
  for key, value in pairs(more or {}) do body[key] = value end
  return client:ask("Metadata", version, body)
end

local function all(client, version)
  return client:ask("Metadata", version, { topics = version > 0 and wire.NULL or {} })
end

describe("Metadata", function()
  local broker, client, a, b

  setup(function()
    broker = brokers.start { set = { "auto_create_topics_enable=false", "num_partitions=4" } }
    client = broker:connect()
    a, b = unpack(create(client, { name = "a", partitions = 2 }, "b"))
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  describe("of all topics and of none", function()
    it("takes an empty list for all topics in version 0", function()
      client:send_frame(unit.bytes "0003 0000 00000001 0001 78 00000000")
      local answer = client:answer("Metadata", 0)
      assert.same({ "a", "b" }, names_of(answer))
      assert.equal(1, #answer.brokers)
    end)

    it("takes null for all topics from version 1 on", function()
      client:send_frame(unit.bytes "0003 0001 00000002 0001 78 ffffffff")
      assert.same({ "a", "b" }, names_of(client:answer("Metadata", 1)))
      for version = 1, NEWEST do assert.same({ "a", "b" }, names_of(all(client, version))) end
    end)

    it("takes an empty list for no topics from version 1 on, and names the brokers", function()
      client:send_frame(unit.bytes "0003 0001 00000003 0001 78 00000000")
      assert.same({}, client:answer("Metadata", 1).topics)
      for version = 1, NEWEST do
        local answer = ask(client, version, {})
        assert.same({}, answer.topics)
        assert.equal(1, #answer.brokers)
      end
    end)

    it("closes the connection on null in version 0", function()
      assert.equal("", malformed.send(broker, unit.bytes "0003 0000 00000001 0001 78 ffffffff"))
    end)
  end)

  for version = 0, NEWEST do
    it(("tells all there is to know of a topic in version %d"):format(version), function()
      local answer = ask(client, version, { "a" })
      local node = answer.brokers[1].node_id
      assert.equal(broker.port, answer.brokers[1].port)
      assert.equal("127.0.0.1", answer.brokers[1].host)
      assert.is_nil(answer.brokers[1].rack)
      assert.equal(version >= 1 and node or nil, answer.controller_id)
      if version >= 2 then assert.equal(22, #answer.cluster_id) end
      assert.equal(version >= 3 and 0 or nil, answer.throttle_time_ms)
      assert.equal(1, #answer.topics)
      local topic = answer.topics[1]
      assert.equal(0, topic.error_code)
      assert.equal("a", topic.name)
      assert.equal(version >= 10 and a.topic_id or nil, topic.topic_id)
      if version >= 1 then assert.is_false(topic.is_internal) end
      assert.equal(version >= 8 and NOT_ASKED or nil, topic.topic_authorized_operations)
      assert.equal(2, #topic.partitions)
      for i, partition in ipairs(topic.partitions) do
        assert.equal(0, partition.error_code)
        assert.equal(i - 1, partition.partition_index)
        assert.equal(node, partition.leader_id)
        assert.equal(version >= 7 and 0 or nil, partition.leader_epoch)
        assert.same({ node }, partition.replica_nodes)
        assert.same({ node }, partition.isr_nodes)
        if version >= 5 then assert.same({}, partition.offline_replicas) end
      end
    end)

    it(("answers topics in the order of the question, each once, in version %d"):format(version), function()
      local answer = ask(client, version, { "b", "a", "b", "a" })
      assert.equal(2, #answer.topics)
      assert.equal("b", answer.topics[1].name)
      assert.equal("a", answer.topics[2].name)
    end)

    it(("answers 3 for a missing topic in version %d"):format(version), function()
      local topic = ask(client, version, { "missing" }).topics[1]
      assert.equal(3, topic.error_code)
      assert.equal("missing", topic.name)
      assert.same({}, topic.partitions)
      if version >= 10 then assert.equal(wire.NO_UUID, topic.topic_id) end
    end)

    it(("answers 17 for names that no topic can have in version %d"):format(version), function()
      local bad = { "bad name", "", ".", "..", ("x"):rep(250), "a/b", "caf\195\169", "a\0b" }
      local answer = ask(client, version, bad)
      assert.equal(#bad, #answer.topics)
      for i, topic in ipairs(answer.topics) do
        assert.equal(17, topic.error_code)
        assert.equal(bad[i], topic.name)
        assert.same({}, topic.partitions)
      end
    end)

    it(("answers 3 for the broker's own topics, which do not exist yet, in version %d"):format(version), function()
      for _, name in ipairs { "__consumer_offsets", "__transaction_state" } do
        local topic = ask(client, version, { name }).topics[1]
        assert.equal(3, topic.error_code)
        if version >= 1 then assert.is_true(topic.is_internal) end
      end
    end)
  end

  describe("with authorized operations", function()
    local MORE = { include_topic_authorized_operations = true }

    it("gives a topic's from version 8 on when asked", function()
      for version = 8, NEWEST do
        assert.equal(3576, ask(client, version, { "a" }, MORE).topics[1].topic_authorized_operations)
      end
    end)

    it("gives the cluster's in versions 8 to 10 when asked", function()
      for version = 8, 10 do
        assert.equal(8096, ask(client, version, {}, { include_cluster_authorized_operations = true })
          .cluster_authorized_operations)
        assert.equal(NOT_ASKED, ask(client, version, {}).cluster_authorized_operations)
      end
    end)
  end)

  describe("by topic id", function()
    local function by_id(version, id, name)
      return client:ask("Metadata", version, { topics = { { topic_id = id, name = name or wire.NULL } },
        allow_auto_topic_creation = false })
    end

    it("finds a topic from version 12 on, whatever name comes with the id", function()
      for version = 12, NEWEST do
        assert.equal("a", by_id(version, a.topic_id).topics[1].name)
        assert.equal("b", by_id(version, b.topic_id, "a").topics[1].name)
      end
    end)

    it("answers 100 and a null name for an unknown id", function()
      local unknown = ("x"):rep(16)
      for version = 12, NEWEST do
        local answer = by_id(version, unknown)
        assert.equal(1, #answer.brokers)
        assert.equal(100, answer.topics[1].error_code)
        assert.is_nil(answer.topics[1].name)
        assert.equal(unknown, answer.topics[1].topic_id)
      end
    end)

    it("fails all of the question with 42 in versions 10 and 11", function()
      for version = 10, 11 do
        for _, answer in ipairs { by_id(version, a.topic_id), by_id(version, a.topic_id, "a"), by_id(version, wire.NO_UUID) } do
          assert.same({}, answer.brokers)
          assert.is_nil(answer.cluster_id)
          assert.equal(-1, answer.controller_id)
          assert.equal(42, answer.topics[1].error_code)
        end
        assert.equal("", by_id(version, a.topic_id).topics[1].name)
      end
    end)

    it("fails all of the question with -1 for neither name nor id from version 12 on", function()
      for version = 12, NEWEST do
        local answer = client:ask("Metadata", version, { topics = { { name = "a" }, { name = wire.NULL } } })
        assert.same({}, answer.brokers)
        assert.is_nil(answer.cluster_id)
        assert.equal(-1, answer.controller_id)
        assert.equal(-1, answer.topics[1].error_code)
        assert.equal(-1, answer.topics[2].error_code)
        assert.equal("", answer.topics[2].name)
        if version >= 13 then assert.equal(-1, answer.error_code) end
      end
    end)
  end)

  it("creates nothing when auto.create.topics.enable is false, whatever the request says", function()
    for version = 0, NEWEST do
      local more = version >= 4 and { allow_auto_topic_creation = true } or nil
      assert.equal(3, ask(client, version, { "unwanted" }, more).topics[1].error_code)
    end
    assert.same({ "a", "b" }, names_of(all(client, NEWEST)))
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local body = { topics = { { name = "a" }, { name = "bc", topic_id = ("x"):rep(16) } } }
    assert.is_nil(malformed.first_accepted_prefix(broker, "Metadata", 13, body))
    assert.is_nil(malformed.first_accepted_prefix(broker, "Metadata", 1, { topics = { { name = "abc" } } }))
    assert.same({ "a", "b" }, names_of(all(client, NEWEST)))
  end)

  it("closes the connection on a null name before version 10, and on counts that cannot be", function()
    assert.equal("", malformed.send(broker, unit.bytes "0003 0001 00000001 0001 78 00000001 ffff"))
    assert.equal("", malformed.send(broker, unit.bytes "0003 0001 00000001 0001 78 7fffffff 0001 61"))
    assert.equal("", malformed.send(broker, unit.bytes "0003 0000 00000001 0001 78 fffffffe 0001 61"))
    assert.equal("", malformed.send(broker, unit.bytes "0003 000c 00000001 0001 78 00 ffffffff0f 00"))
  end)

  it("answers 10000 names in one question, each once", function()
    local names = {}
    for i = 1, 10000 do names[i] = "topic" .. (i - 1) % 5000 end
    local answer = ask(client, NEWEST, names)
    assert.equal(5000, #answer.topics)
    assert.equal("topic4999", answer.topics[5000].name)
  end)
end)

describe("auto-creation", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "num_partitions=4" } }
    client = broker:connect()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  local function exists(name)
    return ask(client, NEWEST, { name }).topics[1].error_code == 0
  end

  --- Asks again until it is there; returns its partitions.
  local function wait_for_topic(name)
    clients.wait_until(name .. " is there", function() return exists(name) end)
    return ask(client, NEWEST, { name }).topics[1].partitions
  end

  it("is not done when the request forbids it", function()
    client:send_frame(unit.bytes "0003 0004 00000004 0001 78 00000001 0004 6e6f7065 00")
    assert.equal(3, client:answer("Metadata", 4).topics[1].error_code)
    create(client, "later") -- the controller works in order: it has seen what came before
    assert.is_false(exists "nope")
  end)

  it("answers 3 at once, and the topic is there soon, with the broker's defaults", function()
    local answer = ask(client, 4, { "wanted" }, { allow_auto_topic_creation = true })
    assert.equal(3, answer.topics[1].error_code)
    assert.equal(4, #wait_for_topic "wanted")
  end)

  for version = 0, 3 do
    it(("is done in version %d, which has no flag"):format(version), function()
      local name = "wanted" .. version
      assert.equal(3, ask(client, version, { name }).topics[1].error_code)
      assert.equal(4, #wait_for_topic(name))
    end)
  end

  it("creates a topic once that many clients ask for at the same time", function()
    local others = {}
    for i = 1, 20 do
      others[i] = broker:connect()
      others[i]:request("Metadata", 9, { topics = { { name = "popular" }, { name = "popular" } } })
    end
    for i = 1, 20 do assert.equal("popular", others[i]:answer("Metadata", 9).topics[1].name) end
    wait_for_topic "popular"
    local id = ask(client, NEWEST, { "popular" }).topics[1].topic_id
    create(client, "after-popular")
    assert.equal(id, ask(client, NEWEST, { "popular" }).topics[1].topic_id)
    for i = 1, 20 do others[i]:close() end
  end)

  it("is done for a client that has gone", function()
    local gone = broker:connect()
    gone:request("Metadata", 9, { topics = { { name = "orphan" } } })
    gone:close()
    wait_for_topic "orphan"
  end)

  it("gives the broker's own topics 50 partitions", function()
    for _, name in ipairs { "__consumer_offsets", "__transaction_state" } do
      assert.equal(3, ask(client, NEWEST, { name }, { allow_auto_topic_creation = true }).topics[1].error_code)
      assert.equal(50, #wait_for_topic(name))
      assert.is_true(ask(client, NEWEST, { name }).topics[1].is_internal)
    end
  end)

  it("is not done for names that no topic can have, nor for the cluster's log", function()
    local allow = { allow_auto_topic_creation = true }
    local before = names_of(all(client, NEWEST))
    for _, name in ipairs { "a b", ".", "..", "", ("x"):rep(250), "a/b", "\195\169" } do
      assert.equal(17, ask(client, NEWEST, { name }, allow).topics[1].error_code)
    end
    assert.equal(3, ask(client, NEWEST, { "__cluster_metadata" }, allow).topics[1].error_code)
    local made = create(client, "after-bad-names")[1].name
    before[#before + 1] = made
    table.sort(before)
    assert.same(before, names_of(all(client, NEWEST)))
  end)

  it("takes a name of 249 characters", function()
    local name = ("n"):rep(249)
    ask(client, NEWEST, { name }, { allow_auto_topic_creation = true })
    wait_for_topic(name)
  end)

  it("is not done by asking for all topics, nor by ids", function()
    local before = names_of(all(client, NEWEST))
    client:ask("Metadata", NEWEST, { topics = { { topic_id = ("q"):rep(16), name = wire.NULL } },
      allow_auto_topic_creation = true })
    for version = 0, NEWEST do all(client, version) end
    assert.same(before, names_of(all(client, NEWEST)))
  end)

  it("does not bring back a deleted topic when the request forbids it", function()
    create(client, "deleted")
    assert.equal(0, client:ask("DeleteTopics", 6, { topics = { { name = "deleted" } }, timeout_ms = 10000 })
      .responses[1].error_code)
    assert.is_false(exists "deleted")
    assert.is_false(exists "deleted")
  end)
end)

describe("advertised addresses", function()
  it("are those of the listener that the client came through", function()
    local broker = brokers.start { listen = { "127.0.0.1:0", "127.0.0.2:0" } }
    assert.equal(2, #broker.ports)
    for i = 1, 2 do
      local client = broker:connect(i)
      local address = ask(client, NEWEST, {}).brokers[1]
      assert.same({ ("127.0.0.%d"):format(i), broker.ports[i] }, { address.host, address.port })
      client:close()
    end
    assert.equal(0, broker:stop())
  end)

  it("are never 0.0.0.0 when listening on all interfaces", function()
    local broker = brokers.start { listen = { "0.0.0.0:0" } }
    local client = broker:connect()
    local host = ask(client, NEWEST, {}).brokers[1].host
    assert.not_equal("0.0.0.0", host)
    assert.not_equal("", host)
    assert.equal(broker.port, ask(client, NEWEST, {}).brokers[1].port)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("are what the configuration says", function()
    local broker = brokers.start { set = { "advertise=broker.example:19092" } }
    local client = broker:connect()
    local answer = ask(client, NEWEST, {})
    assert.equal("broker.example", answer.brokers[1].host)
    assert.equal(19092, answer.brokers[1].port)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
