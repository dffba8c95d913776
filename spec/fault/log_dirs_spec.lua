-- SPDX-License-Identifier: Apache-2.0
-- Data directories that fail, and logs that do not open for a while: what is served meanwhile, and what comes back.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local UNKNOWN, LEADER_NOT_AVAILABLE, STORAGE = 3, 5, 56

local function sh(command) return os.execute(command) == 0 end

local function exists(path) return sh(("test -e '%s'"):format(path)) end

--- Metadata of a topic's partitions: { { error, leader, isr, offline } ... }, by partition from 1.
local function partitions_of(client, name, version)
  local answer = client:ask("Metadata", version or 12, { topics = { { name = name } }, allow_auto_topic_creation = false })
  local out = {}
  for _, part in ipairs(answer.topics[1].partitions) do
    out[part.partition_index + 1] = { part.error_code, part.leader_id, table.concat(part.isr_nodes, ","),
      table.concat(part.offline_replicas or {}, ",") }
  end
  return out
end

--- The same by DescribeTopicPartitions, which has no error for it.
local function pages_of(client, name)
  local answer = client:ask("DescribeTopicPartitions", 0, { topics = { { name = name } },
    response_partition_limit = 100, cursor = wire.NULL })
  local out = {}
  for _, part in ipairs(answer.topics[1].partitions) do
    out[part.partition_index + 1] = { part.error_code, part.leader_id, table.concat(part.isr_nodes, ","),
      table.concat(part.offline_replicas, ",") }
  end
  return out
end

local ONLINE, OFFLINE = { 0, 1, "1", "" }, { LEADER_NOT_AVAILABLE, -1, "", "1" }

describe("A broker with two data directories, one of which fails", function()
  local broker, client, a, b, topic, here, gone

  --- Appends until the log needs a new file.
  local function append_until_it_fails(partition)
    for _ = 1, 30 do
      local answer = requests.produce(client, topic, records.batch { records = { ("x"):rep(100000) } }, { partition = partition })
      if answer.error_code ~= 0 then return answer.error_code end
    end
  end

  local function described()
    local out = {}
    local answer = client:ask("DescribeLogDirs", 5, { topics = { { topic = "t", partitions = { 0, 1, 2, 3 } } } })
    for _, result in ipairs(answer.results) do
      out[result.log_dir == a and "a" or "b"] = result
    end
    return out
  end

  local function move(path, name, partition)
    local answer = client:ask("AlterReplicaLogDirs", 2, { dirs = { { path = path,
      topics = { { name = name, partitions = { partition } } } } } })
    return answer.results[1].partitions[1].error_code
  end

  before_each(function()
    local root = brokers.temp_dir()
    a, b = root .. "/a", root .. "/b"
    broker = brokers.start { data = a, set = { "data=" .. b } }
    client = broker:connect()
    topic = requests.create(client, "t", { partitions = 4, configs = { ["segment.bytes"] = "1048576" } })
    here, gone = nil, nil
    for partition = 0, 3 do
      requests.append(client, topic, records.batch(), { partition = partition })
      if exists(("%s/t-%d"):format(a, partition)) then here = partition else gone = partition end
    end
    assert.equal(0, append_until_it_fails(here) or 0)
    assert(os.rename(b, b .. "-away"))
    assert.equal(STORAGE, append_until_it_fails(gone))
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("answers 56 for its partitions, shows them as offline, and serves the others", function()
    requests.wait_until("the directory is offline", function() return described().b.error_code == STORAGE end)
    for partition = 0, 3 do
      local is_here = exists(("%s/t-%d"):format(a, partition))
      local answer = requests.produce(client, topic, records.batch(), { partition = partition })
      assert.equal(is_here and 0 or STORAGE, answer.error_code)
      assert.equal(is_here and 0 or STORAGE, requests.fetch(client, topic, { partition = partition }).error_code)
      local offsets = client:ask("ListOffsets", 7, { replica_id = -1, topics = { { name = "t",
        partitions = { { partition_index = partition, timestamp = -1 } } } } })
      assert.equal(is_here and 0 or STORAGE, offsets.topics[1].partitions[1].error_code)
      for _, version in ipairs { 5, 9, 12, 13 } do
        assert.same(is_here and ONLINE or OFFLINE, partitions_of(client, "t", version)[partition + 1])
      end
      assert.same(is_here and ONLINE or { 0, -1, "", "1" }, pages_of(client, "t")[partition + 1])
    end
    local out = described()
    assert.equal(0, out.a.error_code)
    assert.is_true(#out.a.topics == 1)
    assert.same({ STORAGE, 0, -1, -1 }, { out.b.error_code, #out.b.topics, tonumber(out.b.total_bytes), tonumber(out.b.usable_bytes) })
    local count = select(2, broker:log():gsub("is offline until the next start", ""))
    assert.equal(1, count)
  end)

  it("moves nothing to it or from it", function()
    assert.same({ STORAGE, STORAGE, STORAGE, STORAGE, UNKNOWN },
      { move(b, "t", here), move(b, "t", gone), move(b, "no", 0), move(a, "t", gone), move(a, "no", 0) })
  end)

  it("makes new topics in the other one, and deletes those that lay in both", function()
    local other = requests.create(client, "new", { partitions = 3 })
    for partition = 0, 2 do
      assert.is_true(exists(("%s/new-%d"):format(a, partition)))
      requests.append(client, other, records.batch(), { partition = partition })
    end
    requests.delete(client, topic)
    topic = requests.create(client, "t", { partitions = 2 })
    for partition = 0, 1 do assert.equal(0, requests.append(client, topic, records.batch(), { partition = partition })) end
  end)

  it("has all records of the failed one when it works again after a restart", function()
    local ends = {}
    for partition = 0, 3 do
      if exists(("%s/t-%d"):format(a, partition)) then ends[partition] = requests.end_offset(client, topic, partition) end
    end
    client:close()
    assert.equal(0, broker:stop())
    assert(os.rename(b .. "-away", b))
    broker = broker:restart()
    client = broker:connect()
    for partition = 0, 3 do
      assert.same(ONLINE, partitions_of(client, "t")[partition + 1])
      local records_end = requests.end_offset(client, topic, partition)
      assert.is_true(records_end >= 1)
      assert.equal(ends[partition] or records_end, records_end)
      assert.equal(records_end, requests.append(client, topic, records.batch(), { partition = partition }))
    end
    assert.is_nil(broker:log():match "stray")
  end)

  it("starts without it while it is no directory that can be used", function()
    client:close()
    assert.equal(0, broker:stop())
    assert(sh(("echo > '%s'"):format(b)))
    broker = broker:restart()
    client = broker:connect()
    for partition = 0, 3 do
      local is_here = exists(("%s/t-%d"):format(a, partition))
      assert.same(is_here and ONLINE or OFFLINE, partitions_of(client, "t")[partition + 1])
    end
    requests.append(client, topic, records.batch(), { partition = here })
    assert.equal(STORAGE, described().b.error_code)
    client:close()
    assert.equal(0, broker:stop())
    assert(sh(("rm '%s' && mv '%s-away' '%s'"):format(b, b, b)))
    broker = broker:restart()
    client = broker:connect()
    for partition = 0, 3 do assert.same(ONLINE, partitions_of(client, "t")[partition + 1]) end
  end)
end)

describe("A topic that is created while there are no file descriptors", function()
  local broker, client, limit

  local function set_limit(count)
    assert(sh(("prlimit --pid %d --nofile=%d:"):format(broker.pid, count)))
  end

  --- Takes all descriptors that are free; those in use stay.
  local function exhaust()
    local pipe = io.popen(("prlimit --pid %d --nofile --noheadings -o SOFT"):format(broker.pid))
    limit = pipe:read "*n"
    pipe:close()
    set_limit(3)
  end

  before_each(function()
    broker = brokers.start()
    client = broker:connect()
  end)
  after_each(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("is offline until there are some, and then served without a restart", function()
    exhaust()
    local topic = requests.create(client, "late", { partitions = 3 })
    for partition = 0, 2 do
      assert.same(OFFLINE, partitions_of(client, "late")[partition + 1])
      assert.equal(STORAGE, requests.produce(client, topic, records.batch(), { partition = partition }).error_code)
    end
    set_limit(limit)
    requests.wait_until("the partitions are open", function()
      for partition = 1, 3 do
        if partitions_of(client, "late")[partition][1] ~= 0 then return false end
      end
      return true
    end)
    for partition = 0, 2 do assert.equal(0, requests.append(client, topic, records.batch(), { partition = partition })) end
  end)

  it("opens with the configs that it was given meanwhile", function()
    exhaust()
    local topic = requests.create(client, "late")
    local answer = client:ask("IncrementalAlterConfigs", 1, { validate_only = false, resources = { { resource_type = 2,
      resource_name = "late", configs = { { name = "cleanup.policy", config_operation = 0, value = "compact" } } } } })
    assert.equal(0, answer.responses[1].error_code)
    set_limit(limit)
    requests.wait_until("the partition is open", function() return partitions_of(client, "late")[1][1] == 0 end)
    local batch = records.batch { records = { { key = "k", value = "v" } } }
    assert.equal(0, requests.append(client, topic, batch))
    -- A log that is compacted refuses DeleteRecords: POLICY_VIOLATION.
    answer = client:ask("DeleteRecords", 2, { timeout_ms = 1000, topics = {
      { name = "late", partitions = { { partition_index = 0, offset = 1 } } } } })
    assert.equal(44, answer.topics[1].partitions[1].error_code)
  end)

  it("can be deleted before, and created again", function()
    exhaust()
    local topic = requests.create(client, "late", { partitions = 3 })
    requests.delete(client, topic)
    set_limit(limit)
    topic = requests.create(client, "late")
    assert.equal(0, requests.append(client, topic, records.batch()))
    assert.same({ ONLINE }, partitions_of(client, "late"))
  end)
end)
