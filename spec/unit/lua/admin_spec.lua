-- SPDX-License-Identifier: Apache-2.0
-- The parts of admin.* that need no broker: which partition a key has, ids, and answers that are not what they should be.
require "spec.support.wire"
local admins = require "spec.support.admin"
local codec = require "luka.wire.codec"
local admin = require "luka.admin"
local partitioner = require "luka.admin.partitioner"
local uuid = require "luka.admin.uuid"

--- An admin whose requests are answered by a function.
local function answered(fn) return admin.new { call = function(_, request) return fn(request) end } end

--- The answer to a request, with its correlation id.
local function answer(request, api, body)
  local header = codec.decode("RequestHeader", 1, request)
  return codec.encode("ResponseHeader", 1, { correlation_id = header.correlation_id })
    .. codec.encode(api .. "Response", header.request_api_version, body)
end

describe("The partition of a key", function()
  it("is by murmur2 as Kafka's own", function()
    -- UtilsTest.testMurmur2 of Apache Kafka.
    for text, hash in pairs { ["21"] = -973932308, foobar = -790332482, ["a-little-bit-long-string"] = -985981536,
      ["a-little-bit-longer-string"] = -1486304829,
      ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"] = -58897971, abc = 479470107 } do
      assert.equal(hash, partitioner.murmur2(text), text)
    end
  end)

  it("is one of the topic's", function()
    for i = 1, 1000 do
      local partition = partitioner.of_key("key" .. i, 7)
      assert.is_true(partition >= 0 and partition < 7)
    end
  end)
end)

describe("An id", function()
  it("is shown as Kafka shows it", function()
    assert.equal("AAAAAAAAAAAAAAAAAAAAAA", uuid.text(("\0"):rep(16)))
    assert.equal("_____________________w", uuid.text(("\255"):rep(16)))
    assert.equal("AQIDBAUGBwgJCgsMDQ4PEA", uuid.text "\1\2\3\4\5\6\7\8\9\10\11\12\13\14\15\16")
  end)
end)

describe("An answer", function()
  it("to another request is refused", function()
    local one = answered(function() return codec.encode("ResponseHeader", 1, { correlation_id = 77 })
      .. codec.encode("MetadataResponse", 12, {}) end)
    local err = admins.refusal(one.topics)
    assert.same({ "malformed", "the broker answered another request than Metadata" }, { err.code, err.message })
  end)

  it("that is cut is refused", function()
    local one = answered(function(request) return answer(request, "Metadata", { topics = { { name = "a" } } }):sub(1, -4) end)
    assert.equal("malformed", admins.refusal(one.topics).code)
  end)

  it("with an error without a sentence gets one", function()
    local one = answered(function(request)
      return answer(request, "DeleteTopics", { responses = { { name = "a", error_code = 56 } } })
    end)
    local err = admins.refusal(one.delete_topic, "a")
    assert.same({ "KAFKA_STORAGE_ERROR", 'topic "a": its log directory is full or has failed; the broker\'s log says more' },
      { err.code, err.message })
  end)

  it("with errors of some partitions says how many went well", function()
    local one = answered(function(request)
      return answer(request, "DeleteRecords", { topics = { { name = "a", partitions = {
        { partition_index = 0, low_watermark = 5 }, { partition_index = 1, low_watermark = -1, error_code = 1 },
        { partition_index = 2, low_watermark = 7 } } } } })
    end)
    local err = admins.refusal(one.delete_records, "a", { [0] = 5, [1] = 9, [2] = 7 })
    assert.same({ "OFFSET_OUT_OF_RANGE",
      'topic "a" partition 1: the partition has no such offset (those of 2 partitions were deleted)' },
      { err.code, err.message })
  end)

  it("with an error that nobody knows names its number", function()
    local one = answered(function(request)
      return answer(request, "DeleteTopics", { responses = { { name = "a", error_code = 999 } } })
    end)
    assert.same("ERROR_999", admins.refusal(one.delete_topic, "a").code)
  end)

  it("that is none is the transport's error", function()
    local one = answered(function() error(require("luka.errors").new("disconnected", "the broker is stopping"), 0) end)
    assert.equal("disconnected", admins.refusal(one.topics).code)
  end)
end)

describe("A request", function()
  it("that is not among those spoken is refused", function()
    local err = admins.refusal(admin.new({}).call, "JoinGroup", {})
    assert.matches('^call: got "JoinGroup", expected one of AlterReplicaLogDirs, ', err.message)
  end)

  it("with a wrong argument is not sent", function()
    local one = answered(error)
    for message, call in pairs {
      ['create_topic: got nil, expected the name of a topic: "clicks"'] = function() one.create_topic() end,
      ["create_topic: partitions: got 0, expected a whole number from 1 to 2147483647"] = function()
        one.create_topic("a", { partitions = 0 })
      end,
      ["create_topic: assignments: got 1, expected a list of lists of broker ids: { { 1 }, { 1 } }"] = function()
        one.create_topic("a", { assignments = 1 })
      end,
      ["create_topic: retention_ms is given twice"] = function()
        one.create_topic("a", { retention_ms = 1, ["retention.ms"] = 2 })
      end,
      ['describe_configs: got "toipc", expected one of "broker", "group", "topic"'] = function() one.describe_configs("toipc", "a") end,
      ['list_offsets: got "newest", expected one of "earliest", "latest", "max_timestamp"'] = function()
        one.list_offsets("a", "newest")
      end,
      ["delete_records: got nil, expected a table by partition: { [0] = 42 }"] = function() one.delete_records("a") end,
      ["delete_records: got -1, expected a whole number from 0 to 9007199254740992"] = function()
        one.delete_records("a", { [0] = -1 })
      end,
      -- Unsigned numbers that would be written as -1, which is "all of them".
      ["delete_records: got 18446744073709551615ULL, expected a whole number from 0 to 9223372036854775807"] = function()
        one.delete_records("a", { [0] = 18446744073709551615ULL })
      end,
      ["delete_records: got -1LL, expected a whole number from 0 to 9223372036854775807"] = function()
        one.delete_records("a", { [0] = -1LL })
      end,
      ["list_offsets: got 9223372036854775808ULL, expected a whole number from 0 to 9223372036854775807"] = function()
        one.list_offsets("a", 9223372036854775808ULL)
      end,
      ["fetch: got 0+1i, expected a whole number from 0 to 9223372036854775807"] = function() one.fetch("a", { [0] = 1i }) end,
      ["fetch: partition: got 1.5, expected a whole number from 0 to 2147483647"] = function() one.fetch("a", { [1.5] = 0 }) end,
      ['fetch: there is no option "max_byts", did you mean max_bytes?'] = function()
        one.fetch("a", { [0] = 0 }, { max_byts = 1 })
      end,
      ["describe_configs: keys: got 3, expected a list"] = function() one.describe_configs("topic", "a", { keys = 3 }) end,
      ['describe_configs: keys: got 3, expected a key: "retention_ms"'] = function()
        one.describe_configs("topic", "a", { keys = { 3 } })
      end,
      ["list_offsets: partitions: got 3, expected a list"] = function() one.list_offsets("a", "latest", 3) end,
      ["produce: acks: got 0, expected -1 or 1: an answer is needed"] = function() one.produce("a", "x", { acks = 0 }) end,
      ['produce: got nil, expected a record: { key = "a", value = "b" }'] = function() one.produce("a") end,
    } do
      local err = admins.refusal(call)
      assert.same({ "usage", message }, { err.code, err.message })
    end
  end)
end)

describe("Groups of which one answers with an error", function()
  local function group(name, code)
    return { error_code = code or 0, group_id = name, group_state = "Stable", protocol_type = "consumer", protocol_data = "range",
      members = {} }
  end

  --- Groups "a", "b" and "c"; what is asked of each gives the error code of `codes`.
  local function broken(codes)
    local answers = {
      ListGroups = function()
        local groups = {}
        for i, name in ipairs { "a", "b", "c" } do
          groups[i] = { group_id = name, protocol_type = "consumer", group_state = "Stable", group_type = "classic" }
        end
        return { error_code = 0, groups = groups }
      end,
      DescribeGroups = function()
        return { groups = { group "a", group("b", codes.describe), group "c" } }
      end,
      OffsetFetch = function()
        local groups = {}
        for i, name in ipairs { "a", "b", "c" } do
          groups[i] = { group_id = name, error_code = name == "b" and codes.offsets or 0, topics = {} }
        end
        return { groups = groups }
      end,
      FindCoordinator = function() return { coordinators = {} } end,
      Metadata = function()
        return { topics = { { error_code = 0, name = "__consumer_offsets", partitions = {} } } }
      end,
    }
    local apis = { [3] = "Metadata", [9] = "OffsetFetch", [10] = "FindCoordinator", [15] = "DescribeGroups", [16] = "ListGroups" }
    local transport = { waited = 0 }
    function transport:wait(ms) self.waited = self.waited + ms end
    function transport:call(request) -- luacheck: ignore self
      local api = apis[codec.decode("RequestHeader", 1, request).request_api_key]
      return answer(request, api, answers[api]())
    end
    return admin.new(transport), transport
  end

  local function rows(one)
    local out = {}
    for i, row in ipairs(one.groups()) do out[i] = { row.name, row.members or "-", row.lag or "-", row.error } end
    return out
  end

  it("are listed, with the error where it belongs", function()
    assert.same({ { "a", 0, 0 }, { "b", "-", 0, "this may not be done with the group" }, { "c", 0, 0 } },
      rows(broken { describe = 30 }))
    assert.same({ { "a", 0, 0 }, { "b", 0, "-", "this may not be done with the group" }, { "c", 0, 0 } },
      rows(broken { offsets = 30 }))
  end)

  it("are listed, too, when one is still being loaded after some patience", function()
    local one, transport = broken { describe = 14 }
    assert.same({ { "a", 0, 0 }, { "b", "-", 0, "the broker is still reading its offsets" }, { "c", 0, 0 } }, rows(one))
    assert.is_true(transport.waited >= 15000)
  end)

  it("have a lag, without that one", function()
    local found, failed = broken({ offsets = 30 }).lag()
    assert.same({ {}, { b = "this may not be done with the group" } }, { found, failed })
  end)

  it("are refused where that one is meant", function()
    assert.equal("GROUP_AUTHORIZATION_FAILED", admins.refusal(broken({ describe = 30 }).group, "b").code)
  end)
end)
