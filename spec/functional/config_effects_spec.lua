-- SPDX-License-Identifier: Apache-2.0
-- What a change of configs does while the broker runs: at once, to topics that are written and read, on both sides of
-- the change.
local brokers = require "spec.support.broker"
local configs = require "spec.support.configs"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local BROKER, SET, DELETE = configs.BROKER, configs.SET, configs.DELETE
local HOUR = 3600000

describe("A change of a topic's configs takes effect at once:", function()
  local broker, client, count

  setup(function()
    broker = brokers.start { set = { "log_retention_check_interval_ms=20" } }
    client, count = broker:connect(), 0
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  local function topic(of)
    count = count + 1
    return requests.create(client, "topic-" .. count, { configs = of })
  end

  local function append(of, batch) return requests.append(client, of, batch) end
  local function code(of, batch) return requests.produce(client, of, batch).error_code end

  --- Runs a command on a partition's folder; its output.
  local function inspect(of, command)
    local pipe = io.popen(("cd '%s/%s-0' && %s"):format(broker.data, of.name, command))
    local text = pipe:read "*a"
    pipe:close()
    return text
  end
  local function segments(of) return tonumber(inspect(of, "ls | grep -c '\\.log$'")) end

  --- Appends so many batches of 400 KB, of which two fit into a segment of 1 MiB.
  local function fill(of, batches)
    for _ = 1, batches do append(of, records.sized(400000)) end
  end

  it("segment.bytes", function()
    local a = topic()
    fill(a, 4)
    assert.equal(1, segments(a))
    configs.set(client, a, { ["segment.bytes"] = "1048576" })
    fill(a, 3)
    assert.equal(3, segments(a))
    configs.set(client, a, { ["segment.bytes"] = false })
    fill(a, 4)
    assert.equal(3, segments(a))
  end)

  it("internal.segment.bytes, before segment.bytes and below its least value", function()
    local a = topic { ["internal.segment.bytes"] = "1000", ["segment.bytes"] = "1048576" }
    for _ = 1, 3 do append(a, records.sized(600)) end
    assert.equal(3, segments(a))
    configs.set(client, a, { ["internal.segment.bytes"] = false })
    for _ = 1, 3 do append(a, records.sized(600)) end
    assert.equal(3, segments(a))
  end)

  it("segment.ms", function()
    local a = topic()
    local now = os.time() * 1000
    append(a, records.batch { ts = now - 5 * HOUR })
    append(a, records.batch { ts = now - 3 * HOUR })
    assert.equal(1, segments(a))
    configs.set(client, a, { ["segment.ms"] = tostring(HOUR) })
    append(a, records.batch { ts = now - HOUR })
    assert.equal(2, segments(a))
    append(a, records.batch { ts = now - HOUR / 2 })
    assert.equal(2, segments(a))
  end)

  it("segment.jitter.ms", function()
    -- Up to all of segment.ms is taken off, half of it on average: twice as many segments.
    local a = topic { ["segment.ms"] = tostring(10 * HOUR) }
    local now = os.time() * 1000 - 2000 * HOUR
    for i = 1, 110 do append(a, records.batch { ts = now + i * HOUR }) end
    assert.equal(10, segments(a))
    configs.set(client, a, { ["segment.jitter.ms"] = tostring(10 * HOUR) })
    for i = 111, 660 do append(a, records.batch { ts = now + i * HOUR }) end
    assert.is_true(segments(a) > 10 + 60, segments(a)) -- 50 without
  end)

  it("segment.index.bytes and index.interval.bytes", function()
    local a = topic()
    local function entries(first) return tonumber(inspect(a, ("stat -c %%s %020d.index"):format(first))) / 8 end
    --- Begins a new segment: the index of the one before is whole then.
    local function roll(ts)
      configs.set(client, a, { ["segment.ms"] = "1" })
      append(a, records.batch { ts = ts })
      configs.set(client, a, { ["segment.ms"] = false })
    end
    for _ = 1, 20 do append(a, records.batch()) end
    roll(2000)
    assert.equal(0, entries(0))
    configs.set(client, a, { ["index.interval.bytes"] = "0" })
    for _ = 1, 5 do append(a, records.batch { ts = 2000 }) end
    roll(3000)
    assert.same({ 0, 5 }, { entries(0), entries(20) })
    configs.set(client, a, { ["segment.index.bytes"] = "16" })
    roll(4000) -- an index has the size that it was made with: the next segment's is smaller
    assert.equal(4, segments(a))
    for _ = 1, 6 do append(a, records.batch { ts = 4000 }) end
    assert.is_true(segments(a) >= 6, segments(a))
  end)

  it("max.message.bytes", function()
    local a = topic()
    append(a, records.sized(2000))
    configs.set(client, a, { ["max.message.bytes"] = "1000" })
    assert.equal(10, code(a, records.sized(1001)))
    append(a, records.sized(1000))
    configs.set(client, a, { ["max.message.bytes"] = "1001" })
    append(a, records.sized(1001))
  end)

  it("message.timestamp.type", function()
    local a = topic()
    assert.equal(-1, requests.produce(client, a, records.batch { ts = 1000 }).log_append_time_ms)
    configs.set(client, a, { ["message.timestamp.type"] = "LogAppendTime" })
    local answer = requests.produce(client, a, records.batch { ts = 1000 })
    assert.is_true(math.abs(answer.log_append_time_ms - os.time() * 1000) < 60000)
    configs.set(client, a, { ["message.timestamp.type"] = "CreateTime" })
    assert.equal(-1, requests.produce(client, a, records.batch { ts = 1000 }).log_append_time_ms)
    local read = records.read(requests.fetch_to_end(client, a, 0))
    assert.same({ 1000, answer.log_append_time_ms, 1000 }, { read[1].timestamp, read[2].timestamp, read[3].timestamp })
  end)

  it("message.timestamp.before.max.ms and message.timestamp.after.max.ms", function()
    local a = topic()
    local now = os.time() * 1000
    append(a, records.batch { ts = now - 10 * HOUR })
    assert.equal(32, code(a, records.batch { ts = now + 2 * HOUR }))
    configs.set(client, a, { ["message.timestamp.before.max.ms"] = tostring(HOUR),
      ["message.timestamp.after.max.ms"] = tostring(3 * HOUR) })
    assert.equal(32, code(a, records.batch { ts = now - 2 * HOUR }))
    append(a, records.batch { ts = now + 2 * HOUR })
    append(a, records.batch { ts = now - HOUR / 2 })
  end)

  it("compression.type and its levels", function()
    local a = topic()
    local text = { (records.noise(3000, 1) .. ("abc"):rep(9000)):rep(3) }
    local function stored(batch)
      local offset = append(a, batch)
      local list = records.parse(requests.fetch_to_end(client, a, offset))
      assert.equal(text[1], records.read(list[1].bytes)[1].value)
      return list[1]
    end
    assert.equal(records.NONE, stored(records.batch { records = text }).codec)
    configs.set(client, a, { ["compression.type"] = "gzip", ["compression.gzip.level"] = "1" })
    local fast = stored(records.batch { records = text })
    assert.equal(records.GZIP, fast.codec)
    configs.set(client, a, { ["compression.gzip.level"] = "9" })
    local small = stored(records.batch { records = text })
    assert.is_true(small.size < fast.size, small.size .. " and " .. fast.size)
    configs.set(client, a, { ["compression.type"] = "uncompressed" })
    assert.equal(records.NONE, stored(records.batch { records = text, codec = records.LZ4 }).codec)
    configs.set(client, a, { ["compression.type"] = "producer" })
    assert.equal(records.LZ4, stored(records.batch { records = text, codec = records.LZ4 }).codec)
  end)

  it("retention.bytes", function()
    local a, other = topic { ["segment.bytes"] = "1048576" }, topic { ["segment.bytes"] = "1048576" }
    fill(a, 6)
    fill(other, 6)
    configs.set(client, a, { ["retention.bytes"] = "700000" })
    requests.wait_until("old segments have gone", function() return requests.start_offset(client, a) == 4 end)
    assert.equal(0, requests.start_offset(client, other))
    configs.set(client, a, { ["retention.bytes"] = "-1" })
    fill(a, 4)
    assert.equal(4, requests.start_offset(client, a))
  end)

  it("retention.ms", function()
    local a, other = topic { ["segment.bytes"] = "1048576" }, topic { ["segment.bytes"] = "1048576" }
    fill(a, 6) -- with times of 1970
    fill(other, 6)
    configs.set(client, a, { ["retention.ms"] = tostring(HOUR) })
    requests.wait_until("old segments have gone", function() return requests.start_offset(client, a) == 6 end)
    assert.equal(0, requests.start_offset(client, other))
  end)

  it("cleanup.policy", function()
    local a = topic { ["segment.bytes"] = "1048576", ["cleanup.policy"] = "", ["retention.bytes"] = "700000" }
    fill(a, 6)
    configs.set(client, a, { ["cleanup.policy"] = "compact" })
    assert.equal(87, code(a, records.batch { records = { "no key" } }))
    append(a, records.batch { records = { { key = "k", value = "v" } } })
    assert.equal(0, requests.start_offset(client, a))
    configs.set(client, a, { ["cleanup.policy"] = "delete" })
    append(a, records.batch { records = { "no key" } })
    requests.wait_until("old segments have gone", function() return requests.start_offset(client, a) == 4 end)
  end)

  it("file.delete.delay.ms", function()
    local a = topic { ["segment.bytes"] = "1048576", ["file.delete.delay.ms"] = "3600000" }
    local function deleted() return tonumber(inspect(a, "ls | grep -c '\\.log.deleted$'")) end
    fill(a, 6)
    configs.set(client, a, { ["retention.bytes"] = "1500000" })
    requests.wait_until("a segment has gone", function() return requests.start_offset(client, a) == 2 end)
    assert.equal(1, deleted())
    configs.set(client, a, { ["retention.bytes"] = "700000", ["file.delete.delay.ms"] = "0" })
    requests.wait_until("another one has", function() return requests.start_offset(client, a) == 4 end)
    requests.wait_until("its file has gone", function() return deleted() == 1 end)
    assert.truthy(inspect(a, "ls"):find("00000000000000000000.log.deleted", 1, true))
  end)

  it("preallocate", function()
    local a = topic { ["segment.bytes"] = "1048576" }
    local function blocks(name) return tonumber((inspect(a, ("stat -c %%b %020d.log"):format(name)))) * 512 end
    fill(a, 3)
    assert.is_true(blocks(2) < 1000000)
    configs.set(client, a, { ["preallocate"] = "true" })
    fill(a, 2)
    assert.is_true(blocks(4) >= 1048576)
  end)

  it("luka.validate", function()
    local a = topic()
    local lie = { records = { "a" }, codec = records.GZIP, count = 2, last_delta = 1 }
    append(a, records.batch(lie))
    configs.set(client, a, { ["luka.validate"] = "full" })
    assert.equal(87, code(a, records.batch(lie)))
    configs.set(client, a, { ["luka.validate"] = false })
    append(a, records.batch(lie))
  end)

  it("luka.validate of the broker, for topics that do not say otherwise", function()
    local a, own = topic(), topic { ["luka.validate"] = "header" }
    local lie = { records = { "a" }, codec = records.GZIP, count = 2, last_delta = 1 }
    configs.alter(client, BROKER, "", { { "luka.validate", SET, "full" } })
    assert.equal(87, code(a, records.batch(lie)))
    append(own, records.batch(lie))
    local value, source = configs.shown(client, configs.TOPIC, a.name, "luka.validate")
    assert.same({ "full", configs.FROM_ALL }, { value, source })
    configs.alter(client, BROKER, "", { { "luka.validate", DELETE } })
    append(a, records.batch(lie))
    assert.is_nil(configs.shown(client, configs.TOPIC, a.name, "luka.validate"))
  end)

  it("min.insync.replicas, of which one broker cannot have more than one", function()
    local a = topic()
    configs.set(client, a, { ["min.insync.replicas"] = "2" })
    assert.equal("2", (configs.shown(client, configs.TOPIC, a.name, "min.insync.replicas")))
    append(a, records.batch()) -- as on Apache Kafka 4.4.0
  end)

  it("all partitions have it, and no write is lost meanwhile", function()
    local a = requests.create(client, "wide", { partitions = 50 })
    local other = broker:connect()
    for round = 1, 20 do
      for part = 0, 49 do requests.send_produce(other, a, records.batch(), { partition = part }) end
      configs.set(client, a, { ["max.message.bytes"] = tostring(1000 + round) })
    end
    requests.wait_until("all is written", function()
      for part = 0, 49 do if requests.end_offset(client, a, part) ~= 20 then return false end end
      return true
    end)
    other:close()
    for part = 0, 49 do
      assert.equal(10, requests.produce(client, a, records.sized(1021), { partition = part }).error_code)
      assert.equal(0, requests.produce(client, a, records.sized(1020), { partition = part }).error_code)
    end
  end)
end)

describe("A change of a broker's configs takes effect at once:", function()
  local broker, client, plain, own

  setup(function()
    broker = brokers.start { set = { "log_retention_check_interval_ms=20", "workers=1" } }
    client = broker:connect()
    plain = requests.create(client, "plain")
    own = requests.create(client, "own", { configs = { ["max.message.bytes"] = "5000", ["segment.bytes"] = "1073741824" } })
  end)
  teardown(function()
    client:close()
    assert.equal(0, broker:stop())
  end)

  it("message.max.bytes, on topics that do not set their own", function()
    requests.append(client, plain, records.sized(2000))
    configs.alter(client, BROKER, "", { { "message.max.bytes", SET, "1000" } })
    assert.equal(10, requests.produce(client, plain, records.sized(1001)).error_code)
    requests.append(client, own, records.sized(5000))
    configs.alter(client, BROKER, "1", { { "message.max.bytes", SET, "1500" } })
    requests.append(client, plain, records.sized(1500))
    assert.equal(10, requests.produce(client, plain, records.sized(1501)).error_code)
    configs.alter(client, BROKER, "1", { { "message.max.bytes", DELETE } })
    assert.equal(10, requests.produce(client, plain, records.sized(1001)).error_code)
    configs.alter(client, BROKER, "", { { "message.max.bytes", DELETE } })
    requests.append(client, plain, records.sized(2000))
  end)

  it("log.segment.bytes and log.retention.bytes, on topics that do not set their own", function()
    configs.alter(client, BROKER, "", { { "log.segment.bytes", SET, "1048576" }, { "log.retention.bytes", SET, "900000" } })
    configs.set(client, own, { ["max.message.bytes"] = false })
    for _ = 1, 6 do
      for _, topic in ipairs { plain, own } do requests.append(client, topic, records.sized(400000)) end
    end
    requests.wait_until("old segments have gone", function() return requests.start_offset(client, plain) > 0 end)
    assert.equal(0, requests.start_offset(client, own))
    configs.alter(client, BROKER, "", { { "log.segment.bytes", DELETE }, { "log.retention.bytes", DELETE } })
  end)

  it("log.message.timestamp.type and compression.type", function()
    configs.alter(client, BROKER, "1", { { "log.message.timestamp.type", SET, "LogAppendTime" }, { "compression.type", SET, "zstd" } })
    local answer = requests.produce(client, plain, records.batch())
    assert.is_true(answer.log_append_time_ms > 0)
    local stored = records.parse(requests.fetch_to_end(client, plain, answer.base_offset))
    assert.equal(records.ZSTD, stored[1].codec)
    configs.alter(client, BROKER, "1", { { "log.message.timestamp.type", DELETE }, { "compression.type", DELETE } })
    assert.equal(-1, requests.produce(client, plain, records.batch()).log_append_time_ms)
  end)

  it("max.connections", function()
    configs.alter(client, BROKER, "", { { "max.connections", SET, "2" } })
    local second, third = broker:connect(), broker:connect()
    assert.is_truthy(second:ask("Metadata", 9, { topics = {} }))
    local id = third:request("Metadata", 9, { topics = {} })
    requests.wait_until("the third waits", function()
      return broker:log():find("new connections wait: max.connections (2) are open", 1, true)
    end)
    configs.alter(client, BROKER, "", { { "max.connections", DELETE } })
    assert.is_truthy(third:answer("Metadata", 9, id))
    second:close()
    third:close()
  end)

  it("producer.id.expiration.ms", function()
    local id = client:ask("InitProducerId", 4,
      { transactional_id = requests.NULL, transaction_timeout_ms = 60000, producer_id = -1, producer_epoch = -1 }).producer_id
    local function send(sequence)
      return requests.produce(client, plain, records.batch { producer_id = id, producer_epoch = 0, sequence = sequence }).error_code
    end
    assert.equal(0, send(0))
    assert.equal(45, send(7)) -- out of order: the producer is known
    configs.alter(client, BROKER, "1", { { "producer.id.expiration.ms", SET, "1" } })
    requests.wait_until("the producer is forgotten", function() return send(7) == 0 end)
    configs.alter(client, BROKER, "1", { { "producer.id.expiration.ms", DELETE } })
  end)
end)

describe("A topic block of config.lua", function()
  it("sets its configs again only when it has changed", function()
    local dir = brokers.temp_dir()
    local path = dir .. "/config.lua"
    local function write(retention)
      local file = assert(io.open(path, "wb"))
      file:write(('topic "t" { partitions = 1, retention_ms = %d }\n'):format(retention))
      file:close()
    end
    local function retention(client) return (configs.shown(client, configs.TOPIC, "t", "retention.ms")) end
    write(1000)
    local broker = brokers.start { config = path }
    local client = broker:connect()
    assert.equal("1000", retention(client))
    configs.set(client, "t", { ["retention.ms"] = "2000", ["segment.ms"] = "77" })
    client:close()
    assert.equal(0, broker:stop())

    broker = broker:restart()
    client = broker:connect()
    assert.equal("2000", retention(client))
    client:close()
    assert.equal(0, broker:stop())

    write(3000)
    broker = broker:restart()
    client = broker:connect()
    assert.equal("3000", retention(client))
    assert.equal("77", (configs.shown(client, configs.TOPIC, "t", "segment.ms")))
    client:close()
    assert.equal(0, broker:stop())
  end)

  for _, partitions in ipairs { 1, 2 } do
    it(("that has changed holds for the log at once, with %d of its partitions new"):format(partitions - 1), function()
      local dir = brokers.temp_dir()
      local path, data = dir .. "/config.lua", dir .. "/data"
      local function write(text)
        local file = assert(io.open(path, "wb"))
        file:write(text)
        file:close()
      end
      local function segments()
        local pipe = io.popen(("ls '%s/t-0' | grep -c '[.]log$'"):format(data))
        local count = tonumber(pipe:read "*l")
        pipe:close()
        return count
      end
      local function append(client)
        local topic = requests.find(client, "t")
        for _ = 1, 3 do requests.append(client, topic, records.batch { records = { ("x"):rep(600000) } }) end
      end
      write 'topic "t" { partitions = 1 }\n'
      local broker = brokers.start { config = path, data = data }
      local client = broker:connect()
      append(client)
      assert.equal(1, segments())
      client:close()
      assert.equal(0, broker:stop())

      write(('topic "t" { partitions = %d, segment_bytes = 1048576 }\n'):format(partitions))
      broker = broker:restart()
      client = broker:connect()
      append(client)
      assert.equal(4, segments())
      assert.equal(6, requests.end_offset(client, requests.find(client, "t")))
      client:close()
      assert.equal(0, broker:stop())
    end)
  end
end)
