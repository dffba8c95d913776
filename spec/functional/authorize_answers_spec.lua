-- SPDX-License-Identifier: Apache-2.0
-- The hook client.authorize: what a client that may do some things and not others is answered, as Kafka answers it, and
-- what unmodified clients make of that.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local groups = require "spec.support.group"
local process = require "spec.support.process"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local PROGRAM = os.getenv "LUKA_PROGRAM"
local TOPIC, GROUP = 29, 30 -- authorization failed

local CONFIG = [[
broker { workers = 2, offsets_topic_num_partitions = 3, console = "%s" }
hook("client.authorize", function(request)
  if request.client_id == "spec" then return end
  if request.resource == "topic" and request.name:match "^secret" then reject "topics that are secret" end
  if request.resource == "group" and request.name:match "^secret" then reject "groups that are secret" end
  if request.name == "frozen" and request.operation == "write" then reject "nobody writes here" end
  if request.name == "kept" and (request.operation == "delete" or request.operation == "alter") then reject "it stays" end
  if request.name == "hidden" and request.operation == "describe_configs" then reject "its configs are hidden" end
  if request.resource == "cluster" and request.operation == "alter" then reject "not the cluster" end
end)
]]

describe("client.authorize", function()
  local broker, owner, client, open, secret, socket

  setup(function()
    socket = brokers.temp_dir() .. "/console.sock"
    broker = reload.start(CONFIG:format(socket))
    owner = broker:connect()
    secret, open = requests.create(owner, "secret", { partitions = 2 }), requests.create(owner, "open", { partitions = 2 })
    requests.create(owner, "kept")
    requests.append(owner, open, records.sized(100))
    requests.append(owner, requests.create(owner, "frozen"), records.sized(100))
    groups.prepare(owner)
    -- Whoever is not the owner, over a connection of its own.
    local connection = broker:connect()
    client = {
      ask = function(_, api, version, body) return connection:ask(api, version, body, { client_id = "guest" }) end,
      close = function() connection:close() end,
    }
  end)
  teardown(function()
    owner:close()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- Commits offset 1 of partition 0 of topics.
  local function commit(who, group, ...)
    local topics, got = {}, {}
    for i, name in ipairs { ... } do
      topics[i] = { name = name, partitions = { { partition_index = 0, committed_offset = 1 } } }
    end
    local answer = who:ask("OffsetCommit", 8, { group_id = group, generation_id_or_member_epoch = -1, member_id = "", topics = topics })
    for _, topic in ipairs(answer.topics) do got[topic.name] = topic.partitions[1].error_code end
    return got
  end

  local function codes(list, field)
    local out = {}
    for _, entry in ipairs(list) do out[entry.name or entry.topic or entry[field or "group_id"]] = entry.error_code end
    return out
  end

  it("lets the other topics of a Produce go on", function()
    local answer = client:ask("Produce", 9, requests.produce_body(9, {
      { { name = "secret" }, { { 0, records.sized(100) } } }, { { name = "open" }, { { 1, records.sized(100) } } },
      { { name = "frozen" }, { { 0, records.sized(100) } } }, { { name = "missing" }, { { 0, records.sized(100) } } } }))
    local got = {}
    for _, topic in ipairs(answer.responses) do got[topic.name] = topic.partition_responses[1].error_code end
    assert.same({ secret = TOPIC, open = 0, frozen = TOPIC, missing = 3 }, got)
  end)

  it("has a Produce that wants no answer close the connection", function()
    local other = broker:connect()
    other:request("Produce", 9, requests.produce_body(9, { { { name = "frozen" }, { { 0, records.sized(100) } } } }, { acks = 0 }),
      { client_id = "guest" })
    assert.equal("", other:receive_end())
    other:close()
  end)

  it("lets the other topics of a Fetch go on", function()
    local answer = client:ask("Fetch", 12, requests.fetch_body(12,
      { { { name = "secret" }, { {} } }, { { name = "open" }, { {} } }, { { name = "secret-and-missing" }, { {} } } },
      { max_wait_ms = 0 }))
    local got = {}
    for _, topic in ipairs(answer.responses) do got[topic.topic] = topic.partitions[1].error_code end
    assert.same({ secret = TOPIC, open = 0, ["secret-and-missing"] = TOPIC }, got)
  end)

  it("denies a partition that ListOffsets names twice as any other", function()
    local function errors(name)
      local got, twice = {}, { { timestamp = -1, current_leader_epoch = -1 }, { timestamp = -1, current_leader_epoch = -1 } }
      local answer = client:ask("ListOffsets", 6, { replica_id = -1, topics = { { name = name, partitions = twice } } })
      for i, part in ipairs(answer.topics[1].partitions) do got[i] = part.error_code end
      return got
    end
    assert.same({ { TOPIC, TOPIC }, { 42 } }, { errors "secret", errors "open" })
  end)

  it("does not say of a topic whether it is there", function()
    local answer = client:ask("Metadata", 9, { topics = { { name = "secret" }, { name = "open" }, { name = "secret-and-missing" } },
      allow_auto_topic_creation = true })
    assert.same({ secret = TOPIC, open = 0, ["secret-and-missing"] = TOPIC }, codes(answer.topics))
    for _, topic in ipairs(answer.topics) do assert.equal(topic.name == "open" and 2 or 0, #topic.partitions) end
  end)

  it("gives no id of a topic that is named", function()
    local answer = client:ask("Metadata", 12, { topics = { { name = "secret" } }, allow_auto_topic_creation = false })
    assert.equal(wire.NO_UUID, answer.topics[1].topic_id)
  end)

  it("leaves topics out of a list of all", function()
    local names = {}
    for _, topic in ipairs(client:ask("Metadata", 9, { topics = wire.NULL }).topics) do names[topic.name] = topic.error_code end
    assert.is_nil(names.secret)
    assert.equal(0, names.open)
    assert.equal(0, names.frozen)
  end)

  it("does so in DescribeTopicPartitions, and puts those that were named behind the others", function()
    local function names(topics)
      local list = {}
      local answer = client:ask("DescribeTopicPartitions", 0, { topics = topics, response_partition_limit = 100 })
      for _, topic in ipairs(answer.topics) do
        if topic.name ~= "__consumer_offsets" then list[#list + 1] = topic.name .. " " .. topic.error_code end
      end
      return list
    end
    assert.same({ "frozen 0", "kept 0", "open 0" }, names {})
    assert.same({ "zebra 3", "secret 29" }, names { { name = "secret" }, { name = "zebra" } })
  end)

  it("says what may be done with a topic, where that is asked for", function()
    local answer = client:ask("Metadata", 9, { topics = { { name = "open" }, { name = "kept" }, { name = "secret" } },
      allow_auto_topic_creation = false, include_topic_authorized_operations = true, include_cluster_authorized_operations = true })
    local got = {}
    for _, topic in ipairs(answer.topics) do got[topic.name] = topic.topic_authorized_operations end
    assert.same({ open = 3576, kept = 3576 - 2 ^ 6 - 2 ^ 7, secret = -2 ^ 31 }, got)
    assert.equal(8096 - 2 ^ 7, answer.cluster_authorized_operations)
    assert.equal(8096 - 2 ^ 7, client:ask("DescribeCluster", 1, { endpoint_type = 1,
      include_cluster_authorized_operations = true }).cluster_authorized_operations)
  end)

  it("lets the other topics of a commit go on", function()
    assert.same({ secret = TOPIC, open = 0, missing = 3 }, commit(client, "commits", "secret", "open", "missing"))
    assert.same({ secret = GROUP, open = GROUP, missing = GROUP }, commit(client, "secret-group", "secret", "open", "missing"))
  end)

  it("answers offsets of some groups and topics, and errors for the others", function()
    assert.same({ open = 0 }, commit(owner, "offsets", "open"))
    local topics = { { name = "secret", partition_indexes = { 0 } }, { name = "open", partition_indexes = { 0 } } }
    local answer = client:ask("OffsetFetch", 8, { groups = { { group_id = "secret-group", topics = topics },
      { group_id = "offsets", topics = topics } } })
    assert.same({ ["secret-group"] = GROUP, offsets = 0 }, codes(answer.groups))
    local got = {}
    for _, topic in ipairs(answer.groups[2].topics) do
      got[topic.name] = { topic.partitions[1].error_code, topic.partitions[1].committed_offset }
    end
    assert.same({ secret = { TOPIC, -1 }, open = { 0, 1 } }, got)
  end)

  it("leaves topics out of all offsets of a group", function()
    assert.same({ open = 0, secret = 0 }, commit(owner, "mixed", "open", "secret"))
    local function names(who)
      local list = {}
      for _, topic in ipairs(who:ask("OffsetFetch", 8, { groups = { { group_id = "mixed", topics = wire.NULL } } }).groups[1].topics) do
        list[#list + 1] = topic.name
      end
      table.sort(list)
      return list
    end
    assert.same({ "open", "secret" }, names(owner))
    assert.same({ "open" }, names(client))
  end)

  it("leaves groups out of a list", function()
    assert.same({ open = 0 }, commit(owner, "listed", "open"))
    assert.same({ open = 0 }, commit(owner, "secret-listed", "open"))
    local names = {}
    for _, group in ipairs(client:ask("ListGroups", 4, {}).groups) do names[group.group_id] = true end
    assert.is_true(names.listed)
    assert.is_nil(names["secret-listed"])
  end)

  it("is not asked about what a console does", function()
    local status, out, err = process.start({ PROGRAM, "console", socket, "-e", 'create("secret-console")' }):wait()
    assert.equal(0, status, out .. err)
  end)

  it("refuses one topic of a change, and no other", function()
    local function topic(name, partitions)
      return { name = name, num_partitions = partitions or 1, replication_factor = 1, assignments = {}, configs = {} }
    end
    -- What is refused does not count for how much a request may make, which is 10,000 partitions.
    local large = client:ask("CreateTopics", 7, { topics = { topic("secret-large", 20000), topic "small" }, timeout_ms = 10000,
      validate_only = true })
    assert.same({ ["secret-large"] = TOPIC, small = 0 }, codes(large.topics))
    local created = client:ask("CreateTopics", 7, { topics = { topic "secret-new", topic "fine", topic "hidden" }, timeout_ms = 10000 })
    assert.same({ ["secret-new"] = TOPIC, fine = 0, hidden = 0 }, codes(created.topics))
    assert.equal("Authorization failed.", created.topics[1].error_message)
    assert.equal(TOPIC, created.topics[3].topic_config_error_code)
    assert.is_nil(created.topics[3].configs)
    assert.equal(-1, created.topics[3].num_partitions)
    local deleted = client:ask("DeleteTopics", 5, { topic_names = { "kept", "fine", "secret" }, timeout_ms = 10000 })
    assert.same({ kept = TOPIC, fine = 0, secret = TOPIC }, codes(deleted.responses))
    local twice = client:ask("DeleteTopics", 5, { topic_names = { "kept", "kept" }, timeout_ms = 10000 })
    assert.same({ 1, 42, "Duplicate topic name." }, { #twice.responses, twice.responses[1].error_code, twice.responses[1].error_message })
    twice = client:ask("CreateTopics", 7, { topics = { topic "secret-new", topic "secret-new" }, timeout_ms = 10000 })
    assert.same({ 1, 42, "Duplicate topic name." }, { #twice.topics, twice.topics[1].error_code, twice.topics[1].error_message })
    local grown = client:ask("CreatePartitions", 3, { topics = { { name = "kept", count = 2, assignments = wire.NULL },
      { name = "open", count = 3, assignments = wire.NULL } }, timeout_ms = 10000, validate_only = true })
    assert.same({ kept = TOPIC, open = 0 }, codes(grown.results))
  end)

  it("tells the name of a topic that is to be deleted by id only to who may know it", function()
    local kept = requests.find(client, "kept")
    local answer = client:ask("DeleteTopics", 6, { topics = { { topic_id = kept.id, name = wire.NULL },
      { topic_id = secret.id, name = wire.NULL } }, timeout_ms = 10000 })
    assert.same({ TOPIC, "kept", TOPIC }, { answer.responses[1].error_code, answer.responses[1].name, answer.responses[2].error_code })
    assert.is_nil(answer.responses[2].name)
  end)

  it("is asked about topics by name where requests have ids", function()
    local produced = client:ask("Produce", 13, requests.produce_body(13, { { { id = secret.id }, { { 0, records.sized(100) } } },
      { { id = open.id }, { { 1, records.sized(100) } } }, { requests.UNKNOWN, { { 0, records.sized(100) } } } }))
    local got = {}
    for i, topic in ipairs(produced.responses) do got[i] = topic.partition_responses[1].error_code end
    assert.same({ TOPIC, 0, 100 }, got)
    local fetched = client:ask("Fetch", 18, requests.fetch_body(18, { { { id = secret.id }, { {} } },
      { { id = open.id }, { {} } }, { requests.UNKNOWN, { {} } } }, { max_wait_ms = 0 }))
    got = {}
    for i, topic in ipairs(fetched.responses) do got[i] = topic.partitions[1].error_code end
    assert.same({ TOPIC, 0, 100 }, got)
    local function tell(id, name)
      return client:ask("Metadata", 12, { topics = { { topic_id = id, name = name } }, allow_auto_topic_creation = false })
    end
    assert.equal(100, tell(requests.UNKNOWN.id, "secret").topics[1].error_code) -- the id counts, not the name beside it
    local told = tell(secret.id, wire.NULL)
    assert.same({ TOPIC, secret.id }, { told.topics[1].error_code, told.topics[1].topic_id })
  end)

  it("says why in the log", function()
    clients.wait_until("it is logged", function() -- one a second is
      client:ask("Metadata", 9, { topics = { { name = "secret-" .. clients.now_ms() } }, allow_auto_topic_creation = false })
      return broker:log():find("User:ANONYMOUS %('guest' at 127%.0%.0%.1%) may not describe topic 'secret%-[%w.]+' %(Metadata%): "
        .. "topics that are secret")
    end)
  end)

  it("is what librdkafka's clients tell their user", function()
    local address = "127.0.0.1:" .. broker.ports[1]
    local function kcat(line)
      local status, out, err = process.start({ "sh", "-c", "exec timeout 20 kcat -b " .. address .. " " .. line }):wait()
      return status, out, err
    end
    local status, out, err = kcat "-C -t open -p 0 -o beginning -c 1 -e -q"
    assert.equal(0, status, out .. err)
    status, out, err = kcat "-C -t secret -p 0 -o beginning -e -q"
    assert.not_equal(0, status)
    assert.truthy((out .. err):find("authorization failed", 1, true), out .. err)
    status, out, err = kcat "-P -t frozen -p 0 </etc/hostname"
    assert.not_equal(0, status)
    assert.truthy((out .. err):find("authorization failed", 1, true), out .. err)
    status, out, err = kcat "-X auto.offset.reset=earliest -G secret-consumers open"
    assert.not_equal(0, status)
    assert.truthy((out .. err):find("authorization failed", 1, true), out .. err)
    status, out, err = kcat "-L"
    assert.equal(0, status, err)
    assert.is_nil(out:find("secret", 1, true))
  end)
end)
