-- SPDX-License-Identifier: Apache-2.0
-- Functions, views and their words in a configuration: what is refused, and how.
local evaluate = require "spec.unit.lua.evaluate"

local function refuses(cases)
  for _, case in ipairs(cases) do
    local name, text, expected, sets = unpack(case, 1, 4)
    it(name, function()
      local result, message = evaluate.text(text, sets)
      assert.is_nil(result)
      assert.equal(expected, message)
    end)
  end
end

describe("a function of a topic", function()
  refuses {
    { "is no text", "topic 'a' {\n  transform = 'x' }", 'config.lua:2: topic "a".transform: got "x", expected a function: '
      .. "function(record) if record.value then return record end end" },
    { "is no number, for a partitioner", "topic 'a' { partitioner = 3 }", 'config.lua:1: topic "a".partitioner: got 3, '
      .. "expected a function or the name of a partitioner: function(record, n) return hash(record.key) % n end" },
    { "is compiled or not", "topic 'a' { jit = 'yes', transform = print }",
      'config.lua:1: topic "a".jit: got "yes", expected true or false' },
    { "is not compiled where there is none", "topic 'a' {\n  partitions = 1, jit = true }", 'config.lua:2: topic "a".jit: '
      .. "compiles nothing: the topic has no partitioner, transform or transform_fetch that is a function" },
    { "is not compiled where it is about segments", "topic 'a' { jit = true, retention = print }", 'config.lua:1: topic '
      .. '"a".jit: compiles nothing: the topic has no partitioner, transform or transform_fetch that is a function' },
    { "does not stand in defaults", "defaults { transform = print }", "config.lua:1: defaults.transform: belongs in a topic" },
    { "does not stand in broker", "broker { partitioner = print }", "config.lua:1: broker.partitioner: belongs in a topic" },
    { "is no key of --set", "", "--set transform: is a topic config: write it in config.lua, topic \"...\" { transform = ... }",
      { "transform=x" } },
    { "is misspelt", "topic 'a' { transfrom = print }",
      'config.lua:1: topic "a".transfrom: unknown key, did you mean transform?' },
    { "does not stand outside of the braces", "topic 'a' {}\ntransform = print", "config.lua:2: transform: is a variable here, "
      .. 'which nothing reads; write topic "name" { transform = ... }' },
    { "is no word", "\ntransform('a', print)",
      'config.lua:2: unknown word transform: it is a key, topic "name" { transform = ... }' },
    { "is none of a view", "topic 'a' { where = print }",
      'config.lua:1: topic "a".where: belongs in a view: view("name", { from = "topic", where = function })' },
    { "is none of the words", "topic 'a' { hook = print }",
      'config.lua:1: topic "a".hook: is a word by itself, outside of the braces: hook("topic.create", function)' },
    { "stands there once", "topic 'a' {\n  transform = print,\n  transform = print }",
      'config.lua:3: topic "a".transform: given already at config.lua:2' },
  }

  it("does not count in the comparison of topic blocks", function()
    local with = evaluate.text "topic 'a' { partitions = 2, retention_ms = 5, transform = function() end, jit = true }"
    local without = evaluate.text "topic 'a' { partitions = 2, retention_ms = 5 }"
    assert.equal(without.topics[1].text, with.topics[1].text)
  end)

  it("may stand in a module, and is found there", function()
    evaluate.write("policies/eu.lua", "local M = {}\n\nfunction M.pick(record, n)\n  return 0\nend\nreturn M")
    local config = evaluate.text "local eu = require 'policies.eu'\ntopic 'a' { partitioner = eu.pick }"
    assert.same({ "eu.lua:3" }, config.policies.places)
  end)
end)

describe("a function that has to return something", function()
  local function warnings(text)
    local list = assert(evaluate.text(text)).warnings
    for i, line in ipairs(list) do list[i] = line:gsub("^.*/config.lua", "config.lua") end
    return list
  end

  it("is warned of when it has no return", function()
    assert.same({
      'config.lua:1: topic "a".transform: has no return, and so drops every record; where that is meant, write return nil',
      'config.lua:2: topic "a".partitioner: has no return, and so refuses every record',
      'config.lua:3: view "v".where: has no return, and so shows no record',
    }, warnings [[
topic "a" { transform = function(record) record.key = nil end,
  partitioner = function(record, n) local _ = hash(record.key) % n end }
view("v", { from = "a", where = function(record) local _ = record.key == "x" end })]])
  end)

  it("is not warned of when it has one, and others need none", function()
    assert.same({}, warnings [[
topic "a" { transform = function(record) if record.key then return record end end, archive = function() end }
topic "b" { transform = function() return nil end, retention = print }
hook("topic.create", function() end)
every(1000, function() end)]])
  end)
end)

describe("a partitioner that is a name", function()
  it("is the config luka.partitioner", function()
    for _, name in ipairs { "murmur2", "consistent", "round_robin", "sticky", "header:region", "range:a,m", "none" } do
      local config = evaluate.text(("topic 'a' { partitioner = %q }"):format(name))
      assert.equal(name, config.topics[1].configs["luka.partitioner"])
      assert.is_nil(config.policies)
    end
    local config = evaluate.text "topic 'a' { luka_partitioner = 'mine' } policy.partitioner('mine', print)"
    assert.equal("mine", config.topics[1].configs["luka.partitioner"])
  end)

  refuses {
    { "is one that there is", "topic 'a' { partitioner = 'murmur' }",
      'config.lua:1: topic "a".partitioner: there is no partitioner "murmur", did you mean "murmur2"?' },
    { "is one that somebody makes", "topic 'a' { luka_partitioner = 'by_region' }", 'config.lua:1: topic '
      .. '"a".luka_partitioner: there is no partitioner "by_region"; policy.partitioner(name, function) makes one' },
    { "is the nearest of the user's own", "topic 'a' { partitioner = 'by_regoin' } policy.partitioner('by_region', print)",
      'config.lua:1: topic "a".partitioner: there is no partitioner "by_regoin", did you mean "by_region"?' },
    { "has an argument that makes sense", "topic 'a' { partitioner = 'range:b,a' }", 'config.lua:1: topic "a".partitioner: '
      .. 'the bounds of range: have to rise, and none may be empty: range:a,m,t' },
    { "is not given twice", "topic 'a' {\n  partitioner = 'murmur2',\n  luka_partitioner = 'sticky' }",
      'config.lua:3: topic "a".luka_partitioner: given already as topic "a".partitioner at config.lua:2' },
    { "is no function as well", "topic 'a' {\n  partitioner = print,\n  luka_partitioner = 'sticky' }",
      'config.lua:3: topic "a".luka_partitioner: given already as topic "a".partitioner at config.lua:2' },
  }
end)

describe("policy.partitioner", function()
  it("is compiled when its third argument says so", function()
    local set = evaluate.text("policy.partitioner('a', print, { jit = true }) policy.partitioner('b', print)").policies
    assert.same({ true, false }, set.compiled)
  end)

  refuses {
    { "has a name", "policy.partitioner(print)", "config.lua:1: policy.partitioner: got a function, expected a name: "
      .. 'policy.partitioner("by_region", function)' },
    { "has a name of plain letters", "policy.partitioner('a b', print)", 'config.lua:1: policy.partitioner "a b": a name has '
      .. "1 to 249 letters, digits, '.', '_' and '-'" },
    { "has a name that is not ours", "policy.partitioner('murmur2', print)",
      'config.lua:1: policy.partitioner "murmur2": is the name of a built-in partitioner' },
    { "has a name that says something", "policy.partitioner('none', print)",
      'config.lua:1: policy.partitioner "none": is the name of a built-in partitioner' },
    { "has a name of its own", "policy.partitioner('a', print)\npolicy.partitioner('a', print)",
      'config.lua:2: policy.partitioner "a": given already at config.lua:1' },
    { "has a function", "policy.partitioner('a')", 'config.lua:1: policy.partitioner "a": got nil, expected a function: '
      .. 'policy.partitioner("a", function(record, n) return 0 end)' },
    { "has no other options", "policy.partitioner('a', print, { jti = true })",
      'config.lua:1: policy.partitioner: unknown option "jti", expected { jit = true }' },
    { "has options in a table", "policy.partitioner('a', print, true)",
      "config.lua:1: policy.partitioner: got true, expected { jit = true }" },
    { "is the only word of policy", "policy.transform('a', print)",
      'config.lua:1: policy: there is no word "policy.transform", there is policy.partitioner' },
    { "is not policy itself", "policy('a', print)", "config.lua:1: policy: is a table of words: policy.partitioner(...)" },
  }
end)

describe("a view", function()
  it("may show all records", function()
    local set = evaluate.text("view 'eu' { from = 'orders' }").policies
    assert.same({ { name = "eu", from = "orders" } }, set.views)
    assert.same({}, set.sources)
  end)

  refuses {
    { "has a name", "view { from = 'a' }", 'config.lua:1: view: got a table, expected a name: view("orders.eu", { from = '
      .. '"orders" })' },
    { "has a name that a topic could have", "view('a b', { from = 'a' })",
      [[config.lua:1: view "a b": Topic name is invalid: 'a b' contains one or more characters other than ASCII ]]
      .. "alphanumerics, '.', '_' and '-'" },
    { "shows a topic", "view('eu', {})", 'config.lua:1: view "eu": has no topic to show: write from = "orders"' },
    { "is complete", "view 'eu'", 'config.lua:1: view "eu": has no topic to show: write view "eu" { from = "orders" }' },
    { "shows a topic by its name", "view('eu', { from = 3 })",
      'config.lua:1: view "eu".from: got 3, expected the name of a topic: from = "orders"' },
    { "asks a function", "view('eu', { from = 'a', where = true })", 'config.lua:1: view "eu".where: got true, expected a '
      .. 'function: function(record) return record.headers.region == "eu" end' },
    { "knows its keys", "view('eu', { from = 'a', were = print })",
      'config.lua:1: view "eu".were: there is no key "were", did you mean "where"?' },
    { "is not compiled without a function", "view('eu', { from = 'a', jit = true })",
      'config.lua:1: view "eu".jit: compiles nothing: the view has no where' },
    { "is given once", "view('eu', { from = 'a' })\nview('eu', { from = 'a' })",
      'config.lua:2: view "eu": given already at config.lua:1' },
    { "has a name that differs in more than a dot", "view('e.u', { from = 'a' })\nview('e_u', { from = 'a' })", 'config.lua:2: '
      .. [[view "e_u": collides with view "e.u" at config.lua:1: names may not differ in '.' and '_' alone]] },
    { "is no topic", "view('a', { from = 'b' })\ntopic 'a' {}", 'config.lua:1: view "a": is a topic already, at config.lua:2' },
    { "does not collide with a topic", "topic 'a.b' {}\nview('a_b', { from = 'b' })", 'config.lua:2: view "a_b": collides '
      .. [[with topic "a.b" at config.lua:1: names may not differ in '.' and '_' alone]] },
    { "does not show itself", "view('a', { from = 'a' })", 'config.lua:1: view "a".from: is the view itself, expected a topic' },
    { "does not show a view", "view('a', {\n  from = 'b' }) view('b', { from = 'c' })",
      'config.lua:2: view "a".from: "b" is a view, expected a topic' },
    { "is one of a thousand", "for i = 1, 1001 do view('v' .. i, { from = 'a' }) end",
      'config.lua:1: view "v1001": is one too many: a configuration has at most 1000 views' },
  }
end)

describe("a hook", function()
  refuses {
    { "is one that there is", "\nhook('topic.craete', print)",
      'config.lua:2: hook "topic.craete": there is no hook "topic.craete", did you mean "topic.create"?' },
    { "is one of a list", "hook('x', print)", 'config.lua:1: hook "x": there is no hook "x", there are broker.down, '
      .. "broker.start, broker.stop, broker.up, client.authorize, client.connect, disk.fail, group.empty, group.join, "
      .. "group.rebalance, isr.change, leader.change, log.delete, log.roll, partitions.create, reload, topic.config, "
      .. "topic.create, topic.delete" },
    { "has a name", "hook(print)", 'config.lua:1: hook: got a function, expected a name: hook("topic.create", '
      .. "function(request) end)" },
    { "has a function", "hook('reload')", 'config.lua:1: hook "reload": got nil, expected a function: hook("reload", '
      .. "function(event) end)" },
    { "has a function, of a request where it is asked", "hook('topic.create')", 'config.lua:1: hook "topic.create": got nil, '
      .. 'expected a function: hook("topic.create", function(request) end)' },
  }

  it("may be given several times", function()
    local set = evaluate.text("hook('reload', print) hook('reload', print)").policies
    assert.same({ "hook reload", "hook reload" }, set.list)
  end)
end)

describe("a timer", function()
  refuses {
    { "has a time", "every('5m', print)", 'config.lua:1: every: got "5m", expected a whole number of ms from 10 to 31622400000: '
      .. "every(minutes(5), function() end)" },
    { "is not all the time", "after(9, print)", "config.lua:1: after: got 9, expected a whole number of ms from 10 to "
      .. "31622400000: after(minutes(5), function() end)" },
    { "has whole milliseconds", "every(10.5, print)", "config.lua:1: every: got 10.5, expected a whole number of ms from 10 to "
      .. "31622400000: every(minutes(5), function() end)" },
    { "has a function", "every(minutes(5), 3)", "config.lua:1: every: got 3, expected a function: every(minutes(5), "
      .. "function() end)" },
  }
end)

describe("on.request", function()
  refuses {
    { "is of a request that there is", "on.request('Fech', print)",
      'config.lua:1: on.request "Fech": there is no request "Fech", did you mean "Fetch"?' },
    { "is of a request in its own spelling", "on.request('fetch', print)",
      'config.lua:1: on.request "fetch": there is no request "fetch", did you mean "Fetch"?' },
    { "has a name", "on.request(1, print)", 'config.lua:1: on.request: got 1, expected a request: on.request("Fetch", '
      .. "function(request) end)" },
    { "has a function", "on.request('Fetch')", 'config.lua:1: on.request "Fetch": got nil, expected a function: '
      .. 'on.request("Fetch", function(request) end)' },
    { "is the only word of on", "on.reqest('Fetch', print)",
      'config.lua:1: on: there is no word "on.reqest", did you mean "on.request"?' },
  }
end)

describe("placement", function()
  refuses {
    { "is a function", "defaults { placement = 'spread' }", 'config.lua:1: defaults.placement: got "spread", expected a '
      .. "function: function(topic, partitions, replicas, brokers) return { { brokers[1] } } end" },
    { "stands in defaults, not in a topic", "topic 'a' { placement = print }",
      'config.lua:1: topic "a".placement: belongs in defaults { ... }' },
    { "stands in defaults, not in broker", "broker { placement = print }",
      "config.lua:1: broker.placement: belongs in defaults { ... }" },
  }
end)

describe("what functions use, while the configuration is evaluated,", function()
  refuses {
    { "rejects nothing", "\nreject 'no'", "config.lua:2: reject: is for functions that are asked about a record or a request" },
    { "emits nothing", "emit('a', {})", "config.lua:1: emit: is for transforms: transform = function(record) "
      .. 'emit("other", record) end' },
    { "administrates nothing", "local g = admin.groups()", "config.lua:1: admin: is for hooks and timers: every(minutes(5), "
      .. "function() ... end)" },
    { "produces nothing", "produce('a', 'x')", 'config.lua:1: produce: is for hooks and timers: hook("topic.create", '
      .. "function(request) ... end)" },
    { "reloads nothing", "reload()", "config.lua:1: reload: is a word of the console, and a verb: luka reload" },
    { "reads no shared dictionary", "local d = shared 'x'\nd:get 'k'", "config.lua:2: get: shared dictionaries are for "
      .. "functions, not for the time when the configuration is evaluated" },
    { "shares nothing without a name", "shared()", 'config.lua:1: shared: got nothing, expected a name: shared "counters"' },
    { "hashes texts", "hash {}", "config.lua:1: a hash is made of a string, or of nil as of an empty one, not of a table" },
    { "is not set", "hash = print", "config.lua:1: hash is a word of the configuration and cannot be set" },
  }

  it("hashes as clients do", function()
    assert.truthy(evaluate.text [[
      assert(hash(nil) == hash "" and hash "" >= 0)
      assert(crc32 "123456789" == 0xcbf43926)
      assert(now() > 1.6e12)
      assert(json.decode(json.encode { a = { 1, 2 } }).a[2] == 2)
      broker {}
    ]])
  end)
end)

describe("functions", function()
  refuses {
    { "are at most ten thousand", "for i = 1, 10001 do hook('reload', print) end", 'config.lua:1: hook "reload": is one too '
      .. "many: a configuration has at most 10000 functions" },
  }

  it("have at most 4 MiB of files", function()
    for i = 1, 5 do evaluate.write(("big%d.lua"):format(i), "return {} --" .. ("x"):rep(1024 * 1024 - 20)) end
    local text = "for i = 1, 5 do require('big' .. i) end\n"
    assert.truthy(evaluate.text(text .. "broker {}"))
    local result, message = evaluate.text(text .. "hook('reload', print)")
    assert.is_nil(result)
    assert.truthy(message:find "^config.lua: has %d+ bytes with all its modules: one with functions has at most 4194304$")
  end)
end)
