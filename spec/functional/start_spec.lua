-- SPDX-License-Identifier: Apache-2.0
-- Starting and stopping a broker: from a file, from --set, from nothing; what it says; signals; and what stands in its way.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"
local signal = require "posix.signal"
local socket = require "posix.sys.socket"

local function write_config(text)
  local path = unit.temp_dir() .. "/config.lua"
  unit.write_file(path, text)
  return path
end

--- Starts a broker that is not to come up; its exit status, and its last line.
local function refused(options)
  options.wait = false
  local broker = brokers.start(options)
  local status = broker:wait_exit()
  return status, broker:log():match "([^\n]*)\n$"
end

local function metadata(broker, index)
  local client = broker:connect(index)
  local answer = client:ask("Metadata", 8, { topics = wire.NULL })
  client:close()
  return answer
end

local function wait_for_line(broker, pattern)
  clients.wait_until("the broker logs " .. pattern, function() return broker:log():find(pattern) end)
end

describe("luka serve", function()
  it("starts with no configuration at all but an address and a folder, and SIGTERM ends it with status 0", function()
    local broker = brokers.start()
    local answer = metadata(broker)
    assert.equal(1, #answer.brokers)
    assert.equal(1, answer.brokers[1].node_id)
    assert.equal("127.0.0.1", answer.brokers[1].host)
    assert.equal(broker.port, answer.brokers[1].port)
    assert.equal(0, broker:stop())
    assert.truthy(broker:log():find("stopping: SIGTERM\n", 1, true))
    assert.truthy(broker:log():find("stopped\n", 1, true))
  end)

  it("says which build of LuaJIT it has, and its limit on open files", function()
    local broker = brokers.start()
    assert.truthy(broker:log():find "luka [^\n]* with LuaJIT 2%.1[^\n]* %(GC64%)\n")
    assert.truthy(broker:log():find "limit on open files [^\n]*%d+\n")
    assert.equal(0, broker:stop())
  end)

  it("says where its configuration and its data are, and where it listens last", function()
    local path = write_config "broker { workers = 1 }"
    local data = unit.temp_dir()
    local broker = brokers.start { config = path, data = data .. "/x/../data" }
    assert.truthy(broker:log():find((" info  configuration: %s and --set\n"):format(path), 1, true))
    assert.truthy(broker:log():find((" info  data directory %s/data\n"):format(data), 1, true))
    assert.truthy(broker:log():match "listening on [^\n]*\n$")
    assert.equal(0, broker:stop())
    broker = brokers.start()
    assert.truthy(broker:log():find(" info  no configuration file, but --set\n", 1, true))
    assert.truthy(broker:log():find(" info  ./config.lua is there, and not used: `luka serve config.lua` starts with it\n", 1, true))
    assert.equal(0, broker:stop())
  end)

  it("takes a second signal that follows the first at once for the same wish", function()
    local broker = brokers.start()
    signal.kill(broker.pid, signal.SIGTERM)
    wait_for_line(broker, "stopping: SIGTERM")
    signal.kill(broker.pid, signal.SIGTERM)
    assert.equal(0, broker:wait_exit())
    assert.truthy(broker:log():find(" info  stopped\n", 1, true))
  end)

  it("stops cleanly when SIGHUP follows a signal to stop", function()
    local broker = brokers.start()
    local client = broker:connect()
    requests.create(client, "a")
    signal.kill(broker.pid, signal.SIGTERM)
    repeat
      signal.kill(broker.pid, signal.SIGHUP)
    until broker:poll_exit()
    client:close()
    assert.equal(0, broker.status)
    assert.truthy(broker:log():find(" info  stopped\n", 1, true))
  end)

  it("says why a topic is not created automatically, once for many requests", function()
    local broker = brokers.start()
    local client = broker:connect()
    requests.create(client, "a_b")
    for _ = 1, 3 do client:ask("Metadata", 8, { topics = { { name = "a.b" } }, allow_auto_topic_creation = true }) end
    client:close()
    assert.equal(0, broker:stop())
    local _, count = broker:log():gsub(" warn  topic a%.b is not created automatically: [^\n]*collides[^\n]*a_b\n", "")
    assert.equal(1, count)
  end)

  it("ends at SIGINT with status 0", function()
    local broker = brokers.start()
    signal.kill(broker.pid, signal.SIGINT)
    assert.equal(0, broker:wait_exit())
    assert.truthy(broker:log():find("stopping: SIGINT\n", 1, true))
  end)

  it("goes on after SIGHUP", function()
    local broker = brokers.start()
    signal.kill(broker.pid, signal.SIGHUP)
    wait_for_line(broker, "reload of %-%-set: nothing has changed")
    assert.equal(1, #metadata(broker).brokers)
    assert.equal(0, broker:stop())
  end)

  it("stops cleanly while topics are being made and deleted, and has all or nothing of each", function()
    local broker = brokers.start { set = { "workers=2" } }
    local makers = { broker:connect(), broker:connect(), broker:connect() }
    for round = 1, 20 do
      for m, maker in ipairs(makers) do
        local name = ("t-%d-%d"):format(m, round)
        maker:request("CreateTopics", 5, { timeout_ms = 30000, topics = { { name = name, num_partitions = 3, replication_factor = 1 } } })
        maker:request("Metadata", 8, { topics = { { name = name .. "-auto" } }, allow_auto_topic_creation = true })
        if round % 4 == 0 then maker:request("DeleteTopics", 4, { topic_names = { name }, timeout_ms = 30000 }) end
      end
    end
    assert.equal(0, broker:stop())
    assert.is_nil(broker:log():find(" error ", 1, true))
    for _, maker in ipairs(makers) do maker:close() end
    broker = broker:restart()
    for _, topic in ipairs(metadata(broker).topics) do
      assert.equal(topic.name:match "auto" and 1 or 3, #topic.partitions)
      for _, partition in ipairs(topic.partitions) do assert.equal(0, partition.error_code) end
    end
    assert.is_nil(broker:log():find("start empty", 1, true))
    assert.is_nil(broker:log():find("stray", 1, true))
    assert.equal(0, broker:stop())
  end)

  it("takes its settings from a file", function()
    local data = unit.temp_dir() .. "/from-file"
    local path = write_config(([[
      broker { id = 42, listen = "127.0.0.1:0", data = "%s", workers = 1, num_partitions = 7 }
    ]]):format(data))
    local broker = brokers.start { config = path, data = data }
    assert.equal(42, metadata(broker).brokers[1].node_id)
    assert.equal(0, broker:stop())
    assert.truthy(unit.read_file(data .. "/meta.properties"):find("node.id=42", 1, true))
    assert.truthy(unit.read_file(data .. "/luka.mdb"))
  end)

  it("tells clients its rack, and takes no more connections than it is told", function()
    local broker = brokers.start { set = { "broker_rack=r1", "max_connections=2", "socket_send_buffer_bytes=65536",
      "socket_receive_buffer_bytes=65536", "socket_listen_backlog_size=7" } }
    local first, second, third = broker:connect(), broker:connect(), broker:connect()
    for _, client in ipairs { first, second } do
      assert.equal("r1", client:ask("Metadata", 8, { topics = {} }).brokers[1].rack)
    end
    third:request("Metadata", 8, { topics = {} })
    assert.same({ nil, "timeout" }, { third:receive_frame(50) })
    for _, client in ipairs { first, second, third } do client:close() end
    assert.equal(0, broker:stop())
  end)

  it("takes no more connections than its limit on open files allows, and says so when it was told to", function()
    local file = unit.temp_dir() .. "/luka"
    unit.write_file(file, ("#!/bin/sh\nulimit -n 400\nexec '%s' \"$@\"\n"):format(brokers.PROGRAM))
    assert.equal(0, os.execute("chmod +x " .. file))
    local program = brokers.PROGRAM
    brokers.PROGRAM = file
    local broker = brokers.start { set = { "max_connections=1000", "workers=1" } }
    brokers.PROGRAM = program
    assert.truthy(broker:log():find(" warn  max_connections is 1000, but the limit on open files (400) allows 168\n", 1, true))
    assert.equal(0, broker:stop())
  end)

  it("keeps the leader epochs over a clean stop, and raises them after a crash", function()
    local broker = brokers.start()
    local client = broker:connect()
    requests.create(client, "a")
    client:close()
    local function epoch()
      local asking = broker:connect()
      local found = requests.find(asking, "a").partitions[1].leader_epoch
      asking:close()
      return found
    end
    assert.equal(0, epoch())
    assert.equal(0, broker:stop())
    broker = broker:restart()
    assert.equal(0, epoch())
    broker:kill()
    broker = broker:restart()
    assert.equal(1, epoch())
    assert.equal(0, broker:stop())
  end)

  it("makes the topics of its file, with their partitions and configs", function()
    local path = write_config [[
      defaults { partitions = 2 }
      topic "clicks" { partitions = 6, segment_bytes = 16 * MiB, cleanup_policy = { "compact", "delete" } }
      topic "events" {}
    ]]
    local broker = brokers.start { config = path }
    local partitions = {}
    clients.wait_until("the topics are there", function()
      for _, topic in ipairs(metadata(broker).topics) do partitions[topic.name] = #topic.partitions end
      return partitions.clicks and partitions.events
    end)
    assert.same({ clicks = 6, events = 2 }, partitions)
    local again = broker:stop() == 0 and broker:restart()
    assert.equal(2, #metadata(again).topics)
    assert.equal(0, again:stop())
  end)

  it("starts the example config.lua of this repository", function()
    local broker = brokers.start { config = "config.lua" }
    assert.equal(1, #metadata(broker).brokers)
    assert.equal(0, broker:stop())
  end)

  it("logs JSON, one object a line, for machines", function()
    local broker = brokers.start { args = { "--log-format", "json" } }
    assert.equal(0, broker:stop())
    for line in broker:log():gmatch "[^\n]+" do
      assert.truthy(line:match '^{"time":"[%d:.TZ-]+","level":"%a+","text":".*"}$')
    end
  end)

  it("logs errors only when asked to", function()
    local broker = brokers.start { args = { "--log-level=error" }, wait = false }
    -- Nothing is logged when it is up; a signal that comes while it starts is taken when it has.
    clients.wait_until("it has claimed its folder", function() return unit.read_file(broker.data .. "/meta.properties") end)
    assert.equal(0, broker:stop())
    assert.equal("", broker:log())
  end)
end)

describe("a topic block", function()
  local data, path

  before_each(function() data, path = unit.temp_dir() .. "/data", unit.temp_dir() .. "/config.lua" end)

  --- Starts a broker on the same data with this configuration.
  local function start(text)
    unit.write_file(path, text)
    return brokers.start { config = path, data = data }
  end

  --- Partitions of each topic.
  local function partitions(broker)
    local counts = {}
    for _, topic in ipairs(metadata(broker).topics) do counts[topic.name] = #topic.partitions end
    return counts
  end

  --- Runs `work(client)` on a broker, and stops it.
  local function with(broker, work)
    local client = broker:connect()
    work(client)
    client:close()
    assert.equal(0, broker:stop())
  end

  it("is there when the first client is served", function()
    local broker = start 'topic "a" { partitions = 3, max_message_bytes = 1000 }'
    assert.same({ a = 3 }, partitions(broker))
    with(broker, function(client)
      local a = requests.find(client, "a")
      assert.equal(0, requests.produce(client, a, records.sized(1000), { partition = 2 }).error_code)
      assert.equal(10, requests.produce(client, a, records.sized(1001)).error_code)
    end)
    assert.truthy(broker:log():find(("%s:1: created topic a with 3 partitions\n"):format(path), 1, true))
  end)

  it("adds partitions and sets configs when it changes, and keeps the records", function()
    local id
    with(start 'topic "a" { partitions = 1 }', function(client)
      local a = requests.find(client, "a")
      id = a.id
      requests.append(client, a, records.batch { records = { "one" } })
    end)
    local broker = start 'topic "a" {\n  partitions = 3, max_message_bytes = 1000 }'
    assert.truthy(broker:log():find(":1: changed topic a: 2 partitions added; set max.message.bytes=1000\n", 1, true))
    with(broker, function(client)
      local a = requests.find(client, "a")
      assert.equal(id, a.id)
      assert.equal(1, requests.end_offset(client, a))
      assert.equal(0, requests.append(client, a, records.batch(), { partition = 2 }))
      assert.equal(10, requests.produce(client, a, records.sized(1001)).error_code)
    end)
    broker = start 'topic "a" {\n  partitions = 3, max_message_bytes = 1000 }'
    assert.is_nil(broker:log():find("changed topic", 1, true))
    assert.same({ a = 3 }, partitions(broker))
    with(broker, function(client) assert.equal(1, requests.end_offset(client, requests.find(client, "a"), 2)) end)
  end)

  it("does not bring back a topic that a client deleted, until it changes", function()
    with(start 'topic "a" {}', function(client)
      assert.equal(0, client:ask("DeleteTopics", 4, { topic_names = { "a" }, timeout_ms = 10000 }).responses[1].error_code)
    end)
    local broker = start 'topic "a" {}'
    assert.same({}, partitions(broker))
    assert.truthy(broker:log():find(":1: topic a was deleted, and stays so until this block changes\n", 1, true))
    assert.equal(0, broker:stop())
    broker = start 'topic "a" { partitions = 2 }'
    assert.same({ a = 2 }, partitions(broker))
    assert.equal(0, broker:stop())
  end)

  it("never removes partitions, which one line says", function()
    assert.equal(0, start('topic "a" { partitions = 3 }'):stop())
    local broker = start '\ntopic "a" { partitions = 2 }'
    assert.same({ a = 3 }, partitions(broker))
    assert.equal(0, broker:stop())
    assert.truthy(broker:log():find((' warn  %s:2: topic "a": has 3 partitions, not 2: partitions are never removed\n')
      :format(path), 1, true))
  end)

  for _, case in ipairs {
    { "wants more replicas than there are brokers", 'topic "b" { replication_factor = 3 }',
      'topic "b".replication_factor: got 3, but this broker is alone: the replication factor is 1' },
    { "has a name that collides", 'topic "a.b" {}', "topic \"a.b\": Topic 'a.b' collides with existing topic: a_b" },
    { "contradicts what is set on its topic", 'topic "lag" { min_compaction_lag_ms = 11 }',
      'topic "lag": conflict topic config setting min.compaction.lag.ms (11) > max.compaction.lag.ms (10)' },
  } do
    it("that " .. case[1] .. " ends the start with status 2 and one line", function()
      with(start "", function(client)
        requests.create(client, "a_b")
        requests.create(client, "lag", { configs = { ["max.compaction.lag.ms"] = "10" } })
      end)
      unit.write_file(path, 'topic "good" {}\n' .. case[2])
      local status, line = refused { config = path, data = data }
      assert.equal(2, status)
      assert.equal(("%s:2: %s"):format(path, case[3]), line)
      local broker = start ""
      assert.same({ a_b = 1, lag = 1 }, partitions(broker))
      assert.equal(0, broker:stop())
    end)
  end

  it("may have the name of a topic whose deletion a crash cut short: the old one goes first, with its files", function()
    with(start 'topic "a" { partitions = 2 }', function(client)
      requests.append(client, requests.find(client, "a"), records.batch(), { partition = 1 })
    end)
    -- What the crash left: the request to delete it.
    local C = unit.load("controller_driver.h", "base/error.h")
    local driver = C.controller_driver_new(data .. "/luka.mdb", nil, true)
    assert.equal(0, C.controller_driver_load_result(driver))
    assert.equal(0, C.controller_driver_write(driver, "/admin/delete_topics/a", nil, true))
    C.controller_driver_delete(driver)
    local broker = start 'topic "a" { partitions = 1 }'
    assert.same({ a = 1 }, partitions(broker))
    assert.is_nil(broker:log():find("stray", 1, true))
    with(broker, function(client) assert.equal(0, requests.end_offset(client, requests.find(client, "a"))) end)
    assert.is_nil(unit.read_file(data .. "/a-1/partition.metadata"))
    assert.truthy(unit.read_file(data .. "/a-0/partition.metadata"))
  end)
end)

describe("what a broker advertises", function()
  it("is what it listens on", function()
    local broker = brokers.start { listen = { "127.0.0.1:0", "[::1]:0" } }
    assert.truthy(broker:log():find(("listening on PLAINTEXT://127.0.0.1:%d, advertised as PLAINTEXT://127.0.0.1:%d\n")
      :format(broker.ports[1], broker.ports[1]), 1, true))
    assert.truthy(broker:log():find(("listening on PLAINTEXT://[::1]:%d, advertised as PLAINTEXT://[::1]:%d\n")
      :format(broker.ports[2], broker.ports[2]), 1, true))
    assert.equal(0, broker:stop())
  end)

  it("is what the configuration says", function()
    local broker = brokers.start { set = { "advertise=kafka.example.com:1234" } }
    local node = metadata(broker).brokers[1]
    assert.equal("kafka.example.com", node.host)
    assert.equal(1234, node.port)
    assert.truthy(broker:log():find(", advertised as PLAINTEXT://kafka.example.com:1234\n", 1, true))
    assert.equal(0, broker:stop())
  end)

  it("is never 0.0.0.0 or empty", function()
    local broker = brokers.start { listen = { "0.0.0.0:0" } }
    local node = metadata(broker).brokers[1]
    assert.not_equal("0.0.0.0", node.host)
    assert.not_equal("", node.host)
    assert.equal(broker.port, node.port)
    assert.equal(0, broker:stop())
  end)

  it("may not be 0.0.0.0: status 2 and a line that says what to write", function()
    local status, line = refused { set = { "advertise=0.0.0.0:9092" } }
    assert.equal(2, status)
    assert.equal("--set advertise: '0.0.0.0:9092' cannot be advertised: clients cannot connect to 0.0.0.0; write the name or "
      .. "address by which they reach this machine", line)
  end)
end)

describe("a broker does not start", function()
  it("on a port that is taken: status 1 and a line that names it", function()
    local fd = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    assert(socket.bind(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = 0 }))
    assert(socket.listen(fd, 1))
    local port = socket.getsockname(fd).port
    local status, line = refused { listen = { "127.0.0.1:" .. port } }
    assert.equal(1, status)
    assert.equal(("luka: port %d of 127.0.0.1 is in use; stop the other program or change listen (config.lua, or --set "
      .. "listen=127.0.0.1:19092)"):format(port), line)
  end)

  it("on a port that is taken, and leaves no metastore behind", function()
    local running = brokers.start()
    local data = unit.temp_dir() .. "/data"
    assert.equal(1, (refused { data = data, listen = { "127.0.0.1:" .. running.port } }))
    assert.is_nil(unit.read_file(data .. "/luka.mdb"))
    assert.is_nil(unit.read_file(data .. "/meta.properties"))
    assert.equal(0, running:stop())
  end)

  it("on a data directory that another broker uses: status 1, and the other goes on", function()
    local first = brokers.start()
    local status, line = refused { data = first.data }
    assert.equal(1, status)
    assert.equal("luka: ", line:sub(1, 6))
    assert.truthy(line:find(first.data, 1, true))
    assert.truthy(line:find("in use", 1, true))
    assert.equal(1, #metadata(first).brokers)
    assert.equal(0, first:stop())
  end)

  it("on a data directory of another broker id: status 2 and a line that names both", function()
    local first = brokers.start { set = { "id=3" } }
    assert.equal(0, first:stop())
    local status, line = refused { data = first.data, set = { "id=4" } }
    assert.equal(2, status)
    assert.truthy(line:find("3", 1, true) and line:find("4", 1, true))
    local again = brokers.start { data = first.data, set = { "id=3" } }
    assert.equal(0, again:stop())
  end)

  it("where its folder cannot be made: status 1", function()
    local file = unit.temp_dir() .. "/file"
    unit.write_file(file, "")
    local status, line = refused { data = file .. "/data" }
    assert.equal(1, status)
    assert.equal(("luka: broker.data: cannot create %s: Not a directory"):format(file), line)
  end)

  it("without its metastore: status 2 and a line that names what is lost, and what to do", function()
    local broker = brokers.start()
    local client = broker:connect()
    requests.create(client, "a", { partitions = 2 })
    client:close()
    assert.equal(0, broker:stop())
    os.remove(broker.data .. "/luka.mdb")
    local status, line = refused { data = broker.data }
    assert.equal(2, status)
    assert.equal(("luka: metadata %s/luka.mdb is missing, but data directory %s belongs to it and holds partitions (a-0, "
      .. "a-1): restore it, or remove the directory to start empty: all records are lost"):format(broker.data, broker.data), line)
  end)
end)
