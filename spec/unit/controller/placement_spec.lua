-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load "controller/placement.h"

describe("classic placement", function()
  local function place(brokers, partitions, factor)
    local out = ffi.new("int32_t[?]", partitions * factor)
    C.placement_classic(ffi.new("int32_t[?]", #brokers, brokers), #brokers, partitions, factor, out)
    local rows = {}
    for i = 0, partitions - 1 do
      local row = {}
      for j = 0, factor - 1 do row[#row + 1] = out[i * factor + j] end
      rows[#rows + 1] = table.concat(row, ",")
    end
    return rows
  end

  it("puts partition i on broker i mod n and its replica j on (i + j) mod n", function()
    assert.same({ "1,2", "2,5", "5,1", "1,2" }, place({ 1, 2, 5 }, 4, 2))
    assert.same({ "1,2,5", "2,5,1" }, place({ 1, 2, 5 }, 2, 3))
  end)

  it("puts everything on the only broker", function()
    assert.same({ "7", "7", "7" }, place({ 7 }, 3, 1))
  end)
end)
