-- SPDX-License-Identifier: Apache-2.0
-- Hooks, functions for requests and views as clients of librdkafka meet them: verbs of the program, which is one.
-- In a file of their own, as librdkafka cannot run in a build with ThreadSanitizer (scripts/test); what these say of the
-- broker is in hooks_spec, probes_spec and views_spec as well.
local brokers = require "spec.support.broker"
local console_of = require "spec.support.console"
local groups = require "spec.support.group"
local process = require "spec.support.process"
local records = require "spec.support.records"
local reload = require "spec.support.reload"
local requests = require "spec.support.requests"

local CONFIG = [[
broker { workers = 2, offsets_topic_num_partitions = 3, console = "%s" }
hook("group.join", function(request) if request.group == "secret" then reject "nobody joins this" end end)
view("kept.eu", { from = "kept", where = function(record) return record.key == "eu" end })
]]

describe("librdkafka", function()
  local broker, client, console

  setup(function()
    local socket = brokers.temp_dir() .. "/console.sock"
    broker = reload.start(CONFIG:format(socket))
    client = broker:connect()
    console = console_of.connect(socket)
    groups.prepare(client)
  end)
  teardown(function()
    console:close()
    client:close()
    assert.equal(0, broker:stop())
  end)

  --- Runs a verb of the program; what it wrote, what it said, its status.
  local function run(input, ...)
    local status, out, err = process.start({ brokers.PROGRAM, ... },
      { input = input, env = { LUKA_BROKER = "127.0.0.1:" .. broker.port } }):wait()
    return out, err, status
  end

  --- Evaluates; the value of the line.
  local function value(source)
    local result = console:eval(source)
    assert.is_true(result.ok, result.error)
    return result.values[1] and result.values[1].value
  end

  it("says that a hook refuses its consumer, and ends", function()
    requests.create(client, "plain")
    local _, err, status = run(nil, "consume", "-e", "-g", "secret", "plain")
    assert.not_equal(0, status)
    assert.truthy(err:lower():find("group", 1, true))
  end)

  it("sends again what a function answered with an error", function()
    local topic = requests.create(client, "sent")
    value [[failed = 0 on.request("Produce", function(request)
      if failed < 2 then
        failed = failed + 1
        request:fail("NOT_LEADER_OR_FOLLOWER")
      end
    end)]]
    local _, err, status = run("hello\n", "produce", topic.name)
    assert.same({ "", 0 }, { err, status })
    assert.same({ "hello" }, records.values(requests.fetch_to_end(client, topic, 0)))
    assert.equal(2, value "failed")
    value 'off "Produce"'
  end)

  it("comes by leaders that a Metadata has not told", function()
    local topic = requests.create(client, "told")
    value [[failed = 0 on.request("Metadata", function(request)
      if failed < 2 and request.client_id:find "consume" then
        failed = failed + 1
        request:fail("LEADER_NOT_AVAILABLE")
      end
    end)]]
    requests.append(client, topic, records.batch { records = { "a" } })
    local out, err, status = run(nil, "consume", topic.name, "--count", "1", "--from", "earliest")
    assert.same({ "a\n", "", 0 }, { out, err, status })
    assert.equal(2, value "failed")
    value 'off "Metadata"'
  end)

  it("reads a view over megabytes without a record, and goes on where its group was", function()
    local source, noise = requests.create(client, "kept"), records.noise(900000, 7)
    for i = 1, 14 do
      requests.append(client, source, records.batch { records = { { key = "us", value = noise },
        { key = i == 14 and "eu" or "us", value = "x" } } })
    end
    local function consume(...) return { run(nil, "consume", "-e", "-g", "rd", ...) } end
    assert.same({ "27 x\n", "", 0 }, consume("-f", "%o %s\\n", "kept.eu"))
    assert.same({ "", "", 0 }, consume "kept.eu")
  end)
end)
