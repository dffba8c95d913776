-- SPDX-License-Identifier: Apache-2.0
-- ListConfigResources, in all versions.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local malformed = require "spec.support.malformed"
local requests = require "spec.support.requests"

local TOPIC, BROKER, LOGGER, METRICS, GROUP = configs.TOPIC, configs.BROKER, configs.LOGGER, configs.METRICS, configs.GROUP

describe("ListConfigResources", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
    requests.create(client, "a")
    requests.create(client, "b")
    configs.alter(client, GROUP, "g 1", { { "consumer.session.timeout.ms", configs.SET, "50000" } })
    configs.alter(client, METRICS, "m", { { "interval.ms", configs.SET, "5000" } })
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function list(types)
    local answer = client:ask("ListConfigResources", 1, { resource_types = types })
    assert.equal(0, answer.error_code)
    local found = {}
    for i, resource in ipairs(answer.config_resources) do found[i] = resource.resource_type .. " " .. resource.resource_name end
    table.sort(found)
    return found
  end

  it("lists subscriptions to clients' metrics, without types, in version 0", function()
    local answer = client:ask("ListConfigResources", 0, {})
    assert.equal(0, answer.error_code)
    assert.equal(1, #answer.config_resources)
    assert.equal("m", answer.config_resources[1].resource_name)
    assert.is_nil(answer.config_resources[1].resource_type)
  end)

  it("lists all that has configs where no type is named, in version 1", function()
    assert.same({ "16 m", "2 a", "2 b", "32 g 1", "4 1", "8 1" }, list {})
  end)

  it("lists the types that are named, each once", function()
    assert.same({ "2 a", "2 b" }, list { TOPIC })
    assert.same({ "4 1" }, list { BROKER })
    assert.same({ "8 1" }, list { LOGGER })
    assert.same({ "16 m", "2 a", "2 b" }, list { METRICS, TOPIC, METRICS })
    assert.same({ "32 g 1" }, list { GROUP })
  end)

  it("answers 35 to a type that is not known, also beside one that is", function()
    for _, types in ipairs { { 99 }, { 0 }, { 1 }, { -1 }, { -128 }, { 6 }, { TOPIC, 64 } } do
      local answer = client:ask("ListConfigResources", 1, { resource_types = types })
      assert.same({ 35, {} }, { answer.error_code, answer.config_resources })
    end
  end)

  it("leaves out a group on which nothing is set any more", function()
    configs.alter(client, GROUP, "gone", { { "consumer.session.timeout.ms", configs.SET, "50000" } })
    assert.same({ "32 g 1", "32 gone" }, list { GROUP })
    configs.alter(client, GROUP, "gone", { { "consumer.session.timeout.ms", configs.DELETE } })
    assert.same({ "32 g 1" }, list { GROUP })
  end)

  for version = 0, 1 do
    it(("closes the connection on a request that ends early, in version %d"):format(version), function()
      assert.is_nil(malformed.first_accepted_prefix(broker, "ListConfigResources", version, { resource_types = { 2 } }))
    end)
  end
end)
