-- SPDX-License-Identifier: Apache-2.0
-- Message sets of old producers become one batch: what it says, and what is refused with which error.
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"
local C = messages.C

local convert, set, wrapper, message = messages.convert, messages.set, messages.wrapper, messages.message
local NOW = tonumber(batches.NOW)

local function header_of(result)
  local code, header = batches.header(result.bytes)
  assert.equal("0", code)
  return header
end

--- { timestamp, key, value } of all records of a converted set.
local function records_of(result)
  local list = {}
  for i, record in ipairs(assert(batches.read(result.bytes))) do
    list[i] = { tonumber(record.timestamp), record.key or "null", record.value or "null" }
    assert.same({}, record.headers)
    assert.equal(i - 1, tonumber(record.offset))
  end
  return list
end

local function code_of(bytes, options) return convert(bytes, options).code end

describe("the format of a message set", function()
  local function format(bytes) return batches.name(C.message_set_format(bytes, #bytes)) end

  it("is that of its first message", function()
    assert.equal("0", format(set(0, { "a" })))
    assert.equal("1", format(set(1, { "a" }) .. set(0, { "b" })))
    assert.equal("2", format(batches.batch()))
  end)

  it("is none where there is no whole message", function()
    local one = set(0, { "a" })
    for size = 0, #one - 1 do assert.equal("ERR_NOT_FOUND", format(one:sub(1, size))) end
  end)

  it("is corrupt with a size below 14, and with formats -1 and 3", function()
    assert.equal("ERR_CORRUPT_BATCH", format(message { magic = 0, length = 13 }))
    assert.equal("ERR_CORRUPT_BATCH", format(message { magic = 3 }))
    assert.equal("ERR_CORRUPT_BATCH", format(message { magic = -1 }))
  end)
end)

describe("a message set of an old producer", function()
  for magic = 0, 1 do
    local ts = magic == 0 and -1 or 1000

    it(("becomes one batch: format %d"):format(magic), function()
      local result = convert(set(magic, { { key = "k", value = "v" }, { value = "w" }, { key = "" }, { value = "" } }))
      assert.equal("0", result.code)
      assert.equal("0", batches.check(result.bytes))
      local header = header_of(result)
      assert.same({ 2, 0, 0, 3, 4 }, { header.magic, tonumber(header.base_offset), header.attributes, header.last_offset_delta,
        header.record_count })
      assert.same({ -1, -1, -1 }, { tonumber(header.producer_id), header.producer_epoch, header.base_sequence })
      assert.same({ ts, ts }, { tonumber(header.base_timestamp), tonumber(header.max_timestamp) })
      assert.same({ { ts, "k", "v" }, { ts, "null", "w" }, { ts, "", "null" }, { ts, "null", "" } }, records_of(result))
    end)

    for codec = 0, 3 do
      it(("keeps its codec: format %d, codec %d"):format(magic, codec), function()
        local inner = set(magic, { ("a"):rep(500), "b" })
        local result = convert(codec == 0 and inner or wrapper(magic, inner, { codec = codec, offset = 1 }))
        assert.equal("0", result.code)
        assert.equal(codec, bit.band(header_of(result).attributes, 7))
        assert.same({ { ts, "null", ("a"):rep(500) }, { ts, "null", "b" } }, records_of(result))
      end)

      for target = 0, 4 do
        it(("gets the topic's codec: format %d, from codec %d to %d"):format(magic, codec, target), function()
          local inner = set(magic, { ("a"):rep(500), "b" })
          local result = convert(codec == 0 and inner or wrapper(magic, inner, { codec = codec, offset = 1 }), { codec = target })
          assert.equal("0", result.code)
          assert.equal(target, bit.band(header_of(result).attributes, 7))
          assert.equal(2, #records_of(result))
        end)
      end
    end

    it(("may end with a cut message: format %d"):format(magic), function()
      local bytes = set(magic, { "a", "b" })
      assert.equal(2, #records_of(convert(bytes .. bytes:sub(1, 20))))
    end)

    it(("does not have to count its offsets: format %d"):format(magic), function()
      local inner = set(magic, { { value = "a", offset = 7 }, { value = "b", offset = 7 }, { value = "c", offset = 3 } })
      assert.equal(3, #records_of(convert(inner)))
      assert.equal(3, #records_of(convert(wrapper(magic, inner, { offset = 9 }))))
      assert.equal(3, #records_of(convert(wrapper(magic, inner, { offset = 0 }))))
    end)

    it(("is refused with a wrong CRC, of any message: format %d"):format(magic), function()
      assert.equal("ERR_CORRUPT_BATCH", code_of(set(magic, { "a", { value = "b", crc_xor = 1 } })))
      assert.equal("ERR_CORRUPT_BATCH", code_of(wrapper(magic, set(magic, { "a" }), { crc_xor = 1 })))
      assert.equal("ERR_CORRUPT_BATCH", code_of(wrapper(magic, set(magic, { "a", { value = "b", crc_xor = 1 } }))))
    end)

    it(("is refused with a message of another format: format %d"):format(magic), function()
      assert.equal("ERR_INVALID_RECORD", code_of(set(magic, { "a" }) .. set(1 - magic, { "b" })))
      assert.equal("ERR_INVALID_RECORD", code_of(set(magic, { "a" }) .. batches.batch()))
      assert.equal("ERR_INVALID_RECORD", code_of(wrapper(magic, set(1 - magic, { "a" }))))
      assert.equal("ERR_CORRUPT_BATCH", code_of(set(magic, { "a" }) .. batches.batch { crc_xor = 1 }))
      assert.equal("ERR_CORRUPT_BATCH", code_of(set(magic, { "a" }) .. message { magic = 3 }))
    end)

    it(("is refused with anything beside a wrapper: format %d"):format(magic), function()
      local one = wrapper(magic, set(magic, { "a" }))
      assert.equal("ERR_INVALID_RECORD", code_of(one .. one))
      assert.equal("ERR_INVALID_RECORD", code_of(set(magic, { "a" }) .. one))
      assert.equal("ERR_INVALID_RECORD", code_of(one .. set(magic, { "a" })))
      assert.equal("0", code_of(one .. one:sub(1, -2)))
    end)

    it(("is refused with zstd, a wrapper in a wrapper, and a wrapper of nothing: format %d"):format(magic), function()
      assert.equal("ERR_INVALID_RECORD", code_of(wrapper(magic, set(magic, { "a" }), { codec = 4 })))
      assert.equal("ERR_INVALID_RECORD", code_of(wrapper(magic, wrapper(magic, set(magic, { "a" })))))
      assert.equal("ERR_INVALID_RECORD", code_of(wrapper(magic, "")))
      assert.equal("ERR_INVALID_RECORD", code_of(message { magic = magic, attributes = 1 }))
    end)

    it(("is refused with damaged compression and with codecs that are none: format %d"):format(magic), function()
      for codec = 1, 3 do
        assert.equal("ERR_DECOMPRESS", code_of(wrapper(magic, "", { codec = codec, payload = "\255\255nonsense" })))
      end
      assert.equal("ERR_DECOMPRESS", code_of(wrapper(magic, "", { codec = 5, payload = "x" })))
    end)

    it(("is refused with lengths that do not fit: format %d"):format(magic), function()
      assert.equal("ERR_MALFORMED", code_of(message { magic = magic, body = batches.int(9, 4) .. batches.int(0, 4) }))
      local bad = message { magic = magic, body = batches.int(9, 4) .. batches.int(0, 4) }
      assert.equal("ERR_MALFORMED", code_of(wrapper(magic, set(magic, { "a" }) .. bad)))
    end)

    it(("needs a key in every message for a compacted topic: format %d"):format(magic), function()
      local compacted = { is_compacted = true }
      assert.equal("0", code_of(set(magic, { { key = "", value = "a" }, { key = "k" } }), compacted))
      assert.equal("ERR_INVALID_RECORD", code_of(set(magic, { { key = "k" }, "a" }), compacted))
      assert.equal("ERR_INVALID_RECORD", code_of(wrapper(magic, set(magic, { { key = "k" }, "a" })), compacted))
    end)

    it(("is stamped by a topic with LogAppendTime: format %d"):format(magic), function()
      local result = convert(set(magic, { "a", "b" }), { is_append_time = true })
      assert.equal("0", result.code)
      local header = header_of(result)
      assert.equal(C.BATCH_APPEND_TIME, header.attributes)
      assert.same({ ts, NOW }, { tonumber(header.base_timestamp), tonumber(header.max_timestamp) })
      assert.same({ { NOW, "null", "a" }, { NOW, "null", "b" } }, records_of(result))
      assert.equal(0, result.max_delta)
    end)
  end

  it("of format 1 says which message has the largest timestamp", function()
    local result = convert(set(1, { { value = "a", ts = 5 }, { value = "b", ts = 9 }, { value = "c", ts = 9 } }))
    local header = header_of(result)
    assert.same({ 5, 9, 1 }, { tonumber(header.base_timestamp), tonumber(header.max_timestamp), result.max_delta })
    assert.equal(-1, convert(set(0, { "a" })).max_delta)
  end)

  it("of format 1 has its timestamps in the topic's range, at both ends", function()
    local range = { timestamp_before_max_ms = 1000, timestamp_after_max_ms = 500 }
    for ts, code in pairs { [NOW - 1001] = "ERR_INVALID_TIMESTAMP", [NOW - 1000] = "0", [NOW + 500] = "0",
      [NOW + 501] = "ERR_INVALID_TIMESTAMP", [-1] = "0", [-2] = "ERR_INVALID_TIMESTAMP" } do
      assert.equal(code, code_of(set(1, { { value = "a", ts = NOW }, { value = "b", ts = ts } }), range))
      assert.equal(code, code_of(wrapper(1, set(1, { { value = "a", ts = NOW }, { value = "b", ts = ts } }), { offset = 1 }), range))
    end
    range.is_append_time = true
    assert.equal("0", code_of(set(1, { { value = "a", ts = 5 } }), range))
  end)

  it("of format 1 is refused with a timestamp below -1 also where the topic does not look", function()
    assert.equal("0", code_of(set(1, { { value = "a", ts = -1 } })))
    assert.equal("ERR_MALFORMED", code_of(set(1, { { value = "a", ts = -2 } })))
    assert.equal("ERR_MALFORMED", code_of(set(1, { { value = "a", ts = -2 } }), { is_append_time = true }))
  end)

  it("of format 1 may not say LogAppendTime to a topic that stamps, nor without a timestamp", function()
    local function stamped(ts) return set(1, { { value = "a", ts = ts, attributes = 8 } }) end
    assert.equal("0", code_of(stamped(NOW)))
    assert.equal("ERR_INVALID_TIMESTAMP", code_of(stamped(-1)))
    assert.equal("ERR_INVALID_TIMESTAMP", code_of(stamped(NOW), { is_append_time = true }))
    local inner = set(1, { { value = "a", ts = NOW } })
    assert.equal("ERR_INVALID_TIMESTAMP", code_of(wrapper(1, inner, { attributes = 8, ts = NOW }), { is_append_time = true }))
    assert.same({ { 77, "null", "a" } }, records_of(convert(wrapper(1, inner, { attributes = 8, ts = 77 }))))
    assert.equal("0", code_of(message { magic = 0, attributes = 8, value = "v" }, { is_append_time = true }))
  end)

  it("is refused for its timestamps if one of a wrapper's messages is, whatever the others are", function()
    local options = { is_compacted = true, timestamp_before_max_ms = 1000 }
    local no_key, old = { value = "a", ts = NOW }, { key = "k", ts = 5 }
    assert.equal("ERR_INVALID_RECORD", code_of(set(1, { no_key, old }), options))
    assert.equal("ERR_INVALID_TIMESTAMP", code_of(wrapper(1, set(1, { no_key, old }), { offset = 1 }), options))
    assert.equal("ERR_INVALID_TIMESTAMP", code_of(wrapper(1, set(1, { old, no_key }), { offset = 1 }), options))
  end)

  it("has messages, and becomes a batch, of max.message.bytes at most", function()
    local one = set(0, { ("v"):rep(974) })
    assert.equal(1000, #one)
    assert.equal("0", code_of(one, { max_message_bytes = 1044 })) -- 61 + 983
    assert.equal("ERR_BATCH_TOO_LARGE", code_of(one, { max_message_bytes = 1043 }))
    assert.equal("ERR_BATCH_TOO_LARGE", code_of(one, { max_message_bytes = 999 }))
    local many = {}
    for i = 1, 100 do many[i] = ("v"):rep(20) end
    assert.equal("0", code_of(set(0, many), { max_message_bytes = 5000 }))
    assert.equal("ERR_BATCH_TOO_LARGE", code_of(set(0, many), { max_message_bytes = 2000 }))
    assert.equal("0", code_of(set(0, many), { max_message_bytes = 2000, codec = 1 }))
  end)

  it("is too large if a wrapper holds more than 100 times max.message.bytes", function()
    local inner = set(0, { ("x"):rep(99974) })
    assert.equal(100000, #inner)
    assert.equal("0", code_of(wrapper(0, inner), { max_message_bytes = 1000 }))
    assert.equal("ERR_BATCH_TOO_LARGE", code_of(wrapper(0, inner .. set(0, { "a" })), { max_message_bytes = 1000 }))
  end)

  it("takes the level of the topic's codec, and refuses what is none", function()
    assert.equal("0", code_of(set(0, { "a" }), { codec = 1, level = 9 }))
    assert.equal("ERR_INVALID", code_of(set(0, { "a" }), { codec = 1, level = 10 }))
  end)
end)
