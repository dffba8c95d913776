-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local logs = require "spec.unit.log.logs"

local C = logs.C

describe("the tail of a log", function()
  local tail

  before_each(function()
    tail = ffi.new "struct tail"
  end)

  after_each(function()
    C.tail_destroy(tail)
    logs.turn()
  end)

  --- Adds batches of one record and 100 bytes, with the offsets `first` to `last`.
  local function push(first, last)
    for offset = first, last do
      C.tail_push(tail, ffi.new("struct tail_batch", { offset, offset, 0, offset * 100, 100 }))
    end
  end

  --- Base offset of the batch that is found for an offset, or nil.
  local function find(offset)
    local batch = ffi.new "struct tail_batch"
    return C.tail_find(tail, offset, batch) and tonumber(batch.base_offset) or nil
  end

  it("keeps nothing before the first batch", function()
    assert.is_true(tail.ring == nil)
    assert.is_nil(find(0))
  end)

  it("takes room for a few batches while there are few", function()
    push(0, 5)
    assert.equal(8, tonumber(tail.ring.size))
  end)

  it("grows with the batches, up to its largest size, and forgets none on the way", function()
    local sizes = {}
    for offset = 0, 509 do
      push(offset, offset)
      sizes[tonumber(tail.ring.size)] = true
      for at = 0, offset, 37 do assert.equal(at, find(at)) end
      assert.equal(offset, find(offset))
    end
    assert.same({ [8] = true, [64] = true, [512] = true }, sizes)
  end)

  it("keeps the newest 511 once there are more", function()
    push(0, 999)
    assert.is_nil(find(999 - 511))
    assert.equal(999 - 510, find(999 - 510))
    assert.equal(999, find(5000))
    assert.equal(512, tonumber(tail.ring.size))
  end)

  it("finds nothing of what was cut off, also after it has grown since", function()
    push(0, 4)
    C.tail_clear(tail)
    assert.is_nil(find(4))
    push(5, 20)
    assert.is_nil(find(4))
    assert.equal(12, find(12))
  end)

  it("leaves the batches so far to a reader that holds the ring which another one took the place of", function()
    push(0, 6)
    local old = ffi.new "struct tail"
    old.ring = tail.ring
    push(7, 100)
    local batch = ffi.new "struct tail_batch"
    assert.is_true(C.tail_find(old, 50, batch))
    assert.equal(6, tonumber(batch.base_offset))
    assert.is_true(tail.ring ~= old.ring)
  end)
end)
