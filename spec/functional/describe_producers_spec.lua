-- SPDX-License-Identifier: Apache-2.0
-- DescribeProducers: who wrote to a partition with sequence numbers.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local function ask(client, topics)
  local body = { topics = {} }
  for i, topic in ipairs(topics) do body.topics[i] = { name = topic[1], partition_indexes = topic[2] } end
  return client:answer("DescribeProducers", 0, client:request("DescribeProducers", 0, body), 60000).topics
end

--- The producers of one partition, by id: { epoch, last sequence, last timestamp, coordinator epoch, transaction start }.
local function producers_of(client, name, partition)
  local answer = ask(client, { { name, { partition } } })[1].partitions[1]
  assert.same({ 0, partition }, { answer.error_code, answer.partition_index })
  assert.is_nil(answer.error_message)
  local by_id = {}
  for _, producer in ipairs(answer.active_producers) do
    by_id[producer.producer_id] = { producer.producer_epoch, producer.last_sequence, producer.last_timestamp, producer.coordinator_epoch,
      producer.current_txn_start_offset }
  end
  return by_id
end

describe("DescribeProducers", function()
  local broker, client, count = nil, nil, 0

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function create(partitions)
    count = count + 1
    return requests.create(client, "topic" .. count, { partitions = partitions })
  end

  local function send(topic, id, sequence, options)
    options = options or {}
    local list = {}
    for i = 1, options.count or 1 do list[i] = "x" end
    return requests.produce(client, topic, records.batch { records = list, producer_id = id, producer_epoch = options.epoch or 0,
      sequence = sequence, ts = options.ts or 1000 }, { partition = options.partition }).error_code
  end

  it("tells epoch, last sequence and last time of each producer of a partition", function()
    local topic = create(2)
    requests.append(client, topic, records.batch())
    assert.same({}, producers_of(client, topic.name, 0))
    send(topic, 7, 0, { count = 3, ts = 5000 })
    send(topic, 2, 0)
    send(topic, 9, 4, { epoch = 6, ts = 1234, partition = 1 })
    assert.same({ [7] = { 0, 2, 5000, -1, -1 }, [2] = { 0, 0, 1000, -1, -1 } }, producers_of(client, topic.name, 0))
    assert.same({ [9] = { 6, 4, 1234, -1, -1 } }, producers_of(client, topic.name, 1))
    -- Neither a duplicate nor a batch that is refused changes anything, a new epoch does.
    assert.same({ 0, 45 }, { send(topic, 7, 0, { count = 3, ts = 5000 }), send(topic, 7, 9, { ts = 6000 }) })
    assert.same({ 0, 2, 5000, -1, -1 }, producers_of(client, topic.name, 0)[7])
    assert.equal(0, send(topic, 7, 0, { epoch = 1, ts = 4000 }))
    assert.same({ 1, 0, 4000, -1, -1 }, producers_of(client, topic.name, 0)[7])
  end)

  it("tells the same after a clean restart and after a crash", function()
    local topic = create()
    send(topic, 7, 0, { count = 3, ts = 5000 })
    send(topic, 2, 5, { epoch = 3 })
    for _, stop in ipairs { "stop", "kill" } do
      client:close()
      broker[stop](broker)
      broker = broker:restart()
      client = broker:connect()
      assert.same({ [7] = { 0, 2, 5000, -1, -1 }, [2] = { 3, 5, 1000, -1, -1 } }, producers_of(client, topic.name, 0))
    end
  end)

  it("answers in the order of the question, also what is named twice, with Kafka's errors and sentences", function()
    local topic = create(2)
    send(topic, 7, 0)
    local HOSTED = "This server does not host this topic-partition."
    local list = {}
    for i, entry in ipairs(ask(client, { { "no", { 0 } }, { topic.name, { 1, 0, 2, 0, -1 } }, { "b b", { 0, 1 } }, { "", { 0 } },
      { ("x"):rep(250), { 0 } }, { topic.name, {} }, { ".", { 0 } } })) do
      for _, part in ipairs(entry.partitions) do
        list[#list + 1] = { i, part.partition_index, part.error_code, #part.active_producers, part.error_message }
      end
    end
    local INVALID = "Topic name is invalid: "
    local characters = INVALID .. "'b b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    assert.same({ { 1, 0, 3, 0, HOSTED }, { 2, 1, 0, 0 }, { 2, 0, 0, 1 }, { 2, 2, 3, 0 }, { 2, 0, 0, 1 }, { 2, -1, 3, 0 },
      { 3, 0, 17, 0, characters }, { 3, 1, 17, 0, characters }, { 4, 0, 17, 0, INVALID .. "the empty string is not allowed" },
      { 5, 0, 17, 0, INVALID .. "the length of '" .. ("x"):rep(250) .. "' is longer than the max allowed length 249" },
      { 7, 0, 17, 0, INVALID .. "'.' is not allowed" } }, list)
    assert.same({}, ask(client, {}))
  end)

  it("looks while others write, and sees every producer whole", function()
    local topic = create()
    local others, pending = {}, {}
    for i = 1, 4 do others[i] = broker:connect() end
    for round = 0, 49 do
      for i, other in ipairs(others) do
        pending[i] = requests.send_produce(other, topic, records.batch { records = { "x", "y" }, producer_id = i, producer_epoch = 0,
          sequence = 2 * round, ts = 1000 + 2 * round })
      end
      for id, known in pairs(producers_of(client, topic.name, 0)) do
        assert.is_true(id >= 1 and id <= 4)
        assert.equal(1, known[2] % 2)
        assert.equal(1000 + known[2] - 1, known[3])
      end
      for i, other in ipairs(others) do other:answer("Produce", requests.PRODUCE, pending[i]) end
    end
    local final = { 0, 99, 1098, -1, -1 }
    assert.same({ final, final, final, final }, producers_of(client, topic.name, 0))
    for _, other in ipairs(others) do other:close() end
  end)

  it("answers 100000 partitions, with at most 500000 producers: 44 for those that do not fit", function()
    local topic = create(2)
    for id = 0, 99 do assert.equal(0, send(topic, id, 0)) end
    local mentions = {}
    for i = 1, 100000 do mentions[i] = i % 10 == 0 and 0 or 1 end
    local fitted, refused = 0, 0
    for _, part in ipairs(ask(client, { { topic.name, mentions } })[1].partitions) do
      if part.error_code == 44 then
        refused = refused + 1
        assert.equal("The answer would have too many producers; ask for fewer partitions at a time.", part.error_message)
        assert.equal(0, #part.active_producers)
      else
        assert.equal(0, part.error_code)
        fitted = fitted + #part.active_producers
      end
    end
    assert.equal(500000, fitted)
    assert.equal(5000, refused)
    assert.is_true(requests.is_well(broker))
  end)

  it("closes the connection on a request that ends early, at every length, and on one that names too much", function()
    local body = { topics = { { name = "a", partition_indexes = { 0 } } } }
    assert.is_nil(malformed.first_accepted_prefix(broker, "DescribeProducers", 0, body))
    local head = unit.bytes "003d 0000 00000007 0001 78 00  02 02 61"
    -- 100001 partitions: the count plus one as a varint.
    assert.equal("", malformed.send(broker, head .. unit.bytes "a28d06" .. ("\0"):rep(400004) .. "\0\0"))
  end)
end)
