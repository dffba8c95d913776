-- SPDX-License-Identifier: Apache-2.0
-- A broker that reads its configuration again: what is applied, what waits for a restart, what is refused, and what
-- clients changed.
local signal = require "posix.signal"
local stat = require "posix.sys.stat"
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local console_of = require "spec.support.console"
local reload = require "spec.support.reload"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local BROKER, TOPIC, SET, DELETE = configs.BROKER, configs.TOPIC, configs.SET, configs.DELETE

describe("A reload", function()
  local broker, client

  local function start(text, options)
    broker = reload.start(text, options)
    client = broker:connect()
  end
  local function hup(text) return reload.hup(broker, text) end
  local function value(kind, resource, name) return (configs.shown(client, kind, resource, name)) end
  local function source(name) return (select(2, configs.shown(client, BROKER, "1", name))) end
  local function partitions(topic) return #requests.find(client, topic).partitions end

  after_each(function()
    if not broker then return end
    client:close()
    assert.equal(0, broker:stop())
    broker = nil
  end)

  it("of the same file says that nothing has changed", function()
    start 'topic "a" { partitions = 2 }'
    assert.same({ "nothing has changed" }, hup())
    assert.same({ "nothing has changed" }, hup 'topic "a" { partitions = 2 } -- a comment')
  end)

  it("creates the topics of new blocks, with the new defaults", function()
    start ""
    assert.same({ "applied defaults.partitions: 1 -> 3", 'applied topic "a": created with 3 partitions',
      'applied topic "b": created with 1 partition' },
      hup 'defaults { partitions = 3 }\ntopic "a" {}\ntopic "b" { partitions = 1, retention_ms = hours(1) }')
    assert.same({ 3, 1 }, { partitions "a", partitions "b" })
    assert.equal("3600000", value(TOPIC, "b", "retention.ms"))
    assert.equal(0, requests.append(client, requests.find(client, "a"), records.batch(), { partition = 2 }))
  end)

  it("adds partitions and sets configs of a block that has changed, and leaves its other configs", function()
    start 'topic "a" { partitions = 1, retention_ms = 1000, segment_bytes = 2 * MiB }'
    configs.set(client, "a", { ["flush.ms"] = "7" })
    assert.same({ 'applied topic "a".partitions: 1 -> 3', 'applied topic "a".retention_ms: 1000 -> 2000',
      'kept topic "a".segment_bytes: no longer in its block, and the topic keeps what it has' },
      hup 'topic "a" { partitions = 3, retention_ms = 2000 }')
    assert.equal(3, partitions "a")
    assert.equal("2000", value(TOPIC, "a", "retention.ms"))
    assert.equal("2097152", value(TOPIC, "a", "segment.bytes"))
    assert.equal("7", value(TOPIC, "a", "flush.ms"))
  end)

  it("gives topics the new defaults, logs included, and takes away what the file sets no more", function()
    start 'topic "a" { segment_bytes = 4 * MiB }'
    assert.same({ "applied defaults.segment_bytes: 1073741824 -> 1048576", "applied defaults.max_message_bytes: 1048588 -> 100" },
      hup 'defaults { max_message_bytes = 100, segment_bytes = 1 * MiB }\ntopic "a" { segment_bytes = 4 * MiB }')
    assert.equal("100", value(TOPIC, "a", "max.message.bytes"))
    assert.equal("4194304", value(TOPIC, "a", "segment.bytes"))
    assert.equal(configs.FROM_STATIC, source "message.max.bytes")
    local topic = requests.find(client, "a")
    assert.equal(10, requests.produce(client, topic, records.sized(200)).error_code) -- MESSAGE_TOO_LARGE
    assert.same({ "applied defaults.segment_bytes: 1048576 -> 1073741824", "applied defaults.max_message_bytes: 100 -> 1048588" },
      hup 'topic "a" { segment_bytes = 4 * MiB }')
    assert.equal(configs.FROM_DEFAULT, source "message.max.bytes")
    assert.equal(0, requests.append(client, topic, records.sized(200)))
  end)

  it("applies what handlers and the log read", function()
    start ""
    assert.same({
      "applied broker.log_level: info -> debug",
      "applied broker.auto_create_topics_enable: true -> false",
      "applied broker.delete_topic_enable: true -> false",
      "applied defaults.retention_ms: 604800000 -> 86400000",
    }, hup [[
      broker { log_level = "debug", delete_topic_enable = false, auto_create_topics_enable = false }
      defaults { retention_ms = days(1) }
    ]])
    local answer = client:ask("DeleteTopics", 6, { topics = { { name = "x", topic_id = ("\0"):rep(16) } }, timeout_ms = 1000 })
    assert.equal(73, answer.responses[1].error_code) -- TOPIC_DELETION_DISABLED
    assert.same({ "false", configs.FROM_STATIC }, { value(BROKER, "1", "delete.topic.enable"), source "delete.topic.enable" })
  end)

  it("applies the intervals of periodic work at once", function()
    start 'topic "a" { retention_ms = 1, segment_bytes = 1 * MiB }'
    local topic = requests.find(client, "a")
    for _ = 1, 3 do requests.append(client, topic, records.sized(600000)) end
    assert.equal(0, requests.start_offset(client, topic))
    hup 'broker { log_retention_check_interval_ms = 50 }\ntopic "a" { retention_ms = 1, segment_bytes = 1 * MiB }'
    requests.wait_until("old segments are gone", function() return requests.start_offset(client, topic) > 0 end)
  end)

  it("applies the reserve of disks to writes that come", function()
    start 'topic "a" {}'
    local topic = requests.find(client, "a")
    assert.same({ "applied broker.log_dir_reserve_bytes: 268435456 -> 9007199254740991" },
      hup 'broker { log_dir_reserve_bytes = 9007199254740991LL }\ntopic "a" {}')
    assert.equal(56, requests.produce(client, topic, records.batch()).error_code) -- KAFKA_STORAGE_ERROR
    hup 'topic "a" {}'
    assert.equal(0, requests.append(client, topic, records.batch()))
  end)

  it("applies defaults to logs that are open: when segments end, and when records are on disk", function()
    start 'topic "a" {}'
    local console = console_of.connect(broker.data .. "/console.sock")
    local topic = requests.find(client, "a")
    --- Appends a large batch; the number of segments, and how many records are not known to be on disk.
    local function append()
      requests.append(client, topic, records.sized(600000))
      local log = console:eval('topic "a":logs()').values[1].rows[1]
      return { log.segments, log.end_offset - log.recovery_point }
    end
    append()
    assert.same({ 1, 2 }, append())
    hup 'defaults { luka_producer_type = "sync" }\ntopic "a" {}'
    assert.same({ 1, 0 }, append())
    hup 'defaults { segment_bytes = 1 * MiB, luka_producer_type = "sync" }\ntopic "a" {}'
    assert.same({ 2, 0 }, append())
    hup 'topic "a" {}'
    assert.same({ 2, 1 }, append())
    console:close()
  end)

  it("applies the number of fetch sessions to those that come", function()
    start('topic "a" {}', { set = { "workers=1" } })
    local topic = requests.find(client, "a")
    local function session()
      local other = broker:connect()
      local answer = requests.fetch_all(other, { { topic } }, { session_id = 0, session_epoch = 0 })
      other:close()
      return answer.session_id ~= 0
    end
    assert.is_true(session())
    hup 'broker { max_incremental_fetch_session_cache_slots = 0 }\ntopic "a" {}'
    assert.is_false(session())
    hup 'broker { max_incremental_fetch_session_cache_slots = 1 }\ntopic "a" {}'
    assert.is_true(session())
  end)

  it("applies limits of connections to those that come", function()
    start ""
    assert.same({ "applied broker.max_connections_per_ip: 2147483647 -> 1" }, hup "broker { max_connections_per_ip = 1 }")
    local other = broker:connect()
    assert.is_nil((other:ask("ApiVersions", 0, {})))
    other:close()
    assert.is_truthy(client:ask("ApiVersions", 0, {}))
  end)

  it("names what needs a restart, each time, and leaves it in force", function()
    start "broker { workers = 1, socket_request_max_bytes = 1000000 }"
    local expected = {
      "needs a restart: broker.id: 1 -> 2",
      "needs a restart: broker.workers: 1 -> 2",
      "needs a restart: broker.broker_rack: none -> r",
      "needs a restart: broker.socket_request_max_bytes: 1000000 -> 2000000",
    }
    local text = [[broker { id = 2, workers = 2, broker_rack = "r", socket_request_max_bytes = 2000000 }]]
    assert.same(expected, hup(text))
    assert.same(expected, hup())
    assert.equal("1000000", value(BROKER, "1", "socket.request.max.bytes"))
    assert.same({ "nothing has changed" }, hup "broker { workers = 1, socket_request_max_bytes = 1000000 }")
  end)

  it("lets --set and --log-level win over the file, as at the start", function()
    start("broker { num_partitions = 2 }", { set = { "num_partitions=7", "log_retention_ms=5" }, args = { "--log-level", "info" } })
    assert.same({ 'applied topic "a": created with 7 partitions' },
      hup 'broker { num_partitions = 3, log_level = "error" }\ndefaults { retention_ms = 6 }\ntopic "a" {}')
    assert.equal("5", value(TOPIC, "a", "retention.ms"))
  end)

  it("reads the modules of the file again", function()
    start ""
    reload.write(broker, "return { partitions = 1 }", "shape.lua")
    hup 'topic "a" { partitions = require("shape").partitions }'
    reload.write(broker, "return { partitions = 4 }", "shape.lua")
    assert.same({ 'applied topic "a".partitions: 1 -> 4' }, hup())
  end)

  it("leaves what clients have set on a topic until its block changes", function()
    start 'topic "a" { retention_ms = 1000 }'
    configs.set(client, "a", { ["retention.ms"] = "9" })
    assert.same({ "nothing has changed" }, hup())
    assert.equal("9", value(TOPIC, "a", "retention.ms"))
    assert.same({ 'applied topic "a".retention_ms: 9 -> 1001' }, hup 'topic "a" { retention_ms = 1001 }')
    assert.equal("1001", value(TOPIC, "a", "retention.ms"))
  end)

  it("leaves what clients have set on the broker, and says so", function()
    start "defaults { retention_ms = 1000 }"
    configs.alter(client, BROKER, "1", { { "log.retention.ms", SET, "9" } })
    assert.same({ "kept defaults.retention_ms: 2000, but a client has set 9" }, hup "defaults { retention_ms = 2000 }")
    assert.equal("9", value(BROKER, "1", "log.retention.ms"))
    configs.alter(client, BROKER, "1", { { "log.retention.ms", DELETE } })
    assert.equal("2000", value(BROKER, "1", "log.retention.ms"))
  end)

  it("leaves a topic deleted that a client has deleted, until its block changes", function()
    start 'topic "a" { partitions = 1 }'
    requests.delete(client, requests.find(client, "a"))
    assert.same({ 'kept topic "a": deleted, and stays so until its block changes' }, hup())
    assert.same({ 'applied topic "a": created with 2 partitions' }, hup 'topic "a" { partitions = 2 }')
  end)

  it("deletes no topic whose block is gone", function()
    start 'topic "a" { partitions = 2 }'
    assert.same({ 'kept topic "a": its block is gone, which deletes no topic' }, hup "")
    assert.same({ "nothing has changed" }, hup())
    assert.equal(2, partitions "a")
  end)

  for what, case in pairs {
    ["a syntax error"] = { "broker {\n  workers = \n}", "config.lua:3: unexpected symbol near '}'" },
    ["an unknown key"] = { "\nbroker { worker = 3 }", "config.lua:2: broker.worker: unknown key, did you mean workers?" },
    ["a wrong value"] = { 'broker { log_roll_ms = "x" }',
      'config.lua:1: broker.log_roll_ms: got "x", expected a whole number of ms' },
    ["fewer partitions"] = { '\ntopic "a" { partitions = 1 }',
      'config.lua:2: topic "a": has 2 partitions, not 1: partitions are never removed' },
    ["another number of replicas"] = { 'topic "a" { replication_factor = 2 }',
      'config.lua:1: topic "a".replication_factor: got 2, but this broker is alone: the replication factor is 1' },
    ["a name that collides"] = { 'topic "x.y" {}',
      'config.lua:1: topic "x.y": Topic \'x.y\' collides with existing topic: x_y' },
    ["limits that do not go together"] = { "broker { queued_max_request_bytes = 1000 }",
      "config.lua:1: broker.queued_max_request_bytes: got 1000, expected at least socket_request_max_bytes (104857600)" },
    ["an address that is none"] = { 'broker { max_connections_per_ip_overrides = "127.0.0.1" }',
      'config.lua:1: broker.max_connections_per_ip_overrides: got "127.0.0.1",' },
    ["a host that nobody knows"] = {
      'broker { max_connections_per_ip_overrides = "no.such.host.invalid:1",\nqueued_max_request_bytes = 0 }',
      "config.lua:1: max_connections_per_ip_overrides: host no.such.host.invalid is unknown" },
    ["an endless loop"] = { "while true do end", "config.lua:1: evaluation took longer than 800 ms (an endless loop?)" },
  } do
    it("refuses " .. what .. ", and changes nothing else of the file either", function()
      start 'topic "a" { partitions = 2 }'
      requests.create(client, "x_y")
      local lines = hup('topic "new" {} defaults { partitions = 9 } ' .. case[1])
      assert.equal(1, #lines)
      assert.equal("reload refused, nothing has changed: " .. case[2], lines[1]:sub(1, 37 + #case[2]))
      assert.equal("1", value(BROKER, "1", "num.partitions"))
      local names = {}
      for _, topic in ipairs(client:ask("Metadata", 12, { topics = wire.NULL }).topics) do
        names[topic.name] = true
      end
      assert.same({ a = true, x_y = true }, names)
    end)
  end

  it("refuses a file that is gone, a pipe and a folder", function()
    start 'topic "a" { partitions = 2 }'
    local path = broker.folder .. "/config.lua"
    os.remove(path)
    assert.same({ "reload refused, nothing has changed: config.lua: cannot be read: No such file or directory" }, hup())
    stat.mkfifo(path, 384)
    assert.same({ "reload refused, nothing has changed: config.lua: is no regular file, and a broker that runs reads no others" }, hup())
    os.remove(path)
    stat.mkdir(path)
    assert.same({ "reload refused, nothing has changed: config.lua: cannot be read: Is a directory" }, hup())
    os.remove(path)
    assert.same({ "nothing has changed" }, hup 'topic "a" { partitions = 2 }')
  end)

  it("works without a file: --set is what there is", function()
    broker = brokers.start()
    broker.folder = "no"
    client = broker:connect()
    assert.same({ "nothing has changed" }, hup())
  end)

  it("keeps a broker that stops from nothing", function()
    start ""
    reload.write(broker, 'topic "a" {}')
    signal.kill(broker.pid, signal.SIGHUP)
    client:close()
    assert.equal(0, broker:stop())
    broker = nil
  end)
end)
