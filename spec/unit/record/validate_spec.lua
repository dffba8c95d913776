-- SPDX-License-Identifier: Apache-2.0
-- What Produce answers to each odd batch. The cases and their answers are those recorded from Apache Kafka 4.4.0.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local C = batches.C
local batch, validate, cases = batches.batch, batches.validate, batches.cases

local CORRUPT, INVALID = "ERR_CORRUPT_BATCH", "ERR_INVALID_RECORD"

--- Code and message of refused batches, by name; each must leave the bytes alone and list no record errors.
local REFUSED = {
  { "wrong CRC", cases.bad_crc, CORRUPT },
  { "count too high", cases.count_lie, INVALID },
  { "count too low", batch { records = { "a", "b" }, count = 1, last_delta = 0 }, INVALID },
  { "last delta that is not count - 1", cases.last_delta_lie, INVALID },
  { "no bytes", "", INVALID },
  { "no records", batch { records = {} }, INVALID },
  { "count 0", batch { count = 0, last_delta = 0 }, INVALID },
  { "count -1", batch { count = -1 }, INVALID },
  { "last delta -1", batch { last_delta = -1, count = 1 }, INVALID },
  { "last delta of the smallest number", batch { last_delta = -2147483648LL, count = 1 }, INVALID },
  { "two batches", cases.two_batches, INVALID },
  { "a control batch", cases.control, INVALID },
  { "magic 3", batch { magic = 3 }, CORRUPT, "Invalid magic found in record: 3" },
  { "magic -1", batch { magic = -1 }, CORRUPT, "Invalid magic found in record: -1" },
  { "codec 5", batch { codec = 5, payload = "x" }, "ERR_DECOMPRESS" },
  { "codec 7", batch { codec = 7, payload = "x" }, "ERR_DECOMPRESS" },
  { "a length that ends in its header", batch { length = 40 }, CORRUPT },
  { "a length beyond its end", batch { length = 1000 }, INVALID },
  { "the largest length", batch { length = 2147483647 }, INVALID },
  { "length 0", batch { length = 0 }, CORRUPT, "Record size 0 is less than the minimum record overhead (14)" },
  { "length -1", batch { length = -1 }, CORRUPT, "Record size -1 is less than the minimum record overhead (14)" },
  { "a cut end", batch():sub(1, -4), INVALID },
  { "a cut header", batch():sub(1, 20), INVALID },
  { "12 bytes", batch():sub(1, 12), INVALID },
  { "base offset 9", batch { base = 9 }, INVALID },
  { "base offset -1", batch { base = -1 }, INVALID },
  { "a header without a key", batch { records = { { key = "k", value = "v", headers = { { nil, "x" } } } } }, INVALID },
  { "a producer id without a sequence", batch { producer_id = 77, producer_epoch = 0 }, INVALID },
  { "more records than its packed bytes can ever hold",
    batch { attributes = 1, payload = ("x"):rep(40), count = 2147483647, last_delta = 2147483646 }, INVALID },
  { "format 0", cases.format_0_lz4, INVALID },
  { "format 1", cases.format_1_gzip, INVALID },
  { "format 1 before format 2", cases.format_1_gzip .. batch(), INVALID },
  { "offset deltas that do not count from 0", batch { records = { "a", { value = "b", delta = 2 } } }, INVALID },
  { "a first offset delta of 1", batch { records = { { value = "a", delta = 1 } } }, INVALID },
  { "bytes between records and end", batch { payload = batches.record { value = "v" } .. "\0" }, INVALID },
}

--- Batches that are stored as they came.
local ACCEPTED = {
  { "one record", batch() },
  { "an attribute without a meaning", batch { attributes = 0x80 } },
  { "the delete horizon bit", batch { attributes = 0x40 } },
  { "attributes of the second byte", batch { attributes = 0x0100 } },
  { "a null value", batch { records = { {} } } },
  { "null and empty keys, values and header values", cases.null_vs_empty },
  { "timestamp -1", batch { ts = -1, max_ts = -1 } },
  { "a leader epoch", batch { leader_epoch = 7 } },
  { "a sequence without a producer id", batch { sequence = 5 } },
  { "producer id -2", batch { producer_id = -2, producer_epoch = 0, sequence = 0 } },
  { "a transaction", batch { attributes = C.BATCH_TRANSACTIONAL, producer_id = 1, producer_epoch = 0, sequence = 0 } },
  { "timestamps that run backwards", batch { records = { "a", "b" }, ts = 1000, step = -900, max_ts = 1000 } },
  { "gzip", batch { codec = C.CODEC_GZIP, records = { ("a"):rep(50), "b" } } },
  { "raw snappy", cases.snappy_raw },
  { "framed snappy", cases.snappy_framed },
  { "lz4", batch { codec = C.CODEC_LZ4, records = { ("a"):rep(50), "b" } } },
  { "zstd", batch { codec = C.CODEC_ZSTD, records = { ("a"):rep(50), "b" } } },
}

describe("a produced batch", function()
  for _, case in ipairs(REFUSED) do
    local name, bytes, code, message = unpack(case)
    it(("is refused with %s"):format(name), function()
      local result = validate(bytes)
      assert.equal(code, result.code)
      assert.equal(message, result.message)
      assert.same({}, result.errors)
      assert.equal(unit.hex(bytes), unit.hex(result.bytes))
      assert.equal(code, validate(bytes, { needs_records = true }).code)
    end)
  end

  for _, case in ipairs(ACCEPTED) do
    local name, bytes = unpack(case)
    it(("is accepted and left alone with %s"):format(name), function()
      for _, needs_records in ipairs { false, true } do
        local result = validate(bytes, { needs_records = needs_records })
        assert.equal("0", result.code)
        assert.equal(unit.hex(bytes), unit.hex(result.bytes))
        assert.equal(#bytes, tonumber(result.header.size))
        assert.is_nil(result.message)
        assert.equal(0, result.allocated)
      end
    end)
  end

  it("is refused in every truncated prefix, without harm", function()
    local bytes = cases.null_vs_empty
    for size = 0, #bytes - 1 do assert.equal(INVALID, validate(bytes:sub(1, size)).code) end
  end)

  it("is refused when any byte behind the leader epoch is changed", function()
    local bytes = cases.null_vs_empty
    for at = 18, #bytes do
      local byte = string.char(bit.bxor(bytes:byte(at), 0x80))
      assert.equal(CORRUPT, validate(bytes:sub(1, at - 1) .. byte .. bytes:sub(at + 1)).code)
    end
  end)

  it("may be followed by a cut piece, which does not belong to it", function()
    local bytes = batch()
    for _, rest in ipairs { "xxx", ("x"):rep(11), batch():sub(1, -2), batch():sub(1, 16) } do
      local result = validate(bytes .. rest)
      assert.equal("0", result.code)
      assert.equal(#bytes, tonumber(result.header.size))
    end
  end)

  it("may not be followed by an impossible one", function()
    local result = validate(batch() .. batch { length = 3 })
    assert.equal(CORRUPT, result.code)
    assert.equal("Record size 3 is less than the minimum record overhead (14)", result.message)
    assert.equal(CORRUPT, validate(batch() .. batch { magic = 9 }).code)
  end)

  it("gives the header that is stored", function()
    local header = validate(batch { records = { "a", "b" }, ts = 5, step = 2, producer_id = 9, producer_epoch = 3,
      sequence = 11, attributes = C.BATCH_TRANSACTIONAL }).header
    assert.equal(2, header.record_count)
    assert.equal(7, tonumber(header.max_timestamp))
    assert.equal(9, tonumber(header.producer_id))
    assert.equal(3, header.producer_epoch)
    assert.equal(11, header.base_sequence)
    assert.equal(C.BATCH_TRANSACTIONAL, header.attributes)
  end)

  it("may be a control batch when it is the broker's own", function()
    local marker = batch { attributes = C.BATCH_CONTROL + C.BATCH_TRANSACTIONAL, producer_id = 5, producer_epoch = 0,
      records = { { key = "\0\0\0\1", value = "\0\0\0\0\0\0" } } }
    assert.equal(INVALID, validate(marker).code)
    assert.equal("0", validate(marker, { allows_control = true }).code)
  end)
end)

describe("the size of a batch", function()
  it("may be max.message.bytes, header included, and no more", function()
    local rules = { max_message_bytes = 1000 }
    local exact = batch { records = { ("v"):rep(930) } }
    assert.equal(1000, #exact)
    assert.equal("0", validate(exact, rules).code)
    local larger = batch { records = { ("v"):rep(931) } }
    assert.equal(1001, #larger)
    assert.equal("ERR_BATCH_TOO_LARGE", validate(larger, rules).code)
  end)

  it("is measured compressed, and does not count what follows the batch", function()
    local rules = { max_message_bytes = 1000 }
    assert.equal("0", validate(batch { codec = C.CODEC_GZIP, records = { ("v"):rep(2000) } }, rules).code)
    assert.equal("0", validate(batch { records = { ("v"):rep(930) } } .. "xxx", rules).code)
  end)

  it("is looked at before the CRC", function()
    assert.equal("ERR_BATCH_TOO_LARGE", validate(cases.bad_crc, { max_message_bytes = 68 }).code)
    assert.equal(CORRUPT, validate(cases.bad_crc, { max_message_bytes = 69 }).code)
  end)
end)

describe("compressed records", function()
  -- Streams that begin as their codec does, and go on otherwise.
  local damaged = {}
  for codec, beginning in ipairs { "\31\139\8", "\10", "\4\34\77\24", "\40\181\47\253" } do
    damaged[codec] = batch { codec = codec, payload = beginning .. ("\255"):rep(20) }
  end

  it("that do not begin as their codec does are found at once", function()
    for codec = 1, 4 do
      for _, payload in ipairs { ("\255"):rep(20), "nonsense" } do
        -- "nonsense" is a snappy block that promises 110 bytes.
        local is_plausible = codec == C.CODEC_SNAPPY and payload == "nonsense"
        assert.equal(is_plausible and "0" or "ERR_DECOMPRESS", validate(batch { codec = codec, payload = payload }).code)
      end
    end
  end)

  it("that unpack to nothing are not the records that the header counts", function()
    local empty_gzip = unit.bytes "1f8b080000000000000303000000000000000000"
    local packed = batch { codec = C.CODEC_GZIP, payload = empty_gzip }
    assert.equal(INVALID, validate(packed, { needs_records = true }).code)
  end)

  it("are not unpacked when nothing needs them", function()
    for codec = 1, 4 do
      local result = validate(damaged[codec])
      assert.equal("0", result.code)
      assert.is_false(result.was_walked)
    end
  end)

  it("that are damaged are found when every record is looked at", function()
    for codec = 1, 4 do
      assert.equal("ERR_DECOMPRESS", validate(damaged[codec], { needs_records = true }).code)
      assert.equal("ERR_DECOMPRESS", validate(damaged[codec], { is_compacted = true }).code)
    end
  end)

  it("are walked like others when every record is looked at", function()
    for codec = 1, 4 do
      local function code(options)
        options.codec = codec
        return validate(batch(options), { needs_records = true }).code
      end
      assert.equal("0", code { records = { "a", "b" } })
      assert.equal(INVALID, code { records = { "a", "b" }, count = 3, last_delta = 2 })
      assert.equal(INVALID, code { records = { "a", "b" }, count = 1, last_delta = 0 })
      assert.equal(INVALID, code { records = { "a", { value = "b", delta = 3 } } })
      assert.equal(INVALID, code { records = { { value = "v", headers = { { nil, "x" } } } } })
    end
  end)

  it("of a compressed batch are at most max.decompressed.message.bytes long, as their length field counts", function()
    local rules = { max_record_bytes = 1000 }
    for codec = 1, 4 do
      assert.equal("0", validate(batch { codec = codec, records = { "a", ("v"):rep(993), "b" } }, rules).code)
      local verdict = validate(batch { codec = codec, records = { "a", ("v"):rep(994), "b" } }, rules)
      assert.equal("ERR_INVALID_RECORD", verdict.code)
    end
    assert.equal("0", validate(batch { records = { ("v"):rep(5000) } }, rules).code)
    assert.equal("0", validate(batch { codec = C.CODEC_GZIP, records = { ("v"):rep(900), ("v"):rep(900) } }, rules).code)
  end)

  it("are never unpacked beyond 100 times max.message.bytes", function()
    for codec = 1, 4 do
      local bomb = batch { codec = codec, records = { ("v"):rep(600000) } }
      local rules = { needs_records = true, max_message_bytes = #bomb }
      if codec == C.CODEC_SNAPPY then rules.max_message_bytes = nil end -- it cannot pack that much
      assert.equal(codec == C.CODEC_SNAPPY and "0" or "ERR_BATCH_TOO_LARGE", validate(bomb, rules).code)
      assert.equal("0", validate(bomb, { max_message_bytes = #bomb }).code)
    end
  end)

  it("in zstd are refused for requests older than the codec, before anything else of them", function()
    local zstd = batch { codec = C.CODEC_ZSTD }
    assert.equal("ERR_UNSUPPORTED_CODEC", validate(zstd, { refuses_zstd = true }).code)
    assert.equal("ERR_UNSUPPORTED_CODEC", validate(damaged[4], { refuses_zstd = true }).code)
    local wrong_crc = batch { codec = C.CODEC_ZSTD, payload = "x", crc_xor = 1 }
    assert.equal("ERR_UNSUPPORTED_CODEC", validate(wrong_crc, { refuses_zstd = true }).code)
    assert.equal("0", validate(batch { codec = C.CODEC_LZ4 }, { refuses_zstd = true }).code)
  end)
end)

describe("the log's message about a refused batch", function()
  it("names the partition and the reason", function()
    validate(batch { records = { "a" }, count = 2, last_delta = 1 })
    assert.equal("t-3: the 2 records of a batch are malformed, or not as many", ffi.string(C.error_last().message))
    validate(batch { base = 9 })
    assert.equal("t-3: base offset 9 in a produced batch", ffi.string(C.error_last().message))
  end)
end)
