-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local C = batches.C

local function error_of(bytes, limit)
  local records, code = batches.read(bytes, limit)
  assert.is_nil(records)
  return batches.name(code)
end

--- A batch whose only record has this body behind its length.
local function with_body(body, length)
  return batches.batch { records = { "" }, payload = batches.varint(length or #body) .. body }
end

describe("batch iterator", function()
  it("tells null from empty in keys, values and header values, and keeps order and duplicates of headers", function()
    local records = assert(batches.read(batches.cases.null_vs_empty))
    assert.equal(5, #records)
    assert.same({ nil, "v" }, { records[1].key, records[1].value })
    assert.same({ "", "v" }, { records[2].key, records[2].value })
    assert.same({ "k", nil }, { records[3].key, records[3].value })
    assert.same({ "k", "" }, { records[4].key, records[4].value })
    assert.same({ { "h", nil }, { "h", "" }, { "h", "1" } }, records[5].headers)
  end)

  it("gives absolute offsets and timestamps, also when these run backwards", function()
    local records = batches.read(batches.batch { base = 1000, ts = 5000, step = -7, records = { "a", "b", "c" } })
    for i, record in ipairs(records) do
      assert.equal(999 + i, tonumber(record.offset))
      assert.equal(5007 - 7 * i, tonumber(record.timestamp))
      assert.equal(7 - 7 * i, tonumber(record.timestamp_delta))
    end
  end)

  it("gives the batch's maximum as the timestamp when the broker stamped it", function()
    local bytes = batches.batch { ts = 10, step = 1, max_ts = 999, attributes = C.BATCH_APPEND_TIME,
      records = { "a", "b" } }
    for _, record in ipairs(batches.read(bytes)) do assert.equal(999, tonumber(record.timestamp)) end
  end)

  it("keeps the holes of compaction", function()
    local bytes = batches.batch { base = 10, last_delta = 9,
      records = { { value = "a", delta = 2 }, { value = "b", delta = 7 } } }
    local records = batches.read(bytes)
    assert.equal(12, tonumber(records[1].offset))
    assert.equal(17, tonumber(records[2].offset))
  end)

  it("has no records in an empty batch, whatever its codec bits say", function()
    assert.same({}, batches.read(batches.batch { records = {}, last_delta = 5 }))
    assert.same({}, batches.read(batches.batch { records = {}, last_delta = 5, attributes = C.CODEC_ZSTD }))
  end)

  it("reads snappy raw and framed", function()
    for _, name in ipairs { "snappy_raw", "snappy_framed" } do
      local records = assert(batches.read(batches.cases[name]))
      assert.equal("hello", records[1].value)
    end
  end)

  it("reads 1000 records of each codec", function()
    local values = {}
    for i = 1, 1000 do values[i] = "value " .. i end
    for codec = 0, 4 do
      local records = assert(batches.read(batches.batch { codec = codec, records = values }))
      assert.equal(1000, #records)
      for i, record in ipairs(records) do assert.equal(values[i], record.value) end
    end
  end)

  it("is opened again and again, and closed twice", function()
    local iterator, view = ffi.new "struct batch_iterator", ffi.new "struct record_view"
    for codec = 0, 4 do
      local bytes = batches.batch { codec = codec, records = { ("x"):rep(1000 * (5 - codec)) } }
      local copy = unit.buffer(bytes)
      assert.equal(0, C.batch_iterator_open(iterator, copy, #bytes, 10000))
      assert.equal(1, C.batch_iterator_next(iterator, view))
      assert.equal(1000 * (5 - codec), view.value_size)
      assert.equal(0, C.batch_iterator_next(iterator, view))
      assert.equal(0, C.batch_iterator_next(iterator, view))
    end
    C.batch_iterator_close(iterator)
    C.batch_iterator_close(iterator)
    assert.equal(0, tonumber(iterator.unpacked.capacity))
  end)

  it("is truncated in every prefix of a batch", function()
    local bytes = batches.cases.null_vs_empty
    for size = 0, #bytes - 1 do assert.equal("ERR_TRUNCATED", error_of(bytes:sub(1, size))) end
  end)

  it("finds every cut of the records, also when the length agrees", function()
    local payload = batches.cases.null_vs_empty:sub(62)
    for size = 0, #payload - 1 do
      local bytes = batches.batch { count = 5, last_delta = 4, payload = payload:sub(1, size) }
      assert.equal("ERR_INVALID_RECORD", error_of(bytes))
    end
  end)

  it("finds counts that are wrong in either direction", function()
    assert.equal("ERR_INVALID_RECORD", error_of(batches.batch { records = { "a", "b" }, count = 3 }))
    assert.equal("ERR_INVALID_RECORD", error_of(batches.batch { records = { "a", "b" }, count = 1 }))
    assert.equal("ERR_INVALID_RECORD", error_of(batches.batch { count = -1 }))
  end)

  it("stops a bomb of each codec at the limit", function()
    for codec = 1, 4 do
      local bytes = batches.batch { codec = codec, records = { ("\0"):rep(3000000) } }
      assert.equal("ERR_LIMIT", error_of(bytes, 1000000))
      assert.equal(1, #batches.read(bytes, 3000100))
    end
  end)

  it("refuses damaged compressed records and codecs that do not exist", function()
    for codec = 1, 7 do
      assert.equal("ERR_DECOMPRESS", error_of(batches.batch { codec = codec, payload = "nonsense" }))
    end
  end)
end)

describe("numbers of a record", function()
  it("reach from the smallest to the largest", function()
    for _, ts in ipairs { 0, -1, 1, 63, -64, 64, 8191, -8192, 2147483647, -2147483648LL, 0x7fffffffffffffffLL,
      -0x7fffffffffffffffLL - 1 } do
      local records = assert(batches.read(batches.batch { ts = 0, records = { { ts = ts, value = "v" } } }))
      assert.equal(ffi.cast("int64_t", ts), records[1].timestamp)
    end
    for _, delta in ipairs { 0, 127, 128, 2147483647, -2147483648LL } do
      local records = assert(batches.read(batches.batch { records = { { delta = delta, value = "v" } } }))
      assert.equal(ffi.cast("int64_t", delta), records[1].offset)
    end
  end)

  it("may be written longer than needed, up to five and ten bytes", function()
    -- attributes, timestamp delta 0 in 10 bytes, offset delta 0 in 5, key -1, value -1, no headers
    local body = "\0" .. ("\128"):rep(9) .. "\0" .. ("\128"):rep(4) .. "\0" .. "\1\1\0"
    assert.equal(1, #assert(batches.read(with_body(body))))
    local longer = "\0" .. ("\128"):rep(10) .. "\0" .. "\0\1\1\0"
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(longer)))
    longer = "\0\0" .. ("\128"):rep(5) .. "\0" .. "\1\1\0"
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(longer)))
  end)

  it("take any negative length as null", function()
    local body = "\0\0\0" .. batches.varint(-2) .. batches.varint(-2147483648LL) .. "\0"
    local records = assert(batches.read(with_body(body)))
    assert.is_nil(records[1].key)
    assert.is_nil(records[1].value)
  end)

  it("cannot reach beyond the record", function()
    local good = "\0\0\0" .. batches.blob "k" .. batches.blob "v" .. "\0"
    assert.equal(1, #assert(batches.read(with_body(good))))
    for _, length in ipairs { #good - 1, #good + 1, 0, -1, 5, 2147483647, -2147483648LL } do
      assert.equal("ERR_INVALID_RECORD", error_of(with_body(good, length)))
    end
    for _, size in ipairs { 3, 4, 2147483647 } do
      assert.equal("ERR_INVALID_RECORD", error_of(with_body("\0\0\0" .. batches.varint(size) .. "k\1\0")))
      assert.equal("ERR_INVALID_RECORD", error_of(with_body("\0\0\0\1" .. batches.varint(size) .. "v\0")))
    end
  end)

  it("count headers that are there, with keys", function()
    local function body(count, headers) return "\0\0\0\1\1" .. batches.varint(count) .. headers end
    local one = batches.blob "h" .. batches.blob "1"
    assert.equal(1, #assert(batches.read(with_body(body(1, one)))))
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(body(2, one))))
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(body(0, one))))
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(body(-1, ""))))
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(body(2147483647, one))))
    assert.equal("ERR_INVALID_RECORD", error_of(with_body(body(1, batches.blob(nil) .. batches.blob "1"))))
  end)
end)
