-- SPDX-License-Identifier: Apache-2.0
-- Which starts adopt what lies in their data directories, and how; what cannot be adopted is refused, without a change to
-- it, and what was cut short goes on.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local kafka = require "spec.support.kafka_dir"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local stat = require "posix.sys.stat"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"

local batch, sh = records.batch, kafka.sh

local function exists(path) return stat.lstat(path) ~= nil end

local ID = { "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg" }

describe("An adoption", function()
  it("leaves deleted, stray and future folders, Kafka's metadata log and unknown files alone", function()
    local data = kafka.copy()
    local kept = { "old-0.886bb871bc3645f28cd3453a8913ef3d-delete", "old-1.886bb871bc3645f28cd3453a8913ef3d-stray",
      "golden-plain-0.886bb871bc3645f28cd3453a8913ef3d-future", "__cluster_metadata-0", "backup-2023", "notes", "a-00", "-1", "x-" }
    for _, name in ipairs(kept) do
      assert(stat.mkdir(data .. "/" .. name))
      unit.write_file(data .. "/" .. name .. "/00000000000000000007", "bytes")
    end
    unit.write_file(data .. "/bootstrap.checkpoint", "Kafka's")
    unit.write_file(data .. "/golden-plain-0/unknown", "file")
    assert(unistd.link("/nowhere", data .. "/dangling-0", true) == 0)
    local broker = kafka.start(data)
    local client = broker:connect()
    local found = kafka.topics(client)
    for _, name in ipairs { "old", "__cluster_metadata", "backup", "a", "x", "dangling" } do assert.is_nil(found[name], name) end
    kafka.assert_plain(client)
    client:close()
    assert.equal(0, broker:stop())
    for _, name in ipairs(kept) do assert.equal("bytes", unit.read_file(data .. "/" .. name .. "/00000000000000000007"), name) end
    assert.equal("Kafka's", unit.read_file(data .. "/bootstrap.checkpoint"))
    assert.equal("file", unit.read_file(data .. "/golden-plain-0/unknown"))
    assert.is_true(exists(data .. "/dangling-0"))
  end)

  it("makes partitions that are missing, and ids that no folder names", function()
    local data = kafka.empty_dir()
    kafka.add_partition(data, "t-1")
    kafka.add_partition(data, "t-4")
    kafka.add_partition(data, "u-0", ID[1])
    local broker = kafka.start(data)
    local client = broker:connect()
    local t, u = requests.find(client, "t"), requests.find(client, "u")
    assert.equal(5, #t.partitions)
    assert.equal(kafka.id(ID[1]), u.id)
    assert.same({ "t-4" }, records.values(requests.fetch(client, t, { partition = 4 }).records))
    assert.equal(0, requests.append(client, t, batch(), { partition = 0 }))
    client:close()
    assert.equal(0, broker:stop())
    local id = kafka.folder_id(data .. "/t-0")
    assert.equal(t.id, kafka.id(id))
    for partition = 0, 4 do assert.equal(id, kafka.folder_id(data .. "/t-" .. partition)) end
  end)

  it("takes the id of a topic from whichever of its folders names it", function()
    local data = kafka.empty_dir()
    kafka.add_partition(data, "t-0")
    kafka.add_partition(data, "t-1", ID[2])
    kafka.add_partition(data, "t-2")
    local broker = kafka.start(data)
    local client = broker:connect()
    assert.equal(kafka.id(ID[2]), kafka.topics(client).t.id)
    client:close()
    assert.equal(0, broker:stop())
    assert.equal(ID[2], kafka.folder_id(data .. "/t-2"))
  end)

  it("takes the broker's id from meta.properties of both versions, unless the configuration has another", function()
    for _, text in ipairs { "version=0\nbroker.id=7\ncluster.id=c\n", "version=1\nnode.id=7\ncluster.id=c\nextra=x\\=y\n" } do
      local data = kafka.empty_dir(text)
      kafka.add_partition(data, "t-0")
      local before = kafka.contents(data)
      local status, line = kafka.refused(data, { set = { "id=3" } })
      assert.equal(2, status)
      assert.truthy(line:find("belongs to broker id 7, this broker's id is 3", 1, true), line)
      assert.same(before, kafka.contents(data))
      assert.is_false(exists(data .. "/luka.mdb"))
      local broker = kafka.start(data)
      local client = broker:connect()
      local answer = client:ask("Metadata", 9, { topics = requests.NULL })
      assert.equal("c", answer.cluster_id)
      assert.equal(7, answer.brokers[1].node_id)
      assert.equal(7, answer.topics[1].partitions[1].leader_id)
      client:close()
      assert.equal(0, broker:stop())
      broker = kafka.start(data, { set = { "id=7" } })
      assert.equal(0, broker:stop())
    end
  end)

  it("needs no meta.properties", function()
    local data = brokers.temp_dir() .. "/data"
    assert(stat.mkdir(data))
    kafka.add_partition(data, "t-0")
    local broker = kafka.start(data)
    local client = broker:connect()
    assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
    client:close()
    assert.equal(0, broker:stop())
    assert.truthy(unit.read_file(data .. "/meta.properties"):find("cluster.id=", 1, true))
  end)

  it("takes several directories together", function()
    local one, two = kafka.empty_dir(), kafka.empty_dir()
    kafka.add_partition(one, "t-0", ID[1])
    kafka.add_partition(two, "t-1", ID[1])
    local broker = kafka.start(one, { set = { "data=" .. two } })
    local client = broker:connect()
    local t = requests.find(client, "t")
    for partition = 0, 1 do
      assert.same({ "t-" .. partition }, records.values(requests.fetch(client, t, { partition = partition }).records))
    end
    client:close()
    assert.equal(0, broker:stop())
    assert.is_true(exists(two .. "/t-1") and exists(one .. "/t-0"))
  end)

  it("follows links to folders", function()
    local data, elsewhere = kafka.empty_dir(), brokers.temp_dir()
    kafka.add_partition(elsewhere, "t-0", ID[1])
    assert(unistd.link(elsewhere .. "/t-0", data .. "/t-0", true) == 0)
    local broker = kafka.start(data)
    local client = broker:connect()
    assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("lets topic blocks of the configuration set configs, and lets them stay", function()
    local data = kafka.copy()
    local config = brokers.temp_dir() .. "/config.lua"
    unit.write_file(config, 'topic "golden-plain" { partitions = 3, retention_ms = days(7000) }\n')
    local broker = kafka.start(data, { config = config })
    for _ = 1, 2 do
      local client = broker:connect()
      assert.equal(3, kafka.topics(client)["golden-plain"].partitions)
      local answer = client:ask("DescribeConfigs", 4, { resources = { { resource_type = 2, resource_name = "golden-plain",
        configuration_keys = { "retention.ms" } } } })
      assert.equal("604800000000", answer.results[1].configs[1].value)
      client:close()
      assert.equal(0, broker:stop())
      broker = broker:restart()
    end
    assert.equal(0, broker:stop())
  end)

  it("takes hundreds of partitions", function()
    local data = kafka.empty_dir()
    unit.write_file(data .. "/batch", records.stored(batch { records = { "r" } }, 0))
    sh("cd '%s' && for i in $(seq 0 399); do mkdir many-$i && cp batch many-$i/00000000000000000000.log; done", data)
    local broker = kafka.start(data)
    local client = broker:connect()
    local many = requests.find(client, "many")
    assert.equal(400, #many.partitions)
    for _, partition in ipairs { 0, 177, 399 } do
      assert.same({ "r" }, records.values(requests.fetch(client, many, { partition = partition }).records))
    end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("takes a partition whose partition.metadata is damaged under a new topic id", function()
    local data = kafka.empty_dir()
    unit.write_file(kafka.add_partition(data, "bad-0", ID[1]) .. "/partition.metadata", "nonsense")
    local broker = kafka.start(data)
    local client = broker:connect()
    local id = kafka.topics(client).bad.id
    assert.same({ "bad-0" }, records.values(requests.fetch(client, { name = "bad", id = id }).records))
    assert.truthy(broker:log():find("bad-0/partition.metadata", 1, true), broker:log())
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    assert.equal(id, kafka.topics(client).bad.id)
    assert.same({ "bad-0" }, records.values(requests.fetch(client, { name = "bad", id = id }).records))
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("A known broker", function()
  it("refuses a foreign directory, names --adopt, and takes it up with it", function()
    local data, foreign = kafka.adopted(), kafka.empty_dir()
    kafka.add_partition(foreign, "t-0", ID[1])
    local before = { kafka.contents(data), kafka.contents(foreign) }
    local status, line = kafka.refused(data, { set = { "data=" .. foreign } })
    assert.equal(2, status)
    assert.equal(("luka: data directory %s holds partitions but is not known to metadata %s/luka.mdb: start once with --adopt to "
      .. "take them up, or use another directory; nothing was changed"):format(foreign, data), line)
    assert.same(before, { kafka.contents(data), kafka.contents(foreign) })
    for _, args in ipairs { { "--adopt" }, {} } do
      local broker = kafka.start(data, { set = { "data=" .. foreign }, args = args })
      local client = broker:connect()
      assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
      kafka.assert_plain(client)
      client:close()
      assert.equal(0, broker:stop())
    end
  end)

  it("takes up unknown partitions in its own directory with --adopt, also of topics that it knows", function()
    local data = kafka.adopted()
    kafka.add_partition(data, "t-0", ID[1])
    kafka.add_partition(data, "golden-plain-2", kafka.IDS["golden-plain"])
    local broker = kafka.start(data, { args = { "--adopt" } })
    for _ = 1, 2 do
      local client = broker:connect()
      local plain = requests.find(client, "golden-plain")
      assert.equal(3, #plain.partitions)
      assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
      assert.same({ "golden-plain-2" }, records.values(requests.fetch(client, plain, { partition = 2 }).records))
      assert.equal(0, requests.end_offset(client, plain, 1))
      kafka.assert_plain(client)
      client:close()
      assert.equal(0, broker:stop())
      broker = kafka.start(data)
    end
    assert.equal(0, broker:stop())
  end)

  it("goes on after the leader epochs that Kafka has written meanwhile, with --adopt", function()
    local data = kafka.adopted()
    local path = data .. "/golden-plain-0/"
    local log = path .. "00000000000000001920.log"
    unit.write_file(log, unit.read_file(log) .. records.stored(batch { records = { "by Kafka" } }, 3120, 9))
    unit.write_file(path .. "leader-epoch-checkpoint", "0\n2\n0 0\n9 3120\n")
    os.remove(data .. "/.kafka_cleanshutdown")
    for _, args in ipairs { { "--adopt" }, {} } do
      local broker = kafka.start(data, { args = args })
      local client = broker:connect()
      local plain = requests.find(client, "golden-plain")
      assert.equal(10, plain.partitions[1].leader_epoch)
      assert.equal(2, requests.find(client, "golden-txn").partitions[1].leader_epoch) -- by the crash
      local offset = requests.append(client, plain, batch())
      local list = records.parse(requests.fetch(client, plain, { fetch_offset = offset }).records)
      assert.equal(10, list[#list].leader_epoch)
      client:close()
      assert.equal(0, broker:stop())
    end
  end)

  it("keeps giving producer ids above those of what it takes up", function()
    local data = kafka.adopted()
    local folder = kafka.add_partition(data, "t-0", ID[1])
    unit.write_file(folder .. "/00000000000000000000.log",
      records.stored(batch { producer_id = 5432, producer_epoch = 0, base_sequence = 0 }, 0))
    local broker = kafka.start(data, { args = { "--adopt" } })
    local client = broker:connect()
    local answer = client:ask("InitProducerId", 4, { transactional_id = requests.NULL, transaction_timeout_ms = 1000,
      producer_id = -1, producer_epoch = -1 })
    assert.equal(6000, answer.producer_id)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("An adoption is refused, without a change to the directory,", function()
  local function assert_refused(data, text, options)
    local before = kafka.contents(data)
    local status, line = kafka.refused(data, options)
    assert.equal(2, status)
    assert.truthy(line:find(text, 1, true), line)
    assert.same(before, kafka.contents(data))
    assert.is_false(exists(data .. "/luka.mdb"))
  end

  it("when the folders of a topic name two ids", function()
    local data = kafka.empty_dir()
    kafka.add_partition(data, "t-0", ID[1])
    kafka.add_partition(data, "t-1", ID[2])
    assert_refused(data, ("cannot adopt topic t: %s/t-1 has another topic id"):format(data))
  end)

  it("when two topics have one id", function()
    local data = kafka.empty_dir()
    kafka.add_partition(data, "t-0", ID[1])
    kafka.add_partition(data, "u-0", ID[1])
    assert_refused(data, ("cannot adopt %s/t-0 and %s/u-0: two topics of one topic id; move the copy away"):format(data, data))
  end)

  it("when a name asks for more than 10,000 partitions that are not there", function()
    local data = kafka.empty_dir()
    kafka.add_partition(data, "t-10001")
    assert_refused(data, ("cannot adopt %s/t-10001: "):format(data))
    sh("mv '%s/t-10001' '%s/t-2147483647'", data, data)
    assert_refused(data, ("cannot adopt %s/t-2147483647: "):format(data))
  end)

  it("when a partition lies in two directories", function()
    local one, two = kafka.empty_dir(), kafka.empty_dir()
    kafka.add_partition(one, "t-0", ID[1])
    kafka.add_partition(two, "t-0", ID[1])
    local before = { kafka.contents(one), kafka.contents(two) }
    local _, line = kafka.refused(one, { set = { "data=" .. two } })
    assert.truthy(line:find("partition t-0 lies in two data directories", 1, true), line)
    assert.same(before, { kafka.contents(one), kafka.contents(two) })
  end)

  it("when two directories are of different brokers or clusters", function()
    for _, other in ipairs { "node.id=2\ncluster.id=" .. kafka.CLUSTER_ID, "node.id=1\ncluster.id=other" } do
      local one, two = kafka.empty_dir(), kafka.empty_dir("version=1\n" .. other .. "\n")
      kafka.add_partition(one, "t-0", ID[1])
      kafka.add_partition(two, "u-0", ID[2])
      assert_refused(one, "the data directories do not belong together", { set = { "data=" .. two } })
    end
  end)

  it("when meta.properties makes no sense", function()
    for _, text in ipairs { "version=1\nnode.id=\n", "version=1\nnode.id=-3\n", "version=2\nnode.id=1\n", "\0\0\0",
      "version=0\nbroker.id=1\nnode.id=2\n", "version=1\nnode.id=99999999999\n", "version=1\ndirectory.id=short\n" } do
      local data = kafka.empty_dir(text)
      kafka.add_partition(data, "t-0")
      local before = kafka.contents(data)
      local status, line = kafka.refused(data)
      assert.is_true(status == 1 or status == 2)
      assert.truthy(line:find(data .. "/meta.properties", 1, true), line)
      assert.same(before, kafka.contents(data))
      assert.is_false(exists(data .. "/luka.mdb"))
    end
  end)

  it("when a folder has another id than the topic of its name, or the id of another topic, also of one without folders", function()
    local data = kafka.adopted()
    for _, folder in ipairs { { "golden-plain-1", ID[1], " has another topic id than the partitions before it" },
      { "copy-0", kafka.IDS["golden-plain"], " and " .. data .. "/golden-plain-0: two topics of one topic id" } } do
      local path = kafka.add_partition(data, folder[1], folder[2])
      local before = kafka.contents(data)
      local status, line = kafka.refused(data, { args = { "--adopt" } })
      assert.equal(2, status)
      assert.truthy(line:find(path .. folder[3], 1, true), line)
      assert.same(before, kafka.contents(data))
      sh("rm -r '%s'", path)
    end
    sh("rm -r '%s/golden-plain-0'", data)
    for _, folder in ipairs { { "golden-plain-0", ID[1], ": its topic id is not that of the topic of this name" },
      { "copy-0", kafka.IDS["golden-plain"], ": its topic id is that of topic golden-plain" } } do
      local path = kafka.add_partition(data, folder[1], folder[2])
      local before = kafka.contents(data)
      local _, line = kafka.refused(data, { args = { "--adopt" } })
      assert.truthy(line:find(path .. folder[3], 1, true), line)
      assert.same(before, kafka.contents(data))
      sh("rm -r '%s'", path)
    end
    assert.equal(0, kafka.start(data):stop())
  end)
end)

describe("An adoption that was cut short", function()
  local function finish(data, options)
    local broker = kafka.start(data, options)
    local client = broker:connect()
    for name, topic in pairs(kafka.topics(client)) do assert.equal(kafka.id(kafka.IDS[name]), topic.id, name) end
    kafka.assert_plain(client)
    client:close()
    assert.equal(0, broker:stop())
    broker = kafka.start(data, options)
    assert.is_nil(broker:log():find("adopt", 1, true), broker:log())
    assert.equal(0, broker:stop())
  end

  it("by a failure of any write goes on at the next start", function()
    local failed = 0
    for nth = 1, 12 do
      local data = kafka.copy()
      stdlib.setenv("LUKA_ERRINJ", ("file_write=%d:28"):format(nth))
      local broker = kafka.start(data, { wait = false })
      clients.wait_until("the broker is up or has ended", function()
        return broker:poll_exit() or broker:log():find(" is up after ", 1, true)
      end)
      stdlib.setenv("LUKA_ERRINJ", nil)
      failed = failed + (broker:poll_exit() and 1 or 0)
      broker:kill()
      finish(data)
    end
    assert.is_true(failed > 0)
  end)

  it("by kill -9, at whatever moment, goes on at the next start", function()
    local steps = { "luka.mdb.new", "luka.mdb", "luka.metadata", "__consumer_offsets-0", "__transaction_state-49", "pause" }
    for _, step in ipairs(steps) do
      local data = kafka.copy()
      local broker = kafka.start(data, { wait = false })
      clients.wait_until(step .. " is there", function()
        return broker:log():find(" is up after ", 1, true) or exists(data .. "/" .. step)
          or (step == "luka.metadata" and unit.read_file(data .. "/meta.properties"):find(step, 1, true))
          or (step == "pause" and broker:log():find("adopted topic golden-txn", 1, true))
      end)
      broker:kill()
      finish(data)
    end
  end)

  it("when some directories were not claimed yet, with --adopt, goes on without it", function()
    local data, foreign = kafka.adopted(), kafka.empty_dir()
    kafka.add_partition(foreign, "golden-plain-1", kafka.IDS["golden-plain"])
    stdlib.setenv("LUKA_ERRINJ", "file_write=1:28")
    local status = kafka.refused(data, { set = { "data=" .. foreign }, args = { "--adopt" } })
    stdlib.setenv("LUKA_ERRINJ", nil)
    assert.equal(1, status)
    assert.is_nil(unit.read_file(foreign .. "/meta.properties"):find("luka.metadata", 1, true))
    finish(data, { set = { "data=" .. foreign } })
  end)
end)
