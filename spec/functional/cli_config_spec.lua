-- SPDX-License-Identifier: Apache-2.0
-- `luka check`, and what configurations that are wrong or hostile get from the program: one line on standard error and
-- status 2, within a second.
local unit = require "spec.support.unit"
local C = unit.load "os/clock.h"

local PROGRAM = assert(require("posix.stdlib").realpath(os.getenv "LUKA_PROGRAM" or "build/luka"))
local SAN = os.getenv "LUKA_SAN" or ""
local folder = unit.temp_dir()
local config = folder .. "/config.lua"

--- Runs the program to its end; standard output, standard error, exit status and the ms that it took.
local function run(words, before)
  local start = C.clock_mono_ms()
  local status = os.execute(("cd '%s' && %s timeout 60 '%s' %s >out 2>err </dev/null"):format(folder, before or "",
    PROGRAM, words))
  local took = tonumber(C.clock_mono_ms() - start)
  return unit.read_file(folder .. "/out"), unit.read_file(folder .. "/err"), math.floor(status / 256), took
end

local function check(text, words)
  unit.write_file(config, text)
  return run("check config.lua " .. (words or ""))
end

describe("luka check", function()
  it("refuses what __consumer_offsets could not be created with", function()
    for set, range in pairs {
      ["offsets_topic_segment_bytes=1048575"] = 'got "1048575", expected a whole number of bytes from 1048576 to 2147483647',
      ["offsets_topic_num_partitions=10001"] = 'got "10001", expected a whole number from 1 to 10000',
    } do
      local _, err, status = check("", "--set " .. set)
      assert.same({ 2, ("--set %s: %s\n"):format(set:match "[^=]+", range) }, { status, err })
    end
    local _, err = check("", "--set offsets_topic_segment_bytes=1048576 --set offsets_topic_num_partitions=10000")
    assert.equal("", err)
  end)

  it("prints what would be applied, and where each value is from", function()
    local out, err, status = check([[
broker {
  id = 7,
  data = { "a", "b" },
  log_retention_check_interval_ms = minutes(5),
}
defaults { partitions = 3 }
topic "clicks" {
  retention_ms = days(1),
}
topic "events" { partitions = 6, replication_factor = 1 }
]], "--set workers=2")
    assert.equal("", err)
    assert.equal(0, status)
    assert.equal([[
broker
  advertise                        as listen, or the host's name for 0.0.0.0  default
  console                          a/console.sock                             default
  data                             { "a", "b" }                               config.lua:3
  id                               7                                          config.lua:2
  listen                           { "127.0.0.1:9092" }                       default
  log_dir_reserve_bytes            268435456 (256 * MiB)                      default
  log_level                        "info"                                     default
  log_retention_check_interval_ms  300000 (minutes(5))                        config.lua:4
  lua_budget_ms                    50                                         default
  lua_memory                       67108864 (64 * MiB)                        default
  lua_shared_memory                67108864 (64 * MiB)                        default
  lua_threads                      as workers, leaving a core                 default
  metadata                         a/luka.mdb                                 default
  unsafe                           false                                      default
  workers                          2                                          --set
defaults
  partitions                       3                                          config.lua:6
topic "clicks"                                                                config.lua:7
  partitions                       3                                          config.lua:6
  replication_factor               1                                          default
  retention_ms                     86400000 (days(1))                         config.lua:8
topic "events"                                                                config.lua:10
  partitions                       6                                          config.lua:10
  replication_factor               1                                          config.lua:10

config.lua is right: 2 topics, 0 warnings
]], out)
  end)

  it("prints it as one object with --json", function()
    local out, err, status = check([[
broker { log_retention_bytes = 9223372036854775807LL, console = false }
topic "a" { cleanup_policy = { "compact", "delete" } }
]], "--json")
    assert.equal("", err)
    assert.equal(0, status)
    assert.truthy(out:match "^{.*}\n$")
    for _, part in ipairs {
      '{"from":"config.lua:1","key":"log_retention_bytes","name":"log.retention.bytes","value":"9223372036854775807"}',
      '{"from":"config.lua:1","key":"console","value":false}',
      '{"from":"default","key":"listen","value":["127.0.0.1:9092"]}', '"defaults":[]',
      '{"configs":[{"from":"config.lua:2","key":"cleanup_policy","name":"cleanup.policy","value":"compact,delete"}],',
      '"name":"a","partitions":{"from":"default","key":"partitions","value":1}',
      '"warnings":[]',
    } do
      assert.truthy(out:find(part, 1, true), part .. " is not in " .. out)
    end
  end)

  it("checks --set without a file", function()
    os.remove(config)
    local out, _, status = run "check --set id=9"
    assert.equal(0, status)
    assert.truthy(out:find("\n  id  +9  +%-%-set\n"))
    assert.truthy(out:find "\nno file, all is default but %-%-set: 0 topics, 0 warnings\n$")
    local _, err, refused = run "check --set wokers=9"
    assert.equal("--set wokers: unknown key, did you mean workers?\n", err)
    assert.equal(2, refused)
  end)

  it("says that a ./config.lua is not used without an argument, as by serve", function()
    unit.write_file(config, "topic 'clicks' { partitions = 2 }")
    local out, _, status = run "check"
    assert.equal(0, status)
    assert.truthy(out:find("\nno file, all is default but --set: 0 topics, 0 warnings\n./config.lua is there, and not used, as "
      .. "by `luka serve` without a file: `luka check config.lua` checks it\n", 1, true), out)
    assert.is_nil(run("check config.lua"):find("not used", 1, true))
  end)

  it("warns of what will not do what it says", function()
    local out, _, status = check [[
defaults {
  cleanup_policy = "compact",
  min_insync_replicas = 2,
}
topic "a" {
  max_compaction_lag_ms = days(1),
  local_retention_ms = days(1),
}
]]
    assert.equal(0, status)
    assert.equal([[
warning: config.lua:3: defaults.min_insync_replicas: has no effect yet: it belongs to replication
warning: config.lua:7: topic "a".local_retention_ms: has no effect yet: it belongs to tiered storage

config.lua is right: 1 topic, 2 warnings
]], out:match "(warning: .*)")
  end)

  it("writes nothing and starts nothing", function()
    local before = unit.temp_dir()
    unit.write_file(before .. "/config.lua", "broker { data = 'data', listen = '127.0.0.1:1' }")
    assert.equal(0, os.execute(("cd '%s' && '%s' check config.lua >/dev/null"):format(before, PROGRAM)))
    local pipe = io.popen(("ls -A '%s'"):format(before))
    assert.equal("config.lua\n", pipe:read "*a")
    pipe:close()
  end)

  it("prints what the configuration prints on standard error", function()
    local out, err, status = check "print('hello', 1) defaults {}"
    assert.equal(0, status)
    assert.truthy(err:match "^%S+ info  config.lua:1: hello 1\n$")
    assert.is_nil(out:find "hello")
  end)

  it("has a traceback with --debug", function()
    local _, err, status = check("local function f() error 'boom' end\nf()", "--debug")
    assert.equal(2, status)
    assert.truthy(err:match "^config%.lua:1: boom\nconfig%.lua:1: boom\nstack traceback:\n")
  end)

  it("has its error as a line of JSON where that is asked for", function()
    local _, err, status = check("broker { id = 'x' }", "--log-format json")
    assert.equal(2, status)
    assert.truthy(err:match '^{[^\n]*config%.lua:1: broker%.id: got \\"x\\"[^\n]*}\n$')
  end)
end)

describe("a view of a topic that has no block", function()
  it("is a warning of luka check, as nobody knows there which topics there are", function()
    local out, _, status = check [[
topic "orders" { partitions = 2 }
view("orders.eu", { from = "orders" })
view("clicks.eu", {
  from = "clicks",
})]]
    assert.equal(0, status)
    assert.equal([[
warning: config.lua:4: view "clicks.eu".from: no block gives topic "clicks": the view is there when somebody has created it

config.lua is right: 1 topic, 2 views, 1 warning
]], out:match "(warning: .*)")
  end)
end)

describe("a start with warnings", function()
  it("prints them, and starts", function()
    unit.write_file(config, "\ndefaults { unclean_leader_election_enable = true }")
    local broker = require("spec.support.broker").start { config = config }
    assert.truthy(broker:log():find((" warn  %s:2: defaults.unclean_leader_election_enable: has no effect yet: it belongs "
      .. "to replication\n"):format(config), 1, true), broker:log())
    assert.equal(0, broker:stop())
  end)
end)

--- Cases are { what, source, line }; the line is a pattern when it begins with "^".
local CASES = {
  { "a value that is none (F2)", "broker { log_retention_ms = 'foobar' }",
    'config.lua:1: broker.log_retention_ms: got "foobar", expected a whole number of ms' },
  { "a duration with a unit in a text (F2)", "defaults {\n  retention_ms = '7d' }",
    'config.lua:2: defaults.retention_ms: got "7d", expected a whole number of ms; write days(7)' },
  { "a size with a unit in a text (F2)", "topic 'a' { retention_bytes = '10MB' }",
    'config.lua:1: topic "a".retention_bytes: got "10MB", expected a whole number of bytes; write 10 * MiB' },
  { "a misspelt key (F2)", "broker { log_retention_mss = 1 }",
    "config.lua:1: broker.log_retention_mss: unknown key, did you mean log_retention_ms?" },
  { "an endless loop", "\nwhile true do end", "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "an endless loop around pcall", "\nwhile true do pcall(function() while true do end end) end",
    "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "an endless loop in a metamethod", "\nlocal t = setmetatable({}, { __add = function() while true do end end }) t = t + 1",
    "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "an endless loop in coroutines", "\nwhile true do pcall(coroutine.wrap(function() while true do end end)) end",
    "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "an endless replacement", "\nstring.gsub('x', 'x', function() while true do end end)",
    "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "a pattern that does not end", "\nstring.find(('a'):rep(1e5), ('a*'):rep(30) .. 'b')", "^config%.lua:2: " },
  { "an endless error object", "\nerror(setmetatable({}, { __tostring = function() while true do end end }))",
    "config.lua:2: evaluation took longer than 800 ms (an endless loop?)" },
  { "an error object that raises", "error(setmetatable({}, { __tostring = error }))",
    "config.lua:1: the error raised is a table, not a text" },
  { "an error that is nil", "error()", "config.lua:1: the error raised is a nil, not a text" },
  { "an error with control characters, lines and bytes that are not UTF-8", "error 'a\\nb\\27[2J\\200\\0c'",
    "config.lua:1: a | b\\x1b[2J\\xc8\\x00c" },
  { "an error of a megabyte", "error(('x'):rep(1e6), 0)", "^config%.lua:1: x+%.%.%.\n$" },
  { "strings without end", "\nlocal s = 'x' while true do s = s .. s end", "^config%.lua:2: not enough memory: " },
  { "tables without end", "\nlocal t = {} while true do t[#t + 1] = {} end", "^config%.lua:2: not enough memory: " },
  { "recursion without end", "local function f() return 1 + f() end f()", "config.lua:1: stack overflow" },
  { "deep parentheses", ("("):rep(1e5) .. "1" .. (")"):rep(1e5), "config.lua:1: chunk has too many syntax levels" },
  { "deep tables", "broker { data = " .. ("{"):rep(1e5) .. ("}"):rep(1e5) .. " }",
    "config.lua:1: chunk has too many syntax levels" },
  { "tables in tables", "local t = {} local top = t for i = 1, 1e5 do t[1] = {} t = t[1] end broker { data = top }",
    "config.lua:1: broker.data: got a table, expected a path" },
  { "a million keys", "local t = {} for i = 1, 3e5 do t['k' .. i] = 1 end broker(t)",
    "^config%.lua:1: [eb]" }, -- too many, or out of time on a slow machine
  { "a list of a million", "local t = {} for i = 1, 1e6 do t[i] = 'x' end broker { listen = t }",
    "config.lua:1: broker.listen: got 1000000 of them, expected at most 16" },
  { "100,000 topics", "for i = 1, 1e5 do topic('t' .. i) {} end",
    'config.lua:1: topic "t5001": is one too many: a configuration has at most 5000 topics, clients can create more' },
  { "binary garbage", "\0\1\2\255\254", "^config%.lua:1: " },
  { "bytecode", "\27LJ\2", "config.lua:1: is compiled Lua, only source text is accepted" },
  { "a file that requires itself", "require 'config'",
    "config.lua:1: module 'config' requires itself" },
  { "a module that leads out of the folder", "require '../x'",
    "config.lua:1: module name '../x' is not allowed: write \"policies.x\" for policies/x.lua" },
}

local function assert_line(expected, err)
  assert.equal(1, select(2, err:gsub("\n", "")), err)
  assert.is_nil(err:sub(1, -2):match "[%z\1-\31\127]")
  if expected:sub(1, 1) == "^" then
    assert.truthy(err:match(expected), err)
  else
    assert.equal(expected .. "\n", err)
  end
end

describe("a configuration that is wrong or hostile gets one line and status 2:", function()
  --- Within a second on an idle machine; what tells a hang from a busy one here is more.
  local PATIENCE_MS = SAN ~= "" and 30000 or 10000

  for _, case in ipairs(CASES) do
    it(case[1], function()
      local out, err, status, took = check(case[2])
      assert.equal(2, status)
      assert.equal("", out)
      assert_line(case[3], err)
      assert.is_true(took < PATIENCE_MS)
    end)
  end

  it("a chain of modules", function()
    for i = 1, 300 do unit.write_file(("%s/m%d.lua"):format(folder, i), ("return require 'm%d'"):format(i + 1)) end
    local _, err, status = check "require 'm1'"
    assert.equal(2, status)
    assert.equal(1, select(2, err:gsub("\n", "")), err)
    assert.truthy(err:find "^m%d+%.lua:1: ")
  end)

  local DENIED = "cannot be read: Permission denied"
  for _, case in ipairs {
    { "a file that is missing", "true", "none.lua", "cannot be read: No such file or directory" },
    { "a folder", "mkdir -p folder", "folder", "cannot be read: Is a directory" },
    { "a file in a file", "touch file", "file/config.lua", "cannot be read: Not a directory" },
    { "a link to itself", "ln -sfn loop.lua loop.lua", "loop.lua", "cannot be read: Too many levels of symbolic links" },
    { "a pipe that nobody writes to", "rm -f fifo.lua; mkfifo fifo.lua", "fifo.lua",
      "cannot be read: it is a pipe or a terminal, and nothing more comes" },
    { "a device without end", "true", "/dev/zero", "is larger than 1048576 bytes" },
    { "a file of 100 MB", "truncate -s 100M big.lua", "big.lua", "is larger than 1048576 bytes" },
    { "a file that may not be read", "touch secret.lua; chmod 0 secret.lua", "secret.lua", DENIED },
  } do
    it(case[1], function()
      assert(os.execute(("cd '%s' && %s"):format(folder, case[2])) == 0)
      if case[4] == DENIED and require("posix.unistd").geteuid() == 0 then return end
      local out, err, status, took = run("check " .. case[3])
      assert.equal(("%s: %s\n"):format(case[3], case[4]), err)
      assert.equal("", out)
      assert.equal(2, status)
      assert.is_true(took < PATIENCE_MS)
    end)
  end

  it("the same at a start as with check", function()
    for _, case in ipairs { CASES[1], CASES[5], CASES[13] } do
      unit.write_file(config, case[2])
      local out, err, status = run "serve config.lua"
      assert.equal(2, status)
      assert.equal("", out)
      assert_line(case[3], err)
    end
  end)
end)

describe("a configuration from standard input or a pipe", function()
  it("is read", function()
    local pipe = io.popen(("echo 'broker { id = 5 }' | '%s' check /dev/stdin 2>&1"):format(PROGRAM))
    assert.truthy(pipe:read("*a"):find "\n  id  +5  +/dev/stdin:1\n")
    pipe:close()
  end)

  it("may come in pieces", function()
    os.execute(("cd '%s' && rm -f slow.lua && mkfifo slow.lua && (exec >slow.lua; echo 'broker {'; "
      .. "echo ' id = 6 }') &"):format(folder))
    local out = run "check slow.lua"
    assert.truthy(out:find "\n  id  +6  +slow.lua:2\n", out)
  end)

  it("that is empty is all default", function()
    local out, _, status = run "check /dev/null"
    assert.equal(0, status)
    assert.truthy(out:find "\n/dev/null is right: 0 topics, 0 warnings\n$")
  end)
end)
