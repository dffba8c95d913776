-- SPDX-License-Identifier: Apache-2.0
-- The console's socket: sessions and what they evaluate.
local unistd = require "posix.unistd"
local stat = require "posix.sys.stat"
local broker_of = require "spec.support.broker"
local client = require "spec.support.client"
local console_of = require "spec.support.console"

describe("the console", function()
  local broker, console

  setup(function() broker = broker_of.start { set = { "workers=1" } } end)
  teardown(function() assert.equal(0, broker:stop()) end)

  before_each(function() console = console_of.connect(broker.data .. "/console.sock") end)
  after_each(function() console:close() end)

  --- The error of an eval that must fail.
  local function failure(source, name)
    local result = console:eval(source, name)
    assert.is_false(result.ok)
    return result.error, result.code
  end

  --- The first value that an eval shows.
  local function value(source)
    local result = console:eval(source)
    assert.is_nil(result.error)
    return result.values[1].value
  end

  it("greets with its version and the broker's", function()
    local greeting = console.greeting
    assert.same({ "hello", 1, 1 }, { greeting.op, greeting.version, greeting.broker })
    assert.matches("^%d+%.%d+", greeting.luka)
    assert.equal(22, #greeting.cluster)
  end)

  it("evaluates an expression", function()
    local result = console:eval "1 + 1"
    assert.is_true(result.ok)
    assert.same({ { op = "value", id = 1, kind = "plain", value = 2 } }, result.values)
  end)

  it("shows each value of several", function()
    local result = console:eval "1, 'two', nil, true"
    assert.equal(4, #result.values)
    assert.same({ 1, "two", nil, true },
      { result.values[1].value, result.values[2].value, result.values[3].value, result.values[4].value })
  end)

  it("evaluates statements", function()
    assert.equal(3, value "local a = 1 return a + 2")
  end)

  it("shows nothing for statements without a value", function()
    assert.same({}, console:eval("local a = 1").values)
  end)

  it("keeps globals", function()
    console:eval "kept = 7"
    assert.equal(7, value "kept")
    assert.equal(7, value "_G.kept")
    assert.equal(8, value "load('kept = kept + 1')() return kept")
  end)

  it("keeps globals from other sessions", function()
    console:eval "kept = 7"
    local other = console_of.connect(broker.data .. "/console.sock")
    assert.is_nil(other:eval("kept").values[1].value)
    other:close()
  end)

  it("keeps words as they are for other sessions", function()
    console:eval "topics = 1"
    assert.equal(1, value "topics")
    local other = console_of.connect(broker.data .. "/console.sock")
    assert.equal("list", other:eval("topics()").values[1].kind)
    other:close()
  end)

  it("does not let libraries be changed", function()
    assert.equal("console:1: string is read-only: cannot set rep", (failure "string.rep = nil"))
  end)

  it("explains a word that is named and not called", function()
    assert.equal('topics([part of a name])\n  All topics: partitions, records, size, configs set. help "topics" says more.\n',
      console:eval("topics").printed)
    assert.matches("^admin%.", console:eval("admin").printed)
    assert.equal("<function>", value "pairs")
    assert.equal("<function>", value "function() end")
  end)

  it("prints", function()
    assert.equal("a\t1\tnil\n", console:eval("print('a', 1, nil)").printed)
  end)

  for name, case in pairs {
    ["an error in the third line"] = { "\n\nerror 'boom'", "console:3: boom" },
    ["an error of a function"] = { "local function f() error 'boom' end\nf()", "console:1: boom" },
    ["a syntax error"] = { "local x =\n= 2", "console:2: unexpected symbol near '='" },
    ["a word that there is not"] = { "topicz()", "console:1: unknown word topicz, did you mean topics?" },
    ["a global that is near"] = { "counter = 1\ncounte()", "console:2: unknown word counte, did you mean counter?" },
    ["a member of a word that there is not"] = { "return topicz.x", "console:1: unknown word topicz, did you mean topics?" },
    ["a word of other tools"] = { 'delete "x"', 'console:1: unknown word delete: topic "name":delete() deletes a topic' },
    ["a word of config.lua"] = {
      "broker {}", "console:1: unknown word broker: broker { ... } belongs in config.lua, then reload() reads it" },
    ["a word for functions in config.lua"] = { 'hook("reload", print)',
      'console:1: unknown word hook: hook("topic.create", function) belongs in config.lua, then reload() reads it' },
    ["a table of words of config.lua"] = { 'policy.partitioner("x", print)',
      'console:1: unknown word policy: policy.partitioner("name", function) belongs in config.lua, then reload() reads it' },
    ["a name without quotes"] = { "topic x", 'console:1: topic x: a topic\'s name goes in quotes: topic "x"' },
    ["a text without quotes"] = { "help tail", 'console:1: help tail: a text goes in quotes: help "tail"' },
    ["a text without quotes behind something else"] = { "hello tail", "console:1: '=' expected near 'tail'" },
    ["a time as people write it"] = { "x = 7d", "console:1: malformed number near '7d': write days(7)" },
    ["something out of reach"] = { "io.open 'x'", "console:1: io is out of reach of the console" },
    ["a function of a library out of reach"] = { "os.execute 'x'", "console:1: os.execute is out of reach of the console" },
    ["an error that is a table"] = { "error {}", "the error raised is a table, not a text" },
    ["an error that is nil"] = { "error(nil)", "the error raised is nil" },
    ["an error that is a number"] = { "error(7)", "console:1: 7" },
    ["an error that is a function"] = { "error(print)", "the error raised is a function, not a text" },
    ["an error with a text of its own"] = {
      "error(setmetatable({}, { __tostring = function() return 'mine' end }))", "the error raised is mine" },
    ["an error whose text fails"] = {
      "error(setmetatable({}, { __tostring = error }))", "the error raised is a table, not a text" },
    ["an error that is not UTF-8"] = { "error('\\255', 0)", "\\xff" },
    ["an error in a coroutine"] = { "coroutine.wrap(function() error 'boom' end)()", "console:1: boom" },
    ["compiled code"] = { "\27LJ\2", "console:1: is compiled Lua, only source text is accepted" },
    ["a yield to nobody"] = { "coroutine.yield()", "console:1: attempt to yield outside a coroutine" },
  } do
    it("tells " .. name, function()
      assert.equal(case[2], (failure(case[1])))
      assert.equal(1, value "1")
    end)
  end

  it("cuts the message of an error", function()
    assert.equal(4096, #(failure "error(('x'):rep(1e6), 0)"))
  end)

  it("tells the code of an error that has one", function()
    local message, code = failure "error { code = 'mine', message = 'boom' }"
    assert.same({ "boom", "mine" }, { message, code })
  end)

  it("names the chunk as the client does", function()
    assert.equal("-e:1: boom", (failure("error 'boom'", "-e")))
  end)

  for name, case in pairs {
    ["text that is not UTF-8"] = { [["a\255\195\164"]], "a\\xffä" },
    ["no number"] = { "0/0", "nan" },
    ["infinity"] = { "-1/0", "-inf" },
    ["a function"] = { "(function() end)", "<function>" },
    ["a table in itself"] = { "(function() local t = {} t.t = t return t end)()", { t = "<cycle>" } },
    ["a list"] = { "{ 1, { 2 } }", { 1, { 2 } } },
  } do
    it("shows " .. name, function() assert.same(case[2], value(case[1])) end)
  end

  it("shows all digits of an int64", function()
    console:start "9223372036854775807LL"
    assert.same("value", console:receive().op)
    assert.matches('"value":9223372036854775807', console.text)
  end)

  it("shows tables of 16 levels at most", function()
    local shown, depth = value "(function() local t = {} for i = 1, 40 do t = { t } end return t end)()", 0
    while type(shown) == "table" do shown, depth = shown[1], depth + 1 end
    assert.same({ 16, "<too deep>" }, { depth, shown })
  end)

  it("refuses to show what is too large", function()
    assert.equal("the result is too large to be shown: ask for less of it", (failure "('x'):rep(13 * 2^20)"))
  end)

  it("shows a large result whole", function()
    assert.equal(5 * 2 ^ 20, #value "('x'):rep(5 * 2^20)")
  end)

  it("waits in words that are called in coroutines", function()
    assert.equal("table", value "type(coroutine.wrap(function() return coroutine.wrap(topics)() end)())")
  end)

  it("is a file that only its owner can use, and is gone after a stop", function()
    local other = broker_of.start()
    local path = other.data .. "/console.sock"
    assert.equal(384, stat.stat(path).st_mode % 512)
    assert.equal(0, other:stop())
    assert.is_nil(stat.stat(path))
  end)

  describe("that completes", function()
    local function complete(line, cursor)
      console:send { op = "complete", id = 5, line = line, cursor = cursor or #line }
      local answer = console:receive()
      assert.same({ "completions", 5 }, { answer.op, answer.id })
      return answer.words, answer.start
    end

    setup(function()
      local other = console_of.connect(broker.data .. "/console.sock")
      assert.is_nil(other:eval("create('clicks', { partitions = 1 }) create('clocks', { partitions = 1 })").error)
      other:close()
    end)

    it("words", function() assert.same({ { "topic", "topics" }, 0 }, { complete "topi" }) end)

    it("globals", function()
      console:eval "counter = 1"
      assert.same({ { "counter" }, 4 }, { complete "x = count" })
    end)

    it("what stands before the cursor", function() assert.same({ { "topic", "topics" }, 0 }, { complete("topi()", 4) }) end)
    it("members of libraries", function() assert.same({ { "rep", "reverse" }, 7 }, { complete "string.re" }) end)

    it("members of tables", function()
      console:eval "mine = { inner = { alpha = 1, beta = 2 } }"
      assert.same({ { "alpha", "beta" }, 11 }, { complete "mine.inner." })
    end)

    it("methods of texts", function()
      console:eval "name = 'x'"
      assert.same({ { "rep", "reverse" }, 5 }, { complete "name:re" })
    end)

    it("methods of topics", function()
      assert.same({ { "delete", "delete_records" }, 15 }, { complete 'topic "clicks":del' })
      console:eval "t = topic 'clicks'"
      assert.same({ { "delete", "delete_records" }, 2 }, { complete "t:del" })
    end)

    it("names of topics", function()
      assert.same({ { "clicks", "clocks" }, 7 }, { complete 'topic "cl' })
      assert.same({ { "clocks" }, 6 }, { complete "tail('clo" })
    end)

    it("configs of topics", function()
      assert.same({ { "retention_bytes", "retention_ms" }, 21 }, { complete 'topic "clicks":set { ret' })
      assert.same({ { "partitions" }, 14 }, { complete 'create("x", { parti' })
    end)

    it("values in a table of configs", function()
      assert.same({ { "hours" }, 36 }, { complete 'topic "clicks":set { retention_ms = hou' })
    end)

    it("topics for help", function() assert.same({ { "topics" }, 6 }, { complete 'help "topics' }) end)

    for _, line in ipairs { "no.such.thing", "f().", "-- to", 'print "to', "missing:", "'\\" } do
      it("nothing in " .. line, function() assert.same({}, (complete(line))) end)
    end

    it("while something runs", function()
      local id = console:start "while true do end"
      assert.same({ "topic", "topics" }, (complete "topi"))
      console:send { op = "interrupt", id = id }
      assert.is_false(console:finish(id).ok)
    end)
  end)

  it("says that a word cannot wait where it cannot be suspended", function()
    local result = console:eval [[
      string.format("%s", setmetatable({}, { __tostring = function() topics() return "x" end }))
    ]]
    assert.same({ false, "usage", "cannot wait inside a function that C calls back, such as __tostring for string.format" },
      { result.ok, result.code, result.error })
    assert.equal(1, console:eval("1").values[1].value)
  end)

  describe("whose client asks", function()
    it("a question first, on a terminal", function()
      local terminal = console_of.connect(broker.data .. "/console.sock", { terminal = true })
      terminal:eval "create('doomed', { partitions = 1 })"
      local id = terminal:start "topic('doomed'):delete()"
      local question = terminal:receive()
      assert.same({ "ask", id }, { question.op, question.id })
      terminal:send { op = "answer", id = id, yes = false }
      assert.is_true(terminal:finish(id).ok)
      assert.is_true(terminal:eval("topic 'doomed'").ok)
      id = terminal:start "topic('doomed'):delete()"
      assert.equal("ask", terminal:receive().op)
      terminal:send { op = "answer", id = id, yes = true }
      assert.is_true(terminal:finish(id).ok)
      assert.is_false(terminal:eval("topic 'doomed'").ok)
      terminal:close()
    end)

    it("each question by itself", function()
      local terminal = console_of.connect(broker.data .. "/console.sock", { terminal = true })
      terminal:eval "create('spared', { partitions = 1 })"
      local first = terminal:start "topic('spared'):delete()"
      assert.equal("ask", terminal:receive().op)
      terminal:send { op = "interrupt", id = first }
      assert.equal("interrupted", terminal:finish(first).code)
      local second = terminal:start "topic('spared'):delete()"
      assert.equal("ask", terminal:receive().op)
      terminal:send { op = "answer", id = first, yes = true }
      terminal:send { op = "answer", id = second, yes = false }
      assert.equal("nothing was deleted\n", terminal:finish(second).printed)
      assert.is_true(terminal:eval("topic('spared'):delete_records('all')").ok)
      terminal:close()
    end)

    it("nothing without one", function()
      console:eval "create('doomed', { partitions = 1 })"
      assert.is_true(console:eval("topic('doomed'):delete()").ok)
    end)
  end)

  describe("at a place", function()
    local function start(path, options)
      options = options or {}
      options.set = { "console=" .. path }
      return broker_of.start(options)
    end

    it("with a path that is longer than an address", function()
      local folder = broker_of.temp_dir()
      local long = folder .. "/" .. ("a"):rep(100) .. "/" .. ("b"):rep(100)
      assert(os.execute(("mkdir -p '%s'"):format(long)) == 0)
      local other = start(long .. "/console.sock")
      -- From inside the folder it is short enough for anybody.
      local before = unistd.getcwd()
      unistd.chdir(long)
      local inside = console_of.connect "console.sock"
      unistd.chdir(before)
      assert.equal(2, inside:eval("2").values[1].value)
      inside:close()
      assert.equal(0, other:stop())
      assert.is_nil(stat.stat(long .. "/console.sock"))
    end)

    it("where a dead process left its socket", function()
      local path = broker_of.temp_dir() .. "/console.sock"
      start(path):kill()
      assert.is_not_nil(stat.stat(path))
      local other = start(path)
      local found = console_of.connect(path)
      assert.equal(1, found:eval("1").values[1].value)
      found:close()
      assert.equal(0, other:stop())
    end)

    local function refused(path)
      local other = start(path, { wait = false })
      assert.equal(1, other:wait_exit())
      return (other:log():match "([^\n]*)\n$"):gsub("^.-broker%.console: ", "")
    end

    it("where another broker listens it does not start", function()
      local path = broker_of.temp_dir() .. "/console.sock"
      local first = start(path)
      assert.equal(("another process listens on %s"):format(path), (refused(path)))
      local still = console_of.connect(path)
      assert.equal(1, still:eval("1").values[1].value)
      still:close()
      assert.equal(0, first:stop())
    end)

    it("where a file is that is no socket it does not start", function()
      local path = broker_of.temp_dir() .. "/console.sock"
      local file = assert(io.open(path, "w"))
      file:write "mine"
      file:close()
      assert.equal(("%s is there and is no socket"):format(path), (refused(path)))
      assert.equal(4, stat.stat(path).st_size)
    end)

    it("in a folder that is missing it does not start", function()
      assert.matches("^cannot make the socket /nowhere/console.sock: ", (refused "/nowhere/console.sock"))
    end)

    it("that is turned off there is none", function()
      local other = broker_of.start { set = { "console=false" } }
      assert.is_nil(other:log():find("console on", 1, true))
      assert.is_nil(stat.stat(other.data .. "/console.sock"))
      assert.equal(0, other:stop())
    end)
  end)

  it("is there as soon as the log says so", function()
    client.wait_until("the log tells it", function()
      return broker:log():find("console on " .. broker.data .. "/console.sock", 1, true)
    end)
  end)
end)
