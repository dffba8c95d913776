-- SPDX-License-Identifier: Apache-2.0
-- luka.native.record against batches that Apache Kafka's own encoder made, what is cut, and what lies. The module is
-- loaded into the spec's own state, as a state of the program loads it.
local cjson = require "cjson"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"

local LIMIT = 64 * 1024 * 1024

local record = assert(package.loadlib("", "native_record_open"))()

--- An integer of either kind, as a text of all digits; nil stays nil.
local function digits(value)
  if value == nil then return nil end
  return (tostring(type(value) == "number" and ("%d"):format(value) or value):gsub("LL$", ""))
end

local function text(value)
  if value == nil or value == cjson.null then return nil end
  return unit.bytes(value)
end

--- What Kafka calls -1 is absent here.
local function unset(value)
  return value ~= -1 and value or nil
end

local cases = {}
for line in io.lines "spec/data/golden-records.jsonl" do
  local case = cjson.decode(line)
  case.bytes = unit.bytes(case.hex)
  cases[#cases + 1] = case
end

--- The records of a batch of the golden data, as the module gives them.
local function records_of(batch)
  local out = {}
  for i, each in ipairs(batch.records) do
    local headers = {}
    for j, header in ipairs(each.headers) do headers[j] = { key = text(header[1]), value = text(header[2]) } end
    out[i] = { offset = each.offset, timestamp = unset(each.timestamp), key = text(each.key), value = text(each.value),
      headers = headers }
  end
  return out
end

--- All batches of a byte string, and the error that ends them.
local function walk(bytes, limit)
  local out, position = {}, 1
  while true do
    local batch, err = record.batch(bytes, position, limit)
    if not batch then return out, err end
    batch.position = position
    out[#out + 1] = batch
    position = position + batch.size
  end
end

describe("luka.native.record", function()
  for _, case in ipairs(cases) do
    it("reads the headers of " .. case.case, function()
      local found, err = walk(case.bytes, LIMIT)
      assert.is_nil(err)
      assert.equal(#case.batches, #found)
      for i, want in ipairs(case.batches) do
        local batch = found[i]
        assert.same({
          base_offset = want.base_offset, last_offset = want.last_offset, magic = want.magic, size = want.size,
          compression = want.codec, count = #want.records, max_timestamp = unset(want.max_timestamp),
          producer_id = unset(want.producer_id), producer_epoch = unset(want.producer_epoch),
          base_sequence = unset(want.base_sequence), leader_epoch = unset(want.leader_epoch),
          is_transactional = want.transactional, is_control = want.control, is_intact = true,
          timestamp_type = want.timestamp_type ~= "NoTimestampType" and want.timestamp_type or nil,
        }, {
          base_offset = batch.base_offset, last_offset = batch.last_offset, magic = batch.magic, size = batch.size,
          compression = batch.compression, count = batch.count, max_timestamp = batch.max_timestamp,
          producer_id = batch.producer_id, producer_epoch = batch.producer_epoch, base_sequence = batch.base_sequence,
          leader_epoch = batch.leader_epoch, is_transactional = batch.is_transactional, is_control = batch.is_control,
          is_intact = batch.is_intact, timestamp_type = batch.timestamp_type,
        })
      end
    end)

    it("reads the records of " .. case.case, function()
      for i, batch in ipairs((walk(case.bytes))) do
        assert.same(records_of(case.batches[i]), record.records(case.bytes, batch.position, LIMIT))
      end
    end)

    it("reads the records of " .. case.case .. " one by one", function()
      for i, batch in ipairs((walk(case.bytes))) do
        local cursor = assert(record.open(case.bytes, batch.position, LIMIT))
        for _, want in ipairs(records_of(case.batches[i])) do assert.same(want, cursor:next()) end
        local last, err = cursor:next()
        assert.is_nil(last)
        assert.is_nil(err)
        assert.is_nil(cursor:next())
      end
    end)

    it("tells every prefix of " .. case.case .. " that ends in a batch", function()
      local ends = { [0] = true }
      for _, batch in ipairs((walk(case.bytes))) do ends[batch.position - 1 + batch.size] = true end
      for size = 0, #case.bytes - 1 do
        local _, err = walk(case.bytes:sub(1, size))
        assert.equal(not ends[size] and "truncated" or nil, err and err.code)
      end
    end)
  end

  it("shows the header of a cut batch", function()
    local bytes = assert(record.build { { value = ("x"):rep(100) } })
    local _, err = record.batch(bytes:sub(1, 80))
    assert.equal("batch of " .. #bytes .. " bytes cut after 80", tostring(err))
    assert.equal(#bytes, err.batch.size)
    assert.is_nil(err.batch.is_intact)
    assert.is_nil(select(2, record.batch(bytes:sub(1, 60))).batch)
  end)

  it("sees a wrong CRC and gives the records all the same", function()
    local bytes = assert(record.build { { value = "abc" } })
    local bad = bytes:gsub("abc", "abd")
    assert.is_true(record.batch(bytes).is_intact)
    assert.is_false(record.batch(bad).is_intact)
    assert.equal("abd", record.records(bad, 1, LIMIT)[1].value)
  end)

  it("refuses a length and a format that cannot be", function()
    local bytes = assert(record.build { { value = "abc" } })
    local _, err = record.batch(bytes:sub(1, 8) .. "\0\0\0\13" .. bytes:sub(13))
    assert.equal("corrupt_batch", err.code)
    _, err = record.batch(bytes:sub(1, 16) .. "\3" .. bytes:sub(18))
    assert.equal("corrupt_batch: there is no record format 3", err.code .. ": " .. err.message)
  end)

  it("unpacks no further than it may", function()
    local bytes = assert(record.build({ { value = ("x"):rep(1e6) } }, { compression = "zstd" }))
    assert.is_true(#bytes < 1000)
    local list, err = record.records(bytes, 1, 1e6)
    assert.is_nil(list)
    assert.equal("limit", err.code)
    assert.equal(1e6, #record.records(bytes, 1, 1e6 + 100)[1].value)
  end)

  it("gives no more records than were asked for", function()
    local bytes = assert(record.build { { value = "a" }, { value = "b" }, { value = "c" } })
    assert.equal(2, #record.records(bytes, 1, LIMIT, 2))
    assert.equal(0, #record.records(bytes, 1, LIMIT, 0))
  end)

  it("says which records are malformed, after those before", function()
    local whole = assert(record.build { { value = "aaaa" }, { value = "bbbb" } })
    local bad = whole:sub(1, 61) .. whole:sub(62):gsub("^(.)(.*)bbbb", "%1%2bbb\1")
    bad = bad:sub(1, -2) .. "\9"
    local cursor = assert(record.open(bad, 1, LIMIT))
    assert.equal("aaaa", cursor:next().value)
    local next_record, err = cursor:next()
    assert.is_nil(next_record)
    assert.equal("invalid_record", err.code)
    assert.is_nil(cursor:next())
    assert.equal("invalid_record", select(2, record.records(bad, 1, LIMIT)).code)
  end)

  it("keeps the bytes of an open cursor", function()
    local cursor = assert(record.open(assert(record.build { { value = "first" }, { value = "second" } }), 1, LIMIT))
    collectgarbage()
    collectgarbage()
    cursor:next()
    assert.equal("second", cursor:next().value)
  end)

  it("gives nothing from a closed cursor", function()
    local cursor = assert(record.open(assert(record.build { { value = "a" } }), 1, LIMIT))
    cursor:close()
    assert.is_nil(cursor:next())
    cursor:close()
  end)

  it("raises for arguments that are wrong", function()
    local bytes = assert(record.build { { value = "a" } })
    assert.error(function() record.batch() end)
    assert.error(function() record.batch(bytes, 0) end)
    assert.error(function() record.batch(bytes, #bytes + 2) end)
    assert.error(function() record.batch(bytes, 1.5) end)
    assert.error(function() record.records(bytes, 1) end)
    assert.error(function() record.records(bytes, 1, -1) end)
    assert.error(function() record.build() end)
    assert.error(function() record.build({}, 1) end)
    assert.error(function() getmetatable(record.open(bytes, 1, LIMIT)).__index = {} end)
  end)

  for _, size in ipairs { 20, 100, 400 } do
    it(("bears %d arbitrary bytes, and batches with one byte changed"):format(size), function()
      local seed = size
      local function random(n)
        seed = (seed * 1103515245 + 12345) % 2147483648
        return math.floor(seed / 65536) % n
      end
      for _, case in ipairs(cases) do
        for _ = 1, size do
          local at = random(#case.bytes) + 1
          local bytes = case.bytes:sub(1, at - 1) .. string.char(random(256)) .. case.bytes:sub(at + 1)
          for _, batch in ipairs((walk(bytes, 100000))) do record.records(bytes, batch.position, 100000) end
        end
      end
    end)
  end
end)

describe("a batch that luka.native.record builds", function()
  for _, codec in ipairs { "none", "gzip", "snappy", "lz4", "zstd" } do
    it("with " .. codec .. " is right and gives its records back", function()
      local list = {}
      for i = 1, 200 do
        list[i] = { key = i % 3 > 0 and "k" .. i or nil, value = i % 5 > 0 and ("v"):rep(i) or nil, timestamp = 1e12 + i,
          headers = i % 2 > 0 and { { key = "h", value = "1" }, { key = "h" } } or {} }
      end
      local bytes = assert(record.build(list, { compression = codec, base_offset = 10, leader_epoch = 3, producer_id = 7,
        producer_epoch = 1, base_sequence = 5, is_transactional = true }))
      assert.equal("0", batches.check(bytes))
      local batch = record.batch(bytes)
      for i, each in ipairs(list) do each.offset = 9 + i end
      assert.same(list, record.records(bytes, 1, LIMIT))
      assert.same({ 10, 209, 200, codec, 3, 7, 1, 5, true, 1e12 + 1, 1e12 + 200 }, { batch.base_offset, batch.last_offset,
        batch.count, batch.compression, batch.leader_epoch, batch.producer_id, batch.producer_epoch, batch.base_sequence,
        batch.is_transactional, batch.base_timestamp, batch.max_timestamp })
    end)
  end

  it("takes and gives integers of all 64 bits", function()
    for _, offset in ipairs { 2 ^ 53, 9007199254740993LL, 9223372036854775806LL, 5ULL } do
      local bytes = assert(record.build({ { timestamp = 9007199254740995LL }, { timestamp = -9007199254740995LL } },
        { base_offset = offset }))
      local batch = record.batch(bytes)
      assert.equal((digits(offset):gsub("U$", "")), digits(batch.base_offset))
      local list = record.records(bytes, 1, LIMIT)
      assert.equal("9007199254740995", digits(list[1].timestamp))
      assert.equal("-9007199254740995", digits(list[2].timestamp))
    end
    assert.equal("number", type(record.batch(assert(record.build({ {} }, { base_offset = 2 ^ 53 }))).base_offset))
  end)

  it("gives records without a timestamp the one of the options", function()
    local bytes = assert(record.build({ {}, { timestamp = 5 } }, { timestamp = 1000 }))
    local list = record.records(bytes, 1, LIMIT)
    assert.same({ 1000, 5 }, { list[1].timestamp, list[2].timestamp })
    assert.is_nil(record.records(assert(record.build { {} }), 1, LIMIT)[1].timestamp)
  end)

  local refused = {
    { "no records", {}, nil, "no records" },
    { "a record that is no table", { 1 }, nil, "record 1 is a number, expected a table" },
    { "a key that is no string", { {}, { key = 1 } }, nil, "record 2: key is a number, expected a string or nil" },
    { "a value that is no string", { { value = {} } }, nil, "record 1: value is a table, expected a string or nil" },
    { "a timestamp that is no integer", { { timestamp = 1.5 } }, nil, "record 1: timestamp is not a whole number of milliseconds" },
    { "headers that are no list", { { headers = "x" } }, nil, "record 1: headers are a list of tables with key and value" },
    { "a header without a key", { { headers = { { value = "x" } } } }, nil, "record 1: a header has no key" },
    { "a header's value that is no string", { { headers = { { key = "a", value = true } } } }, nil,
      "record 1: a header's value is a boolean, expected a string or nil" },
    { "an unknown compression", { {} }, { compression = "brotli" },
      "compression: got 'brotli', expected none, gzip, snappy, lz4 or zstd" },
    { "an option out of range", { {} }, { producer_epoch = 32768 }, "producer_epoch: got 32768, expected -1 to 32767" },
    { "an option that is no integer", { {} }, { base_offset = "x" }, "base_offset is not a whole number" },
    { "more than the limit", { { value = ("x"):rep(1000) } }, { limit = 500 }, "the batch would be larger than 500 bytes" },
  }
  for _, case in ipairs(refused) do
    it("is refused for " .. case[1], function()
      local bytes, err = record.build(case[2], case[3])
      assert.is_nil(bytes)
      assert.matches(case[4], err.message, 1, true)
    end)
  end
end)
