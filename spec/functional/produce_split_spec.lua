-- SPDX-License-Identifier: Apache-2.0
-- Produce for topics that choose the partition of each record themselves: where records go, what is answered, what a
-- retry does, what is refused.
local bit = require "bit"
local brokers = require "spec.support.broker"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local batch, produce = records.batch, requests.produce
local NONE, TOO_LARGE, OUT_OF_ORDER, OLD_EPOCH = 0, 10, 45, 47
local INVALID_RECORD, INVALID_TXN_STATE = 87, 48

--- Keys with the partition of ten that the Java client gives them (cases of golden values).
local GOLDEN = { { key = "", at = 1 }, { key = "a", at = 4 }, { key = "key", at = 1 }, { key = "21", at = 0 },
  { key = "foobar", at = 6 }, { key = "a-little-bit-long-string", at = 2 } }

local function golden()
  local list = {}
  for i, record in ipairs(GOLDEN) do list[i] = { key = record.key, value = tostring(i) } end
  return list
end

local GOLDEN_STORED = { [0] = "4", [1] = "1 3", [2] = "6", [4] = "2", [6] = "5" }

describe("Produce to a topic with a partitioner", function()
  local broker, client, count = nil, nil, 0

  local function topic(partitioner, partitions, configs)
    count = count + 1
    configs = configs or {}
    configs["luka.partitioner"] = partitioner
    return requests.create(client, ("split-%d"):format(count), { partitions = partitions or 10, configs = configs })
  end

  --- The values of each partition that has any, in order: { [0] = "a b" }.
  local function stored(of, partitions)
    local out = {}
    for i = 0, (partitions or 10) - 1 do
      local values = table.concat(records.values(requests.fetch_to_end(client, of, 0, i)), " ")
      if values ~= "" then out[i] = values end
    end
    return out
  end

  local function batches_of(of, partition) return (records.parse(requests.fetch_to_end(client, of, 0, partition))) end

  --- A batch of an idempotent producer.
  local function idempotent(list, sequence, options)
    local o = { records = list, producer_id = 7, producer_epoch = 0, sequence = sequence }
    for key, value in pairs(options or {}) do o[key] = value end
    return batch(o)
  end

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
  end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  it("puts records where their keys say, wherever they were addressed, in every version", function()
    for version = 3, requests.PRODUCE do
      local a = topic "murmur2"
      local answer = produce(client, a, batch { records = golden() }, { version = version, partition = version % 10 })
      assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
      assert.same(GOLDEN_STORED, stored(a))
    end
  end)

  it("takes batches of every codec, and stores them in it", function()
    for codec = 0, 4 do
      local a = topic "murmur2"
      local answer = produce(client, a, batch { records = golden(), codec = codec })
      assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
      assert.same(GOLDEN_STORED, stored(a))
      for _, part in ipairs { 0, 1, 6 } do
        local list = batches_of(a, part)
        assert.same({ codec, true, 0 }, { list[1].codec, list[1].is_intact, list[1].base })
      end
    end
  end)

  it("stores them in the topic's own codec where it has one", function()
    local a = topic("murmur2", 10, { ["compression.type"] = "zstd" })
    for codec = 0, 4 do produce(client, a, batch { records = golden(), codec = codec }) end
    assert.equal("1 3 1 3 1 3 1 3 1 3", stored(a)[1])
    for _, one in ipairs(batches_of(a, 1)) do assert.equal(records.ZSTD, one.codec) end
    a = topic("murmur2", 10, { ["compression.type"] = "uncompressed" })
    produce(client, a, batch { records = golden(), codec = records.GZIP })
    assert.equal(records.NONE, batches_of(a, 1)[1].codec)
    assert.same(GOLDEN_STORED, stored(a))
  end)

  it("takes message sets of old clients, compressed or not", function()
    for version = 0, 2 do
      for _, codec in ipairs { 0, records.GZIP, records.SNAPPY } do
        local a, format = topic "murmur2", version < 2 and 0 or 1
        local list = golden()
        local bytes = codec == 0 and messages.set(format, list)
          or messages.wrapper(format, messages.set(format, list), { codec = codec, offset = #list - 1 })
        local answer = produce(client, a, bytes, { version = version })
        assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
        assert.same(GOLDEN_STORED, stored(a))
        assert.equal(codec, batches_of(a, 1)[1].codec)
      end
    end
  end)

  it("answers the offset when all records stayed where they were addressed, compressed or not", function()
    local a = topic "murmur2"
    for i = 0, 9 do
      local answer = produce(client, a, batch { records = { { key = "a", value = "x" }, { key = "a", value = "y" } },
        codec = i % 5 }, { partition = 4 })
      assert.same({ NONE, 2 * i }, { answer.error_code, answer.base_offset })
    end
  end)

  it("answers -1 when all went to one other partition", function()
    local a = topic "murmur2"
    for codec = 0, 4 do
      local answer = produce(client, a, batch { records = { { key = "a", value = "x" } }, codec = codec }, { partition = 3 })
      assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
    end
    assert.same({ [4] = "x x x x x" }, stored(a))
  end)

  it("answers with acks 1 and -1, and not with 0", function()
    local a = topic "murmur2"
    for _, acks in ipairs { 1, -1 } do assert.equal(NONE, produce(client, a, batch { records = golden() }, { acks = acks }).error_code) end
    requests.send_produce(client, a, batch { records = golden() }, { acks = 0 })
    assert.equal(6, requests.end_offset(client, a, 1))
  end)

  it("gives the append time where the topic's records have that", function()
    local a = topic("murmur2", 10, { ["message.timestamp.type"] = "LogAppendTime" })
    local answer = produce(client, a, batch { records = golden() })
    assert.is_true(answer.log_append_time_ms > 0)
    for _, record in ipairs(records.read(requests.fetch_to_end(client, a, 0, 1))) do
      assert.equal(answer.log_append_time_ms, record.timestamp)
    end
  end)

  it("goes round with records that have no key, and keeps those of one batch together", function()
    local a = topic("murmur2", 3)
    for i = 1, 3 do produce(client, a, batch { records = { { value = "a" .. i }, { value = "b" .. i } } }) end
    local seen = stored(a, 3)
    for i = 0, 2 do assert.is_truthy(seen[i]:find "^a(%d) b%1$") end
  end)

  it("keeps the order of a pipeline whose batches are divided here and on the pool", function()
    local a = topic("murmur2", 4)
    local ids, expected = {}, {}
    for i = 1, 40 do
      local list = {}
      for j = 1, 8 do
        list[j] = { key = "k" .. j, value = ("%d"):format(i) }
      end
      ids[i] = requests.send_produce(client, a, batch { records = list, codec = i % 3 == 0 and records.ZSTD or 0 })
      expected[i] = tostring(i)
    end
    for i = 1, 40 do
      local answer = client:answer("Produce", requests.PRODUCE, ids[i])
      assert.equal(NONE, answer.responses[1].partition_responses[1].error_code)
    end
    local by_key = {}
    for part = 0, 3 do
      for _, record in ipairs(records.read(requests.fetch_to_end(client, a, 0, part))) do
        by_key[record.key] = by_key[record.key] or {}
        table.insert(by_key[record.key], record.value)
      end
    end
    for j = 1, 8 do assert.same(expected, by_key["k" .. j]) end
  end)

  it("divides each partition of a request, and answers each", function()
    local a, plain = topic "murmur2", requests.create(client, "plain", { partitions = 2 })
    local answer = client:ask("Produce", requests.PRODUCE, requests.produce_body(requests.PRODUCE, {
      { a, { { 0, batch { records = golden() } }, { 9, batch { records = golden(), codec = records.LZ4 } },
        { 10, batch() } } },
      { plain, { { 1, batch { records = { "p" } } } } } }))
    local codes = {}
    for i, part in ipairs(answer.responses[1].partition_responses) do codes[i] = { part.index, part.error_code, part.base_offset } end
    assert.same({ { 0, NONE, -1 }, { 9, NONE, -1 }, { 10, 3, -1 } }, codes)
    assert.equal(0, answer.responses[2].partition_responses[1].base_offset)
    assert.equal(4, requests.end_offset(client, a, 1))
  end)

  describe("from an idempotent producer", function()
    local SHARE = bit.lshift(1LL, 62) + 7LL * 1048576 + 3

    it("stores shares under ids of their own, with the sequence of their first record", function()
      local a = topic "murmur2"
      produce(client, a, idempotent(golden(), 100), { partition = 3 })
      local one = batches_of(a, 1)[1]
      assert.same({ SHARE, 0, 100, 2 }, { one.producer_id, one.producer_epoch, one.sequence, one.count })
      one = batches_of(a, 6)[1]
      assert.same({ SHARE, 104, 1 }, { one.producer_id, one.sequence, one.count })
    end)

    it("stores a whole batch under such an id, too", function()
      local a = topic "murmur2"
      for codec = 0, 4 do
        local answer = produce(client, a, idempotent({ { key = "a", value = "x" } }, codec, { codec = codec }), { partition = 4 })
        assert.same({ NONE, codec }, { answer.error_code, answer.base_offset })
      end
      for i, one in ipairs(batches_of(a, 4)) do
        assert.same({ SHARE + 1, i - 1, true }, { one.producer_id, one.sequence, one.is_intact })
      end
    end)

    for _, kind in ipairs { "murmur2", "consistent", "round_robin", "sticky", "header:h", "range:b,k" } do
      it("writes what is sent again once, also after kill -9 and a stop, with " .. kind, function()
        local own = brokers.start { set = { "workers=2" } }
        local link = own:connect()
        local a = requests.create(link, "again", { partitions = 4, configs = { ["luka.partitioner"] = kind } })
        local list = golden()
        list[#list + 1] = { value = "no key" }
        list[#list + 1] = { key = "k", value = "h", headers = { { "h", "v" } } }
        local function send(sequence, codec)
          return produce(link, a, idempotent(list, sequence, { codec = codec }), { partition = 2 }).error_code
        end
        local function total()
          local sum = 0
          for i = 0, 3 do sum = sum + requests.end_offset(link, a, i) end
          return sum
        end
        for i = 0, 4 do assert.equal(NONE, send(8 * i, i)) end
        for round = 1, 3 do
          for i = 0, 4 do assert.equal(NONE, send(8 * i, i)) end
          assert.equal(40, total())
          link:close()
          if round == 1 then own:kill() else own:stop() end
          own = own:restart()
          link = own:connect()
        end
        link:close()
        own:stop()
      end)
    end

    it("tells the offset again where all stayed", function()
      local a = topic "murmur2"
      local one = idempotent({ { key = "a", value = "x" } }, 0)
      assert.equal(0, produce(client, a, one, { partition = 4 }).base_offset)
      assert.equal(0, produce(client, a, one, { partition = 4 }).base_offset)
      assert.equal(1, requests.end_offset(client, a, 4))
    end)

    it("refuses sequences that fall back, and older epochs", function()
      local a = topic "murmur2"
      for i = 0, 6 do produce(client, a, idempotent(golden(), 6 * i)) end
      assert.equal(OUT_OF_ORDER, produce(client, a, idempotent(golden(), 0)).error_code)
      assert.equal(NONE, produce(client, a, idempotent(golden(), 0, { producer_epoch = 1 })).error_code)
      assert.equal(OLD_EPOCH, produce(client, a, idempotent(golden(), 6)).error_code)
      assert.equal(8, requests.end_offset(client, a, 0))
    end)

    it("may have gaps between the batches of one partition", function()
      local a = topic "murmur2"
      assert.equal(NONE, produce(client, a, idempotent({ { key = "a", value = "1" } }, 0)).error_code)
      assert.equal(NONE, produce(client, a, idempotent({ { key = "key", value = "2" } }, 1)).error_code)
      assert.equal(NONE, produce(client, a, idempotent({ { key = "a", value = "3" } }, 2)).error_code)
      assert.same({ [1] = "2", [4] = "1 3" }, stored(a))
    end)

    it("refuses ids that leave no room for the partition", function()
      local a = topic "murmur2"
      for codec = 0, 1 do
        local answer = produce(client, a, idempotent(golden(), 0, { producer_id = bit.lshift(1LL, 42), codec = codec }))
        assert.equal(INVALID_RECORD, answer.error_code)
        assert.is_truthy(answer.error_message:find("producer id", 1, true))
      end
      assert.same({}, stored(a))
    end)
  end)

  it("stores nothing of a batch that is not right", function()
    local a = topic("murmur2", 10, { ["cleanup.policy"] = "compact", ["max.message.bytes"] = "1000" })
    local list = golden()
    list[3].key = nil
    for codec = 0, 1 do
      local answer = produce(client, a, batch { records = list, codec = codec })
      assert.equal(INVALID_RECORD, answer.error_code)
      assert.equal(2, answer.record_errors[1].batch_index)
      assert.equal(2, produce(client, a, batch { records = golden(), codec = codec, crc_xor = 1 }).error_code)
    end
    assert.equal(TOO_LARGE, produce(client, a, batch { records = { { key = "a", value = ("x"):rep(1000) } } }).error_code)
    assert.same({}, stored(a))
  end)

  it("refuses a share that is too large once it is unpacked", function()
    local a = topic("murmur2", 10, { ["max.message.bytes"] = "2000", ["compression.type"] = "uncompressed" })
    local answer = produce(client, a, batch { records = { { key = "a", value = ("x"):rep(5000) }, { key = "key" } },
      codec = records.GZIP })
    assert.equal(TOO_LARGE, answer.error_code)
    assert.same({}, stored(a))
  end)

  it("refuses batches of transactions, and says why", function()
    local a = topic "murmur2"
    for codec = 0, 1 do
      local bytes = idempotent(golden(), 0, { attributes = 0x10, codec = codec })
      local answer = produce(client, a, bytes, { transactional_id = "t" })
      assert.equal(INVALID_TXN_STATE, answer.error_code)
      assert.is_truthy(answer.error_message:find("luka.partitioner", 1, true))
    end
    assert.same({}, stored(a))
  end)

  it("closes the connection when acks 0 fails", function()
    local a, other = topic "murmur2", broker:connect()
    requests.send_produce(other, a, batch { crc_xor = 1 }, { acks = 0 })
    assert.equal("", other:receive_end())
    other:close()
  end)

  it("goes by the config of the moment", function()
    local configs = require "spec.support.configs"
    local a = topic("murmur2", 10)
    produce(client, a, batch { records = { { key = "a", value = "1" } } })
    configs.set(client, a, { ["luka.partitioner"] = "none" })
    produce(client, a, batch { records = { { key = "a", value = "2" } } })
    configs.set(client, a, { ["luka.partitioner"] = "range:a" })
    produce(client, a, batch { records = { { key = "a", value = "3" } } })
    configs.set(client, a, { ["luka.partitioner"] = false })
    produce(client, a, batch { records = { { key = "a", value = "4" } } }, { partition = 9 })
    assert.same({ [0] = "2", [1] = "3", [4] = "1", [9] = "4" }, stored(a))
  end)
end)
