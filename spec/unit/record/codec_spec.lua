-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local C = batches.C

local CODECS = { gzip = C.CODEC_GZIP, snappy = C.CODEC_SNAPPY, lz4 = C.CODEC_LZ4, zstd = C.CODEC_ZSTD }
local NAMES = { "gzip", "snappy", "lz4", "zstd" }

--- Bytes that no codec can shorten, the same in every run.
local function noise(size)
  local out, state = {}, 12345
  for i = 1, size do
    state = (state * 1103515245 + 12345) % 2147483648
    out[i] = string.char(math.floor(state / 65536) % 256)
  end
  return table.concat(out)
end

local TEXT = ("the quick brown fox jumps over the lazy dog, %d times; "):rep(200)
local PLAIN = { "", "a", "ab", TEXT, ("\0"):rep(100000), noise(70000), noise(40) .. ("x"):rep(70000) .. noise(40) }

describe("codec names", function()
  it("are those of Kafka's configuration, with the numbers of the attributes", function()
    for codec, name in ipairs(NAMES) do
      assert.equal(name, ffi.string(C.codec_name(codec)))
      assert.equal(codec, C.codec_from_name(name))
    end
    assert.equal(0, C.codec_from_name "none")
  end)

  it("do not exist for anything else", function()
    assert.equal(C.ERR_NOT_FOUND, C.codec_from_name "LZ4")
    assert.equal(C.ERR_NOT_FOUND, C.codec_from_name "")
    assert.is_true(C.codec_name(5) == nil)
    assert.is_true(C.codec_name(-1) == nil)
  end)
end)

for _, name in ipairs(NAMES) do
  local codec = CODECS[name]

  describe(name, function()
    it("unpacks what it packed", function()
      for _, plain in ipairs(PLAIN) do
        local packed = assert(batches.compress(codec, plain))
        local got, code = batches.decompress(codec, packed, 200000)
        assert.equal("0", batches.name(code))
        assert.is_true(got == plain)
      end
    end)

    it("makes text smaller", function()
      assert.is_true(#batches.compress(codec, TEXT) < #TEXT / 10)
    end)

    it("unpacks to exactly the limit, and not to one byte more", function()
      for _, plain in ipairs { TEXT, ("\0"):rep(4096), ("\0"):rep(65536), noise(70000) } do
        local packed = batches.compress(codec, plain)
        assert.is_true((batches.decompress(codec, packed, #plain)) == plain)
        local got, code, capacity = batches.decompress(codec, packed, #plain - 1)
        assert.is_nil(got)
        assert.equal("ERR_LIMIT", batches.name(code))
        assert.is_true(capacity <= #plain - 1)
      end
    end)

    it("refuses every truncated prefix", function()
      local packed = batches.compress(codec, TEXT)
      local allowed = { [0] = codec == C.CODEC_ZSTD } -- no frame at all is an empty stream to zstd
      if codec == C.CODEC_SNAPPY then allowed[16] = true end -- a framing without blocks
      for size = 0, #packed - 1 do
        local _, code = batches.decompress(codec, packed:sub(1, size), 200000)
        if not allowed[size] then assert.equal("ERR_DECOMPRESS", batches.name(code), "prefix of " .. size) end
      end
    end)

    it("refuses nonsense", function()
      for _, bytes in ipairs { "nonsense", ("\255"):rep(20), ("\0"):rep(20), noise(100) } do
        local got, code = batches.decompress(codec, bytes, 200000)
        assert.is_nil(got)
        assert.equal("ERR_DECOMPRESS", batches.name(code))
      end
    end)

    it("stops a bomb at the limit, and never allocates more", function()
      local bomb = batches.compress(codec, ("\0"):rep(20 * 1024 * 1024))
      assert.is_true(#bomb < 1100000)
      local got, code, capacity = batches.decompress(codec, bomb, 1024 * 1024)
      assert.is_nil(got)
      assert.equal("ERR_LIMIT", batches.name(code))
      assert.is_true(capacity <= 1024 * 1024)
    end)

    it("takes the levels of its range and no others", function()
      local lowest, highest = ffi.new "int[1]", ffi.new "int[1]"
      C.codec_level_range(codec, lowest, highest)
      if name == "snappy" then
        assert.equal(lowest[0], highest[0])
        return
      end
      local levels = { lowest[0], 1, 5, 9, highest[0] }
      for _, level in ipairs(levels) do
        local packed = assert(batches.compress(codec, TEXT, level))
        assert.is_true((batches.decompress(codec, packed, 200000)) == TEXT)
      end
      for _, level in ipairs { lowest[0] - 1, highest[0] + 1 } do
        local packed, code = batches.compress(codec, TEXT, level)
        assert.is_nil(packed)
        assert.equal("ERR_INVALID", batches.name(code))
      end
    end)

    it("appends to what the buffer holds", function()
      local packed = batches.compress(codec, TEXT)
      local out = ffi.new "struct record_buffer"
      C.record_buffer_init(out, 2 * #TEXT)
      assert.equal(0, C.codec_decompress(codec, packed, #packed, out))
      assert.equal(0, C.codec_decompress(codec, packed, #packed, out))
      assert.is_true(ffi.string(out.bytes, out.size) == TEXT .. TEXT)
      assert.equal("ERR_LIMIT", batches.name(C.codec_decompress(codec, packed, #packed, out)))
      C.record_buffer_destroy(out)
    end)
  end)
end

describe("level ranges", function()
  local function range(codec)
    local lowest, highest = ffi.new "int[1]", ffi.new "int[1]"
    C.codec_level_range(codec, lowest, highest)
    return { lowest[0], highest[0] }
  end

  it("are Kafka's", function()
    assert.same({ -1, 9 }, range(C.CODEC_GZIP))
    assert.same({ 1, 17 }, range(C.CODEC_LZ4))
    assert.same({ -131072, 22 }, range(C.CODEC_ZSTD))
  end)
end)

describe("codec numbers without a codec", function()
  it("cannot be unpacked or packed", function()
    for _, codec in ipairs { 5, 7, -1 } do
      assert.equal("ERR_DECOMPRESS", batches.name(select(2, batches.decompress(codec, "x", 100))))
      assert.equal("ERR_INVALID", batches.name(select(2, batches.compress(codec, "x"))))
    end
  end)
end)

describe("gzip of several members", function()
  it("is one stream", function()
    local packed = batches.compress(C.CODEC_GZIP, "one ") .. batches.compress(C.CODEC_GZIP, "two")
    assert.equal("one two", (batches.decompress(C.CODEC_GZIP, packed, 100)))
  end)

  it("ends before bytes that begin no member", function()
    assert.equal("one", (batches.decompress(C.CODEC_GZIP, batches.compress(C.CODEC_GZIP, "one") .. "\0\0\0", 100)))
  end)

  it("is refused when the second is damaged", function()
    local packed = batches.compress(C.CODEC_GZIP, "one ") .. batches.compress(C.CODEC_GZIP, "two"):sub(1, -3)
    assert.equal("ERR_DECOMPRESS", batches.name(select(2, batches.decompress(C.CODEC_GZIP, packed, 100))))
  end)

  it("is refused when the checksum is wrong", function()
    local packed = batches.compress(C.CODEC_GZIP, "one")
    packed = packed:sub(1, -8) .. "\1" .. packed:sub(-6)
    assert.equal("ERR_DECOMPRESS", batches.name(select(2, batches.decompress(C.CODEC_GZIP, packed, 100))))
  end)
end)

describe("snappy", function()
  local RAW = unit.bytes "05" .. unit.bytes "10" .. "hello" -- length 5, literal of 5
  local FRAME = unit.bytes "82534e41505059000000000100000001"

  it("is read raw", function()
    assert.equal("hello", (batches.decompress(C.CODEC_SNAPPY, RAW, 5)))
  end)

  it("is read in the Java library's framing, of several blocks, with versions in either byte order", function()
    local block = unit.bytes "00000007" .. RAW
    assert.equal("hello", (batches.decompress(C.CODEC_SNAPPY, FRAME .. block, 10)))
    assert.equal("hellohello", (batches.decompress(C.CODEC_SNAPPY, FRAME .. block .. block, 10)))
    local swapped = unit.bytes "82534e41505059000100000001000000"
    assert.equal("hello", (batches.decompress(C.CODEC_SNAPPY, swapped .. block, 10)))
  end)

  it("is read when framed streams were joined", function()
    local block = unit.bytes "00000007" .. RAW
    assert.equal("hellohello", (batches.decompress(C.CODEC_SNAPPY, FRAME .. block .. FRAME .. block, 10)))
  end)

  it("is written in the framing, in blocks of 32 KiB", function()
    local packed = batches.compress(C.CODEC_SNAPPY, ("\0"):rep(32768 + 1))
    assert.equal(unit.hex(FRAME), unit.hex(packed:sub(1, 16)))
    local first = packed:byte(17) * 16777216 + packed:byte(18) * 65536 + packed:byte(19) * 256 + packed:byte(20)
    assert.equal(unit.hex "\0\0\0\3\1\0\0", unit.hex(packed:sub(21 + first)))
  end)

  it("with a length that its bytes cannot make is refused before anything is allocated", function()
    local lie = unit.bytes "ffffffff07" .. unit.bytes "10" .. "hello"
    local _, code, capacity = batches.decompress(C.CODEC_SNAPPY, lie, 0x7fffffff)
    assert.equal("ERR_DECOMPRESS", batches.name(code))
    assert.equal(0, capacity)
  end)

  it("with a block length beyond its end is refused", function()
    for _, length in ipairs { "00000008", "ffffffff", "7fffffff" } do
      local _, code = batches.decompress(C.CODEC_SNAPPY, FRAME .. unit.bytes(length) .. RAW, 1000)
      assert.equal("ERR_DECOMPRESS", batches.name(code))
    end
  end)
end)

describe("lz4", function()
  it("is written as Java's reader wants it: independent blocks, no sizes, no checksums", function()
    local packed = batches.compress(C.CODEC_LZ4, TEXT)
    assert.equal("04224d18604082", unit.hex(packed:sub(1, 7)))
    assert.equal("00000000", unit.hex(packed:sub(-4)))
  end)

  it("with a wrong header checksum is refused", function()
    local packed = batches.compress(C.CODEC_LZ4, TEXT)
    local _, code = batches.decompress(C.CODEC_LZ4, packed:sub(1, 6) .. "\26" .. packed:sub(8), 200000)
    assert.equal("ERR_DECOMPRESS", batches.name(code))
  end)

  it("of several frames is one stream", function()
    local packed = batches.compress(C.CODEC_LZ4, "one ") .. batches.compress(C.CODEC_LZ4, "two")
    assert.equal("one two", (batches.decompress(C.CODEC_LZ4, packed, 100)))
  end)
end)

describe("zstd", function()
  -- A frame without its size: magic, descriptor 0, window, then raw blocks.
  local function frame(window, ...)
    local out = { unit.bytes "28b52ffd00", string.char(window) }
    local blocks = { ... }
    for i, block in ipairs(blocks) do
      local head = #block * 8 + (i == #blocks and 1 or 0)
      out[#out + 1] = string.char(head % 256, math.floor(head / 256) % 256, math.floor(head / 65536)) .. block
    end
    return table.concat(out)
  end

  it("of several frames is one stream", function()
    local packed = batches.compress(C.CODEC_ZSTD, "one ") .. batches.compress(C.CODEC_ZSTD, "two")
    assert.equal("one two", (batches.decompress(C.CODEC_ZSTD, packed, 100)))
  end)

  it("is read when a frame does not say its size", function()
    assert.equal("one two", (batches.decompress(C.CODEC_ZSTD, frame(0x58, "one ", "two"), 100)))
  end)

  it("is read with a window of 128 MiB, which is not allocated", function()
    local plain, _, capacity = batches.decompress(C.CODEC_ZSTD, frame(0x88, "one ", "two"), 100)
    assert.equal("one two", plain)
    assert.is_true(capacity <= 100)
  end)

  it("with a size that it only claims allocates nothing of that size", function()
    local lie = unit.bytes "28b52ffda0" .. unit.bytes "ffffff7f" .. unit.bytes "190000" .. "one"
    local _, code, capacity = batches.decompress(C.CODEC_ZSTD, lie, 0x7fffffff)
    assert.equal("ERR_DECOMPRESS", batches.name(code))
    assert.is_true(capacity < 100000)
  end)
end)
