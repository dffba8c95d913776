-- SPDX-License-Identifier: Apache-2.0
-- Batches divided among partitions and written anew.
local ffi = require "ffi"
local bit = require "bit"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local splits = require "spec.unit.record.splits"

local C = batches.C
local split, rewrite, edit_of = splits.split, splits.rewrite, splits.edit_of
local with_records, open_error, keys_of, content = splits.with_records, splits.open_error, splits.keys_of, splits.content
local LARGE, packing = splits.LARGE, splits.packing
local MAX, MIN = 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1

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
