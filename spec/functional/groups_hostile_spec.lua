-- SPDX-License-Identifier: Apache-2.0
-- Requests about groups that are small on the wire, and would take gigabytes if they were taken at their word.
local brokers = require "spec.support.broker"
local clients = require "spec.support.client"
local group = require "spec.support.group"
local requests = require "spec.support.requests"
local socket = require "posix.sys.socket"
local unit = require "spec.support.unit"
local wire = require "spec.support.wire"

local MIB = 1024 * 1024
local UNKNOWN_SERVER_ERROR, INVALID_GROUP_ID, INVALID_REGULAR_EXPRESSION = -1, 24, 128
local LONG_NAME = ("g"):rep(32000)

-- Instrumented programs need memory of their own.
local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

describe("A small request about groups that stands for gigabytes", function()
  local broker, client, before

  --- The most that the process ever held in memory, in bytes.
  local function peak()
    return tonumber(unit.read_file(("/proc/%d/status"):format(broker.pid)):match "VmHWM:%s*(%d+) kB") * 1024
  end

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    group.prepare(client)
  end)
  after_each(function()
    client:close()
    if measures_memory then
      local taken = peak() - before
      assert.is_true(taken < 700 * MIB, ("%d MiB were taken"):format(taken / MIB))
    end
    assert.is_true(requests.is_well(broker))
    assert.equal(0, broker:stop())
  end)

  --- Reads the first bytes of an answer: the rest is hundreds of MiB.
  local function wait_for_answer()
    assert.is_true(clients.wait_for(client.fd, "IN", clients.now_ms() + 4 * clients.PATIENCE_MS))
    assert.truthy(socket.recv(client.fd, 1000))
  end

  it("is not answered for each time that it names a group, when it fetches offsets", function()
    requests.create(client, "t", { partitions = 1000 })
    local offsets = {}
    for partition = 0, 999 do offsets[partition] = { 5, ("m"):rep(100) } end
    assert.equal(0, group.commit(client, "g", { t = offsets }).t[999])
    local groups = {}
    for i = 1, 20000 do groups[i] = { group_id = "g", topics = wire.NULL } end
    before = peak()
    client:request("OffsetFetch", group.FETCH, { groups = groups })
    wait_for_answer()
  end)

  it("is not answered for each time that it names a partition", function()
    requests.create(client, "t")
    assert.equal(0, group.commit(client, "g", { t = { [0] = { 5, ("\226\130\172"):rep(4096) } } }).t[0])
    local partitions = {}
    for i = 1, 90000 do partitions[i] = 0 end
    before = peak()
    local answer = client:ask("OffsetFetch", group.FETCH,
      { groups = { { group_id = "g", topics = { { name = "t", partition_indexes = partitions } } } } })
    assert.equal(UNKNOWN_SERVER_ERROR, answer.groups[1].error_code)
    assert.same({}, answer.groups[1].topics)
    assert.equal(5, group.committed(client, "g").t[0].offset)
  end)

  it("is not answered for each time that it describes a group", function()
    local members = {}
    for i = 1, 20 do
      members[i] = group.member(broker, "g", { topics = { ("x"):rep(20000) } })
      members[i]:send_join(3)
    end
    clients.wait_until("all have come", function() return #group.describe(client, "g").members == 20 end)
    local groups = {}
    for i = 1, 90000 do groups[i] = "g" end
    before = peak()
    client:request("DescribeGroups", 5, { groups = groups })
    wait_for_answer()
    for _, member in ipairs(members) do member:close() end
  end)

  it("is not answered for each time that it describes a consumer group", function()
    local names = {}
    for i = 1, 20 do names[i] = ("x"):rep(240) .. i end
    for i = 1, 20 do
      local answer = client:ask("ConsumerGroupHeartbeat", 1, { group_id = "c", member_id = "m" .. i, member_epoch = 0,
        rebalance_timeout_ms = 30000, subscribed_topic_names = names, topic_partitions = {} })
      assert.equal(0, answer.error_code)
    end
    local groups = { "" }
    for i = 2, 90000 do groups[i] = "c" end
    local first = client:ask("ConsumerGroupDescribe", 1, { group_ids = { "", "c", "c" } }).groups
    assert.same({ INVALID_GROUP_ID, 0, 20 }, { first[1].error_code, first[3].error_code, #first[3].members })
    before = peak()
    client:request("ConsumerGroupDescribe", 1, { group_ids = groups })
    wait_for_answer()
  end)

  --- A partition, many times.
  local function repeated(count, more)
    local partitions = {}
    for i = 1, count do
      partitions[i] = { partition_index = 0 }
      for key, value in pairs(more or {}) do partitions[i][key] = value end
    end
    return { { name = "t", partitions = partitions } }
  end

  it("is refused when each partition of a commit or a deletion repeats a long name", function()
    requests.create(client, "t")
    assert.equal(0, group.commit(client, LONG_NAME, { t = { [0] = 5 } }).t[0])
    before = peak()
    local answer = client:ask("OffsetCommit", group.COMMIT, { group_id = LONG_NAME, generation_id_or_member_epoch = -1,
      member_id = "", topics = repeated(90000, { committed_offset = 6, committed_metadata = "" }) })
    assert.equal(UNKNOWN_SERVER_ERROR, answer.topics[1].partitions[90000].error_code)
    answer = client:ask("OffsetDelete", 0, { group_id = LONG_NAME, topics = repeated(90000) })
    assert.equal(UNKNOWN_SERVER_ERROR, answer.error_code)
    assert.equal(5, group.committed(client, LONG_NAME).t[0].offset)
  end)
end)

describe("An expression of topics", function()
  it("is refused where it takes long to hold it against all names", function()
    local broker = brokers.start { set = { "workers=2" } }
    local client = broker:connect()
    group.prepare(client)
    local topics = {}
    for i = 1, 200 do
      topics[i] = { name = ("a"):rep(240) .. i, num_partitions = 1, replication_factor = 1 }
    end
    client:ask("CreateTopics", 7, { timeout_ms = 30000, topics = topics })
    local function subscribe(expression)
      return client:ask("ConsumerGroupHeartbeat", 1, { group_id = "g", member_id = "m", member_epoch = 0,
        rebalance_timeout_ms = 10000, subscribed_topic_regex = expression, topic_partitions = {} })
    end
    local answer = subscribe ".*(.?){900}="
    assert.equal(INVALID_REGULAR_EXPRESSION, answer.error_code)
    assert.truthy(answer.error_message:find("expression too large", 1, true))
    assert.equal(0, subscribe("(a|aa)*7").error_code)
    client:close()
    assert.equal(0, broker:stop())
  end)
end)
