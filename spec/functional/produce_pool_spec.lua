-- SPDX-License-Identifier: Apache-2.0
-- Batches that the pool works on (api/produce_pool.c) while what they are for goes away.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

describe("A batch that the pool packs anew", function()
  it("gets an error, and nothing else happens, when its topic is deleted meanwhile", function()
    local broker = brokers.start { set = { "workers=1" } }
    local producer, admin = broker:connect(), broker:connect()
    local topic = requests.create(admin, "gone",
      { configs = { ["compression.type"] = "zstd", ["compression.zstd.level"] = "19" } })
    local batch = records.batch { records = { records.noise(900000, 1) } }
    local id = requests.send_produce(producer, topic, batch)
    requests.delete(admin, topic)
    local answer = producer:answer("Produce", requests.PRODUCE, id).responses[1].partition_responses[1]
    assert.is_true(answer.error_code ~= 0)
    assert.is_true(requests.is_well(broker))
    producer:close()
    admin:close()
    assert.equal(0, broker:stop())
  end)
end)
