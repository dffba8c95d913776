-- SPDX-License-Identifier: Apache-2.0
-- The protocol's codec in Lua against bytes of Apache Kafka's encoder, and against bytes that lie.
local unit = require "spec.support.unit"
local walk = require "spec.unit.wire.walk"
local wire = require "spec.support.wire"
local codec = require "luka.wire.codec"
local schema = require "luka.wire.schema"

local by_message, names = walk.golden_by_message()

local function plain(number)
  if type(number) ~= "cdata" then return number end
  return number >= -2LL ^ 53 and number <= 2LL ^ 53 and tonumber(number) or number
end

--- A golden value with the codec's names; null is `null`.
local function renamed(value, null)
  if value == walk.NULL then return null end
  if type(value) ~= "table" then return plain(value) end
  local out = {}
  for key, item in pairs(value) do
    out[type(key) == "string" and schema.snake(key:gsub("^%l", string.upper)) or key] = renamed(item, null)
  end
  return out
end

describe("The codec in Lua", function()
  for _, name in ipairs(names) do
    it(("decodes and encodes again: %s"):format(name), function()
      for _, entry in ipairs(by_message[name]) do
        local value, at = codec.decode(name, entry.version, entry.bytes)
        assert.equal(#entry.bytes + 1, at)
        local expected = renamed(walk.normalize(walk.messages[name], entry.value, entry.version))
        assert.is_nil(walk.difference(expected, value), ("version %d of %s"):format(entry.version, entry.hex))
        local whole = renamed(walk.normalize(walk.messages[name], entry.value, entry.version), codec.NULL)
        assert.equal(entry.hex, unit.hex(codec.encode(name, entry.version, whole)))
      end
    end)
  end

  it("refuses every message that is cut", function()
    for _, name in ipairs(names) do
      local longest = by_message[name][1]
      for _, entry in ipairs(by_message[name]) do
        if #entry.bytes > #longest.bytes and #entry.bytes < 2000 then longest = entry end
      end
      for size = 0, #longest.bytes - 1 do
        local ok, err = pcall(codec.decode, name, longest.version, longest.bytes:sub(1, size))
        assert.is_false(ok, ("%s version %d cut to %d bytes"):format(name, longest.version, size))
        assert.equal("malformed", err.code)
      end
    end
  end)

  it("refuses counts that the bytes cannot hold, without making room for them", function()
    local ok, err = pcall(codec.decode, "MetadataResponse", 1, unit.bytes "7fffffff 00")
    assert.is_false(ok)
    assert.equal("the message ends early, at byte 5 of 5", err.message)
  end)

  it("refuses varints of more than 32 bits", function()
    local ok, err = pcall(codec.decode, "MetadataResponse", 9, unit.bytes "00000000 ffffffffffffffffff7f")
    assert.is_false(ok)
    assert.matches("more than 32 bits", err.message)
  end)

  it("refuses numbers that do not fit", function()
    for _, value in ipairs { 2 ^ 31, -2 ^ 31 - 1, 1.5, "x", {} } do
      local ok, err = pcall(codec.encode, "RequestHeader", 1, { correlation_id = value })
      assert.is_false(ok)
      assert.equal("misfit", err.code)
    end
  end)

  it("refuses integers beyond int64, which would come out negative", function()
    for _, value in ipairs { 0xffffffffffffffffULL, 0x8000000000000000ULL, 2 ^ 63, 0 / 0, 1i } do
      local ok, err = pcall(codec.encode, "InitProducerIdResponse", 1, { producer_id = value })
      assert.is_false(ok, tostring(value))
      assert.equal("misfit", err.code)
    end
    assert.equal(("\255"):rep(7), codec.encode("InitProducerIdResponse", 1,
      { producer_id = 0x7fffffffffffffffULL }):match "\127(.*)..$")
  end)

  it("refuses fields that there are not", function()
    local ok, err = pcall(codec.encode, "MetadataRequest", 1, { tpics = {} })
    assert.is_false(ok)
    assert.equal("MetadataRequest has no field 'tpics'", err.message)
  end)

  it("keeps all digits of int64", function()
    for _, value in ipairs { 0, -1, 2 ^ 53, -2 ^ 53, 9007199254740993LL, -9007199254740993LL, 0x7fffffffffffffffLL,
      -0x7fffffffffffffffLL - 1 } do
      local bytes = codec.encode("ProduceResponse", 1, { throttle_time_ms = 0,
        responses = { { name = "a", partition_responses = { { base_offset = value } } } } })
      local back = codec.decode("ProduceResponse", 1, bytes)
      local offset = back.responses[1].partition_responses[1].base_offset
      assert.equal(tostring(value), tostring(offset))
    end
  end)

  it("decodes Metadata of 10,000 partitions in less than a second, interpreted", function()
    local partitions = {}
    for i = 1, 10000 do
      partitions[i] = { partition_index = i - 1, leader_id = 1, leader_epoch = 3, replica_nodes = { 1, 2, 3 },
        isr_nodes = { 1, 2, 3 }, offline_replicas = {} }
    end
    local bytes = codec.encode("MetadataResponse", 12, { topics = { { name = "big", partitions = partitions } } })
    jit.off()
    local start = os.clock()
    local value = codec.decode("MetadataResponse", 12, bytes)
    local seconds = os.clock() - start
    jit.on()
    assert.equal(10000, #value.topics[1].partitions)
    assert.is_true(seconds < ((os.getenv "LUKA_SAN" or "") ~= "" and 10 or 1), ("it took %f s"):format(seconds))
  end)

  it("is the one of the specs' client", function()
    assert.equal(wire.NULL, codec.NULL)
  end)
end)
