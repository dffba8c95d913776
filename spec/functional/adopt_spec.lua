-- SPDX-License-Identifier: Apache-2.0
-- A data directory that Apache Kafka wrote, adopted: what is in it is served as it was, and goes on, over clean stops and
-- crashes, Kafka's and our own.
local kafka = require "spec.support.kafka_dir"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local stat = require "posix.sys.stat"

local batch = records.batch

local function exists(path) return stat.lstat(path) ~= nil end

--- Values of a topic as a reader of committed records gets them: batches of aborted transactions and markers left out.
local function read_committed(client, name)
  local topic = requests.find(client, name)
  local answer = requests.fetch(client, topic, {}, { isolation_level = 1 })
  assert.equal(0, answer.error_code)
  local aborted, values = {}, {}
  for _, one in ipairs(answer.aborted_transactions) do aborted[#aborted + 1] = { one.producer_id, one.first_offset } end
  for _, one in ipairs(records.parse(answer.records)) do
    local is_aborted = false
    for _, transaction in ipairs(aborted) do
      is_aborted = is_aborted or (one.producer_id == transaction[1] and one.last >= transaction[2])
    end
    if one.attributes >= 32 then -- a marker
      for i = #aborted, 1, -1 do
        if aborted[i][1] == one.producer_id and aborted[i][2] <= one.base then table.remove(aborted, i) end
      end
    elseif not is_aborted then
      for _, value in ipairs(records.values(one.bytes)) do values[#values + 1] = value end
    end
  end
  return values, answer
end

local COMMITTED = { "txn0-0", "txn0-1", "txn0-2", "txn0-3", "txn0-4", "txn2-0", "txn2-1", "txn2-2", "txn2-3", "txn2-4" }

describe("A directory that Kafka wrote", function()
  local data, broker, client
  before_each(function()
    data = kafka.copy()
    broker = kafka.start(data)
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    broker:stop()
  end)

  local function restart(how)
    client:close()
    broker[how](broker)
    broker = broker:restart()
    client = broker:connect()
  end

  it("is adopted at the first start, with its cluster id, topic ids and partitions", function()
    assert.equal(kafka.CLUSTER_ID, client:ask("Metadata", 9, { topics = {} }).cluster_id)
    local found = kafka.topics(client)
    for name, id in pairs(kafka.IDS) do assert.equal(kafka.id(id), found[name].id, name) end
    for _, name in ipairs { "golden-plain", "golden-compact", "golden-txn" } do assert.equal(1, found[name].partitions) end
    for _, name in ipairs { "__consumer_offsets", "__transaction_state" } do assert.equal(50, found[name].partitions) end
    assert.is_nil(found["__cluster_metadata"])
    assert.truthy(unit.read_file(data .. "/meta.properties"):find("directory.id=CnQGVsAts4a6d3yaNAz57w", 1, true))
  end)

  it("gives back all records right, and so it does after a clean stop, after kill -9, and after more was appended", function()
    kafka.assert_plain(client)
    local topic = requests.find(client, "golden-plain")
    restart "stop"
    kafka.assert_plain(client)
    assert.equal(3120, requests.append(client, topic, batch { records = { "one", "two" }, codec = records.LZ4 }))
    restart "kill"
    kafka.assert_plain(client, { "one", "two" })
    assert.equal(3122, requests.append(client, topic, batch { records = { "three" } }))
    restart "kill"
    restart "stop"
    kafka.assert_plain(client, { "one", "two", "three" })
    assert.is_nil(broker:log():find("adopt", 1, true))
  end)

  it("answers offsets by time, and the first and the last", function()
    local topic = requests.find(client, "golden-plain")
    for _ = 1, 2 do
      assert.equal(0, requests.start_offset(client, topic))
      assert.equal(3120, requests.end_offset(client, topic))
      for timestamp, offset in pairs { [0] = 0, [1700000000000] = 0, [1700000000001] = 1, [1700000019190] = 1919,
        [1700000019191] = 1920, [1700000029990] = 2999, [1700000029991] = 3000, [1700000100029] = 3029, [1700000100030] = -1 } do
        assert.equal(offset, requests.list_offset(client, topic, timestamp))
      end
      restart "stop"
    end
  end)

  it("keeps what compacted topics and the broker's own topics hold as it was", function()
    local golden = kafka.copy()
    restart "stop"
    for _, name in ipairs { "golden-compact-0", "golden-txn-0", "__consumer_offsets-49", "__transaction_state-43", "golden-plain-0" } do
      local path = "/" .. name .. "/00000000000000000000.log"
      assert.equal(unit.read_file(golden .. path), unit.read_file(data .. path), name)
    end
    assert.equal(50, #records.read(requests.fetch_to_end(client, requests.find(client, "golden-compact"), 0)))
  end)

  it("does not show a reader of committed records what was aborted", function()
    for _, how in ipairs { "stop", "kill", "stop" } do
      local values, answer = read_committed(client, "golden-txn")
      assert.same(COMMITTED, values)
      assert.equal(24, answer.last_stable_offset)
      assert.equal(2, #answer.aborted_transactions)
      restart(how)
    end
    assert.is_nil(requests.fetch(client, requests.find(client, "golden-txn")).aborted_transactions)
  end)

  it("has topics that keep everything until someone says otherwise, and says so", function()
    for _, name in ipairs { "golden-plain", "golden-compact", "golden-txn" } do
      assert.truthy(broker:log():find(("adopted topic %s with 1 partition: retention.ms=-1, "
        .. "retention.bytes=-1, cleanup.policy=delete until someone sets them"):format(name), 1, true), broker:log())
      local answer = client:ask("DescribeConfigs", 4, { resources = { { resource_type = 2, resource_name = name,
        configuration_keys = { "cleanup.policy", "retention.ms", "retention.bytes" } } } })
      local values = {}
      for _, config in ipairs(answer.results[1].configs) do
        values[config.name] = config.value
        assert.equal(1, config.config_source)
      end
      assert.same({ ["cleanup.policy"] = "delete", ["retention.ms"] = "-1", ["retention.bytes"] = "-1" }, values)
    end
    assert.equal(1, (select(2, broker:log():gsub("adopted topic __consumer_offsets ", ""))))
  end)

  it("goes on with the leader epoch after Kafka's", function()
    local topic = requests.find(client, "golden-plain")
    assert.equal(1, topic.partitions[1].leader_epoch)
    requests.append(client, topic, batch())
    local list = records.parse(requests.fetch(client, topic, { fetch_offset = 3119 }).records)
    assert.equal(0, list[1].leader_epoch)
    assert.equal(1, list[#list].leader_epoch)
    restart "stop"
    assert.equal("0\n2\n0 0\n1 3120\n", unit.read_file(data .. "/golden-plain-0/leader-epoch-checkpoint"))
  end)

  it("gives new producers ids above all that are in use", function()
    local answer = client:ask("InitProducerId", 4, { transactional_id = requests.NULL, transaction_timeout_ms = 1000,
      producer_id = -1, producer_epoch = -1 })
    assert.equal(1000, answer.producer_id)
  end)

  it("is not adopted again at the next start", function()
    restart "stop"
    kafka.add_partition(data, "later-0")
    restart "stop"
    assert.is_nil(kafka.topics(client).later)
    assert.is_false(exists(data .. "/later-0"))
    assert.truthy(broker:log():find("later-0 is not served, no topic has it here: renamed to", 1, true), broker:log())
  end)
end)

describe("What a crash of Kafka leaves", function()
  it("is cut at the first batch that is torn, and kept beside the log", function()
    local data = kafka.copy()
    local path = data .. "/golden-plain-0/00000000000000001920.log"
    local bytes = unit.read_file(path)
    unit.write_file(path, bytes:sub(1, -8))
    local broker = kafka.start(data)
    local client = broker:connect()
    local all = kafka.read_plain(client)
    assert.equal(3090, #all)
    assert.equal("lz4", all[#all].key)
    client:close()
    assert.equal(0, broker:stop())
    assert.truthy(exists(path .. ".cut"))
  end)

  it("has aborted transactions found in the batches where their index is missing, short or nonsense", function()
    local golden = kafka.copy()
    local name = "/golden-txn-0/00000000000000000000.txnindex"
    local index = unit.read_file(golden .. name)
    assert.equal(68, #index)
    for _, bytes in ipairs { false, "", index:sub(1, 34), index:sub(1, 50), ("x"):rep(68) } do
      local data = kafka.copy()
      os.remove(data .. name)
      if bytes then unit.write_file(data .. name, bytes) end
      local broker = kafka.start(data)
      for _ = 1, 2 do
        local client = broker:connect()
        assert.same(COMMITTED, (read_committed(client, "golden-txn")))
        client:close()
        assert.equal(0, broker:stop())
        assert.equal(index, unit.read_file(data .. name))
        broker = broker:restart()
      end
      assert.equal(0, broker:stop())
    end
  end)

  it("may end in an open transaction: committed records end before it, over restarts", function()
    local data = kafka.copy()
    local path = data .. "/golden-txn-0/00000000000000000000.log"
    local bytes = unit.read_file(path)
    local list = records.parse(bytes)
    assert.equal(23, list[#list].base) -- the last marker
    unit.write_file(path, bytes:sub(1, list[#list].pos))
    local broker = kafka.start(data)
    for _, how in ipairs { "stop", "kill", "stop" } do
      local client = broker:connect()
      local values, answer = read_committed(client, "golden-txn")
      assert.same(COMMITTED, values)
      assert.same({ 18, 23 }, { answer.last_stable_offset, answer.high_watermark })
      assert.equal(18, client:ask("ListOffsets", 7, { replica_id = -1, isolation_level = 1, topics = { { name = "golden-txn",
        partitions = { { partition_index = 0, timestamp = -1 } } } } }).topics[1].partitions[1].offset)
      client:close()
      broker[how](broker)
      broker = broker:restart()
    end
    assert.equal(0, broker:stop())
  end)

  it("may have holes that its cleaner made: they stay, after kill -9 too", function()
    local data = kafka.copy()
    local path = data .. "/golden-plain-0/00000000000000001920.log"
    local list = records.parse(unit.read_file(path))
    table.remove(list, 5)
    local kept = {}
    for i, one in ipairs(list) do kept[i] = one.bytes end
    unit.write_file(path, table.concat(kept))
    unit.write_file(data .. "/cleaner-offset-checkpoint", "0\n1\ngolden-plain 0 1920\n")
    local broker = kafka.start(data)
    local bases
    for _ = 1, 2 do
      local client = broker:connect()
      bases = bases or records.bases(requests.fetch_to_end(client, requests.find(client, "golden-plain"), 0))
      assert.same(bases, records.bases(requests.fetch_to_end(client, requests.find(client, "golden-plain"), 0)))
      assert.equal(3120, requests.end_offset(client, requests.find(client, "golden-plain")))
      assert.is_nil(broker:log():find("missing, below", 1, true), broker:log())
      client:close()
      broker:kill()
      broker = broker:restart()
    end
    assert.equal(0, broker:stop())
  end)
end)
