-- SPDX-License-Identifier: Apache-2.0
-- Views and transform_fetch with a real broker: what each kind of request says of a view, and what readers get.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local consoles = require "spec.support.console"
local configs = require "spec.support.configs"
local groups = require "spec.support.group"
local messages = require "spec.unit.record.messages"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local batch, fetch, append = records.batch, requests.fetch, requests.append
local UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, TOPIC_AUTHORIZATION_FAILED, TOPIC_ALREADY_EXISTS = 3, 17, 29, 36
local POLICY_VIOLATION, UNKNOWN_TOPIC_ID = 44, 100

local CONFIG = [[
broker { workers = 2, offsets_topic_num_partitions = 3, auto_create_topics_enable = true }
defaults { partitions = 1 }
topic "masked" {
  transform_fetch = function(record, client)
    if client.id == "clerk" then return record end
    if client.id == "stranger" then reject "strangers may not read this" end
    if record.value == "secret" then return nil end
    record.value = record.value:gsub("%d", "*")
    return record
  end,
}
topic "broken" { transform_fetch = function() error "it breaks" end }
topic "sender" { transform = function(record) emit("orders.all", record) return record end }
view("orders.eu", { from = "orders", where = function(record) return record.key == "eu" end })
view("orders.all", { from = "orders" })
view("orders.none", { from = "orders", where = function() return false end })
view("masked.odd", { from = "masked", where = function(record) return record.value:match "[13579]$" ~= nil end })
view("late.view", { from = "late", where = function(record) return record.key == "eu" end })
]]

--- Batches of an answer as "base-last:value,value".
local function shown(answer)
  local out = {}
  for i, one in ipairs((records.parse(answer.records))) do
    assert.is_true(one.is_intact)
    out[i] = ("%d-%d:%s"):format(one.base, one.last, table.concat(records.values(one.bytes), ","))
  end
  return out
end

local function pairs_of(list)
  local out = {}
  for i, pair in ipairs(list) do out[i] = { key = pair:match "^(.-)=", value = pair:match "=(.*)$" } end
  return batch { records = out }
end

describe("a view", function()
  local broker, client, orders, eu

  setup(function()
    broker = reload.start(CONFIG)
    client = broker:connect()
    groups.prepare(client)
    orders = requests.create(client, "orders", { partitions = 2 })
    eu = requests.find(client, "orders.eu")
    append(client, orders, pairs_of { "eu=a", "us=b", "eu=c" })
    append(client, orders, pairs_of { "us=d", "us=e" })
    append(client, orders, pairs_of { "us=f" })
    append(client, orders, pairs_of { "eu=g" })
    append(client, orders, pairs_of { "us=h" }, { partition = 1 })
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is no topic that a transform may emit to", function()
    local answer = requests.produce(client, requests.find(client, "sender"), pairs_of { "eu=a" })
    assert.equal(POLICY_VIOLATION, answer.error_code)
    assert.is_truthy(answer.error_message:find("emit to orders.all: it is a view, which is only read", 1, true))
  end)

  it("is a topic with an id of its own and the partitions of its source", function()
    assert.equal(2, #eu.partitions)
    assert.is_not.equal(orders.id, eu.id)
    local all = client:ask("Metadata", 12, { topics = wire.NULL })
    local names = {}
    for _, topic in ipairs(all.topics) do names[topic.name] = true end
    assert.is_true(names["orders.eu"] and names["orders.all"] and names["orders"] and true)
    assert.is_nil(names["late.view"])
    local described = client:ask("DescribeTopicPartitions", 0, { topics = { { name = "orders.eu" } }, response_partition_limit = 10,
      cursor = wire.NULL })
    assert.equal(2, #described.topics[1].partitions)
    assert.equal(1, described.topics[1].partitions[1].leader_id)
  end)

  for _, version in ipairs { 4, 11, 12, 13, 17, 18 } do
    it(("gives those records that it has: Fetch %d"):format(version), function()
      local answer = fetch(client, eu, {}, { version = version })
      assert.equal(0, answer.error_code)
      assert.equal(7, answer.high_watermark)
      assert.same({ "0-2:a,c", "3-5:", "6-6:g" }, shown(answer))
    end)
  end

  for version = 0, 3 do
    it(("gives those records that it has: Fetch %d"):format(version), function()
      local answer = fetch(client, eu, {}, { version = version })
      assert.same({ "a", "c", "g" }, messages.values(answer.records))
      local none = fetch(client, { name = "orders.none" }, {}, { version = version })
      local list = messages.flatten(none.records)
      assert.equal(1, #list)
      assert.same({ 6 }, { list[1].offset })
      assert.is_nil(list[1].value)
    end)
  end

  it("gives an empty batch at once where it has none of the records that are there, however many bytes are asked for", function()
    local answer = fetch(client, requests.find(client, "orders.none"), {}, { min_bytes = 1, max_wait_ms = 60000 })
    assert.same({ "0-6:" }, shown(answer))
  end)

  it("of a topic that is not there is warned of at a start and at a reload, until the topic is there", function()
    local other = reload.start([[
      topic "known" {}
      view("known.all", { from = "known" })
      view("asked", { from = "unknown" })
    ]])
    local line = ('warn  %s/config.lua:3: view "asked" shows topic "unknown", which is not there: the view is when the topic '
      .. "is created\n"):format(other.folder)
    local log = other:log()
    assert.truthy(log:find(line, 1, true), log)
    assert.is_nil(log:find("known.all", 1, true))
    reload.hup(other)
    local again = other:log():sub(#log + 1)
    assert.truthy(again:find(line, 1, true), again)
    local asking = other:connect()
    requests.create(asking, "unknown")
    asking:close()
    log = other:log()
    reload.hup(other)
    assert.is_nil(other:log():sub(#log + 1):find("which is not there", 1, true))
    assert.equal(0, other:stop())
  end)

  it("is waited for at its end", function()
    local none, other = requests.find(client, "orders.none"), broker:connect()
    local source = requests.create(client, "late")
    local view = requests.find(client, "late.view")
    local id = other:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } }, { min_bytes = 1, max_wait_ms = 60000 }))
    append(client, source, pairs_of { "eu=x" })
    local answer = other:answer("Fetch", 18, id)
    assert.same({ "0-0:x" }, shown(answer.responses[1].partitions[1]))
    other:close()
    assert.equal("orders.none", none.name)
    requests.delete(client, source)
    assert.is_nil(requests.find(client, "late.view"))
  end)

  it("gives what is stored where it has no condition", function()
    local all = requests.find(client, "orders.all")
    assert.equal(fetch(client, orders).records, fetch(client, all).records)
  end)

  it("is read in a session beside its source", function()
    local full = requests.fetch_all(client, { { eu, { {}, { partition = 1 } } }, { orders, { {} } } }, { session_epoch = 0 })
    assert.is_true(full.session_id > 0)
    assert.same({ "0-2:a,c", "3-5:", "6-6:g" }, shown(full.responses[1].partitions[1]))
    assert.same({ "0-0:" }, shown(full.responses[1].partitions[2]))
    local next_one = requests.fetch_all(client, { { eu, { { fetch_offset = 7 }, { partition = 1, fetch_offset = 1 } } },
      { orders, { { fetch_offset = 7 } } } }, { session_id = full.session_id, session_epoch = 1 })
    assert.equal(0, #next_one.responses)
  end)

  it("keeps to the limits of a fetch, and gives a first batch whole", function()
    local first = records.parse(fetch(client, eu).records)[1]
    local answer = fetch(client, eu, { partition_max_bytes = first.size + 1 })
    assert.equal("0-2:a,c", shown(answer)[1])
    assert.equal("0-2:a,c", shown(fetch(client, eu, { partition_max_bytes = 1 }))[1])
  end)

  it("has the offsets of its source, by time too", function()
    assert.equal(7, requests.end_offset(client, eu))
    assert.equal(0, requests.start_offset(client, eu))
    assert.equal(requests.list_offset(client, orders, 1000), requests.list_offset(client, eu, 1000))
    local answer = client:ask("OffsetForLeaderEpoch", 4, { replica_id = -1, topics = { { topic = "orders.eu",
      partitions = { { partition = 0, current_leader_epoch = -1, leader_epoch = 0 } } } } })
    assert.equal(7, answer.topics[1].partitions[1].end_offset)
  end)

  it("shows the configs of its source, read only, and what it is a view of", function()
    configs.set(client, orders, { ["max.message.bytes"] = "5000" })
    local shown_configs = {}
    for _, config in ipairs(client:ask("DescribeConfigs", 4, { resources = { { resource_type = 2, resource_name = "orders.eu",
      configuration_keys = wire.NULL } } }).results[1].configs) do
      shown_configs[config.name] = config
    end
    assert.equal("5000", shown_configs["max.message.bytes"].value)
    assert.is_true(shown_configs["max.message.bytes"].read_only)
    assert.equal("orders", shown_configs["luka.view.from"].value)
    assert.is_true(shown_configs["luka.view.from"].read_only)
    local console = consoles.connect(broker.data .. "/console.sock")
    assert.same({ "orders", false }, { console:eval('topic "orders.eu":describe().view_of').values[1].value,
      console:eval('topic "orders":describe().view_of ~= nil').values[1].value })
    local list = console:eval('topics "orders"').values[1]
    assert.same({ "name", "view_of", "partitions", "records", "size_bytes", "configs" }, list.columns)
    local of = {}
    for _, row in ipairs(list.rows) do of[row.name] = row.view_of or "none" end
    assert.same({ orders = "none", ["orders.all"] = "orders", ["orders.eu"] = "orders", ["orders.none"] = "orders" }, of)
    assert.same({ "orders", 2 }, { console:eval('admin.describe_topic("orders.eu").view_of').values[1].value,
      console:eval('#admin.describe_topic("orders.eu").partitions').values[1].value })
    assert.same({ "name", "partitions", "records", "size_bytes", "configs" }, console:eval('topics "sender"').values[1].columns)
    console:close()
  end)

  it("refuses what would change it", function()
    local produced = requests.produce(client, eu, batch())
    assert.same({ INVALID_TOPIC, "This topic is a view, which can only be read." },
      { produced.error_code, produced.error_message })
    assert.equal(INVALID_TOPIC, requests.produce(client, eu, messages.set(1, { "a" }), { version = 2 }).error_code)
    local deleted = client:ask("DeleteTopics", 6, { timeout_ms = 1000, topics = { { name = "orders.eu" } } }).responses[1]
    assert.same({ INVALID_TOPIC, "This topic is a view, which only the configuration can remove." },
      { deleted.error_code, deleted.error_message })
    local grown = client:ask("CreatePartitions", 3, { timeout_ms = 1000, validate_only = false, topics = { {
      name = "orders.eu", count = 5, assignments = wire.NULL } } }).results[1]
    assert.equal(INVALID_TOPIC, grown.error_code)
    local created = client:ask("CreateTopics", 7, { timeout_ms = 1000, topics = { { name = "orders.eu", num_partitions = 1,
      replication_factor = 1 } } }).topics[1]
    assert.same({ TOPIC_ALREADY_EXISTS, "Topic 'orders.eu' already exists: it is a view." },
      { created.error_code, created.error_message })
    local emptied = client:ask("DeleteRecords", 2, { timeout_ms = 1000, topics = { { name = "orders.eu",
      partitions = { { partition_index = 0, offset = 1 } } } } }).topics[1].partitions[1]
    assert.equal(INVALID_TOPIC, emptied.error_code)
    local altered = configs.incremental(client, { configs.change(2, "orders.eu", { { "retention.ms", "1" } }) })
    assert.equal(INVALID_TOPIC, altered[1].error_code)
  end)

  it("is not made a topic by a client that asks for it while its source is not there", function()
    local answer = client:ask("Metadata", 12, { topics = { { name = "late.view" } }, allow_auto_topic_creation = true })
    assert.equal(UNKNOWN_TOPIC_OR_PARTITION, answer.topics[1].error_code)
    local created = client:ask("CreateTopics", 7, { timeout_ms = 1000, topics = { { name = "late.view", num_partitions = 1,
      replication_factor = 1 } } }).topics[1]
    assert.equal(TOPIC_ALREADY_EXISTS, created.error_code)
  end)

  it("has a new id when its source is another topic of the same name", function()
    local source = requests.create(client, "late")
    local before = requests.find(client, "late.view")
    requests.delete(client, source)
    assert.equal(UNKNOWN_TOPIC_ID, fetch(client, before).error_code)
    source = requests.create(client, "late", { partitions = 3 })
    local after = requests.find(client, "late.view")
    assert.is_not.equal(before.id, after.id)
    assert.equal(3, #after.partitions)
    requests.delete(client, source)
  end)

  it("is in no log directory", function()
    local answer = client:ask("DescribeLogDirs", 4, { topics = { { topic = "orders.eu", partitions = { 0 } } } })
    for _, dir in ipairs(answer.results) do assert.equal(0, #(dir.topics or {})) end
  end)

  it("has offsets of groups of its own", function()
    assert.same({ ["orders.eu"] = { [0] = 0 } }, groups.commit(client, "g", { ["orders.eu"] = { [0] = 3 } }))
    assert.same({ [0] = { offset = 3, metadata = "", code = 0 } }, groups.committed(client, "g")["orders.eu"])
    assert.is_nil(groups.committed(client, "g")["orders"])
  end)

  it("can be subscribed to by a group of either protocol, by a regular expression too", function()
    local answer
    clients.wait_until("the group has its partitions", function()
      answer = client:ask("ConsumerGroupHeartbeat", 1, { group_id = "kip848", member_id = "one", member_epoch = answer and
        answer.member_epoch or 0, instance_id = wire.NULL, rack_id = wire.NULL, rebalance_timeout_ms = 30000,
        subscribed_topic_names = {}, subscribed_topic_regex = "orders[.]e.*", server_assignor = wire.NULL,
        topic_partitions = {} })
      return answer.error_code == 0 and answer.assignment and answer.assignment ~= wire.NULL
        and #answer.assignment.topic_partitions > 0
    end)
    local assigned = answer.assignment.topic_partitions
    assert.equal(1, #assigned)
    assert.equal(eu.id, assigned[1].topic_id)
    assert.same({ 0, 1 }, assigned[1].partitions)
  end)

  it("sees masked records as their topic shows them, and chooses by what is stored", function()
    local masked = requests.find(client, "masked")
    append(client, masked, batch { records = { "n1", "n2", "secret", "n3" } })
    assert.same({ "0-3:n*,n*,n*" }, shown(fetch(client, masked)))
    assert.same({ "0-3:n*,n*" }, shown(fetch(client, requests.find(client, "masked.odd"))))
  end)

  describe("beside transform_fetch", function()
    local function ask(name, topic, options)
      local id = client:request("Fetch", 13, requests.fetch_body(13, { { topic, { {} } } }, options), { client_id = name })
      return client:answer("Fetch", 13, id).responses[1].partitions[1]
    end
    local masked

    setup(function() masked = requests.find(client, "masked") end)

    it("shows records by client", function()
      assert.same({ "n1", "n2", "secret", "n3" }, records.values(ask("clerk", masked).records))
      assert.same({ "n*", "n*", "n*" }, records.values(ask("other", masked).records))
    end)

    it("knows the client after a wait, too", function()
      local id = client:request("Fetch", 13, requests.fetch_body(13, { { masked, { { fetch_offset = 4 } } } },
        { min_bytes = 1, max_wait_ms = 60000 }), { client_id = "clerk" })
      local other = broker:connect()
      append(other, masked, batch { records = { "m1" } })
      other:close()
      assert.same({ "m1" }, records.values(client:answer("Fetch", 13, id).responses[1].partitions[1].records))
    end)

    it("refuses a client with the reason in the log", function()
      assert.equal(TOPIC_AUTHORIZATION_FAILED, ask("stranger", masked).error_code)
      clients.wait_until("it is logged", function() return broker:log():find("strangers may not read this", 1, true) end)
    end)

    it("gives an error where it fails, and names its line in the log", function()
      local broken = requests.find(client, "broken")
      append(client, broken, batch())
      assert.equal(POLICY_VIOLATION, fetch(client, broken).error_code)
      clients.wait_until("it is logged", function() return broker:log():find("config%.lua:12: it breaks") end)
    end)

    it("holds back the error of a fetch that waits, for those who ask again at once", function()
      local begin = clients.now_ms()
      local answer = fetch(client, requests.find(client, "broken"), {}, { max_wait_ms = 200, min_bytes = 1 })
      assert.equal(POLICY_VIOLATION, answer.error_code)
      assert.is_true(clients.now_ms() - begin >= 195)
    end)

    it("does not hold up other topics of the fetch", function()
      local answer = requests.fetch_all(client, { { requests.find(client, "broken"), { {} } }, { orders, { {} } } })
      assert.equal(POLICY_VIOLATION, answer.responses[1].partitions[1].error_code)
      assert.equal(0, answer.responses[2].partitions[1].error_code)
      assert.is_true(#answer.responses[2].partitions[1].records > 0)
    end)
  end)
end)

describe("views of a configuration that changes", function()
  local START = "broker { workers = 2, offsets_topic_num_partitions = 3 }\n"
  local EU = 'view("eu", { from = "t", where = function(record) return record.key == "eu" end })\n'

  it("come and go by a reload, and keep what groups have committed", function()
    local broker = reload.start(START .. EU)
    local client = broker:connect()
    groups.prepare(client)
    local topic = requests.create(client, "t")
    append(client, topic, pairs_of { "eu=a", "us=b" })
    local before = requests.find(client, "eu")
    assert.same({ eu = { [0] = 0 } }, groups.commit(client, "g", { eu = { [0] = 2 } }))
    reload.hup(broker, START)
    assert.is_nil(requests.find(client, "eu"))
    assert.equal(UNKNOWN_TOPIC_ID, fetch(client, before).error_code)
    reload.hup(broker, START .. EU .. 'view("us", { from = "t", where = function(record) return record.key == "us" end })\n')
    local after = requests.find(client, "eu")
    assert.equal(before.id, after.id)
    assert.same({ "0-1:a" }, shown(fetch(client, after)))
    assert.same({ "0-1:b" }, shown(fetch(client, requests.find(client, "us"))))
    assert.equal(2, groups.committed(client, "g").eu[0].offset)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("keep their ids and what groups have committed over a restart, and lose it with their source", function()
    local broker = reload.start(START .. EU)
    local client = broker:connect()
    groups.prepare(client)
    requests.create(client, "t")
    local before = requests.find(client, "eu")
    groups.commit(client, "g", { eu = { [0] = 5 } })
    client:close()
    broker:kill()
    local folder = broker.folder
    broker = broker:restart()
    broker.folder = folder
    client = broker:connect()
    assert.equal(before.id, requests.find(client, "eu").id)
    assert.equal(5, groups.committed(client, "g").eu[0].offset)
    requests.delete(client, { name = "t" })
    clients.wait_until("the offsets are deleted", function() return groups.committed(client, "g").eu == nil end)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("are refused by a start and by a reload where a topic has their name, which stays", function()
    local broker = reload.start(START)
    local client = broker:connect()
    requests.create(client, "t")
    requests.create(client, "eu")
    assert.same({ "reload refused, nothing has changed: config.lua:2: there is a topic 'eu', so no view can have that name" },
      reload.hup(broker, START .. EU))
    assert.is_not_nil(requests.find(client, "eu"))
    client:close()
    assert.equal(0, broker:stop())
    local options = { config = broker.options.config, data = broker.data, wait = false }
    local again = brokers.start(options)
    assert.equal(2, again:wait_exit())
    assert.is_truthy(again:log():find("config%.lua:2: there is a topic 'eu', so no view can have that name"))
    reload.write(broker, START)
    again = broker:restart()
    client = again:connect()
    assert.is_not_nil(requests.find(client, "eu"))
    client:close()
    assert.equal(0, again:stop())
  end)

  it("free their name for a topic block of the same reload", function()
    local broker = reload.start(START .. EU)
    local client = broker:connect()
    reload.hup(broker, START .. 'topic "eu" { partitions = 4 }\n')
    assert.equal(4, #requests.find(client, "eu").partitions)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("a view whose function is hostile", function()
  local function start(where)
    local broker = reload.start(('broker { workers = 2, lua_budget_ms = 50 }\ntopic "t" { partitions = 1 }\n'
      .. 'view("v", { from = "t", where = function(record) %s end })\n'):format(where))
    local client = broker:connect()
    local topic = requests.find(client, "t")
    append(client, topic, pairs_of { "k=a", "k=b" })
    return broker, client, requests.find(client, "v"), topic
  end

  it("has an error when it is out of time, and so again", function()
    local broker, client, view, topic = start "while true do end"
    for _ = 1, 2 do assert.equal(POLICY_VIOLATION, fetch(client, view).error_code) end
    assert.equal(0, fetch(client, topic).error_code)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("has an error when it never returns, compiled; topics and other connections go on", function()
    local folder_config = 'broker { workers = 2 }\ntopic "t" { partitions = 1 }\n'
      .. 'view("v", { from = "t", jit = true, where = function(record) while true do end end })\n'
    local broker = reload.start(folder_config)
    local client, other = broker:connect(), broker:connect()
    local topic = requests.find(client, "t")
    append(client, topic, pairs_of { "k=a" })
    local view = requests.find(client, "v")
    local id = client:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } }))
    assert.equal(0, fetch(other, topic).error_code)
    append(other, topic, pairs_of { "k=b" })
    local answer = client:answer("Fetch", 18, id)
    assert.equal(POLICY_VIOLATION, answer.responses[1].partitions[1].error_code)
    assert.equal(0, fetch(client, topic).error_code)
    client:close()
    other:close()
    assert.equal(0, broker:stop())
  end)

  it("does not keep a broker from stopping while fetches are with it, wait, or are held back", function()
    local broker, client, view = start "error 'no'"
    local waiting, held = broker:connect(), broker:connect()
    waiting:request("Fetch", 18, requests.fetch_body(18, { { view, { { fetch_offset = 2 } } } },
      { min_bytes = 1, max_wait_ms = 60000 }))
    held:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } }, { min_bytes = 1, max_wait_ms = 60000 }))
    held:wait_until_read()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("forgets a fetch whose client goes away", function()
    local broker, client, view, topic = start "return true"
    for _ = 1, 20 do
      local one = broker:connect()
      one:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } }, { min_bytes = 1000000, max_wait_ms = 60000 }))
      one:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } }))
      one:close()
    end
    assert.equal(0, fetch(client, topic).error_code)
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is read while the configuration changes again and again", function()
    local text = 'broker { workers = 2 }\ntopic "t" { partitions = 1 }\n'
      .. 'view("v", { from = "t", where = function(record) return record.key == "%s" end })\n'
    local broker = reload.start(text:format "a")
    local client = broker:connect()
    append(client, requests.find(client, "t"), pairs_of { "a=1", "b=2" })
    local view = requests.find(client, "v")
    local seen = {}
    for i = 1, 6 do
      local ids = {}
      for j = 1, 50 do ids[j] = client:request("Fetch", 18, requests.fetch_body(18, { { view, { {} } } })) end
      reload.hup(broker, text:format(i % 2 == 0 and "a" or "b"))
      for _, id in ipairs(ids) do
        local part = client:answer("Fetch", 18, id).responses[1].partitions[1]
        assert.equal(0, part.error_code)
        seen[shown(part)[1]] = true
      end
    end
    assert.same({ ["0-1:1"] = true, ["0-1:2"] = true }, seen)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
