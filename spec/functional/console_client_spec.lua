-- SPDX-License-Identifier: Apache-2.0
-- `luka console` without a terminal: -e, standard input, JSON, exit statuses, and what it says when the broker is not there,
-- is another version, or is none. The broker's side is played by the spec, but for the last part.
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local broker_of = require "spec.support.broker"
local process = require "spec.support.process"
local server_of = require "spec.support.console_server"
local unit = require "spec.support.unit"

local PROGRAM = broker_of.PROGRAM

describe("luka console", function()
  local server, path

  before_each(function()
    path = unit.temp_dir() .. "/c.sock"
    server = server_of.listen(path)
  end)
  after_each(function() server:close() end)

  local function start(arguments, options)
    return process.start({ PROGRAM, "console", path, unpack(arguments or {}) }, options)
  end

  --- Runs -e with the values that the broker answers; output, errors and status.
  local function run(messages, arguments)
    local started = start { "-e", "x", unpack(arguments or {}) }
    server:accept(true)
    server:answer(messages)
    local status, out, err = started:wait()
    return out, err, status
  end

  local function failed(text) return { op = "done", ok = false, error = text } end

  it("says hello as a script, which nobody can be asked", function()
    local started = start { "-e", "x" }
    assert.same({ op = "hello", version = 1, terminal = false, width = 80 }, server:accept(true))
    server:answer {}
    assert.equal(0, started:wait())
  end)

  it("evaluates each -e in turn", function()
    local started = start { "-e", "1", "-e", "2", "--eval", "3" }
    server:accept(true)
    for i = 1, 3 do
      local eval = server:answer { { op = "value", kind = "plain", value = i } }
      assert.equal(tostring(i), eval.source)
      assert.equal("-e", eval.name)
    end
    local status, out, err = started:wait()
    assert.equal("1\n2\n3\n", out)
    assert.equal("", err)
    assert.equal(0, status)
  end)

  it("stops at the first error, with its line on standard error and status 1", function()
    local started = start { "-e", "1", "-e", "2" }
    server:accept(true)
    server:answer { { op = "value", kind = "plain", value = 1 }, failed "-e:1: unknown word x" }
    local status, out, err = started:wait()
    assert.equal("1\n", out)
    assert.equal("-e:1: unknown word x\n", err)
    assert.equal(1, status)
    assert.is_true(server:wait_closed())
  end)

  it("evaluates standard input as one chunk, without its #! line", function()
    local started = start({}, { input = "#!/usr/bin/luka console\nprint(1)\nprint(2)\n" })
    server:accept(true)
    local eval = server:answer { { op = "print", text = "1" }, { op = "print", text = "2\n" } }
    assert.equal("\nprint(1)\nprint(2)\n", eval.source)
    assert.equal("stdin", eval.name)
    local status, out = started:wait()
    assert.equal("1\n2\n", out)
    assert.equal(0, status)
  end)

  it("says so when standard input cannot be read", function()
    local started = process.start({ "sh", "-c", PROGRAM .. " console " .. path .. " </" })
    server:accept(true)
    local status, _, err = started:wait()
    assert.equal("luka: cannot read standard input: Is a directory\n", err)
    assert.equal(1, status)
  end)

  it("refuses a source that is not UTF-8", function()
    local started = start({}, { input = "print '\255'" })
    server:accept(true)
    local status, _, err = started:wait()
    assert.equal("stdin: the source is not UTF-8\n", err)
    assert.equal(1, status)
  end)

  it("prints tables with raw numbers and nothing cut", function()
    local long = ("x"):rep(200)
    local out = run { server_of.list({ "name", "size_bytes", "start_time" }, { { "clicks", 1536, 1000 }, { long, 1, 2 } }) }
    local function padded(text) return text .. (" "):rep(200 - #text) end
    assert.equal(("%s  size_bytes  start_time\n%s        1536        1000\n%s           1           2\n")
      :format(padded "name", padded "clicks", long), out)
  end)

  it("prints JSON lines with --json, and what print() wrote on standard error", function()
    local out, err = run({
      { op = "print", text = "working" }, server_of.list({ "name", "size_bytes" }, { { "clicks", 1536 }, { "a", 1 } }),
      { op = "value", kind = "record", fields = { "z", "a" }, value = { a = 1, z = "x" } },
      { op = "value", kind = "plain", value = "text" },
    }, { "--json" })
    assert.equal('{"name":"clicks","size_bytes":1536}\n{"name":"a","size_bytes":1}\n{"z":"x","a":1}\n"text"\n', out)
    assert.equal("working\n", err)
  end)

  it("prints rows as they come, with one heading", function()
    local started = start { "-e", "tail('x')" }
    server:accept(true)
    local eval = server:take "eval"
    local function row(offset)
      local list = server_of.list({ "offset", "value" }, { { offset, "v" .. offset } })
      list.id = eval.id
      server:send(list)
    end
    row(9)
    started:wait_for "     9  v9\n"
    row(10)
    started:wait_for "    10  v10\n"
    server:send { op = "done", id = eval.id, ok = true }
    local _, out = started:wait()
    assert.equal("offset  value\n     9  v9\n    10  v10\n", out)
  end)

  it("prints each picture of a watch() below the other", function()
    local list = server_of.list({ "n" }, { { 1 } })
    assert.equal("n\n1\nn\n1\n", (run { { op = "clear" }, list, { op = "clear" }, list }))
  end)

  it("answers no when it is asked all the same", function()
    local started = start { "-e", "x" }
    server:accept(true)
    local eval = server:take "eval"
    server:send { op = "ask", id = eval.id, text = "Delete?" }
    assert.same({ op = "answer", id = eval.id, yes = false }, server:take "answer")
    server:send { op = "done", id = eval.id, ok = true }
    assert.equal(0, started:wait())
  end)

  it("gives messages as JSON with --log-format json", function()
    local _, err = run({ failed "-e:1: boom" }, { "--log-format", "json" })
    assert.truthy(err:match '^{"time":"[^"]+","level":"error","text":"%-e:1: boom"}\n$')
  end)

  it("asks the broker to stop what runs when it is interrupted, and ends with status 130", function()
    local started = start { "-e", "while true do end" }
    server:accept(true)
    local eval = server:take "eval"
    started:kill(signal.SIGINT)
    assert.equal(eval.id, server:take("interrupt").id)
    server:send { op = "done", id = eval.id, ok = false, error = "interrupted", code = "interrupted" }
    assert.equal(130, started:wait())
  end)

  it("leaves a broker that does not stop at a second interrupt", function()
    local started = start { "-e", "x" }
    server:accept(true)
    server:take "eval"
    started:kill(signal.SIGINT)
    server:take "interrupt"
    started:kill(signal.SIGINT)
    local status, _, err = started:wait()
    assert.equal("luka: left while the broker was still busy\n", err)
    assert.equal(130, status)
  end)

  it("ends by SIGTERM", function()
    local started = start { "-e", "x" }
    server:accept(true)
    server:take "eval"
    started:kill(signal.SIGTERM)
    assert.equal(143, started:wait())
  end)

  it("ends quietly when nobody reads its output any more", function()
    local reader, writer = unistd.pipe()
    local started = start({ "-e", "x" }, { output = writer })
    unistd.close(writer)
    server:accept(true)
    unistd.close(reader)
    local eval = server:take "eval"
    server:send { op = "value", id = eval.id, kind = "plain", value = ("x"):rep(100000) }
    local status, _, err = started:wait()
    assert.equal("", err)
    assert.equal(1, status)
  end)

  it("says so when its output cannot be written", function()
    local started = start({ "-e", "x" }, { output = "/dev/full" })
    server:accept(true)
    server:answer { { op = "value", kind = "plain", value = 1 } }
    local status, _, err = started:wait()
    assert.equal("luka: cannot write to standard output: No space left on device\n", err)
    assert.equal(1, status)
  end)
end)

describe("luka console says in one line, with status 1,", function()
  local function run(...)
    local started = process.start({ PROGRAM, "console", ... })
    local status, out, err = started:wait()
    assert.equal("", out)
    return err, status
  end

  it("that there is no socket, and what to do", function()
    local path = unit.temp_dir() .. "/none.sock"
    local err, status = run(path, "-e", "1")
    assert.equal(("luka: cannot connect to %s: there is no such socket; is the broker running, and is this the folder it was "
      .. "started in? `luka console SOCKET` or `luka console CONFIG.LUA` names another\n"):format(path), err)
    assert.equal(1, status)
  end)

  it("that nobody listens", function()
    local path = unit.temp_dir() .. "/old.sock"
    server_of.listen(path):close()
    local err, status = run(path, "-e", "1")
    assert.equal(("luka: cannot connect to %s: nobody listens there; the broker is not running\n"):format(path), err)
    assert.equal(1, status)
  end)

  it("that the path is too long for a socket", function()
    local path = "/tmp/" .. ("x"):rep(110)
    local err, status = run(path, "-e", "1")
    assert.equal(("luka: cannot connect to %s: the path is longer than the 107 bytes that a socket may have\n"):format(path), err)
    assert.equal(1, status)
  end)

  --- What is said when the broker's side does something once it has the eval, or instead of hello.
  local function met(play)
    local path = unit.temp_dir() .. "/c.sock"
    local server = server_of.listen(path)
    local started = process.start({ PROGRAM, "console", path, "-e", "x" })
    play(server)
    local status, _, err = started:wait()
    server:close()
    assert.equal(1, status)
    return (err:gsub(path:gsub("%p", "%%%0"), "SOCKET"))
  end

  local greetings = {
    { { op = "refused", error = "too many consoles" }, "luka: the broker refused the console: too many consoles\n" },
    { { op = "hello", version = 2 },
      "luka: the broker's console has version 2 of the protocol, this luka has version 1: use the luka that the broker runs\n" },
    { { op = "print", id = 1, text = "x" },
      "luka: SOCKET does not speak as the console of this version of luka does: it said print before hello\n" },
  }
  for _, case in ipairs(greetings) do
    it("what the broker's greeting is wrong about: " .. case[2], function()
      assert.equal(case[2], met(function(server)
        server:accept()
        server:take "hello"
        server:send(case[1])
      end))
    end)
  end

  it("that the broker closed the connection instead of hello", function()
    assert.equal("luka: the broker has closed the connection\n", met(function(server)
      server:accept()
      server:take "hello"
      server:hang_up()
    end))
  end)

  it("that the broker went away", function()
    assert.equal("luka: the broker has closed the connection\n", met(function(server)
      server:accept(true)
      server:take "eval"
      server:hang_up()
    end))
  end)

  local STRANGE = "luka: SOCKET does not speak as the console of this version of luka does: "
  local frames = {
    { "\0\0\0\0", "it sent a frame of 0 bytes" },
    { "\1\0\0\1x", "it sent a frame of 16777217 bytes" },
    { "HTTP/1.1 200 OK\r\n", "it sent a frame of 1213486160 bytes" },
    { server_of.frame "[1]", "it sent a message without op" },
    { server_of.frame "{", "it sent a message without op" },
    { server_of.frame '{"op":1}', "it sent a message without op" },
    { server_of.frame '{"op":"dance\\n"}', "it sent the unknown message 'dance\\n'" },
    { server_of.frame '{"op":"done","id":1}', "it sent done.ok that is no boolean" },
    { server_of.frame '{"op":"print","id":1}', "it sent print.text that is no string" },
    { server_of.frame '{"op":"value","id":1,"kind":"graph"}', "it sent a result of the unknown kind 'graph'" },
    { server_of.frame '{"op":"value","id":1,"kind":"list","columns":[]}', "it sent a list without columns or rows" },
    { server_of.frame '{"op":"value","id":1,"kind":"list","columns":[1],"rows":[]}', "it sent a list without columns or rows" },
    { server_of.frame '{"op":"value","id":1,"kind":"list","columns":["a"],"rows":[1]}', "it sent a row that is no object" },
    { server_of.frame '{"op":"value","id":1,"kind":"record","fields":["a"],"value":1}', "it sent a record without fields" },
    { server_of.frame '{"op":"value","id":1,"kind":"record","fields":["a"],"value":{"a":1},"lists":{"a":["b"]}}',
      "it sent a record with a list that is none" },
    { server_of.frame '{"op":"value","id":1,"kind":"record","fields":["a"],"value":{"a":[1]},"lists":{"a":["b"]}}',
      "it sent a record with a list that is none" },
  }
  for _, case in ipairs(frames) do
    it("that " .. case[2], function()
      assert.equal(STRANGE .. case[2] .. "\n", met(function(server)
        server:accept(true)
        server:take "eval"
        server:send_bytes(case[1])
      end))
    end)
  end
end)

describe("luka console with status 2 refuses", function()
  local function run(...)
    local status, out, err = process.start({ PROGRAM, "console", ... }):wait()
    assert.equal("", out)
    assert.equal(2, status)
    return err
  end

  it("a configuration that is wrong", function()
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, "broker {\n  id = 'one',\n}")
    assert.equal(path .. ':2: broker.id: got "one", expected a whole number from 0 to 2147483647\n', run(path, "-e", "1"))
  end)

  it("a configuration that is missing", function()
    assert.equal("/nowhere/config.lua: cannot be read: No such file or directory\n", run("/nowhere/config.lua", "-e", "1"))
  end)

  it("a folder", function()
    assert.equal("luka: /tmp is a folder: expected a configuration, or the socket of a broker's console\n", run("/tmp", "-e", "1"))
  end)
end)

describe("luka console at a real broker", function()
  local broker

  setup(function() broker = broker_of.start() end)
  teardown(function() assert.equal(0, broker:stop()) end)

  local function run(...)
    return process.start({ PROGRAM, "console", "--set", "data=" .. broker.data, ... }):wait()
  end

  it("finds it by its configuration, evaluates and prints", function()
    local status, out, err = run("-e", "1 + 1", "-e", "print('a', 2)", "-e", "{ x = 9007199254740993LL }")
    assert.equal("", err)
    assert.equal("2\na\t2\n{ x = 9007199254740993 }\n", out)
    assert.equal(0, status)
  end)

  it("prints what its words give", function()
    local status, out = run("--json", "-e", 'create("clicks", { partitions = 3 })', "-e", 'topics("clicks")')
    assert.equal(0, status)
    assert.truthy(out:match '{"name":"clicks","partitions":3,[^\n]*}\n$')
  end)

  it("shows an error with its line", function()
    local status, out, err = process.start({ PROGRAM, "console", "--set", "data=" .. broker.data },
      { input = "print(1)\nerror 'boom'\n" }):wait()
    assert.equal("1\n", out)
    assert.equal("stdin:2: boom\n", err)
    assert.equal(1, status)
  end)

  it("interrupts an endless loop", function()
    local started = process.start { PROGRAM, "console", "--set", "data=" .. broker.data, "-e", "print 'on'; while true do end" }
    started:wait_for "on\n"
    started:kill(signal.SIGINT)
    local status, _, err = started:wait()
    assert.equal("interrupted\n", err)
    assert.equal(130, status)
  end)
end)
