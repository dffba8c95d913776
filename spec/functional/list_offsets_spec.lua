-- SPDX-License-Identifier: Apache-2.0
-- ListOffsets: special times, times inside batches, leader epochs, and the list of version 0.
local batches = require "spec.unit.record.batches"
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local unit = require "spec.support.unit"

local NEWEST = 11
local LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6

-- Instrumented programs need memory of their own.
local measures_memory = (os.getenv "LUKA_SAN" or "") == "" and not os.getenv "VALGRIND"

--- The most that the process ever held in memory, in bytes.
local function resident(broker)
  local status = unit.read_file(("/proc/%d/status"):format(broker.pid))
  return tonumber(status:match "VmHWM:%s*(%d+) kB") * 1024
end

local function create(client, name, partitions, configs)
  local topic = { name = name, num_partitions = partitions or 1, replication_factor = 1, configs = {} }
  for key, value in pairs(configs or {}) do topic.configs[#topic.configs + 1] = { name = key, value = value } end
  topic.configs[#topic.configs + 1] = { name = "retention.ms", value = "-1" }
  assert.equal(0, client:ask("CreateTopics", 7, { topics = { topic }, timeout_ms = 10000 }).topics[1].error_code)
end

local function produce(client, topic, batch, partition)
  local answer = client:ask("Produce", 9, { acks = -1, timeout_ms = 10000,
    topic_data = { { name = topic, partition_data = { { index = partition or 0, records = batch } } } } })
  assert.equal(0, answer.responses[1].partition_responses[1].error_code)
end

--- Asks for one time of a partition; `more` overrides fields of the partition, `top` of the request.
local function ask(client, version, topic, timestamp, more, top)
  local partition = { partition_index = 0, timestamp = timestamp }
  if version == 0 then partition.max_num_offsets = 10 end
  for key, value in pairs(more or {}) do partition[key] = value end
  local body = { replica_id = -1, topics = { { name = topic, partitions = { partition } } } }
  for key, value in pairs(top or {}) do body[key] = value end
  local answer = client:ask("ListOffsets", version, body)
  assert.equal(1, #answer.topics)
  assert.equal(topic, answer.topics[1].name)
  assert.equal(1, #answer.topics[1].partitions)
  return answer.topics[1].partitions[1]
end

--- { error, timestamp, offset, epoch } of an answer; the epoch from version 4 on.
local function parts(entry) return { entry.error_code, entry.timestamp, entry.offset, entry.leader_epoch } end

local function expect(version, code, timestamp, offset, epoch)
  return { code, timestamp, offset, version >= 4 and epoch or nil }
end

describe("ListOffsets", function()
  local broker, client

  setup(function()
    broker = brokers.start()
    client = broker:connect()
    create(client, "empty")
    create(client, "times", 2)
    produce(client, "times", batches.batch { records = { "a", "b", "c", "d" }, ts = 2, step = 2 })
    produce(client, "times", batches.batch { records = { "e", "f" }, ts = 20, step = -19, max_ts = 20 })
    produce(client, "times", batches.batch { records = { "g", "h", "i" }, ts = 30, codec = 1 })
  end)
  teardown(function() assert.equal(0, broker:stop()) end)

  for version = 1, NEWEST do
    it(("gives latest and earliest in version %d"):format(version), function()
      assert.same(expect(version, 0, -1, 9, 0), parts(ask(client, version, "times", LATEST)))
      assert.same(expect(version, 0, -1, 0, 0), parts(ask(client, version, "times", EARLIEST)))
    end)

    it(("gives both of an empty partition in version %d"):format(version), function()
      assert.same(expect(version, 0, -1, 0, 0), parts(ask(client, version, "empty", LATEST)))
      assert.same(expect(version, 0, -1, 0, 0), parts(ask(client, version, "empty", EARLIEST)))
    end)

    it(("finds the first record that is not older than a time, inside batches, in version %d"):format(version), function()
      for _, case in ipairs { { 0, 2, 0 }, { 1, 2, 0 }, { 2, 2, 0 }, { 3, 4, 1 }, { 5, 6, 2 }, { 8, 8, 3 }, { 9, 20, 4 },
        { 15, 20, 4 }, { 20, 20, 4 }, { 21, 30, 6 }, { 30, 30, 6 } } do
        assert.same(expect(version, 0, case[2], case[3], 0), parts(ask(client, version, "times", case[1])))
      end
    end)

    it(("gives -1 and no error for a time after all records in version %d"):format(version), function()
      for _, time in ipairs { 31, 1000, 4611686018427387904LL, 9223372036854775807LL } do
        assert.same(expect(version, 0, -1, -1, -1), parts(ask(client, version, "times", time)))
      end
      assert.same(expect(version, 0, -1, -1, -1), parts(ask(client, version, "empty", 5)))
    end)

    it(("answers special times or 35, as version %d knows them"):format(version), function()
      local unknown = expect(version, 35, -1, -1, -1)
      local none = expect(version, 0, -1, -1, -1)
      assert.same(version >= 7 and expect(version, 0, 30, 6, 0) or unknown, parts(ask(client, version, "times", MAX_TIMESTAMP)))
      assert.same(version >= 7 and none or unknown, parts(ask(client, version, "empty", MAX_TIMESTAMP)))
      assert.same(version >= 8 and expect(version, 0, -1, 0, 0) or unknown, parts(ask(client, version, "times", EARLIEST_LOCAL)))
      assert.same(version >= 9 and none or unknown, parts(ask(client, version, "times", TIERED)))
      assert.same(version >= 11 and none or unknown, parts(ask(client, version, "times", PENDING)))
      for _, time in ipairs { -7, -100, -9223372036854775807LL - 1 } do
        assert.same(unknown, parts(ask(client, version, "times", time)))
      end
    end)

    it(("answers 3 for unknown topics and partitions in version %d"):format(version), function()
      local missing = expect(version, 3, -1, -1, -1)
      for _, time in ipairs { LATEST, EARLIEST, 5 } do
        assert.same(missing, parts(ask(client, version, "missing", time)))
        assert.same(missing, parts(ask(client, version, "times", time, { partition_index = 9 })))
        assert.same(missing, parts(ask(client, version, "times", time, { partition_index = -1 })))
      end
      assert.same(missing, parts(ask(client, version, "", LATEST)))
    end)

    it(("answers a partition that is named twice once, with 42, in version %d"):format(version), function()
      local answer = client:ask("ListOffsets", version, { replica_id = -1, topics = { { name = "times", partitions = {
        { partition_index = 0, timestamp = LATEST }, { partition_index = 1, timestamp = LATEST },
        { partition_index = 0, timestamp = 5 }, { partition_index = 0, timestamp = LATEST } } } } })
      local list = answer.topics[1].partitions
      assert.equal(2, #list)
      assert.same({ 0, 42 }, { list[1].partition_index, list[1].error_code })
      assert.same({ 1, 0 }, { list[2].partition_index, list[2].error_code })
    end)

    it(("lets anybody who is no consumer read to the log's end in version %d"):format(version), function()
      for _, replica in ipairs { -2, 5 } do
        assert.equal(9, ask(client, version, "times", LATEST, nil, { replica_id = replica }).offset)
      end
    end)
  end

  for version = 2, NEWEST do
    it(("takes both isolation levels, and answers -1 for others, in version %d"):format(version), function()
      assert.equal(9, ask(client, version, "times", LATEST, nil, { isolation_level = 1 }).offset)
      assert.equal(1, ask(client, version, "times", 3, nil, { isolation_level = 1 }).offset)
      for _, level in ipairs { 2, -1 } do
        assert.same(expect(version, -1, -1, -1, -1), parts(ask(client, version, "times", LATEST, nil, { isolation_level = level })))
      end
    end)
  end

  for version = 4, NEWEST do
    it(("checks the leader epoch that a client believes in, in version %d"):format(version), function()
      for _, time in ipairs { LATEST, 5 } do
        assert.equal(0, ask(client, version, "times", time, { current_leader_epoch = 0 }).error_code)
        assert.same({ 75, -1, -1, -1 }, parts(ask(client, version, "times", time, { current_leader_epoch = 1 })))
        assert.same({ 74, -1, -1, -1 }, parts(ask(client, version, "times", time, { current_leader_epoch = -2 })))
      end
    end)
  end

  describe("version 0", function()
    local function offsets(timestamp, more)
      local entry = ask(client, 0, "times", timestamp, more)
      assert.equal(0, entry.error_code)
      return entry.old_style_offsets
    end

    it("lists the log's end and where segments begin, newest first", function()
      assert.same({ 9, 0 }, offsets(LATEST))
      assert.same({ 0 }, offsets(EARLIEST))
      assert.same({ 9, 0 }, offsets(4611686018427387904LL))
      assert.same({}, offsets(5))
      local entry = ask(client, 0, "empty", LATEST)
      assert.same({ 0 }, entry.old_style_offsets)
    end)

    it("gives no more than the client wants", function()
      assert.same({ 9 }, offsets(LATEST, { max_num_offsets = 1 }))
      assert.same({}, offsets(LATEST, { max_num_offsets = 0 }))
      assert.same({}, offsets(LATEST, { max_num_offsets = -1 }))
    end)

    it("answers 35 for other special times and 3 for what is not there", function()
      for _, time in ipairs { -3, -6, -100 } do
        local entry = ask(client, 0, "times", time)
        assert.same({ 35, {} }, { entry.error_code, entry.old_style_offsets })
      end
      assert.equal(3, ask(client, 0, "missing", LATEST).error_code)
    end)

    it("answers a partition as often as it is named", function()
      local answer = client:ask("ListOffsets", 0, { replica_id = -1, topics = { { name = "times", partitions = {
        { partition_index = 0, timestamp = LATEST, max_num_offsets = 10 },
        { partition_index = 0, timestamp = EARLIEST, max_num_offsets = 10 } } } } })
      assert.same({ 9, 0 }, answer.topics[1].partitions[1].old_style_offsets)
      assert.same({ 0 }, answer.topics[1].partitions[2].old_style_offsets)
    end)

    it("answers a partition that is named 100000 times in little memory", function()
      create(client, "often", 1, { ["segment.bytes"] = "1048576" })
      for i = 1, 40 do produce(client, "often", batches.batch { records = { ("v"):rep(600000) }, ts = i }) end
      local partitions = {}
      for i = 1, 100000 do partitions[i] = { partition_index = 0, timestamp = LATEST, max_num_offsets = 2 } end
      local before = resident(broker)
      local answer = client:ask("ListOffsets", 0, { replica_id = -1, topics = { { name = "often", partitions = partitions } } })
      if measures_memory then assert.is_true(resident(broker) - before < 40 * 1024 * 1024) end
      local answered = 0
      for _, part in ipairs(answer.topics[1].partitions) do
        if part.error_code == 0 then
          answered = answered + 1
          assert.is_true(part.old_style_offsets[1] == 40 and part.old_style_offsets[2] == 39)
        else
          assert.equal(42, part.error_code) -- a million segments were looked at
          assert.equal(0, #part.old_style_offsets)
        end
      end
      assert.equal(100000, #answer.topics[1].partitions)
      assert.equal(math.floor(1000000 / 41), answered)
    end)
  end)

  it("finds times in every codec", function()
    for codec = 0, 4 do
      local topic = "codec" .. codec
      create(client, topic)
      produce(client, topic, batches.batch { records = { "a", "b", "c", "d" }, ts = 2, step = 2, codec = codec })
      assert.same({ 0, 6, 2, 0 }, parts(ask(client, NEWEST, topic, 5)))
      assert.same({ 0, 8, 3, 0 }, parts(ask(client, NEWEST, topic, MAX_TIMESTAMP)))
    end
  end)

  it("finds the first record with the largest timestamp, which need not be the last", function()
    create(client, "unordered")
    produce(client, "unordered", batches.batch { records = { "a" }, ts = 10 })
    produce(client, "unordered", batches.batch { records = { { value = "b", ts = 0 }, { value = "c", ts = 40 },
      { value = "d", ts = 40 } }, ts = 10, max_ts = 50 })
    produce(client, "unordered", batches.batch { records = { "e" }, ts = 20 })
    assert.same({ 0, 50, 2, 0 }, parts(ask(client, NEWEST, "unordered", MAX_TIMESTAMP)))
    assert.same({ 0, 50, 2, 0 }, parts(ask(client, NEWEST, "unordered", 15)))
  end)

  it("finds times in closed segments, and lists those in version 0", function()
    create(client, "rolled", 1, { ["segment.bytes"] = "1048576" })
    local value = ("v"):rep(700000)
    for i = 1, 5 do produce(client, "rolled", batches.batch { records = { value }, ts = i * 1000 }) end
    for i = 1, 5 do
      assert.same({ 0, i * 1000, i - 1, 0 }, parts(ask(client, NEWEST, "rolled", i * 1000)))
      assert.same({ 0, i * 1000, i - 1, 0 }, parts(ask(client, NEWEST, "rolled", i * 1000 - 999)))
    end
    assert.same({ 5, 4, 3, 2, 1, 0 }, ask(client, 0, "rolled", LATEST).old_style_offsets)
    assert.same({ 5, 4 }, ask(client, 0, "rolled", LATEST, { max_num_offsets = 2 }).old_style_offsets)
  end)

  it("answers many partitions by time in the order of the question, and then what came after it", function()
    create(client, "wide", 50)
    local partitions = {}
    for i = 0, 49 do
      produce(client, "wide", batches.batch { records = { "a", "b" }, ts = 100 + i, step = 100 }, i)
      partitions[i + 1] = { partition_index = i, timestamp = i % 3 == 0 and LATEST or 150 }
    end
    local id = client:request("ListOffsets", NEWEST, { replica_id = -1, topics = { { name = "wide", partitions = partitions } } })
    local next_id = client:request("Metadata", 9, { topics = {} })
    local list = client:answer("ListOffsets", NEWEST, id).topics[1].partitions
    assert.equal(50, #list)
    for i = 0, 49 do
      assert.equal(i, list[i + 1].partition_index)
      local first_is_it = 100 + i >= 150
      assert.equal(i % 3 == 0 and 2 or (first_is_it and 0 or 1), list[i + 1].offset)
    end
    assert.equal(1, #client:answer("Metadata", 9, next_id).brokers)
  end)

  it("outlives clients that go away while it searches", function()
    local partitions = {}
    for i = 0, 49 do partitions[i + 1] = { partition_index = i, timestamp = 150 } end
    for _ = 1, 20 do
      local gone = broker:connect()
      gone:request("ListOffsets", NEWEST, { replica_id = -1, topics = { { name = "wide", partitions = partitions } } })
      gone:close()
    end
    assert.equal(9, ask(client, NEWEST, "times", LATEST).offset)
  end)

  it("answers 3 for a topic that was deleted", function()
    create(client, "deleted")
    produce(client, "deleted", batches.batch { records = { "a" } })
    client:ask("DeleteTopics", 6, { topics = { { name = "deleted" } }, timeout_ms = 10000 })
    assert.same({ 3, -1, -1, -1 }, parts(ask(client, NEWEST, "deleted", LATEST)))
    assert.same({ 3, -1, -1, -1 }, parts(ask(client, NEWEST, "deleted", 5)))
  end)

  it("raises the epoch after a crash, and knows under which epoch older records were written", function()
    local other = brokers.start()
    local c = other:connect()
    create(c, "crashed")
    produce(c, "crashed", batches.batch { records = { "a" }, ts = 100 })
    c:close()
    other:kill()
    other = other:restart()
    c = other:connect()
    local epoch = c:ask("Metadata", 9, { topics = { { name = "crashed" } } }).topics[1].partitions[1].leader_epoch
    assert.is_true(epoch > 0)
    produce(c, "crashed", batches.batch { records = { "b" }, ts = 200 })
    assert.same({ 0, -1, 2, epoch }, parts(ask(c, NEWEST, "crashed", LATEST)))
    assert.same({ 0, -1, 0, 0 }, parts(ask(c, NEWEST, "crashed", EARLIEST)))
    assert.same({ 0, 100, 0, 0 }, parts(ask(c, NEWEST, "crashed", 50)))
    assert.same({ 0, 200, 1, epoch }, parts(ask(c, NEWEST, "crashed", 150)))
    assert.same({ 74, -1, -1, -1 }, parts(ask(c, NEWEST, "crashed", LATEST, { current_leader_epoch = 0 })))
    c:close()
    assert.equal(0, other:stop())
  end)

  it("closes the connection on a request that ends early, at every length", function()
    local body = { replica_id = -1, topics = { { name = "times", partitions = { { partition_index = 0, timestamp = LATEST } } } } }
    assert.is_nil(malformed.first_accepted_prefix(broker, "ListOffsets", NEWEST, body))
    assert.is_nil(malformed.first_accepted_prefix(broker, "ListOffsets", 1, body))
    assert.equal(9, ask(client, NEWEST, "times", LATEST).offset)
  end)
end)
