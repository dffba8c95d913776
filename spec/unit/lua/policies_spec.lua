-- SPDX-License-Identifier: Apache-2.0
-- Functions of a configuration: what the set of policies says that C makes of them, and the same set in other states.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")
local evaluate = require "spec.unit.lua.evaluate"

local function load(text, sets)
  local result, message = evaluate.text(text, sets)
  assert.is_nil(message)
  return result.policies
end

describe("functions of config.lua", function()
  it("are none where none is given", function()
    assert.is_nil(load "topic 'a' { partitions = 2 }")
  end)

  it("are listed by kind and name in the order of the file, those of a topic in a fixed one", function()
    local set = load [[
      hook("topic.create", function() end)
      topic "a" { transform = function() end, partitioner = function() return 0 end, partitions = 2 }
      every(minutes(5), function() end)
      after(seconds(1), function() end)
      policy.partitioner("by_region", function() return 0 end)
      view("eu", { from = "a", where = function() return true end })
      defaults { placement = function() end }
      on.request("Fetch", function() end)
      topic "b" { archive = print, retention = function() end, transform_fetch = function() end }
    ]]
    assert.same({ "hook topic.create", "partitioner a", "transform a", "timer every 300000 ms", "timer after 1000 ms",
      "partitioner by_region", "where eu", "placement placement", "request Fetch", "transform_fetch b", "retention b",
      "archive b" }, set.list)
    assert.same({ "config.lua:1", "config.lua:2", "config.lua:2", "config.lua:3" }, { unpack(set.places, 1, 4) })
    assert.same({ { name = "a", partitioner = 2, transform = 3 },
      { name = "b", transform_fetch = 10, retention = 11, archive = 12 } }, set.topics)
    assert.same({ { "by_region", 6 } }, set.named)
    assert.same({ { name = "eu", from = "a", where = 7 } }, set.views)
    assert.equal(8, set.placement)
  end)
end)

describe("functions that depend on", function()
  local AT_TWO_TIMES = "config.lua: the configuration is another one each time it is evaluated (by time or chance?): "

  for what, text in pairs {
    ["the time"] = "if os.time() % 2 == 0 then hook('reload', print) else hook('topic.create', print) end",
    ["the half of the day"] = "hook(tonumber(os.date '%H') < 12 and 'reload' or 'topic.create', print)",
    ["the weekday"] = "topic('day-' .. os.date('*t').wday) { transform = print }",
    ["the year"] = "policy.partitioner('by_' .. os.date '%Y', print)",
    ["what word now gives"] = "every(now() % 2000 + 1000, print)",
    ["the processor's time"] = "if os.clock() < 1000 then hook('reload', print) end hook('topic.create', print)",
    ["chance"] = "math.randomseed(os.time()) policy.partitioner('by_' .. math.random(1e9), print)",
  } do
    it(what .. " are refused", function()
      local result, message = evaluate.text(text)
      assert.is_nil(result)
      assert.equal(AT_TWO_TIMES, message:sub(1, #AT_TWO_TIMES))
      assert.truthy(message:match " is not always given$")
    end)
  end

  it("the time only in whether they are compiled are refused", function()
    local _, message = evaluate.text "topic 'a' { jit = os.time() % 2 == 0, transform = print, partitions = 1 }"
    assert.equal(AT_TWO_TIMES .. "transform a is not always compiled", message)
  end)

  for what, text in pairs {
    ["a given time"] = "if os.date('%Y', 0) == '1970' and os.time { year = 2000, month = 1, day = 1 } < 1e9 then"
      .. " hook('reload', print) end",
    ["numbers that are the same in each state"] = "policy.partitioner('by_' .. math.random(1e9), print)",
    ["a time that is over later"] = ("if os.time() > %d then error 'out of date' end hook('reload', print)"):format(
      os.time() + 86400),
  } do
    it(what .. " are fine", function() assert.equal(1, #load(text).list) end)
  end

  it("the time in what they do are fine, as settings are", function()
    local result = evaluate.text "local t = os.time() broker { id = t % 1000 } hook('reload', function() return t end)"
    assert.is_true(math.abs(result.id - os.time() % 1000) < 60 or result.id < 60)
  end)
end)

--- Runs a piece of Lua in a fresh state in which the set has been loaded: `list` are its functions, by number.
local function in_state(set, piece, options)
  local text = { "local sources, expected = {}, {}\n" }
  for _, source in ipairs(set.sources) do
    text[#text + 1] = ("sources[#sources + 1] = { path = %q, text = %q }\n"):format(source.path, source.text)
  end
  for _, policy in ipairs(set.list) do
    text[#text + 1] = ("expected[#expected + 1] = { kind = %q, name = %q }\n"):format(policy:match "^(%S+) (.*)$")
  end
  text[#text + 1] = ([[
    local lines = {}
    local host = { is_deep = function() return false end, expected = expected }
    function host.log(level, line) lines[#lines + 1] = level .. " " .. line end
    %s
    local list, message = require("luka.policy.load").load(sources, host)
    if not list then return message end
    %s
  ]]):format(options or "", piece)
  local limits = ffi.new("struct lua_state_limits", { memory_bytes = 64 * 1024 * 1024, budget_ms = 1000 })
  local state = ffi.new "struct lua_state *[1]"
  assert.equal(0, C.lua_state_new(limits, state))
  local source = table.concat(text)
  local chunk, failure = ffi.new("struct lua_chunk", { text = source }), ffi.new "struct lua_state_failure"
  local result = C.lua_state_call(state[0], C.lua_chunk_run, chunk, failure)
  C.lua_state_delete(state[0])
  assert.equal(0, result, ffi.string(failure.message))
  return ffi.string(chunk.result)
end

local LIST = [[
  for i, policy in ipairs(list) do list[i] = policy.kind .. " " .. policy.name end
  return table.concat(list, "\n")
]]

describe("another state", function()
  it("finds the same functions under the same numbers", function()
    local set = load [[
      hook("reload", function() end)
      topic "a" { transform = function() end, partitioner = function() return 0 end }
      view "eu" { from = "a", where = function() return true end }
      view("all", { from = "a" })
      topic "b" { partitioner = "murmur2", archive = function() end }
      policy.partitioner("p", function() end, { jit = true })
      every(1000, function() end) after(10, function() end) on.request("Fetch", function() end)
      defaults { placement = function() end }
    ]]
    assert.equal(table.concat(set.list, "\n"), in_state(set, LIST))
  end)

  it("is told which are compiled, and when timers run", function()
    local set = load [[
      topic "a" { jit = true, transform = function() end, retention = function() end }
      policy.partitioner("p", function() end, { jit = true })
      every(seconds(1), function() end) after(10, function() end)
    ]]
    assert.equal("true false true false 1000 false 10 true", in_state(set, [[
      return ("%s %s %s %s %d %s %d %s"):format(list[1].is_compiled, list[2].is_compiled, list[3].is_compiled,
        list[4].is_compiled, list[4].ms, list[4].is_once, list[5].ms, list[5].is_once)
    ]]))
    assert.same({ true, false, true, false, false }, set.compiled)
  end)

  it("reads modules as they were when the configuration was checked", function()
    evaluate.write("helper.lua", "return { answer = 41 }")
    local set = load "local helper = require 'helper' hook('reload', function() return helper.answer + 1 end)"
    evaluate.write("helper.lua", "error 'changed'")
    assert.equal("42", in_state(set, "return list[1].fn()"))
  end)

  it("gives functions the words that it has, and theirs to others", function()
    local set = load "hook('reload', function() return hash 'x' .. reject('no') .. hours(1) end)"
    assert.equal("7reason no3600000", in_state(set, "return list[1].fn()",
      "host.words = { hash = function() return 7 end, reject = function(text) return 'reason ' .. text end }"))
  end)

  it("has functions say where they log", function()
    local set = load([[hook('reload', function()
  log.warn('a', { b = 1 })
  print(2, { 3 }, setmetatable({}, { __tostring = function() return 'text' end })) end)
print 'not this']])
    local text = in_state(set, "list[1].fn() return table.concat(lines, '\\n')")
    assert.truthy(text:find "^warn [^\n]*config.lua:2: a {\"b\": ?1}\ninfo [^\n]*config.lua:3: 2 %[3%] text$", text)
  end)

  it("has shared dictionaries that live on in the next", function()
    local set = load [[
      local counters = shared "policies_spec"
      hook("reload", function(way)
        if way == "set" then
          counters:set("text", "a\0b") counters:set("gone", 1) counters:set("gone", nil)
          counters:set(7, true, hours(1))
          return tostring(counters:add("once", 1)) .. tostring(counters:add("once", 2)) .. counters:incr("n", 2, 40)
        end
        local keys = counters:keys()
        table.sort(keys)
        local none, why = counters:incr("none", 1)
        return table.concat({ #counters:get "text", tostring(counters:get "gone"), tostring(counters:get "7"),
          counters:get "once", tostring(none), why, table.concat(keys, ","), #counters:keys(2),
          tostring(counters:delete "n"), tostring(counters:delete "n") }, " ")
      end)
    ]]
    assert.equal("truefalse42", in_state(set, "return list[1].fn 'set'"))
    assert.equal("3 nil true 1 nil there is nothing under this key 7,n,once,text 2 true false",
      in_state(set, "return list[1].fn 'get'"))
  end)

  for call, message in pairs {
    ["d.get 'k'"] = "get of a shared dictionary is called with a colon: dictionary:get(...)",
    ["d:get()"] = "get: the key is a no value, expected a string or a number",
    ["d:get {}"] = "get: the key is a table, expected a string or a number",
    ["d:get ''"] = "get: the key has 0 bytes, expected 1 to 1024",
    ["d:get(('k'):rep(1025))"] = "get: the key has 1025 bytes, expected 1 to 1024",
    ["d:set('k', {})"] = "set: the value is a table, expected a string, a number or a boolean",
    ["d:set('k', 5LL)"] = "set: the value is a cdata, expected a string, a number or a boolean",
    ["d:set('k', ('v'):rep(65537))"] = "set: the value has 65537 bytes, expected at most 65536",
    ["d:set('k', 1, 0)"] = "set: the time to live is not right, expected a number of ms, at least 1: hours(1)",
    ["d:set('k', 1, '5')"] = "set: the time to live is not right, expected a number of ms, at least 1: hours(1)",
    ["d:incr('k', 'x')"] = "incr: got a string, expected a number: counters:incr(key, 1, 0)",
    ["d:keys(0)"] = "keys: expected a number from 1 to 100000",
  } do
    it("refuses " .. call, function()
      local set = load(("local d = shared 'errors' hook('reload', function() %s end)"):format(call))
      local text = in_state(set, "return select(2, pcall(list[1].fn))")
      assert.equal("config.lua:1: " .. message, text:match "[^/]*$")
    end)
  end

  it("does not read a module when a function runs", function()
    evaluate.write("late.lua", "return {}")
    local set = load "hook('reload', function() require 'late' end)"
    local text = in_state(set, "return select(2, pcall(list[1].fn))")
    assert.equal("config.lua:1: module 'late' was not read when the configuration was checked: require it outside of functions",
      text:match "[^/]*$")
  end)

  it("says that a configuration is another one each time", function()
    local set = load "hook('reload', print) topic 'a' { transform = print }"
    set.sources[1].text = "hook('reload', print)"
    assert.truthy(in_state(set, LIST):find("the configuration is another one each time it is evaluated (by time or chance?): "
      .. "transform a is not always given", 1, true))
    set.sources[1].text = "hook('reload', print) topic 'a' { transform = print } hook('reload', print)"
    assert.truthy(in_state(set, LIST):find("hook reload is not always given", 1, true))
    set.sources[1].text = "hook('reload', print) topic 'a' { transform = 5 }"
    assert.truthy(in_state(set, LIST):find("transform a is not always given", 1, true))
  end)

  it("does not mind that pairs() has another order in each state", function()
    local set = load [[for name in pairs { a = 1, bb = 1, ccc = 1, d4 = 1, other = 1 } do
      topic(name, { transform = function() return name end }) end]]
    local expected = "transform " .. table.concat({ "a", "bb", "ccc", "d4", "other" }, "\ntransform ")
    for _ = 1, 20 do
      local seen = {}
      for line in in_state(set, [[
        for i, policy in ipairs(list) do list[i] = policy.kind .. " " .. policy.fn() end
        return table.concat(list, "\n")]]):gmatch "[^\n]+" do seen[#seen + 1] = line end
      assert.same(set.list, seen)
      table.sort(seen)
      assert.equal(expected, table.concat(seen, "\n"))
    end
  end)

  it("puts functions into the order that they had when it was checked", function()
    local set = load "hook('reload', print) topic 'a' { transform = print } hook('reload', print)"
    local before = in_state(set, LIST)
    set.sources[1].text = "topic 'a' { transform = print } hook('reload', print) hook('reload', print)"
    assert.equal(before, in_state(set, LIST))
  end)

  it("says what is raised", function()
    local set = load "hook('reload', print)"
    set.sources[1].text = "error 'boom'"
    assert.truthy(in_state(set, LIST):find "config.lua:1: boom$")
  end)

  it("has what no limit holds only if the configuration says so", function()
    local set = load "broker { unsafe = true } hook('reload', function() return io.type(io.stdout) .. os.execute 'true' end)"
    assert.equal("file0", in_state(set, "return list[1].fn()", "host.is_unsafe = true"))
    set = load "hook('reload', function() return io end)"
    assert.truthy(in_state(set, "return select(2, pcall(list[1].fn))"):find(
      "io is out of reach of a configuration: it needs broker { unsafe = true } before it", 1, true))
    set = load "hook('reload', function()\n  os.execute 'true' end)"
    assert.truthy(in_state(set, "return select(2, pcall(list[1].fn))"):find(
      "config.lua:2: os.execute is out of reach of a configuration: it needs broker { unsafe = true } before it", 1, true))
  end)
end)

describe("a set", function()
  it("has the limits of the configuration", function()
    local set = load "broker { lua_memory = 32 * MiB, lua_budget_ms = 7 } hook('reload', print)"
    assert.same({ 32 * 1024 * 1024, 7, false }, { set.memory_bytes, set.budget_ms, set.is_unsafe })
  end)

  it("has a number that rises", function()
    local first, second = load "hook('reload', print)", load "hook('reload', print)"
    assert.is_true(second.generation > first.generation)
  end)

  it("has the same hash on brokers that differ in broker { ... } and comments", function()
    local text = "broker { id = %d, listen = '127.0.0.1:%d', data = { 'd%d' } } %s hook('reload', function() return %s end)"
    local one = load(text:format(1, 9092, 1, "", 1)).hash
    assert.equal(one, load(text:format(2, 9093, 2, "-- other\n", 1)).hash)
    assert.not_equal(one, load(text:format(1, 9092, 1, "", 2)).hash)
    assert.not_equal(one, load(text:format(1, 9092, 1, "topic 'a' {}", 1)).hash)
  end)

  it("has another hash with another module", function()
    local text = "require 'helper' hook('reload', print)"
    evaluate.write("helper.lua", "return 1")
    local one = load(text).hash
    evaluate.write("helper.lua", "return 2")
    assert.not_equal(one, load(text).hash)
  end)

  it("knows the text of each function but for its comments", function()
    local function texts(text) return load(text).texts end
    local before = texts "hook('reload', function()\n  return 1\nend)\nhook('reload', function() return 2 end)"
    local after = texts "-- new\nhook('reload', function()\n  return  1 -- one\nend)\nhook('reload', function() return 3 end)"
    assert.equal(before[1], after[1])
    assert.not_equal(before[2], after[2])
  end)
end)
