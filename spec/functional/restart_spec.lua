-- SPDX-License-Identifier: Apache-2.0
-- What a broker that was stopped or killed brings back: topics, records, offsets, and the files that say how it ended.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local dirent = require "posix.dirent"
local signal = require "posix.signal"
local stat = require "posix.sys.stat"

local batch, append = records.batch, requests.append

local function exists(path) return stat.stat(path) ~= nil end

--- A checkpoint file: { ["topic partition"] = number }, after a look at version and count.
local function checkpoint(path)
  local entries, count = {}, 0
  local text = assert(unit.read_file(path), path)
  local version, said, rest = text:match "^(%d+)\n(%d+)\n(.*)$"
  assert.equal("0", version)
  for topic, partition, value in rest:gmatch "(%S+) (%d+) (%d+)\n" do
    entries[topic .. " " .. partition] = tonumber(value)
    count = count + 1
  end
  assert.equal(tonumber(said), count)
  return entries
end

--- The names of a folder's files that end in `suffix`, sorted.
local function files(folder, suffix)
  local names = {}
  for name in dirent.files(folder) do
    if name:sub(-#suffix) == suffix and name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

describe("A broker that was stopped", function()
  local broker, client

  --- Stops it and starts it again with the same data.
  local function restart()
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
  end

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("has exited with 0, on SIGINT too, and has said that it stopped", function()
    restart()
    signal.kill(broker.pid, signal.SIGINT)
    assert.equal(0, broker:wait_exit())
    assert.truthy(broker:log():match "stopped\n$")
    broker = broker:restart()
    client:close()
    client = broker:connect()
  end)

  it("brings back every byte, and goes on at the next offset", function()
    local topics, stored = {}, {}
    for t = 1, 3 do
      topics[t] = requests.create(client, "topic-" .. t, { partitions = 3 })
      for partition = 0, 2 do
        local all = {}
        for i = 0, 9 do
          local one = batch { records = { ("%d %d %d"):format(t, partition, i), "-" }, codec = i % 5 }
          assert.equal(2 * i, append(client, topics[t], one, { partition = partition }))
          all[i + 1] = records.stored(one, 2 * i)
        end
        stored[t * 3 + partition] = table.concat(all)
      end
    end
    for round = 0, 1 do
      restart()
      for t, topic in ipairs(topics) do
        for partition = 0, 2 do
          local bytes = requests.fetch_to_end(client, topic, 0, partition)
          assert.equal(stored[t * 3 + partition], bytes:sub(1, #stored[t * 3 + partition]))
          assert.equal(20 + round, requests.end_offset(client, topic, partition))
          assert.equal(0, requests.start_offset(client, topic, partition))
          assert.equal(20 + round, append(client, topic, batch(), { partition = partition }))
        end
      end
    end
  end)

  it("knows its topics with their ids, partitions and configs, and its cluster", function()
    local a = requests.create(client, "a", { partitions = 5, configs = { ["max.message.bytes"] = "1000" } })
    local function about()
      local answer = client:ask("Metadata", 12, { topics = { { name = "a" } }, allow_auto_topic_creation = false })
      return { answer.cluster_id, answer.controller_id, answer.topics[1].topic_id, #answer.topics[1].partitions, answer.brokers[1].node_id }
    end
    local before = about()
    restart()
    assert.same(before, about())
    assert.equal(10, requests.produce(client, a, records.sized(1001)).error_code)
    assert.equal(0, requests.produce(client, a, records.sized(1000), { partition = 4 }).error_code)
  end)

  it("finds records by time as before", function()
    local a = requests.create(client, "a", { configs = { ["segment.bytes"] = "1048576" } })
    for i = 1, 6 do append(client, a, batch { records = { records.noise(400000, i) }, ts = i * 1000 }) end
    local function by_time()
      local found = {}
      for i = 1, 6 do found[i] = requests.list_offset(client, a, i * 1000 - 500) end
      return found
    end
    assert.same({ 0, 1, 2, 3, 4, 5 }, by_time())
    restart()
    assert.same({ 0, 1, 2, 3, 4, 5 }, by_time())
    append(client, a, batch { ts = 7000 })
    assert.equal(6, requests.list_offset(client, a, 6500))
  end)

  it("has left the marker of a clean stop, which is gone while it runs", function()
    local marker = broker.data .. "/.kafka_cleanshutdown"
    assert.is_false(exists(marker))
    client:close()
    assert.equal(0, broker:stop())
    assert.is_true(exists(marker))
    broker = broker:restart()
    assert.is_false(exists(marker))
    client = broker:connect()
  end)

  it("has left checkpoints: recovery points and high watermarks at the ends of the logs", function()
    local a = requests.create(client, "a", { partitions = 2 })
    for _ = 1, 7 do append(client, a, batch { records = { "x", "y" } }) end
    client:close()
    assert.equal(0, broker:stop())
    local recovery = checkpoint(broker.data .. "/recovery-point-offset-checkpoint")
    assert.same({ 14, 0 }, { recovery["a 0"], recovery["a 1"] })
    local high = checkpoint(broker.data .. "/replication-offset-checkpoint")
    assert.same({ 14, 0 }, { high["a 0"], high["a 1"] })
    assert.equal("0\n1\n0 0\n", unit.read_file(broker.data .. "/a-0/leader-epoch-checkpoint"))
    broker = broker:restart()
    client = broker:connect()
    assert.equal(14, requests.end_offset(client, a))
  end)

  it("has left the id of its topic in each partition, and its own in the data folder", function()
    local a = requests.create(client, "a")
    local cluster_id = client:ask("Metadata", 9, { topics = {} }).cluster_id
    restart()
    local text = unit.read_file(broker.data .. "/a-0/partition.metadata")
    local id = text:match "^version: 0\ntopic_id: ([%w_-]+)\n?$"
    assert.equal(22, #id)
    local props = unit.read_file(broker.data .. "/meta.properties")
    assert.truthy(("\n" .. props):find("\nversion=1\n", 1, true))
    assert.truthy(("\n" .. props):find("\nnode.id=1\n", 1, true))
    assert.truthy(("\n" .. props):find("\ncluster.id=" .. cluster_id .. "\n", 1, true))
    assert.equal(a.id, requests.find(client, "a").id)
  end)

  it("does not bring back a deleted topic, and gives one of the same name a new id and offset 0", function()
    local old = requests.create(client, "a")
    for _ = 1, 5 do append(client, old, batch { records = { "old" } }) end
    requests.delete(client, old)
    assert.is_nil(requests.find(client, "a"))
    restart()
    assert.is_nil(requests.find(client, "a"))
    local new = requests.create(client, "a")
    assert.is_true(new.id ~= old.id)
    assert.equal(0, requests.end_offset(client, new))
    assert.equal(0, append(client, new, batch { records = { "new" } }))
    restart()
    assert.equal(100, requests.produce(client, old, batch()).error_code)
    assert.same({ "new" }, records.values(requests.fetch_to_end(client, new, 0)))
  end)

  it("keeps the place of segments that retention has deleted, and the end of a log without records", function()
    client:close()
    assert.equal(0, broker:stop())
    broker = brokers.start { set = { "workers=1", "log_retention_check_interval_ms=20", "log_segment_delete_delay_ms=0" } }
    client = broker:connect()
    local a = requests.create(client, "a", { configs = { ["segment.bytes"] = "1048576", ["retention.bytes"] = "1500000" } })
    assert.equal(0, append(client, a, batch { records = { "first" } }))
    assert.same({ 0, 1 }, { requests.start_offset(client, a), requests.end_offset(client, a) })
    for i = 1, 6 do assert.equal(i, append(client, a, batch { records = { records.noise(700000, i) } })) end
    requests.wait_until("retention has deleted segments", function() return requests.start_offset(client, a) == 4 end)
    assert.equal(7, requests.end_offset(client, a))
    -- All of it is old, but for what is in the last segment.
    local b = requests.create(client, "b", { configs = { ["segment.ms"] = "1", ["retention.ms"] = "1000" } })
    for i = 0, 4 do append(client, b, batch { ts = 1000 + 10 * i }) end
    requests.wait_until("retention has deleted segments", function() return requests.start_offset(client, b) >= 4 end)
    local start = requests.start_offset(client, b)
    assert.equal(5, requests.end_offset(client, b))
    for _ = 1, 2 do
      restart()
      assert.same({ 4, 7 }, { requests.start_offset(client, a), requests.end_offset(client, a) })
      assert.is_true(requests.start_offset(client, b) >= start)
      assert.equal(5, requests.end_offset(client, b))
      assert.equal(1, requests.fetch(client, a, { fetch_offset = 3 }).error_code)
      assert.same({ 4 }, records.bases(requests.fetch(client, a, { fetch_offset = 4 }).records))
    end
    assert.equal(7, append(client, a, batch()))
    assert.equal(5, append(client, b, batch { ts = os.time() * 1000 }))
  end)

  it("opens as many segments as it had, without a look at their records", function()
    local a = requests.create(client, "a", { configs = { ["segment.bytes"] = "1048576" } })
    for i = 1, 6 do append(client, a, batch { records = { records.noise(700000, i) } }) end
    local names = files(broker.data .. "/a-0", ".log")
    assert.equal(6, #names)
    restart()
    assert.same(names, files(broker.data .. "/a-0", ".log"))
    assert.is_nil(broker:log():match "warn")
    assert.equal(6, #records.parse(requests.fetch_to_end(client, a, 0)))
  end)

  it("never lowers the leader epoch, and raises it when it was killed", function()
    local a = requests.create(client, "a")
    append(client, a, batch())
    local function epoch() return requests.find(client, "a").partitions[1].leader_epoch end
    local before = epoch()
    restart()
    assert.is_true(epoch() >= before)
    before = epoch()
    assert.equal(1, append(client, a, batch()))
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
    assert.is_true(epoch() > before)
    assert.equal(2, append(client, a, batch()))
    assert.equal(epoch(), records.parse(requests.fetch(client, a, { fetch_offset = 2 }).records)[1].leader_epoch)
    assert.equal(74, requests.fetch(client, a, { current_leader_epoch = before }).error_code)
    assert.equal(0, requests.fetch(client, a, { current_leader_epoch = epoch() }).error_code)
    -- Records of the old epoch end where the new one begins.
    local part = requests.fetch(client, a, { fetch_offset = 3, last_fetched_epoch = before })
    assert.same({ 0, { epoch = before, end_offset = 2 } }, { part.error_code, part.diverging_epoch })
  end)
end)

describe("A broker that was killed", function()
  it("has all that it acknowledged, in several segments, and says what it looked at", function()
    local broker = brokers.start { set = { "workers=2" } }
    local client = broker:connect()
    local a = requests.create(client, "a", { partitions = 2, configs = { ["segment.bytes"] = "1048576" } })
    local stored = {}
    for i = 0, 9 do
      local one = batch { records = { records.noise(300000, i + 1) }, ts = 1000 * i }
      assert.equal(i, append(client, a, one))
      stored[i + 1] = records.stored(one, i)
    end
    client:close()
    assert.equal("signal 9", broker:kill())
    assert.is_false(exists(broker.data .. "/.kafka_cleanshutdown"))
    broker = broker:restart()
    client = broker:connect()
    assert.is_true(requests.fetch_to_end(client, a, 0) == table.concat(stored))
    for i = 0, 9 do assert.equal(i, requests.list_offset(client, a, 1000 * i)) end
    assert.equal(10, append(client, a, batch()))
    assert.equal(0, append(client, a, batch(), { partition = 1 }))
    assert.same({}, files(broker.data .. "/a-0", ".cut"))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("has the topics that it said were created, and not those that it said were deleted", function()
    local broker = brokers.start { set = { "workers=2" } }
    local client = broker:connect()
    local kept, gone = requests.create(client, "kept", { partitions = 3 }), requests.create(client, "gone")
    requests.delete(client, gone)
    client:close()
    broker:kill()
    broker = broker:restart()
    client = broker:connect()
    assert.equal(kept.id, requests.find(client, "kept").id)
    assert.is_nil(requests.find(client, "gone"))
    for partition = 0, 2 do assert.equal(0, append(client, kept, batch(), { partition = partition })) end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("has stopped within seconds, however much it was left to unpack", function()
    local broker = brokers.start()
    local client = broker:connect()
    local a = requests.create(client, "a", { configs = { ["compression.type"] = "lz4" } })
    local one = batch { codec = 1, records = { ("x"):rep(60000000) } }
    append(client, a, one)
    for i = 1, 400 do
      local gone = broker:connect()
      requests.send_produce(gone, a, one)
      if i % 2 == 0 then gone:close() end
    end
    client:close()
    signal.kill(broker.pid, signal.SIGTERM)
    assert.equal(0, broker:wait_exit(20000))
  end)
end)
