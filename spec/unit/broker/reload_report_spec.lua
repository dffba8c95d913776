-- SPDX-License-Identifier: Apache-2.0
-- The comparison of configurations that a reload makes.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("broker/reload_report.h", "lua/config.h", "controller/controller.h", "controller/static_topics.h",
  "metadata/broker_config.h", "base/mem.h")

local folder = unit.temp_dir()

describe("A report of a reload", function()
  local report, configs

  before_each(function() report, configs = ffi.new "struct reload_report", {} end)
  after_each(function()
    C.reload_report_destroy(report)
    for _, config in ipairs(configs) do C.lua_config_destroy(config) end
  end)

  local function load(text)
    local path = folder .. "/config.lua"
    unit.write_file(path, text)
    local config, failure = ffi.new "struct lua_config", ffi.new "struct lua_config_error"
    assert.equal(0, C.lua_config_reload(path, nil, 0, config, failure), ffi.string(failure.message))
    configs[#configs + 1] = config
    return config
  end

  local function text(value) return value ~= nil and ffi.string(value) or "none" end

  --- Items as "applied what: old -> new".
  local function items()
    local names = { [tonumber(C.RELOAD_APPLIED)] = "applied", [tonumber(C.RELOAD_RESTART)] = "restart", [tonumber(C.RELOAD_KEPT)] = "kept" }
    local out = {}
    for i = 0, report.count - 1 do
      local item = report.items[i]
      out[#out + 1] = ("%s %s: %s -> %s"):format(names[tonumber(item.outcome)], ffi.string(item.what), text(item.before), text(item.after))
    end
    return out
  end

  --- A snapshot of a configuration with what clients have set: { name, text }.
  local function snapshot(config, own)
    local list = ffi.new("struct config_entry[?]", #own + 1)
    for i, pair in ipairs(own) do list[i - 1].name, list[i - 1].value = pair[1], pair[2] end
    local made, message = ffi.new "struct broker_config *[1]", ffi.new("char[?]", C.CONFIG_MESSAGE_SIZE)
    assert.equal(0, C.broker_config_overlay(config.broker, nil, 0, list, #own, made, message))
    return ffi.gc(made[0], C.broker_config_unref)
  end

  describe("compares the broker's own keys:", function()
    local function compare(before, after, has_log_level, between)
      local start = load(before)
      C.reload_report_keys(report, start, between and load(between) or start, load(after), has_log_level or false)
      return items()
    end

    it("some are applied, most need a restart", function()
      assert.same({
        "applied broker.log_level: info -> warn",
        "applied broker.log_dir_reserve_bytes: 268435456 -> 1",
        "applied broker.lua_memory: 67108864 -> 33554432",
        "applied broker.lua_budget_ms: 50 -> 100",
        "restart broker.id: 1 -> 2",
        "restart broker.listen: 127.0.0.1:9092 -> 127.0.0.1:1, 127.0.0.1:2",
        "restart broker.advertise: none -> a:1, b:2",
        "restart broker.data: luka-data -> x, y",
        "restart broker.metadata: luka-data/luka.mdb -> m",
        "restart broker.console: luka-data/console.sock -> none",
        "restart broker.workers: one per core -> 3",
        "restart broker.lua_threads: as workers, leaving a core -> 2",
      }, compare("", [[broker {
        id = 2, listen = { "127.0.0.1:1", "127.0.0.1:2" }, advertise = { "a:1", "b:2" }, data = { "x", "y" }, metadata = "m",
        console = false, workers = 3, lua_threads = 2,
        lua_memory = 32 * MiB, lua_budget_ms = 100, log_dir_reserve_bytes = 1, log_level = "warn",
      }]]))
    end)

    it("what is the same is no item, also where it was a default", function()
      assert.same({}, compare("", [[broker { id = 1, listen = "127.0.0.1:9092", log_level = "info", lua_budget_ms = 50 }]]))
    end)

    it("a level means nothing beside that of the command line", function()
      assert.same({}, compare("", [[broker { log_level = "warn" }]], true))
    end)

    it("what needs a restart is compared with the start, a level with the last reload", function()
      assert.same({ "applied broker.log_level: error -> info" },
        compare("broker { workers = 1 }", "broker { workers = 1 }", false, [[broker { workers = 2, log_level = "error" }]]))
    end)
  end)

  describe("compares Kafka's configs:", function()
    local function compare(before, after, own)
      local running, wanted = load(before), load(after)
      local merged = ffi.new "struct broker_config"
      C.broker_config_merge(running.broker, wanted.broker, merged)
      assert.equal(0, C.broker_config_resolve(merged))
      C.broker_config_destroy(merged)
      C.reload_report_configs(report, snapshot(running, own or {}), snapshot(wanted, own or {}), running, wanted)
      return items()
    end

    it("under the key that they have in the file", function()
      assert.same({ "applied defaults.retention_ms: 1000 -> 2000", "applied broker.num_partitions: 1 -> 2" },
        compare("defaults { retention_ms = 1000 }", "defaults { retention_ms = 2000 } broker { num_partitions = 2 }"))
    end)

    it("what is taken out of the file goes back to its default", function()
      assert.same({ "applied defaults.partitions: 3 -> 1" }, compare("defaults { partitions = 3 }", ""))
    end)

    it("what has no value of its own has the one that follows from others", function()
      assert.same({ "applied defaults.retention_ms: 604800000 -> 5" }, compare("", "defaults { retention_ms = 5 }"))
      assert.same({ "applied defaults.retention_ms: 604800000 -> 5", "applied broker.log_retention_hours: 168 -> 1",
        "applied defaults.retention_ms: 5 -> 3600000" },
        compare("defaults { retention_ms = 5 }", "broker { log_retention_hours = 1 }"))
    end)

    it("the same value written in another way is none", function()
      assert.same({}, compare('broker { num_partitions = 3 }', 'broker { num_partitions = " 3 " }'))
      assert.same({}, compare("", "defaults { partitions = 1 }"))
    end)

    it("what clients have set stays, also in other units that win", function()
      assert.same({ "kept broker.log_retention_hours: 168 -> 1, but a client has set 7",
        "kept broker.message_max_bytes: 1048588 -> 5, but a client has set 9" },
        compare("", "broker { message_max_bytes = 5, log_retention_hours = 1 }",
          { { "log.retention.ms", "7" }, { "message.max.bytes", "9" } }))
    end)

    it("each is reloadable or needs a restart", function()
      local restart = {}
      for i = 0, tonumber(C.BROKER_CONFIG_COUNT) - 1 do
        local name = ffi.string(C.broker_config_defs()[i].name)
        local is_reloadable = C.broker_config_is_reloadable(i)
        if C.broker_config_is_supported(i) and not is_reloadable then restart[#restart + 1] = name end
        if C.broker_config_change_of(name) == C.BROKER_CHANGE_ALLOWED then assert.is_true(is_reloadable, name) end
      end
      assert.same({ "broker.rack", "connections.max.idle.ms", "socket.listen.backlog.size", "socket.receive.buffer.bytes",
        "socket.request.max.bytes", "socket.send.buffer.bytes" }, restart)
    end)
  end)

  describe("says of topic blocks", function()
    --- `outcomes`, one for each block of `after`.
    local function compare(before, after, outcomes)
      local blocks = ffi.new("struct controller_block[?]", #outcomes + 1)
      for i, outcome in ipairs(outcomes) do blocks[i - 1].outcome = C["CONTROLLER_BLOCK_" .. outcome] end
      C.reload_report_topics(report, load(before), load(after), blocks)
      return items()
    end

    it("which are gone, in whatever order the others are", function()
      assert.same({ 'kept topic "b": none -> its block is gone, which deletes no topic',
        'kept topic "d": none -> its block is gone, which deletes no topic' },
        compare('topic "a" {} topic "b" {} topic "c" {} topic "d" {}', 'topic "c" {} topic "x" {} topic "a" {}',
          { "SAME", "SAME", "SAME" }))
    end)

    it("what they no longer set", function()
      assert.same({ 'kept topic "a".flush_ms: 7 -> no longer in its block, and the topic keeps what it has',
        'kept topic "a".retention_ms: 5 -> no longer in its block, and the topic keeps what it has' },
        compare('topic "a" { retention_ms = 5, flush_ms = 7, segment_bytes = 9000000 }', 'topic "a" { segment_bytes = 9000001 }',
          { "CHANGED" }))
    end)

    it("nothing of that where the topic is a new one, or was deleted", function()
      for _, outcome in ipairs { "GONE", "CREATED" } do
        for _, item in ipairs(compare('topic "a" { retention_ms = 5 }', 'topic "a" {}', { outcome })) do
          assert.is_nil(item:find("no longer", 1, true))
        end
      end
    end)

    it("nothing where there were none and are none", function() assert.same({}, compare("", "", {})) end)
  end)

  it("is JSON for consoles", function()
    C.reload_report_keys(report, load "", load "", load 'broker { log_level = "warn", console = false }', false)
    local json = C.reload_report_json(report)
    assert.equal('[{"outcome":"applied","what":"broker.log_level","old":"info","new":"warn"},'
      .. '{"outcome":"needs restart","what":"broker.console","old":"luka-data/console.sock"}]', ffi.string(json))
    C.mem_free(json)
  end)

  it("keeps the first of several errors", function()
    C.reload_report_fail(report, "%s", "first")
    C.reload_report_fail(report, "%s", "second")
    assert.equal("first", ffi.string(report.error))
  end)
end)
