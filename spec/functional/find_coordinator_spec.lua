-- SPDX-License-Identifier: Apache-2.0
-- FindCoordinator: of groups this broker; of transactions and share groups it says honestly that there is none yet.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local malformed = require "spec.support.malformed"

local ID = "eHh4eHh4eHh4eHh4eHh4eA"

describe("FindCoordinator", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
    clients.wait_until("the topic of groups is there", function()
      return client:ask("FindCoordinator", 0, { key = "g" }).error_code == 0
    end)
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  --- Error code of one key, in any version.
  local function code_of(version, key, key_type)
    local answer
    if version < 4 then
      answer = client:ask("FindCoordinator", version, { key = key, key_type = version >= 1 and key_type or nil })
    else
      answer = client:ask("FindCoordinator", version, { coordinator_keys = { key }, key_type = key_type })
      assert.equal(1, #answer.coordinators)
      assert.equal(key, answer.coordinators[1].key)
      answer = answer.coordinators[1]
    end
    local is_found = answer.error_code == 0
    assert.equal(is_found and 1 or -1, answer.node_id)
    assert.equal(is_found and "127.0.0.1" or "", answer.host)
    assert.equal(is_found and broker.port or -1, answer.port)
    if version >= 1 then assert.is_string(answer.error_message) end
    return answer.error_code
  end

  for version = 0, 6 do
    it(("names this broker for a group in version %d, also with an empty name"):format(version), function()
      assert.equal(0, code_of(version, "g", 0))
      assert.equal(0, code_of(version, "", 0))
    end)
  end

  for version = 1, 6 do
    it(("answers 15 for a transactional id in version %d"):format(version), function()
      assert.equal(15, code_of(version, "t", 1))
    end)

    it(("answers 42 for key types that do not exist in version %d"):format(version), function()
      for _, key_type in ipairs { 3, -1, 99 } do assert.equal(42, code_of(version, "g", key_type)) end
    end)
  end

  it("answers 42 for share partitions before version 6", function()
    for version = 1, 5 do assert.equal(42, code_of(version, "g:" .. ID .. ":0", 2)) end
  end)

  it("answers 42 for a share partition that is not <group>:<topic id>:<partition>", function()
    for _, key in ipairs { "", "g", "g:", "g::", "g:notid:0", ":" .. ID .. ":0", "g:" .. ID, "g:" .. ID .. ":", "g:" .. ID .. ":p",
      "g:" .. ID .. ":-1", "g:" .. ID .. ":2147483648", "g:" .. ID .. ":99999999999", "g:" .. ID .. ":0:0" } do
      assert.equal(42, code_of(6, key, 2))
    end
  end)

  it("answers 15 for a share partition", function()
    assert.equal(15, code_of(6, "g:" .. ID .. ":0", 2))
    assert.equal(15, code_of(6, "g:" .. ID .. ":2147483647", 2))
  end)

  it("answers every key of a batch in its order, also one that is named twice, and none for none", function()
    for version = 4, 6 do
      local answer = client:ask("FindCoordinator", version, { coordinator_keys = { "g", "h", "g" } })
      assert.equal(3, #answer.coordinators)
      assert.equal("g", answer.coordinators[1].key)
      assert.equal("h", answer.coordinators[2].key)
      assert.equal("g", answer.coordinators[3].key)
      assert.same({}, client:ask("FindCoordinator", version, { coordinator_keys = {} }).coordinators)
    end
  end)

  it("answers 15 to the first one that asks, and has the topic made with the configs of the broker", function()
    local other = brokers.start { set = { "offsets_topic_num_partitions=7", "offsets_topic_segment_bytes=1048576",
      "auto_create_topics_enable=false" } }
    local asking = other:connect()
    assert.equal(15, asking:ask("FindCoordinator", 4, { coordinator_keys = { "g" }, key_type = 0 }).coordinators[1].error_code)
    clients.wait_until("the topic is there", function()
      return asking:ask("FindCoordinator", 0, { key = "g" }).error_code == 0
    end)
    local topic = asking:ask("Metadata", 5, { topics = { { name = "__consumer_offsets" } } }).topics[1]
    assert.equal(7, #topic.partitions)
    assert.is_true(topic.is_internal)
    local configs = {}
    for _, config in ipairs(asking:ask("DescribeConfigs", 1, { resources = { { resource_type = 2,
      resource_name = "__consumer_offsets" } } }).results[1].configs) do
      configs[config.name] = config.value
    end
    assert.same({ "compact", "producer", "1048576" },
      { configs["cleanup.policy"], configs["compression.type"], configs["segment.bytes"] })
    asking:close()
    assert.equal(0, other:stop())
  end)

  it("is told to the log for transactions", function()
    local other = brokers.start()
    local asking = other:connect()
    asking:ask("FindCoordinator", 1, { key = "t", key_type = 1 })
    asking:close()
    assert.equal(0, other:stop())
    assert.truthy(other:log():find(" asked for the coordinator of transactional id 't': transactions are not served yet; it "
      .. "will wait for ever\n", 1, true))
  end)

  it("closes the connection on a request that ends early, at every length", function()
    assert.is_nil(malformed.first_accepted_prefix(broker, "FindCoordinator", 6, { coordinator_keys = { "a", "bc" } }))
    assert.is_nil(malformed.first_accepted_prefix(broker, "FindCoordinator", 0, { key = "abc" }))
    assert.equal(0, code_of(6, "g", 0))
  end)
end)
