-- SPDX-License-Identifier: Apache-2.0
-- luka.producer.type=sync: what waits in many partitions shares a flush, a broker that is killed has all of it, and who
-- asks for Kafka's flush.messages as well gets his segment flushed.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local load = require "spec.support.load"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local sync_journal = require "spec.support.sync_journal"

local JOURNAL = "/" .. sync_journal.NAME

describe("A topic with luka.producer.type=sync", function()
  local broker, client

  local function start(options)
    options = options or {}
    options.set = options.set or { "workers=2" }
    broker = brokers.start(options)
    client = broker:connect()
  end

  local function counts()
    local pipe = io.popen(("%s console '%s/console.sock' --json -e 'return metrics()'"):format(brokers.PROGRAM, broker.data))
    local text = pipe:read "*a"
    pipe:close()
    return tonumber(text:match '"log.synced_appends":(%d+)'), tonumber(text:match '"log.syncs":(%d+)')
  end

  local function create(name, settings, partitions)
    settings["luka.producer.type"] = "sync"
    return requests.create(client, name, { configs = settings, partitions = partitions })
  end

  local function wait_for_journal(topic) sync_journal.wait(broker.data, client, topic) end

  --- Starts the broker again, after kill -9 or a clean stop.
  local function restart(is_clean)
    client:close()
    if is_clean then
      assert.equal(0, broker:stop())
    else
      broker:kill()
    end
    broker = broker:restart()
    client = broker:connect()
  end

  after_each(function()
    client:close()
    broker:kill()
  end)

  it("shares a flush with others that wait", function()
    start()
    wait_for_journal(create("load", {}, load.PARTITIONS))
    local appends, syncs = counts()
    load.run(broker, "produce --connections 48 --requests 6000 --acks -1")
    local more_appends, more_syncs = counts()
    assert.equal(appends + 6000, more_appends)
    assert.is_true(more_syncs > syncs)
    assert.is_true((more_syncs - syncs) * 2 < 6000, more_syncs - syncs)
  end)

  it("has its segments flushed for each record where flush.messages asks for that", function()
    start()
    local journaled = create("journaled", {})
    local topic = create("flushed", { ["flush.messages"] = "1" })
    wait_for_journal(journaled)
    assert.equal(0, requests.append(client, topic, records.batch { records = { "not in the journal" } }))
    requests.append(client, journaled, records.batch { records = { "in the journal" } })
    local file = io.open(broker.data .. JOURNAL, "rb")
    local bytes = file:read "*a"
    file:close()
    assert.is_nil(bytes:find("not in the journal", 1, true))
    assert.truthy(bytes:find("in the journal", 1, true))
  end)

  it("has all that was acknowledged after kill -9, and begins with an empty journal", function()
    start()
    local topic = create("t", {}, 3)
    wait_for_journal(topic)
    local at = {}
    for partition = 0, 2 do
      for _ = 1, 20 do requests.append(client, topic, records.batch(), { partition = partition }) end
      at[partition] = requests.end_offset(client, topic, partition)
    end
    restart()
    for partition = 0, 2 do assert.equal(at[partition], requests.end_offset(client, topic, partition)) end
    restart()
    assert.is_nil(broker:log():find("sync journal", 1, true))
  end)

  it("takes batches of any size", function()
    start()
    local topic = create("t", {})
    wait_for_journal(topic)
    local before = requests.end_offset(client, topic)
    for i, size in ipairs { 100, 200000, 300000, 900000, 100 } do
      assert.equal(before + i - 1, requests.append(client, topic, records.sized(size)))
    end
    restart(true)
    assert.equal(before + 5, requests.end_offset(client, topic))
  end)

  it("goes on as an asynchronous one, and the other way round", function()
    start()
    local topic = create("t", {})
    wait_for_journal(topic)
    local at = requests.end_offset(client, topic)
    for i, kind in ipairs { "async", "sync", "async", "sync" } do
      configs.set(client, topic, { ["luka.producer.type"] = kind })
      assert.equal(at + i - 1, requests.append(client, topic, records.batch()))
    end
    restart()
    assert.equal(at + 4, requests.end_offset(client, topic))
  end)

  it("keeps its journal over a clean stop for a log that does not open, wherever that lies now", function()
    local root = brokers.temp_dir(true)
    local function at(path) return ("%s/b/t-0/%s"):format(root, path) end
    local function sh(command, ...) assert.equal(0, os.execute(command:format(...))) end
    start { data = root .. "/a", set = { "workers=2", "data=" .. root .. "/b" } }
    wait_for_journal(create("other", {}, 2)) -- one partition in each directory
    local topic = create("t", {})
    for _ = 1, 20 do requests.append(client, topic, records.batch()) end
    client:close()
    broker:kill()
    -- The disk has nothing of it but what the journal says; its folder was moved to another directory.
    sh("mv '%s/a/t-0' '%s/b'", root, root)
    sh(": >'%s'; rm -f '%s'; mkdir '%s'", at "00000000000000000000.log", at "leader-epoch-checkpoint", at "leader-epoch-checkpoint")
    broker = broker:restart()
    assert.truthy(broker:log():find "sync journal is kept as it is: 1 partitions")
    assert.equal(0, broker:stop())
    sh("rmdir '%s'", at "leader-epoch-checkpoint")
    broker = broker:restart()
    client = broker:connect()
    assert.equal(20, requests.end_offset(client, topic))
    restart(true)
    assert.equal(20, requests.end_offset(client, topic))
    assert.is_nil(broker:log():find("sync journal", 1, true))
  end)

  for what, damage in pairs {
    ["its header"] = function(file) file:write(("x"):rep(4096)) end,
    ["all of it"] = function(file) for _ = 1, 100 do file:write(("y"):rep(4096)) end end,
  } do
    it(("starts with a journal that was damaged (%s), and says so"):format(what), function()
      start()
      local topic = create("t", {})
      wait_for_journal(topic)
      local at = requests.end_offset(client, topic)
      client:close()
      broker:kill()
      local file = assert(io.open(broker.data .. JOURNAL, "r+b"))
      damage(file)
      file:close()
      broker = broker:restart()
      client = broker:connect()
      assert.equal(at, requests.end_offset(client, topic))
      assert.truthy(broker:log():find "sync%-journal does not begin as a sync journal does; what can be read of it is used")
      wait_for_journal(topic)
    end)
  end
end)
