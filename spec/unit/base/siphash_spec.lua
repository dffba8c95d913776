-- SPDX-License-Identifier: Apache-2.0
-- SipHash-2-4 with 128 bits against the vectors of its authors: key 00 01 ... 0f, inputs 00 01 ... of each length.
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load "base/siphash.h"

local VECTORS = {
  [0] = "a3817f04ba25a8e66df67214c7550293", [1] = "da87c1d86b99af44347659119b22fc45", [2] = "8177228da4a45dc7fca38bdef60affe4",
  [3] = "9c70b60c5267a94e5f33b6b02985ed51", [7] = "a1f1ebbed8dbc153c0b84aa61ff08239", [8] = "3b62a9ba6258f5610f83e264f31497b4",
  [15] = "5493e99933b0a8117e08ec0f97cfc3d9", [63] = "5150d1772f50834a503e069a973fbd7c",
}

describe("siphash128", function()
  local key = ffi.new("struct siphash_key", { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL })

  for length, expected in pairs(VECTORS) do
    it(("gives the reference's output for %d bytes"):format(length), function()
      local input = {}
      for i = 0, length - 1 do input[i + 1] = string.char(i) end
      input = table.concat(input)
      local hash = C.siphash128(key, input, #input)
      local bytes = ffi.new("uint64_t[2]", hash.low, hash.high)
      assert.equal(expected, unit.hex(ffi.string(bytes, 16)))
    end)
  end

  it("depends on the key", function()
    local other = ffi.new("struct siphash_key", { 1, 2 })
    assert.is_false(C.siphash128(key, "abc", 3).low == C.siphash128(other, "abc", 3).low)
  end)
end)
