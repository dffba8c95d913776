-- SPDX-License-Identifier: Apache-2.0
-- AlterPartitionReassignments and ListPartitionReassignments. Errors and sentences are those of Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

describe("Reassignments", function()
  local here = brokers.around(setup, teardown, function(client) requests.create(client, "a", { partitions = 2 }) end)

  --- Asks for { topic, { partition, replicas or nil } ... } each; the answer.
  local function move(version, list)
    local topics = {}
    for i, entry in ipairs(list) do
      local partitions = {}
      for j = 2, #entry do
        partitions[j - 1] = { partition_index = entry[j][1], replicas = entry[j][2] or wire.NULL }
      end
      topics[i] = { name = entry[1], partitions = partitions }
    end
    local answer = here.client:ask("AlterPartitionReassignments", version, { timeout_ms = 1000, topics = topics })
    assert.equal(0, answer.error_code)
    return answer
  end

  for version = 0, 1 do
    for _, case in ipairs {
      { "a", 0, { 1 }, 0 },
      { "a", 0, { 1001 }, 39, "The manual partition assignment includes broker 1001, but no such broker is registered." },
      { "a", 0, { 1, 1001 }, 39, "The manual partition assignment includes broker 1001, but no such broker is registered." },
      { "a", 0, { 2, -5, 1 }, 39, "The manual partition assignment includes broker -5, but no such broker is registered." },
      { "a", 0, {}, 39, "The manual partition assignment includes an empty replica list." },
      { "a", 0, { 1, 1 }, 39, "The manual partition assignment includes the broker 1 more than once." },
      { "a", 0, nil, 85 },
      { "a", 9, { 1 }, 3, "Unable to find partition a:9." },
      { "a", -1, { 1 }, 3, "Unable to find partition a:-1." },
      { "no", 0, { 1 }, 3, "Unable to find a topic named no." },
      { "", 0, { 1 }, 3, "Unable to find a topic named ." },
    } do
      local wanted = case[3] and "{" .. table.concat(case[3], ",") .. "}" or "cancel"
      it(("answers %d to %s of %s-%d, in version %d"):format(case[4], wanted, case[1], case[2], version), function()
        local topic = move(version, { { case[1], { case[2], case[3] } } }).responses[1]
        local part = topic.partitions[1]
        assert.same({ case[1], 1, case[2], case[4], case[5] },
          { topic.name, #topic.partitions, part.partition_index, part.error_code, part.error_message })
      end)
    end

    it(("answers each topic and partition as often as it is named, in version %d"):format(version), function()
      local answer = move(version, { { "a", { 0, { 1 } }, { 0, { 1 } } }, { "a", { 1, { 1 } } }, { "a" } })
      assert.equal(3, #answer.responses)
      assert.equal(2, #answer.responses[1].partitions)
      assert.equal(0, #answer.responses[3].partitions)
      assert.is_nil(answer.error_message)
      assert.equal(version >= 1 and true or nil, answer.allow_replication_factor_change)
      assert.equal("", move(version, {}).error_message)
    end)

    it(("closes the connection on a request that ends early, in version %d"):format(version), function()
      assert.is_nil(malformed.first_accepted_prefix(here.broker, "AlterPartitionReassignments", version,
        { timeout_ms = 1000, topics = { { name = "a", partitions = { { partition_index = 0, replicas = { 1 } } } } } }))
    end)
  end

  it("are none under way, whatever is asked for", function()
    for _, topics in ipairs { wire.NULL, {}, { { name = "a", partition_indexes = { 0, 9 } } },
      { { name = "no", partition_indexes = { 0 } } } } do
      local answer = here.client:ask("ListPartitionReassignments", 0, { timeout_ms = 1000, topics = topics })
      assert.same({ 0, {} }, { answer.error_code, answer.topics })
      assert.is_nil(answer.error_message)
    end
    assert.is_nil(malformed.first_accepted_prefix(here.broker, "ListPartitionReassignments", 0, { timeout_ms = 1000, topics = {} }))
  end)
end)
