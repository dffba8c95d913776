-- SPDX-License-Identifier: Apache-2.0
-- OffsetForLeaderEpoch, in all versions: where leader epochs end, over restarts clean and not.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local NEWEST = 4

--- Asks for epochs: ask(client, { { "a", { { partition, epoch, current epoch } } } }); the topics of the answer.
local function ask(client, topics, options)
  options = options or {}
  local body = { replica_id = options.replica_id or -1, topics = {} }
  for i, topic in ipairs(topics) do
    local partitions = {}
    for n, part in ipairs(topic[2]) do
      partitions[n] = { partition = part[1], leader_epoch = part[2], current_leader_epoch = part[3] or -1 }
    end
    body.topics[i] = { topic = topic[1], partitions = partitions }
  end
  return client:ask("OffsetForLeaderEpoch", options.version or NEWEST, body).topics
end

--- What one partition is answered: { error, epoch, end offset }.
local function one(client, name, partition, epoch, current, options)
  local part = ask(client, { { name, { { partition, epoch, current } } } }, options)[1].partitions[1]
  assert.equal(partition, part.partition)
  return { part.error_code, part.leader_epoch, part.end_offset }
end

describe("OffsetForLeaderEpoch", function()
  local broker, client

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    local topic = requests.create(client, "a", { partitions = 2 })
    requests.append(client, topic, records.batch { records = { "x", "y" } })
    requests.create(client, "b")
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  for version = 0, NEWEST do
    local epoch = version >= 1 and 0 or nil
    local none = version >= 1 and -1 or nil

    it(("tells the end of an epoch, and -1 for one that is not known, in version %d"):format(version), function()
      local options = { version = version }
      assert.same({ 0, epoch, 2 }, one(client, "a", 0, 0, nil, options))
      assert.same({ 0, epoch, 0 }, one(client, "a", 1, 0, nil, options))
      for _, unknown in ipairs { 1, 1000, 2147483647, -1 } do
        assert.same({ 0, none, -1 }, one(client, "a", 0, unknown, nil, options))
      end
    end)

    it(("answers 3 for what is not there in version %d"):format(version), function()
      for _, case in ipairs { { "no", 0 }, { "a", 2 }, { "a", -1 }, { "", 0 }, { "b b", 0 } } do
        assert.same({ 3, none, -1 }, one(client, case[1], case[2], 0, 7, { version = version }))
      end
    end)

    it(("closes the connection on a request that ends early in version %d"):format(version), function()
      local body = { replica_id = -1, topics = { { topic = "a", partitions = { { partition = 0, leader_epoch = 0 } } } } }
      assert.is_nil(malformed.first_accepted_prefix(broker, "OffsetForLeaderEpoch", version, body))
    end)
  end

  for version = 2, NEWEST do
    it(("answers 74 and 75 to a client that believes in an older or newer epoch, in version %d"):format(version), function()
      local options = { version = version }
      assert.same({ 0, 0, 2 }, one(client, "a", 0, 0, 0, options))
      assert.same({ 75, -1, -1 }, one(client, "a", 0, 0, 1, options))
      assert.same({ 74, -1, -1 }, one(client, "a", 0, 0, -2, options))
    end)
  end

  it("has a negative epoch end where the first one begins, as Kafka does", function()
    assert.same({ 0, -2, 0 }, one(client, "a", 0, -2))
    assert.same({ 0, -2147483648, 0 }, one(client, "a", 0, -2147483648))
  end)

  it("answers everybody alike, consumers, followers and others", function()
    for _, replica_id in ipairs { -1, -2, -3, 0, 1, 5 } do
      assert.same({ 0, 0, 2 }, one(client, "a", 0, 0, nil, { replica_id = replica_id }))
    end
  end)

  it("answers topics and partitions in the order of the question, also those named twice", function()
    local list = {}
    for _, topic in ipairs(ask(client, { { "b", { { 0, 0 } } }, { "a", { { 1, 0 }, { 0, 0 }, { 0, 5 }, { 9, 0 } } }, { "b", {} },
      { "b", { { 0, 1 } } } })) do
      for _, part in ipairs(topic.partitions) do
        list[#list + 1] = ("%s-%d:%d:%d:%d"):format(topic.topic, part.partition, part.error_code, part.leader_epoch, part.end_offset)
      end
      list[#list + 1] = "."
    end
    assert.same({ "b-0:0:0:0", ".", "a-1:0:0:0", "a-0:0:0:2", "a-0:0:-1:-1", "a-9:3:-1:-1", ".", ".", "b-0:0:-1:-1", "." }, list)
    assert.same({}, ask(client, {}))
  end)

  it("answers 100000 partitions, and closes the connection on one more", function()
    local parts = {}
    for i = 1, 100000 do parts[i] = { i % 3, 0 } end
    local answer = ask(client, { { "a", parts } })
    assert.equal(100000, #answer[1].partitions)
    assert.same({ 3, 0 }, { answer[1].partitions[2].error_code, answer[1].partitions[3].error_code })
    local head = unit.bytes "0017 0000 00000007 0001 78 00000001 0001 61 000186a1"
    assert.equal("", malformed.send(broker, head .. unit.bytes("00000000 00000000"):rep(100001)))
  end)
end)

describe("A leader epoch", function()
  local broker, client, topic

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    topic = requests.create(client, "a", { partitions = 2 })
    requests.append(client, topic, records.batch { records = { "x", "y" } })
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function again(stop)
    client:close()
    broker[stop](broker)
    broker = broker:restart()
    client = broker:connect()
  end

  it("is the same after a clean restart", function()
    again "stop"
    assert.same({ 0, 0, 2 }, one(client, "a", 0, 0, 0))
    requests.append(client, topic, records.batch())
    assert.same({ 0, 0, 3 }, one(client, "a", 0, 0))
  end)

  it("rises with every crash, and the one before ends where it began", function()
    again "kill"
    assert.same({ 0, 1, 2 }, one(client, "a", 0, 1, 1))
    assert.same({ 0, 0, 2 }, one(client, "a", 0, 0))
    assert.same({ 74, -1, -1 }, one(client, "a", 0, 0, 0))
    assert.same({ 75, -1, -1 }, one(client, "a", 0, 0, 2))
    requests.append(client, topic, records.batch { records = { "z" } })
    assert.same({ 0, 0, 2 }, one(client, "a", 0, 0))
    assert.same({ 0, 1, 3 }, one(client, "a", 0, 1))
    again "kill"
    assert.same({ 0, 1, 3 }, one(client, "a", 0, 1))
    assert.same({ 0, 2, 3 }, one(client, "a", 0, 2))
    -- Nothing was written under them: an epoch ends where the next began.
    assert.same({ 0, 2, 0 }, one(client, "a", 1, 2))
    again "stop"
    assert.same({ 0, 1, 3 }, one(client, "a", 0, 1, 2))
    assert.same({ 0, -1, -1 }, one(client, "a", 0, 3))
  end)
end)
