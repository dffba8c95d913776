-- SPDX-License-Identifier: Apache-2.0
-- Data directories that Apache Kafka wrote, adopted: what is in them is served as it was, and goes on; what cannot be
-- adopted is refused, without a change to it.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local kafka = require "spec.support.kafka_dir"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local dirent = require "posix.dirent"
local stat = require "posix.sys.stat"
local stdlib = require "posix.stdlib"
local unistd = require "posix.unistd"

local batch, sh = records.batch, kafka.sh

local function exists(path) return stat.lstat(path) ~= nil end

--- All files below a folder with their contents, but for the lock and the metastore.
local function contents(folder, into, prefix)
  into, prefix = into or {}, prefix or ""
  for name in dirent.files(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." and name ~= ".lock" and not name:match "%.mdb" then
      local status = stat.stat(path)
      if status and stat.S_ISDIR(status.st_mode) ~= 0 then
        contents(path, into, prefix .. name .. "/")
      else
        -- Kafka's indexes are mostly zeros.
        into[prefix .. name] = status and ((unit.read_file(path):gsub("%z+$", "")) .. "#" .. status.st_size) or "link"
      end
    end
  end
  return into
end

local function start(data, options)
  options = options or {}
  options.data = data
  return brokers.start(options)
end

--- Starts a broker that does not come up; its exit status, and the one line that is no line of the log.
local function refused(data, options)
  options = options or {}
  options.data, options.wait = data, false
  local broker = brokers.start(options)
  local status = broker:wait_exit()
  local said = {}
  for line in broker:log():gmatch "[^\n]+" do
    if not line:match "^%d+%-%d+%-%d+T[%d:.]+Z %l+ " then said[#said + 1] = line end
  end
  assert.equal(1, #said, broker:log())
  return status, said[1]
end

--- Topics by name: id and number of partitions.
local function topics(client)
  local all = {}
  for _, topic in ipairs(client:ask("Metadata", 12, { topics = requests.NULL }).topics) do
    all[topic.name] = { id = topic.topic_id, partitions = #topic.partitions }
  end
  return all
end

local function read_plain(client)
  return records.read(requests.fetch_to_end(client, requests.find(client, "golden-plain"), 0))
end

--- All that Kafka wrote to golden-plain is there, and what was appended since.
local function assert_plain(client, appended)
  local all = read_plain(client)
  assert.equal(kafka.PLAIN_COUNT + #(appended or {}), #all)
  for i = 1, kafka.PLAIN_COUNT do
    local expected, record = kafka.plain(i - 1), all[i]
    for _, field in ipairs { "offset", "timestamp", "key", "value" } do
      if record[field] ~= expected[field] then
        error(("offset %d: %s is %s"):format(i - 1, field, tostring(record[field])))
      end
    end
    assert.same(expected.headers, record.headers)
  end
  for i, value in ipairs(appended or {}) do
    assert.equal(kafka.PLAIN_COUNT + i - 1, all[kafka.PLAIN_COUNT + i].offset)
    assert.equal(value, all[kafka.PLAIN_COUNT + i].value)
  end
end

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

--- Adopts a copy, cleanly stopped afterwards; its folder.
local function adopted()
  local data = kafka.copy()
  assert.equal(0, start(data):stop())
  return data
end

--- A folder of a partition with one record.
local function add_partition(data, name, id)
  local folder = data .. "/" .. name
  assert(stat.mkdir(folder))
  unit.write_file(folder .. "/00000000000000000000.log", records.stored(batch { records = { name } }, 0))
  if id then unit.write_file(folder .. "/partition.metadata", "version: 0\ntopic_id: " .. id) end
  return folder
end

--- A directory with meta.properties of Kafka and no partition.
local function empty_dir(properties)
  local data = brokers.temp_dir() .. "/data"
  assert(stat.mkdir(data))
  unit.write_file(data .. "/meta.properties", properties or "version=1\nnode.id=1\ncluster.id=" .. kafka.CLUSTER_ID .. "\n")
  return data
end

local ID = { "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg" }

describe("A directory that Kafka wrote", function()
  local data, broker, client
  before_each(function()
    data = kafka.copy()
    broker = start(data)
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
    local found = topics(client)
    for name, id in pairs(kafka.IDS) do assert.equal(kafka.id(id), found[name].id, name) end
    for _, name in ipairs { "golden-plain", "golden-compact", "golden-txn" } do assert.equal(1, found[name].partitions) end
    for _, name in ipairs { "__consumer_offsets", "__transaction_state" } do assert.equal(50, found[name].partitions) end
    assert.is_nil(found["__cluster_metadata"])
    assert.truthy(unit.read_file(data .. "/meta.properties"):find("directory.id=CnQGVsAts4a6d3yaNAz57w", 1, true))
  end)

  it("gives back all records right, and so it does after a clean stop, after kill -9, and after more was appended", function()
    assert_plain(client)
    local topic = requests.find(client, "golden-plain")
    restart "stop"
    assert_plain(client)
    assert.equal(3120, requests.append(client, topic, batch { records = { "one", "two" }, codec = records.LZ4 }))
    restart "kill"
    assert_plain(client, { "one", "two" })
    assert.equal(3122, requests.append(client, topic, batch { records = { "three" } }))
    restart "kill"
    restart "stop"
    assert_plain(client, { "one", "two", "three" })
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
      assert.truthy(broker:log():find(("adopted topic %s with 1 partition, 0 of them without a folder: retention.ms=-1, "
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
    add_partition(data, "later-0")
    restart "stop"
    assert.is_nil(topics(client).later)
    assert.is_false(exists(data .. "/later-0"))
    assert.truthy(broker:log():find("later-0 is not served, no topic has it here: renamed to", 1, true), broker:log())
  end)
end)

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
    local broker = start(data)
    local client = broker:connect()
    local found = topics(client)
    for _, name in ipairs { "old", "__cluster_metadata", "backup", "a", "x", "dangling" } do assert.is_nil(found[name], name) end
    assert_plain(client)
    client:close()
    assert.equal(0, broker:stop())
    for _, name in ipairs(kept) do assert.equal("bytes", unit.read_file(data .. "/" .. name .. "/00000000000000000007"), name) end
    assert.equal("Kafka's", unit.read_file(data .. "/bootstrap.checkpoint"))
    assert.equal("file", unit.read_file(data .. "/golden-plain-0/unknown"))
    assert.is_true(exists(data .. "/dangling-0"))
  end)

  it("makes partitions that are missing, and ids that no folder names", function()
    local data = empty_dir()
    add_partition(data, "t-1")
    add_partition(data, "t-4")
    add_partition(data, "u-0", ID[1])
    local broker = start(data)
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
    local data = empty_dir()
    add_partition(data, "t-0")
    add_partition(data, "t-1", ID[2])
    add_partition(data, "t-2")
    local broker = start(data)
    local client = broker:connect()
    assert.equal(kafka.id(ID[2]), topics(client).t.id)
    client:close()
    assert.equal(0, broker:stop())
    assert.equal(ID[2], kafka.folder_id(data .. "/t-2"))
  end)

  it("takes the broker's id from meta.properties of both versions, unless the configuration has another", function()
    for _, text in ipairs { "version=0\nbroker.id=7\ncluster.id=c\n", "version=1\nnode.id=7\ncluster.id=c\nextra=x\\=y\n" } do
      local data = empty_dir(text)
      add_partition(data, "t-0")
      local before = contents(data)
      local status, line = refused(data, { set = { "id=3" } })
      assert.equal(2, status)
      assert.truthy(line:find("belongs to broker id 7, this broker's id is 3", 1, true), line)
      assert.same(before, contents(data))
      assert.is_false(exists(data .. "/luka.mdb"))
      local broker = start(data)
      local client = broker:connect()
      local answer = client:ask("Metadata", 9, { topics = requests.NULL })
      assert.equal("c", answer.cluster_id)
      assert.equal(7, answer.brokers[1].node_id)
      assert.equal(7, answer.topics[1].partitions[1].leader_id)
      client:close()
      assert.equal(0, broker:stop())
      broker = start(data, { set = { "id=7" } })
      assert.equal(0, broker:stop())
    end
  end)

  it("needs no meta.properties", function()
    local data = brokers.temp_dir() .. "/data"
    assert(stat.mkdir(data))
    add_partition(data, "t-0")
    local broker = start(data)
    local client = broker:connect()
    assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
    client:close()
    assert.equal(0, broker:stop())
    assert.truthy(unit.read_file(data .. "/meta.properties"):find("cluster.id=", 1, true))
  end)

  it("takes several directories together", function()
    local one, two = empty_dir(), empty_dir()
    add_partition(one, "t-0", ID[1])
    add_partition(two, "t-1", ID[1])
    local broker = start(one, { set = { "data=" .. two } })
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
    local data, elsewhere = empty_dir(), brokers.temp_dir()
    add_partition(elsewhere, "t-0", ID[1])
    assert(unistd.link(elsewhere .. "/t-0", data .. "/t-0", true) == 0)
    local broker = start(data)
    local client = broker:connect()
    assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("lets topic blocks of the configuration set configs, and lets them stay", function()
    local data = kafka.copy()
    local config = brokers.temp_dir() .. "/config.lua"
    unit.write_file(config, 'topic "golden-plain" { partitions = 3, retention_ms = days(7000) }\n')
    local broker = start(data, { config = config })
    for _ = 1, 2 do
      local client = broker:connect()
      assert.equal(3, topics(client)["golden-plain"].partitions)
      local answer = client:ask("DescribeConfigs", 4, { resources = { { resource_type = 2, resource_name = "golden-plain",
        configuration_keys = { "retention.ms" } } } })
      assert.equal("604800000000", answer.results[1].configs[1].value)
      client:close()
      assert.equal(0, broker:stop())
      broker = broker:restart()
    end
    assert.equal(0, broker:stop())
  end)

  it("takes 1,500 partitions", function()
    local data = empty_dir()
    unit.write_file(data .. "/batch", records.stored(batch { records = { "r" } }, 0))
    sh("cd '%s' && for i in $(seq 0 1499); do mkdir many-$i && cp batch many-$i/00000000000000000000.log; done", data)
    local broker = start(data)
    local client = broker:connect()
    local many = requests.find(client, "many")
    assert.equal(1500, #many.partitions)
    for _, partition in ipairs { 0, 777, 1499 } do
      assert.same({ "r" }, records.values(requests.fetch(client, many, { partition = partition }).records))
    end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("keeps a partition offline whose records are of format 0 or 1, or whose partition.metadata is damaged", function()
    local data = empty_dir()
    add_partition(data, "good-0")
    unit.write_file(add_partition(data, "bad-0", ID[1]) .. "/partition.metadata", "nonsense")
    local old
    for line in io.lines "spec/data/golden-records.jsonl" do
      if not old and line:find('"magic":%s*0') then old = unit.bytes(line:match '"hex":%s*"(%x+)"') end
    end
    assert.truthy(old)
    unit.write_file(add_partition(data, "old-0") .. "/00000000000000000000.log", old)
    local broker = start(data)
    local client = broker:connect()
    assert.same({ "good-0" }, records.values(requests.fetch(client, requests.find(client, "good")).records))
    for _, name in ipairs { "bad", "old" } do
      assert.equal(56, requests.fetch(client, { name = name, id = topics(client)[name].id }).error_code)
    end
    assert.truthy(broker:log():find("holds records of format 0 or 1, which are not supported", 1, true), broker:log())
    client:close()
    assert.equal(0, broker:stop())
    assert.equal(old, unit.read_file(data .. "/old-0/00000000000000000000.log"))
    assert.equal("nonsense", unit.read_file(data .. "/bad-0/partition.metadata"))
  end)
end)

describe("What a crash of Kafka leaves", function()
  it("is cut at the first batch that is torn, and kept beside the log", function()
    local data = kafka.copy()
    local path = data .. "/golden-plain-0/00000000000000001920.log"
    local bytes = unit.read_file(path)
    unit.write_file(path, bytes:sub(1, -8))
    local broker = start(data)
    local client = broker:connect()
    local all = read_plain(client)
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
      local broker = start(data)
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
    local broker = start(data)
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
    local broker = start(data)
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

describe("A known broker", function()
  it("refuses a foreign directory, names --adopt, and takes it up with it", function()
    local data, foreign = adopted(), empty_dir()
    add_partition(foreign, "t-0", ID[1])
    local before = { contents(data), contents(foreign) }
    local status, line = refused(data, { set = { "data=" .. foreign } })
    assert.equal(2, status)
    assert.equal(("luka: data directory %s holds partitions but is not known to metadata %s/luka.mdb: start once with --adopt to "
      .. "take them up, or use another directory; nothing was changed"):format(foreign, data), line)
    assert.same(before, { contents(data), contents(foreign) })
    for _, args in ipairs { { "--adopt" }, {} } do
      local broker = start(data, { set = { "data=" .. foreign }, args = args })
      local client = broker:connect()
      assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
      assert_plain(client)
      client:close()
      assert.equal(0, broker:stop())
    end
  end)

  it("takes up unknown partitions in its own directory with --adopt, also of topics that it knows", function()
    local data = adopted()
    add_partition(data, "t-0", ID[1])
    add_partition(data, "golden-plain-2", kafka.IDS["golden-plain"])
    local broker = start(data, { args = { "--adopt" } })
    for _ = 1, 2 do
      local client = broker:connect()
      local plain = requests.find(client, "golden-plain")
      assert.equal(3, #plain.partitions)
      assert.same({ "t-0" }, records.values(requests.fetch(client, requests.find(client, "t")).records))
      assert.same({ "golden-plain-2" }, records.values(requests.fetch(client, plain, { partition = 2 }).records))
      assert.equal(0, requests.end_offset(client, plain, 1))
      assert_plain(client)
      client:close()
      assert.equal(0, broker:stop())
      broker = start(data)
    end
    assert.equal(0, broker:stop())
  end)

  it("keeps giving producer ids above those of what it takes up", function()
    local data = adopted()
    local folder = add_partition(data, "t-0", ID[1])
    unit.write_file(folder .. "/00000000000000000000.log",
      records.stored(batch { producer_id = 5432, producer_epoch = 0, base_sequence = 0 }, 0))
    local broker = start(data, { args = { "--adopt" } })
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
    local before = contents(data)
    local status, line = refused(data, options)
    assert.equal(2, status)
    assert.truthy(line:find(text, 1, true), line)
    assert.same(before, contents(data))
    assert.is_false(exists(data .. "/luka.mdb"))
  end

  it("when the folders of a topic name two ids", function()
    local data = empty_dir()
    add_partition(data, "t-0", ID[1])
    add_partition(data, "t-1", ID[2])
    assert_refused(data, ("cannot adopt topic t: %s/t-1 has another topic id"):format(data))
  end)

  it("when two topics have one id", function()
    local data = empty_dir()
    add_partition(data, "t-0", ID[1])
    add_partition(data, "u-0", ID[1])
    assert_refused(data, ("cannot adopt %s/t-0 and %s/u-0: two topics of one topic id; move the copy away"):format(data, data))
  end)

  it("when a name asks for more than 10,000 partitions that are not there", function()
    local data = empty_dir()
    add_partition(data, "t-10001")
    assert_refused(data, ("cannot adopt %s/t-10001: "):format(data))
    sh("mv '%s/t-10001' '%s/t-2147483647'", data, data)
    assert_refused(data, ("cannot adopt %s/t-2147483647: "):format(data))
  end)

  it("when a partition lies in two directories", function()
    local one, two = empty_dir(), empty_dir()
    add_partition(one, "t-0", ID[1])
    add_partition(two, "t-0", ID[1])
    local before = { contents(one), contents(two) }
    local _, line = refused(one, { set = { "data=" .. two } })
    assert.truthy(line:find("partition t-0 lies in two data directories", 1, true), line)
    assert.same(before, { contents(one), contents(two) })
  end)

  it("when two directories are of different brokers or clusters", function()
    for _, other in ipairs { "version=1\nnode.id=2\ncluster.id=" .. kafka.CLUSTER_ID .. "\n", "version=1\nnode.id=1\ncluster.id=other\n" } do
      local one, two = empty_dir(), empty_dir(other)
      add_partition(one, "t-0", ID[1])
      add_partition(two, "u-0", ID[2])
      assert_refused(one, "the data directories do not belong together", { set = { "data=" .. two } })
    end
  end)

  it("when meta.properties makes no sense", function()
    for _, text in ipairs { "version=1\nnode.id=\n", "version=1\nnode.id=-3\n", "version=2\nnode.id=1\n", "\0\0\0",
      "version=0\nbroker.id=1\nnode.id=2\n", "version=1\nnode.id=99999999999\n", "version=1\ndirectory.id=short\n" } do
      local data = empty_dir(text)
      add_partition(data, "t-0")
      local before = contents(data)
      local status, line = refused(data)
      assert.is_true(status == 1 or status == 2)
      assert.truthy(line:find(data .. "/meta.properties", 1, true), line)
      assert.same(before, contents(data))
      assert.is_false(exists(data .. "/luka.mdb"))
    end
  end)

  it("when a folder has another id than the topic of its name, or the id of another topic, also of one without folders", function()
    local data = adopted()
    for _, folder in ipairs { { "golden-plain-1", ID[1], " has another topic id than the partitions before it" },
      { "copy-0", kafka.IDS["golden-plain"], " and " .. data .. "/golden-plain-0: two topics of one topic id" } } do
      local path = add_partition(data, folder[1], folder[2])
      local before = contents(data)
      local status, line = refused(data, { args = { "--adopt" } })
      assert.equal(2, status)
      assert.truthy(line:find(path .. folder[3], 1, true), line)
      assert.same(before, contents(data))
      sh("rm -r '%s'", path)
    end
    sh("rm -r '%s/golden-plain-0'", data)
    for _, folder in ipairs { { "golden-plain-0", ID[1], ": its topic id is not that of the topic of this name" },
      { "copy-0", kafka.IDS["golden-plain"], ": its topic id is that of topic golden-plain" } } do
      local path = add_partition(data, folder[1], folder[2])
      local before = contents(data)
      local _, line = refused(data, { args = { "--adopt" } })
      assert.truthy(line:find(path .. folder[3], 1, true), line)
      assert.same(before, contents(data))
      sh("rm -r '%s'", path)
    end
    assert.equal(0, start(data):stop())
  end)
end)

describe("An adoption that was cut short", function()
  local function finish(data, options)
    local broker = start(data, options)
    local client = broker:connect()
    for name, topic in pairs(topics(client)) do assert.equal(kafka.id(kafka.IDS[name]), topic.id, name) end
    assert_plain(client)
    client:close()
    assert.equal(0, broker:stop())
    broker = start(data, options)
    assert.is_nil(broker:log():find("adopt", 1, true), broker:log())
    assert.equal(0, broker:stop())
  end

  it("by a failure of any write goes on at the next start", function()
    local failed = 0
    for nth = 1, 12 do
      local data = kafka.copy()
      stdlib.setenv("LUKA_ERRINJ", ("file_write=%d:28"):format(nth))
      local broker = start(data, { wait = false })
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
      local broker = start(data, { wait = false })
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
    local data, foreign = adopted(), empty_dir()
    add_partition(foreign, "golden-plain-1", kafka.IDS["golden-plain"])
    stdlib.setenv("LUKA_ERRINJ", "file_write=1:28")
    local status = refused(data, { set = { "data=" .. foreign }, args = { "--adopt" } })
    stdlib.setenv("LUKA_ERRINJ", nil)
    assert.equal(1, status)
    assert.is_nil(unit.read_file(foreign .. "/meta.properties"):find("luka.metadata", 1, true))
    finish(data, { set = { "data=" .. foreign } })
  end)
end)
