-- SPDX-License-Identifier: Apache-2.0
-- Fetch 0 to 3, for clients before Kafka 0.11: what was stored comes as message sets of format 0 or 1.
local batches = require "spec.unit.record.batches"
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local malformed = require "spec.support.malformed"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local batch, fetch, append = records.batch, requests.fetch, requests.append

describe("Fetch of an old client", function()
  local broker, client, count = nil, nil, 0

  local function topic(options, name)
    count = count + 1
    return requests.create(client, name or ("topic-%d"):format(count), options)
  end

  setup(function() broker = brokers.start { set = { "workers=2" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  local long, long_total

  --- A topic of batches of all codecs, some of which are larger than what is read at a time; and how many records it has.
  local function long_topic()
    if not long then
      long, long_total = topic(), 0
      local noise = records.noise(260000, 1)
      for i = 1, 12 do
        local list = {}
        for j = 1, 4 do
          list[j] = { key = tostring(long_total), value = noise:sub(1, i % 4 == 0 and -1 or 20000 + i) }
          long_total = long_total + 1
        end
        append(client, long, batch { records = list, codec = i % 3 })
      end
    end
    return long, long_total
  end

  --- The answer, taken apart byte by byte: everything but the records field, and that.
  local function split(frame, name, has_throttle)
    local head = 4 + (has_throttle and 4 or 0) + 4 + 2 + #name + 4 + 4 + 2 + 8 + 4
    return unit.hex(frame:sub(1, head)), frame:sub(head + 1)
  end

  -- The frames of kafka-python 1.4.7 told to speak to such brokers: topic, 500 ms, 1 byte, offset 0, 1 MiB.
  for _, case in ipairs {
    { "0.8.2", "old082", 0, "000100000000000100126b61666b612d707974686f6e2d312e342e37ffffffff000001f4000000010000000100066f6c6430383"
      .. "20000000100000000000000000000000000100000" },
    { "0.9", "old09", 1, "000100010000000100126b61666b612d707974686f6e2d312e342e37ffffffff000001f4000000010000000100056f6c643039000"
      .. "0000100000000000000000000000000100000" },
    { "0.10", "old010", 2, "000100020000000100126b61666b612d707974686f6e2d312e342e37ffffffff000001f4000000010000000100066f6c643031"
      .. "300000000100000000000000000000000000100000" },
    { "0.10.1", "old011", 3, "000100030000000100126b61666b612d707974686f6e2d312e342e37ffffffff000001f4000000010320000000000001000"
      .. "66f6c643031310000000100000000000000000000000000100000" },
  } do
    it(("of %s, in its own bytes, gives it what a client of its kind had written"):format(case[1]), function()
      local name, version = case[2], case[3]
      local magic = version < 2 and 0 or 1
      local a = topic(nil, name)
      local sent = messages.set(magic, { { key = "k0", value = "None-0" }, { value = "None-1" } })
      requests.produce(client, a, sent, { version = math.min(version, 2) })
      client:send_frame(unit.bytes(case[4]))
      local head, got = split(client:receive_frame(), name, version >= 1)
      assert.equal("00000001" .. (version >= 1 and "00000000" or "") .. "00000001" .. unit.hex(batches.int(#name, 2) .. name)
        .. "00000001" .. "00000000" .. "0000" .. "0000000000000002" .. unit.hex(batches.int(#sent, 4)), head)
      assert.equal(unit.hex(sent), unit.hex(got))
    end)
  end

  for version = 0, 3 do
    local magic = version < 2 and 0 or 1
    local function ts(value) return magic == 1 and value or nil end
    local v = { version = version }

    --- { offset, ts, key, value } of the messages from an offset on.
    local function read(of, part, options)
      local answer = fetch(client, of, part, setmetatable({ version = version }, { __index = options }))
      assert.equal(0, answer.error_code)
      local list, rest = messages.parse(answer.records)
      assert.equal("", rest)
      for _, one in ipairs(list) do assert.same({ magic, true }, { one.magic, one.is_intact }) end
      local out = {}
      for i, one in ipairs(messages.flatten(answer.records)) do out[i] = { one.offset, one.ts, one.key, one.value } end
      return out, answer
    end

    local function offsets(...)
      local out = {}
      for i, one in ipairs((read(...))) do out[i] = one[1] end
      return out
    end

    describe(("version %d"):format(version), function()
      it("gives messages, and the high watermark", function()
        local a = topic()
        append(client, a, batch { records = { { key = "k", value = "v", headers = { { "h", "1" } } }, { key = "" } }, ts = 1000, step = 5 })
        append(client, a, batch { records = { "w" }, ts = 3000 })
        local list, answer = read(a)
        assert.same({ { 0, ts(1000), "k", "v" }, { 1, ts(1005), "" }, { 2, ts(3000), nil, "w" } }, list)
        assert.same({ 0, 3 }, { answer.partition_index, answer.high_watermark })
        assert.is_nil(answer.last_stable_offset)
      end)

      it("has a throttle time from version 1 on", function()
        local a = topic()
        assert.equal(version >= 1 and 0 or nil, requests.fetch_all(client, { { a } }, v).throttle_time_ms)
      end)

      it("begins with the offset that was asked for, in the middle of a batch too", function()
        local a = topic()
        for i = 0, 2 do append(client, a, batch { records = { "a", "b", "c" }, ts = i }) end
        for offset = 0, 8 do
          local got = offsets(a, { fetch_offset = offset })
          assert.same({ offset, 8, 9 - offset }, { got[1], got[#got], #got })
        end
        assert.same({}, offsets(a, { fetch_offset = 9 }))
      end)

      for codec = 1, 3 do
        it("gives a packed batch as one wrapper, whole also from its middle: " .. records.CODECS[codec], function()
          local a = topic()
          append(client, a, batch { records = { "a", "b" } })
          append(client, a, batch { records = { { key = "k", value = ("x"):rep(2000) }, "d", "e" }, codec = codec, ts = 7, step = 1 })
          assert.same({ 2, 3, 4 }, offsets(a, { fetch_offset = 3 }))
          local list, answer = read(a)
          assert.same({ 2, ts(7), "k", ("x"):rep(2000) }, list[3])
          assert.same({ 4, ts(9), nil, "e" }, list[5])
          local head = messages.parse(answer.records)[3]
          assert.same({ 4, codec, ts(9) }, { head.offset, head.attributes, head.ts })
          if codec == 3 then
            local at = magic == 0 and 27 or 35
            assert.equal(magic == 0 and "04224d1860401a" or "04224d18604082", unit.hex(head.bytes:sub(at, at + 6)))
          end
        end)
      end

      it("gives the broker's timestamps where the topic has LogAppendTime", function()
        local a = topic { configs = { ["message.timestamp.type"] = "LogAppendTime" } }
        append(client, a, batch { records = { "a", "b" }, ts = 5, step = 5 })
        append(client, a, batch { records = { "c" }, ts = 5, codec = 1 })
        local list, answer = read(a)
        assert.equal(3, #list)
        for _, one in ipairs(list) do
          if magic == 1 then assert.is_true(one[2] > 1000000000000) end
        end
        local heads = messages.parse(answer.records)
        assert.same(magic == 1 and { 8, 9 } or { 0, 1 }, { heads[1].attributes, heads[3].attributes })
      end)

      it("answers 1 beyond the end, and 3 where there is no such partition", function()
        local a = topic()
        append(client, a, batch())
        for offset, code in pairs { [1] = 0, [2] = 1, [-1] = 1 } do
          local answer = fetch(client, a, { fetch_offset = offset }, v)
          assert.same({ code, code == 0 and 1 or -1, "" }, { answer.error_code, answer.high_watermark, answer.records })
        end
        for _, answer in ipairs { fetch(client, a, { partition = 1 }, v), fetch(client, requests.UNKNOWN, {}, v) } do
          assert.same({ 3, -1, "" }, { answer.error_code, answer.high_watermark, answer.records })
        end
      end)

      it("gives whole batches within the partition's limit", function()
        local a = topic()
        local one = batch { records = { "a", "b" } }
        for _ = 1, 3 do append(client, a, one) end
        assert.same({ 0, 1 }, offsets(a, { partition_max_bytes = #one }))
        assert.same({ 0, 1 }, offsets(a, { partition_max_bytes = 2 * #one - 1 }))
        assert.same({ 0, 1, 2, 3 }, offsets(a, { partition_max_bytes = 2 * #one }))
      end)

      if version < 3 then
        it("gives nothing of a batch above the partition's limit", function()
          local a = topic()
          local one = batch()
          append(client, a, one)
          for _, limit in ipairs { 0, 1, #one - 1 } do assert.same({}, offsets(a, { partition_max_bytes = limit })) end
          assert.same({ 0 }, offsets(a, { partition_max_bytes = #one }))
        end)

        it("has no limit for all partitions together", function()
          local a = topic { partitions = 2 }
          for i = 0, 1 do append(client, a, batch { records = { ("x"):rep(5000) } }, { partition = i }) end
          local answer = requests.fetch_all(client, { { a, { {}, { partition = 1 } } } }, v)
          for _, part in ipairs(answer.responses[1].partitions) do assert.equal(1, #messages.parse(part.records)) end
        end)
      else
        it("gives one batch whatever the limits are, and nothing else then", function()
          local a = topic { partitions = 2 }
          for i = 0, 1 do
            for _ = 1, 2 do append(client, a, batch { records = { "a", "b" } }, { partition = i }) end
          end
          for _, limits in ipairs { { 0, 100000 }, { 1, 100000 }, { 100000, 0 }, { 100000, 1 } } do
            local answer = requests.fetch_all(client, { { a, { { partition_max_bytes = limits[1] },
              { partition = 1, partition_max_bytes = limits[1] } } } }, { version = 3, max_bytes = limits[2] })
            local parts = answer.responses[1].partitions
            assert.same({ 0, 0, 2, "" }, { parts[1].error_code, parts[2].error_code, #messages.parse(parts[1].records), parts[2].records })
          end
        end)
      end

      it("never gives more bytes than a limit, but for the first batch", function()
        -- 1,000 records of 8 bytes are 26 or 34 and one each in these formats.
        local a, tiny = topic(), {}
        for i = 1, 1000 do tiny[i] = "x" end
        local one = batch { records = tiny }
        for _ = 1, 5 do append(client, a, one) end
        local answer = fetch(client, a, { partition_max_bytes = 3 * #one }, v)
        local list, rest = messages.parse(answer.records)
        assert.same({ 1000, "" }, { #list, rest })
        local size = #list[1].bytes
        answer = fetch(client, a, { partition_max_bytes = 5 * #one }, v)
        assert.equal(math.max(1000, math.floor(5 * #one / size)), #messages.parse(answer.records))
        assert.same({ 1500, 1501 }, { unpack(offsets(a, { fetch_offset = 1500 }), 1, 2) })
      end)

      it("reads on to the end, batch by batch or in large steps", function()
        local a, total = long_topic()
        for _, limit in ipairs { 1300000, 10000000 } do
          local offset = 0
          while offset < total do
            local list = read(a, { fetch_offset = offset, partition_max_bytes = limit })
            assert.is_true(#list > 0)
            for _, one in ipairs(list) do
              if one[1] >= offset then
                assert.same({ offset, tostring(offset) }, { one[1], one[3] })
                offset = offset + 1
              end
            end
          end
          assert.equal(total, offset)
        end
      end)

      it("answers 76 for a topic with compression.type zstd, and for that alone", function()
        local z, a = topic { configs = { ["compression.type"] = "zstd" } }, topic()
        append(client, z, batch())
        append(client, a, batch())
        local answer = requests.fetch_all(client, { { z }, { a } }, v)
        local parts = {}
        for _, entry in ipairs(answer.responses) do parts[entry.topic] = entry.partitions[1] end
        assert.same({ 76, -1, nil }, { parts[z.name].error_code, parts[z.name].high_watermark, parts[z.name].records })
        assert.equal(0, parts[a.name].error_code)
        assert.same({ "v" }, messages.values(parts[a.name].records))
      end)

      it("gives what lies before a batch of zstd, and answers 76 where that is the first", function()
        local a = topic()
        for codec = 0, 4 do append(client, a, batch { records = { "a", "b" }, codec = codec }) end
        append(client, a, batch())
        assert.same({ 0, 1, 2, 3, 4, 5, 6, 7 }, offsets(a))
        for offset = 8, 9 do
          local answer = fetch(client, a, { fetch_offset = offset }, v)
          assert.same({ 76, -1, nil }, { answer.error_code, answer.high_watermark, answer.records })
        end
        assert.same({ 10 }, offsets(a, { fetch_offset = 10 }))
      end)

      it("answers 2 for a batch that cannot be unpacked, and gives what lies before it", function()
        local a = topic()
        append(client, a, batch { records = { "a" } })
        append(client, a, batch { codec = 1, payload = "\31\139\8damaged" })
        append(client, a, batch { records = { "c" } })
        assert.same({ 0 }, offsets(a))
        assert.equal(2, fetch(client, a, { fetch_offset = 1 }, v).error_code)
        assert.same({ 2 }, offsets(a, { fetch_offset = 2 }))
        assert.equal(0, fetch(client, a, { fetch_offset = 1 }, { version = 4 }).error_code)
      end)

      it("answers 10 for a batch that holds more than 100 times max.message.bytes", function()
        local a = topic { configs = { ["max.message.bytes"] = "2000" } }
        append(client, a, batch { codec = 1, records = { ("x"):rep(150000) } })
        append(client, a, batch { codec = 1, records = { ("x"):rep(250000) } })
        assert.same({ 0 }, offsets(a))
        assert.equal(10, fetch(client, a, { fetch_offset = 1 }, v).error_code)
      end)

      it("gives what was written while max.message.bytes was larger", function()
        local a = topic()
        local noise = records.noise(300000, 1)
        append(client, a, batch { records = { noise } })
        append(client, a, batch { codec = 1, records = { noise } })
        append(client, a, batch { records = { "c" } })
        configs.set(client, a, { ["max.message.bytes"] = "1000" })
        for offset = 0, 1 do assert.equal(offset, offsets(a, { fetch_offset = offset })[1]) end
        assert.same({ 2 }, offsets(a, { fetch_offset = 2 }))
      end)

      it("waits for bytes until the time is up, or until they come", function()
        local a = topic()
        append(client, a, batch { records = { "a" } })
        local list = read(a, {}, { max_wait_ms = 50, min_bytes = 100000 })
        assert.equal(1, #list)
        local id = client:request("Fetch", version, requests.fetch_body(version, { { a, { { fetch_offset = 1 } } } },
          { max_wait_ms = 600000, min_bytes = 1 }))
        local other = broker:connect()
        append(other, a, batch { records = { "b" } })
        other:close()
        local answer = client:answer("Fetch", version, id).responses[1].partitions[1]
        assert.same({ "b" }, messages.values(answer.records))
      end)

      it("is the same for several partitions at once, of several topics", function()
        local a, b = topic { partitions = 3 }, topic()
        for i = 0, 2 do append(client, a, batch { records = { "a" .. i, "-" } }, { partition = i }) end
        append(client, b, batch { records = { "b" }, codec = 2 })
        local wanted = { { partition = 2 }, {}, { partition = 7 }, { partition = 1, fetch_offset = 1 } }
        local answer = requests.fetch_all(client, { { a, wanted }, { b } }, v)
        local got = {}
        for _, entry in ipairs(answer.responses) do
          for _, part in ipairs(entry.partitions) do
            got[#got + 1] = { part.partition_index, part.error_code, table.concat(messages.values(part.records), " ") }
          end
        end
        assert.same({ { 2, 0, "a2 -" }, { 0, 0, "a0 -" }, { 7, 3, "" }, { 1, 0, "-" }, { 0, 0, "b" } }, got)
      end)

      it("leaves nothing behind when the connection closes while it is answered", function()
        local a = topic()
        append(client, a, batch { codec = 1, records = { ("x"):rep(5000000) } })
        for _ = 1, 5 do
          local gone = broker:connect()
          gone:request("Fetch", version, requests.fetch_body(version, { { a } }))
          gone:close()
        end
        assert.is_true(requests.is_well(broker))
        assert.same({ 0 }, offsets(a))
      end)

      it("closes the connection on a request that ends early, at every length", function()
        local a = topic()
        assert.is_nil(malformed.first_accepted_prefix(broker, "Fetch", version, requests.fetch_body(version, { { a } })))
      end)
    end)
  end

  it("gives less at a time where much has to be unpacked, and all of it in the end", function()
    local a = topic()
    local bomb = batch { codec = 1, records = { ("x"):rep(40000000) } }
    for _ = 1, 9 do append(client, a, bomb) end
    -- 256 MiB are 6.7 of these batches, the seventh is begun.
    local got = messages.heads(fetch(client, a, {}, { version = 1 }).records)
    assert.same({ 7, 6 }, { #got, got[7].offset })
    assert.equal(2, #messages.heads(fetch(client, a, { fetch_offset = 7 }, { version = 1 }).records))
  end)

  it("does not keep the broker from stopping when much has to be unpacked for many", function()
    local own = brokers.start()
    local one = own:connect()
    local a = requests.create(one, "a")
    for _ = 1, 6 do append(one, a, batch { codec = 1, records = { ("x"):rep(40000000) } }) end
    local waiting = {}
    for i = 1, 300 do
      waiting[i] = own:connect()
      waiting[i]:request("Fetch", 1, requests.fetch_body(1, { { a } }))
    end
    for _, client_ in ipairs(waiting) do client_:close() end
    one:close()
    assert.equal(0, own:stop())
  end)

  it("is refused with zstd to version 3 only: from version 4 on the batches come", function()
    local z = topic { configs = { ["compression.type"] = "zstd" } }
    append(client, z, batch { records = { "a" } })
    for version = 0, 10 do
      local answer = fetch(client, z, {}, { version = version })
      assert.equal(version < 4 and 76 or 0, answer.error_code)
      if version >= 4 then assert.same({ "a" }, records.values(answer.records)) end
    end
  end)

  it("gives the head of a message where all that was read are transaction markers", function()
    local own = brokers.start { set = { "workers=1" } }
    local writer = own:connect()
    local a = requests.create(writer, "markers", {})
    append(writer, a, batch { records = { "a" } })
    writer:close()
    own:kill()
    -- A client may not write markers: they are put behind the log, where recovery finds them.
    local marker = batch { base = 1, leader_epoch = 0, attributes = 0x30, producer_id = 5, producer_epoch = 0,
      records = { { key = "\0\0\0\1", value = "\0\0\0\0\0\0" } } }
    local file = assert(io.open(own.data .. "/markers-0/00000000000000000000.log", "ab"))
    file:write(marker)
    file:close()
    own = own:restart()
    local reader = own:connect()
    append(reader, a, batch { records = { "c" } })
    for version = 0, 3 do
      local one = fetch(reader, a, { fetch_offset = 1, partition_max_bytes = #marker }, { version = version })
      assert.same({ 0, 3, "ffffffffffffffff" .. "0000003d" }, { one.error_code, one.high_watermark, unit.hex(one.records) })
      assert.same({ "c" }, messages.values(fetch(reader, a, { fetch_offset = 1 }, { version = version }).records))
      assert.same({ "a", "c" }, messages.values(fetch(reader, a, {}, { version = version }).records))
    end
    reader:close()
    assert.equal(0, own:stop())
  end)
end)
