-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("base/uuid.h", "base/error.h")

describe("uuid", function()
  local function parse(text)
    local id = ffi.new "struct uuid"
    local result = C.uuid_parse(text, id)
    return result, unit.hex(id.bytes, 16)
  end

  local function format(hex)
    local id = ffi.new("struct uuid")
    ffi.copy(id.bytes, unit.bytes(hex), 16)
    local text = ffi.new "char[23]"
    C.uuid_format(id, text)
    return ffi.string(text)
  end

  it("is written as 22 characters of URL-safe base64", function()
    assert.equal("AAAAAAAAAAAAAAAAAAAAAA", format "00000000000000000000000000000000")
    assert.equal("_____________________w", format "ffffffffffffffffffffffffffffffff")
    assert.equal("ASNFZ4mrze_-3LqYdlQyEA", format "0123456789abcdeffedcba9876543210")
  end)

  it("reads back what it wrote", function()
    local result, hex = parse "ASNFZ4mrze_-3LqYdlQyEA"
    assert.equal(0, result)
    assert.equal("0123456789abcdeffedcba9876543210", hex)
  end)

  it("refuses text of another length or alphabet", function()
    assert.equal(C.ERR_MALFORMED, (parse ""))
    assert.equal(C.ERR_MALFORMED, (parse "ASNFZ4mrze_-3LqYdlQyEA=="))
    assert.equal(C.ERR_MALFORMED, (parse "ASNFZ4mrze+-3LqYdlQyEA"))
  end)

  it("is random and never starts with a dash", function()
    local seen = {}
    for _ = 1, 1000 do
      local id, text = ffi.new "struct uuid", ffi.new "char[23]"
      C.uuid_random(id)
      C.uuid_format(id, text)
      assert.is_nil(seen[ffi.string(text)])
      seen[ffi.string(text)] = true
      assert.not_equal("-", ffi.string(text):sub(1, 1))
    end
  end)
end)
