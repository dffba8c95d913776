-- SPDX-License-Identifier: Apache-2.0
-- Metadata of a cluster with brokers that are elsewhere or gone; what one broker can show is in spec/functional.
local clients = require "spec.support.client"
local unit = require "spec.support.unit"

local C = unit.load "api_driver.h"

describe("Metadata of a cluster", function()
  local driver, client

  setup(function()
    driver = C.api_driver_new()
    assert(driver ~= nil)
    client = clients.connect(C.api_driver_port(driver))
  end)
  teardown(function()
    client:close()
    C.api_driver_delete(driver)
  end)

  --- The partition of topic "t" with a number.
  local function partition(version, index)
    local answer = client:ask("Metadata", version, { topics = { { name = "t" } } })
    assert.equal(6, #answer.topics[1].partitions)
    return answer.topics[1].partitions[index + 1]
  end

  local function expect(version, code, leader, epoch)
    return { code, leader, version >= 7 and epoch or nil }
  end

  local function parts(entry) return { entry.error_code, entry.leader_id, entry.leader_epoch } end

  for version = 0, 13 do
    it(("names the brokers that have an address on the client's listener, in version %d"):format(version), function()
      local answer = client:ask("Metadata", version, { topics = { { name = "t" } } })
      assert.equal(2, #answer.brokers)
      assert.same({ 1, "127.0.0.1" }, { answer.brokers[1].node_id, answer.brokers[1].host })
      assert.same({ 2, "other.example", 9092 }, { answer.brokers[2].node_id, answer.brokers[2].host, answer.brokers[2].port })
      if version >= 1 then
        assert.is_nil(answer.brokers[1].rack)
        assert.equal("r2", answer.brokers[2].rack)
      end
    end)

    it(("gives leader and epoch where they are known, in version %d"):format(version), function()
      assert.same(expect(version, 0, 1, 5), parts(partition(version, 0)))
      assert.same(expect(version, 0, 2, 6), parts(partition(version, 1)))
      assert.same({ 2, 1 }, partition(version, 1).replica_nodes)
      assert.same({ 2, 1 }, partition(version, 1).isr_nodes)
    end)

    it(("gives epoch -1, leader -1 and error 5 where there is no leader, in version %d"):format(version), function()
      assert.same(expect(version, 5, -1, -1), parts(partition(version, 3)))
      assert.same(expect(version, 5, -1, -1), parts(partition(version, 4)))
    end)

    it(("says so when the leader has no address for the client, in version %d"):format(version), function()
      assert.same(expect(version, version >= 6 and 72 or 5, -1, -1), parts(partition(version, 2)))
    end)
  end

  it("tells from version 5 on which replicas are offline", function()
    for version = 5, 13 do
      assert.same({ 9 }, partition(version, 3).offline_replicas)
      assert.same({ 9 }, partition(version, 5).offline_replicas)
      assert.same({}, partition(version, 1).offline_replicas)
      assert.same({ 1, 9 }, partition(version, 5).replica_nodes)
    end
  end)

  it("leaves brokers that are gone out of replica lists in version 0, with error 9 where there is a leader", function()
    local entry = partition(0, 5)
    assert.equal(9, entry.error_code)
    assert.equal(1, entry.leader_id)
    assert.same({ 1 }, entry.replica_nodes)
    assert.same({ 1 }, entry.isr_nodes)
    assert.equal(5, partition(0, 3).error_code)
    assert.same({ 1 }, partition(0, 3).replica_nodes)
    assert.same({}, partition(0, 3).isr_nodes)
    assert.equal(0, partition(1, 5).error_code)
    assert.same({ 1, 9 }, partition(1, 5).replica_nodes)
  end)
end)
