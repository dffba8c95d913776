-- SPDX-License-Identifier: Apache-2.0
-- admin.* against a broker.
local brokers = require "spec.support.broker"
local admins = require "spec.support.admin"

describe("admin", function()
  local broker, admin
  local count = 0

  setup(function()
    broker = brokers.start { set = { "num_partitions=3" } }
    admin = admins.of(broker)
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  --- A new topic; its name.
  local function create(options)
    count = count + 1
    return admin.create_topic("topic" .. count, options).name
  end

  local function refusal(fn, ...)
    local err = admins.refusal(fn, ...)
    return { err.code, err.message }
  end

  it("creates a topic with configs in either spelling", function()
    local made = admin.create_topic("made", { partitions = 4, retention_ms = -1, configs = { ["segment.bytes"] = 2 ^ 20 } })
    assert.same({ "made", 4, 1, "-1", "1048576", 22 }, { made.name, made.partitions, made.replication_factor,
      made.configs.retention_ms, made.configs.segment_bytes, #made.id })
    assert.same({ "TOPIC_ALREADY_EXISTS", "Topic 'made' already exists." }, refusal(admin.create_topic, "made"))
  end)

  it("creates nothing when it only validates", function()
    admin.create_topic("validated", { validate_only = true })
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", admins.refusal(admin.describe_topic, "validated").code)
  end)

  it("passes on what the broker says of a topic that cannot be", function()
    assert.same({ "INVALID_CONFIG", "Unknown topic config name: retention.m" },
      refusal(admin.create_topic, "bad", { retention_m = 1 }))
    assert.equal("INVALID_REPLICATION_FACTOR", refusal(admin.create_topic, "bad", { replication_factor = 3 })[1])
    assert.equal("INVALID_TOPIC_EXCEPTION", refusal(admin.create_topic, "b a d")[1])
  end)

  it("places replicas by hand", function()
    local name = create { assignments = { { 1 }, { 1 } } }
    assert.equal(2, #admin.describe_topic(name).partitions)
    assert.equal("INVALID_REPLICA_ASSIGNMENT", refusal(admin.create_topic, "bad", { assignments = { { 7 } } })[1])
  end)

  it("describes topics", function()
    local name = create()
    local topic = admin.describe_topic(name)
    assert.same({ name = name, id = topic.id, is_internal = false, partitions = topic.partitions }, topic)
    assert.same({ partition = 2, leader = 1, leader_epoch = 0, replicas = { 1 }, isr = { 1 }, offline_replicas = {} },
      topic.partitions[3])
    local found
    for _, each in ipairs(admin.topics()) do found = found or each.name == name and each end
    assert.same(topic, found)
    assert.same({ "UNKNOWN_TOPIC_OR_PARTITION", 'there is no topic "nope"' }, refusal(admin.describe_topic, "nope"))
  end)

  it("deletes topics", function()
    local name = create()
    admin.delete_topic(name)
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", refusal(admin.describe_topic, name)[1])
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", refusal(admin.delete_topic, name)[1])
  end)

  it("adds partitions", function()
    local name = create()
    assert.equal(5, admin.create_partitions(name, 5))
    assert.equal(5, #admin.describe_topic(name).partitions)
    assert.equal("INVALID_PARTITIONS", refusal(admin.create_partitions, name, 2)[1])
  end)

  it("describes configs by their types", function()
    local name = create { retention_ms = "9223372036854775807", cleanup_policy = { "compact", "delete" },
      min_cleanable_dirty_ratio = 0.25, preallocate = true }
    local by_name = {}
    for _, config in ipairs(admin.describe_configs("topic", name)) do by_name[config.name] = config end
    assert.equal("9223372036854775807LL", tostring(by_name.retention_ms.value))
    assert.same({ "compact,delete", "list", "topic" },
      { by_name.cleanup_policy.value, by_name.cleanup_policy.type, by_name.cleanup_policy.source })
    assert.equal(0.25, by_name.min_cleanable_dirty_ratio.value)
    assert.is_true(by_name.preallocate.value)
    assert.equal("default", by_name.segment_bytes.source)
    local one = admin.describe_configs("topic", name, { keys = { "retention.ms" }, documentation = true })
    assert.equal(1, #one)
    assert.matches("^How long", one[1].documentation)
  end)

  it("changes configs, all or none", function()
    local name = create { retention_ms = 1000 }
    local function value(key) return admin.describe_configs("topic", name, { keys = { key } })[1].value end
    admin.alter_configs("topic", name, { set = { segment_bytes = 2 ^ 21 }, unset = { "retention_ms" } })
    assert.same({ 2 ^ 21, 604800000 }, { value "segment_bytes", value "retention_ms" })
    assert.equal("INVALID_CONFIG", refusal(admin.alter_configs, "topic", name,
      { set = { segment_bytes = 2 ^ 22, retention_ms = -7 } })[1])
    assert.equal(2 ^ 21, value "segment_bytes")
    admin.alter_configs("topic", name, { append = { cleanup_policy = "compact" } })
    assert.equal("delete,compact", value "cleanup_policy")
    admin.alter_configs("topic", name, { set = { segment_bytes = 2 ^ 22 }, validate_only = true })
    assert.equal(2 ^ 21, value "segment_bytes")
  end)

  it("changes configs of the broker", function()
    admin.alter_configs("broker", 1, { set = { log_retention_ms = 5000 } })
    local found = admin.describe_configs("broker", 1, { keys = { "log_retention_ms" } })[1]
    assert.same({ 5000, "broker" }, { found.value, found.source })
    admin.alter_configs("broker", "1", { unset = { "log_retention_ms" } })
    assert.equal("INVALID_REQUEST", refusal(admin.alter_configs, "broker", 1, { set = { log_dirs = "/x" } })[1])
  end)

  it("describes the cluster and its log directories", function()
    local cluster = admin.describe_cluster()
    assert.same({ { id = 1, host = "127.0.0.1", port = broker.port } }, cluster.brokers)
    assert.same({ 1, 22 }, { cluster.controller, #cluster.cluster_id })
    local dirs = admin.describe_log_dirs()
    assert.equal(1, #dirs)
    assert.equal(broker.data, dirs[1].path)
    assert.is_true(dirs[1].usable_bytes > 0)
  end)

  it("cannot move a partition to a directory that there is not", function()
    assert.same({ "LOG_DIR_NOT_FOUND", "/nowhere: the broker has no such log directory" },
      refusal(admin.alter_replica_log_dirs, create(), 0, "/nowhere"))
  end)

  it("writes records and reads them again", function()
    local name = create { partitions = 1 }
    local written = admin.produce(name, { { key = "k", value = "v", headers = { a = "1", b = "2" }, timestamp = 1e12 }, "plain",
      { value = 12 } }, { compression = "zstd" })
    assert.same({ { partition = 0, offset = 0 }, { partition = 0, offset = 1 }, { partition = 0, offset = 2 } }, written)
    local records, next_offsets = admin.fetch(name, { [0] = 0 })
    assert.same({ topic = name, partition = 0, offset = 0, timestamp = 1e12, key = "k", value = "v",
      headers = { { key = "a", value = "1" }, { key = "b", value = "2" } } }, records[1])
    assert.same({ "plain", "12" }, { records[2].value, records[3].value })
    assert.same({ [0] = 3 }, next_offsets)
  end)

  it("begins to read in the middle of a batch, and ends there", function()
    local name = create { partitions = 1 }
    local list = {}
    for i = 1, 100 do list[i] = "value " .. i end
    admin.produce(name, list)
    local records, next_offsets = admin.fetch(name, { [0] = 40 }, { max_records = 3 })
    assert.same({ 40, 41, 42 }, { records[1].offset, records[2].offset, records[3].offset })
    assert.same({ [0] = 43 }, next_offsets)
    assert.same({}, (admin.fetch(name, { [0] = 100 })))
    assert.same({ "OFFSET_OUT_OF_RANGE", ('topic "%s" partition 0 has no offset 101'):format(name) },
      refusal(admin.fetch, name, { [0] = 101 }))
  end)

  it("writes more than a batch holds", function()
    local name = create { partitions = 2 }
    local list = {}
    for i = 1, 40 do list[i] = { value = ("x"):rep(100000), partition = i % 2 } end
    local written = admin.produce(name, list)
    assert.equal(40, #written)
    assert.same({ partition = 0, offset = 19 }, written[40])
    for _, part in ipairs(admin.list_offsets(name, "latest")) do assert.equal(20, part.offset) end
  end)

  it("says how much was written before a record that is too large", function()
    local name = create { partitions = 1 }
    local list = { ("x"):rep(600000), ("x"):rep(600000), ("x"):rep(2 ^ 21) }
    local err = admins.refusal(admin.produce, name, list)
    assert.equal("MESSAGE_TOO_LARGE", err.code)
    assert.matches("max_message_bytes of the topic %(2 records before it were written%)$", err.message)
  end)

  it("gives records without a key to one partition after the other", function()
    local name = create { partitions = 3 }
    local partitions = {}
    for i = 1, 6 do partitions[i] = admin.produce(name, "x").partition end
    assert.same({ 0, 1, 2, 0, 1, 2 }, partitions)
  end)

  it("keeps a key in one partition", function()
    local name = create { partitions = 8 }
    assert.equal(admin.produce(name, { key = "a", value = 1 }).partition, admin.produce(name, { key = "a", value = 2 }).partition)
  end)

  it("refuses records that are none", function()
    local name = create()
    for message, record in pairs {
      ["produce: value: got a table, expected a string, a number or nil"] = { value = {} },
      ['produce: a record has no field "valu", only key, value, headers, timestamp and partition'] = { valu = "x" },
      ["produce: headers: got 5, expected a name for each: { trace = \"1\" }"] = { value = "x", headers = { [5] = "y" } },
      ["produce: timestamp: got -5LL, expected a whole number from 0 to 9223372036854775807"] = { value = "x", timestamp = -5LL },
      ["produce: headers: got 1, expected a table: { trace = \"1\" }"] = { value = "x", headers = 1 },
      ["produce: timestamp: got -5, expected a whole number from 0 to 9007199254740992"] = { value = "x", timestamp = -5 },
      ['produce: there are no records; a record without key and value is { value = "" }'] = {},
    } do
      assert.same({ "usage", message }, refusal(admin.produce, name, record))
    end
    assert.same({ "UNKNOWN_TOPIC_OR_PARTITION", ('produce: topic "%s" has no partition 9, only 0 to 2'):format(name) },
      refusal(admin.produce, name, { value = "x", partition = 9 }))
    assert.equal("produce: record 2: value: got a table, expected a string, a number or nil",
      refusal(admin.produce, name, { "x", { value = {} } })[2])
  end)

  it("finds offsets by time", function()
    local name = create { partitions = 1, retention_ms = -1 }
    admin.produce(name, { { value = "a", timestamp = 1000 }, { value = "b", timestamp = 2000 } })
    local function offset(what) return admin.list_offsets(name, what)[1].offset end
    assert.same({ 0, 2, 1, 1, 0 }, { offset "earliest", offset "latest", offset "max_timestamp", offset(1500), offset(0) })
    assert.is_nil(offset(3000))
    assert.same({ { partition = 0, offset = 1, timestamp = 2000 } }, admin.list_offsets(name, { [0] = 1500 }))
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", refusal(admin.list_offsets, name, "latest", { 7 })[1])
  end)

  it("deletes records", function()
    local name = create { partitions = 2 }
    for _ = 1, 10 do admin.produce(name, "x") end
    assert.same({ [0] = 2, [1] = 5 }, admin.delete_records(name, { [0] = 2, [1] = "latest" }))
    assert.equal("OFFSET_OUT_OF_RANGE", refusal(admin.delete_records, name, { [0] = 99 })[1])
    assert.same({ "OFFSET_OUT_OF_RANGE", ('topic "%s" partition 0 has no offset 1'):format(name) },
      refusal(admin.fetch, name, { [0] = 1 }))
  end)

  it("describes producers", function()
    assert.same({}, admin.describe_producers(create()))
    assert.equal("UNKNOWN_TOPIC_OR_PARTITION", refusal(admin.describe_producers, "nope", 0)[1])
  end)

  it("waits for records as long as it is told", function()
    local name = create { partitions = 1 }
    local before = require("spec.support.client").now_ms()
    assert.same({}, (admin.fetch(name, { [0] = 0 }, { max_wait_ms = 300 })))
    assert.is_true(require("spec.support.client").now_ms() - before >= 290)
  end)
end)
