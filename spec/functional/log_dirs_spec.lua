-- SPDX-License-Identifier: Apache-2.0
-- DescribeLogDirs and AlterReplicaLogDirs on a broker with two data directories. What stands here was measured on
-- Apache Kafka 4.4.0.
local brokers = require "spec.support.broker"
local records = require "spec.support.records"
local requests = require "spec.support.requests"
local wire = require "spec.support.wire"

local INVALID_TOPIC, UNKNOWN, STORAGE, NO_DIR = 17, 3, 56, 57

--- Names in a folder that match.
local function names(dir, pattern)
  local pipe = assert(io.popen(("LC_ALL=C ls '%s' 2>/dev/null"):format(dir)))
  local out = {}
  for name in pipe:lines() do
    if name:match(pattern) then out[#out + 1] = name end
  end
  pipe:close()
  return out
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

describe("the data directories", function()
  local broker, client, a, b

  --- DescribeLogDirs: per directory { error, { "topic-partition size lag[ future]" ... } }, by a or b.
  local function described(topics, version)
    local answer = client:ask("DescribeLogDirs", version or 5, { topics = topics })
    local out = {}
    for _, result in ipairs(answer.results) do
      local list = {}
      for _, topic in ipairs(result.topics) do
        for _, part in ipairs(topic.partitions) do
          list[#list + 1] = ("%s-%d %d %d%s"):format(topic.name, part.partition_index, tonumber(part.partition_size),
            tonumber(part.offset_lag), part.is_future_key and " future" or "")
        end
      end
      out[result.log_dir == a and "a" or result.log_dir == b and "b" or result.log_dir] = { result.error_code, list }
    end
    return out, answer
  end

  --- AlterReplicaLogDirs of { path, topic, partitions ... }: { "topic-partition" = error }, and how many entries there are.
  local function alter(list, version)
    local dirs = {}
    for i, item in ipairs(list) do
      dirs[i] = { path = item[1], topics = { { name = item[2], partitions = item[3] } } }
    end
    local answer = client:ask("AlterReplicaLogDirs", version or 2, { dirs = dirs })
    local out, count = {}, 0
    for _, topic in ipairs(answer.results) do
      for _, part in ipairs(topic.partitions) do
        out[("%s-%d"):format(topic.topic_name, part.partition_index)] = part.error_code
        count = count + 1
      end
    end
    return out, count
  end

  --- The directory that a partition lies in, and the other one.
  local function dirs_of(name)
    if exists(("%s/%s/partition.metadata"):format(a, name)) then return a, b end
    return b, a
  end

  --- Waits until a partition lies in a directory, and no old folder of it is left.
  local function wait_moved(name, dir)
    local other = dir == a and b or a
    local pattern = "^" .. name:gsub("%-", "%%-") .. "$"
    requests.wait_until(name .. " lies in " .. dir, function()
      return #names(dir, pattern) == 1 and #names(other, pattern) == 0
    end)
  end

  setup(function()
    local root = brokers.temp_dir()
    a, b = root .. "/a", root .. "/b"
    broker = brokers.start { data = a, set = { "data=" .. b, "log_segment_delete_delay_ms=600000" } }
  end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() client = broker:connect() end)
  after_each(function() client:close() end)

  describe("in DescribeLogDirs", function()
    for version = 0, 5 do
      it(("show sizes of what is asked for, in version %d"):format(version), function()
        local name = "sizes" .. version
        local topic = requests.create(client, name, { partitions = 2 })
        requests.append(client, topic, records.batch { records = { ("x"):rep(100) } })
        local out, answer = described({ { topic = name, partitions = { 0, 1, 9 } }, { topic = "no", partitions = { 0 } } }, version)
        local first = dirs_of(name .. "-0") == a and "a" or "b"
        assert.same({ 0, { name .. "-0 170 0" } }, out[first])
        assert.same({ 0, { name .. "-1 0 0" } }, out[first == "a" and "b" or "a"])
        assert.equal(0, answer.error_code or 0)
        for _, result in ipairs(answer.results) do
          if version >= 4 then
            assert.is_true(tonumber(result.usable_bytes) > 0 and result.total_bytes >= result.usable_bytes)
          end
          assert.equal(version >= 5 and false or nil, version >= 5 and result.is_cordoned or nil)
        end
      end)
    end

    it("show nothing when no topic or no partition is asked for, and all for null", function()
      requests.create(client, "everything", { partitions = 3 })
      assert.same({ a = { 0, {} }, b = { 0, {} } }, (described {}))
      assert.same({ a = { 0, {} }, b = { 0, {} } }, (described { { topic = "everything", partitions = {} } }))
      local out = described(wire.NULL)
      local text = table.concat(out.a[2], "\n") .. "\n" .. table.concat(out.b[2], "\n") .. "\n"
      for partition = 0, 2 do assert.truthy(text:find(("everything-%d 0 0\n"):format(partition), 1, true)) end
    end)

    it("show a partition once that is asked for twice", function()
      requests.create(client, "twice")
      local out = described { { topic = "twice", partitions = { 0, 0 } }, { topic = "twice", partitions = { 0 } } }
      assert.equal(1, #out.a[2] + #out.b[2])
    end)
  end)

  describe("in AlterReplicaLogDirs", function()
    it("are known only as they are configured", function()
      requests.create(client, "paths")
      for _, path in ipairs { "/no/such/dir", a .. "/", a .. "/../a", "", "a", a .. "\0" } do
        assert.same({ ["paths-0"] = NO_DIR, ["paths-9"] = NO_DIR }, (alter { { path, "paths", { 0, 9 } } }))
      end
    end)

    it("need a partition that is there", function()
      requests.create(client, "there")
      local out = alter { { a, "there", { 9, -1 } }, { a, "not-there", { 0 } }, { b, "b b", { 0 } }, { b, "", { 0 } } }
      assert.same({ ["there-9"] = UNKNOWN, ["there--1"] = UNKNOWN, ["not-there-0"] = UNKNOWN, ["b b-0"] = UNKNOWN,
        ["-0"] = UNKNOWN }, out)
    end)

    it("refuse names that are too long for a copy's folder, first of all", function()
      for length, error_code in pairs { [213] = NO_DIR, [214] = INVALID_TOPIC, [249] = INVALID_TOPIC } do
        local name = ("n"):rep(length)
        assert.same({ [name .. "-0"] = error_code }, (alter { { "/no", name, { 0 } } }))
      end
      assert.same({ [("n"):rep(213) .. "-10"] = INVALID_TOPIC }, (alter { { "/no", ("n"):rep(213), { 10 } } }))
    end)

    it("answer nothing when nothing is asked", function()
      for _, list in ipairs { {}, { { a, "x", {} } } } do
        local _, count = alter(list)
        assert.equal(0, count)
      end
    end)

    it("do nothing for a partition that lies there", function()
      requests.create(client, "stays")
      local dir = dirs_of "stays-0"
      assert.same({ ["stays-0"] = 0 }, (alter { { dir, "stays", { 0 } } }))
      assert.same({}, names(a, "^stays.*future"))
      assert.equal(dir, (dirs_of "stays-0"))
    end)

    for version = 0, 2 do
      it(("move a partition with all its records, in version %d"):format(version), function()
        local name = "moves" .. version
        local topic = requests.create(client, name, { configs = { ["segment.bytes"] = "1048576" } })
        for _ = 1, 20 do requests.append(client, topic, records.batch { records = { ("x"):rep(100000) } }) end
        local before = requests.fetch_to_end(client, topic, 0, 0)
        local from, to = dirs_of(name .. "-0")
        assert.same({ [name .. "-0"] = 0 }, (alter({ { to, name, { 0 } } }, version)))
        wait_moved(name .. "-0", to)
        assert.equal(1, #names(from, "^" .. name .. "%-0%.%x+%-delete$"))
        assert.same({}, names(to, "^" .. name .. ".*future"))
        assert.equal(before, requests.fetch_to_end(client, topic, 0, 0))
        assert.equal(20, requests.append(client, topic, records.batch()))
        requests.wait_until("the mark is gone", function() return not exists(to .. "/" .. name .. "-0/luka.moved") end)
      end)
    end

    it("go by the last mention of a partition, and answer it once", function()
      requests.create(client, "mentions")
      local from, to = dirs_of "mentions-0"
      local out, count = alter { { to, "mentions", { 0, 0 } }, { from, "mentions", { 0 } } }
      assert.same({ ["mentions-0"] = 0 }, out)
      assert.equal(1, count)
      assert.equal(from, (dirs_of "mentions-0"))
      alter { { from, "mentions", { 0 } }, { to, "mentions", { 0 } } }
      wait_moved("mentions-0", to)
    end)

    it("remember where a partition is wanted until it is made, once", function()
      for _, dir in ipairs { a, b } do
        local name = dir == a and "wished-a" or "wished-b"
        assert.same({ [name .. "-0"] = UNKNOWN, [name .. "-1"] = UNKNOWN, [name .. "-2"] = UNKNOWN },
          (alter { { dir, name, { 0, 1, 2 } } }))
        local topic = requests.create(client, name, { partitions = 3 })
        for partition = 0, 2 do assert.equal(dir, (dirs_of(("%s-%d"):format(name, partition)))) end
        requests.delete(client, topic)
        requests.create(client, name, { partitions = 3 })
        local there = 0
        for partition = 0, 2 do there = there + (dirs_of(("%s-%d"):format(name, partition)) == dir and 1 or 0) end
        assert.is_true(there < 3)
      end
    end)

    it("move partitions back and forth, with everybody else's requests in between", function()
      local topic = requests.create(client, "back", { partitions = 3 })
      for round = 1, 6 do
        local to = round % 2 == 0 and a or b
        alter { { to, "back", { 0, 1, 2 } } }
        for partition = 0, 2 do
          assert.equal(round - 1, requests.append(client, topic, records.batch(), { partition = partition }))
        end
        for partition = 0, 2 do wait_moved("back-" .. partition, to) end
      end
      for partition = 0, 2 do assert.equal(6, requests.end_offset(client, topic, partition)) end
    end)
  end)

  it("keep moved partitions over a restart, clean or not", function()
    local topic = requests.create(client, "kept", { partitions = 2 })
    local homes = {}
    for partition = 0, 1 do
      requests.append(client, topic, records.batch(), { partition = partition })
      local _, to = dirs_of("kept-" .. partition)
      homes[partition] = to
      alter { { to, "kept", { partition } } }
      wait_moved("kept-" .. partition, to)
    end
    for _, how in ipairs { "stop", "kill" } do
      client:close()
      broker[how](broker)
      broker = broker:restart()
      client = broker:connect()
      for partition = 0, 1 do
        assert.equal(homes[partition], (dirs_of("kept-" .. partition)))
        assert.equal(how == "stop" and 1 or 2, requests.append(client, topic, records.batch(), { partition = partition }))
      end
    end
    assert.is_nil(broker:log():match "stray")
    assert.equal(STORAGE, 56)
  end)
end)
