-- SPDX-License-Identifier: Apache-2.0
-- Members of groups in one form.
require "spec.support.wire"
local codec = require "luka.wire.codec"
local members = require "luka.admin.members"
local schema = require "luka.wire.schema"

schema.load "consumer_protocol"

--- A message of the consumer's own, behind its version.
local function embedded(name, version, value)
  return string.char(math.floor(version / 256), version % 256) .. codec.encode(name, math.min(version, 3), value)
end

local function described(fields)
  local out = { member_id = "m-1", client_id = "app", client_host = "/10.0.0.7", member_metadata = "", member_assignment = "" }
  for key, value in pairs(fields) do out[key] = value end
  return out
end

describe("luka.admin.members", function()
  it("reads the subscription and the assignment of a classic consumer", function()
    for version = 0, 3 do
      local member = members.classic(described {
        group_instance_id = "static-a",
        member_metadata = embedded("ConsumerProtocolSubscription", version, { topics = { "b", "a" }, rack_id = "r1" }),
        member_assignment = embedded("ConsumerProtocolAssignment", version,
          { assigned_partitions = { { topic = "a", partitions = { 2, 0 } }, { topic = "b", partitions = { 1 } } } }),
      }, "consumer")
      assert.same({ member_id = "m-1", instance_id = "static-a", client_id = "app", host = "10.0.0.7", protocol = "classic",
        topics = { "a", "b" }, rack = version == 3 and "r1" or nil, assignment = { a = { 0, 2 }, b = { 1 } } }, member)
    end
  end)

  it("reads newer versions as the newest that it knows", function()
    local member = members.classic(described {
      member_assignment = embedded("ConsumerProtocolAssignment", 9, { assigned_partitions = { { topic = "a", partitions = { 0 } } } })
        .. "something new" }, "consumer")
    assert.same({ a = { 0 } }, member.assignment)
  end)

  it("does not guess at what is no consumer, or damaged", function()
    local bytes = embedded("ConsumerProtocolSubscription", 0, { topics = { "a" } })
    assert.is_nil(members.classic(described { member_metadata = bytes }, "connect").topics)
    for size = 0, #bytes - 1 do
      assert.is_nil(members.classic(described { member_metadata = bytes:sub(1, size) }, "consumer").topics, size)
    end
    assert.is_nil(members.classic(described { member_metadata = "\255\255" .. bytes:sub(3) }, "consumer").topics)
    assert.is_nil(members.classic(described { member_metadata = "\0\0\127\255\255\255" }, "consumer").topics)
  end)

  it("tells what a consumer is to have where that is something else", function()
    local function consumer(target)
      return members.consumer { member_id = "m", client_id = "app", client_host = "/10.0.0.7", member_epoch = 3, member_type = 1,
        rack_id = "", subscribed_topic_names = { "a" }, subscribed_topic_regex = nil,
        assignment = { topic_partitions = { { topic_name = "a", partitions = { 1, 0 } } } },
        target_assignment = { topic_partitions = target } }
    end
    assert.same({ member_id = "m", client_id = "app", host = "10.0.0.7", epoch = 3, protocol = "consumer", topics = { "a" },
      assignment = { a = { 0, 1 } } }, consumer { { topic_name = "a", partitions = { 0, 1 } } })
    assert.same({ a = { 0 } }, consumer({ { topic_name = "a", partitions = { 0 } } }).target)
    assert.same({}, consumer({}).target)
    assert.same({ a = { 0, 1 }, b = { 0 } },
      consumer({ { topic_name = "a", partitions = { 0, 1 } }, { topic_name = "b", partitions = { 0 } } }).target)
  end)

  it("knows classic members of a consumer group", function()
    local member = members.consumer { member_id = "m", client_id = "", client_host = "", member_epoch = 1, member_type = 0,
      subscribed_topic_names = {}, assignment = { topic_partitions = {} }, target_assignment = { topic_partitions = {} } }
    assert.equal("classic", member.protocol)
  end)
end)
