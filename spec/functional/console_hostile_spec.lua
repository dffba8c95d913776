-- SPDX-License-Identifier: Apache-2.0
-- Consoles that hang, die, fill memory or do not keep to the protocol: the others and the broker do not notice.
local posix_stat = require "posix.sys.stat"
local broker_of = require "spec.support.broker"
local client = require "spec.support.client"
local console_of = require "spec.support.console"

describe("a hostile console", function()
  local broker, path, console, other

  setup(function()
    broker = broker_of.start { set = { "workers=1", "lua_memory=16777216" } }
    path = broker.data .. "/console.sock"
  end)

  teardown(function()
    assert.is_nil(broker:log():find("internal error", 1, true))
    assert.equal(0, broker:stop())
  end)

  before_each(function() console, other = console_of.connect(path), console_of.connect(path) end)

  after_each(function()
    console:close()
    other:close()
  end)

  --- The other console answers, and so does the broker.
  local function all_is_well()
    assert.equal(2, other:eval("1 + 1").values[1].value)
    assert.equal("list", other:eval("topics()").values[1].kind)
    local kafka = broker:connect()
    assert.is_table(kafka:ask("ApiVersions", 0, {}))
    kafka:close()
  end

  --- Interrupts an eval, which must end with that.
  local function interrupt(id)
    console:send { op = "interrupt", id = id }
    local result = console:finish(id)
    assert.same({ false, "interrupted", "interrupted" }, { result.ok, result.error, result.code })
    assert.equal(1, console:eval("1").values[1].value)
  end

  for name, source in pairs {
    ["an endless loop"] = "while true do end",
    ["an endless loop around pcall"] = "while true do pcall(function() while true do end end) end",
    ["an endless loop around pcall of an error"] = "while true do pcall(error) end",
    ["an endless loop in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
    ["an endless loop in coroutines in a loop"] = [[
      while true do
        pcall(coroutine.wrap(function() pcall(coroutine.wrap(function() while true do end end)) end))
      end
    ]],
    ["an endless loop in a handler of xpcall"] = "xpcall(error, function() while true do end end)",
    ["an endless comparison"] = "table.sort({ 1, 2, 3 }, function() while true do end end)",
    ["an endless metamethod"] = "return setmetatable({}, { __index = function() while true do end end }).x",
    ["endless loops where they cannot be interrupted"] = [[
      local bad = setmetatable({}, { __tostring = function() while true do end end })
      while true do pcall(string.format, "%s", bad) end
    ]],
    ["endless strings"] = "while true do local s = ('x'):rep(1e6) end",
    ["a wait behind pcall"] = "while true do pcall(watch, 3600, function() end) end",
    ["a wait in a coroutine"] = "coroutine.wrap(function() watch(3600, function() end) end)()",
    ["words without an end"] = "while true do pcall(coroutine.wrap(topics)) end",
  } do
    it("with " .. name .. " holds up nobody and can be interrupted", function()
      local id = console:start(source)
      for _ = 1, 3 do all_is_well() end
      interrupt(id)
    end)

    it("with " .. name .. " may go away", function()
      console:start(source)
      all_is_well()
      console:close()
      all_is_well()
    end)
  end

  for name, source in pairs {
    ["strings"] = "kept = {} while true do kept[#kept + 1] = ('x'):rep(1e5) .. #kept end",
    ["tables"] = "kept = {} while true do kept = { kept } end",
    ["one string"] = "kept = ('x'):rep(1e8)",
    ["a string that doubles"] = "kept = 'x' while true do kept = kept .. kept end",
    ["locals"] = "local kept = {} while true do kept = { kept } end",
    ["coroutines"] = "kept = {} while true do kept[#kept + 1] = coroutine.create(print) end",
    ["globals"] = "local i = 0 while true do i = i + 1 _G['g' .. i] = i end",
  } do
    it("with a memory bomb of " .. name .. " loses its task, and nobody else does", function()
      local id = other:start "local n = 0 while n < 3e7 do n = n + 1 end return n"
      local result = console:eval(source)
      assert.same({ false, "memory" }, { result.ok, result.code })
      assert.matches("^not enough memory: all consoles, hooks and timers together may use 16 MiB %(lua_memory%)", result.error)
      assert.equal(3e7, other:finish(id).values[1].value)
      all_is_well()
      assert.equal(1, console:eval("1").values[1].value)
    end)
  end

  it("that catches the bomb and keeps what it has loses it all the same", function()
    other:eval "mine = 7"
    local result = console:eval [[
      kept = {}
      pcall(function() while true do kept[#kept + 1] = ('x'):rep(1e4) .. #kept end end)
      while true do end
    ]]
    assert.equal("memory", result.code)
    assert.equal(7, other:eval("mine").values[1].value)
    assert.is_nil(console:eval("kept").values[1].value)
  end)

  it("that keeps nearly all memory loses its variables when another needs some, and is told", function()
    assert.is_true(console:eval("kept = {} for i = 1, 110 do kept[i] = ('x'):rep(1e5) .. i end").ok)
    assert.is_true(other:eval("t = {} for i = 1, 30 do t[i] = ('y'):rep(1e5) .. i end").ok)
    local result = console:eval "kept"
    assert.matches("the variables of this console are gone\n$", result.printed)
    assert.is_nil(result.values[1].value)
  end)

  it("that hides what it keeps in a library loses it all the same", function()
    local result = console:eval [[
      local kept = {}
      rawset(string, "kept", kept)
      pcall(function() while true do kept[#kept + 1] = ('x'):rep(1e4) .. #kept end end)
      while true do end
    ]]
    assert.equal("memory", result.code)
    assert.is_nil(console:eval("string.kept").values[1].value)
    assert.is_true(other:eval("t = {} for i = 1, 80 do t[i] = ('y'):rep(1e5) .. i end").ok)
    assert.equal("list", console:eval("topics()").values[1].kind)
  end)

  for name, case in pairs {
    ["a long line"] = { "x = { ('k') = 1 } --" .. ("a"):rep(1e6), "console:1: '}' expected near '='" },
    ["long names"] = {
      "for i = 1, 200 do _G[('x'):rep(2000) .. i] = 1 end " .. ("x"):rep(2000) .. "y()",
      "console:1: unknown word " .. ("x"):rep(2000) .. "y" },
    ["an object whose text is none"] = {
      "error(setmetatable({}, { __tostring = function() return {} end }))", "the error raised is a table, not a text" },
  } do
    it("with an error about " .. name .. " is told at once", function()
      assert.equal(case[2], console:eval(case[1]).error)
      all_is_well()
    end)
  end

  it("is not offered names that nobody types", function()
    assert.is_true(console:eval("_G['long' .. ('x'):rep(201)], long = 1, 2").ok)
    console:send { op = "complete", id = 9, line = "lon", cursor = 3 }
    assert.same({ "long" }, console:receive().words)
  end)

  it("that does not read is waited for, with little memory", function()
    local id = console:start "for i = 1, 1e4 do print(('x'):rep(1e5)) end return 'end'"
    for _ = 1, 5 do all_is_well() end
    local file = io.open(("/proc/%d/status"):format(broker.pid))
    local rss = tonumber(file:read("*a"):match "VmRSS:%s*(%d+)")
    file:close()
    if (os.getenv "LUKA_SAN" or "") == "" then assert.is_true(rss < 100000) end
    interrupt(id)
  end)

  it("that reads late gets all", function()
    local id = console:start "for i = 1, 100 do print(i .. ('x'):rep(1e5)) end return 'end'"
    all_is_well()
    local result = console:finish(id)
    assert.equal(100, #result.frames - 1)
    assert.equal("end", result.values[1].value)
    assert.matches("^1x", result.printed)
  end)

  it("that asks for completions and reads none is not heard any more", function()
    local frame = console_of.frame '{"op":"complete","id":1,"line":"","cursor":0}'
    local socket = require "posix.sys.socket"
    local bytes, sent = frame:rep(1000), 0
    client.wait_until("it is not read", function()
      local count = socket.send(console.fd, bytes)
      sent = sent + (count or 0)
      return count == nil
    end, 60000)
    all_is_well()
  end)

  local function refusal(bytes)
    local raw = console_of.open(path)
    raw:send_bytes(bytes)
    local frame = raw:receive()
    assert.equal("refused", frame.op)
    local rest, why = raw:receive()
    assert.same({ nil, "closed" }, { rest, why })
    raw:close()
    all_is_well()
    return frame.error
  end

  local HELLO = '{"op":"hello","version":1}'

  for name, case in pairs {
    ["a length that is no frame's"] = { "\255\255\255\255", "a frame is at most 2 MiB long" },
    ["a request of Kafka's"] = { "GET / HTTP/1.1\r\n\r\n", "a frame is at most 2 MiB long" },
    ["no JSON"] = { console_of.frame "hello", "a frame is a JSON object: " },
    ["an empty frame"] = { console_of.frame "", "a frame is a JSON object: " },
    ["JSON that is not UTF-8"] = { console_of.frame '{"op":"\255"}', "a frame is a JSON object: " },
    ["no object"] = { console_of.frame "7", "a frame is a JSON object: got a number" },
    ["lists upon lists"] = { console_of.frame(("["):rep(100)), "a frame has few members and no lists" },
    ["many members"] = { console_of.frame("{" .. ('"a":1,'):rep(100) .. "}"), "a frame has few members and no lists" },
    ["an unknown op"] = { console_of.frame '{"op":"dance"}', 'there is no op "dance"' },
    ["an op that is no text"] = { console_of.frame '{"op":{"a":1}}', 'there is no op {"a":1}' },
    ["no op"] = { console_of.frame "{}", "there is no op null" },
    ["no hello"] = { console_of.frame '{"op":"eval","id":1,"source":"1"}', "hello comes first" },
    ["another version"] = {
      console_of.frame '{"op":"hello","version":2}', "version 2 of the console's protocol is not spoken here, only 1" },
    ["no version"] = {
      console_of.frame '{"op":"hello"}', "version nil of the console's protocol is not spoken here, only 1" },
  } do
    it("that sends " .. name .. " is refused", function()
      local message = refusal(case[1])
      assert.equal(case[2], message:sub(1, #case[2]))
    end)
  end

  for name, case in pairs {
    ["hello twice"] = { HELLO, "hello was said already" },
    ["eval without an id"] = { '{"op":"eval","source":"1"}', "eval: id or source is missing" },
    ["eval without a source"] = { '{"op":"eval","id":1}', "eval: id or source is missing" },
    ["eval of a number"] = { '{"op":"eval","id":1,"source":1}', "eval: id or source is missing" },
    ["an id that is no number"] = { '{"op":"eval","id":"1","source":"1"}', "eval: id or source is missing" },
    ["an id below zero"] = { '{"op":"eval","id":-1,"source":"1"}', "eval: id or source is missing" },
    ["complete without a line"] = { '{"op":"complete","id":1,"cursor":0}', "complete: id, line or cursor is missing" },
    ["a cursor behind the line"] = {
      '{"op":"complete","id":1,"line":"ab","cursor":3}', "complete: id, line or cursor is missing" },
    ["a line without end"] = {
      ('{"op":"complete","id":1,"line":"%s","cursor":3}'):format(("x"):rep(1e5)), "complete: a line is at most 65536 bytes long" },
  } do
    it("that sends " .. name .. " is refused", function()
      local raw = console_of.open(path)
      raw:send_bytes(console_of.frame(HELLO) .. console_of.frame(case[1]))
      assert.equal("hello", raw:receive().op)
      local frame = raw:receive()
      assert.same({ "refused", case[2] }, { frame.op, frame.error })
      local rest, why = raw:receive()
      assert.same({ nil, "closed" }, { rest, why })
      raw:close()
      all_is_well()
    end)
  end

  for name, case in pairs {
    ["a line of a megabyte that is nearly a table"] = {
      "x = { 1, " .. ("a"):rep(900000) .. ", b.c = 1 }", "^console:1: '}' expected near '='$",
    },
    ["endless globals, and one that is misspelt"] = {
      [[for i = 1, 999 do _G[("x"):rep(3980) .. ("%03d"):format(i) .. ("y"):rep(10)] = 1 end
      error("console:1: attempt to call global '" .. ("x"):rep(3980) .. "zzz' (a nil value)", 0)]],
      "^console:1: unknown word x+zzz$",
    },
  } do
    it("with " .. name .. " gets its error at once", function()
      local result = console:eval(case[1])
      assert.is_false(result.ok)
      assert.matches(case[2], result.error)
      all_is_well()
    end)
  end

  it("that begins a second eval before the first is done is refused", function()
    console:start "while true do end"
    console:start "1"
    local frame = console:receive()
    assert.same({ "refused", "eval: the one before is not done" }, { frame.op, frame.error })
    assert.same({ nil, "closed" }, { console:receive() })
    all_is_well()
  end)

  it("that sends a source that is too long gets an error", function()
    local result = console:eval("--" .. ("x"):rep(2 ^ 20))
    assert.equal("the source text is longer than 1048576 bytes", result.error)
    all_is_well()
  end)

  for size = 0, 9 do
    it(("that ends after %d bytes leaves nothing"):format(size), function()
      local raw = console_of.open(path)
      raw:send_bytes(console_of.frame(HELLO):sub(1, size))
      raw:close()
      all_is_well()
    end)
  end

  it("that is the 65th is refused, until one leaves", function()
    local many = {}
    for i = 1, 62 do many[i] = console_of.connect(path) end
    local late = console_of.open(path)
    assert.same({ op = "refused", error = "64 consoles are open already" }, late:receive())
    assert.same({ nil, "closed" }, { late:receive() })
    late:close()
    many[1]:close()
    client.wait_until("there is room again", function()
      local again = console_of.connect(path)
      local is_in = again.greeting.op == "hello"
      again:close()
      return is_in
    end)
    for i = 2, 62 do many[i]:close() end
    all_is_well()
  end)

  it("that is interrupted while the broker answers leaves no answer for the next", function()
    console:eval "create('clicks', { partitions = 1 })"
    for i = 1, 30 do
      local id = console:start "while true do topics() brokers() end"
      for _ = 1, i % 5 do other:eval "1" end
      console:send { op = "interrupt", id = id }
      assert.equal("interrupted", console:finish(id).error)
      assert.equal("clicks", console:eval("topics()").values[1].rows[1].name)
    end
  end)

  it("that waits for records may be interrupted", function()
    console:eval "create('empty', { partitions = 1 })"
    local id = console:start "tail('empty', { from = 'earliest' })"
    all_is_well()
    interrupt(id)
  end)

  it("is let in when clients have all connections", function()
    local full = broker_of.start { set = { "max_connections=1" } }
    local kafka = full:connect()
    assert.is_table(kafka:ask("ApiVersions", 0, {}))
    local inside = console_of.connect(full.data .. "/console.sock")
    assert.equal("list", inside:eval("topics()").values[1].kind)
    inside:close()
    kafka:close()
    assert.equal(0, full:stop())
  end)

  it("is interrupted only in what runs", function()
    console:send { op = "interrupt", id = 77 }
    local id = console:start "while true do end"
    console:send { op = "interrupt", id = id + 1 }
    all_is_well()
    interrupt(id)
  end)

  for name, source in pairs {
    ["loops"] = "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    ["waits"] = "watch(3600, function() end)",
    ["tails"] = "tail('stopped', { from = 'earliest' })",
  } do
    it("that " .. name .. " does not hold up a stop", function()
      local stopped = broker_of.start()
      local socket_path = stopped.data .. "/console.sock"
      local last = console_of.connect(socket_path)
      last:eval "create('stopped', { partitions = 1 })"
      last:start(source)
      assert.equal(0, stopped:stop())
      assert.is_nil(posix_stat.stat(socket_path))
      last:close()
    end)
  end
end)
