-- SPDX-License-Identifier: Apache-2.0
-- Batches divided among partitions and written anew: what comes out holds the same records as what went in.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local C = batches.C
unit.load "record/split.h"

local LARGE = 100000000
local MAX, MIN = 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1

local function packing(codec, limit)
  return ffi.new("struct batch_packing", { codec = codec or 0, level = C.CODEC_LEVEL_DEFAULT,
    limit_bytes = limit or LARGE })
end

--- Calls `use` with the open records of a batch; asserts that they open.
local function with_records(bytes, use)
  local records = ffi.new "struct batch_records"
  local copy = unit.buffer(bytes)
  assert.equal("0", batches.name(C.batch_records_open(records, copy, #bytes, LARGE)))
  use(records)
  C.batch_records_close(records)
end

local function open_error(bytes, limit)
  local records = ffi.new "struct batch_records"
  local copy = unit.buffer(bytes)
  local code = C.batch_records_open(records, copy, #bytes, limit or LARGE)
  C.batch_records_close(records)
  return batches.name(code)
end

--- Divides; the result lists { partition, count, bytes, header, records }, or is nil and the error's name.
local function split(bytes, chosen, options)
  local o = options or {}
  local result, err = {}, nil
  with_records(bytes, function(records)
    assert.equal(#chosen, records.count)
    local array, out = ffi.new("int32_t[?]", #chosen + 1, chosen), o.split or ffi.new "struct batch_split"
    local code = C.batch_split(out, records, array, o.partitions or 8, o.addressed or 3, packing(o.codec, o.limit))
    if code < 0 then err = batches.name(code) end
    for i = 0, code == 0 and out.count - 1 or -1 do
      local share = out.shares[i]
      local text = ffi.string(share.bytes, share.size)
      local _, header = batches.header(text)
      result[i + 1] = { partition = share.partition, count = share.count, first = share.first, bytes = text,
        header = header, max_timestamp = share.max_timestamp }
    end
    if not o.split then C.batch_split_destroy(out) end
  end)
  if err then return nil, err end
  for _, share in ipairs(result) do
    assert.equal("0", batches.check(share.bytes))
    share.records = assert(batches.read(share.bytes, LARGE))
  end
  return result
end

--- Writes anew; `gone` and `edits` by index from 1.
local function rewrite(bytes, gone, edits, options)
  local o = options or {}
  local text, err
  with_records(bytes, function(records)
    local out = ffi.new "struct record_buffer"
    local is_gone, pointers = ffi.new("bool[?]", records.count + 1), ffi.new("const struct record_edit *[?]",
      records.count + 1)
    local kept = {}
    for index in pairs(gone or {}) do is_gone[index - 1] = true end
    for index, edit in pairs(edits or {}) do
      kept[index] = edit
      pointers[index - 1] = edit
    end
    local code = C.batch_rewrite(records, gone and is_gone or nil, edits and pointers or nil, packing(o.codec, o.limit), out)
    if code == 0 then text = ffi.string(out.bytes, out.size) else err = batches.name(code) end
    C.record_buffer_destroy(out)
  end)
  return text, err
end

local anchors = {} -- byte strings that structs of C point to

--- A struct record_edit of a table { key, value, headers = { { k, v } }, ts }.
local function edit_of(record)
  local headers = {}
  for i, header in ipairs(record.headers or {}) do headers[i] = batches.blob(header[1]) .. batches.blob(header[2]) end
  headers = record.raw_headers or table.concat(headers)
  local edit = ffi.new("struct record_edit", { timestamp = record.ts or 0, key_size = -1, value_size = -1,
    header_count = record.header_count or #(record.headers or {}), headers_size = #headers })
  anchors[#anchors + 1] = { edit, record.key, record.value, headers }
  if record.key then edit.key, edit.key_size = ffi.cast("const uint8_t *", record.key), #record.key end
  if record.value then edit.value, edit.value_size = ffi.cast("const uint8_t *", record.value), #record.value end
  edit.headers = ffi.cast("const uint8_t *", headers)
  return edit
end

--- What of a record does not depend on where it is.
local function content(record)
  return { key = record.key, value = record.value, headers = record.headers, timestamp = record.timestamp }
end

local function keys_of(share)
  local out = {}
  for i, record in ipairs(share.records) do out[i] = record.value end
  return table.concat(out, " ")
end

describe("records of a batch", function()
  it("are all there, with their places", function()
    with_records(batches.cases.null_vs_empty, function(records)
      assert.equal(5, records.count)
      assert.equal(-1, records.records[0].key_size)
      assert.equal(4, records.records[4].offset)
      assert.equal(3, records.records[4].header_count)
    end)
  end)

  it("are opened again and again with the same memory", function()
    local records = ffi.new "struct batch_records"
    for _, count in ipairs { 3, 500, 1, 0, 500 } do
      local values = {}
      for i = 1, count do values[i] = "v" .. i end
      local bytes = batches.batch { records = values, codec = count % 2 * C.CODEC_LZ4, last_delta = math.max(count, 1) - 1 }
      local copy = unit.buffer(bytes)
      assert.equal(0, C.batch_records_open(records, copy, #bytes, LARGE))
      assert.equal(count, records.count)
    end
    assert.equal(500, records.room)
    C.batch_records_close(records)
    C.batch_records_close(records)
  end)

  it("do not open when they are fewer, more or other than the batch says", function()
    assert.equal("ERR_INVALID_RECORD", open_error(batches.batch { records = { "a", "b" }, count = 3 }))
    assert.equal("ERR_INVALID_RECORD", open_error(batches.batch { records = { "a", "b" }, count = 1 }))
    assert.equal("ERR_INVALID_RECORD", open_error(batches.batch { records = { "a" }, count = 0x7fffffff }))
    assert.equal("ERR_INVALID_RECORD", open_error(batches.batch { records = { "a" }, count = -1 }))
    assert.equal("ERR_DECOMPRESS", open_error(batches.batch { codec = C.CODEC_ZSTD, payload = "nonsense" }))
  end)

  it("take no more memory than they may, also when a few bytes are very many records", function()
    local one = batches.record { delta = 0 }
    local payload = batches.compress(C.CODEC_ZSTD, one:rep(100000))
    local bytes = batches.batch { codec = C.CODEC_ZSTD, payload = payload, count = 100000, last_delta = 99999 }
    assert.equal("ERR_LIMIT", open_error(bytes, 100000 * #one + 100000 * 50))
    assert.equal("0", open_error(bytes, 100000 * #one + 100000 * 100))
  end)
end)

describe("a divided batch", function()
  it("has a share for each chosen partition, in order of their first records, and keeps the order within", function()
    local shares = split(batches.batch { records = { "a", "b", "c", "d", "e" } }, { 5, 0, 5, 7, 0 })
    assert.same({ { 5, "a c" }, { 0, "b e" }, { 7, "d" } },
      { { shares[1].partition, keys_of(shares[1]) }, { shares[2].partition, keys_of(shares[2]) },
        { shares[3].partition, keys_of(shares[3]) } })
    for _, share in ipairs(shares) do
      assert.equal(0, share.header.base_offset)
      assert.equal(share.count - 1, share.header.last_offset_delta)
      for i, record in ipairs(share.records) do assert.equal(i - 1, tonumber(record.offset)) end
    end
  end)

  it("gives each share the largest timestamp of its own records", function()
    local shares = split(batches.batch { ts = 100, max_ts = 130, records = { { ts = 30, value = "a" },
      { ts = -50, value = "b" }, { ts = 7, value = "c" } } }, { 0, 1, 1 })
    assert.equal(130, tonumber(shares[1].header.max_timestamp))
    assert.equal(107, tonumber(shares[2].header.max_timestamp))
    assert.equal(107, tonumber(shares[2].max_timestamp))
    assert.equal(100, tonumber(shares[2].header.base_timestamp))
  end)

  it("has no largest timestamp where records have none", function()
    local shares = split(batches.batch { ts = -1, max_ts = -1, records = { "a", "b" } }, { 0, 1 })
    assert.equal(-1, tonumber(shares[2].header.max_timestamp))
    assert.equal(-1, tonumber(shares[2].records[1].timestamp))
  end)

  it("keeps the broker's timestamp and its bit", function()
    local shares = split(batches.batch { ts = 5, max_ts = 999, attributes = C.BATCH_APPEND_TIME,
      records = { { ts = 1, value = "a" }, "b" } }, { 0, 1 })
    for _, share in ipairs(shares) do
      assert.equal(999, tonumber(share.header.max_timestamp))
      assert.equal(999, tonumber(share.records[1].timestamp))
      assert.equal(C.BATCH_APPEND_TIME, share.header.attributes)
    end
    assert.equal(1, tonumber(shares[1].records[1].timestamp_delta))
  end)

  it("carries timestamps from the smallest to the largest", function()
    for _, base in ipairs { 0, -1, MAX, MIN } do
      local stamps = { 0, 1, -1, MAX, MIN }
      local records = {}
      for i, ts in ipairs(stamps) do records[i] = { ts = ts, value = "v" } end
      local bytes = batches.batch { ts = base, records = records }
      local before = batches.read(bytes)
      for _, share in ipairs(split(bytes, { 0, 1, 0, 1, 0 })) do
        for i, record in ipairs(share.records) do
          assert.equal(before[2 * (i - 1) + share.first + 1].timestamp, record.timestamp)
        end
      end
    end
  end)

  it("keeps what an idempotent producer said, under an id of producer and addressed partition", function()
    local shares = split(batches.batch { producer_id = 77, producer_epoch = 4, sequence = 10,
      records = { "a", "b", "c", "d" } }, { 2, 1, 1, 2 }, { addressed = 6 })
    local id = bit.lshift(1LL, 62) + 77LL * 1048576 + 6
    for i, share in ipairs(shares) do
      assert.equal(id, share.header.producer_id)
      assert.equal(4, share.header.producer_epoch)
      assert.equal(9 + i, share.header.base_sequence)
    end
  end)

  it("counts sequences on from 0 after the largest", function()
    local shares = split(batches.batch { producer_id = 1, producer_epoch = 0, sequence = 0x7fffffff,
      records = { "a", "b", "c" } }, { 0, 1, 2 })
    assert.same({ 0x7fffffff, 0, 1 }, { shares[1].header.base_sequence, shares[2].header.base_sequence,
      shares[3].header.base_sequence })
  end)

  it("has neither producer nor sequence when the batch has none", function()
    local shares = split(batches.batch { records = { "a" } }, { 0 })
    assert.equal(-1, tonumber(shares[1].header.producer_id))
    assert.equal(-1, shares[1].header.base_sequence)
  end)

  it("has no share of a batch without records", function()
    assert.same({}, split(batches.batch { records = {}, last_delta = 3 }, {}))
  end)

  it("is not made of partitions that do not exist, and the next one is not affected", function()
    local kept = ffi.new "struct batch_split"
    local bytes = batches.batch { records = { "a", "b" } }
    for _, bad in ipairs { -1, 8, 0x7fffffff } do
      assert.same({ nil, "ERR_INVALID" }, { split(bytes, { 2, bad }, { split = kept }) })
    end
    assert.equal("a b", keys_of(split(bytes, { 2, 2 }, { split = kept })[1]))
    C.batch_split_destroy(kept)
  end)

  it("is not made where a share is larger than a batch may be", function()
    local bytes = batches.batch { records = { ("x"):rep(1000), "b" } }
    assert.same({ nil, "ERR_BATCH_TOO_LARGE" }, { split(bytes, { 0, 1 }, { limit = 1000 }) })
    assert.equal(2, #split(bytes, { 0, 1 }, { limit = 1100 }))
  end)

  it("is not made of producer ids and partitions that leave no room for each other", function()
    local function code_of(id, partition)
      local out = ffi.new "int64_t[1]"
      local code = C.batch_share_producer_id(id, partition, out)
      return code == 0 and out[0] or batches.name(code)
    end
    assert.equal(-1LL, code_of(-1, 3))
    assert.equal(bit.lshift(1LL, 62), code_of(0, 0))
    assert.equal(MAX, code_of(bit.lshift(1LL, 42) - 1, 1048575))
    assert.equal("ERR_INVALID", code_of(bit.lshift(1LL, 42), 0))
    assert.equal("ERR_INVALID", code_of(1, 1048576))
    assert.equal("ERR_INVALID", code_of(1, -1))
  end)

  it("may be the whole batch, where only the producer id changes", function()
    local bytes = batches.batch { producer_id = 9, producer_epoch = 1, sequence = 5, records = { "a", "b" } }
    local copy = unit.buffer(bytes)
    assert.equal(0, C.batch_share_whole(copy, 2))
    local whole = ffi.string(copy, #bytes)
    assert.equal(unit.hex(split(bytes, { 1, 1 }, { addressed = 2 })[1].bytes), unit.hex(whole))
    local plain = batches.batch {}
    copy = unit.buffer(plain)
    assert.equal(0, C.batch_share_whole(copy, 2))
    assert.equal(plain, ffi.string(copy, #plain))
  end)
end)

describe("a batch written anew", function()
  local bytes = batches.batch { base = 40, ts = 1000, producer_id = 5, producer_epoch = 2, sequence = 30, last_delta = 5,
    records = { { key = "k", value = "a", headers = { { "h", nil } } }, { ts = 9, value = "b" }, { value = "c", delta = 4 } } }

  it("spans the same offsets and sequences without the records that are gone", function()
    local text = rewrite(bytes, { [1] = true, [3] = true })
    local _, header = batches.header(text)
    assert.equal("0", batches.check(text))
    assert.same({ 40, 5, 5, 2, 30, 1, 1009 }, { tonumber(header.base_offset), header.last_offset_delta,
      tonumber(header.producer_id), header.producer_epoch, header.base_sequence, header.record_count,
      tonumber(header.max_timestamp) })
    local records = batches.read(text)
    assert.same({ 41, "b" }, { tonumber(records[1].offset), records[1].value })
  end)

  it("is empty when all are gone, in no codec, and still has its largest timestamp", function()
    for codec = 0, 4 do
      local text = rewrite(bytes, { [1] = true, [2] = true, [3] = true }, nil, { codec = codec })
      local _, header = batches.header(text)
      assert.equal(61, #text)
      assert.same({ 0, 5, 1000, 0 }, { header.record_count, header.last_offset_delta, tonumber(header.max_timestamp),
        header.attributes })
      assert.equal("0", batches.check(text))
    end
  end)

  it("has what stands in for a record at the record's offset", function()
    local edit = edit_of { key = "new", value = nil, headers = { { "x", "1" }, { "x", nil } }, ts = 5 }
    for codec = 0, 4 do
      local text = rewrite(bytes, { [1] = true }, { [2] = edit }, { codec = codec })
      local records = batches.read(text)
      assert.equal(2, #records)
      assert.same({ key = "new", headers = { { "x", "1" }, { "x", nil } }, timestamp = 5LL }, content(records[1]))
      assert.equal(41, tonumber(records[1].offset))
      assert.same({ 44, "c" }, { tonumber(records[2].offset), records[2].value })
      assert.equal(1000, tonumber(select(2, batches.header(text)).max_timestamp))
    end
  end)

  it("is the same batch when nothing changes", function()
    local plain = batches.batch { base = 7, records = { "a", { key = "k", value = "b" } } }
    assert.equal(unit.hex(plain), unit.hex(rewrite(plain)))
    assert.equal(unit.hex(plain), unit.hex(rewrite(plain, {}, {})))
  end)

  it("may be an empty batch from the start", function()
    local empty = batches.batch { records = {}, last_delta = 7 }
    assert.equal(unit.hex(empty), unit.hex(rewrite(empty)))
  end)

  it("keeps the broker's timestamp whatever a policy sets", function()
    local stamped = batches.batch { ts = 5, max_ts = 999, attributes = C.BATCH_APPEND_TIME, records = { "a" } }
    local text = rewrite(stamped, nil, { edit_of { value = "b", ts = 5000 } })
    assert.equal(999, tonumber(batches.read(text)[1].timestamp))
  end)

  it("is not made of headers that are none, nor beyond the largest size", function()
    local function err(edit, limit) return select(2, rewrite(bytes, nil, { edit }, { limit = limit })) end
    assert.equal("ERR_INVALID", err(edit_of { raw_headers = "\2", header_count = 1 }))
    assert.equal("ERR_INVALID", err(edit_of { raw_headers = "\2a\1", header_count = 0 }))
    assert.equal("ERR_INVALID", err(edit_of { header_count = 1 }))
    assert.equal("ERR_INVALID", err(edit_of { header_count = -1 }))
    assert.equal("ERR_BATCH_TOO_LARGE", err(edit_of { value = ("x"):rep(2000) }, 2000))
    assert.is_nil(err(edit_of { raw_headers = "\2a\1", header_count = 1 }))
  end)
end)

describe("a batch of the broker's own", function()
  local function make(edits, time, codec, limit)
    local array, out = ffi.new("struct record_edit[?]", math.max(#edits, 1)), ffi.new "struct record_buffer"
    for i, edit in ipairs(edits) do array[i - 1] = edit end
    local code = C.batch_of_edits(array, #edits, time or -1, packing(codec, limit), out)
    local text = code == 0 and ffi.string(out.bytes, out.size) or nil
    C.record_buffer_destroy(out)
    return text, batches.name(code)
  end

  it("holds the records with their timestamps, and no producer", function()
    for codec = 0, 4 do
      local text = make({ edit_of { key = "a", value = "1", ts = 50 }, edit_of { value = "2", ts = MIN } }, -1, codec)
      local _, header = batches.header(text)
      local records = batches.read(text)
      assert.equal("0", batches.check(text))
      assert.same({ -1, -1, 50, 1, codec }, { tonumber(header.producer_id), header.base_sequence,
        tonumber(header.max_timestamp), header.last_offset_delta, header.attributes })
      assert.equal(50LL, records[1].timestamp)
      assert.equal(MIN, records[2].timestamp)
    end
  end)

  it("is stamped where the topic says so", function()
    local text = make({ edit_of { value = "1", ts = 50 } }, 777)
    assert.equal(777, tonumber(batches.read(text)[1].timestamp))
    assert.equal(C.BATCH_APPEND_TIME, select(2, batches.header(text)).attributes)
  end)

  it("has a record at least, and is not too large", function()
    assert.equal("ERR_INVALID", select(2, make {}))
    assert.equal("ERR_BATCH_TOO_LARGE", select(2, make({ edit_of { value = "12345" } }, -1, 0, 70)))
  end)
end)

describe("random batches", function()
  local seed = tonumber(os.getenv "SEED") or os.time()

  local function random_bytes(most)
    local kind = math.random(6)
    if kind == 1 then return nil elseif kind == 2 then return "" end
    local size = kind == 3 and math.random(most * 20) or math.random(most)
    return (("."):rep(size):gsub(".", function() return string.char(math.random(0, 255)) end))
  end

  local STAMPS = { 0, 1, -1, MAX, MIN, 1700000000000LL }

  local function random_batch()
    local records = {}
    for i = 1, math.random(0, 60) do
      local headers = {}
      for j = 1, math.random(4) == 1 and math.random(3) or 0 do headers[j] = { random_bytes(5) or "", random_bytes(9) } end
      records[i] = { key = random_bytes(12), value = random_bytes(40), headers = headers,
        ts = math.random(5) == 1 and STAMPS[math.random(#STAMPS)] or math.random(-70000, 70000) }
    end
    local has_producer = math.random(2) == 1
    return batches.batch { codec = math.random(0, 4), records = records, ts = STAMPS[math.random(#STAMPS)],
      max_ts = math.random(100000), last_delta = math.max(#records, 1) - 1,
      attributes = math.random(4) == 1 and C.BATCH_APPEND_TIME or 0, producer_id = has_producer and math.random(1e9) or -1,
      producer_epoch = has_producer and 3 or -1, sequence = has_producer and math.random(0, 0x7fffffff) or -1 }
  end

  it("give exactly their records when they are divided and written anew (seed " .. seed .. ")", function()
    math.randomseed(seed)
    local kept = ffi.new "struct batch_split"
    for _ = 1, 300 do
      local bytes = random_batch()
      local before = assert(batches.read(bytes, LARGE))
      local partitions = math.random(1, 12)
      local chosen, gone, expected, left = {}, {}, {}, {}
      for i, record in ipairs(before) do
        chosen[i] = math.random(0, partitions - 1)
        expected[chosen[i]] = expected[chosen[i]] or {}
        table.insert(expected[chosen[i]], content(record))
        if math.random(3) == 1 then gone[i] = true else left[#left + 1] = record end
      end
      local got = {}
      for _, share in ipairs(assert(split(bytes, chosen, { partitions = partitions, codec = math.random(0, 4), split = kept }))) do
        got[share.partition] = {}
        for i, record in ipairs(share.records) do got[share.partition][i] = content(record) end
      end
      assert.same(expected, got)
      local text = rewrite(bytes, gone, nil, { codec = math.random(0, 4) })
      assert.equal("0", batches.check(text))
      assert.same(left, batches.read(text, LARGE))
    end
    C.batch_split_destroy(kept)
  end)
end)
