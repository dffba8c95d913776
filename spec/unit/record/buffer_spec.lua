-- SPDX-License-Identifier: Apache-2.0
-- A buffer with a ceiling: what it grows to, and what trimming leaves of it.
local ffi = require "ffi"
local batches = require "spec.unit.record.batches"
local C = batches.C

describe("a record buffer", function()
  local buffer

  before_each(function()
    buffer = ffi.new "struct record_buffer"
    C.record_buffer_init(buffer, 100000)
  end)
  after_each(function() C.record_buffer_destroy(buffer) end)

  local function put(text)
    local code = C.record_buffer_reserve(buffer, #text)
    if code == 0 then
      ffi.copy(buffer.bytes + buffer.size, text, #text)
      buffer.size = buffer.size + #text
    end
    return batches.name(code)
  end

  local function state() return { tonumber(buffer.size), tonumber(buffer.capacity), tonumber(buffer.limit) } end

  it("grows to its limit and no further", function()
    assert.equal("0", put(("a"):rep(99999)))
    assert.equal("0", put "b")
    assert.equal("ERR_LIMIT", put "c")
    assert.same({ 100000, 100000, 100000 }, state())
  end)

  it("trimmed to more than it holds may grow to that", function()
    put "12345"
    C.record_buffer_trim(buffer, 10)
    assert.same({ 5, 10, 10 }, state())
    assert.equal("0", put "67890")
    assert.equal("ERR_LIMIT", put "x")
    assert.equal("1234567890", ffi.string(buffer.bytes, buffer.size))
  end)

  it("trimmed to less than it holds keeps that, and may not grow", function()
    put "12345"
    C.record_buffer_trim(buffer, 4)
    assert.same({ 5, 5, 5 }, state())
    assert.equal("ERR_LIMIT", put "x")
    assert.equal("12345", ffi.string(buffer.bytes, buffer.size))
  end)

  it("trimmed to more than its limit stays as it is", function()
    put "12345"
    local before = state()
    C.record_buffer_trim(buffer, 100001)
    assert.same(before, state())
  end)

  it("that holds nothing has no memory when it is trimmed to nothing", function()
    C.record_buffer_reserve(buffer, 10)
    C.record_buffer_trim(buffer, 0)
    assert.same({ 0, 0, 0 }, state())
    assert.is_true(buffer.bytes == nil)
  end)
end)
