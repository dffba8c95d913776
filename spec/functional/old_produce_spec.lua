-- SPDX-License-Identifier: Apache-2.0
-- Produce 0 to 2, from clients before Kafka 0.11: what real ones send, what is stored of it, what is refused.
local batches = require "spec.unit.record.batches"
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local batch, produce = records.batch, requests.produce
local set, wrapper = messages.set, messages.wrapper

--- { offset, timestamp, key, value } of all that a topic holds.
local function stored(client, topic)
  local list = {}
  for i, record in ipairs(records.read(requests.fetch_to_end(client, topic, 0))) do
    list[i] = { record.offset, record.timestamp, record.key, record.value }
  end
  return list
end

--- What a partition's answer says: { error, base offset, append time }; what a version lacks is nil.
local function parts(answer) return { answer.error_code, answer.base_offset, answer.log_append_time_ms } end

describe("Produce of an old client", function()
  local broker, client, count = nil, nil, 0

  local function topic(options, name)
    count = count + 1
    return requests.create(client, name or ("topic-%d"):format(count), options)
  end

  local function end_offset(of) return requests.end_offset(client, of) end

  setup(function() broker = brokers.start { set = { "workers=2" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  -- The frames of kafka-python 1.4.7 told to speak to such brokers.
  describe("in its own bytes:", function()
    local frames = {
      { "0.8.2", "old082", -1, [[
        000000000000000100176b61666b612d707974686f6e2d70726f64756365722d310001000075300000000100066f6c64303832000000010000000000
        000066000000000000000000000016a81ba41e0000000000026b30000000064e6f6e652d300000000000000001000000161e924b480000000000026b
        31000000064e6f6e652d310000000000000002000000161e797cf30000000000026b32000000064e6f6e652d32]],
        { "None-0", "None-1", "None-2" }, "0000000000000001 0000 0000000000000000" },
      { "0.8.2 with gzip", "old082-gzip", -1, [[
        000000000000000100176b61666b612d707974686f6e2d70726f64756365722d3200010000753000000001000b6f6c643038322d677a697000000001
        0000000000000060000000000000000000000054e4d0000d0001ffffffff000000461f8b0800a0a60c6b02ff63608003b1e54d1b0dc02ca66c10cd965e
        9559a06b00956504a910e48e4b83aa3084ab3084aa6002ab78907917aac208aec208005013271766000000]],
        { "gzip-0", "gzip-1", "gzip-2" } },
      { "0.9 with snappy", "old09-snappy", -1, [[
        000000010000000100176b61666b612d707974686f6e2d70726f64756365722d3300010000753000000001000c6f6c6430392d736e61707079000000
        01000000000000008100000000000000000000007536058bfe0002ffffffff0000006782534e41505059000000000100000001000000536c00001901
        10182dd7d514050f34026b3000000008736e617070792d010c010120010000001887463c07010d0c00026b311d24010c0101000201240ca3850173010d
        3c00026b3200000008736e617070792d32]],
        { "snappy-0", "snappy-1", "snappy-2" } },
      { "0.10", "old010", 1795991174614, [[
        000000020000000100176b61666b612d707974686f6e2d70726f64756365722d310001000075300000000100066f6c64303130000000010000000000
        00007e]], { "None-0", "None-1", "None-2" } },
    }

    for _, frame in ipairs(frames) do
      it(frame[1], function()
        local a = topic(nil, frame[2])
        local bytes = unit.bytes(frame[4])
        if frame[1] == "0.10" then
          local list = {}
          for i = 0, 2 do list[i + 1] = { key = "k" .. i, value = "None-" .. i } end
          local records_field = set(1, list, { ts = frame[3] })
          assert.equal(0x7e, #records_field)
          -- The first of them as the client sent it, CRC included.
          assert.equal("00000000000000000000001e48d3494d0100000001a2296a7dd6000000026b30", unit.hex(records_field:sub(1, 32)))
          bytes = bytes .. records_field
        end
        client:send_frame(bytes)
        local answer = client:receive_frame()
        assert.equal("00000001" .. "00000001" .. unit.hex(batches.int(#frame[2], 2) .. frame[2]) .. "00000001" .. "00000000" .. "0000"
          .. "0000000000000000", unit.hex(answer):sub(1, 2 * (4 + 4 + 2 + #frame[2] + 4 + 4 + 2 + 8)))
        local want = {}
        for i, value in ipairs(frame[5]) do want[i] = { i - 1, frame[3], "k" .. (i - 1), value } end
        assert.same(want, stored(client, a))
      end)
    end
  end)

  for version = 0, 2 do
    local magic = version < 2 and 0 or 1
    local ts = magic == 0 and -1 or 1000
    local v = { version = version }
    local no_time = version >= 2 and -1 or nil

    describe(("version %d"):format(version), function()
      it("answers the offset of the first message, and stores one batch", function()
        local a = topic()
        local three = set(magic, { { key = "k", value = "v" }, { key = "", value = "" }, {} })
        assert.same({ 0, 0, no_time }, parts(produce(client, a, three, v)))
        assert.same({ 0, 3, no_time }, parts(produce(client, a, set(magic, { "w" }), v)))
        assert.same({ { 0, ts, "k", "v" }, { 1, ts, "", "" }, { 2, ts }, { 3, ts, nil, "w" } }, stored(client, a))
        local list = records.parse(requests.fetch(client, a).records)
        assert.same({ 2, 2, 0, 3, true }, { #list, list[1].magic, list[1].attributes, list[1].count, list[1].is_intact })
      end)

      it("has a throttle time from version 1 on", function()
        local a = topic()
        local answer = client:ask("Produce", version, requests.produce_body(version, { { a, { { 0, set(magic, { "v" }) } } } }))
        assert.equal(version >= 1 and 0 or nil, answer.throttle_time_ms)
      end)

      for codec = 1, 3 do
        it("takes wrappers, and keeps the codec: " .. records.CODECS[codec], function()
          local a = topic()
          local one = wrapper(magic, set(magic, { { key = "k", value = ("a"):rep(1000) }, "b" }), { codec = codec, offset = magic })
          assert.same({ 0, 0, no_time }, parts(produce(client, a, one, v)))
          assert.same({ 0, 2, no_time }, parts(produce(client, a, one, v)))
          assert.same({ 0, ts, "k", ("a"):rep(1000) }, stored(client, a)[1])
          assert.same({ 3, ts, nil, "b" }, stored(client, a)[4])
          local list = records.parse(requests.fetch(client, a).records)
          assert.same({ codec, 2, codec, 2 }, { list[1].codec, list[1].count, list[2].codec, list[2].count })
        end)
      end

      it("takes records of the other old format, and batches as clients of today send them", function()
        local a = topic()
        assert.equal(0, produce(client, a, set(1 - magic, { "old" }), v).base_offset)
        assert.equal(1, produce(client, a, batch { records = { "new" } }, v).base_offset)
        for codec = 1, 4 do
          assert.equal(codec + 1, produce(client, a, batch { records = { records.CODECS[codec] }, codec = codec }, v).base_offset)
        end
        local values = {}
        for i, record in ipairs(stored(client, a)) do values[i] = record[4] end
        assert.same({ "old", "new", "gzip", "snappy", "lz4", "zstd" }, values)
      end)

      it("stores nothing of records without a whole message, and says so with offset -1", function()
        local a = topic()
        local one = set(magic, { "v" })
        local long = messages.message { magic = magic, length = 1000 }
        for _, bytes in ipairs { "", one:sub(1, 11), one:sub(1, -2), batch():sub(1, -2), long } do
          assert.same({ 0, -1, no_time }, parts(produce(client, a, bytes, v)))
        end
        assert.equal(0, end_offset(a))
        assert.same({ 0, 0, no_time }, parts(produce(client, a, one .. one:sub(1, -2), v)))
        assert.equal(1, end_offset(a))
      end)

      local cases = {
        { "null records", requests.NULL, 87 },
        { "a wrong CRC", set(magic, { "a", { value = "b", crc_xor = 1 } }), 2 },
        { "a wrong CRC in a wrapper", wrapper(magic, set(magic, { "a", { value = "b", crc_xor = 1 } })), 2 },
        { "a wrong CRC of a wrapper", wrapper(magic, set(magic, { "a" }), { crc_xor = 1 }), 2 },
        { "an impossible size", messages.message { magic = magic, length = 13 }, 2 },
        { "format 3", messages.message { magic = 3 }, 2 },
        { "both old formats", set(0, { "a" }) .. set(1, { "b" }), 87 },
        { "a batch behind a message", set(magic, { "a" }) .. batch(), 87 },
        { "two wrappers", wrapper(magic, set(magic, { "a" })):rep(2), 87 },
        { "two batches", batch() .. batch(), 87 },
        { "a wrapper in a wrapper", wrapper(magic, wrapper(magic, set(magic, { "a" }))), 87 },
        { "a wrapper of nothing", wrapper(magic, ""), 87 },
        { "zstd in an old format", wrapper(magic, set(magic, { "a" }), { codec = 4 }), 87 },
        { "damaged gzip", wrapper(magic, "", { codec = 1, payload = "nonsense" }), -1 },
        { "codec 5", wrapper(magic, "", { codec = 5, payload = "x" }), -1 },
        { "lengths that do not fit", messages.message { magic = magic, body = batches.int(9, 4) .. batches.int(0, 4) }, -1 },
      }
      for _, case in ipairs(cases) do
        it(("answers %d to %s, and stores nothing"):format(case[3], case[1]), function()
          local a = topic()
          assert.same({ case[3], -1, no_time }, parts(produce(client, a, case[2], v)))
          assert.equal(0, end_offset(a))
        end)
      end

      it("answers 87 to messages without a key for a compacted topic", function()
        local a = topic { configs = { ["cleanup.policy"] = "compact" } }
        assert.equal(87, produce(client, a, set(magic, { { key = "k" }, "v" }), v).error_code)
        assert.equal(87, produce(client, a, wrapper(magic, set(magic, { { key = "k" }, "v" })), v).error_code)
        assert.equal(0, produce(client, a, set(magic, { { key = "k" }, { key = "", value = "v" } }), v).error_code)
        assert.equal(2, end_offset(a))
      end)

      it("answers 10 to a message, and to a batch made of messages, above max.message.bytes", function()
        local a = topic { configs = { ["max.message.bytes"] = "1000" } }
        local overhead = magic == 0 and 26 or 34
        assert.equal(10, produce(client, a, set(magic, { ("v"):rep(1001 - overhead) }), v).error_code)
        assert.equal(10, produce(client, a, set(magic, { ("v"):rep(480), ("v"):rep(480) }), v).error_code)
        assert.equal(10, produce(client, a, wrapper(magic, set(magic, { ("v"):rep(200000) })), v).error_code)
        assert.equal(0, produce(client, a, set(magic, { ("v"):rep(900) }), v).error_code)
        assert.equal(0, produce(client, a, wrapper(magic, set(magic, { ("v"):rep(90000) })), v).error_code)
        assert.equal(2, end_offset(a))
      end)

      it("is stamped by a topic with LogAppendTime", function()
        local a = topic { configs = { ["message.timestamp.type"] = "LogAppendTime" } }
        local before = os.time() * 1000 - 1000
        for _, bytes in ipairs { set(magic, { "a", "b" }), wrapper(magic, set(magic, { "a", "b" }), { offset = 1 }) } do
          local answer = produce(client, a, bytes, v)
          assert.equal(0, answer.error_code)
          if version >= 2 then assert.is_true(answer.log_append_time_ms >= before) end
        end
        local list = stored(client, a)
        assert.equal(4, #list)
        for _, record in ipairs(list) do assert.is_true(record[2] >= before) end
      end)

      for _, name in ipairs { "uncompressed", "gzip", "snappy", "lz4", "zstd" } do
        it("is stored in the topic's codec: " .. name, function()
          local a = topic { configs = { ["compression.type"] = name } }
          produce(client, a, set(magic, { "a", "b" }), v)
          produce(client, a, wrapper(magic, set(magic, { "c", "d" }), { offset = 1 }), v)
          local wanted = 0
          for codec, codec_name in ipairs(records.CODECS) do wanted = codec_name == name and codec or wanted end
          local list = records.parse(requests.fetch(client, a).records)
          assert.same({ 2, wanted, wanted }, { #list, list[1].codec, list[2].codec })
          assert.same({ 3, ts, nil, "d" }, stored(client, a)[4])
        end)
      end

      it("with acks 0 is not answered, and closes the connection when it fails", function()
        local a = topic()
        requests.send_produce(client, a, set(magic, { "v" }), { version = version, acks = 0 })
        assert.equal(1, end_offset(a))
        local other = broker:connect()
        requests.send_produce(other, a, set(magic, { { value = "v", crc_xor = 1 } }), { version = version, acks = 0 })
        assert.same({ nil, "closed" }, { other:receive_frame() })
        other:close()
        assert.equal(1, end_offset(a))
      end)

      it("keeps the order of a connection's records, converted ones and others", function()
        local a, ids, values = topic(), {}, {}
        for i = 1, 60 do
          values[i] = tostring(i)
          local is_old = i % 3 ~= 0
          local bytes = is_old and set(magic, { values[i], (i % 5 == 0 and ("x"):rep(100000) or nil) }) or batch { records = { values[i] } }
          ids[i] = requests.send_produce(client, a, bytes, { version = is_old and version or 9 })
        end
        for i = 1, 60 do client:answer("Produce", i % 3 ~= 0 and version or 9, ids[i]) end
        local got = {}
        for _, record in ipairs(stored(client, a)) do
          if #record[4] < 10 then got[#got + 1] = record[4] end
        end
        assert.same(values, got)
      end)

      it("closes the connection on a request that ends early, at every length, and stores nothing", function()
        local a = topic()
        assert.is_nil(malformed.first_accepted_prefix(broker, "Produce", version,
          requests.produce_body(version, { { a, { { 0, set(magic, { "v" }) } } } })))
        assert.equal(0, end_offset(a))
      end)
    end)
  end

  it("takes LZ4 of format 0 with the old checksum and with the right one, and of format 1 with the right one", function()
    local a = topic()
    assert.equal(0, produce(client, a, messages.cases.format_0_lz4_old_checksum, { version = 1 }).base_offset)
    assert.equal(1, produce(client, a, messages.cases.format_0_lz4, { version = 1 }).base_offset)
    assert.equal(2, produce(client, a, messages.cases.format_1_lz4, { version = 2 }).base_offset)
    assert.same({ { 0, -1, nil, "hi" }, { 1, -1, nil, "hi" }, { 2, 1000, nil, "hi" } }, stored(client, a))
    local packed = batches.compress(3, set(1, { "a" }))
    local wrong = wrapper(1, "", { codec = 3, payload = packed:sub(1, 6) .. "\26" .. packed:sub(8) })
    assert.equal(-1, produce(client, a, wrong, { version = 2 }).error_code)
  end)

  it("answers 32 to timestamps out of the topic's range", function()
    local a = topic { configs = { ["message.timestamp.before.max.ms"] = "3600000", ["message.timestamp.after.max.ms"] = "3600000" } }
    local now = os.time() * 1000
    for ts, code in pairs { [now - 7200000] = 32, [now + 7200000] = 32, [now] = 0, [-1] = 0 } do
      assert.equal(code, produce(client, a, set(1, { { value = "a", ts = now }, { value = "b", ts = ts } }), { version = 2 }).error_code)
    end
    assert.equal(0, produce(client, a, set(0, { "a" }), { version = 1 }).error_code)
    assert.equal(5, end_offset(a))
  end)

  it("is answered for each partition by itself", function()
    local a = topic { partitions = 3 }
    local answer = client:ask("Produce", 2, requests.produce_body(2, { { a, { { 2, set(1, { "a" }) }, { 0, set(1, { { crc_xor = 1 } }) },
      { 1, "" }, { 9, set(1, { "a" }) } } } }))
    local by_index = {}
    for _, part in ipairs(answer.responses[1].partition_responses) do by_index[part.index] = parts(part) end
    assert.same({ [2] = { 0, 0, -1 }, [0] = { 2, -1, -1 }, [1] = { 0, -1, -1 }, [9] = { 3, -1, -1 } }, by_index)
  end)

  it("packs with the level that the topic has", function()
    local words = {}
    for i = 1, 20000 do words[i] = tostring(i * 7919 % 10007) end
    local text = table.concat(words, " ")
    for _, case in ipairs { { "gzip", "1", "9" }, { "lz4", "1", "12" }, { "zstd", "1", "19" } } do
      local sizes = {}
      for i = 2, 3 do
        local a = topic { configs = { ["compression.type"] = case[1], ["compression." .. case[1] .. ".level"] = case[i] } }
        for _, bytes in ipairs { set(1, { text }), batch { records = { text } } } do
          assert.equal(0, produce(client, a, bytes, { version = 2 }).error_code)
        end
        local list = records.parse(requests.fetch(client, a).records)
        sizes[i] = list[1].size
        assert.is_true(math.abs(list[1].size - list[2].size) < 20) -- converted or not
      end
      assert.is_true(sizes[3] < sizes[2], ("%s: %d bytes, then %d"):format(case[1], sizes[2], sizes[3]))
    end
  end)
end)
