-- SPDX-License-Identifier: Apache-2.0
-- Answers that are errors (luka.wire.refusal): to every request in every version.
require "spec.support.wire" -- finds the modules and schemas
local codec = require "luka.wire.codec"
local errors = require "luka.errors"
local refusal = require "luka.wire.refusal"
local schema = require "luka.wire.schema"
local served = require "luka.wire.served"

local NOT_LEADER = 6
local SAMPLES = {
  bool = true, string = "a", bytes = "b", records = "", uuid = ("\1"):rep(16), float64 = 1.5,
}

--- A request that names two of everything.
local function sample(struct, version)
  local value = {}
  for _, field in ipairs(struct.fields) do
    if version >= field.lo and version <= field.hi and not field.tag then
      local function one(i)
        if field.struct then return sample(field.struct, version) end
        local plain = SAMPLES[field.base]
        if plain == nil then return i end
        return field.base == "string" and plain .. i or plain
      end
      value[field.key] = field.array and { one(1), one(2) } or one(1)
    end
  end
  return value
end

--- All error codes of an answer, from the outermost in.
local function codes_of(value, out)
  out = out or {}
  for key, item in pairs(value) do
    if key == "error_code" and item ~= 0 then out[#out + 1] = item end
    if type(item) == "table" then codes_of(item, out) end
  end
  return out
end

local function answer(api, version, request, name, code, at, message)
  local made = refusal.response(api, version, request, name, code, at, message)
  return (codec.decode(api .. "Response", version, codec.encode(api .. "Response", version, made)))
end

describe("An answer that is an error", function()
  for _, api in ipairs(served.names()) do
    it(("can be given to every version of %s"):format(api), function()
      local message = schema.message(api .. "Request")
      for version = message.lo, message.hi do
        local request = codec.decode(api .. "Request", version,
          codec.encode(api .. "Request", version, sample(message.root, version)))
        local codes = codes_of(answer(api, version, request, "NOT_LEADER_OR_FOLLOWER", NOT_LEADER))
        assert.is_true(#codes > 0, ("version %d"):format(version))
        for _, code in ipairs(codes) do assert.equal(NOT_LEADER, code) end
      end
    end)
  end

  it("names each partition that a Fetch asks for", function()
    local request = { topics = { { topic = "t", partitions = { { partition = 3 }, { partition = 5 } } } } }
    local made = answer("Fetch", 11, request, "NOT_LEADER_OR_FOLLOWER", 6)
    assert.equal(0, made.error_code)
    assert.equal("t", made.responses[1].topic)
    local partitions = made.responses[1].partitions
    assert.same({ 3, 5 }, { partitions[1].partition_index, partitions[2].partition_index })
    assert.same({ 6, 6 }, { partitions[1].error_code, partitions[2].error_code })
    assert.same({ -1, -1, "" }, { partitions[1].high_watermark, partitions[1].log_start_offset, partitions[1].records })
  end)

  it("names topics by their ids where the request does", function()
    local id = ("\7"):rep(16)
    local request = { topics = { { topic_id = id, partitions = { { partition = 0 } } } } }
    assert.equal(id, answer("Fetch", 13, request, "UNKNOWN_TOPIC_ID", 100).responses[1].topic_id)
    local made = answer("Metadata", 12, { topics = { { topic_id = id } } }, "UNKNOWN_TOPIC_ID", 100)
    assert.same({ id, nil }, { made.topics[1].topic_id, made.topics[1].name })
  end)

  it("gives a Produce no offset", function()
    local request = { topic_data = { { name = "t", partition_data = { { index = 1 } } } } }
    local part = answer("Produce", 9, request, "NOT_ENOUGH_REPLICAS", 19).responses[1].partition_responses[1]
    assert.same({ 1, 19, -1, -1 }, { part.index, part.error_code, part.base_offset, part.log_append_time_ms })
  end)

  it("is that of the whole request where a broker gives it so", function()
    local request = { session_id = 7, topics = { { topic = "t", partitions = { { partition = 0 } } } } }
    local made = answer("Fetch", 11, request, "FETCH_SESSION_ID_NOT_FOUND", 70)
    assert.same({ 70, 0 }, { made.error_code, #made.responses })
    local groups = { groups = { { group_id = "g", topics = { { name = "t", partition_indexes = { 0, 1 } } } } } }
    made = answer("OffsetFetch", 8, groups, "NOT_COORDINATOR", 16)
    assert.same({ "g", 16, 0 }, { made.groups[1].group_id, made.groups[1].error_code, #made.groups[1].topics })
    made = answer("OffsetFetch", 8, groups, "UNSTABLE_OFFSET_COMMIT", 88)
    assert.equal(0, made.groups[1].error_code)
    local partitions = made.groups[1].topics[1].partitions
    assert.same({ 0, 88, 1, 88 }, { partitions[1].partition_index, partitions[1].error_code,
      partitions[2].partition_index, partitions[2].error_code })
    assert.equal(-1, partitions[1].committed_offset)
  end)

  it("is what is asked for: of the request, or of each thing", function()
    local request = { topics = { { topic = "t", partitions = { { partition = 0 } } } } }
    assert.equal(6, answer("Fetch", 11, request, "NOT_LEADER_OR_FOLLOWER", 6, "request").error_code)
    local made = answer("Fetch", 11, request, "FETCH_SESSION_ID_NOT_FOUND", 70, "each")
    assert.same({ 0, 70 }, { made.error_code, made.responses[1].partitions[1].error_code })
  end)

  it("has a message where there is room for one", function()
    local made = answer("CreateTopics", 5, { topics = { { name = "t" } } }, "POLICY_VIOLATION", 44, nil, "not today")
    assert.same({ "t", 44, "not today" }, { made.topics[1].name, made.topics[1].error_code, made.topics[1].error_message })
  end)

  it("is that of the request when it names nothing", function()
    assert.equal(6, answer("Fetch", 11, { topics = {} }, "NOT_LEADER_OR_FOLLOWER", 6).error_code)
    local ok, err = pcall(refusal.response, "Metadata", 4, { topics = nil }, "UNKNOWN_SERVER_ERROR", -1)
    assert.is_false(ok)
    assert.is_true(errors.is(err))
    assert.equal("fail: this Metadata names nothing, and version 4 has no place for an error of its own", err.message)
  end)
end)
