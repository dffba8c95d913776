-- SPDX-License-Identifier: Apache-2.0
-- Batches that core/record builds. That it builds Kafka's own bytes is in golden_spec.lua.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local C = batches.C

--- A builder with options set; `use` gets it and an add function.
local function build(changes, use)
  local options, builder = ffi.new "struct batch_options", ffi.new "struct batch_builder"
  C.batch_options_init(options)
  for key, value in pairs(changes) do options[key] = value end
  C.batch_builder_init(builder, options)
  local function add(value, timestamp)
    local record = ffi.new("struct record_input", { timestamp = timestamp or 1000, key_size = -1, value_size = -1 })
    if value then record.value, record.value_size = value, #value end
    return C.batch_builder_add(builder, record)
  end
  local function finish()
    local bytes, size = ffi.new "uint8_t *[1]", ffi.new "size_t[1]"
    local code = C.batch_builder_finish(builder, bytes, size)
    return code == 0 and ffi.string(bytes[0], size[0]) or nil, batches.name(code)
  end
  use(builder, add, finish, options)
  C.batch_builder_destroy(builder)
end

describe("batch builder", function()
  it("makes the same bytes as a batch put together by hand", function()
    build({}, function(_, add, finish)
      add("a", 1000)
      add(nil, 1005)
      assert.equal(unit.hex(batches.batch { records = { "a", { ts = 5 } }, step = 5 }), unit.hex(finish()))
    end)
  end)

  it("packs with every codec, and what it made is accepted and unpacks to its records", function()
    for codec = 0, 4 do
      build({ codec = codec }, function(_, add, finish)
        for i = 1, 100 do assert.equal(0, add("value " .. i, 1000 + i)) end
        local bytes = finish()
        assert.equal("0", batches.check(bytes))
        assert.equal("0", batches.validate(bytes, { needs_records = true }).code)
        local records = batches.read(bytes)
        assert.equal(100, #records)
        for i, record in ipairs(records) do
          assert.equal("value " .. i, record.value)
          assert.equal(1000 + i, tonumber(record.timestamp))
        end
      end)
    end
  end)

  it("takes the first record's timestamp as base and the largest as maximum", function()
    build({}, function(_, add, finish)
      for _, timestamp in ipairs { 50, 90, 10 } do add("x", timestamp) end
      local _, header = batches.header(finish())
      assert.equal(50, tonumber(header.base_timestamp))
      assert.equal(90, tonumber(header.max_timestamp))
    end)
  end)

  it("can go on after a batch was made, and begin the next one", function()
    build({ codec = C.CODEC_LZ4 }, function(builder, add, finish, options)
      add "a"
      assert.equal(1, #batches.read((finish())))
      add "b"
      assert.equal(2, #batches.read((finish())))
      options.base_offset = 7
      C.batch_builder_reset(builder, options)
      assert.equal(61, tonumber(C.batch_builder_size(builder)))
      add "c"
      local records = batches.read((finish()))
      assert.equal(1, #records)
      assert.equal(7, tonumber(records[1].offset))
    end)
  end)

  it("leaves out offsets before, between and after records", function()
    build({ base_offset = 100 }, function(builder, add, finish)
      assert.equal(0, C.batch_builder_skip(builder, 2))
      add "a"
      assert.equal(0, C.batch_builder_skip(builder, 3))
      add "b"
      assert.equal(0, C.batch_builder_skip(builder, 1))
      local bytes = finish()
      local _, header = batches.header(bytes)
      local records = batches.read(bytes)
      assert.equal(102, tonumber(records[1].offset))
      assert.equal(106, tonumber(records[2].offset))
      assert.equal(7, header.last_offset_delta)
      assert.equal(2, header.record_count)
    end)
  end)

  it("makes an empty batch that keeps the place of dropped records, uncompressed", function()
    build({ base_offset = 5, producer_id = 9, producer_epoch = 1, base_sequence = 3, codec = C.CODEC_ZSTD },
      function(builder, _, finish)
        C.batch_builder_skip(builder, 4)
        local bytes = finish()
        local _, header = batches.header(bytes)
        assert.equal(61, #bytes)
        assert.equal("0", batches.check(bytes))
        assert.same({ 3, 0, 0 }, { header.last_offset_delta, header.record_count, header.attributes })
        assert.equal(-1, tonumber(header.max_timestamp))
        assert.same({}, batches.read(bytes))
      end)
  end)

  it("makes no batch of nothing", function()
    build({}, function(_, _, finish) assert.equal("ERR_INVALID", select(2, finish())) end)
  end)

  it("keeps its limit, and is as before when a record does not fit", function()
    build({ limit_bytes = 69 + 12 }, function(builder, add, finish)
      assert.equal(0, add "v")
      assert.equal(69, tonumber(C.batch_builder_size(builder)))
      assert.equal("ERR_LIMIT", batches.name(add "123456"))
      assert.equal(0, add "12345")
      assert.equal(81, #finish())
      assert.equal("ERR_LIMIT", batches.name(add ""))
      assert.equal(2, #batches.read((finish())))
    end)
  end)

  it("refuses what cannot be: negative counts, header keys of null, unknown codecs and levels", function()
    build({}, function(builder)
      local record = ffi.new("struct record_input", { key_size = -1, value_size = -1, header_count = -1 })
      assert.equal("ERR_INVALID", batches.name(C.batch_builder_add(builder, record)))
      local headers = ffi.new "struct record_header_input[1]"
      headers[0].key_size = -1
      record.headers, record.header_count = headers, 1
      assert.equal("ERR_INVALID", batches.name(C.batch_builder_add(builder, record)))
      assert.equal("ERR_INVALID", batches.name(C.batch_builder_skip(builder, -1)))
      assert.equal(0, C.batch_builder_skip(builder, 2147483647))
      assert.equal("ERR_LIMIT", batches.name(C.batch_builder_skip(builder, 1)))
    end)
    for _, changes in ipairs { { codec = 5 }, { codec = C.CODEC_GZIP, level = 10 } } do
      build(changes, function(_, add, finish)
        add "x"
        assert.equal("ERR_INVALID", select(2, finish()))
      end)
    end
  end)
end)

describe("batch recompression", function()
  local function recompress(bytes, codec, limit)
    local out = ffi.new "struct record_buffer"
    local code = C.batch_recompress(unit.buffer(bytes), #bytes, codec, C.CODEC_LEVEL_DEFAULT, limit or 100000, out)
    local result = code == 0 and ffi.string(out.bytes, out.size) or nil
    C.record_buffer_destroy(out)
    return result, batches.name(code)
  end

  it("changes codec, length and CRC, and nothing else", function()
    local options = { records = { ("x"):rep(500), { key = "k", headers = { { "h", "1" } } } }, ts = 1000, step = 4,
      base = 77, attributes = C.BATCH_TRANSACTIONAL, producer_id = 8,
      producer_epoch = 2, sequence = 5, leader_epoch = 3 }
    for from = 0, 4 do
      options.codec = from
      local bytes = batches.batch(options)
      local _, before = batches.header(bytes)
      for to = 0, 4 do
        local changed = assert(recompress(bytes, to))
        local _, after = batches.header(changed)
        assert.equal("0", batches.check(changed))
        assert.same(batches.read(bytes), batches.read(changed))
        assert.equal(C.BATCH_TRANSACTIONAL + to, after.attributes)
        assert.equal(#changed, tonumber(after.size))
        for _, field in ipairs { "base_offset", "base_timestamp", "max_timestamp", "producer_id", "leader_epoch",
          "last_offset_delta", "base_sequence", "record_count", "producer_epoch" } do
          assert.equal(before[field], after[field], field)
        end
      end
    end
  end)

  it("stops a bomb at the limit", function()
    local bytes = batches.batch { codec = C.CODEC_GZIP, records = { ("v"):rep(100000) } }
    assert.equal("ERR_LIMIT", select(2, recompress(bytes, C.CODEC_NONE, 100000)))
    assert.is_true(#assert(recompress(bytes, C.CODEC_NONE, 100100)) > 100000)
  end)

  it("refuses damaged records", function()
    local bytes = batches.batch { codec = C.CODEC_GZIP, payload = "nonsense" }
    assert.equal("ERR_DECOMPRESS", select(2, recompress(bytes, C.CODEC_LZ4)))
  end)

  it("is needed when the codec differs, but not for a plain control batch", function()
    local plain, gzip = batches.batch {}, batches.batch { codec = C.CODEC_GZIP }
    assert.is_false(C.batch_needs_recompress(plain, C.CODEC_NONE))
    assert.is_true(C.batch_needs_recompress(plain, C.CODEC_GZIP))
    assert.is_false(C.batch_needs_recompress(gzip, C.CODEC_GZIP))
    assert.is_true(C.batch_needs_recompress(gzip, C.CODEC_NONE))
    assert.is_false(C.batch_needs_recompress(batches.cases.control, C.CODEC_GZIP))
  end)
end)
