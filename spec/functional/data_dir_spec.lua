-- SPDX-License-Identifier: Apache-2.0
-- Starts that have to be refused, with a status and one line that says why, without a change to anybody's data; and what
-- a broker says of its addresses.
local ffi = require "ffi"
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local unit = require "spec.support.unit"
local dirent = require "posix.dirent"
local stat = require "posix.sys.stat"

local C = unit.load("metadata/metastore_local.h", "metadata/metastore.h")
local batch = records.batch

local function exists(path) return stat.stat(path) ~= nil end

--- Starts a broker that does not come up; its exit status, and the one line that is no line of the log.
local function refused(options)
  options.wait = false
  local broker = brokers.start(options)
  local status = broker:wait_exit()
  local said = {}
  for line in broker:log():gmatch "[^\n]+" do
    if not line:match "^%d+%-%d+%-%d+T[%d:.]+Z %l+ " then said[#said + 1] = line end
  end
  assert.equal(1, #said, broker:log())
  return status, said[1]
end

--- All files below a folder with their contents, but for locks and the metastore, which may be opened.
local function contents(folder, into, prefix)
  into, prefix = into or {}, prefix or ""
  for name in dirent.files(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." and name ~= ".lock" and not name:match "%.mdb" then
      if stat.S_ISDIR(stat.stat(path).st_mode) ~= 0 then
        contents(path, into, prefix .. name .. "/")
      else
        into[prefix .. name] = unit.read_file(path)
      end
    end
  end
  return into
end

--- A stopped broker with one record.
local function with_a_record(options)
  local broker = brokers.start(options)
  local client = broker:connect()
  requests.append(client, requests.create(client, "a"), batch { records = { "kept" } })
  client:close()
  assert.equal(0, broker:stop())
  return broker
end

--- Starts it again, and finds the record.
local function assert_kept(broker)
  broker = broker:restart()
  local client = broker:connect()
  assert.same({ "kept" }, records.values(requests.fetch(client, requests.find(client, "a")).records))
  client:close()
  assert.equal(0, broker:stop())
end

describe("A start is refused", function()
  it("with status 1 when the port is in use", function()
    local running = brokers.start()
    local before = with_a_record()
    local data = contents(before.data)
    local status, line = refused { data = before.data, listen = { "127.0.0.1:" .. running.port } }
    assert.equal(1, status)
    assert.truthy(line:find(("luka: port %d of 127.0.0.1 is in use; "):format(running.port), 1, true), line)
    assert.same(data, contents(before.data))
    assert.is_true(requests.is_well(running))
    assert.equal(0, running:stop())
    assert_kept(before)
  end)

  it("with status 1 when the data folder is in use by a broker that runs", function()
    local running = brokers.start()
    local client = running:connect()
    local a = requests.create(client, "a")
    requests.append(client, a, batch())
    local status, line = refused { data = running.data }
    assert.equal(1, status)
    assert.equal(("luka: data directory %s is in use by another broker, which holds %s/.lock"):format(running.data, running.data), line)
    assert.equal(1, requests.append(client, a, batch()))
    client:close()
    assert.equal(0, running:stop())
    assert.equal(0, running:restart():stop())
  end)

  it("not when the broker that used the data folder was killed", function()
    local running = brokers.start()
    running:kill()
    assert.equal(0, running:restart():stop())
  end)

  it("not when the very first start was killed, at whatever step", function()
    for _, made in ipairs { ".lock", "luka.mdb.new", "luka.mdb", "meta.properties", "recovery-point-offset-checkpoint" } do
      local killed = brokers.start { wait = false }
      clients.wait_until(made .. " is there", function()
        return exists(killed.data .. "/" .. made) or killed:log():find(" is up after ", 1, true)
      end)
      killed:kill()
      assert.equal(0, brokers.start({ data = killed.data }):stop())
    end
  end)

  it("not when some of the data folders are not claimed yet", function()
    local second = brokers.temp_dir() .. "/second"
    local broker = brokers.start { set = { "data=" .. second } }
    assert.equal(0, broker:stop())
    local function cluster() return unit.read_file(broker.data .. "/meta.properties"):match "cluster.id=(%S+)" end
    local id = cluster()
    for _, unclaimed in ipairs { { second }, { broker.data, second } } do
      for _, folder in ipairs(unclaimed) do os.remove(folder .. "/meta.properties") end
      broker = broker:restart()
      assert.equal(0, broker:stop())
      assert.equal(id, cluster())
    end
  end)

  it("with status 2 when the data folder belongs to another broker id", function()
    local before = with_a_record()
    local data = contents(before.data)
    local status, line = refused { data = before.data, set = { "id=7" } }
    assert.equal(2, status)
    assert.truthy(line:find("luka: " .. before.data .. "/meta.properties belongs to broker id 1, this broker's id is 7", 1, true), line)
    assert.same(data, contents(before.data))
    assert_kept(before)
  end)

  it("with status 2 when the metastore is missing", function()
    local before = with_a_record()
    local path = before.data .. "/luka.mdb"
    local metastore = unit.read_file(path)
    os.remove(path)
    local data = contents(before.data)
    local status, line = refused { data = before.data }
    assert.equal(2, status)
    assert.truthy(line:find(path .. " is missing", 1, true), line)
    assert.same(data, contents(before.data))
    unit.write_file(path, metastore)
    assert_kept(before)
  end)

  it("with status 2 when the metastore is empty, or knows no cluster, but partitions belong to it", function()
    local before = with_a_record()
    local path = before.data .. "/luka.mdb"
    local metastore = unit.read_file(path)
    local data = contents(before.data)
    local out = ffi.new "struct metastore *[1]"
    local fresh = brokers.temp_dir() .. "/fresh.mdb"
    assert.equal(0, C.metastore_local_open(fresh, true, nil, nil, out))
    C.metastore_close(out[0])
    for _, bytes in ipairs { "", unit.read_file(fresh) } do
      unit.write_file(path, bytes)
      local status, line = refused { data = before.data }
      assert.equal(2, status)
      assert.equal(("luka: metadata %s is empty, but data directory %s belongs to it and holds partitions (a-0): restore it, or "
        .. "remove the directory to start empty: all records are lost"):format(path, before.data), line)
      assert.same(data, contents(before.data))
      assert.equal(bytes, unit.read_file(path))
    end
    unit.write_file(path, metastore)
    assert_kept(before)
  end)

  it("with status 1 when the metastore is cut short", function()
    local before = with_a_record()
    local path = before.data .. "/luka.mdb"
    local metastore = unit.read_file(path)
    local data = contents(before.data)
    for _, size in ipairs { 1, 4096, 9000, 20480 } do
      unit.write_file(path, metastore:sub(1, size))
      local status, line = refused { data = before.data }
      assert.equal(1, status)
      assert.equal(("luka: metastore %s is cut short: restore it, or remove the data directories to start empty: all records "
        .. "are lost"):format(path), line)
      assert.same(data, contents(before.data))
    end
    unit.write_file(path, metastore)
    assert_kept(before)
  end)

  it("or finds all that was there, when the metastore is damaged anywhere", function()
    local before = with_a_record()
    local path = before.data .. "/luka.mdb"
    local metastore = unit.read_file(path)
    local seed = tonumber(os.getenv "SEED") or os.time() % 1000000
    math.randomseed(seed)
    local refusals = 0
    for round = 1, 200 do
      local position, damage = math.random(0, #metastore - 1), {}
      for i = 1, math.random(2000) do damage[i] = string.char(math.random(0, 255)) end
      local bytes = metastore:sub(1, position) .. table.concat(damage) .. metastore:sub(position + #damage + 1)
      unit.write_file(path, bytes)
      local broker = brokers.start { data = before.data, wait = false }
      local why = ("seed %d, round %d: "):format(seed, round)
      clients.wait_until("the broker is up or has ended", function()
        return broker:poll_exit() or broker:log():find(" is up after ", 1, true)
      end)
      if broker:poll_exit() then
        local said = broker:log():match "[^\n]*\n$"
        assert.equal(1, broker.status, why .. broker:log())
        assert.truthy(said:find("^luka: metastore .* restore it, or remove the data directories"), why .. broker:log())
        refusals = refusals + 1
      else
        assert.is_nil(broker:log():find("stray", 1, true), why .. broker:log())
        assert.equal(0, broker:stop(), why)
      end
    end
    assert.is_true(refusals > 10, ("seed %d: %d"):format(seed, refusals))
    unit.write_file(path, metastore)
    assert_kept(before)
  end)

  it("with status 2 when the configuration names another metastore", function()
    local before = with_a_record()
    local data = contents(before.data)
    local other = brokers.temp_dir() .. "/other.mdb"
    local status, line = refused { data = before.data, set = { "metadata=" .. other } }
    assert.equal(2, status)
    assert.truthy(line:find(other, 1, true) and line:find(before.data .. "/luka.mdb", 1, true), line)
    assert.same(data, contents(before.data))
    assert.is_false(exists(other))
    assert_kept(before)
  end)

  it("with status 1 when the metastore cannot be a file, and says why once", function()
    local folder = brokers.temp_dir()
    for path, why in pairs { ["/"] = "cannot open /: Is a directory", [folder .. "/.."] = "cannot open " ..
      folder:match "^(.*)/" .. ": Is a directory", [folder .. "/no/m.mdb"] = "cannot open " .. folder ..
      "/no/m.mdb.new: No such file or directory" } do
      local status, line = refused { set = { "metadata=" .. path } }
      assert.same({ 1, "luka: " .. why }, { status, line })
    end
  end)

  it("with status 2 when two data folders belong to different brokers", function()
    local one, two = with_a_record(), with_a_record()
    local data = { contents(one.data), contents(two.data) }
    local status, line = refused { data = one.data, set = { "data=" .. two.data } }
    assert.equal(2, status)
    assert.truthy(line:find(one.data, 1, true) and line:find(two.data, 1, true), line)
    assert.same(data, { contents(one.data), contents(two.data) })
    assert_kept(one)
    assert_kept(two)
  end)

  it("with status 1 when the data folder is a file, or lies below one", function()
    local path = brokers.temp_dir() .. "/file"
    unit.write_file(path, "text")
    for _, data in ipairs { path, path .. "/data" } do
      local status, line = refused { data = data }
      assert.equal(1, status)
      assert.truthy(line:find(path, 1, true), line)
    end
    assert.equal("text", unit.read_file(path))
  end)

  it("when meta.properties cannot be read, and names its line", function()
    for _, case in ipairs { { "version=1\nnode.id=x\n", ":2:" }, { "version=7\nnode.id=1\n", ":1:" }, { "node.id=1\n", "no version" } } do
      local data = brokers.temp_dir() .. "/data"
      stat.mkdir(data)
      unit.write_file(data .. "/meta.properties", case[1])
      local status, line = refused { data = data }
      assert.is_true(status == 1 or status == 2)
      assert.truthy(line:find(data .. "/meta.properties", 1, true) and line:find(case[2], 1, true), line)
      assert.equal(case[1], unit.read_file(data .. "/meta.properties"))
    end
  end)

  it("with status 2 when 0.0.0.0 is to be advertised", function()
    for _, address in ipairs { "0.0.0.0:9092", "PLAINTEXT://0.0.0.0:9092", "[::]:9092" } do
      local status, line = refused { listen = { "0.0.0.0:0" }, set = { "advertise=" .. address } }
      assert.equal(2, status)
      assert.truthy(line:find("cannot be advertised", 1, true), line)
    end
  end)

  it("with status 2 when an address is none", function()
    for _, address in ipairs { "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "HTTP://127.0.0.1:0" } do
      local status, line = refused { listen = { address } }
      assert.equal(2, status)
      assert.truthy(line:find(address, 1, true), line)
    end
  end)

  it("with status 2 when a listener needs what is not there yet", function()
    local status, line = refused { listen = { "SASL_SSL://127.0.0.1:0" } }
    assert.equal(2, status)
    assert.truthy(line:find("not supported yet", 1, true), line)
  end)
end)

describe("A broker", function()
  it("says that there is no space when the disk of its metastore is full", function()
    local disk = brokers.temp_dir()
    local program = disk .. "/luka"
    unit.write_file(program, ("#!/bin/sh\nexec unshare -Urm sh -c 'mount -t tmpfs -o size=256k none %s && exec \"$0\" \"$@\"' %s \"$@\"\n")
      :format(disk .. "/small", brokers.PROGRAM))
    stat.mkdir(disk .. "/small")
    assert.equal(0, os.execute("chmod +x " .. program))
    if os.execute(("unshare -Urm mount -t tmpfs none %s/small 2>/dev/null"):format(disk)) ~= 0 then
      return pending "no right to mount a small disk"
    end
    local real = brokers.PROGRAM
    brokers.PROGRAM = program
    local broker = brokers.start { set = { "metadata=" .. disk .. "/small/luka.mdb" } }
    brokers.PROGRAM = real
    local client = broker:connect()
    local answer
    for i = 1, 50 do
      answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = "topic-" .. i, num_partitions = 100,
        replication_factor = 1, configs = {} } } }).topics[1]
      if answer.error_code ~= 0 then break end
    end
    assert.is_true(answer.error_code ~= 0)
    assert.truthy((tostring(answer.error_message) .. broker:log()):lower():find("no space", 1, true),
      tostring(answer.error_message) .. "\n" .. broker:log())
    assert.is_nil(broker:log():find("Input/output", 1, true))
    assert.is_true(requests.is_well(broker))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("that listens on all interfaces says so, and advertises a name or address that is none of them", function()
    local broker = brokers.start { listen = { "0.0.0.0:0" } }
    local on, as = broker:log():match "listening on %S-://(%S+), advertised as %S-://(%S+)"
    assert.equal("0.0.0.0:" .. broker.port, on)
    assert.is_nil(as:match "^0%.0%.0%.0:")
    assert.equal(tostring(broker.port), as:match ":(%d+)$")
    local client = broker:connect()
    local node = client:ask("Metadata", 9, { topics = {} }).brokers[1]
    assert.equal(as, ("%s:%d"):format(node.host, node.port))
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("tells each client the address of the listener that it came through", function()
    local broker = brokers.start { listen = { "127.0.0.1:0", "localhost:0" } }
    assert.equal(2, #broker.ports)
    for index = 1, 2 do
      local client = broker:connect(index)
      local node = client:ask("Metadata", 9, { topics = {} }).brokers[1]
      assert.same({ index == 1 and "127.0.0.1" or "localhost", broker.ports[index] }, { node.host, node.port })
      client:close()
    end
    assert.equal(0, broker:stop())
  end)

  it("shares partitions out over its data folders, and finds them again", function()
    local second = brokers.temp_dir() .. "/second"
    local broker = brokers.start { set = { "data=" .. second } }
    local client = broker:connect()
    local a = requests.create(client, "a", { partitions = 8 })
    for partition = 0, 7 do requests.append(client, a, batch { records = { "p" .. partition } }, { partition = partition }) end
    local function count(folder)
      local n = 0
      for name in dirent.files(folder) do n = n + (name:match "^a%-%d+$" and 1 or 0) end
      return n
    end
    assert.same({ 4, 4 }, { count(broker.data), count(second) })
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    for partition = 0, 7 do
      assert.same({ "p" .. partition }, records.values(requests.fetch(client, a, { partition = partition }).records))
    end
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("sets a partition that nobody knows aside, without a change to it, and says so", function()
    local before = with_a_record()
    local stray = before.data .. "/unknown-0"
    stat.mkdir(stray)
    local stored = records.stored(batch { records = { "somebody's" } }, 0)
    unit.write_file(stray .. "/00000000000000000000.log", stored)
    local broker = before:restart()
    assert.truthy(broker:log():match "warn[^\n]*unknown%-0")
    local client = broker:connect()
    assert.is_nil(requests.find(client, "unknown"))
    client:close()
    assert.equal(0, broker:stop())
    assert.is_false(exists(stray))
    local found
    for name in dirent.files(broker.data) do found = name:match "^unknown%-0%..*%-stray$" or found end
    assert.truthy(found)
    assert.equal(stored, unit.read_file(("%s/%s/00000000000000000000.log"):format(broker.data, found)))
    assert_kept(broker)
  end)
end)

describe("Data folders that are moved as a whole", function()
  local function sh(command) assert.equal(0, os.execute(command), command) end

  --- A broker over root/a and root/b that has a record in each of two partitions, stopped again.
  local function filled(root)
    local broker = brokers.start { data = root .. "/a", set = { "data=" .. root .. "/b" } }
    local client = broker:connect()
    local topic = requests.create(client, "t", { partitions = 2 })
    for partition = 0, 1 do requests.append(client, topic, records.batch(), { partition = partition }) end
    client:close()
    assert.equal(0, broker:stop())
    assert.truthy(unit.read_file(root .. "/b/t-1/partition.metadata"))
  end

  --- Starts over root/a and root/b, and finds the records; the broker is stopped.
  local function assert_has_records(a, b)
    local broker = brokers.start { data = a, set = { "data=" .. b } }
    local client = broker:connect()
    local topic = requests.find(client, "t")
    for partition = 0, 1 do assert.equal(1, requests.end_offset(client, topic, partition)) end
    client:close()
    assert.equal(0, broker:stop())
    assert.is_nil(broker:log():match "stray")
  end

  local function named(dir) return (unit.read_file(dir .. "/meta.properties"):match "luka.metadata=([^\n]*)") end

  it("name their metadata without a path, the one it does not lie in by the id of the other", function()
    local root = brokers.temp_dir()
    filled(root)
    assert.equal("luka.mdb", named(root .. "/a"))
    assert.equal(unit.read_file(root .. "/a/meta.properties"):match "directory.id=([^\n]*)" .. "/luka.mdb", named(root .. "/b"))
  end)

  it("are found where they are then, moved or copied, together or each for itself", function()
    local root, other, third = brokers.temp_dir(), brokers.temp_dir(), brokers.temp_dir()
    filled(root)
    sh(("cp -r %s/a %s/b %s"):format(root, root, other))
    assert_has_records(other .. "/a", other .. "/b")
    sh(("mv %s/a %s/elsewhere"):format(root, third))
    assert_has_records(third .. "/elsewhere", root .. "/b")
  end)

  it("are found when an older version wrote the path, and name it anew", function()
    local root, other = brokers.temp_dir(), brokers.temp_dir()
    filled(root)
    for _, dir in ipairs { root .. "/a", root .. "/b" } do
      sh(("sed -i 's#^luka.metadata=.*#luka.metadata=%s/a/luka.mdb#' %s/meta.properties"):format(root, dir))
    end
    assert_has_records(root .. "/a", root .. "/b")
    for _, dir in ipairs { root .. "/a", root .. "/b" } do
      sh(("sed -i 's#^luka.metadata=.*#luka.metadata=%s/a/luka.mdb#' %s/meta.properties"):format(root, dir))
    end
    sh(("mv %s/a %s/b %s"):format(root, root, other))
    assert_has_records(other .. "/a", other .. "/b")
    assert.equal("luka.mdb", named(other .. "/a"))
  end)

  it("are refused without the one that the metadata lies in, or when that is in another one's place", function()
    local root, other = brokers.temp_dir(), brokers.temp_dir()
    filled(root)
    filled(other)
    local broker = brokers.start { data = root .. "/b", set = { "metadata=" .. root .. "/a/luka.mdb" }, wait = false }
    assert.equal(2, broker:wait_exit())
    assert.truthy(broker:log():match "directory%.id, but none of the configured", broker:log())
    broker = brokers.start { data = other .. "/a", set = { "data=" .. root .. "/b" }, wait = false }
    assert.equal(2, broker:wait_exit())
    assert_has_records(root .. "/a", root .. "/b")
  end)
end)

describe("A data folder that is missing", function()
  local a, b, broker, client

  local function start()
    broker = brokers.start { data = a, set = { "data=" .. b } }
    client = broker:connect()
  end
  local function stop()
    client:close()
    assert.equal(0, broker:stop())
  end

  --- Errors of the topic's partitions, by number, as Metadata has them.
  local function errors(name)
    local out = {}
    for _, part in ipairs(requests.find(client, name).partitions) do out[part.partition_index] = part.error_code end
    return out
  end

  --- A topic with a record in each of four partitions, two in each folder; the errors when b is not there.
  local function filled()
    local root = brokers.temp_dir()
    a, b = root .. "/a", root .. "/b"
    start()
    local topic = requests.create(client, "t", { partitions = 4 })
    local there = {}
    for partition = 0, 3 do
      requests.append(client, topic, records.batch(), { partition = partition })
      there[partition] = exists(("%s/t-%d"):format(b, partition)) and 5 or 0
    end
    stop()
    return there
  end

  for _, what in ipairs { "not there", "an empty one of another disk" } do
    it("has its partitions offline, not begun anew, while it is " .. what, function()
      local there = filled()
      assert(os.rename(b, b .. "-away"))
      if what ~= "not there" then stat.mkdir(b) end
      -- Twice: the one that was made in its place is none of those that are missed.
      for round = 1, 2 do
        start()
        assert.same(there, errors "t")
        assert.truthy(broker:log():find("data directory " .. b .. " (directory.id=", 1, true))
        local new = requests.create(client, "new" .. round, { partitions = 2 })
        for partition = 0, 1 do assert.equal(0, requests.append(client, new, records.batch(), { partition = partition })) end
        stop()
      end
      assert(os.rename(b, b .. "-empty") and os.rename(b .. "-away", b))
      start()
      assert.same({ [0] = 0, 0, 0, 0 }, errors "t")
      for partition = 0, 3 do assert.equal(1, requests.end_offset(client, requests.find(client, "t"), partition)) end
      stop()
    end)
  end

  it("is not missed any more when luka.directories does not name it", function()
    local there = filled()
    assert(os.rename(b, b .. "-away"))
    assert.equal(0, os.execute(("sed -i /luka.directories/d %s/meta.properties"):format(a)))
    start()
    assert.same({ [0] = 0, 0, 0, 0 }, errors "t")
    for partition = 0, 3 do
      assert.equal(there[partition] == 0 and 1 or 0, requests.end_offset(client, requests.find(client, "t"), partition))
    end
    stop()
  end)
end)
