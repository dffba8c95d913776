-- SPDX-License-Identifier: Apache-2.0
-- Reading and writing message sets of formats 0 and 1: what Apache Kafka's encoder made, wrappers, offsets, timestamps,
-- and what cannot be.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local cjson = require "cjson"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"
local C = messages.C

local read, set, wrapper, message = messages.read, messages.set, messages.wrapper, messages.message

local function text(value)
  if value == nil or value == cjson.null then return nil end
  return unit.bytes(value)
end

--- Golden sets of formats 0 and 1: bytes, whether compressed, magic, codec and all messages.
local golden = {}
for line in io.lines "spec/data/golden-records.jsonl" do
  local case = cjson.decode(line)
  local first = case.batches[1]
  if first.magic < 2 then
    local want = {}
    for _, batch in ipairs(case.batches) do
      for _, record in ipairs(batch.records) do
        want[#want + 1] = { offset = record.offset, timestamp = record.timestamp, attributes = 0, magic = first.magic,
          key = text(record.key), value = text(record.value) }
      end
    end
    golden[#golden + 1] = { name = case.case, bytes = unit.bytes(case.hex), magic = first.magic, codec = first.codec, want = want,
      last_offset = case.batches[#case.batches].last_offset, max_timestamp = first.max_timestamp }
  end
end

local function fill(out, fields)
  local one = ffi.new "struct message"
  one.offset, one.timestamp, one.attributes, one.magic = fields.offset, fields.timestamp, fields.attributes or 0, fields.magic
  one.key, one.key_size = fields.key, fields.key and #fields.key or -1
  one.value, one.value_size = fields.value, fields.value and #fields.value or -1
  return C.message_put(out, one)
end

--- Writes messages through message_put().
local function write(list, base)
  local out = ffi.new "struct record_buffer"
  C.record_buffer_init(out, 1000000)
  for _, fields in ipairs(list) do
    local one = setmetatable({ offset = fields.offset - (base or 0) }, { __index = fields })
    assert.equal(0, fill(out, one))
  end
  local bytes = ffi.string(out.bytes, out.size)
  C.record_buffer_destroy(out)
  return bytes
end

--- Writes a wrapper through message_put_wrapper().
local function write_wrapper(case, inner)
  local out, head = ffi.new "struct record_buffer", ffi.new "struct message"
  C.record_buffer_init(out, 1000000)
  head.offset, head.timestamp, head.magic = case.last_offset, case.max_timestamp, case.magic
  head.attributes = C.codec_from_name(case.codec)
  assert.equal(0, C.message_put_wrapper(out, head, inner, #inner))
  local bytes = ffi.string(out.bytes, out.size)
  C.record_buffer_destroy(out)
  return bytes
end

describe("golden message sets", function()
  it("are 8: each of formats 0 and 1 with no codec, gzip, snappy and lz4", function()
    local names = {}
    for i, case in ipairs(golden) do names[i] = case.name end
    assert.same({ "magic0-none", "magic0-gzip", "magic0-snappy", "magic0-lz4", "magic1-none", "magic1-gzip", "magic1-snappy",
      "magic1-lz4" }, names)
  end)

  for _, case in ipairs(golden) do
    it("give every message: " .. case.name, function()
      assert.same(case.want, read(case.bytes))
    end)

    it("give the messages that are whole, of every piece from the start: " .. case.name, function()
      for size = 0, #case.bytes - 1 do
        local part = assert(read(case.bytes:sub(1, size)))
        assert.is_true(#part < #case.want)
        for i, one in ipairs(part) do assert.same(case.want[i], one) end
      end
    end)

    if case.codec == "none" then
      it("are written again byte by byte: " .. case.name, function()
        assert.equal(unit.hex(case.bytes), unit.hex(write(case.want)))
      end)
    else
      it("are written again with the same fields: " .. case.name, function()
        local base = case.magic > 0 and case.want[1].offset or 0
        local again = write_wrapper(case, write(case.want, base))
        assert.same(case.want, read(again))
        -- What comes before the packed bytes is the same, but for sizes and CRC; and in it the frame's header.
        local at = case.magic > 0 and 27 or 19
        assert.equal(unit.hex(case.bytes:sub(1, 8)), unit.hex(again:sub(1, 8)))
        assert.equal(unit.hex(case.bytes:sub(17, at + 3)), unit.hex(again:sub(17, at + 3)))
        if case.codec == "lz4" then assert.equal(unit.hex(case.bytes:sub(at + 8, at + 14)), unit.hex(again:sub(at + 8, at + 14))) end
      end)
    end
  end
end)

describe("a message set", function()
  it("has a CRC-32 of zlib: 0xcbf43926 of the digits 1 to 9", function()
    assert.equal(0xcbf43926, C.crc32_zlib("123456789", 9))
    assert.equal(0, C.crc32_zlib("", 0))
  end)

  it("keeps null and empty apart, in keys and values", function()
    for magic = 0, 1 do
      local list = assert(read(set(magic, { { key = nil, value = nil }, { key = "", value = "" }, { key = "k", value = "v" } })))
      assert.same({ nil, nil }, { list[1].key, list[1].value })
      assert.same({ "", "" }, { list[2].key, list[2].value })
      assert.same({ "k", "v" }, { list[3].key, list[3].value })
    end
  end)

  it("has no timestamps in format 0, whatever its attributes say", function()
    local list = assert(read(message { magic = 0, attributes = 8, value = "v" }))
    assert.equal(-1, list[1].timestamp)
  end)

  it("may be empty, or less than a message", function()
    assert.same({}, read "")
    assert.same({}, read(("\0"):rep(11)))
  end)

  it("is refused with a message of 13 bytes, and takes one of 14", function()
    local _, code = read(message { magic = 0, value = "", length = 13 })
    assert.equal("ERR_CORRUPT_BATCH", code)
    assert.equal(1, #assert(read(message { magic = 0 })))
    _, code = read(message { magic = 0, length = -1 })
    assert.equal("ERR_CORRUPT_BATCH", code)
  end)

  it("is refused where a key or a value does not fit, by one byte", function()
    local int = batches.int
    for magic = 0, 1 do
      for _, body in ipairs { int(5, 4) .. "key" .. int(0, 4), int(-1, 4) .. int(4, 4) .. "val", int(0x7fffffff, 4) .. int(0, 4),
        int(0, 4) .. int(0x7fffffff, 4), int(-1, 4) .. "\0\0\0" } do
        local _, code = read(message { magic = magic, body = body })
        assert.equal(#body < 8 and magic == 0 and "ERR_CORRUPT_BATCH" or "ERR_MALFORMED", code)
      end
      assert.equal("key", assert(read(message { magic = magic, body = int(3, 4) .. "key" .. int(0, 4) }))[1].key)
    end
  end)

  it("is refused in format 1 when it ends before its timestamp and lengths", function()
    for size = 14, 21 do
      local body = "\1\0" .. ("\0"):rep(size - 6)
      local _, code = read(batches.int(0, 8) .. batches.int(size, 4) .. batches.int(messages.crc(body), 4) .. body)
      assert.equal("ERR_MALFORMED", code)
    end
  end)

  it("is refused as another format when it is one", function()
    local _, code = read(message { magic = 2, value = "v" })
    assert.equal("ERR_UNSUPPORTED_FORMAT", code)
  end)
end)

describe("a wrapper", function()
  it("of format 0 has absolute offsets inside", function()
    local list = assert(read(wrapper(0, set(0, { "a", "b" }, { offset = 70 }), { offset = 71 })))
    assert.same({ 70, 71 }, { list[1].offset, list[2].offset })
  end)

  it("of format 1 has the offset of its last message, from which the others count", function()
    local inner = set(1, { { value = "a", offset = 0 }, { value = "b", offset = 2 }, { value = "c", offset = 5 } })
    local list = assert(read(wrapper(1, inner, { offset = 105 })))
    assert.same({ 100, 102, 105 }, { list[1].offset, list[2].offset, list[3].offset })
  end)

  it("of format 1 at offset 0 counts from 0: some producers did not fill it in", function()
    local list = assert(read(wrapper(1, set(1, { "a", "b" }), { offset = 0 })))
    assert.same({ 0, 1 }, { list[1].offset, list[2].offset })
  end)

  it("of format 1 is refused with an offset below that of its last message, unless it is 0", function()
    local inner = set(1, { "a", "b", "c" })
    assert.equal(3, #assert(read(wrapper(1, inner, { offset = 2 }))))
    local _, code = read(wrapper(1, inner, { offset = 1 }))
    assert.equal("ERR_INVALID_RECORD", code)
    _, code = read(wrapper(1, inner, { offset = -5 }))
    assert.equal("ERR_INVALID_RECORD", code)
  end)

  it("with LogAppendTime gives its timestamp to all", function()
    local inner = set(1, { { value = "a", ts = 5 }, { value = "b", ts = 6 } })
    local stamped = assert(read(wrapper(1, inner, { offset = 1, ts = 99, attributes = 8 })))
    assert.same({ 99, 99, 8 }, { stamped[1].timestamp, stamped[2].timestamp, stamped[1].attributes })
    local created = assert(read(wrapper(1, inner, { offset = 1, ts = 99 })))
    assert.same({ 5, 6 }, { created[1].timestamp, created[2].timestamp })
  end)

  it("is opened with every codec but zstd", function()
    for magic = 0, 1 do
      for codec = 1, 3 do
        local list = assert(read(wrapper(magic, set(magic, { "a", "b" }), { codec = codec, offset = 1 })))
        assert.same({ "a", "b" }, { list[1].value, list[2].value })
      end
      local _, code = read(wrapper(magic, set(magic, { "a" }), { codec = 4 }))
      assert.equal("ERR_INVALID_RECORD", code)
      for codec = 5, 7 do
        _, code = read(wrapper(magic, "", { codec = codec, payload = "x" }))
        assert.equal("ERR_DECOMPRESS", code)
      end
    end
  end)

  it("is opened with raw snappy", function()
    local inner = set(0, { "a" })
    local raw = string.char(#inner, (#inner - 1) * 4) .. inner -- a length, and one literal
    assert.equal("a", assert(read(wrapper(0, inner, { codec = 2, payload = raw })))[1].value)
  end)

  it("is refused without a value, and with nothing inside", function()
    for magic = 0, 1 do
      local _, code = read(message { magic = magic, attributes = 1 })
      assert.equal("ERR_INVALID_RECORD", code)
      _, code = read(wrapper(magic, ""))
      assert.equal("ERR_INVALID_RECORD", code)
      _, code = read(wrapper(magic, ("\0"):rep(11)))
      assert.equal("ERR_INVALID_RECORD", code)
    end
  end)

  it("is refused with a wrapper inside", function()
    for magic = 0, 1 do
      local _, code = read(wrapper(magic, wrapper(magic, set(magic, { "a" }))))
      assert.equal("ERR_INVALID_RECORD", code)
    end
  end)

  it("is refused with a wrong CRC or an impossible size inside", function()
    local _, code = read(wrapper(1, set(1, { { value = "a", crc_xor = 1 } })))
    assert.equal("ERR_CORRUPT_BATCH", code)
    _, code = read(messages.cases.format_1_gzip_bad_crc_inside)
    assert.equal("ERR_CORRUPT_BATCH", code)
    _, code = read(wrapper(0, set(0, { "a" }) .. message { magic = 0, length = 13 }))
    assert.equal("ERR_CORRUPT_BATCH", code)
  end)

  it("ignores a cut message at the end inside", function()
    local inner = set(0, { "a", "b" })
    assert.equal(1, #assert(read(wrapper(0, inner:sub(1, -2)))))
  end)

  it("gives a message of the other format unread", function()
    local list = assert(read(wrapper(1, set(0, { "a" }))))
    assert.same({ 0, nil, nil }, { list[1].magic, list[1].key, list[1].value })
  end)

  it("is not unpacked beyond the limit", function()
    local inner = set(0, { ("x"):rep(5000) })
    assert.equal(1, #assert(read(wrapper(0, inner), #inner)))
    local _, code = read(wrapper(0, inner), #inner - 1)
    assert.equal("ERR_LIMIT", code)
  end)
end)

describe("LZ4 in a wrapper", function()
  it("of format 0 is read with the old header checksum, the right one, and any other", function()
    assert.same({ "hi" }, { assert(read(messages.cases.format_0_lz4_old_checksum))[1].value })
    assert.same({ "hi" }, { assert(read(messages.cases.format_0_lz4))[1].value })
    local packed = batches.compress(3, set(0, { "a" }))
    for checksum = 0, 255, 51 do
      local payload = packed:sub(1, 6) .. string.char(checksum) .. packed:sub(8)
      assert.equal("a", assert(read(wrapper(0, "", { codec = 3, payload = payload })))[1].value)
    end
  end)

  it("of format 1 is read with the right checksum only", function()
    assert.equal("hi", assert(read(messages.cases.format_1_lz4))[1].value)
    local packed = batches.compress(3, set(1, { "a" }))
    local _, code = read(wrapper(1, "", { codec = 3, payload = packed:sub(1, 6) .. "\26" .. packed:sub(8) }))
    assert.equal("ERR_DECOMPRESS", code)
  end)

  it("is written with checksum 1a in format 0, and 82 in format 1", function()
    for magic, checksum in pairs { [0] = "04224d1860401a", "04224d18604082" } do
      local case = { magic = magic, codec = "lz4", last_offset = 0, max_timestamp = 1 }
      local bytes = write_wrapper(case, set(magic, { "a" }))
      local at = magic > 0 and 35 or 27
      assert.equal(checksum, unit.hex(bytes:sub(at, at + 6)))
    end
  end)

  it("of format 0 is read with a content size in the header", function()
    -- Flags 68: blocks are independent, the content's size is there; one stored block.
    local inner = set(0, { "a" })
    local function little(value, size)
      return (batches.int(value, size):reverse())
    end
    local frame = "\4\34\77\24" .. "\104\64" .. little(#inner, 8) .. "\0" .. little(#inner - 2 ^ 31, 4) .. inner .. ("\0"):rep(4)
    assert.equal("a", assert(read(wrapper(0, "", { codec = 3, payload = frame })))[1].value)
  end)

  it("of format 0 is refused when its header is damaged or cut", function()
    local packed = batches.compress(3, set(0, { "a" }))
    for _, payload in ipairs { packed:sub(1, 6), packed:sub(1, 7), "\4\34\77\24" .. "\0" .. packed:sub(6), "\4\34\77\25" .. packed:sub(5),
      "\4\34\77\24\104\64" } do
      local _, code = read(wrapper(0, "", { codec = 3, payload = payload }))
      assert.equal("ERR_DECOMPRESS", code)
    end
  end)
end)
