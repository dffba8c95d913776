-- SPDX-License-Identifier: Apache-2.0
-- Batches that Apache Kafka's own encoder made: every field, every record, and the same bytes again.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local cjson = require "cjson"
local batches = require "spec.unit.record.batches"
local C = batches.C

local function text(value)
  if value == nil or value == cjson.null then return nil end
  return unit.bytes(value)
end

local cases = {}
for line in io.lines "spec/data/golden-records.jsonl" do
  local case = cjson.decode(line)
  case.bytes = unit.bytes(case.hex)
  cases[#cases + 1] = case
end

local function records_of(case)
  local out = {}
  for i, record in ipairs(case.batches[1].records) do
    local headers = {}
    for j, header in ipairs(record.headers) do headers[j] = { text(header[1]), text(header[2]) } end
    out[i] = { offset = record.offset, timestamp = record.timestamp, key = text(record.key), value = text(record.value),
      headers = headers }
  end
  return out
end

local function build(case, header, stored)
  local want = case.batches[1]
  local options, builder = ffi.new "struct batch_options", ffi.new "struct batch_builder"
  C.batch_options_init(options)
  options.base_offset, options.leader_epoch = want.base_offset, want.leader_epoch
  options.producer_id, options.producer_epoch = want.producer_id, want.producer_epoch
  options.base_sequence, options.is_transactional = want.base_sequence, want.transactional
  options.is_control = want.control
  if want.timestamp_type == "LogAppendTime" then options.append_time_ms = want.max_timestamp end
  C.batch_builder_init(builder, options)
  for _, record in ipairs(stored) do
    local input = ffi.new "struct record_input"
    local headers = ffi.new("struct record_header_input[?]", #record.headers + 1)
    for i, pair in ipairs(record.headers) do
      headers[i - 1].key, headers[i - 1].key_size = pair[1], #pair[1]
      headers[i - 1].value, headers[i - 1].value_size = pair[2], pair[2] and #pair[2] or -1
    end
    input.timestamp = header.base_timestamp + record.timestamp_delta
    input.key, input.key_size = record.key, record.key and #record.key or -1
    input.value, input.value_size = record.value, record.value and #record.value or -1
    input.headers, input.header_count = headers, #record.headers
    assert.equal(0, C.batch_builder_add(builder, input))
  end
  local bytes, size = ffi.new "uint8_t *[1]", ffi.new "size_t[1]"
  assert.equal(0, C.batch_builder_finish(builder, bytes, size))
  local result = ffi.string(bytes[0], size[0])
  C.batch_builder_destroy(builder)
  return result
end

describe("golden record batches", function()
  it("are 26: 18 of format 2, 8 of older formats", function()
    local formats = { [0] = 0, 0, 0 }
    for _, case in ipairs(cases) do formats[case.batches[1].magic] = formats[case.batches[1].magic] + 1 end
    assert.same({ [0] = 4, 4, 18 }, formats)
  end)

  for _, case in ipairs(cases) do
    local want = case.batches[1]
    if want.magic < 2 then
      it(("of an older format are refused as such: %s"):format(case.case), function()
        assert.equal("ERR_UNSUPPORTED_FORMAT", (batches.header(case.bytes)))
        assert.equal("ERR_UNSUPPORTED_FORMAT", batches.check(case.bytes))
        local _, code = batches.read(case.bytes)
        assert.equal(C.ERR_UNSUPPORTED_FORMAT, code)
      end)
    else
      it(("have the header's fields and a right CRC: %s"):format(case.case), function()
        local code, header = batches.header(case.bytes)
        assert.equal("0", code)
        assert.equal("0", batches.check(case.bytes))
        assert.equal(want.size, tonumber(header.size))
        assert.equal(want.base_offset, tonumber(header.base_offset))
        assert.equal(want.last_offset, tonumber(header.base_offset) + header.last_offset_delta)
        assert.equal(want.max_timestamp, tonumber(header.max_timestamp))
        assert.equal(want.producer_id, tonumber(header.producer_id))
        assert.equal(want.producer_epoch, header.producer_epoch)
        assert.equal(want.base_sequence, header.base_sequence)
        assert.equal(want.leader_epoch, header.leader_epoch)
        assert.equal(#want.records, header.record_count)
        assert.equal(want.codec, ffi.string(C.codec_name(bit.band(header.attributes, C.BATCH_CODEC_MASK))))
        assert.equal(want.transactional, bit.band(header.attributes, C.BATCH_TRANSACTIONAL) ~= 0)
        assert.equal(want.control, bit.band(header.attributes, C.BATCH_CONTROL) ~= 0)
        assert.equal(want.timestamp_type == "LogAppendTime", bit.band(header.attributes, C.BATCH_APPEND_TIME) ~= 0)
      end)

      it(("give their records: %s"):format(case.case), function()
        local stored = assert(batches.read(case.bytes))
        for i, record in ipairs(records_of(case)) do
          assert.same(record, { offset = tonumber(stored[i].offset), timestamp = tonumber(stored[i].timestamp),
            key = stored[i].key, value = stored[i].value, headers = stored[i].headers })
        end
        assert.equal(#want.records, #stored)
      end)

      if want.codec == "none" then
        it(("are built again byte by byte: %s"):format(case.case), function()
          local _, header = batches.header(case.bytes)
          assert.equal(case.hex, unit.hex(build(case, header, batches.read(case.bytes))))
        end)
      end

      if not want.control and want.timestamp_type == "CreateTime" then
        it(("are accepted from a producer, and not changed: %s"):format(case.case), function()
          local sent = ("\0"):rep(8) .. case.bytes:sub(9)
          for _, needs_records in ipairs { false, true } do
            local result = batches.validate(sent, { needs_records = needs_records })
            assert.equal("0", result.code)
            assert.equal(unit.hex(sent), unit.hex(result.bytes))
          end
        end)
      end
    end
  end
end)
