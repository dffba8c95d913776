-- SPDX-License-Identifier: Apache-2.0
-- ElectLeaders, in all versions. Errors and sentences are those of Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local PREFERRED, UNCLEAN = 0, 1

describe("ElectLeaders", function()
  local here = brokers.around(setup, teardown, function(client) requests.create(client, "a", { partitions = 2 }) end)

  --- Asks for { topic, partitions } each; the errors as "topic-partition code message", and the request's own.
  local function elect(version, kind, list)
    local topics = list and {} or wire.NULL
    for i, entry in ipairs(list or {}) do topics[i] = { topic = entry[1], partitions = entry[2] } end
    local answer = here.client:ask("ElectLeaders", version, { election_type = version > 0 and kind or nil,
      topic_partitions = topics, timeout_ms = 1000 })
    local found = {}
    for _, topic in ipairs(answer.replica_election_results) do
      if #topic.partition_result == 0 then found[#found + 1] = topic.topic end
      for _, part in ipairs(topic.partition_result) do
        found[#found + 1] = ("%s-%d %d %s"):format(topic.topic, part.partition_id, part.error_code, part.error_message)
      end
    end
    return found, answer.error_code
  end

  for version = 0, 2 do
    local none = version > 0 and 0 or nil
    it(("answers that no election is needed, in version %d"):format(version), function()
      local wanted = { "a-0 84 Leader election not needed for topic partition.", "a-1 84 Leader election not needed for topic partition." }
      assert.same({ wanted, none }, { elect(version, PREFERRED, { { "a", { 0, 1 } } }) })
      assert.same({ wanted, none }, { elect(version, UNCLEAN, { { "a", { 0 } }, { "a", { 1 } } }) })
    end)

    it(("lists topics without partitions where all are asked for, in version %d"):format(version), function()
      assert.same({ { "a" }, none }, { elect(version, PREFERRED, nil) })
      assert.same({ {}, none }, { elect(version, PREFERRED, {}) })
      assert.same({ { "a" }, none }, { elect(version, PREFERRED, { { "a", {} } }) })
    end)

    it(("answers 3 for what does not exist, in version %d"):format(version), function()
      assert.same({ "no-0 3 No such topic as no", "a-9 3 No such partition as a-9", "a--1 3 No such partition as a--1",
        "b b-0 3 No such topic as b b", "-0 3 No such topic as " },
        (elect(version, PREFERRED, { { "no", { 0 } }, { "a", { 9, -1 } }, { "b b", { 0 } }, { "", { 0 } } })))
    end)

    it(("closes the connection on a request that ends early, in version %d"):format(version), function()
      assert.is_nil(malformed.first_accepted_prefix(here.broker, "ElectLeaders", version,
        { topic_partitions = { { topic = "a", partitions = { 0 } } }, timeout_ms = 1000 }))
    end)
  end

  for version = 1, 2 do
    it(("answers 42 to an election of a type that does not exist, in version %d"):format(version), function()
      assert.same({ { "a-0 42 Unknown election type 7", "no-0 42 Unknown election type 7" }, 42 },
        { elect(version, 7, { { "a", { 0 } }, { "no", { 0 } } }) })
      assert.same({ {}, 42 }, { elect(version, 7, nil) })
      assert.same({ {}, 0 }, { elect(version, 7, {}) })
    end)
  end

  it("answers in little room and time to a long name that comes very often", function()
    local partitions = {}
    for i = 1, 5000 do partitions[i] = i end
    local found = elect(2, PREFERRED, { { ("x"):rep(30000), partitions } })
    assert.equal(5000, #found)
    assert.is_truthy(found[1]:find("3 No such topic as x+$"))
  end)
end)
