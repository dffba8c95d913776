-- SPDX-License-Identifier: Apache-2.0
-- The recipes of docs/recipes: each page's configuration, and what the page says that it does.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local group = require "spec.support.group"
local process = require "spec.support.process"
local recipe = require "spec.support.recipe"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"
local NONE, UNKNOWN_TOPIC, POLICY_VIOLATION, STORAGE_ERROR = 0, 3, 44, 56
local wait_until = requests.wait_until

describe("The recipe", function()
  local broker, client

  local function start(name, options)
    broker = recipe.start(name, options)
    client = broker:connect()
  end
  after_each(function()
    if client then client:close() end
    if broker then assert.equal(0, broker:stop()) end
    broker, client = nil, nil
  end)

  local function topic(name) return (assert(requests.find(client, name), name .. " is not there")) end

  --- Produces records to partition 0; the error code and message.
  local function send(name, list, options)
    local made = { records = list }
    for key, value in pairs(options or {}) do made[key] = value end
    local answer = requests.produce(client, topic(name), records.batch(made))
    return answer.error_code, answer.error_message
  end

  --- All records of a topic, of one partition after the other.
  local function read(name)
    local all, made = {}, topic(name)
    for partition = 0, #made.partitions - 1 do
      for _, record in ipairs(records.read(requests.fetch_to_end(client, made, 0, partition))) do all[#all + 1] = record end
    end
    return all
  end
  local function values(name)
    local list = {}
    for i, record in ipairs(read(name)) do list[i] = record.value == nil and "<null>" or record.value end
    table.sort(list)
    return list
  end
  local function header(record, name)
    for _, pair in ipairs(record.headers) do
      if pair[1] == name then return pair[2] end
    end
  end
  local function region(value, name) return { key = "k", value = value, headers = name and { { "region", name } } or {} } end

  for _, codec in ipairs { records.NONE, records.GZIP, records.SNAPPY, records.LZ4, records.ZSTD } do
    it("route by region moves records to their region's topic, codec " .. codec, function()
      start "route-by-region"
      assert.equal(NONE, send("orders", { region("1", "eu"), region("2", "us"), region("3", "mars"), region "4", region("5", "eu") },
        { codec = codec }))
      assert.same({ "1", "5" }, values "orders.eu")
      assert.same({ "2" }, values "orders.us")
      assert.same({ "3", "4" }, values "orders")
      assert.equal("eu", header(read("orders.eu")[1], "region"))
    end)
  end

  it("mask card numbers masks what is one, and nothing else", function()
    start "mask-card-numbers"
    assert.equal(NONE, send("payments", { { value = "paid with 4111 1111 1111 1111, thanks" }, { value = "5500-0000-0000-0004" },
      { value = "order 4111111111111112 of 2026-11-30, phone 030 123456" }, { value = "378282246310005" }, { key = "none" } }))
    local list = {}
    for i, record in ipairs(read "payments") do list[i] = record.value or "<null>" end
    assert.same({ "paid with ************1111, thanks", "************0004",
      "order 4111111111111112 of 2026-11-30, phone 030 123456", "***********0005", "<null>" }, list)
  end)

  it("dead letters keeps malformed JSON, with the reason", function()
    start "dead-letters"
    assert.equal(NONE, send("events", { { value = '{"a":1}' }, { key = "k", value = '{"a":' }, { value = "null" }, { key = "n" } }))
    assert.same({ "null", '{"a":1}' }, values "events")
    local dead = read "events.dead"
    local letter = dead[1]
    assert.same({ '{"a":', "k", "events", "0" },
      { letter.value, letter.key, header(letter, "dead.topic"), header(letter, "dead.partition") })
    assert.is_true(#header(dead[1], "dead.reason") > 0)
    assert.same({ "n", nil }, { dead[2].key, dead[2].value })
  end)

  it("dead letters can be sent again as the page says", function()
    start "dead-letters"
    send("events", { { key = "k", value = "{" } })
    local file = assert(io.open "docs/recipes/dead-letters.md")
    local line = file:read("*a"):match "`(for _, r in .-)`"
    file:close()
    line = line:gsub("value = r.value", "value = r.value .. '}'")
    local status, out, err = process.start({ PROGRAM, "console", broker.data .. "/console.sock", "-e", line }, {}):wait()
    assert.same({ 0, "" }, { status, err }, out)
    assert.same({ "{}" }, values "events")
  end)

  it("drop duplicates drops the second record of an id, in whichever partition and batch", function()
    start "drop-duplicates"
    local function ids(...)
      local list = {}
      for i, id in ipairs { ... } do list[i] = { value = id, headers = { { "id", id } } } end
      return list
    end
    assert.equal(NONE, send("orders", ids("a", "b", "a")))
    assert.equal(NONE, requests.produce(client, topic "orders", records.batch { records = ids("b", "c") }, { partition = 2 }).error_code)
    assert.equal(NONE, send("orders", { { value = "no id" }, { value = "no id" } }))
    assert.same({ "a", "b", "c", "no id", "no id" }, values "orders")
  end)

  it("drop duplicates lets through what an idempotent producer sends again after a write that failed", function()
    start "drop-duplicates"
    local text = recipe.text "drop-duplicates"
    local function order(id, sequence)
      return send("orders", { { value = id, headers = { { "id", id } } } },
        sequence and { producer_id = 7, producer_epoch = 0, sequence = sequence })
    end
    assert.equal(NONE, order("first", 0))
    reload.hup(broker, text .. "\nbroker { log_dir_reserve_bytes = 9007199254740991LL }")
    assert.equal(STORAGE_ERROR, (order("a", 1)))
    assert.equal(STORAGE_ERROR, (order "b"))
    reload.hup(broker, text)
    assert.equal(NONE, order("a", 1))
    assert.equal(NONE, order("a", 1)) -- found as a retry of what is stored
    assert.equal(NONE, order("a", 2)) -- another record with that id
    assert.equal(NONE, order "b") -- nothing tells it from another record
    assert.same({ "a", "first" }, values "orders")
  end)

  it("drop duplicates forgets ids when their time is over", function()
    start("drop-duplicates", { times = { ["hours(1)"] = "100" } })
    local one = { { value = "x", headers = { { "id", "x" } } } }
    wait_until("the id is forgotten", function()
      send("orders", one)
      return #values "orders" == 2
    end)
  end)

  it("per-key TTL has expired values read as tombstones", function()
    start "per-key-ttl"
    local now = os.time() * 1000
    local function ttl(key, age_s, seconds)
      assert.equal(NONE, send("sessions", { { key = key, value = key, headers = seconds and { { "ttl", seconds } } or {} } },
        { ts = now - age_s * 1000 }))
    end
    ttl("fresh", 10, "3600")
    ttl("expired", 10, "5")
    ttl("forever", 10)
    local list = {}
    for i, record in ipairs(read "sessions") do list[i] = { record.key, record.value or "<null>" } end
    assert.same({ { "fresh", "fresh" }, { "expired", "<null>" }, { "forever", "forever" } }, list)
    assert.equal(3, requests.end_offset(client, topic "sessions"))
  end)

  it("delay by header moves records when their time has come, with what they had", function()
    start("delay-by-header", { times = { ["seconds(10)"] = "300", ["seconds(1)"] = "50" } })
    local function delayed(value, delay) return { key = "k", value = value, headers = { { "delay", delay }, { "x", "1" } } } end
    assert.equal(NONE, send("tasks", { delayed("late", "10s"), { value = "now" }, delayed("later", "10m"), delayed("odd", "1y") }))
    assert.same({ "now", "odd" }, values "tasks")
    wait_until("what is due has been moved", function() return #values "tasks" == 3 end)
    local found
    for _, record in ipairs(read "tasks") do found = record.value == "late" and record or found end
    assert.same({ "k", "1", nil }, { found.key, header(found, "x"), header(found, "delay") })
    assert.same({ "later" }, values "tasks.wait.10m")
  end)

  it("delay by header goes on where it was after a restart", function()
    start("delay-by-header", { times = { ["seconds(10)"] = "100", ["seconds(1)"] = "50" } })
    local function delayed(value) return { value = value, headers = { { "delay", "10s" } } } end
    send("tasks", { delayed "1" })
    wait_until("it has been moved", function() return #values "tasks" == 1 end)
    wait_until("that is committed", function()
      local status, out = process.start({ PROGRAM, "console", broker.data .. "/console.sock", "-e",
        'print(#admin.offsets "tasks.wait.10s")' }, {}):wait()
      return status == 0 and out == "1\n"
    end)
    client:close()
    assert.equal(0, broker:stop())
    broker = broker:restart()
    client = broker:connect()
    send("tasks", { delayed "2" })
    wait_until("the second has been moved", function() return #values "tasks" >= 2 end)
    assert.same({ "1", "2" }, values "tasks")
  end)

  it("archive keeps segments that retention deletes in a folder", function()
    local folder = brokers.temp_dir()
    start("archive", { env = { LUKA_ARCHIVE = folder }, set = { "log_retention_check_interval_ms=50" } })
    configs.set(client, "clicks", { ["internal.segment.bytes"] = "300" })
    local old = { ts = (os.time() - 8 * 86400) * 1000 }
    for i = 1, 5 do assert.equal(NONE, send("clicks", { { value = ("%d"):format(i):rep(60) } }, old)) end
    wait_until("old segments are gone", function() return requests.start_offset(client, topic "clicks") >= 4 end)
    local file = assert(io.open(folder .. "/clicks-0/00000000000000000000.log", "rb"))
    local kept = records.values(file:read "*a")
    file:close()
    assert.same({ ("1"):rep(60), ("2"):rep(60) }, kept)
    assert.matches("archived clicks%-0 from offset 0", broker:log())
  end)

  it("archive lets nothing go while the folder is not to be had", function()
    local folder = brokers.temp_dir() .. "/not-there"
    assert(io.open(folder, "w")):close()
    start("archive", { env = { LUKA_ARCHIVE = folder }, set = { "log_retention_check_interval_ms=50" } })
    configs.set(client, "clicks", { ["internal.segment.bytes"] = "300" })
    for _ = 1, 5 do send("clicks", { { value = ("x"):rep(60) } }, { ts = 1 }) end
    wait_until("the copy has failed", function() return broker:log():find('topic "?clicks"?.-config.lua:7') end)
    assert.equal(0, requests.start_offset(client, topic "clicks"))
    os.remove(folder)
    wait_until("they are archived once it is", function() return requests.start_offset(client, topic "clicks") >= 4 end)
  end)

  describe("owners", function()
    local function create(name, options)
      options = options or {}
      local answer = client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = { { name = name,
        num_partitions = options.partitions or 1, replication_factor = 1, configs = {} } } }).topics[1]
      return answer.error_code, answer.error_message
    end
    before_each(function() start "owners" end)

    it("lets topics of a team through", function() assert.equal(NONE, (create "shop.orders")) end)

    it("refuses others with the reason", function()
      assert.same({ POLICY_VIOLATION, "topic orders has no owner: names are team.name, and teams are in config.lua" },
        { create "orders" })
      assert.equal(POLICY_VIOLATION, (create "nobody.orders"))
      assert.is_nil(requests.find(client, "orders"))
    end)

    it("refuses too many partitions", function()
      assert.same({ POLICY_VIOLATION, "more than 48 partitions: ask shop@example.com" }, { create("shop.big", { partitions = 49 }) })
    end)

    it("refuses topics that would be made by their first record, and says so in the log", function()
      wait_until("the log says it", function()
        local answer = client:ask("Metadata", 9, { topics = { { name = "stray" } }, allow_auto_topic_creation = true })
        assert.equal(UNKNOWN_TOPIC, answer.topics[1].error_code)
        return broker:log():find("topic stray has no owner", 1, true)
      end)
      assert.is_nil(requests.find(client, "stray"))
    end)

    it("does not ask about the broker's own", function() group.prepare(client) end)
  end)

  it("consumer lag warns once when a group is behind, and when it has caught up", function()
    start("consumer-lag", { times = { ["minutes(1)"] = "50" } })
    group.prepare(client)
    local made = requests.create(client, "clicks")
    local list = {}
    for i = 1, 10001 do list[i] = "x" end
    requests.append(client, made, records.batch { records = list })
    local function commit(offset)
      local answer = client:ask("OffsetCommit", group.COMMIT, group.commit_body("readers", { clicks = { [0] = offset } }))
      assert.equal(NONE, answer.topics[1].partitions[1].error_code)
    end
    commit(0)
    wait_until("it is said", function()
      return broker:log():find("warn +%S+config.lua:%d+: group readers is behind by 10001 records, with 0 members")
    end)
    commit(5000)
    wait_until("it has caught up", function() return broker:log():find("group readers has caught up", 1, true) end)
    local _, warnings = broker:log():gsub("is behind by", "")
    assert.equal(1, warnings)
  end)

  it("has a page for each of these, which docs/policies.md names", function()
    local file = assert(io.open "docs/policies.md")
    local text = file:read "*a"
    file:close()
    local pipe = io.popen "ls docs/recipes"
    for page in pipe:lines() do assert.truthy(text:find("recipes/" .. page, 1, true), page) end
    pipe:close()
  end)
end)
