-- SPDX-License-Identifier: Apache-2.0
-- Offsets that clients outside of groups commit, fetch and delete; they last.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"

local kafka_dir = require "spec.support.kafka_dir"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local INVALID_TOPIC = 17
local UNKNOWN_TOPIC_OR_PARTITION, LOADING, GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_ID = 3, 14, 69, 100

--- Makes topics, and waits until groups are served.
local function prepare(client, topics)
  local list = {}
  for name, partitions in pairs(topics) do
    list[#list + 1] = { name = name, num_partitions = partitions, replication_factor = 1, assignments = {}, configs = {} }
  end
  client:ask("CreateTopics", 5, { topics = list, timeout_ms = 10000, validate_only = false })
  clients.wait_until("groups are served", function()
    return client:ask("FindCoordinator", 0, { key = "g" }).error_code == 0
  end)
end

--- Commits offsets of a topic, { partition = offset }; the error of each partition.
local function commit(client, group, topic, offsets, more, version)
  local partitions = {}
  for partition, offset in pairs(offsets) do
    partitions[#partitions + 1] = { partition_index = partition, committed_offset = offset, committed_leader_epoch = -1,
      committed_metadata = "note " .. partition }
  end
  local body = { group_id = group, generation_id_or_member_epoch = -1, member_id = "",
    topics = { { name = topic, topic_id = topic, partitions = partitions } } }
  for key, value in pairs(more or {}) do body[key] = value end
  local codes
  clients.wait_until("the group is loaded", function()
    codes = {}
    for _, partition in ipairs(client:ask("OffsetCommit", version or 8, body).topics[1].partitions) do
      codes[partition.partition_index] = partition.error_code
      if partition.error_code == LOADING then return false end
    end
    return true
  end)
  return codes
end

--- What a group has, "topic-partition offset metadata" sorted; of `topics`, or all.
local function fetch(client, group, topics, version)
  local answer
  clients.wait_until("the group is loaded", function()
    answer = client:ask("OffsetFetch", version or 9, { groups = { { group_id = group, member_epoch = -1,
      topics = topics or requests.NULL } },
      require_stable = false }).groups[1]
    return answer.error_code ~= LOADING
  end)
  assert.equal(0, answer.error_code)
  local seen = {}
  for _, topic in ipairs(answer.topics) do
    for _, partition in ipairs(topic.partitions) do
      seen[#seen + 1] = ("%s-%d %d %s"):format(topic.name or "?", partition.partition_index,
        tonumber(partition.committed_offset), partition.metadata)
    end
  end
  table.sort(seen)
  return seen
end

describe("offsets", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
    prepare(client, { a = 3, b = 1 })
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  for version = 2, 9 do
    it(("are committed and fetched in version %d"):format(version), function()
      local group = "g" .. version
      assert.same({ [0] = 0, [2] = 0 }, commit(client, group, "a", { [0] = 10, [2] = 12 }, nil, version))
      assert.same({ "a-0 10 note 0", "a-1 -1 ", "a-2 12 note 2" },
        fetch(client, group, { { name = "a", partition_indexes = { 0, 1, 2 } } }))
    end)
  end

  it("of partitions and topics that are not there are refused, and the others stored", function()
    assert.same({ [0] = 0, [3] = UNKNOWN_TOPIC_OR_PARTITION }, commit(client, "part", "a", { [0] = 1, [3] = 1 }))
    assert.same({ [0] = UNKNOWN_TOPIC_OR_PARTITION }, commit(client, "part", "nothing", { [0] = 1 }))
    assert.same({ "a-0 1 note 0" }, fetch(client, "part"))
  end)

  it("of many groups are fetched at once, in the order of the request", function()
    commit(client, "many-1", "a", { [0] = 1 })
    commit(client, "many-2", "b", { [0] = 2 })
    local answer = client:ask("OffsetFetch", 8, { groups = { { group_id = "many-2", topics = requests.NULL },
      { group_id = "none", topics = requests.NULL }, { group_id = "many-1", topics = requests.NULL } }, require_stable = true })
    local seen = {}
    for _, group in ipairs(answer.groups) do
      local topic = group.topics[1]
      seen[#seen + 1] = ("%s %s"):format(group.group_id, topic and tostring(tonumber(topic.partitions[1].committed_offset)))
    end
    assert.same({ "many-2 2", "none nil", "many-1 1" }, seen)
  end)

  it("are deleted one by one", function()
    commit(client, "del", "a", { [0] = 1, [1] = 2 })
    local answer = client:ask("OffsetDelete", 0, { group_id = "del", topics = { { name = "a", partitions = {
      { partition_index = 1 }, { partition_index = 9 } } }, { name = "nothing", partitions = { { partition_index = 0 } } } } })
    assert.equal(0, answer.error_code)
    local codes = {}
    for _, topic in ipairs(answer.topics) do
      for _, partition in ipairs(topic.partitions) do
        codes[#codes + 1] = ("%s-%d %d"):format(topic.name, partition.partition_index, partition.error_code)
      end
    end
    table.sort(codes)
    assert.same({ "a-1 0", "a-9 3", "nothing-0 3" }, codes)
    assert.same({ "a-0 1 note 0" }, fetch(client, "del"))
  end)

  it("of a group that is not there cannot be deleted", function()
    assert.equal(GROUP_ID_NOT_FOUND, client:ask("OffsetDelete", 0, { group_id = "nobody", topics = {} }).error_code)
  end)

  it("are named by topic id from version 10 on", function()
    local id = client:ask("Metadata", 10, { topics = { { name = "b" } } }).topics[1].topic_id
    local unknown = ("\1"):rep(16)
    local answer = client:ask("OffsetCommit", 10, { group_id = "ids", generation_id_or_member_epoch = -1, member_id = "",
      topics = { { topic_id = unknown, partitions = { { partition_index = 0, committed_offset = 1 } } },
        { topic_id = id, partitions = { { partition_index = 0, committed_offset = 7 } } } } })
    assert.equal(UNKNOWN_TOPIC_ID, answer.topics[1].partitions[1].error_code)
    assert.equal(0, answer.topics[2].partitions[1].error_code)
    local group = client:ask("OffsetFetch", 10, { groups = { { group_id = "ids", member_epoch = -1, topics = {
      { topic_id = id, partition_indexes = { 0 } }, { topic_id = unknown, partition_indexes = { 0 } } } } },
      require_stable = false }).groups[1]
    local by_id = {}
    for _, topic in ipairs(group.topics) do by_id[topic.topic_id] = topic.partitions[1] end
    assert.equal(7, tonumber(by_id[id].committed_offset))
    assert.equal(UNKNOWN_TOPIC_ID, by_id[unknown].error_code)
    local all = client:ask("OffsetFetch", 10, { groups = { { group_id = "ids", member_epoch = -1, topics = requests.NULL } },
      require_stable = false }).groups[1].topics
    assert.equal(1, #all)
    assert.equal(id, all[1].topic_id)
  end)

  it("last over a restart and over a kill", function()
    local first = brokers.start()
    local one = first:connect()
    prepare(one, { t = 2 })
    for group = 1, 60 do commit(one, "g" .. group, "t", { [0] = group, [1] = 100 + group }) end
    one:close()
    assert.equal(0, first:stop())
    local second = brokers.start { data = first.data }
    local two = second:connect()
    for group = 1, 60 do
      assert.same({ ("t-0 %d note 0"):format(group), ("t-1 %d note 1"):format(100 + group) }, fetch(two, "g" .. group))
    end
    commit(two, "g1", "t", { [0] = 1000 })
    two:close()
    second:kill()
    local third = brokers.start { data = first.data }
    local three = third:connect()
    assert.same({ "t-0 1000 note 0", "t-1 101 note 1" }, fetch(three, "g1"))
    three:close()
    assert.equal(0, third:stop())
  end)

  it("of a topic that is deleted go, and stay gone", function()
    local first = brokers.start { set = { "offsets_topic_num_partitions=3" } }
    local one = first:connect()
    prepare(one, { t = 1, u = 1 })
    commit(one, "g", "t", { [0] = 1 })
    commit(one, "g", "u", { [0] = 2 })
    one:ask("DeleteTopics", 4, { topic_names = { "t" }, timeout_ms = 10000 })
    clients.wait_until("they are gone", function() return #fetch(one, "g") == 1 end)
    one:close()
    assert.equal(0, first:stop())
    local second = brokers.start { data = first.data }
    local two = second:connect()
    assert.same({ "u-0 2 note 0" }, fetch(two, "g"))
    two:close()
    assert.equal(0, second:stop())
  end)

  it("cannot be written to their topic by clients", function()
    local answer = requests.produce(client, requests.find(client, "__consumer_offsets"), records.batch {}, { version = 9 })
    assert.equal(INVALID_TOPIC, answer.error_code)
  end)

  it("that Apache Kafka wrote are taken up with its directory", function()
    local golden = kafka_dir.start(kafka_dir.copy())
    local one = golden:connect()
    assert.same({ "golden-plain-0 1234 " }, fetch(one, "golden-group"))
    assert.same({ [0] = 0 }, commit(one, "golden-group", "golden-plain", { [0] = 2000 }))
    one:close()
    assert.equal(0, golden:stop())
    local again = kafka_dir.start(golden.data)
    local two = again:connect()
    assert.same({ "golden-plain-0 2000 note 0" }, fetch(two, "golden-group"))
    two:close()
    assert.equal(0, again:stop())
  end)
end)
