-- SPDX-License-Identifier: Apache-2.0
-- What becomes of requests to create and delete topics while the controller is silent, and when it is none.
local clients = require "spec.support.client"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local C = unit.load "api_driver.h"

describe("a change of topics", function()
  local driver, client

  before_each(function()
    driver = C.api_driver_new()
    assert(driver ~= nil)
    client = clients.connect(C.api_driver_port(driver))
  end)
  after_each(function()
    client:close()
    C.api_driver_delete(driver)
  end)

  local function create(name, timeout_ms)
    return { topics = { { name = name, num_partitions = 1, replication_factor = 1 }, { name = name }, { name = "b b" } },
      timeout_ms = timeout_ms }
  end

  it("is answered with 7 for each topic when the time is up, after a second at the earliest", function()
    for _, timeout in ipairs { 0, -1, 1200 } do
      local start = clients.now_ms()
      local answer = client:ask("CreateTopics", 7, create("a", timeout))
      local took = clients.now_ms() - start
      assert.is_true(took >= math.max(timeout, 1000), took)
      assert.equal(3, #answer.topics)
      for i, name in ipairs { "a", "a", "b b" } do
        assert.same({ name, 7, -1, -1 }, { answer.topics[i].name, answer.topics[i].error_code,
          answer.topics[i].num_partitions, answer.topics[i].replication_factor })
        assert.is_string(answer.topics[i].error_message)
        assert.same({}, answer.topics[i].configs)
      end
    end
  end)

  it("is answered with 7 for each topic to delete, as the client named it", function()
    local id = ("i"):rep(16)
    local answer = client:ask("DeleteTopics", 6, { topics = { { name = "a" }, { name = wire.NULL, topic_id = id } }, timeout_ms = 0 })
    assert.same({ "a", wire.NO_UUID, 7 }, { answer.responses[1].name, answer.responses[1].topic_id, answer.responses[1].error_code })
    assert.is_nil(answer.responses[2].name)
    assert.same({ id, 7 }, { answer.responses[2].topic_id, answer.responses[2].error_code })
    assert.equal(7, client:ask("DeleteTopics", 0, { topic_names = { "a" }, timeout_ms = 0 }).responses[1].error_code)
  end)

  it("is answered by the controller when that is earlier: 41 when it is none", function()
    local id = client:request("CreateTopics", 7, create("a", 60000))
    C.api_driver_release(driver)
    local answer = client:answer("CreateTopics", 7, id)
    for _, topic in ipairs(answer.topics) do
      assert.same({ 41, -1 }, { topic.error_code, topic.num_partitions })
      assert.same({}, topic.configs)
      assert.equal(wire.NO_UUID, topic.topic_id)
    end
    answer = client:ask("DeleteTopics", 6, { topics = { { name = "a" } }, timeout_ms = 60000 })
    assert.equal(41, answer.responses[1].error_code)
  end)

  it("may be answered after its client has gone, or after its time was up", function()
    assert.equal(7, client:ask("CreateTopics", 7, create("late", 0)).topics[1].error_code)
    client:request("CreateTopics", 7, create("a", 60000))
    client:close()
    client = clients.connect(C.api_driver_port(driver))
    C.api_driver_release(driver)
    assert.equal(41, client:ask("CreateTopics", 7, create("a", 60000)).topics[1].error_code)
  end)

  it("waits for nobody when Metadata asks for a missing topic, however many there are", function()
    for i = 1, 30 do
      local body = { topics = {}, allow_auto_topic_creation = true }
      for j = 1, 100 do body.topics[j] = { name = ("missing-%d-%d"):format(i, j) } end
      local answer = client:ask("Metadata", 9, body)
      for j = 1, 100 do assert.equal(3, answer.topics[j].error_code) end
    end
  end)
end)
