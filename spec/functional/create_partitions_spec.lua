-- SPDX-License-Identifier: Apache-2.0
-- CreatePartitions, in all versions, up to the folders on disk; who reads and writes the topic meanwhile notices nothing.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"
local dirent = require "posix.dirent"

local NEWEST = 3

--- Asks for partitions: grow(client, { { "a", 3 }, { "b", 2, { { 1 } } } }, { validate_only = true }); the results.
local function grow(client, topics, options)
  options = options or {}
  local body = { topics = {}, timeout_ms = options.timeout_ms or 10000, validate_only = options.validate_only or false }
  for i, topic in ipairs(topics) do
    local assignments = topic[3] and {} or wire.NULL
    for n, ids in ipairs(topic[3] or {}) do assignments[n] = { broker_ids = ids } end
    body.topics[i] = { name = topic[1], count = topic[2], assignments = assignments }
  end
  return client:ask("CreatePartitions", options.version or NEWEST, body).results
end

--- Results as { name, error, message }.
local function told(results)
  local list = {}
  for i, result in ipairs(results) do list[i] = { result.name, result.error_code, result.error_message } end
  return list
end

local function partitions_of(client, name) return #requests.find(client, name).partitions end

--- Folders of the data directory that begin with a name.
local function folders_of(broker, name)
  local found = {}
  for _, folder in ipairs(dirent.dir(broker.data)) do
    if folder:sub(1, #name) == name then found[#found + 1] = folder end
  end
  table.sort(found)
  return found
end

describe("CreatePartitions", function()
  local broker, client, node

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    node = client:ask("Metadata", 13, { topics = {} }).brokers[1].node_id
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for version = 0, NEWEST do
    it(("adds partitions that lead and take records when it answers, in version %d"):format(version), function()
      local name = "grown" .. version
      local topic = requests.create(client, name)
      assert.equal(0, requests.append(client, topic, records.batch()))
      assert.same({ { name, 0 } }, told(grow(client, { { name, 3 } }, { version = version })))
      local found = requests.find(client, name)
      assert.equal(topic.id, found.id)
      for i, part in ipairs(found.partitions) do
        assert.same({ 0, i - 1, node, 0, { node }, { node }, {} }, { part.error_code, part.partition_index, part.leader_id,
          part.leader_epoch, part.replica_nodes, part.isr_nodes, part.offline_replicas })
      end
      assert.same({ name .. "-0", name .. "-1", name .. "-2" }, folders_of(broker, name))
      for partition = 0, 2 do
        assert.equal(partition == 0 and 1 or 0, requests.append(client, topic, records.batch(), { partition = partition }))
      end
    end)

    it(("only checks when asked to, in version %d"):format(version), function()
      local name = "checked" .. version
      requests.create(client, name, { partitions = 2 })
      assert.same({ { name, 0 } }, told(grow(client, { { name, 4, { { node }, { node } } } }, { version = version, validate_only = true })))
      assert.equal(2, partitions_of(client, name))
      assert.same({ name .. "-0", name .. "-1" }, folders_of(broker, name))
    end)
  end

  it("takes a manual assignment", function()
    requests.create(client, "manual")
    assert.same({ { "manual", 0 } }, told(grow(client, { { "manual", 3, { { node }, { node } } } })))
    assert.equal(3, partitions_of(client, "manual"))
  end)

  it("answers what cannot be with Kafka's errors and sentences, adds nothing, and stays open", function()
    requests.create(client, "three", { partitions = 3 })
    for _, case in ipairs {
      { "three", 3, nil, 37, "Topic already has 3 partition(s)." },
      { "three", 2, nil, 37, "The topic three currently has 3 partition(s); 2 would not be an increase." },
      { "three", -1, nil, 37, "The topic three currently has 3 partition(s); -1 would not be an increase." },
      { "three", 5, { { node } }, 39, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified." },
      { "three", 4, {}, 39, "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified." },
      { "three", 4, { { node + 1000 } }, 39,
        ("The manual partition assignment includes broker %d, but no such broker is registered."):format(node + 1000) },
      { "three", 4, { { node, node } }, 39, ("The manual partition assignment includes the broker %d more than once."):format(node) },
      { "three", 4, { {} }, 39, "The manual partition assignment includes an empty replica list." },
      { "three", 10004, nil, 44, "Excessively large number of additional partitions per request." },
      { "three", 2147483647, nil, 44, "Excessively large number of additional partitions per request." },
      { "no-such", 2, nil, 3 },
      { "b b", 2, nil, 3 },
      { "", 2, nil, 3 },
      { "__cluster_metadata", 2, nil, 3 },
      { ("x"):rep(300), 2, nil, 3 },
    } do
      for _, validate_only in ipairs { true, false } do
        local results = grow(client, { { case[1], case[2], case[3] } }, { validate_only = validate_only })
        assert.same({ { case[1], case[4], case[5] } }, told(results))
      end
    end
    assert.equal(3, partitions_of(client, "three"))
  end)

  it("adds to the good topics of a request with bad ones, and answers in its order", function()
    for _, name in ipairs { "order-a", "order-b", "order-c" } do requests.create(client, name) end
    assert.same({ { "order-c", 0 }, { "order-b", 42, "Duplicate topic name." }, { "order-none", 3 }, { "order-a", 0 } },
      told(grow(client, { { "order-c", 2 }, { "order-b", 3 }, { "order-none", 3 }, { "order-b", 3 }, { "order-a", 4 } })))
    assert.same({ 4, 1, 2 }, { partitions_of(client, "order-a"), partitions_of(client, "order-b"), partitions_of(client, "order-c") })
  end)

  it("answers nothing for no topics", function() assert.same({}, grow(client, {})) end)

  it("adds the partitions also for clients that do not want to wait", function()
    requests.create(client, "hurried")
    assert.equal(0, grow(client, { { "hurried", 2 } }, { timeout_ms = 0 })[1].error_code)
    assert.equal(3, grow(client, { { "hurried-none", 2 } }, { timeout_ms = -1 })[1].error_code)
    assert.equal(2, partitions_of(client, "hurried"))
  end)

  it("adds to the broker's own topics", function()
    requests.wait_until("the topic is there", function()
      local answer = client:ask("Metadata", 9, { topics = { { name = "__consumer_offsets" } }, allow_auto_topic_creation = true })
      return answer.topics[1].error_code == 0
    end)
    assert.same({ { "__consumer_offsets", 0 } }, told(grow(client, { { "__consumer_offsets", 51 } })))
    assert.equal(51, partitions_of(client, "__consumer_offsets"))
  end)

  it("lets one of many clients add the same partitions", function()
    requests.create(client, "contended")
    local all, asked = {}, {}
    for i = 1, 8 do
      all[i] = broker:connect()
      asked[i] = all[i]:request("CreatePartitions", NEWEST, { topics = { { name = "contended", count = 3, assignments = wire.NULL } },
        timeout_ms = 10000 })
    end
    local counts = {}
    for i, one in ipairs(all) do
      local code = one:answer("CreatePartitions", NEWEST, asked[i]).results[1].error_code
      counts[code] = (counts[code] or 0) + 1
      one:close()
    end
    assert.same({ [0] = 1, [37] = 7 }, counts)
    assert.equal(3, partitions_of(client, "contended"))
  end)

  it("adds the partitions of a client that has gone", function()
    requests.create(client, "orphan")
    local gone = broker:connect()
    gone:request("CreatePartitions", NEWEST, { topics = { { name = "orphan", count = 2, assignments = wire.NULL } }, timeout_ms = 10000 })
    gone:close()
    requests.wait_until("the partitions are there", function() return partitions_of(client, "orphan") == 2 end)
  end)

  it("answers 10000 topics, each once", function()
    local topics = {}
    for i = 1, 10000 do topics[i] = { "none-" .. i % 5000, 5 } end
    local results = grow(client, topics)
    assert.equal(5000, #results)
    for _, result in ipairs(results) do assert.equal(42, result.error_code) end
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local topic = { name = "none", count = 2, assignments = { { broker_ids = { 1 } } } }
    local body = { topics = { topic }, timeout_ms = 1, validate_only = true }
    for version = 0, NEWEST do assert.is_nil(malformed.first_accepted_prefix(broker, "CreatePartitions", version, body)) end
  end)

  it("closes the connection on null topics and on counts that cannot be", function()
    for _, count in ipairs { "ffffffff", "7fffffff", "80000000" } do
      assert.equal("", malformed.send(broker, unit.bytes("0025 0000 00000007 0001 78" .. count .. "00000000 00")))
    end
  end)
end)

describe("A topic that gets more partitions", function()
  local broker, client

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("goes on for idempotent producers, waiting consumers and fetch sessions, which meet the new partitions", function()
    local topic = requests.create(client, "busy", { partitions = 2 })
    local producer = client:ask("InitProducerId", 4, { transactional_id = wire.NULL, transaction_timeout_ms = 60000 })
    local function send(partition, sequence)
      local batch = records.batch { records = { ("p%d-%d"):format(partition, sequence) }, producer_id = producer.producer_id,
        producer_epoch = 0, sequence = sequence }
      return requests.append(client, topic, batch, { partition = partition })
    end
    assert.equal(0, send(0, 0))

    -- One consumer with a session, one that waits.
    local reader, waiter, admin = broker:connect(), broker:connect(), broker:connect()
    local answer = requests.fetch_all(reader, { { topic, { {}, { partition = 1 } } } }, { session_id = 0, session_epoch = 0 })
    local session = answer.session_id
    assert.is_true(session > 0)
    local asked = waiter:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH,
      { { topic, { { partition = 1 } } } }, { max_wait_ms = 20000, min_bytes = 1 }))

    for i = 1, 4 do
      local grown = grow(admin, { { "busy", 2 + 2 * i } })
      assert.equal(0, grown[1].error_code)
      assert.equal(i, send(0, i))
      local added = i == 2 and { { topic, { { partition = 4 } } } } or {}
      answer = requests.fetch_all(reader, added, { session_id = session, session_epoch = i })
      assert.equal(0, answer.error_code)
      if i == 2 then
        local new = answer.responses[1].partitions[2]
        assert.same({ 0, 4 }, { new.error_code, new.partition_index })
      end
    end
    assert.same({ nil, "timeout" }, { waiter:receive_frame(0) })
    assert.equal(0, send(1, 0))
    assert.same({ "p1-0" }, records.values(waiter:answer("Fetch", requests.FETCH, asked).responses[1].partitions[1].records))

    -- A new partition has sequences of its own; the old one still knows what it has.
    assert.same({ 0, 0 }, { send(9, 0), send(9, 0) })
    assert.equal(1, requests.end_offset(client, topic, 9))
    assert.equal(2, send(0, 2))
    assert.same({ "p0-0", "p0-1", "p0-2", "p0-3", "p0-4" }, records.values(requests.fetch_to_end(client, topic, 0)))
    for _, one in ipairs { reader, waiter, admin } do one:close() end
  end)

  it("keeps them and their records over a clean restart and a crash, and can be deleted with them", function()
    local topic = requests.create(client, "lasting")
    grow(client, { { "lasting", 3 } })
    for partition = 0, 2 do requests.append(client, topic, records.batch { records = { "p" .. partition } }, { partition = partition }) end
    for _, stop in ipairs { "stop", "kill" } do
      client:close()
      broker[stop](broker)
      broker = broker:restart()
      client = broker:connect()
      assert.equal(topic.id, requests.find(client, "lasting").id)
      assert.equal(3, partitions_of(client, "lasting"))
      for partition = 0, 2 do
        assert.same({ "p" .. partition }, records.values(requests.fetch_to_end(client, topic, 0, partition)))
      end
    end
    assert.equal(0, grow(client, { { "lasting", 4 } })[1].error_code)
    requests.delete(client, topic)
    assert.is_nil(requests.find(client, "lasting"))
    requests.create(client, "lasting")
    assert.equal(1, partitions_of(client, "lasting"))
  end)

  it("keeps its configs", function()
    requests.create(client, "set", { configs = { ["max.message.bytes"] = "12345" } })
    grow(client, { { "set", 2 } })
    local answer = client:ask("DescribeConfigs", 4, { resources = { { resource_type = 2, resource_name = "set",
      configuration_keys = { "max.message.bytes", "retention.ms" } } } })
    local got = {}
    for _, config in ipairs(answer.results[1].configs) do got[config.name] = config.value end
    assert.same({ ["max.message.bytes"] = "12345", ["retention.ms"] = "-1" }, got)
  end)
end)
