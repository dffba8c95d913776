-- SPDX-License-Identifier: Apache-2.0
-- compaction(): what the console shows of the log cleaner.
local brokers = require "spec.support.broker"
local console_of = require "spec.support.console"
local records = require "spec.support.records"
local requests = require "spec.support.requests"

local EAGER = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000", ["min.cleanable.dirty.ratio"] = "0.01" }

local clock = tonumber(os.time()) * 1000 - 3600000

describe("compaction() in the console", function()
  local broker, client, console

  local function start(set)
    set[#set + 1], set[#set + 2] = "workers=2", "log_cleaner_backoff_ms=20"
    broker = brokers.start { set = set }
    client = broker:connect()
    console = console_of.connect(broker.data .. "/console.sock")
  end

  after_each(function()
    client:close()
    console:close()
    assert.equal(0, broker:stop())
  end)

  --- Each batch begins a segment.
  local function append(topic, key, value)
    clock = clock + 5000
    requests.append(client, topic, records.batch { ts = clock, records = { { key = key, value = value } } })
  end

  local function rows_of(part)
    local result = console:eval(("compaction %q"):format(part))
    assert.is_true(result.ok, result.error)
    return result.values[1].rows, result.values[1].columns
  end

  --- Waits until the log of a topic is in a state; its row.
  local function wait_for(topic, state)
    local row
    requests.wait_until(topic.name .. " is " .. state, function()
      row = rows_of(topic.name)[1]
      return row and row.state == state
    end)
    return row
  end

  it("shows what a pass has done", function()
    start {}
    local topic = requests.create(client, "cleaned", { configs = EAGER })
    for i = 1, 6 do append(topic, "a", ("x"):rep(100 * i)) end
    local row
    requests.wait_until("it was cleaned to the last segment", function()
      row = rows_of("cleaned")[1]
      return row.clean_offset == 5
    end)
    row = wait_for(topic, "clean")
    assert.same({ "cleaned", 0, 0, 0 }, { row.topic, row.partition, row.dirty_percent, row.dirty_bytes })
    assert.is_true(row.clean_bytes > 500 and row.last_time > 0 and row.took_ms >= 0)
    assert.is_true(row.kept_records >= 1 and row.kept_records <= row.read_records)
    assert.is_nil(row.done_percent)
    assert.is_nil(row.why)
  end)

  it("leaves out what is not compacted, and goes by a part of the name", function()
    start {}
    requests.create(client, "plain", {})
    requests.create(client, "one", { configs = EAGER })
    requests.create(client, "two", { configs = EAGER, partitions = 2 })
    local names = {}
    for i, row in ipairs(rows_of "") do names[i] = row.topic .. row.partition end
    assert.same({ "one0", "two0", "two1" }, names)
    assert.equal(2, #rows_of "tw")
    assert.same({}, console:eval("compaction()").values[1].rows) -- nothing is in them
    append(requests.find(client, "one"), "a", "b")
    append(requests.find(client, "one"), "a", "b")
    requests.wait_until("one has something", function() return #console:eval("compaction()").values[1].rows == 1 end)
    assert.equal(0, #rows_of "plain")
    assert.equal('compaction: got 5, expected a part of a topic\'s name: "clicks"', console:eval("compaction(5)").error)
  end)

  it("shows what is to be cleaned, and what is off", function()
    start {}
    local topic = requests.create(client, "lazy", { configs = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000",
      ["min.cleanable.dirty.ratio"] = "1.0" } })
    for _ = 1, 3 do append(topic, "a", "b") end
    local row = wait_for(topic, "dirty")
    assert.equal(100, row.dirty_percent)
    assert.is_true(row.dirty_bytes > 100)
    console:eval 'topic "lazy":set { min_cleanable_dirty_ratio = 0.01 }'
    wait_for(topic, "clean")
    console:eval 'topic "lazy":set { cleanup_policy = "delete" }'
    assert.equal("off", wait_for(topic, "off").state)
  end)

  it("shows how far a pass is that runs", function()
    start { "log_cleaner_io_max_bytes_per_second=200000" }
    local topic = requests.create(client, "slow", { configs = EAGER })
    for _ = 1, 6 do append(topic, "a", ("x"):rep(200000)) end
    local row = wait_for(topic, "running")
    assert.is_true(row.done_percent >= 0 and row.done_percent <= 100)
  end)

  it("says why a log cannot be cleaned", function()
    start {}
    local topic = requests.create(client, "damaged", { configs = { ["cleanup.policy"] = "compact", ["segment.ms"] = "1000",
      ["min.cleanable.dirty.ratio"] = "1.0" } })
    for _ = 1, 3 do append(topic, "a", ("x"):rep(100)) end
    local file = assert(io.open(broker.data .. "/damaged-0/00000000000000000000.log", "r+b"))
    file:seek("set", 100)
    file:write "\255\255"
    file:close()
    console:eval 'topic "damaged":set { min_cleanable_dirty_ratio = 0.01 }'
    local row = wait_for(topic, "damaged")
    assert.matches("%w", row.why)
    assert.is_true(row.failed_time > 0)
    local _, columns = rows_of "damaged"
    assert.same({ "failed_time", "why" }, { columns[#columns - 1], columns[#columns] })
    local failures = console:eval('metrics("cleaner")["cleaner.failures"]').values[1].value
    assert.is_true(failures >= 1)
  end)
end)
