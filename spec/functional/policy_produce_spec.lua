-- SPDX-License-Identifier: Apache-2.0
-- Produced batches on their way through policies, which are C functions here: spec/support/c/policy_probe.h says what each
-- topic has. What the client is told, and what is in the logs afterwards.
local unistd = require "posix.unistd"
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local NONE, INVALID_RECORD, POLICY_VIOLATION, MESSAGE_TOO_LARGE, INVALID_TXN_STATE = 0, 87, 44, 10, 48
local PROGRAM = { unistd.readlink "/proc/self/exe", "--run", "spec/support/policy_broker.lua" }

--- The partition that murmur2 gives to each of these keys in a topic of three, as the Java client does.
local HOMES = { a = 1, b = 2, c = 1 }

local function keyed(...)
  local list = {}
  for i, key in ipairs { ... } do list[i] = { key = key, value = key .. i } end
  return list
end

describe("policies on what is produced:", function()
  local broker, client
  setup(function()
    broker = brokers.start { program = PROGRAM, set = { "workers=2" } }
    client = broker:connect()
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function stored(topic, partition) return requests.fetch_to_end(client, topic, 0, partition or 0) end
  local function values(topic, partition) return records.values(stored(topic, partition)) end

  it("a partitioner divides a batch among partitions, and the order of each key's records stays", function()
    local topic = requests.create(client, "p.hash", { partitions = 3 })
    local batch = records.batch { records = keyed("a", "b", "a", "c", "b", "a") }
    local answer = requests.produce(client, topic, batch, { partition = 1 })
    assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
    local found = {}
    for partition = 0, 2 do
      for _, value in ipairs(values(topic, partition)) do found[#found + 1] = partition .. value end
    end
    table.sort(found)
    local expected = {}
    for i, key in ipairs { "a", "b", "a", "c", "b", "a" } do expected[i] = HOMES[key] .. key .. i end
    table.sort(expected)
    assert.same(expected, found)
  end)

  it("what goes whole to the addressed partition is answered with its offset", function()
    local topic = requests.find(client, "p.hash")
    local before = requests.end_offset(client, topic, HOMES.a)
    local answer = requests.produce(client, topic, records.batch { records = keyed("a", "a") }, { partition = HOMES.a })
    assert.same({ NONE, before }, { answer.error_code, answer.base_offset })
  end)

  it("a transform drops records and leaves holes; the batch spans the same offsets", function()
    local topic = requests.create(client, "t.filter")
    local kept = { { "keep", "1" } }
    local batch = records.batch { records = { { value = "1", headers = kept }, { value = "2" }, { value = "3", headers = kept } } }
    local answer = requests.produce(client, topic, batch)
    assert.same({ NONE, -1 }, { answer.error_code, answer.base_offset })
    local read = records.read(stored(topic))
    assert.same({ { 0, "1" }, { 2, "3" } }, { { read[1].offset, read[1].value }, { read[2].offset, read[2].value } })
    assert.equal(3, requests.end_offset(client, topic))
  end)
end)
