-- SPDX-License-Identifier: Apache-2.0
-- The console's words that show the broker's inside: segments, what retention plans, connections, metrics.
local brokers = require "spec.support.broker"
local console_of = require "spec.support.console"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local HOUR = 3600000

local function now_ms() return os.time() * 1000 end

--- Evaluates an expression; the rows of a list, the fields of a record, or a plain value.
local function show(console, source)
  local result = console:eval(source)
  if not result.ok then error(source .. ": " .. result.error, 2) end
  local frame = result.values[1]
  return frame.kind == "list" and frame.rows or frame.value, result
end

--- One field of each row.
local function column(rows, name)
  local out = {}
  for i, row in ipairs(rows) do out[i] = row[name] end
  return out
end

describe("The console's view of the inside", function()
  local broker, client, console, count

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client, count = broker:connect(), 0
    console = console_of.connect(broker.data .. "/console.sock")
  end)
  teardown(function()
    client:close()
    console:close()
    assert.equal(0, broker:stop())
  end)

  --- A topic whose segments hold half an hour of records, and one record for each age in hours.
  local function topic(configs, ages, partitions)
    count = count + 1
    configs["segment.ms"] = tostring(HOUR / 2)
    local made = requests.create(client, "topic-" .. count, { configs = configs, partitions = partitions })
    for _, age in ipairs(ages) do
      requests.append(client, made, records.batch { ts = now_ms() - age * HOUR, records = { ("x"):rep(500) } })
    end
    return made
  end

  local function plan(of, partition)
    return show(console, ('topic "%s":retention_plan(%s)'):format(of.name, partition or ""))
  end

  for _, file in ipairs { "segments", "inspect", "traffic", "compaction" } do
    for _, entry in ipairs(require("luka.words." .. file).entries) do
      it(("has an example of %s that works"):format(entry.name), function()
        for _, source in ipairs { entry.setup or "return", entry.example } do
          local result = console:eval(source)
          assert.is_true(result.ok, result.error)
        end
        console:eval 'topic "clicks":delete()'
      end)
    end
  end

  describe("of segments", function()
    it("shows their offsets, size, age and file", function()
      local made = topic({}, { 5, 3, 1 })
      local rows = show(console, ('topic "%s":segments()'):format(made.name))
      assert.same({ 0, 1, 2 }, column(rows, "base_offset"))
      assert.same({ 1, 2, 3 }, column(rows, "next_offset"))
      assert.same({ false, false, true }, column(rows, "active"))
      for i, age in ipairs { 5, 3, 1 } do
        local file = assert(io.open(rows[i].path, "rb"))
        assert.equal(file:seek "end", rows[i].size_bytes)
        file:close()
        assert.is_true(math.abs(rows[i].age_ms - age * HOUR) < 60000)
        assert.is_true(math.abs(rows[i].newest_time - (now_ms() - age * HOUR)) < 60000)
      end
    end)

    it("shows one partition, or all that are here", function()
      local made = topic({}, { 1 }, 3)
      assert.same({ 0, 1, 2 }, column(show(console, ('topic "%s":segments()'):format(made.name)), "partition"))
      assert.same({ 2 }, column(show(console, ('topic "%s":segments(2)'):format(made.name)), "partition"))
    end)

    it("says which partitions there are when one is not", function()
      local made = topic({}, {}, 3)
      local result = console:eval(('topic "%s":segments(3)'):format(made.name))
      assert.equal(('topic "%s" has no partition 3, only 0 to 2'):format(made.name), result.error)
      result = console:eval(('topic "%s":segments "x"'):format(made.name))
      assert.equal('segments: partition: got "x", expected a whole number from 0 to 2147483647', result.error)
    end)

    it("says that a topic is gone", function()
      local made = topic({}, { 1 })
      console:eval(('gone = topic "%s"'):format(made.name))
      requests.delete(client, made)
      local result = console:eval "gone:segments()"
      assert.equal("UNKNOWN_TOPIC_OR_PARTITION", result.code)
      assert.equal(('there is no topic "%s"'):format(made.name), result.error)
    end)

    it("shows the offsets of the logs", function()
      local made = topic({}, { 5, 3, 1 }, 2)
      client:ask("DeleteRecords", 2, { timeout_ms = 30000, topics = { { name = made.name, partitions = {
        { partition_index = 0, offset = 2 } } } } })
      local rows = show(console, ('topic "%s":logs()'):format(made.name))
      assert.same({ 0, 1 }, column(rows, "partition"))
      local log = rows[1]
      assert.same({ "leader", 2, 3, 3, 3 },
        { log.role, log.log_start_offset, log.high_watermark, log.end_offset, log.segments })
      assert.equal(("%s/%s-0"):format(broker.data, made.name), log.path)
    end)
  end)

  describe("of retention", function()
    it("names the rule and the time for each segment", function()
      local made = topic({ ["retention.ms"] = tostring(4 * HOUR) }, { 6, 5, 3, 1 })
      local rows = plan(made)
      assert.same({ true, true, false, false }, column(rows, "goes"))
      assert.same({ "retention_ms", "retention_ms", "retention_ms", "retention_ms" }, column(rows, "rule"))
      assert.same({ "older than 4 hours", "older than 4 hours", "not older than 4 hours yet", "not older than 4 hours yet" },
        column(rows, "why"))
      -- The first pass is made half a minute after the start, then one every five minutes.
      assert.is_true(rows[1].due_time <= now_ms() + 31000)
      for i, hours in ipairs { [3] = 1, [4] = 3 } do
        local late = rows[i].due_time - (now_ms() + hours * HOUR)
        assert.is_true(late > -60000 and late < 360000, late)
      end
    end)

    it("names sizes, the log start offset, and what never goes", function()
      local made = topic({ ["retention.bytes"] = "1200" }, { 6, 5, 3, 1 })
      local rows = plan(made)
      assert.same({ "retention_bytes", "retention_bytes", "retention_bytes", "active" }, column(rows, "rule"))
      assert.same({ true, false, false, false }, column(rows, "goes"))
      assert.equal("the newer segments alone have 1.2 KiB", rows[1].why)
      assert.is_nil(rows[2].due_time)

      made = topic({}, { 6, 1 })
      console:eval(('topic "%s":set { cleanup_policy = "compact" }'):format(made.name))
      assert.same({ "cleanup_policy", "cleanup_policy" }, column(plan(made), "rule"))

      made = topic({}, { 6, 5, 1 })
      client:ask("DeleteRecords", 2, { timeout_ms = 30000, topics = { { name = made.name, partitions = {
        { partition_index = 0, offset = 2 } } } } })
      rows = plan(made)
      assert.same({ "log_start_offset", "log_start_offset", "no limit" }, column(rows, "rule"))
      assert.equal("before the log start offset 2", rows[1].why)
      assert.equal("neither retention_ms nor retention_bytes sets a limit", rows[3].why)
    end)

    it("follows a change of configs at once", function()
      local made = topic({ ["retention.ms"] = tostring(HOUR / 2) }, { 2, 1 })
      assert.same({ true, true }, column(plan(made), "goes"))
      console:eval(('topic "%s":set { retention_ms = hours(3) }'):format(made.name))
      assert.same({ false, false }, column(plan(made), "goes"))
    end)
  end)

  describe("of connections", function()
    local function connection(of) return show(console, ("connections %q"):format(of)) end

    it("shows who a client is and what it did", function()
      local other = broker:connect()
      other:ask("ApiVersions", 3, { client_software_name = "spec", client_software_version = "1.2" },
        { client_id = "inspector" })
      local rows = connection "inspector"
      assert.equal(1, #rows)
      local one = rows[1]
      assert.same({ "inspector", "spec 1.2", "PLAINTEXT", 1, 0 },
        { one.client_id, one.software, one.listener, one.requests, one.unanswered })
      assert.is_true(one.received_bytes > 20 and one.sent_bytes > 100)
      assert.matches("^127%.0%.0%.1:%d+$", one.peer)
      assert.is_nil(one.request)
      assert.same({ one.id }, column(connection(one.peer), "id"))
      other:close()
      requests.wait_until("the connection is gone", function() return #connection "inspector" == 0 end)
    end)

    it("shows the request that is waiting", function()
      local made = topic({}, {})
      local other = broker:connect()
      other:request("Fetch", requests.FETCH, requests.fetch_body(requests.FETCH, { { made, { {} } } },
        { max_wait_ms = 600000, min_bytes = 1 }), { client_id = "waiter" })
      requests.wait_until("the fetch waits", function()
        local one = connection("waiter")[1]
        return one and one.request == "Fetch v18" and one.unanswered == 1 and one.request_ms >= 0
      end)
      requests.append(client, made, records.batch {})
      assert.is_truthy(other:receive_frame())
      assert.equal(0, connection("waiter")[1].unanswered)
      other:close()
    end)

    it("leaves out the console's own", function()
      console:eval "topics()"
      for _, one in ipairs(show(console, "connections()")) do assert.matches("^127%.", one.peer) end
    end)

    it("wants a text", function()
      assert.equal('connections: got 5, expected a part of an address or a name: "127.0.0.1"',
        console:eval("connections(5)").error)
    end)
  end)

  describe("of metrics", function()
    local function metric(name) return (show(console, ("metrics(%q)[%q]"):format(name, name))) end

    it("has sections, in order", function()
      local value, result = show(console, "metrics()")
      assert.equal("record", result.values[1].kind)
      local seen = {}
      for _, name in ipairs(result.values[1].fields) do
        local section = name:match "^[^.]+"
        if seen[#seen] ~= section and section ~= "error" then seen[#seen + 1] = section end
      end
      assert.same({ "process", "network", "memory", "request", "partition", "log", "cleaner", "group", "pool", "policy",
        "probe", "script" }, seen)
      assert.is_true(value["process.memory_bytes"] > 1000000)
      assert.is_true(value["process.uptime_ms"] >= 0)
      assert.is_true(value["script.memory_bytes"] < value["script.memory_limit_bytes"])
      assert.equal(0, value["partition.offline"])
    end)

    it("counts requests, and the errors in their answers", function()
      local made = topic({}, {})
      local before = { metric "request.Produce.count", metric "request.Produce.errors" }
      for _ = 1, 3 do requests.append(client, made, records.batch {}) end
      assert.equal(3, requests.produce(client, made, records.batch {}, { partition = 7 }).error_code)
      requests.send_produce(client, made, records.batch {}, { acks = 0 })
      requests.end_offset(client, made) -- comes after it
      assert.same({ before[1] + 5, before[2] + 1 }, { metric "request.Produce.count", metric "request.Produce.errors" })
      assert.is_true(metric "error.UNKNOWN_TOPIC_OR_PARTITION.count" >= 1)
    end)

    it("counts what is appended, by topic", function()
      local made = topic({}, {}, 2)
      local before = metric "log.appended_records"
      requests.append(client, made, records.batch { records = { "a", "b", "c" } })
      requests.append(client, made, records.batch { records = { "d" } }, { partition = 1 })
      assert.equal(before + 4, metric "log.appended_records")
      local value = show(console, ("metrics %q"):format(made.name))
      local function of(name) return value[("topic.%s.%s"):format(made.name, name)] end
      assert.same({ 2, 4, 2 }, { of "partitions", of "appended_records", of "appended_batches" })
      assert.equal(of "size_bytes", of "appended_bytes")
      requests.delete(client, made)
      assert.equal(before + 4, metric "log.appended_records")
      assert.is_false(console:eval(("metrics %q"):format(made.name .. ".")).ok)
    end)

    it("counts what was acknowledged once it was on disk, and the syncs that this took", function()
      local async, sync = topic({}, {}), topic({ ["luka.producer.type"] = "sync" }, {})
      local before = { metric "log.synced_appends", metric "log.syncs" }
      for _ = 1, 3 do requests.append(client, async, records.batch {}) end
      assert.same(before, { metric "log.synced_appends", metric "log.syncs" })
      for _ = 1, 3 do requests.append(client, sync, records.batch {}) end
      assert.same({ before[1] + 3, before[2] + 3 }, { metric "log.synced_appends", metric "log.syncs" })
    end)

    it("does not count a batch that is sent again", function()
      local made = topic({}, {})
      local batch = records.batch { producer_id = 5, producer_epoch = 0, sequence = 0 }
      requests.append(client, made, batch)
      requests.append(client, made, batch)
      assert.equal(1, metric(("topic.%s.appended_records"):format(made.name)))
    end)

    it("counts connections and bytes", function()
      local before = metric "network.received_bytes"
      local other = broker:connect()
      other:ask("ApiVersions", 3, { client_software_name = "a", client_software_version = "1" })
      assert.is_true(metric "network.received_bytes" > before)
      assert.is_true(metric "network.connections" >= 2)
      other:close()
    end)

    it("counts what is no request", function()
      local before = metric "request.refused"
      local other = broker:connect()
      other:send_frame("\1\2\3\4\5\6\7\8\9\10")
      other:receive_end()
      assert.equal(before + 1, metric "request.refused")
    end)

    it("are chosen by a part of a name, whatever its case, or by a pattern", function()
      for _, part in ipairs { "produce", "PRODUCE", "^request%.Produce%." } do
        local value = show(console, ("metrics %q"):format(part))
        assert.is_truthy(value["request.Produce.count"])
        assert.is_nil(value["process.uptime_ms"])
      end
      for _, part in ipairs { "[", "p[", "net%f", "%1" } do
        assert.equal(('metrics: no name has "%s" in it; metrics() lists them'):format(part),
          console:eval(("metrics %q"):format(part)).error)
      end
      assert.equal('metrics: got a table, expected a part of a name: "produce"', console:eval("metrics {}").error)
    end)
  end)
end)

describe("A broker whose inside is looked at all the time", function()
  it("stops as always", function()
    local broker = brokers.start { set = { "workers=2" } }
    local client, consoles = broker:connect(), {}
    requests.create(client, "t")
    for i, word in ipairs { "metrics()", "connections()", 'topic "t":segments()' } do
      consoles[i] = console_of.connect(broker.data .. "/console.sock")
      consoles[i]:start(("while true do local _ = %s rounds = (rounds or 0) + 1 if rounds == 20 then print(rounds) end end")
        :format(word))
    end
    for _, console in ipairs(consoles) do assert.equal("20", console:receive().text) end
    assert.equal(0, broker:stop())
    for _, console in ipairs(consoles) do console:close() end
    client:close()
  end)
end)

describe("A partition whose disk has failed", function()
  it("is told of, and has no segments", function()
    local root = brokers.temp_dir()
    local broker = brokers.start { data = root .. "/a", set = { "data=" .. root .. "/b" } }
    local client = broker:connect()
    local made = requests.create(client, "t", { partitions = 2, configs = { ["segment.bytes"] = "1048576" } })
    local console = console_of.connect(broker.data .. "/console.sock")
    local failed = show(console, 'topic "t":logs()')[1].path:find("/b/", 1, true) and 0 or 1
    assert(os.rename(root .. "/b", root .. "/b-away"))
    requests.wait_until("the disk has failed", function()
      return requests.produce(client, made, records.sized(600000), { partition = failed }).error_code ~= 0
    end)
    local rows, result = show(console, 'topic "t":segments()')
    assert.equal(("partition %d is offline: its disk failed, or its log did not open\n"):format(failed), result.printed)
    assert.same({ 1 - failed }, column(rows, "partition"))
    local logs = show(console, 'topic "t":logs()')
    assert.equal("offline", logs[failed + 1].role)
    assert.is_nil(logs[failed + 1].path)
    assert.equal(1, (show(console, 'metrics()["partition.offline"]')))
    console:close()
    client:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("A retention pass", function()
  it("deletes what was planned, and nothing else", function()
    local data = require("spec.support.unit").temp_dir() .. "/data"
    local broker = brokers.start { data = data }
    local client = broker:connect()
    local console = console_of.connect(broker.data .. "/console.sock")
    local made = requests.create(client, "t", { configs = { ["segment.ms"] = tostring(HOUR),
      ["retention.ms"] = tostring(4 * HOUR), ["file.delete.delay.ms"] = "0" } })
    for _, age in ipairs { 9, 7, 5, 3, 1 } do requests.append(client, made, records.batch { ts = now_ms() - age * HOUR }) end
    local planned = show(console, 'topic "t":retention_plan()')
    assert.same({ true, true, true, false, false }, column(planned, "goes"))
    client:close()
    console:close()
    assert.equal(0, broker:stop())

    broker = brokers.start { data = data, set = { "log_retention_check_interval_ms=20" } }
    console = console_of.connect(broker.data .. "/console.sock")
    requests.wait_until("a pass was made", function() return #show(console, 'topic "t":segments()') ~= 5 end)
    assert.same({ 3, 4 }, column(show(console, 'topic "t":segments()'), "base_offset"))
    assert.same({ false, false }, column(show(console, 'topic "t":retention_plan()'), "goes"))
    console:close()
    assert.equal(0, broker:stop())
  end)
end)
