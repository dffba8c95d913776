-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local C = batches.C

local FULL = batches.batch { base = 1234567890123LL, ts = 1700000000000LL, step = 7, records = { "a", "b", "c" },
  attributes = C.BATCH_TRANSACTIONAL, producer_id = 0x123456789abcdefLL, producer_epoch = 258, sequence = 16909060,
  leader_epoch = 77 }

describe("batch header", function()
  it("is read field by field", function()
    local code, header = batches.header(FULL)
    assert.equal("0", code)
    assert.equal(1234567890123LL, header.base_offset)
    assert.equal(#FULL, tonumber(header.size))
    assert.equal(77, header.leader_epoch)
    assert.equal(2, header.magic)
    assert.equal(C.BATCH_TRANSACTIONAL, header.attributes)
    assert.equal(2, header.last_offset_delta)
    assert.equal(1700000000000LL, header.base_timestamp)
    assert.equal(1700000000014LL, header.max_timestamp)
    assert.equal(0x123456789abcdefLL, header.producer_id)
    assert.equal(258, header.producer_epoch)
    assert.equal(16909060, header.base_sequence)
    assert.equal(3, header.record_count)
    assert.equal(batches.crc(FULL:sub(22)), header.crc)
  end)

  it("is written as it was read", function()
    local _, header = batches.header(FULL)
    local copy = unit.buffer(("\0"):rep(61) .. FULL:sub(62))
    C.batch_header_write(copy, header)
    assert.equal(unit.hex(FULL), unit.hex(copy, #FULL))
  end)

  it("does not mind bytes after the batch", function()
    local code, header = batches.header(FULL .. "more")
    assert.equal("0", code)
    assert.equal(#FULL, tonumber(header.size))
  end)

  it("is truncated in every prefix of the batch, and nothing is set", function()
    local header = ffi.new "struct batch_header"
    for size = 0, #FULL - 1 do
      local copy = unit.buffer(FULL:sub(1, size))
      assert.equal("ERR_TRUNCATED", batches.name(C.batch_header_read(copy, size, header)))
    end
    assert.equal(0, tonumber(header.size))
  end)

  it("can be looked at before the records are there", function()
    local header = ffi.new "struct batch_header"
    assert.equal(0, C.batch_header_peek(unit.buffer(FULL:sub(1, 61)), 61, header))
    assert.equal(#FULL, tonumber(header.size))
    assert.equal("ERR_TRUNCATED", batches.name(C.batch_header_peek(unit.buffer(FULL:sub(1, 60)), 60, header)))
  end)

  it("refuses lengths that no batch has", function()
    for _, length in ipairs { -1, -2147483648, 0, 13, 14, 48 } do
      assert.equal("ERR_CORRUPT_BATCH", (batches.header(batches.batch { length = length })))
    end
    assert.equal("0", (batches.header(batches.batch { length = 49 })))
    assert.equal("ERR_TRUNCATED", (batches.header(batches.batch { length = 2147483647 })))
  end)

  it("refuses formats that do not exist, and says when it is an old one", function()
    assert.equal("ERR_CORRUPT_BATCH", (batches.header(batches.batch { magic = 3 })))
    assert.equal("ERR_CORRUPT_BATCH", (batches.header(batches.batch { magic = -1 })))
    for _, name in ipairs { "format_0_lz4", "format_1_lz4", "format_1_gzip" } do
      assert.equal("ERR_UNSUPPORTED_FORMAT", (batches.header(batches.cases[name])))
    end
  end)

  it("describes itself in a line", function()
    local _, header = batches.header(batches.batch { base = 5, records = { "a", "b" } })
    local text = ffi.new "char[300]"
    C.batch_header_dump(header, text, 300)
    assert.truthy(ffi.string(text):find("batch offsets 5..6 count 2 size 77 format 2", 1, true))
    C.batch_header_dump(header, text, 10)
    assert.equal("batch off", ffi.string(text))
  end)
end)

describe("batch check", function()
  it("accepts a stored batch and gives its header", function()
    local header = ffi.new "struct batch_header"
    assert.equal(0, C.batch_check(unit.buffer(FULL), #FULL, header))
    assert.equal(3, header.record_count)
    assert.equal("0", batches.check(FULL .. "next"))
  end)

  it("accepts what only a broker writes: control batches, holes, empty batches", function()
    assert.equal("0", batches.check(batches.cases.control))
    local holes = batches.batch { base = 10, records = { { value = "x", delta = 4 } }, last_delta = 9 }
    assert.equal("0", batches.check(holes))
    assert.equal("0", batches.check(batches.batch { records = {}, last_delta = 3 }))
  end)

  it("finds every changed byte behind the leader epoch", function()
    for at = 17, #FULL - 1 do
      local copy = unit.buffer(FULL)
      copy[at] = bit.bxor(copy[at], 0x10)
      assert.equal("ERR_CORRUPT_BATCH", batches.name(C.batch_check(copy, #FULL, nil)), "byte " .. at)
    end
  end)

  it("finds every truncated prefix", function()
    for size = 0, #FULL - 1 do assert.equal("ERR_TRUNCATED", batches.check(FULL:sub(1, size))) end
  end)

  it("refuses offsets that cannot be, although the CRC is right", function()
    assert.equal("ERR_CORRUPT_BATCH", batches.check(batches.batch { base = -1 }))
    assert.equal("ERR_CORRUPT_BATCH", batches.check(batches.batch { base = 0x7fffffffffffffffLL }))
    assert.equal("ERR_CORRUPT_BATCH", batches.check(batches.batch { base = 0x7ffffffffffffff0LL, last_delta = 15 }))
    assert.equal("0", batches.check(batches.batch { base = 0x7ffffffffffffff0LL, last_delta = 14 }))
    assert.equal("ERR_CORRUPT_BATCH", batches.check(batches.batch { last_delta = -1 }))
    assert.equal("ERR_CORRUPT_BATCH", batches.check(batches.batch { count = -1 }))
  end)
end)

describe("batch patching", function()
  it("sets base offset and leader epoch, and the CRC stays right", function()
    local copy = unit.buffer(FULL)
    C.batch_set_offsets(copy, 99999999999LL, 12)
    local patched = ffi.string(copy, #FULL)
    local _, header = batches.header(patched)
    assert.equal(99999999999LL, header.base_offset)
    assert.equal(12, header.leader_epoch)
    assert.equal("0", batches.check(patched))
    assert.equal(FULL:sub(17), patched:sub(17))
  end)

  it("stamps with the broker's time and renews the CRC", function()
    local copy = unit.buffer(FULL)
    C.batch_set_append_time(copy, #FULL, 1800000000000LL)
    local patched = ffi.string(copy, #FULL)
    local _, header = batches.header(patched)
    assert.equal("0", batches.check(patched))
    assert.equal(1800000000000LL, header.max_timestamp)
    assert.equal(C.BATCH_TRANSACTIONAL + C.BATCH_APPEND_TIME, header.attributes)
    assert.equal(1700000000000LL, header.base_timestamp)
    for _, record in ipairs(batches.read(patched)) do assert.equal(1800000000000LL, record.timestamp) end
  end)

  it("changes nothing when type and maximum are right, even bits without a meaning", function()
    local bytes = batches.batch { attributes = 0x80, ts = 5 }
    local copy = unit.buffer(bytes)
    assert.is_false(C.batch_set_timestamps(copy, #bytes, false, 5))
    assert.equal(unit.hex(bytes), unit.hex(copy, #bytes))
  end)

  it("drops bits without a meaning when it changes something, and keeps the others", function()
    local bytes = batches.batch { attributes = 0x01f8, codec = C.CODEC_LZ4, ts = 5 }
    local copy = unit.buffer(bytes)
    assert.is_true(C.batch_set_timestamps(copy, #bytes, false, 6))
    local _, header = batches.header(ffi.string(copy, #bytes))
    assert.equal(0x73, header.attributes)
    assert.equal("0", batches.check(ffi.string(copy, #bytes)))
  end)
end)
