-- SPDX-License-Identifier: Apache-2.0
-- What a right configuration becomes.
local evaluate = require "spec.unit.lua.evaluate"

local function load(text, sets)
  local result, message = evaluate.text(text, sets)
  assert.is_nil(message)
  return result
end

describe("config.lua", function()
  it("may be empty: all is default", function()
    local config = load ""
    assert.equal(1, config.id)
    assert.same({ "127.0.0.1:9092" }, config.listen)
    assert.same({}, config.advertise)
    assert.same({ "luka-data" }, config.data)
    assert.is_false(config.is_id_set)
    assert.equal("luka-data/luka.mdb", config.metadata)
    assert.equal("luka-data/console.sock", config.console)
    assert.equal(67108864, config.lua_memory_bytes)
    assert.equal(50, config.lua_budget_ms)
    assert.same({ 0, 0 }, { config.workers, config.lua_threads })
    assert.equal(-1, config.log_level)
    assert.equal(268435456, config.log_dir_reserve_bytes)
    assert.equal(604800000, config.retention_ms)
    assert.same({}, config.topics)
  end)

  it("may be absent: all is default", function()
    local config = evaluate.file(nil)
    assert.equal(1, config.id)
    assert.same({ "127.0.0.1:9092" }, config.listen)
  end)

  it("sets Luka's own broker keys", function()
    local config = load [[
      broker {
        id = 7,
        listen = { "127.0.0.1:19092", "PLAINTEXT://[::1]:19093" },
        advertise = { "a.example.com:1", "b.example.com:2" },
        data = { "one", "two" },
        metadata = "meta.mdb",
        console = "run/luka.sock",
        lua_memory = 32 * MiB,
        lua_budget_ms = seconds(1),
        workers = 3,
        lua_threads = 2,
        log_level = "debug",
        log_dir_reserve_bytes = 1 * GiB,
      }
    ]]
    assert.equal(7, config.id)
    assert.same({ "127.0.0.1:19092", "PLAINTEXT://[::1]:19093" }, config.listen)
    assert.same({ "a.example.com:1", "b.example.com:2" }, config.advertise)
    assert.same({ "one", "two" }, config.data)
    assert.equal("meta.mdb", config.metadata)
    assert.equal("run/luka.sock", config.console)
    assert.equal(33554432, config.lua_memory_bytes)
    assert.equal(1000, config.lua_budget_ms)
    assert.is_true(config.is_id_set)
    assert.same({ 3, 2 }, { config.workers, config.lua_threads })
    assert.equal(3, config.log_level)
    assert.equal(1073741824, config.log_dir_reserve_bytes)
  end)

  it("keeps metastore and console in the first log directory unless it says otherwise", function()
    local config = load "broker { data = { 'one', 'two' } }"
    assert.equal("one/luka.mdb", config.metadata)
    assert.equal("one/console.sock", config.console)
  end)

  it("has no console when that is false", function()
    assert.is_nil(load("broker { console = false }").console)
    assert.is_nil(load("", { "console=false" }).console)
  end)

  it("takes one address or directory without a list", function()
    local config = load 'broker { listen = "127.0.0.1:0", advertise = "h:1", data = "d" }'
    assert.same({ "127.0.0.1:0" }, config.listen)
    assert.same({ "h:1" }, config.advertise)
    assert.same({ "d" }, config.data)
  end)

  it("sets Kafka's broker configs in snake_case", function()
    local config = load [[broker { num_partitions = 4, log_retention_ms = hours(1), log_segment_bytes = 2 * MiB }]]
    assert.equal(4, config.num_partitions)
    assert.equal(3600000, config.retention_ms)
    assert.equal(2097152, config.segment_bytes)
  end)

  it("sets the broker configs of that meaning from defaults", function()
    local config = load [[
      defaults { partitions = 3, replication_factor = 1, retention_ms = days(1), segment_bytes = 5 * MiB,
        cleanup_policy = { "compact", "delete" } }
    ]]
    assert.equal(3, config.num_partitions)
    assert.equal(1, config.default_replication_factor)
    assert.equal(86400000, config.retention_ms)
    assert.equal(5242880, config.segment_bytes)
    assert.equal(3, config.cleanup_policy)
  end)

  it("sets Luka's own topic configs for all topics", function()
    local config = load "defaults { luka_producer_type = 'sync', luka_validate = 'full' }"
    assert.equal(1, config.luka_producer_type)
    assert.equal(1, config.luka_validate)
    assert.equal(1, load("", { "luka.producer.type=sync" }).luka_producer_type)
  end)

  it("takes a topic and its settings in one call", function()
    local config = load 'topic("a", {\n  partitions = 3,\n})\ntopic("b")({ partitions = 4 })'
    assert.equal(3, config.topics[1].partitions)
    assert.equal(4, config.topics[2].partitions)
  end)

  it("may use variables of its own", function()
    assert.equal(7, load("days_kept = 7\nfunction id() return days_kept end\nbroker { id = id() }").id)
    assert.equal(1, load("broker { id = rawget(_G, 'nothing') or 1 }").id)
    assert.equal(4, load("workers = 4\nbroker { workers = workers }").workers)
  end)

  it("lets milliseconds win over hours, as Kafka does", function()
    assert.equal(60000, load("broker { log_retention_hours = 1, log_retention_ms = 60000 }").retention_ms)
  end)

  it("keeps 64-bit integers exact", function()
    for text, value in pairs {
      ["9007199254740991"] = 9007199254740991LL,
      ["9007199254740993LL"] = 9007199254740993LL,
      ["'9007199254740993'"] = 9007199254740993LL,
      ["9223372036854775807LL"] = 9223372036854775807LL,
      ["0009223372036854775807ll"] = 9223372036854775807LL,
      ["--[[9999999999999999999999LL]] 5"] = 5LL,
      ["1e15"] = 1000000000000000LL,
      ["-1"] = -1LL,
    } do
      assert.equal(value, load(("broker { log_retention_bytes = %s }"):format(text)).retention_bytes)
    end
  end)

  it("lists topics in order, with their configs as Kafka's texts", function()
    local config = load [[
      topic "b" { partitions = 6, replication_factor = 1, segment_bytes = 512 * MiB, compression_type = "lz4",
        cleanup_policy = { "compact", "delete" }, preallocate = true, min_cleanable_dirty_ratio = 0.25 }
      topic "a" {}
    ]]
    assert.same({
      name = "b", partitions = 6, replication_factor = 1, line = 1,
      configs = {
        ["segment.bytes"] = "536870912", ["compression.type"] = "lz4", ["cleanup.policy"] = "compact,delete",
        ["preallocate"] = "true", ["min.cleanable.dirty.ratio"] = "0.25",
      },
      text = "partitions=6\nreplication_factor=1\ncleanup.policy=compact,delete\ncompression.type=lz4\n"
        .. "min.cleanable.dirty.ratio=0.25\npreallocate=true\nsegment.bytes=536870912\n",
    }, config.topics[1])
    assert.same({ name = "a", partitions = -1, replication_factor = -1, line = 3, configs = {}, text = "" },
      config.topics[2])
  end)

  it("gives the same text for the same topic, however it is written", function()
    local one = load 'topic "a" { partitions = 2, retention_ms = days(1), index_interval_bytes = 5 }'
    local other = load 'local t = { index_interval_bytes = "5" } t.retention_ms = 86400 * 1000 t.partitions = 2 topic("a")(t)'
    assert.equal(one.topics[1].text, other.topics[1].text)
  end)

  it("is a program: loops, functions and variables work", function()
    local config = load [[
      local function name(i) return ("t%02d"):format(i) end
      for i = 1, 20 do topic(name(i)) { partitions = i } end
    ]]
    assert.equal(20, #config.topics)
    assert.equal("t20", config.topics[20].name)
    assert.equal(20, config.topics[20].partitions)
  end)

  it("may start with a #! line", function()
    assert.equal(5, load("#!/usr/bin/env luka\nbroker { id = 5 }").id)
  end)

  it("reads the environment of the process", function()
    assert.equal(#os.getenv "PATH", load("broker { id = #os.getenv 'PATH' }").id)
  end)

  it("may be a pipe", function()
    local path = evaluate.folder .. "/pipe"
    os.execute(("mkfifo '%s' && (echo 'broker { id = 9 }' >'%s' &)"):format(path, path))
    assert.equal(9, evaluate.file(path).id)
  end)

  it("is evaluated within its time though it has 2,000 topics", function()
    local lines = {}
    local count = os.getenv "LUKA_SAN" == "qemu" and 100 or 2000 -- an emulator (make arm64) takes its time
    for i = 1, count do lines[i] = ('topic "t%d" {\n  partitions = 3,\n  retention_ms = days(7),\n}'):format(i) end
    assert.equal(count, #load(table.concat(lines, "\n")).topics)
  end)
end)

describe("require in config.lua", function()
  it("runs a file next to it, once, and gives its value", function()
    evaluate.write("one.lua", "count = (rawget(_G, 'count') or 0) + 1\nreturn { id = 40 + count }")
    assert.equal(41, load("require 'one' broker { id = require('one').id }").id)
  end)

  it("finds files in folders next to it, and init.lua in them", function()
    evaluate.write("policies/deep.lua", "return 3")
    evaluate.write("shapes/init.lua", "return 4")
    assert.equal(7, load("broker { id = require 'policies.deep' + require 'shapes' }").id)
  end)

  it("lets a module use the words", function()
    evaluate.write("topics.lua", 'topic "from.module" { partitions = 2 }')
    assert.equal("from.module", load("require 'topics'").topics[1].name)
  end)

  it("knows luka.units", function()
    assert.equal(86400000, load("defaults { retention_ms = require('luka.units').days(1) }").retention_ms)
  end)
end)

describe("--set", function()
  it("wins over the file", function()
    local config = load("broker { id = 1, workers = 2, listen = '127.0.0.1:1' }", { "workers=5", "listen=127.0.0.1:2" })
    assert.equal(1, config.id)
    assert.equal(5, config.workers)
    assert.same({ "127.0.0.1:2" }, config.listen)
  end)

  it("makes a list when it is repeated for a key that is one", function()
    local config = load("broker { data = 'x' }", { "data=/a", "listen=127.0.0.1:1", "data=/b", "listen=127.0.0.1:2" })
    assert.same({ "/a", "/b" }, config.data)
    assert.same({ "127.0.0.1:1", "127.0.0.1:2" }, config.listen)
  end)

  it("takes the last value of a key that is no list", function()
    assert.equal(3, load("", { "workers=1", "workers=3" }).workers)
  end)

  it("joins the values of a Kafka config that is a list", function()
    assert.equal(3, load("", { "log_cleanup_policy=compact", "log_cleanup_policy=delete" }).cleanup_policy)
  end)

  it("takes Kafka's own spelling too", function()
    assert.equal(5, load("", { "log.retention.ms=5" }).retention_ms)
  end)

  it("wins over defaults, whatever unit they are in", function()
    local text = "defaults { retention_ms = 5 } broker { log_roll_ms = 6 }"
    assert.equal(9, load(text, { "log_retention_ms=9" }).retention_ms)
    assert.equal(7200000, load(text, { "log_retention_hours=2" }).retention_ms)
  end)
end)

describe("the example config.lua of this repository", function()
  it("is right", function()
    local config, message = evaluate.file "config.lua"
    assert.is_nil(message)
    assert.same({ "127.0.0.1:9092" }, config.listen)
    assert.same({ "data" }, config.data)
  end)
end)
