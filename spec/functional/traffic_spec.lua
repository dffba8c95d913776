-- SPDX-License-Identifier: Apache-2.0
-- The console's words for what goes on in the broker: requests() and rates(), and latencies in metrics().
local brokers = require "spec.support.broker"
local console_of = require "spec.support.console"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

describe("The console's view of the traffic", function()
  local broker, client, console

  setup(function()
    broker = brokers.start { set = { "workers=2" } }
    client = broker:connect()
    console = console_of.connect(broker.data .. "/console.sock")
  end)
  teardown(function()
    client:close()
    console:close()
    assert.equal(0, broker:stop())
  end)

  --- Evaluates a line; its rows or its value.
  local function show(source)
    local result = console:eval(source)
    if not result.ok then error(source .. ": " .. result.error, 2) end
    local frame = result.values[1]
    return frame.kind == "list" and frame.rows or frame.value, frame
  end

  --- The row of a kind of request.
  local function row_of(api, line)
    for _, row in ipairs((show(line or "requests()"))) do
      if row.api == api then return row end
    end
    return nil
  end

  --- Runs a line that waits, and does something again and again meanwhile; its rows.
  local function while_waiting(source, fn)
    console:start(source)
    local frame
    repeat
      fn()
      frame = console:receive(0)
    until frame
    while frame.op ~= "value" do
      assert.equal("print", frame.op)
      frame = console:receive()
    end
    assert.is_true(console:receive().ok)
    return frame.rows
  end

  describe("requests", function()
    it("counts requests and errors by kind, the most first", function()
      local made = requests.create(client, "counted")
      local before = row_of "Produce" or { count = 0, errors = 0 }
      for _ = 1, 5 do requests.append(client, made, records.batch {}) end
      requests.produce(client, made, records.batch {}, { partition = 7 })
      local row = row_of "Produce"
      assert.same({ before.count + 6, before.errors + 1 }, { row.count, row.errors })
      local last = math.huge
      for _, other in ipairs((show "requests()")) do
        assert.is_true(other.count <= last and other.count > 0)
        last = other.count
      end
    end)

    it("shows how long they take", function()
      requests.append(client, requests.create(client, "timed"), records.batch {})
      local row = row_of "Produce"
      for _, pair in ipairs { { "p50_ms", "p99_ms" }, { "p99_ms", "max_ms" }, { "mean_ms", "max_ms" } } do
        assert.is_true(row[pair[1]] <= row[pair[2]])
      end
      assert.is_true(row.p50_ms >= 0 and row.max_ms > 0)
    end)

    it("counts what a fetch waits for as its time", function()
      local made = requests.create(client, "waited")
      local body = requests.fetch_body(requests.FETCH, { { made, { {} } } }, { max_wait_ms = 300, min_bytes = 1 })
      client:ask("Fetch", requests.FETCH, body)
      assert.is_true(row_of("Fetch").max_ms >= 299)
      local value = show 'metrics "^request%.Fetch"'
      assert.is_true(value["request.Fetch.latency_max_ms"] >= 299)
      assert.equal(row_of("Fetch").max_ms, value["request.Fetch.latency_max_ms"])
    end)

    it("shows only what is answered while it waits when it is given seconds", function()
      local made = requests.create(client, "windowed")
      requests.append(client, made, records.batch {})
      for _, row in ipairs((show "requests(0.1)")) do assert.is_true(row.api ~= "Produce") end
      local count = 0
      local rows = while_waiting('requests("produce", 1)', function()
        requests.append(client, made, records.batch {})
        count = count + 1
      end)
      assert.equal(1, #rows)
      assert.is_true(rows[1].count > 0 and rows[1].count <= count)
      assert.is_true(rows[1].count_per_s > 0 and rows[1].max_ms >= rows[1].p50_ms)
    end)

    it("says what is wrong with its arguments", function()
      for line, sentence in pairs {
        ["requests {}"] = "requests: got a table, expected a part of a name, or seconds",
        ["requests(0)"] = "requests: seconds: got 0, expected from 0.1 to 3600",
        ["requests(-1)"] = "requests: seconds: got -1, expected from 0.1 to 3600",
        ["requests(0/0)"] = "requests: seconds: got nan, expected from 0.1 to 3600",
        ["requests(1e300)"] = "requests: seconds: got 1e+300, expected from 0.1 to 3600",
        ['requests("a", "b")'] = 'requests: seconds: got "b", expected from 0.1 to 3600',
        ["requests(1, 2)"] = "requests: got 1, expected a part of a name, or seconds",
        ['requests "nothing"'] = 'requests: no kind of request has "nothing" in its name',
        ['requests "%"'] = 'requests: no kind of request has "%" in its name',
      } do assert.equal(sentence, console:eval(line).error, line) end
    end)
  end)

  describe("rates", function()
    it("shows what is written and read a second, by topic", function()
      local made = requests.create(client, "flowing")
      requests.create(client, "still")
      local batch = records.batch { records = { "a", "b", "c" } }
      local rows = while_waiting("rates()", function()
        requests.append(client, made, batch)
        requests.fetch(client, made, { fetch_offset = 0, partition_max_bytes = 1 })
      end)
      assert.equal(1, #rows)
      local row = rows[1]
      assert.equal("flowing", row.topic)
      assert.is_true(row.in_records_per_s > 0)
      local per_record = row.in_bytes_per_s / row.in_records_per_s
      assert.is_true(math.abs(per_record - #batch / 3) < #batch / 30, per_record)
      assert.is_true(row.out_bytes_per_s > 0)
    end)

    it("shows topics that are asked for though nothing happens", function()
      requests.create(client, "asked.for")
      assert.same({ { topic = "asked.for", in_records_per_s = 0, in_bytes_per_s = 0, out_bytes_per_s = 0 } },
        (show 'rates("ASKED", 0.1)'))
    end)

    it("counts the bytes of records that consumers get", function()
      local made = requests.create(client, "read")
      local batch = records.batch {}
      for _ = 1, 3 do requests.append(client, made, batch) end
      requests.fetch(client, made, { fetch_offset = 1 })
      assert.equal(2 * #batch, (show 'metrics("topic.read.")["topic.read.fetched_bytes"]'))
    end)

    it("says that no topic is meant", function()
      assert.equal('rates: no topic has "nothing" in its name', console:eval('rates("nothing", 0.1)').error)
      assert.equal("rates: seconds: got 7200, expected from 0.1 to 3600", console:eval("rates(7200)").error)
      assert.equal("rates: got true, expected a part of a name, or seconds", console:eval("rates(true)").error)
    end)
  end)
end)
