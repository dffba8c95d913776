-- SPDX-License-Identifier: Apache-2.0
-- Produced batches on their way through policies, which are C functions here: spec/support/c/policy_probe.h says what each
-- topic has. What the client is told, and what is in the logs afterwards.
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"

local NONE, MESSAGE_TOO_LARGE, POLICY_VIOLATION, TXN_STATE, INVALID_RECORD = 0, 10, 44, 48, 87
local PROGRAM = { unistd.readlink "/proc/self/exe", "--run", "spec/support/policy_broker.lua" }

--- The partition that murmur2 gives to each of these keys in a topic of three, as the Java client does.
local HOMES = { a = 1, b = 2, c = 1, d = 2 }

local function keyed(...)
  local list = {}
  for i, key in ipairs { ... } do list[i] = { key = key, value = key .. i } end
  return list
end

describe("policies on what is produced:", function()
  local broker, client
  setup(function()
    broker = brokers.start { program = PROGRAM, set = { "workers=2" } }
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local topics = {}
  after_each(function()
    for i = #topics, 1, -1 do requests.delete(client, table.remove(topics, i)) end
  end)
  local function create(name, options)
    topics[#topics + 1] = requests.create(client, name, options)
    return topics[#topics]
  end
  local function stored(topic, partition) return requests.fetch_to_end(client, topic, 0, partition or 0) end
  local function values(topic, partition) return records.values(stored(topic, partition)) end
  local function produce(topic, list, options)
    local answer = requests.produce(client, topic, records.batch(list.records and list or { records = list }), options)
    return { answer.error_code, answer.base_offset }, answer
  end

  describe("a partitioner", function()
    it("divides a batch among partitions, and the order of each key's records stays", function()
      local topic = create("p.hash", { partitions = 3 })
      assert.same({ NONE, -1 }, produce(topic, keyed("a", "b", "a", "d", "b", "a"), { partition = 1 }))
      assert.same({ {}, { "a1", "a3", "a6" }, { "b2", "d4", "b5" } }, { values(topic, 0), values(topic, 1), values(topic, 2) })
    end)

    it("is answered with the offset where all went to the addressed partition", function()
      local topic = create("p.hash", { partitions = 3 })
      produce(topic, keyed "a", { partition = 1 })
      assert.same({ NONE, 1 }, produce(topic, keyed("a", "c"), { partition = HOMES.a }))
    end)

    it("is answered with no offset where all went to another one", function()
      local topic = create("p.hash", { partitions = 3 })
      assert.same({ NONE, -1 }, produce(topic, keyed("a", "a"), { partition = 0 }))
    end)

    for codec, name in ipairs(records.CODECS) do
      it("divides a batch in " .. name .. ", and its shares are packed as it was", function()
        local topic = create("p.hash", { partitions = 3 })
        assert.same({ NONE, -1 }, produce(topic, { records = keyed("a", "b", "a"), codec = codec }))
        assert.equal(codec, records.parse(stored(topic, 1))[1].codec)
        assert.same({ "a1", "a3" }, values(topic, 1))
      end)
    end

    it("packs shares as the topic says", function()
      local topic = create("p.hash", { partitions = 3, configs = { ["compression.type"] = "zstd" } })
      produce(topic, keyed("a", "b"))
      assert.equal(records.ZSTD, records.parse(stored(topic, 1))[1].codec)
    end)

    for version = 0, 2 do
      it("divides what Produce " .. version .. " sends", function()
        local topic = create("p.hash", { partitions = 3 })
        local set = messages.set(version == 2 and 1 or 0, { { key = "a", value = "1" }, { key = "b", value = "2" } })
        local answer = requests.produce(client, topic, set, { version = version })
        assert.equal(NONE, answer.error_code)
        assert.same({ { "1" }, { "2" } }, { values(topic, 1), values(topic, 2) })
      end)
    end

    it("finds a retry of an idempotent producer by its shares", function()
      local topic = create("p.hash", { partitions = 3 })
      local batch = { records = keyed("a", "b"), producer_id = 7, producer_epoch = 0, sequence = 0 }
      assert.same({ NONE, -1 }, produce(topic, batch))
      assert.same({ NONE, -1 }, produce(topic, batch))
      assert.same({ { "a1" }, { "b2" } }, { values(topic, 1), values(topic, 2) })
    end)

    it("that would choose otherwise is not asked again for a retry", function()
      local topic = create("p.impure", { partitions = 3 })
      produce(topic, keyed "x", { partition = 0 }) -- the choices of what follows begin elsewhere
      local batch = { records = keyed("a", "b", "c", "d"), producer_id = 7, producer_epoch = 0, sequence = 0 }
      produce(topic, batch)
      local before = { values(topic, 0), values(topic, 1), values(topic, 2) }
      assert.same({ NONE, -1 }, produce(topic, batch))
      assert.same(before, { values(topic, 0), values(topic, 1), values(topic, 2) })
    end)

    it("that chooses no partition is an error that is not retried", function()
      local topic = create("p.nonsense", { partitions = 3 })
      local got, answer = produce(topic, keyed "a")
      assert.same({ POLICY_VIOLATION, -1 }, got)
      assert.equal("partitioner of topic p.nonsense: -1 is no partition", answer.error_message)
    end)

    it("that fails is named by file and line", function()
      local topic = create "p.raise"
      local got, answer = produce(topic, keyed "a")
      assert.same({ POLICY_VIOLATION, -1 }, got)
      assert.equal("partitioner of topic p.raise: probe.c:4: failed on purpose", answer.error_message)
      assert.equal(0, requests.end_offset(client, topic))
    end)

    it("and a transform after it know what an idempotent producer has sent, whichever way it came", function()
      local topic = create("pt.both", { partitions = 3 })
      local function send(sequence, ...)
        local list = keyed(...)
        return produce(topic, { records = list, producer_id = 9, producer_epoch = 0, sequence = sequence }, { partition = 0 })[1]
      end
      local codes = { send(0, "a"), send(1, "a", "b", "b"), send(4, "a"), send(4, "a"), send(5, "b") }
      assert.same({ NONE, NONE, NONE, NONE, NONE }, codes)
      local sequences = {}
      for i, batch in ipairs(records.parse(stored(topic, HOMES.a))) do sequences[i] = { batch.producer_id, batch.sequence } end
      local id = 2 ^ 62 + 9 * 2 ^ 20
      for _, pair in ipairs(sequences) do pair[1] = tonumber(pair[1]) end
      assert.same({ { id, 0 }, { id, 1 }, { id, 4 } }, sequences)
    end)

    it("and a transform after it work on each share", function()
      local topic = create("pt.both", { partitions = 3 })
      local kept = { { "keep", "1" } }
      produce(topic, { { key = "a", value = "1", headers = kept }, { key = "b", value = "2" }, { key = "b", value = "3", headers = kept } })
      assert.same({ { "1" }, { "3" } }, { values(topic, 1), values(topic, 2) })
      assert.equal(2, requests.end_offset(client, topic, 2))
    end)

    it("and a transform after it keep a share's producer id where all records go to one partition", function()
      local topic = create("pt.both", { partitions = 3 })
      local kept = { { "keep", "1" } }
      local function send(key, sequence)
        local list = { { key = key, value = tostring(sequence), headers = kept }, { key = key, value = "dropped" } }
        return produce(topic, { records = list, producer_id = 7, producer_epoch = 0, sequence = sequence })
      end
      for i, key in ipairs { "a", "b", "a", "b" } do assert.same({ NONE, -1 }, (send(key, 2 * (i - 1)))) end
      assert.same({ NONE, -1 }, (send("a", 4)))
      assert.same({ { "0", "4" }, { "2", "6" } }, { values(topic, 1), values(topic, 2) })
    end)

    it("refuses a producer id that cannot be divided", function()
      local topic = create("p.hash", { partitions = 3 })
      local batch = { records = keyed("a", "b"), producer_id = 2 ^ 42, producer_epoch = 0, sequence = 0 }
      local got, answer = produce(topic, batch)
      assert.same({ INVALID_RECORD, -1 }, got)
      assert.truthy(answer.error_message:find("producer id", 1, true), answer.error_message)
    end)
  end)

  describe("a transform", function()
    local kept = { { "keep", "1" } }

    it("drops records and leaves holes; the batch spans the same offsets", function()
      local topic = create "t.filter"
      assert.same({ NONE, -1 }, produce(topic, { { value = "1", headers = kept }, { value = "2" }, { value = "3", headers = kept } }))
      local read = records.read(stored(topic))
      assert.same({ { 0, "1" }, { 2, "3" } }, { { read[1].offset, read[1].value }, { read[2].offset, read[2].value } })
      assert.equal(3, requests.end_offset(client, topic))
    end)

    it("that drops all leaves an empty batch", function()
      local topic = create "t.filter"
      assert.same({ NONE, -1 }, produce(topic, { "1", "2" }))
      local batch = records.parse(stored(topic))[1]
      assert.same({ 0, 1, 0 }, { batch.base, batch.last, batch.count })
    end)

    it("that drops all of a packed batch leaves one that is not packed: readers trip over nothing that is packed", function()
      local topic = create("t.filter", { configs = { ["compression.type"] = "lz4" } })
      assert.same({ NONE, -1 }, produce(topic, { records = { "1", "2" }, codec = records.SNAPPY }))
      local batch = records.parse(stored(topic))[1]
      assert.same({ 0, records.NONE, 61 }, { batch.count, batch.codec, batch.size })
    end)

    it("that keeps all is answered with the offset", function()
      local topic = create "t.filter"
      assert.same({ NONE, 0 }, produce(topic, { { value = "1", headers = kept } }))
    end)

    it("replaces records where they are", function()
      local topic = create "t.upper"
      assert.same({ NONE, 0 }, produce(topic, { "one", "two" }))
      assert.same({ "ONE", "TWO" }, values(topic))
    end)

    it("makes further records: a batch of the broker's own behind the client's", function()
      local topic = create "t.double"
      assert.same({ NONE, 0 }, produce(topic, { records = { "1", "2" }, producer_id = 9, producer_epoch = 0, sequence = 0 }))
      local list = records.parse(stored(topic))
      assert.same({ 9, -1 }, { list[1].producer_id, list[2].producer_id })
      assert.same({ "1", "2", "copy", "copy" }, values(topic))
    end)

    it("does not run for a retry", function()
      local topic = create "t.double"
      local batch = { records = { "1" }, producer_id = 9, producer_epoch = 0, sequence = 0 }
      produce(topic, batch)
      assert.same({ NONE, 0 }, produce(topic, batch))
      assert.same({ "1", "copy" }, values(topic))
    end)

    if strace.WORKS then
      it("has a retry acknowledged when the first one is on disk, not before", function()
        local topic = create("t.upper", { configs = { ["luka.producer.type"] = "sync" } })
        local batch = records.batch { records = { "a" }, producer_id = 7, producer_epoch = 0, sequence = 0 }
        local other = broker:connect()
        strace.count(broker.pid, function()
          -- The first one asks for nothing, so its connection goes on at once.
          requests.send_produce(client, topic, batch, { acks = 0 })
          client:wait_until_read()
          local answer = requests.produce(other, topic, batch, { acks = 1 })
          assert.same({ NONE, 0 }, { answer.error_code, answer.base_offset })
          assert.equal(1, requests.end_offset(client, topic)) -- what is not on disk is not shown
        end, { "fdatasync:delay_enter=1000000" })
        assert.same({ "A" }, values(topic))
        other:close()
      end)
    end

    it("may leave no batch that is larger than the topic allows where it changes nothing", function()
      local configs = { ["compression.type"] = "uncompressed", ["max.message.bytes"] = "1000" }
      local topic = create("pt.both", { partitions = 3, configs = configs })
      local list = {}
      for i = 1, 40 do list[i] = { key = i % 2 == 0 and "a" or "b", value = ("x"):rep(100), headers = kept } end
      assert.same({ MESSAGE_TOO_LARGE, -1 }, (produce(topic, { records = list, codec = 1 })))
      assert.same({ 0, 0 }, { requests.end_offset(client, topic, 1), requests.end_offset(client, topic, 2) })
    end)

    it("emits to another topic, and what is emitted meets no policy", function()
      local topic = create "t.emit"
      local upper = create("t.upper", { partitions = 3 })
      assert.same({ NONE, -1 }, produce(topic, { { key = "b", value = ">t.upper lower" }, { value = "stays" } }))
      assert.same({ { "stays" }, { "lower" } }, { values(topic), values(upper, HOMES.b) })
    end)

    it("that emits to no topic fails, and writes nothing", function()
      local topic = create "t.emit"
      local got, answer = produce(topic, { "stays", ">nowhere x" })
      assert.same({ POLICY_VIOLATION, -1 }, got)
      assert.equal("transform of topic t.emit: probe.c:8: emit to nowhere: there is no such topic", answer.error_message)
      assert.equal(0, requests.end_offset(client, topic))
    end)

    it("that emits to an internal topic fails", function()
      local topic = create "t.emit"
      client:ask("FindCoordinator", 3, { key = "g", key_type = 0 })
      local _, answer = produce(topic, { ">__consumer_offsets x" })
      assert.equal(POLICY_VIOLATION, answer.error_code)
    end)

    it("rejects a batch: RecordErrors names the records and says why", function()
      local topic = create "t.reject"
      local got, answer = produce(topic, { "fine", "bad", "bad" })
      assert.same({ INVALID_RECORD, -1 }, got)
      assert.equal("2 records were rejected by the transform of topic t.reject (probe.c:9): it is bad", answer.error_message)
      assert.same({ { 1, "it is bad" }, { 2, "it is bad" } }, {
        { answer.record_errors[1].batch_index, answer.record_errors[1].batch_index_error_message },
        { answer.record_errors[2].batch_index, answer.record_errors[2].batch_index_error_message },
      })
      assert.equal(0, requests.end_offset(client, topic))
    end)

    it("that fails is named by file and line, and once a second in the log", function()
      local topic = create "t.raise"
      for _ = 1, 20 do
        local got, answer = produce(topic, { "1" })
        assert.same({ POLICY_VIOLATION, -1 }, got)
        assert.equal("transform of topic t.raise: probe.c:10: failed on purpose", answer.error_message)
      end
      local _, lines = broker:log():gsub("t%.raise: probe%.c:10", "")
      assert.is_true(lines >= 1 and lines <= 3)
    end)

    it("makes a batch too large for the topic: the client is told", function()
      local topic = create("t.upper", { configs = { ["max.message.bytes"] = "200", ["compression.type"] = "uncompressed" } })
      local got = produce(topic, { records = { ("x"):rep(1000) }, codec = records.ZSTD })
      assert.same({ MESSAGE_TOO_LARGE, -1 }, got)
    end)

    it("keeps the topic's own timestamps", function()
      local topic = create("t.upper", { configs = { ["message.timestamp.type"] = "LogAppendTime" } })
      local _, answer = produce(topic, { "one" })
      assert.is_true(answer.log_append_time_ms > 0)
      assert.equal(answer.log_append_time_ms, records.read(stored(topic))[1].timestamp)
    end)
  end)

  it("a transactional batch is refused with the reason", function()
    local topic = create "t.upper"
    local answer = requests.produce(client, topic,
      records.batch { records = { "1" }, producer_id = 3, producer_epoch = 0, sequence = 0, attributes = 0x10 },
      { transactional_id = "t" })
    assert.equal(TXN_STATE, answer.error_code)
    assert.equal("Transactional batches cannot be written to a topic with policies", answer.error_message)
  end)

  it("a batch that is no batch is refused as elsewhere", function()
    local topic = create "t.upper"
    local batch = records.batch { records = { "1" } }
    local answer = requests.produce(client, topic, batch:sub(1, -2) .. "\255")
    assert.equal(2, answer.error_code)
  end)

  it("with acks=0 nothing is answered, and the batch is written", function()
    local topic = create "t.upper"
    requests.send_produce(client, topic, records.batch { records = { "one" } }, { acks = 0 })
    assert.same({ NONE, 1 }, produce(topic, { "two" }, {}))
    assert.same({ "ONE", "TWO" }, values(topic))
  end)

  it("several partitions of one request are each done, in the order of the request", function()
    local upper, filter, plain = create("t.upper", { partitions = 2 }), create "t.filter", create "plain"
    local answer = client:ask("Produce", requests.PRODUCE, requests.produce_body(requests.PRODUCE, {
      { upper, { { 0, records.batch { records = { "a" } } }, { 1, records.batch { records = { "b" } } } } },
      { filter, { { 0, records.batch { records = { "c" } } } } },
      { plain, { { 0, records.batch { records = { "d" } } } } },
    }))
    local codes = {}
    for _, topic in ipairs(answer.responses) do
      for _, part in ipairs(topic.partition_responses) do codes[#codes + 1] = part.error_code end
    end
    assert.same({ NONE, NONE, NONE, NONE }, codes)
    assert.same({ { "A" }, { "B" }, {}, { "d" } }, { values(upper, 0), values(upper, 1), values(filter), values(plain) })
  end)

  it("batches of a connection that come one upon the other stay in order", function()
    local topic = create "t.upper"
    local ids, expected = {}, {}
    for i = 1, 200 do
      ids[i] = requests.send_produce(client, topic, records.batch { records = { "v" .. i }, codec = i % 5 })
      expected[i] = "V" .. i
    end
    for i = 1, 200 do
      local answer = client:answer("Produce", requests.PRODUCE, ids[i])
      assert.equal(NONE, answer.responses[1].partition_responses[1].error_code)
    end
    assert.same(expected, values(topic))
  end)
end)
