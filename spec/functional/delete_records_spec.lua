-- SPDX-License-Identifier: Apache-2.0
-- DeleteRecords: which offsets it takes, what clients see afterwards, and that it stays so over restarts and crashes.
local brokers = require "spec.support.broker"
local malformed = require "spec.support.malformed"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local strace = require "spec.support.strace"
local dirent = require "posix.dirent"

local NEWEST = 2
local NONE, OUT_OF_RANGE, UNKNOWN, INVALID_TOPIC, POLICY = 0, 1, 3, 17, 44

--- A body for some partitions of one topic: { partition, offset } each.
local function body(name, ...)
  local topic = { name = name, partitions = {} }
  for i, part in ipairs { ... } do topic.partitions[i] = { partition_index = part[1], offset = part[2] } end
  return { topics = { topic }, timeout_ms = 10000 }
end

--- { error, low watermark } of partition 0.
local function delete(client, topic, offset, version)
  local answer = client:ask("DeleteRecords", version or NEWEST, body(topic.name, { 0, offset }))
  assert.same({ 1, 1, topic.name }, { #answer.topics, #answer.topics[1].partitions, answer.topics[1].name })
  local part = answer.topics[1].partitions[1]
  assert.equal(0, part.partition_index)
  return { part.error_code, part.low_watermark }
end

local function files(broker, folder, suffix)
  local count = 0
  for name in dirent.files(broker.data .. "/" .. folder) do count = count + (name:sub(-#suffix) == suffix and 1 or 0) end
  return count
end

describe("DeleteRecords", function()
  local broker, client

  before_each(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function topic_of(count, name, configs)
    local topic = requests.create(client, name or "t", { configs = configs })
    for _ = 1, count do requests.append(client, topic, records.batch { records = { "x" } }) end
    return topic
  end

  for version = 0, NEWEST do
    it(("takes offsets up to the high watermark, and -1 for it, in version %d"):format(version), function()
      local topic = topic_of(4)
      for _, case in ipairs { { 0, NONE, 0 }, { 2, NONE, 2 }, { 1, NONE, 2 }, { 5, OUT_OF_RANGE, -1 }, { -2, OUT_OF_RANGE, -1 },
        { 3, NONE, 3 }, { -1, NONE, 4 }, { 4, NONE, 4 }, { 0, NONE, 4 } } do
        assert.same({ case[2], case[3] }, delete(client, topic, case[1], version))
      end
      assert.equal(4, requests.append(client, topic, records.batch()))
    end)
  end

  it("leaves a line in the log for a request that deleted something, and none for others", function()
    local topic = topic_of(4)
    delete(client, topic, 0)
    delete(client, topic, 9)
    assert.not_matches("deleted the records", broker:log())
    delete(client, topic, 3)
    delete(client, topic, 3)
    local _, count = broker:log():gsub("info  deleted the records of t%-0 before offset 3\n", "")
    assert.equal(1, count)
    local wide = requests.create(client, "wide", { partitions = 3 })
    for index = 0, 2 do requests.append(client, wide, records.batch { records = { "x" } }, { partition = index }) end
    client:ask("DeleteRecords", NEWEST, body("wide", { 0, -1 }, { 1, 1 }, { 2, 0 }))
    assert.matches("deleted the records of wide%-0 before offset 1, and of 1 more partition\n", broker:log())
  end)

  it("answers an empty partition with 0, and offset 1 of it with error 1", function()
    local topic = topic_of(0)
    assert.same({ NONE, 0 }, delete(client, topic, -1))
    assert.same({ NONE, 0 }, delete(client, topic, 0))
    assert.same({ OUT_OF_RANGE, -1 }, delete(client, topic, 1))
  end)

  it("answers unknown topics and partitions with error 3", function()
    topic_of(0)
    local answer = client:ask("DeleteRecords", NEWEST, { timeout_ms = 0, topics = {
      { name = "t", partitions = { { partition_index = 1, offset = 0 }, { partition_index = -1, offset = -9 } } },
      { name = "no-such-topic", partitions = { { partition_index = 0, offset = 0 } } },
      { name = "b b", partitions = { { partition_index = 0, offset = 0 } } },
      { name = "", partitions = { { partition_index = 0, offset = 0 } } } } })
    assert.equal(4, #answer.topics)
    for _, topic in ipairs(answer.topics) do
      for _, part in ipairs(topic.partitions) do assert.same({ UNKNOWN, -1 }, { part.error_code, part.low_watermark }) end
    end
  end)

  it("answers a topic that is only compacted with error 44, whatever the offset", function()
    local topic = requests.create(client, "compacted", { configs = { ["cleanup.policy"] = "compact" } })
    for _, offset in ipairs { 0, 9, -7 } do assert.same({ POLICY, -1 }, delete(client, topic, offset)) end
    local both = requests.create(client, "both", { configs = { ["cleanup.policy"] = "compact,delete" } })
    assert.same({ NONE, 0 }, delete(client, both, 0))
    local neither = topic_of(5, "neither", { ["cleanup.policy"] = "" })
    assert.same({ NONE, 3 }, delete(client, neither, 3))
  end)

  it("answers internal topics with error 17", function()
    local name = "__consumer_offsets"
    requests.wait_until("the topic is there", function()
      return client:ask("Metadata", 9, { topics = { { name = name } }, allow_auto_topic_creation = true }).topics[1].error_code == 0
    end)
    assert.same({ INVALID_TOPIC, -1 }, delete(client, { name = name }, 0))
  end)

  it("answers a partition that is named several times once, for the last offset", function()
    topic_of(5)
    local answer = client:ask("DeleteRecords", NEWEST, { timeout_ms = 10000, topics = {
      { name = "t", partitions = { { partition_index = 0, offset = 5 }, { partition_index = 0, offset = 4 } } },
      { name = "other", partitions = {} },
      { name = "t", partitions = { { partition_index = 0, offset = 2 }, { partition_index = 7, offset = 2 } } } } })
    assert.equal(1, #answer.topics)
    assert.same({ { partition_index = 0, low_watermark = 2, error_code = NONE },
      { partition_index = 7, low_watermark = -1, error_code = UNKNOWN } }, answer.topics[1].partitions)
  end)

  it("answers nothing to a request that names nothing", function()
    assert.same({}, client:ask("DeleteRecords", NEWEST, { topics = {}, timeout_ms = 0 }).topics)
    assert.same({}, client:ask("DeleteRecords", NEWEST, { topics = { { name = "t", partitions = {} } }, timeout_ms = 0 }).topics)
  end)

  it("raises the start that Fetch, ListOffsets and Produce tell, inside a batch too", function()
    local topic = requests.create(client, "t")
    requests.append(client, topic, records.batch { records = { "a", "b", "c" } })
    requests.append(client, topic, records.batch { records = { "d" } })
    assert.same({ NONE, 1 }, delete(client, topic, 1))
    assert.equal(OUT_OF_RANGE, requests.fetch(client, topic, { fetch_offset = 0 }).error_code)
    local answer = requests.fetch(client, topic, { fetch_offset = 1 })
    assert.same({ NONE, 1, 4 }, { answer.error_code, answer.log_start_offset, answer.high_watermark })
    -- The batch that holds the offset comes whole; clients skip what lies before it.
    assert.same({ 0, 3 }, records.bases(answer.records))
    assert.same({ 1, 4 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
    assert.equal(1, requests.produce(client, topic, records.batch()).log_start_offset)
  end)

  it("wakes a fetch that waits below, with error 1, and tells sessions the new start", function()
    local topic = topic_of(2)
    local waiting = client:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH,
      { { topic, { { fetch_offset = 1 } } } }, { max_wait_ms = 30000, min_bytes = 1000000 }))
    local other = broker:connect()
    local opened = requests.fetch_all(other, { { topic, { { fetch_offset = 2 } } } }, { session_epoch = 0 })
    assert.same({ NONE, 2 }, delete(other, topic, 2))
    assert.equal(OUT_OF_RANGE, client:answer("Fetch", requests.FETCH, waiting).responses[1].partitions[1].error_code)
    local told = requests.fetch_all(other, {}, { session_id = opened.session_id, session_epoch = 1 })
    assert.equal(2, told.responses[1].partitions[1].log_start_offset)
    other:close()
  end)

  it("of many connections at once is done for each", function()
    local topic = topic_of(40)
    local others, sent = {}, {}
    for i = 1, 40 do
      others[i] = broker:connect()
      sent[i] = others[i]:request("DeleteRecords", NEWEST, body("t", { 0, i }))
    end
    for i = 1, 40 do
      local part = others[i]:answer("DeleteRecords", NEWEST, sent[i]).topics[1].partitions[1]
      assert.equal(NONE, part.error_code)
      assert.is_true(part.low_watermark >= i)
      others[i]:close()
    end
    assert.equal(40, requests.start_offset(client, topic))
  end)

  -- Kafka loses it to a crash within log.flush.start.offset.checkpoint.interval.ms, a minute.
  for _, how in ipairs { "a clean restart", "kill -9" } do
    it("holds over " .. how, function()
      local topic = topic_of(6)
      assert.same({ NONE, 4 }, delete(client, topic, 4))
      client:close()
      if how == "kill -9" then broker:kill() else assert.equal(0, broker:stop()) end
      broker = broker:restart()
      client = broker:connect()
      assert.same({ 4, 6 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
      assert.equal(OUT_OF_RANGE, requests.fetch(client, topic, { fetch_offset = 3 }).error_code)
    end)
  end

  if strace.WORKS then
    it("is not acknowledged when the disk fails that has to keep it", function()
      local topic = topic_of(6)
      strace.count(broker.pid, function() assert.same({ 56, -1 }, delete(client, topic, 4)) end, { "fsync:error=EIO" })
      assert.equal(56, requests.produce(client, topic, records.batch()).error_code)
    end)

    it("is done on a full disk, where it is kept as soon as that has room", function()
      local topic = topic_of(6)
      strace.count(broker.pid, function() assert.same({ NONE, 4 }, delete(client, topic, 4)) end, { "openat:error=ENOSPC" })
      assert.equal(4, requests.start_offset(client, topic))
      assert.same({ NONE, 5 }, delete(client, topic, 5))
      client:close()
      broker:kill()
      broker = broker:restart()
      client = broker:connect()
      assert.equal(5, requests.start_offset(client, topic))
    end)
  end

  it("leaves what producers wrote known: a repeat is no new batch, and sequences go on", function()
    local topic = requests.create(client, "t")
    local function send(sequence)
      local answer = requests.produce(client, topic, records.batch { records = { "x" }, producer_id = 77, producer_epoch = 0,
        sequence = sequence })
      return { answer.error_code, answer.base_offset }
    end
    for i = 0, 5 do assert.same({ NONE, i }, send(i)) end
    assert.same({ NONE, 6 }, delete(client, topic, -1))
    assert.same({ NONE, 5 }, send(5))
    assert.same({ 45, -1 }, send(7))
    assert.same({ NONE, 6 }, send(6))
  end)

  it("closes the connection on a request that ends early, at every length", function()
    assert.is_nil(malformed.first_accepted_prefix(broker, "DeleteRecords", NEWEST, body("t", { 0, 1 })))
  end)
end)

describe("DeleteRecords and retention", function()
  local broker, client

  before_each(function()
    broker = brokers.start { set = { "log_retention_check_interval_ms=20", "producer_id_expiration_ms=1" } }
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("takes the segments wholly below away with the next pass, the active one never", function()
    local topic = requests.create(client, "t", { configs = { ["segment.bytes"] = "1048576", ["file.delete.delay.ms"] = "0" } })
    for _ = 1, 4 do requests.append(client, topic, records.sized(600000)) end
    assert.equal(4, files(broker, "t-0", ".log"))
    assert.same({ NONE, 2 }, delete(client, topic, 2))
    requests.wait_until("two segments are gone", function() return files(broker, "t-0", ".log") == 2 end)
    assert.same({ NONE, 4 }, delete(client, topic, -1))
    requests.wait_until("all but the active one are gone", function() return files(broker, "t-0", ".log") == 1 end)
    assert.same({ 4, 4 }, { requests.start_offset(client, topic), requests.end_offset(client, topic) })
    assert.equal(4, requests.append(client, topic, records.batch()))
  end)

  -- Case X3.
  it("lets a producer go on whose state is gone too", function()
    local topic = requests.create(client, "t")
    local function send(sequence)
      local answer = requests.produce(client, topic, records.batch { records = { "x" }, producer_id = 1, producer_epoch = 0,
        sequence = sequence })
      return { answer.error_code, answer.base_offset }
    end
    -- It may be forgotten at any time here; no sequence is skipped, so that is never noticed.
    for i = 0, 6 do assert.same({ NONE, i }, send(i)) end
    assert.same({ NONE, 7 }, delete(client, topic, -1))
    requests.wait_until("the producer is forgotten", function()
      local answer = requests.produce(client, topic, records.batch { records = { "x" }, producer_id = 1, producer_epoch = 0,
        sequence = 100 })
      return answer.error_code == NONE
    end)
    assert.equal(8, requests.end_offset(client, topic))
  end)
end)
