-- SPDX-License-Identifier: Apache-2.0
-- Messages of formats 0 and 1 that have their offsets, as batches of format 2. What whole segments become is in
-- spec/unit/log/old_format_spec.lua.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"

local C = unit.load("record/message_batches.h", "record/message_set.h")

local GZIP = 1

--- Adds messages one after another; batches { base, last, count, codec, bytes }, and the name of what the last one gave.
--- options: next (lowest offset), holes, limit, fail (what the sink returns).
local function convert(bytes, options)
  options = options or {}
  local out, work = {}, ffi.new "struct message_batches"
  local sink = ffi.cast("int (*)(void *, const uint8_t *, size_t)", function(_, at, size)
    if options.fail then return options.fail end
    local one = ffi.string(at, size)
    local _, header = batches.header(one)
    assert.equal("0", batches.check(one))
    local base = tonumber(header.base_offset)
    out[#out + 1] = { base, base + header.last_offset_delta, header.record_count, header.attributes % 8, bytes = one }
    return 0
  end)
  C.message_batches_init(work, options.next or 0, options.holes or false, options.limit or 1000000, sink, nil)
  local at, message, copy = ffi.new "const uint8_t *[1]", ffi.new "struct message", unit.buffer(bytes)
  at[0] = copy
  local code = 0
  while code >= 0 and C.message_next(at, copy + #bytes, message) > 0 do code = C.message_batches_add(work, message) end
  local flushed = C.message_batches_flush(work)
  local info = { records = tonumber(work.record_count), next_offset = tonumber(work.next_offset), flushed = batches.name(flushed) }
  C.message_batches_destroy(work)
  sink:free()
  local plain = {}
  for i, one in ipairs(out) do plain[i] = { one[1], one[2], one[3], one[4] } end
  return plain, batches.name(code), info, out
end

describe("messages with offsets", function()
  it("become a batch that begins with the first of them", function()
    local list, code, info = convert(messages.set(1, { "a", "b", "c" }, { offset = 7 }))
    assert.same({ { 7, 9, 3, 0 } }, list)
    assert.same({ "0", 3, 10 }, { code, info.records, info.next_offset })
  end)

  it("share a batch over a hole only where that is allowed, and never more than 32 bits can tell", function()
    local far = 5 + 2 ^ 31
    local bytes = messages.message { offset = 5 } .. messages.message { offset = 9 } .. messages.message { offset = far }
      .. messages.message { offset = far + 2 ^ 31 - 2 }
    assert.same({ { 5, 9, 2, 0 }, { far, far + 2 ^ 31 - 2, 2, 0 } }, (convert(bytes, { holes = true })))
    assert.same({ { 5, 5, 1, 0 }, { 9, 9, 1, 0 }, { far, far, 1, 0 }, { far + 2 ^ 31 - 2, far + 2 ^ 31 - 2, 1, 0 } }, (convert(bytes)))
  end)

  it("are refused below what comes next, and what came before is kept", function()
    local list, code, info = convert(messages.set(0, { "a", "b" }, { offset = 3 }) .. messages.message { offset = 4 }, { next = 3 })
    assert.same({ { 3, 4, 2, 0 } }, list)
    assert.same({ "ERR_INVALID_RECORD", 2 }, { code, info.records })
    list, code = convert(messages.set(0, { "a" }, { offset = 3 }), { next = 4 })
    assert.same({ {}, "ERR_INVALID_RECORD" }, { list, code })
    assert.same({}, (convert(messages.message { offset = 0x7fffffffffffffffLL })))
  end)

  it("of format 2 are not messages", function()
    assert.equal("ERR_UNSUPPORTED_FORMAT", select(2, convert(batches.batch())))
  end)

  it("in a wrapper that holds more than it may are refused with the wrapper", function()
    local bytes = messages.set(1, { "a" }) .. messages.wrapper(1, messages.set(1, { ("x"):rep(2000) }), { codec = GZIP, offset = 1 })
    local list, code = convert(bytes, { limit = 2000 })
    assert.same({ { 0, 0, 1, 0 } }, list)
    assert.equal("ERR_LIMIT", code)
    assert.same({ { 0, 0, 1, 0 }, { 1, 1, 1, GZIP } }, (convert(bytes, { limit = 2034 })))
    assert.equal("ERR_LIMIT", select(2, convert(bytes, { limit = 2033 })))
  end)

  it("go back to the caller where the sink fails", function()
    local _, code, info = convert(messages.set(0, { "a" }), { fail = C.ERR_NO_SPACE })
    assert.same({ "0", "ERR_NO_SPACE", 0 }, { code, info.flushed, info.records })
    _, code = convert(messages.set(0, { "a" }) .. messages.wrapper(0, messages.set(0, { "b" }), { offset = 1 }), { fail = C.ERR_NO_SPACE })
    assert.equal("ERR_NO_SPACE", code)
  end)

  it("of one wrapper that breaks off leave nothing of it", function()
    local inner = messages.set(1, { "a", "b", { value = "c", crc_xor = 1 } })
    local list, code, info = convert(messages.wrapper(1, inner, { offset = 2 }))
    assert.same({ {}, "ERR_CORRUPT_BATCH", 0, 0 }, { list, code, info.records, info.next_offset })
  end)
end)
