-- SPDX-License-Identifier: Apache-2.0
-- Produce: what is appended, what is refused and with which answer, order and offsets with many requests under way.
local batches = require "spec.unit.record.batches"
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local NEWEST = requests.PRODUCE
local batch, produce = records.batch, requests.produce

--- What a partition's answer says: { error, base offset, append time, log start }; what a version lacks is nil.
local function parts(answer)
  return { answer.error_code, answer.base_offset, answer.log_append_time_ms, answer.log_start_offset }
end

--- Produces several partitions at once; { [partition] = answer } and the whole answer.
local function produce_all(client, version, entries)
  local answer = client:ask("Produce", version, requests.produce_body(version, entries))
  local by_index = {}
  for _, topic in ipairs(answer.responses) do
    for _, part in ipairs(topic.partition_responses) do by_index[part.index] = part end
  end
  return by_index, answer
end

describe("Produce", function()
  local broker, client, count = nil, nil, 0

  --- A topic of a new name.
  local function topic(options)
    count = count + 1
    return requests.create(client, ("topic-%d"):format(count), options)
  end

  local function end_offset(of, partition) return requests.end_offset(client, of, partition) end

  setup(function() broker = brokers.start { set = { "workers=2" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  for version = 3, NEWEST do
    local start = version >= 5 and 0 or nil
    local no_start = version >= 5 and -1 or nil

    describe(("version %d"):format(version), function()
      it("answers the offset of the first record with acks 1 and -1", function()
        local a = topic()
        assert.same({ 0, 0, -1, start }, parts(produce(client, a, batch { records = { "a", "b" } }, { version = version, acks = 1 })))
        assert.same({ 0, 2, -1, start }, parts(produce(client, a, batch(), { version = version, acks = -1 })))
        assert.equal(3, end_offset(a))
      end)

      it("answers 21 to other acks and stores nothing", function()
        local a = topic()
        for _, acks in ipairs { 2, -2, 32767, -32768 } do
          assert.same({ 21, -1, -1, no_start }, parts(produce(client, a, batch(), { version = version, acks = acks })))
        end
        assert.equal(0, end_offset(a))
      end)

      it("does not answer acks 0, and stores what it got", function()
        local a = topic()
        requests.send_produce(client, a, batch(), { version = version, acks = 0 })
        requests.send_produce(client, a, batch(), { version = version, acks = 0 })
        assert.equal(2, end_offset(a))
      end)

      it("closes the connection when acks 0 fails", function()
        local a = topic()
        local other = broker:connect()
        requests.send_produce(other, a, batch { crc_xor = 1 }, { version = version, acks = 0 })
        assert.equal("", other:receive_end())
        other:close()
        assert.equal(0, end_offset(a))
      end)

      it(("answers %d for an unknown topic"):format(version >= 13 and 100 or 3), function()
        local code = version >= 13 and 100 or 3
        assert.same({ code, -1, -1, no_start }, parts(produce(client, requests.UNKNOWN, batch(), { version = version })))
        assert.is_nil(requests.find(client, requests.UNKNOWN.name))
      end)

      it("answers 3 for an unknown partition", function()
        local a = topic()
        for _, partition in ipairs { 1, 9, -1, 2 ^ 31 - 1, -2 ^ 31 } do
          local answer = produce(client, a, batch(), { version = version, partition = partition })
          assert.equal(partition, answer.index)
          assert.same({ 3, -1, -1, no_start }, parts(answer))
        end
      end)

      it("answers a request without topics with an empty list", function()
        assert.same({}, client:ask("Produce", version, requests.produce_body(version, {})).responses)
      end)

      it("appends to several partitions of several topics", function()
        local a, b = topic { partitions = 3 }, topic()
        local answer = client:ask("Produce", version, requests.produce_body(version, {
          { a, { { 2, batch() }, { 0, batch { records = { "x", "y" } } } } }, { b, { { 0, batch() } } } }))
        assert.equal(2, #answer.responses)
        assert.equal(2, #answer.responses[1].partition_responses)
        assert.equal(1, #answer.responses[2].partition_responses)
        assert.same({ 2, 0, 1, 1 }, { end_offset(a, 0), end_offset(a, 1), end_offset(a, 2), end_offset(b) })
      end)

      it("appends a partition that is named twice once, with the last records", function()
        local a = topic()
        local by_index, answer = produce_all(client, version, { { a, { { 0, batch { records = { "first" } } },
          { 0, batch { records = { "last" } } } } } })
        assert.equal(1, #answer.responses)
        assert.equal(1, #answer.responses[1].partition_responses)
        assert.same({ 0, 0, -1, start }, parts(by_index[0]))
        assert.same({ "last" }, records.values(requests.fetch(client, a).records))
      end)

      it("answers a topic that is named twice in one entry", function()
        local a = topic { partitions = 2 }
        local by_index, answer = produce_all(client, version, { { a, { { 0, batch() } } }, { a, { { 1, batch() } } } })
        assert.equal(1, #answer.responses)
        assert.same({ 0, 0, -1, start }, parts(by_index[0]))
        assert.same({ 0, 0, -1, start }, parts(by_index[1]))
      end)

      it("judges each partition on its own", function()
        local a = topic { partitions = 2 }
        local by_index = produce_all(client, version, { { a, { { 0, batch() }, { 1, batch { crc_xor = 1 } }, { 7, batch() } } } })
        assert.same({ 0, 0, -1, start }, parts(by_index[0]))
        assert.same({ 2, -1, -1, no_start }, parts(by_index[1]))
        assert.same({ 3, -1, -1, no_start }, parts(by_index[7]))
        assert.same({ 1, 0 }, { end_offset(a, 0), end_offset(a, 1) })
      end)

      it(("%s zstd"):format(version < 7 and "answers 76 to" or "takes"), function()
        local a = topic()
        local zstd = batch { records = { "a", "b" }, codec = records.ZSTD }
        local answer = produce(client, a, zstd, { version = version })
        assert.equal(version < 7 and 76 or 0, answer.error_code)
        assert.equal(version < 7 and 0 or 2, end_offset(a))
      end)

      it("keeps every byte of a batch but its base offset and leader epoch", function()
        local a = topic()
        local sent = { batches.cases.null_vs_empty }
        for codec = 0, version < 7 and 3 or 4 do
          sent[#sent + 1] = batch { records = { { key = "k", value = ("text "):rep(100), headers = { { "h", nil }, { "h", "" } } }, "b" },
            codec = codec, ts = 1000 + codec }
        end
        local stored, offset = {}, 0
        for i, one in ipairs(sent) do
          assert.equal(offset, requests.append(client, a, one, { version = version }))
          stored[i] = records.stored(one, offset)
          offset = offset + records.parse(one)[1].count
        end
        assert.equal(table.concat(stored), requests.fetch(client, a).records)
      end)
    end)
  end

  describe("batches", function()
    local MAGIC_1 = batches.cases.format_1_gzip
    local REFUSED = {
      { "with a wrong CRC", batches.cases.bad_crc, 2, -1 },
      { "that say more records than they hold", batches.cases.count_lie, 87, 0 },
      { "that say fewer records than they hold", batch { records = { "a", "b" }, count = 1, last_delta = 0 }, 87, 0 },
      { "whose last offset delta lies", batches.cases.last_delta_lie, 87, 0 },
      { "whose offset deltas do not count from 0", batch { records = { { value = "a", delta = 1 }, { value = "b", delta = 0 } } }, 87, 0 },
      { "with bytes behind their records", batch { payload = batches.record { value = "a" } .. "x" }, 87, 0 },
      { "with a record that is longer than they are", batch { payload = batches.varint(100) .. "abc" }, 87, 0 },
      { "of no bytes", "", 87, -1 },
      { "that are null", requests.NULL, 87 },
      { "without records", batch { records = {} }, 87, 0 },
      { "that say 0 records", batch { count = 0, last_delta = 0 }, 87, 0 },
      { "that say -1 records", batch { count = -1 }, 87, 0 },
      { "that are two", batches.cases.two_batches, 87, -1 },
      { "of control records", batches.cases.control, 87, 0 },
      { "of a transaction without transactional id", batch { attributes = 16, producer_id = 1, producer_epoch = 0, sequence = 0 }, 53, -1 },
      { "of format 3", batch { magic = 3 }, 2, -1, "Invalid magic found in record: 3" },
      { "of format -1", batch { magic = -1 }, 2, -1, "Invalid magic found in record: -1" },
      { "of an unknown codec", batch { attributes = 5 }, -1, 0 },
      { "with a length that is too short", batch { length = 40 }, 2, -1 },
      { "with a length that is too long", batch { length = 1000 }, 87, -1 },
      { "with length 0", batch { length = 0 }, 2, -1, "Record size 0 is less than the minimum record overhead (14)" },
      { "with length -1", batch { length = -1 }, 2, -1, "Record size -1 is less than the minimum record overhead (14)" },
      { "that are cut", batch():sub(1, -4), 87, -1 },
      { "that are cut in the header", batch():sub(1, 20), 87, -1 },
      { "with a base offset", batch { base = 9 }, 87, 0 },
      { "with a null header name", batch { records = { { value = "v", headers = { { nil, "x" } } } } }, 87, 0 },
      { "with a producer id but no sequence", batch { producer_id = 77, producer_epoch = 0, sequence = -1 }, 87, 0 },
      { "of format 1", MAGIC_1, 87, -1 },
      { "of format 0", batches.cases.format_0_lz4, 87, -1 },
      { "of format 1 and 2", MAGIC_1 .. batch(), 87, -1 },
    }
    for _, case in ipairs(REFUSED) do
      it(("%s are answered with %d, and nothing is stored"):format(case[1], case[3]), function()
        local a = topic()
        for _, version in ipairs { 8, NEWEST } do
          local answer = produce(client, a, case[2], { version = version })
          assert.same({ case[3], -1, -1 }, { answer.error_code, answer.base_offset, answer.log_append_time_ms })
          if case[4] then assert.equal(case[4], answer.log_start_offset) end
          assert.equal(case[5], answer.error_message)
          assert.same({}, answer.record_errors)
        end
        assert.equal(0, end_offset(a))
        assert.equal(0, requests.append(client, a, batch()))
      end)
    end

    local ODD = {
      { "with the LogAppendTime bit lose it", batches.cases.append_time_bit, { attributes = 0, max_timestamp = 1000 } },
      { "keep attribute bit 128", batch { attributes = 128 }, { attributes = 128 } },
      { "keep attribute bit 64", batch { attributes = 64 }, { attributes = 64 } },
      { "lose a piece of another one behind them", batch() .. "xxx", { size = #batch() } },
      { "keep timestamp -1", batch { ts = -1, max_ts = -1 }, { base_timestamp = -1, max_timestamp = -1 } },
      { "keep timestamp -2, with -1 for the largest", batch { ts = -2, max_ts = -2 }, { base_timestamp = -2, max_timestamp = -1 } },
      { "with a wrong largest timestamp get the right one", batch { ts = 1000, max_ts = 5000 }, { max_timestamp = 1000 } },
      { "with no largest timestamp get it", batches.cases.no_max_timestamp, { max_timestamp = 1700000000000 } },
      { "keep falling timestamps", batch { records = { "a", "b" }, ts = 1000, step = -900, max_ts = 1000 },
        { base_timestamp = 1000, max_timestamp = 1000 } },
      { "lose a leader epoch", batch { leader_epoch = 7 }, { leader_epoch = 0 } },
      { "keep a sequence without producer id", batch { sequence = 5 }, { sequence = 5, producer_id = -1 } },
      { "keep producer id -2", batch { producer_id = -2, producer_epoch = 0, sequence = 0 }, { producer_id = -2 } },
      { "in raw snappy are kept", batches.cases.snappy_raw, { codec = 2 } },
      { "in framed snappy are kept", batches.cases.snappy_framed, { codec = 2 } },
    }
    for _, case in ipairs(ODD) do
      it(case[1], function()
        local a = topic()
        assert.same({ 0, 0, -1, 0 }, parts(produce(client, a, case[2])))
        local list, rest = records.parse(requests.fetch(client, a).records)
        assert.equal("", rest)
        assert.equal(1, #list)
        assert.is_true(list[1].is_intact)
        for field, value in pairs(case[3]) do assert.equal(value, list[1][field], field) end
      end)
    end

    it("of an unknown codec are refused before the partition is looked at where zstd is not known", function()
      local a = topic()
      for version = 5, 8 do
        assert.equal(version < 7 and -1 or 0, produce(client, a, batch { attributes = 5 }, { version = version }).log_start_offset)
      end
    end)

    it("for the broker's own topics are answered with 17, and nothing is stored", function()
      local own = requests.create(client, "__consumer_offsets")
      for version = 3, NEWEST do
        local answer = produce(client, own, batch(), { version = version })
        assert.same({ 17, -1, -1, version >= 5 and -1 or nil }, parts(answer))
      end
      assert.equal(3, produce(client, own, batch(), { partition = 1 }).error_code)
      assert.equal(0, end_offset(own))
    end)

    it("of a transaction with a transactional id are answered with 48 until there are transactions", function()
      local a = topic()
      local answer = produce(client, a, batch { attributes = 16, producer_id = 1, producer_epoch = 0, sequence = 0 },
        { transactional_id = "tx" })
      assert.same({ 48, -1 }, { answer.error_code, answer.base_offset })
      assert.equal(0, end_offset(a))
    end)
  end)

  it("unpacks compressed batches where luka.validate is full", function()
    local a = topic { configs = { ["luka.validate"] = "full" } }
    for codec = 1, 4 do
      assert.equal(-1, produce(client, a, batch { codec = codec, payload = "nonsense" }).error_code)
      assert.equal(87, produce(client, a, batch { records = { "a" }, codec = codec, count = 2, last_delta = 1 }).error_code)
    end
    assert.equal(0, end_offset(a))
    for codec = 1, 4 do assert.equal(codec - 1, requests.append(client, a, batch { codec = codec })) end
  end)

  describe("a batch that unpacks to 100 MB", function()
    local big = ("x"):rep(100000000)
    local HEAVY = {
      { "with a largest timestamp below its first", {}, { ts = 1000, max_ts = 1 } },
      { "where luka.validate is full", { ["luka.validate"] = "full" }, {} },
      { "where cleanup.policy is compact", { ["cleanup.policy"] = "compact" }, {} },
      { "where compression.type is another", { ["compression.type"] = "zstd" }, {} },
    }
    local one, other

    setup(function()
      one = brokers.start { set = { "workers=1" } }
      other = one:connect()
    end)
    teardown(function()
      other:close()
      assert.equal(0, one:stop())
    end)

    for i, case in ipairs(HEAVY) do
      it(("%s does not keep a worker's other connections waiting"):format(case[1]), function()
        local sender = one:connect()
        local a = requests.create(other, "heavy-" .. i, { configs = case[2] })
        local options = { records = { { key = "k", value = big } }, codec = records.GZIP }
        for key, value in pairs(case[3]) do options[key] = value end
        local heavy = batch(options)
        -- Were it unpacked on the worker, no answer to others could ever come before its own; on a slow machine it may.
        local was_overtaken = false
        for attempt = 0, 9 do
          local id = requests.send_produce(sender, a, heavy)
          sender:wait_until_read()
          other:ask("ApiVersions", 0, {})
          local early, why = sender:receive_frame(0)
          if early then
            requests.wait_until("it is stored", function() return requests.end_offset(other, a) == attempt + 1 end)
          else
            assert.equal("timeout", why)
            was_overtaken = true
            -- What follows on its own connection does not overtake it.
            local second = requests.send_produce(sender, a, batch { records = { { key = "k", value = "small" } } })
            local answer = sender:answer("Produce", NEWEST, id, 30000).responses[1].partition_responses[1]
            assert.same({ 0, attempt }, { answer.error_code, answer.base_offset })
            answer = sender:answer("Produce", NEWEST, second, 30000).responses[1].partition_responses[1]
            assert.same({ 0, attempt + 1 }, { answer.error_code, answer.base_offset })
            break
          end
        end
        assert.is_true(was_overtaken)
        sender:close()
      end)
    end
  end)

  it("answers each record that is refused, of batches that are unpacked too", function()
    local a = topic { configs = { ["cleanup.policy"] = "compact" }, partitions = 2 }
    local bad = batch { records = { { key = "k" }, { value = "v" }, { value = "w" } }, codec = records.GZIP }
    local by_index = produce_all(client, NEWEST, { { a, { { 0, bad }, { 1, bad } } } })
    for index = 0, 1 do
      local answer = by_index[index]
      assert.same({ 87, -1, -1, 0 }, parts(answer))
      assert.equal(2, #answer.record_errors)
      assert.same({ 1, ("Compacted topic cannot accept message without key in topic partition %s-%d"):format(a.name, index) },
        { answer.record_errors[1].batch_index, answer.record_errors[1].batch_index_error_message })
      assert.truthy(answer.error_message:find("due to 2 record errors in total", 1, true))
    end
  end)

  describe("max.message.bytes", function()
    it("is the largest batch, counted from its base offset", function()
      local a = topic { configs = { ["max.message.bytes"] = "1000" } }
      assert.equal(1000, #records.sized(1000))
      assert.equal(0, produce(client, a, records.sized(1000)).error_code)
      assert.same({ 10, -1, -1, -1 }, parts(produce(client, a, records.sized(1001))))
      assert.equal(1, end_offset(a))
      requests.send_produce(client, a, records.sized(1001), { acks = 0 })
      assert.equal("", client:receive_end())
      client:close()
      client = broker:connect()
      assert.equal(1, end_offset(a))
    end)

    it("counts compressed batches as they are", function()
      local a = topic { configs = { ["max.message.bytes"] = "1000" } }
      assert.equal(0, produce(client, a, batch { records = { ("v"):rep(2000) }, codec = records.GZIP }).error_code)
    end)

    it("counts what a batch becomes where the topic unpacks it", function()
      local a = topic { configs = { ["compression.type"] = "uncompressed", ["max.message.bytes"] = "1000" } }
      for _, size in ipairs { 1000, 100000, 1000000 } do
        local answer = produce(client, a, batch { records = { ("v"):rep(size) }, codec = records.GZIP })
        assert.same({ 10, -1, -1, -1 }, parts(answer))
      end
      assert.equal(0, end_offset(a))
      assert.equal(0, produce(client, a, batch { records = { ("v"):rep(900) }, codec = records.GZIP }).error_code)
    end)
  end)

  describe("timestamps", function()
    it("are the broker's, and in the answer, where message.timestamp.type is LogAppendTime", function()
      local a = topic { configs = { ["message.timestamp.type"] = "LogAppendTime" } }
      local before = os.time() * 1000
      local plain = produce(client, a, batch { records = { "a", "b" }, ts = 1000, step = 5 })
      local zipped = produce(client, a, batch { records = { "c", "d" }, ts = 1000, step = 5, codec = records.GZIP })
      local after = (os.time() + 1) * 1000
      local list = records.parse(requests.fetch(client, a).records)
      for i, answer in ipairs { plain, zipped } do
        assert.same({ 0, 2 * i - 2 }, { answer.error_code, answer.base_offset })
        assert.is_true(answer.log_append_time_ms >= before and answer.log_append_time_ms <= after)
        assert.equal(answer.log_append_time_ms, list[i].max_timestamp)
        assert.equal(1000, list[i].base_timestamp)
        assert.equal(8 + (i - 1), list[i].attributes)
        assert.is_true(list[i].is_intact)
      end
      for i, record in ipairs(records.read(requests.fetch(client, a).records)) do
        assert.equal(i <= 2 and plain.log_append_time_ms or zipped.log_append_time_ms, record.timestamp)
      end
    end)

    it("out of the topic's range are answered with 32 and the records that are", function()
      local a = topic { configs = { ["message.timestamp.before.max.ms"] = "3600000", ["message.timestamp.after.max.ms"] = "3600000" } }
      local now = os.time() * 1000
      for _, case in ipairs { { batch { ts = 1000 }, 0 }, { batch { ts = now + 7200000 }, 0 },
        { batch { records = { "a", "b" }, ts = now, step = -7200000, max_ts = now }, 1 } } do
        local answer = produce(client, a, case[1])
        assert.same({ 32, -1, -1, 0 }, parts(answer))
        assert.equal("One or more records have been rejected due to invalid timestamp", answer.error_message)
        assert.equal(1, #answer.record_errors)
        assert.equal(case[2], answer.record_errors[1].batch_index)
        assert.truthy(answer.record_errors[1].batch_index_error_message:match(
          "^Timestamp %-?%d+ of message with offset " .. case[2] .. " is out of range. The timestamp should be within %[%d+, %d+%]$"))
      end
      assert.equal(0, produce(client, a, batch { ts = now }).error_code)
    end)

    it("an hour and more ahead are refused without any setting", function()
      local answer = produce(client, topic(), batch { ts = os.time() * 1000 + 7200000 })
      assert.equal(32, answer.error_code)
    end)
  end)

  it("needs a key for every record where cleanup.policy is compact", function()
    local a = topic { configs = { ["cleanup.policy"] = "compact" } }
    local function refused(answer, index)
      local text = ("Compacted topic cannot accept message without key in topic partition %s-0"):format(a.name)
      assert.same({ 87, -1, -1, 0 }, parts(answer))
      assert.same({ { batch_index = index, batch_index_error_message = text } }, answer.record_errors)
      assert.equal(("One or more records have been rejected due to 1 record errors in total, and only showing the first "
        .. "three errors at most: [RecordError(batchIndex=%d, message='%s')]"):format(index, text), answer.error_message)
    end
    refused(produce(client, a, batch()), 0)
    refused(produce(client, a, batch { codec = records.LZ4 }), 0)
    refused(produce(client, a, batch { records = { { key = "k", value = "v" }, { value = "v" }, { key = "k" } } }), 1)
    assert.equal(0, end_offset(a))
    assert.equal(0, requests.append(client, a, batch { records = { { key = "k", value = "v" } } }))
    assert.equal(1, requests.append(client, a, batch { records = { { key = "", value = "v" } } }))
    assert.equal(2, requests.append(client, a, batch { records = { { key = "k" } } }))
  end)

  it("succeeds with acks -1 on one replica whatever min.insync.replicas says", function()
    local a = topic { configs = { ["min.insync.replicas"] = "2" } }
    assert.same({ 0, 0, -1, 0 }, parts(produce(client, a, batch())))
  end)

  describe("compression.type", function()
    for _, name in ipairs { "uncompressed", "gzip", "snappy", "lz4", "zstd" } do
      it(("%s is what batches of all codecs are stored in"):format(name), function()
        local a = topic { configs = { ["compression.type"] = name } }
        local wanted = 0
        for codec, codec_name in ipairs(records.CODECS) do wanted = codec_name == name and codec or wanted end
        local function sent(codec)
          return { { key = "k" .. codec, value = ("a"):rep(100), headers = { { "h", nil }, { "h", "" }, { "h", "1" } } }, { key = "" } }
        end
        for codec = 0, 4 do
          assert.equal(2 * codec, requests.append(client, a, batch { records = sent(codec), codec = codec, ts = 1000, step = 7 }))
        end
        local bytes = requests.fetch(client, a).records
        local list = records.parse(bytes)
        assert.equal(5, #list)
        for _, stored in ipairs(list) do
          assert.is_true(stored.is_intact)
          assert.same({ wanted, 1, 2, 1000, 1007 }, { stored.attributes, stored.last_delta, stored.count, stored.base_timestamp,
            stored.max_timestamp })
        end
        for i, record in ipairs(records.read(bytes)) do
          local original = sent(math.floor((i - 1) / 2))[2 - i % 2]
          assert.same({ i - 1, 1000 + 7 * (1 - i % 2), original.key, original.value, original.headers or {} },
            { record.offset, record.timestamp, record.key, record.value, record.headers })
        end
      end)
    end

    it("keeps a batch's bytes that is in the topic's codec already", function()
      local a = topic { configs = { ["compression.type"] = "gzip" } }
      local zipped = batch { records = { ("a"):rep(100) }, codec = records.GZIP }
      requests.append(client, a, zipped)
      assert.equal(records.stored(zipped, 0), requests.fetch(client, a).records)
    end)

    it("keeps the order of a connection's batches, those that are repacked and those that are not", function()
      local a = topic { configs = { ["compression.type"] = "zstd" } }
      local ids, values = {}, {}
      for i = 1, 60 do
        -- Large ones take long to repack; small ones in zstd are appended as they are.
        local is_large = i % 3 == 1
        values[i] = ("%d "):format(i) .. (is_large and records.noise(200000, i) or "")
        ids[i] = requests.send_produce(client, a, batch { records = { values[i] },
          codec = i % 3 == 0 and records.ZSTD or i % 2 == 0 and records.GZIP or 0 })
      end
      for i = 1, 60 do
        local answer = client:answer("Produce", NEWEST, ids[i]).responses[1].partition_responses[1]
        assert.same({ 0, i - 1 }, { answer.error_code, answer.base_offset })
      end
      for i, value in ipairs(records.values(requests.fetch_to_end(client, a, 0))) do
        assert.equal(values[i]:match "^%d+", value:match "^%d+")
        assert.is_true(values[i] == value)
      end
    end)

    it("gives -1 for what cannot be unpacked", function()
      local a = topic { configs = { ["compression.type"] = "lz4" } }
      assert.equal(-1, produce(client, a, batch { codec = records.GZIP, payload = "nonsense" }).error_code)
      assert.equal(0, end_offset(a))
    end)
  end)

  it("answers many requests in flight in their order, with rising offsets", function()
    local a = topic()
    local ids = {}
    for i = 1, 500 do ids[i] = requests.send_produce(client, a, batch { records = { tostring(i), "-" } }) end
    for i = 1, 500 do
      local answer = client:answer("Produce", NEWEST, ids[i]).responses[1].partition_responses[1]
      assert.same({ 0, 2 * i - 2 }, { answer.error_code, answer.base_offset })
    end
    local values = records.values(requests.fetch_to_end(client, a, 0))
    for i = 1, 500 do assert.equal(tostring(i), values[2 * i - 1]) end
  end)

  it("answers good and refused requests in flight in their order", function()
    local a = topic()
    local ids = {}
    for i = 1, 200 do ids[i] = requests.send_produce(client, a, batch { crc_xor = i % 5 == 0 and 1 or 0 }) end
    local offset = 0
    for i = 1, 200 do
      local answer = client:answer("Produce", NEWEST, ids[i]).responses[1].partition_responses[1]
      assert.same(i % 5 == 0 and { 2, -1 } or { 0, offset }, { answer.error_code, answer.base_offset })
      if i % 5 ~= 0 then offset = offset + 1 end
    end
  end)

  it("gives each record of eight connections one offset, without holes, and keeps each connection's order", function()
    local a = topic()
    local writers, per_writer = {}, 150
    for w = 1, 8 do writers[w] = { client = broker:connect(), ids = {}, offsets = {} } end
    for i = 1, per_writer do
      for w, writer in ipairs(writers) do
        writer.ids[i] = requests.send_produce(writer.client, a, batch { records = { ("%d:%d"):format(w, i), "-" } })
      end
    end
    local owner = {}
    for w, writer in ipairs(writers) do
      local before = -1
      for i = 1, per_writer do
        local answer = writer.client:answer("Produce", NEWEST, writer.ids[i]).responses[1].partition_responses[1]
        assert.equal(0, answer.error_code)
        assert.is_true(answer.base_offset > before)
        assert.is_nil(owner[answer.base_offset])
        before, owner[answer.base_offset] = answer.base_offset, ("%d:%d"):format(w, i)
      end
      writer.client:close()
    end
    local total = 8 * per_writer
    assert.equal(2 * total, end_offset(a))
    local values = records.values(requests.fetch_to_end(client, a, 0))
    assert.equal(2 * total, #values)
    for i = 0, total - 1 do assert.equal(owner[2 * i], values[2 * i + 1]) end
  end)

  it("outlives clients that go away before they are answered", function()
    local a, b = topic(), topic { configs = { ["compression.type"] = "gzip" } }
    for i = 1, 20 do
      local gone = broker:connect()
      for _ = 1, 5 do
        requests.send_produce(gone, a, batch())
        requests.send_produce(gone, b, batch { records = { records.noise(50000, i) } })
      end
      gone:close()
    end
    local at = end_offset(a)
    assert.equal(0, produce(client, a, batch()).error_code)
    assert.is_true(end_offset(a) > at)
    assert.equal(0, produce(client, b, batch()).error_code)
  end)

  it("closes the connection on a request that ends early, at every length, and stores nothing", function()
    local a = topic()
    for _, version in ipairs { 3, NEWEST } do
      assert.is_nil(malformed.first_accepted_prefix(broker, "Produce", version,
        requests.produce_body(version, { { a, { { 0, batch() } } } })))
    end
    assert.equal(0, end_offset(a))
  end)

  it("answers 3 or 100 for a topic that was deleted", function()
    local a = topic()
    requests.append(client, a, batch())
    requests.delete(client, a)
    assert.equal(3, produce(client, a, batch(), { version = 12 }).error_code)
    assert.equal(100, produce(client, a, batch()).error_code)
  end)
end)
