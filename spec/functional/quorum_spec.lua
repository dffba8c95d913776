-- SPDX-License-Identifier: Apache-2.0
-- What Kafka's clients ask about its quorum of controllers, features and registrations: DescribeQuorum, UpdateFeatures,
-- UnregisterBroker.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"

describe("DescribeQuorum", function()
  local broker, client

  setup(function()
    broker = brokers.start { listen = { "127.0.0.1:0", "127.0.0.2:0" } }
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function ask(version, topics, from)
    local list = {}
    for i, topic in ipairs(topics) do
      list[i] = { topic_name = topic[1], partitions = {} }
      for j = 2, #topic do list[i].partitions[j - 1] = { partition_index = topic[j] } end
    end
    return (from or client):ask("DescribeQuorum", version, { topics = list })
  end

  for version = 0, 2 do
    it(("shows a quorum of this one broker, in version %d"):format(version), function()
      local before = ask(version, { { "__cluster_metadata", 0 } })
      assert.equal(0, before.error_code)
      local part = before.topics[1].partitions[1]
      assert.same({ "__cluster_metadata", 1, 0, 0, 1, {} }, { before.topics[1].topic_name, #before.topics[1].partitions,
        part.partition_index, part.error_code, part.leader_id, part.observers })
      assert.equal(1, #part.current_voters)
      local voter = part.current_voters[1]
      assert.same({ 1, part.high_watermark }, { voter.replica_id, voter.log_end_offset })
      assert.is_true(part.leader_epoch >= 1)
      if version >= 1 then
        assert.is_true(math.abs(tonumber(voter.last_fetch_timestamp) - os.time() * 1000) < 60000)
        assert.equal(voter.last_fetch_timestamp, voter.last_caught_up_timestamp)
      end
      if version >= 2 then
        assert.same({ "", "" }, { before.error_message, part.error_message })
        assert.same({ { node_id = 1, listeners = { { name = "PLAINTEXT", host = "127.0.0.1", port = broker.port } } } }, before.nodes)
      end
      -- A change of the metadata is a step further.
      requests.create(client, "t" .. version)
      local after = ask(version, { { "__cluster_metadata", 0 } }).topics[1].partitions[1]
      assert.is_true(after.high_watermark > part.high_watermark)
      assert.equal(part.leader_epoch, after.leader_epoch)
    end)

    it(("answers 3 to everything but that one partition, in version %d"):format(version), function()
      for _, topics in ipairs { { { "x", 0 } }, { { "__cluster_metadata", 1 } }, { { "__cluster_metadata", 0, 1 } },
        { { "__cluster_metadata", 0 }, { "x", 0 } } } do
        local answer = ask(version, topics)
        assert.equal(0, answer.error_code)
        assert.equal(#topics, #answer.topics)
        for _, topic in ipairs(answer.topics) do
          for _, part in ipairs(topic.partitions) do
            assert.same({ 3, 0, {}, {} }, { part.error_code, part.leader_id, part.current_voters, part.observers })
            if version >= 2 then assert.equal("This server does not host this topic-partition.", part.error_message) end
          end
        end
      end
      assert.same({}, ask(version, {}).topics)
    end)

    it(("closes the connection on a request that ends early, in version %d"):format(version), function()
      assert.is_nil(malformed.first_accepted_prefix(broker, "DescribeQuorum", version,
        { topics = { { topic_name = "__cluster_metadata", partitions = { { partition_index = 0 } } } } }))
    end)
  end

  it("gives the address of the listener that the client came through", function()
    local other = broker:connect(2)
    local listener = ask(2, { { "__cluster_metadata", 0 } }, other).nodes[1].listeners[1]
    assert.same({ "127.0.0.2", broker.ports[2] }, { listener.host, listener.port })
    other:close()
  end)

  it("is led in a later epoch after a restart", function()
    local one = brokers.start()
    local epochs = {}
    for i = 1, 2 do
      local other = one:connect()
      epochs[i] = ask(0, { { "__cluster_metadata", 0 } }, other).topics[1].partitions[1].leader_epoch
      other:close()
      assert.equal(0, one:stop())
      if i == 1 then one = one:restart() end
    end
    assert.is_true(epochs[2] > epochs[1])
  end)

  describe("and UnregisterBroker", function()
    it("forgets nobody: who is not here is not registered, who is here stays", function()
      for _, case in ipairs { { 77, 102, "Broker ID 77 is not currently registered" },
        { -1, 102, "Broker ID -1 is not currently registered" },
        { 1, 42, "Broker ID 1 is running: its registration ends when it is stopped" } } do
        local answer = client:ask("UnregisterBroker", 0, { broker_id = case[1] })
        assert.same({ case[2], case[3] }, { answer.error_code, answer.error_message })
      end
      assert.equal(1, #client:ask("DescribeCluster", 2, {}).brokers)
      assert.is_nil(malformed.first_accepted_prefix(broker, "UnregisterBroker", 0, { broker_id = 77 }))
    end)
  end)

  describe("and UpdateFeatures", function()
    local prefix = "The update failed for all features since the following feature had an error: Invalid update version %d for feature %s. "

    local function update(version, feature, level, kind)
      local entry = { feature = feature, max_version_level = level }
      if version > 0 then entry.upgrade_type = kind or 1 end
      local answer = client:ask("UpdateFeatures", version, { timeout_ms = 1000, feature_updates = { entry } })
      assert.same(version < 2 and {} or nil, answer.results)
      return answer.error_code, answer.error_message
    end

    for version = 0, 2 do
      it(("refuses features and levels that there are not, in version %d"):format(version), function()
        assert.same({ 95, prefix:format(1, "no.such") .. "Local controller 1 does not support this feature." },
          { update(version, "no.such", 1) })
        assert.same({ 95, prefix:format(-1, "metadata.version") .. "A feature version cannot be less than 0." },
          { update(version, "metadata.version", -1) })
        assert.same({ 95, prefix:format(33, "metadata.version") .. "Local controller 1 does not support this feature." },
          { update(version, "metadata.version", 33) })
        if version > 0 then
          for _, kind in ipairs { 0, 4, 9, -1 } do
            assert.same({ 95, prefix:format(1, "no.such") .. "The controller does not support the given upgrade type." },
              { update(version, "no.such", 1, kind) })
          end
        end
      end)

      it(("has nothing against an update of nothing, in version %d"):format(version), function()
        local answer = client:ask("UpdateFeatures", version, { timeout_ms = 1000, feature_updates = {} })
        assert.equal(0, answer.error_code)
        assert.is_nil(answer.error_message)
        assert.same(version < 2 and {} or nil, answer.results)
      end)

      it(("closes the connection on a request that ends early, in version %d"):format(version), function()
        assert.is_nil(malformed.first_accepted_prefix(broker, "UpdateFeatures", version,
          { timeout_ms = 1000, feature_updates = { { feature = "a", max_version_level = 1 } } }))
      end)
    end
  end)
end)
