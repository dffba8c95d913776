-- SPDX-License-Identifier: Apache-2.0
-- What people have reported about records, time and retention on Kafka-compatible brokers: each report is a fact here, with
-- the reported bytes. The values are those that Apache Kafka 4.4.0 answers, but for retention of records from the future.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"

local CORRUPT_MESSAGE, INVALID_TIMESTAMP, INVALID_RECORD = 2, 32, 87
--- What batches of one record have in common: the start, up to the last byte of the length; times and no producer.
local HEAD = ("0"):rep(22)
local TIMES = ("00000000000003e8"):rep(2) .. ("f"):rep(28)
local YEAR_MS = 365 * 24 * 3600 * 1000

--- A batch of five records: null key, empty key, null value, empty value, and three headers of one name, the first null.
local NULLS = unit.bytes("000000000000000000000064ffffffff02baf302ce00000000000400000000000003e800000000000003e8ffffffffffffffffffff"
  .. "ffffffff000000050e000000010276000e000002000276000e000004026b01000e000006026b000024000008026b02760602680102680002680231")

describe("Reports about records:", function()
  local broker, client, count = nil, nil, 0

  setup(function()
    broker = brokers.start { set = { "log_retention_check_interval_ms=50" } }
    client = broker:connect()
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  local function create(options)
    count = count + 1
    return requests.create(client, "reported-" .. count, { configs = options })
  end

  -- vert-x3/vertx-kafka-client#313
  it("null and empty are different, for keys, values and values of headers, which keep order and repetition", function()
    local topic = create()
    assert.equal(0, requests.append(client, topic, NULLS))
    local fetched = requests.fetch(client, topic).records
    assert.equal(NULLS:sub(17), fetched:sub(17)) -- all but base offset, length and leader epoch
    local read = records.read(fetched)
    assert.same({ nil, "" }, { read[1].key, read[2].key })
    assert.same({ "", "k", "k" }, { read[2].key, read[3].key, read[4].key })
    assert.is_nil(read[3].value)
    assert.equal("", read[4].value)
    assert.same({ { "h" }, { "h", "" }, { "h", "1" } }, read[5].headers)
  end)

  -- KAFKA-5031
  for what, case in pairs {
    ["a wrong CRC"] = { CORRUPT_MESSAGE,
      HEAD .. "39ffffffff02ae59b08e000000000000" .. TIMES .. "000000010e00000001027600" },
    ["a count of two and one record"] = { INVALID_RECORD,
      HEAD .. "39ffffffff0225ad9737000000000001" .. TIMES .. "000000020e00000001027600" },
    ["a last offset that its count does not give"] = { INVALID_RECORD,
      HEAD .. "39ffffffff027eb6d8b8000000000005" .. TIMES .. "000000010e00000001027600" },
    ["the bit of control batches"] = { INVALID_RECORD,
      HEAD .. "42ffffffff02a0e1b97a002000000000" .. TIMES .. "000000012000000008000000000c00000000000000" },
    ["another batch behind it"] = { INVALID_RECORD,
      HEAD .. "39ffffffff02a411ccf500000000000000000000000000010000000000000001ffffffffffffffffffffffffffff000000010e00000001026100"
      .. HEAD .. "39ffffffff0210fe69e900000000000000000000000000020000000000000002ffffffffffffffffffffffffffff000000010e00000001026200" },
  } do
    it(("a batch with %s is refused, nothing is stored, and the connection stays"):format(what), function()
      local topic = create()
      assert.equal(case[1], requests.produce(client, topic, unit.bytes(case[2]), { version = 8 }).error_code)
      assert.equal(0, requests.end_offset(client, topic))
      assert.equal(0, requests.append(client, topic, records.batch()))
    end)
  end

  -- redpanda-data/redpanda#1702
  it("a batch that does not say its newest time is found by the time of its first record", function()
    local topic = create()
    assert.equal(0, requests.append(client, topic, unit.bytes(HEAD .. "39ffffffff0282c1f18e0000000000000000018bcfe56800"
      .. ("ff"):rep(22) .. "000000010e00000001027600")))
    local function find(time)
      local found = client:ask("ListOffsets", 7, { replica_id = -1, isolation_level = 0, topics = { { name = topic.name,
        partitions = { { partition_index = 0, timestamp = time } } } } }).topics[1].partitions[1]
      return { found.error_code, tonumber(found.offset), tonumber(found.timestamp) }
    end
    assert.same({ 0, 0, 1700000000000 }, find(1700000000000))
    assert.same({ 0, -1, -1 }, find(1700000000001))
  end)

  -- redpanda-data/redpanda#9820
  it("a record from the future is refused, and where it is allowed it keeps nothing from being deleted", function()
    local future = os.time() * 1000 + 10 * YEAR_MS
    local topic = create { ["retention.ms"] = "1000", ["segment.bytes"] = "1048576" }
    assert.equal(INVALID_TIMESTAMP, requests.produce(client, topic, records.batch { ts = future }).error_code)
    configs.set(client, topic, { ["message.timestamp.after.max.ms"] = "9223372036854775807" })
    assert.equal(0, requests.append(client, topic, records.batch { ts = future }))
    for i = 1, 3 do
      requests.append(client, topic, records.batch { ts = os.time() * 1000, records = { records.noise(700000, i) } })
    end
    requests.wait_until("it has gone by the time of its file", function() return requests.start_offset(client, topic) >= 2 end)
    assert.equal(4, requests.end_offset(client, topic))
    assert.truthy(broker:log():find(topic.name .. "-0: the segment at offset 0 has a record of ", 1, true))
  end)

  -- redpanda-data/redpanda#13612
  it("retention.bytes is of each partition: at least that much stays, and less than a segment more", function()
    local SEGMENT, KEEP, BATCH = 1048576, 4000000, 250000
    count = count + 1
    local topic = requests.create(client, "reported-" .. count, { partitions = 3, configs = {
      ["segment.bytes"] = tostring(SEGMENT), ["retention.bytes"] = tostring(KEEP), ["retention.ms"] = "-1" } })
    for _ = 1, 40 do
      for partition = 0, 2 do requests.append(client, topic, records.sized(BATCH), { partition = partition }) end
    end
    for partition = 0, 2 do
      local kept
      requests.wait_until("old segments have gone", function()
        kept = (requests.end_offset(client, topic, partition) - requests.start_offset(client, topic, partition)) * BATCH
        return kept < KEEP + SEGMENT
      end)
      assert.is_true(kept >= KEEP)
      assert.equal(40, requests.end_offset(client, topic, partition))
    end
  end)

  -- redpanda-data/redpanda#2435
  it("a compacted topic refuses a batch with a record without a key, and says which; an empty key is one", function()
    local topic = create { ["cleanup.policy"] = "compact" }
    local answer = requests.produce(client, topic, records.batch { records = { { key = "a", value = "1" }, { value = "2" } } },
      { version = 8 })
    assert.equal(INVALID_RECORD, answer.error_code)
    assert.same({ 1, 1 }, { #answer.record_errors, answer.record_errors[1].batch_index })
    assert.equal(0, requests.end_offset(client, topic))
    assert.equal(0, requests.append(client, topic, records.batch { records = { { key = "", value = "1" } } }))
    assert.equal(1, requests.append(client, topic, records.batch { records = { { key = "a" } } }))
  end)
end)
