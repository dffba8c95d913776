-- SPDX-License-Identifier: Apache-2.0
-- Hooks that are asked before something happens, and what becomes of their answers, with a real broker.
local admins = require "spec.support.admin"
local clients = require "spec.support.client"
local groups = require "spec.support.group"
local process = require "spec.support.process"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local PROGRAM = os.getenv "LUKA_PROGRAM"
local GROUP_AUTHORIZATION_FAILED = 30

local CONFIG = [[
broker { workers = 2, offsets_topic_num_partitions = 3, console = "%s" }
hook("topic.create", function(request)
  if not request.name:match "^[a-z]" then reject "names are lower case" end
  if request.name:match "^grown" then request.partitions = request.partitions + 2 end
  if request.name == "kept" then request.configs["retention.ms"] = 1000 end
  if request.name == "bare" then request.configs = {} end
  if request.name == "odd" then request.partitions = "many" end
  if request.name == "set" then request.partition = 7 end
  if request.name == "read" then return request.nmae end
  if request.name == "renamed" then request.name = "other" end
  if request.name == "false" then return false end
  if request.name == "text" then return "a reason" end
  if request.name == "true" then return true end
  if request.name == "failed" then
    admin.describe_topic "nowhere"
  end
  if request.name == "snake" then request.configs.retention_ms = 1 end
  if request.name == "nil" then request.client_id = request.client_id end
  if request.name == "who" then
    reject(("%%s of %%s at %%s"):format(request.client_id, request.principal, request.address))
  end
end)
hook("topic.create", function(request)
  if request.name == "second" then reject "the second hook says no" end
  if request.name == "Upper" then log.info "asked in vain" end
end)
hook("topic.delete", function(request) if request.name == "precious" then reject "it is precious" end end)
hook("topic.config", function(request)
  if request.configs["retention.ms"] == "1" then reject "too short" end
  if request.configs["retention.ms"] == "5" then request.configs["retention.ms"] = 5000 end
  if request.others["segment.ms"] then request.others["segment.ms"] = nil end
  if request.others["segment.bytes"] then request.others["flush.ms"] = "unset" end
  if request.others["cleanup.policy"] then reject(request.others["cleanup.policy"]) end
end)
hook("partitions.create", function(request)
  if request.partitions > 10 then reject(("%%d is too many, it has %%d"):format(request.partitions, request.before)) end
  if request.partitions == 7 then request.partitions = 8 end
end)
hook("group.join", function(request)
  if request.group:match "^secret" then reject "nobody joins this" end
  if request.group == "short" then request.session_timeout_ms = 1 end
end)
]]

describe("hooks that are asked", function()
  local broker, client, admin

  setup(function()
    broker = reload.start(CONFIG:format(require("spec.support.broker").temp_dir() .. "/console.sock"))
    client = broker:connect()
    admin = admins.of(broker)
    groups.prepare(client)
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function refusal(fn, ...)
    local err = admins.refusal(fn, ...)
    return { err.code, err.message }
  end

  it("let what they do not mind be", function()
    admin.create_topic("plain", { partitions = 3 })
    assert.equal(3, #admin.describe_topic("plain").partitions)
  end)

  it("refuse a topic with a reason", function()
    assert.same({ "POLICY_VIOLATION", "names are lower case" }, refusal(admin.create_topic, "Upper"))
    assert.is_nil(broker:log():find("asked in vain", 1, true))
  end)

  it("refuse one that is only to be validated", function()
    assert.same({ "POLICY_VIOLATION", "names are lower case" }, refusal(admin.create_topic, "Upper", { validate_only = true }))
  end)

  it("are all asked, in their order", function()
    assert.same({ "POLICY_VIOLATION", "the second hook says no" }, refusal(admin.create_topic, "second"))
  end)

  it("refuse one topic of a request, and no other", function()
    local answer = client:ask("CreateTopics", 7, { topics = {
      { name = "good1", num_partitions = 1, replication_factor = 1, assignments = {}, configs = {} },
      { name = "Bad", num_partitions = 1, replication_factor = 1, assignments = {}, configs = {} },
      { name = "good2", num_partitions = 1, replication_factor = 1, assignments = {}, configs = {} },
    }, timeout_ms = 10000, validate_only = false })
    local codes = {}
    for i, topic in ipairs(answer.topics) do codes[i] = topic.name .. " " .. topic.error_code end
    assert.same({ "good1 0", "Bad 44", "good2 0" }, codes)
  end)

  it("change how many partitions a topic gets", function()
    admin.create_topic("grown", { partitions = 2 })
    assert.equal(4, #admin.describe_topic("grown").partitions)
  end)

  it("change configs of a new topic", function()
    assert.equal("1000", admin.create_topic("kept", { retention_ms = 77 }).configs.retention_ms)
  end)

  it("take configs away", function()
    assert.equal("604800000", admin.create_topic("bare", { retention_ms = 77 }).configs.retention_ms)
  end)

  it("are told who asks", function()
    local answer = client:ask("CreateTopics", 7, { topics = {
      { name = "who", num_partitions = 1, replication_factor = 1, assignments = {}, configs = {} } },
      timeout_ms = 10000, validate_only = false }, { client_id = "me" })
    assert.equal("me of User:ANONYMOUS at 127.0.0.1", answer.topics[1].error_message)
  end)

  it("refuse when they put nonsense into a request, and name their file and line", function()
    local err = refusal(admin.create_topic, "odd")
    assert.equal("POLICY_VIOLATION", err[1])
    assert.truthy(err[2]:match "^hook topic%.create: .*config%.lua:2: partitions has to be a whole number$")
    assert.truthy(broker:log():find("partitions has to be a whole number", 1, true))
  end)

  it("refuse when they read or set a field that there is not", function()
    local HAS = ": topic.create has name, partitions, replication_factor, configs, validate_only, auto, client_id, principal "
      .. "and address"
    for name, field in pairs { set = "partition", read = "nmae" } do
      local err = refusal(admin.create_topic, name)
      assert.equal("POLICY_VIOLATION", err[1])
      assert.equal("there is no " .. field .. HAS, err[2]:match "^hook topic%.create: .*config%.lua:%d: (.*)$")
    end
    admin.create_topic "nil"
  end)

  it("refuse when they return false or a text, as those mean to, and say how", function()
    for name, what in pairs { ["false"] = "false", text = "a text" } do
      assert.equal(("returned %s; what refuses is reject \"reason\""):format(what),
        refusal(admin.create_topic, name)[2]:match "config%.lua:2: (.*)$")
    end
    admin.create_topic "true"
  end)

  it("name the line whose call failed", function()
    assert.matches("^hook topic%.create: .*config%.lua:15: .*nowhere", refusal(admin.create_topic, "failed")[2])
  end)

  it("refuse when they change what cannot be changed, and say what can", function()
    local function why(...) return refusal(...)[2]:match "config%.lua:%d+: (.*)$" end
    assert.equal("name cannot be changed, only partitions, replication_factor and configs", why(admin.create_topic, "renamed"))
    for _, key in ipairs { "segment_ms", "segment_bytes" } do -- an entry that is gone, and one that is new
      assert.equal("others cannot be changed, only configs", why(admin.alter_configs, "topic", "plain", { unset = { key } }))
    end
    admin.alter_configs("topic", "plain", { unset = { "flush_messages" } })
    local fixed = client:ask("CreateTopics", 7, { timeout_ms = 1000, topics = { { name = "grown.fixed", num_partitions = -1,
      replication_factor = -1, assignments = { { partition_index = 0, broker_ids = { 1 } } }, configs = {} } } }).topics[1]
    assert.equal(44, fixed.error_code)
    assert.truthy(fixed.error_message:find(": partitions cannot be changed, only configs", 1, true), fixed.error_message)
  end)

  it("are asked for topics that are created automatically", function()
    client:ask("Metadata", 9, { topics = { { name = "grownauto" } }, allow_auto_topic_creation = true,
      include_cluster_authorized_operations = false, include_topic_authorized_operations = false })
    clients.wait_until("the topic is there", function()
      local ok, topic = pcall(admin.describe_topic, "grownauto")
      return ok and #topic.partitions == 3
    end)
  end)

  --- What the console says of something that is refused.
  local function console_refusal(lua)
    local config = io.open(broker.folder .. "/config.lua"):read "*a"
    local socket = config:match 'console = "(.-)"'
    local status, _, err = process.start({ PROGRAM, "console", socket, "-e", lua }):wait()
    assert.equal(1, status)
    return err
  end

  it("are asked for the console's create()", function()
    assert.truthy(console_refusal('create("Console")'):find("names are lower case", 1, true))
  end)

  it("are told how a config is called in a hook, by the console", function()
    assert.equal("there is no topic config retention_ms: in a hook its name is retention.ms\n", console_refusal "create 'snake'")
  end)

  it("refuse a deletion", function()
    admin.create_topic("precious")
    assert.same({ "POLICY_VIOLATION", "it is precious" }, refusal(admin.delete_topic, "precious"))
    admin.create_topic("cheap")
    admin.delete_topic("cheap")
  end)

  it("refuse a deletion by id", function()
    local id = requests.create(client, "unprecious").id
    local answer = client:ask("DeleteTopics", 6, { topics = { { topic_id = id } }, timeout_ms = 10000 })
    assert.equal(0, answer.responses[1].error_code)
  end)

  it("refuse and change configs", function()
    admin.create_topic("tuned")
    local function value()
      for _, config in ipairs(admin.describe_configs("topic", "tuned")) do
        if config.name == "retention_ms" then return config.value end
      end
    end
    assert.same({ "POLICY_VIOLATION", "too short" },
      refusal(admin.alter_configs, "topic", "tuned", { set = { retention_ms = 1 } }))
    admin.alter_configs("topic", "tuned", { set = { retention_ms = 5 } })
    assert.equal(5000, value())
    admin.alter_configs("topic", "tuned", { set = { retention_ms = 6 } })
    assert.equal(6, value())
    assert.same({ "POLICY_VIOLATION", "unset" }, refusal(admin.alter_configs, "topic", "tuned", { unset = { "cleanup_policy" } }))
  end)

  it("refuse and change how many partitions are added", function()
    admin.create_topic("wide", { partitions = 2 })
    assert.same({ "POLICY_VIOLATION", "11 is too many, it has 2" }, refusal(admin.create_partitions, "wide", 11))
    admin.create_partitions("wide", 7)
    assert.equal(8, #admin.describe_topic("wide").partitions)
  end)

  local function join(group, options)
    options = options or {}
    return client:ask("JoinGroup", 6, { group_id = group, session_timeout_ms = options.session or 10000,
      rebalance_timeout_ms = 10000, member_id = "", protocol_type = "consumer",
      protocols = { { name = "range", metadata = groups.subscription { "plain" } } } })
  end

  it("refuse a member of a classic group", function()
    assert.equal(GROUP_AUTHORIZATION_FAILED, join("secret1").error_code)
    assert.equal(79, join("open").error_code) -- MEMBER_ID_REQUIRED: it may go on
    assert.truthy(broker:log():find("group 'secret1': a member may not join: nobody joins this", 1, true))
  end)

  it("change what a member asks for", function()
    assert.equal(26, join("short").error_code) -- INVALID_SESSION_TIMEOUT
  end)

  it("refuse a member of a consumer group, with the reason", function()
    local answer = client:ask("ConsumerGroupHeartbeat", 1, { group_id = "secret2", member_id = "m1", member_epoch = 0,
      rebalance_timeout_ms = 1000, subscribed_topic_names = { "plain" }, topic_partitions = {} })
    assert.same({ GROUP_AUTHORIZATION_FAILED, "nobody joins this" }, { answer.error_code, answer.error_message })
  end)
end)

describe("client.connect", function()
  it("closes what is refused, and lets others wait for the answer", function()
    local broker = reload.start [[
      broker { workers = 2 }
      hook("client.connect", function(client)
        if client.address == "127.0.0.2" then reject "not from there" end
        if client.address == "127.0.0.3" then error "odd" end
        admin.topics()
      end)]]
    local client = broker:connect()
    assert.equal(0, client:ask("ApiVersions", 3, { client_software_name = "a", client_software_version = "1" }).error_code)
    client:close()
    local refused = broker:connect(1, "127.0.0.2")
    assert.equal("", refused:receive_end())
    refused:close()
    refused = broker:connect(1, "127.0.0.3")
    assert.equal("", refused:receive_end())
    refused:close()
    assert.truthy(broker:log():match "connection from 127%.0%.0%.2:%d+ refused: not from there")
    assert.truthy(broker:log():match "hook client%.connect: [^\n]*config%.lua:4: odd")
    assert.equal(0, broker:stop())
  end)
end)

describe("a reload", function()
  it("switches hooks, and leaves them as they are with an error", function()
    local small = "broker { lua_memory = 16 * MiB } "
    local broker = reload.start(small .. 'hook("topic.create", function(r) reject "one" end)')
    local admin = admins.of(broker)
    local function reason() return admins.refusal(admin.create_topic, "x").message end
    assert.equal("one", reason())
    reload.hup(broker, small .. 'hook("topic.create", function(r) reject "two" end)')
    assert.equal("two", reason())
    local lines = reload.hup(broker, 'broker {} hook("topic.creat", function(r) end)')
    assert.truthy(lines[1]:find("reload refused", 1, true))
    assert.equal("two", reason())
    -- It fits the memory of the check, and not that of the script thread.
    lines = reload.hup(broker, small .. [[
      local t = {}
      for i = 1, 400000 do t[i] = {} end
      hook("topic.create", function(r) reject(#t) end)]])
    assert.truthy(lines[1]:find("reload refused", 1, true))
    assert.truthy(lines[1]:find("not enough memory", 1, true))
    assert.equal("two", reason())
    reload.hup(broker, "broker {}")
    admin.create_topic("x")
    assert.equal(0, broker:stop())
  end)
end)
