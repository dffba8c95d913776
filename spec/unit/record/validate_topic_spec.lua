-- SPDX-License-Identifier: Apache-2.0
-- What a topic's settings make of a produced batch: timestamp range, LogAppendTime, compaction. The answers are those
-- recorded from Apache Kafka 4.4.0; compressed batches are looked into only where the specs say so.
local batches = require "spec.unit.record.batches"
local C = batches.C
local batch, validate, cases = batches.batch, batches.validate, batches.cases

local INVALID, TIMESTAMP = "ERR_INVALID_RECORD", "ERR_INVALID_TIMESTAMP"

describe("timestamps", function()
  local NOW = batches.NOW
  local RANGE = { timestamp_before_max_ms = 3600000, timestamp_after_max_ms = 3600000 }
  local SUMMARY = "One or more records have been rejected due to invalid timestamp"

  local function out_of_range(timestamp, offset)
    return ("Timestamp %s of message with offset %d is out of range. The timestamp should be within [%s, %s]"):format(
      tostring(timestamp):gsub("LL", ""), offset, "1699996400000", "1700003600000")
  end

  it("that are too old or in the future are refused, record by record", function()
    for _, ts in ipairs { 1000, NOW - 3600001, NOW + 3600001, NOW + 7200000 } do
      local result = validate(batch { ts = ts }, RANGE)
      assert.equal(TIMESTAMP, result.code)
      assert.equal(SUMMARY, result.message)
      assert.same({ { 0, out_of_range(ts, 0) } }, result.errors)
    end
  end)

  it("at the edges of the range are accepted", function()
    for _, ts in ipairs { NOW, NOW - 3600000, NOW + 3600000, -1 } do
      assert.equal("0", validate(batch { ts = ts }, RANGE).code)
    end
  end)

  it("of one record in many name its index", function()
    local result = validate(batch { ts = NOW, records = { "a", { value = "b", ts = -7200000 }, "c" } }, RANGE)
    assert.equal(TIMESTAMP, result.code)
    assert.same({ { 1, out_of_range(NOW - 7200000, 1) } }, result.errors)
  end)

  it("far in the future are refused by default, far in the past are not", function()
    assert.equal(TIMESTAMP, validate(batch { ts = 4102444800000LL }).code)
    assert.equal("0", validate(batch { ts = 0 }).code)
    assert.equal("0", validate(batch { ts = 4102444800000LL }, { timestamp_after_max_ms = 0x7fffffffffffffffLL }).code)
  end)

  it("that no clock gives are refused without overflow", function()
    assert.equal(TIMESTAMP, validate(batch { ts = 0x7fffffffffffffffLL }).code)
    assert.equal(TIMESTAMP, validate(batch { ts = -0x7fffffffffffffffLL - 1 }).code)
    assert.equal(TIMESTAMP, validate(batch { ts = -2, records = { { ts = -0x7fffffffffffffffLL } } }).code)
  end)

  it("of compressed records are judged by the header, and the records answer for it", function()
    for codec = 1, 4 do
      local old = validate(batch { codec = codec, ts = 1000, records = { "a", "b" } }, RANGE)
      assert.equal(TIMESTAMP, old.code)
      assert.same({ { 0, out_of_range(1000, 0) }, { 1, out_of_range(1000, 1) } }, old.errors)
      local future = validate(batch { codec = codec, ts = NOW, step = 7200000, records = { "a", "b" } }, RANGE)
      assert.equal(TIMESTAMP, future.code)
      assert.same({ { 1, out_of_range(NOW + 7200000, 1) } }, future.errors)
    end
  end)

  it("of compressed records are corrected, not refused, when only the header was out of range", function()
    local result = validate(batch { codec = C.CODEC_LZ4, ts = NOW, max_ts = NOW + 7200000 }, RANGE)
    assert.equal("0", result.code)
    assert.equal(NOW, result.header.max_timestamp)
    assert.is_true(result.was_walked)
  end)

  it("of a maximum that is wrong or unset are corrected, with a new CRC", function()
    for codec = 0, 4 do
      for _, max in ipairs { -1, 1699999999999LL } do
        local result = validate(batch { ts = NOW, max_ts = max, codec = codec, records = { "a", "b" }, step = 0 })
        assert.equal("0", result.code)
        local code, header = batches.header(result.bytes)
        assert.equal("0", code)
        assert.equal("0", batches.check(result.bytes))
        assert.equal(NOW, header.max_timestamp)
        assert.equal(NOW, result.header.max_timestamp)
        assert.equal(header.crc, result.header.crc)
      end
    end
    local result = validate(cases.no_max_timestamp)
    assert.equal(NOW, result.header.max_timestamp)
    assert.equal("0", batches.check(result.bytes))
    assert.equal(1000, tonumber(validate(batch { ts = 1000, max_ts = 5000 }).header.max_timestamp))
  end)

  it("below -1 are stored, with a maximum of -1", function()
    local result = validate(batch { ts = -2 })
    assert.equal("0", result.code)
    local _, header = batches.header(result.bytes)
    assert.equal(-1, tonumber(header.max_timestamp))
    assert.equal(-2, tonumber(header.base_timestamp))
    assert.equal(-1, result.max_delta)
  end)

  it("give the first offset with the maximum", function()
    local values = { { ts = 0 }, { ts = 5 }, { ts = 2 }, { ts = 5 } }
    assert.equal(1, validate(batch { records = values, max_ts = 1005 }).max_delta)
    assert.equal(1, validate(batch { records = values, max_ts = 1005, codec = 3 }, { needs_records = true }).max_delta)
    assert.equal(3, validate(batch { records = values, max_ts = 1005, codec = 3 }).max_delta)
    assert.equal(-1, validate(batch { ts = -1 }).max_delta)
  end)

  it("of the LogAppendTime bit that a client set are its records' own again", function()
    for codec = 0, 4 do
      local result = validate(batch { attributes = C.BATCH_APPEND_TIME, codec = codec, ts = 1000, max_ts = 1000 })
      assert.equal("0", result.code)
      local _, header = batches.header(result.bytes)
      assert.equal(codec, header.attributes)
      assert.equal(1000, tonumber(header.max_timestamp))
      assert.equal("0", batches.check(result.bytes))
    end
    assert.equal("0", validate(cases.append_time_bit).code)
  end)
end)

describe("a topic with LogAppendTime", function()
  local STAMPED = { is_append_time = true }

  it("stamps batches, compressed ones too, and renews the CRC", function()
    for codec = 0, 4 do
      local result = validate(batch { codec = codec, ts = 1000, records = { "a", "b" } }, STAMPED)
      assert.equal("0", result.code)
      local _, header = batches.header(result.bytes)
      assert.equal(C.BATCH_APPEND_TIME + codec, header.attributes)
      assert.equal(batches.NOW, header.max_timestamp)
      assert.equal(1000, tonumber(header.base_timestamp))
      assert.equal("0", batches.check(result.bytes))
      assert.equal(0, result.max_delta)
      for _, record in ipairs(batches.read(result.bytes)) do assert.equal(batches.NOW, record.timestamp) end
    end
  end)

  it("does not mind timestamps, nor a wrong maximum", function()
    for _, ts in ipairs { -1, -2, 0, 0x7fffffffffffffffLL } do
      local result = validate(batch { ts = ts, max_ts = 77 }, STAMPED)
      assert.equal("0", result.code)
      assert.equal(batches.NOW, result.header.max_timestamp)
    end
  end)

  it("refuses batches that say they are stamped already", function()
    for _, codec in ipairs { 0, 1 } do
      local result = validate(batch { attributes = C.BATCH_APPEND_TIME, codec = codec, records = { "v" } }, STAMPED)
      assert.equal(TIMESTAMP, result.code)
      assert.same({ { 0, "Invalid timestamp type in message DefaultRecord(offset=0, timestamp=1000, key=0 bytes, "
        .. "value=1 bytes). Producer should not set timestamp type to LogAppendTime." } }, result.errors)
    end
  end)
end)

describe("a compacted topic", function()
  local COMPACTED = { is_compacted = true }
  local NO_KEY = "Compacted topic cannot accept message without key in topic partition t-3"
  local mixed = { { key = "k", value = "v" }, { value = "v" }, { key = "k" } }

  it("refuses records without a key and names them, in Kafka's words", function()
    for codec = 0, 4 do
      local result = validate(batch { codec = codec, records = mixed }, COMPACTED)
      assert.equal(INVALID, result.code)
      assert.same({ { 1, NO_KEY } }, result.errors)
      assert.equal("One or more records have been rejected due to 1 record errors in total, and only showing the first "
        .. "three errors at most: [RecordError(batchIndex=1, message='" .. NO_KEY .. "')]", result.message)
    end
  end)

  it("shows three of many in the text, and lists all", function()
    local result = validate(batch { records = { "a", "b", "c", "d" } }, COMPACTED)
    assert.equal(4, #result.errors)
    assert.truthy(result.message:find("due to 4 record errors", 1, true))
    assert.truthy(result.message:find("batchIndex=2", 1, true))
    assert.is_nil(result.message:find("batchIndex=3", 1, true))
  end)

  it("lists a thousand at most, and counts them all", function()
    local values = {}
    for i = 1, 1500 do values[i] = "v" end
    local result = validate(batch { records = values }, COMPACTED)
    assert.equal(C.BATCH_RECORD_ERRORS_MAX, #result.errors)
    assert.equal(1500, result.total)
    assert.truthy(result.message:find("due to 1500 record errors", 1, true))
  end)

  it("takes empty keys and null values", function()
    assert.equal("0", validate(batch { records = { { key = "" }, { key = "k" } } }, COMPACTED).code)
  end)

  it("answers with timestamps when both are wrong", function()
    local result = validate(batch { ts = 4102444800000LL, records = { "v", { key = "k" } } }, COMPACTED)
    assert.equal(TIMESTAMP, result.code)
    assert.equal(2, #result.errors)
    assert.equal(NO_KEY, result.errors[1][2])
    assert.truthy(result.errors[2][2]:find("offset 1 is out of range", 1, true))
  end)
end)
