-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("base/error.h", "base/mem.h", "varint_calls.h")

local TYPE = { u32 = "uint32_t", u64 = "uint64_t", i32 = "int32_t", i64 = "int64_t" }

--- Reads a varint from a heap block of exactly its bytes.
local function get(suffix, bytes)
  local block = C.mem_alloc(#bytes)
  ffi.copy(block, bytes, #bytes)
  local value = ffi.new(TYPE[suffix] .. "[1]", 77)
  local taken = C["varint_call_get_" .. suffix](ffi.cast("const uint8_t *", block), #bytes, value)
  C.mem_free(block)
  return taken, value[0]
end

local function put(suffix, value)
  local out = ffi.new "uint8_t[10]"
  local size = C["varint_call_put_" .. suffix](out, value)
  return unit.hex(out, size)
end

local EDGES = {
  { "u32", 0, "00" }, { "u32", 1, "01" }, { "u32", 127, "7f" }, { "u32", 128, "8001" }, { "u32", 16383, "ff7f" },
  { "u32", 16384, "808001" }, { "u32", 2097151, "ffff7f" }, { "u32", 2097152, "80808001" },
  { "u32", 268435455, "ffffff7f" }, { "u32", 268435456, "8080808001" }, { "u32", 4294967295, "ffffffff0f" },
  { "u64", 0ULL, "00" }, { "u64", 4294967296ULL, "808080801" .. "0" }, { "u64", 0x7fffffffffffffffULL,
    "ffffffffffffffff7f" }, { "u64", 0xffffffffffffffffULL, "ffffffffffffffffff01" },
  { "i32", 0, "00" }, { "i32", -1, "01" }, { "i32", 1, "02" }, { "i32", -64, "7f" }, { "i32", 64, "8001" },
  { "i32", -65, "8101" }, { "i32", 2147483647, "feffffff0f" }, { "i32", -2147483648, "ffffffff0f" },
  { "i64", 0LL, "00" }, { "i64", -1LL, "01" }, { "i64", 1LL, "02" }, { "i64", 0x7fffffffffffffffLL,
    "feffffffffffffffff01" }, { "i64", -0x7fffffffffffffffLL - 1, "ffffffffffffffffff01" },
}

describe("varint", function()
  for _, edge in ipairs(EDGES) do
    local suffix, value, hex = edge[1], edge[2], edge[3]

    it(("%s writes %s as %s and reads it back"):format(suffix, tostring(value), hex), function()
      assert.equal(hex, put(suffix, value))
      local taken, got = get(suffix, unit.bytes(hex) .. "\255")
      assert.equal(#hex / 2, taken)
      assert.is_true(got == ffi.cast(TYPE[suffix], value))
    end)

    it(("%s is truncated at every prefix of %s"):format(suffix, hex), function()
      for size = 0, #hex / 2 - 1 do
        local taken, got = get(suffix, unit.bytes(hex):sub(1, size))
        assert.equal(C.ERR_TRUNCATED, taken)
        assert.is_true(got == ffi.cast(TYPE[suffix], 77))
      end
    end)
  end

  it("of 32 bits is malformed when the fifth byte goes on", function()
    assert.equal(C.ERR_MALFORMED, (get("u32", unit.bytes "808080808000")))
    assert.equal(C.ERR_MALFORMED, (get("i32", unit.bytes "ffffffffff")))
  end)

  it("of 64 bits is malformed when the tenth byte goes on", function()
    assert.equal(C.ERR_MALFORMED, (get("u64", unit.bytes "8080808080808080808000")))
    assert.equal(C.ERR_MALFORMED, (get("i64", unit.bytes "ffffffffffffffffffff")))
  end)

  it("may be longer than needed, as Kafka accepts it", function()
    local taken, value = get("u32", unit.bytes "8100")
    assert.equal(2, taken)
    assert.equal(1, value)
  end)

  it("drops bits of the last byte that do not fit, as Kafka does", function()
    local taken, value = get("u32", unit.bytes "ffffffff7f")
    assert.equal(5, taken)
    assert.equal(4294967295, value)
  end)
end)
