-- SPDX-License-Identifier: Apache-2.0
-- `luka console` on a pseudo-terminal: editing, completion, history, interrupts, several lines, the size of the window, the
-- pager, questions. The broker's side is played by the spec, but for the last part.
local bit = require "bit"
local signal = require "posix.signal"
local termio = require "posix.termio"
local broker_of = require "spec.support.broker"
local client = require "spec.support.client"
local server_of = require "spec.support.console_server"
local terminal_of = require "spec.support.terminal"
local unit = require "spec.support.unit"

local PROGRAM = broker_of.PROGRAM
local CTRL_C, CTRL_D, CTRL_Z, UP, BACKSPACE = "\3", "\4", "\26", "\27[A", "\127"

describe("the console on a terminal", function()
  local server, folder, term

  before_each(function()
    folder = unit.temp_dir()
    server = server_of.listen(folder .. "/c.sock")
  end)
  after_each(function()
    if term and not term.status then
      term:kill(signal.SIGKILL)
      term:wait_exit()
    end
    term = nil
    server:close()
  end)

  --- Starts a console, greets it and waits for its prompt.
  local function open(options, arguments)
    options = options or {}
    local env = { HOME = folder, XDG_STATE_HOME = false, LUKA_HISTORY = false, PAGER = false, LUKA_PAGER = "cat", NO_COLOR = "1",
      LANG = false, LC_ALL = false, LC_CTYPE = false }
    for key, value in pairs(options.env or {}) do env[key] = value end
    options.env = env
    term = terminal_of.start({ PROGRAM, "console", folder .. "/c.sock", unpack(arguments or {}) }, options)
    local hello = server:accept(true)
    term:wait_for "luka> "
    return hello
  end

  --- Types a line and answers it.
  local function enter(line, messages)
    term:type(line .. "\r")
    return server:answer(messages or {})
  end

  --- Leaves by Ctrl-D and returns what was seen until then.
  local function leave()
    term:wait_for "luka> "
    term:type(CTRL_D)
    assert.equal(0, term:wait_exit())
  end

  local function plain(value) return { op = "value", kind = "plain", value = value } end

  it("says who it talks to, and that somebody can be asked", function()
    assert.same({ op = "hello", version = 1, terminal = true, width = 100 }, open { columns = 100 })
    assert.truthy(term.screen:find("luka 0.1.0, broker 1 of cluster c1. help() lists the words, Ctrl-D leaves.\r\n", 1, true))
    term:type(CTRL_D)
    assert.equal(0, term:wait_exit())
  end)

  it("evaluates a line and shows the result", function()
    open()
    local eval = enter("1 + 1", { plain(2) })
    assert.equal("1 + 1", eval.source)
    assert.equal("console", eval.name)
    term:wait_for "1 + 1\r\n2\r\n"
    leave()
  end)

  it("leaves by exit and quit as well", function()
    for _, word in ipairs { "exit", "quit", " exit() " } do
      open()
      term:type(word .. "\r")
      assert.equal(0, term:wait_exit())
      assert.is_true(server:wait_closed())
    end
  end)

  it("evaluates nothing for an empty line", function()
    open()
    term:type "\r"
    term:wait_for "luka> "
    term:type "  \r"
    term:wait_for "luka> "
    assert.equal("x", enter("x").source)
    leave()
  end)

  it("shows numbers with units, and cuts tables to the width", function()
    open { columns = 44 }
    local columns = { "name", "size_bytes", "retention_ms", "note" }
    enter("topics()", { server_of.list(columns, { { "clicks", 1536, 604800000, ("x"):rep(50) } }) })
    term:wait_for("name    size_bytes  retention_ms  note\r\nclicks     1.5 KiB            7d  xxxxxxxxx…\r\n")
    leave()
  end)

  it("has colours, unless NO_COLOR or a dumb terminal say otherwise", function()
    local list = server_of.list({ "name" }, { { "a" } })
    local failure = { op = "done", ok = false, error = "console:1: boom" }
    open { env = { NO_COLOR = false } }
    enter("x", { list, failure })
    term:wait_for "\27[1mname\27[0m\r\na\r\n"
    term:wait_for "\27[31mconsole:1: boom\27[0m\r\n"
    leave()
    open()
    enter("x", { list, failure })
    term:wait_for "\nname\r\na\r\nconsole:1: boom\r\n"
    leave()
    for _, kind in ipairs { "dumb", "", false } do
      open { env = { TERM = kind, NO_COLOR = false } }
      enter("x", { list, failure })
      term:wait_for "\nname\r\na\r\nconsole:1: boom\r\n"
      leave()
    end
  end)

  it("never lets control characters of a broker through", function()
    open()
    enter("x", { plain "a\27[2J", { op = "print", text = "b\27[2J\nc" }, { op = "done", ok = false, error = "e\27[2J" } })
    term:wait_for '"a\\x1b[2J"\r\nb\\x1b[2J\r\nc\r\ne\\x1b[2J\r\n'
    leave()
  end)

  it("takes UTF-8", function()
    open()
    term:type("'äöü" .. BACKSPACE .. "日'\r")
    assert.equal("'äö日'", server:answer({}).source)
    leave()
  end)

  describe("with several lines", function()
    it("goes on with a second prompt until they are complete", function()
      open()
      term:type "for i = 1, 2 do\r"
      term:wait_for "\n    > "
      term:type "print(i)\r"
      term:wait_for "\n    > "
      assert.equal("for i = 1, 2 do\nprint(i)\nend", enter("end").source)
      leave()
    end)

    it("shows the line of the source that an error is about", function()
      open()
      enter("do\r  foo.bar()\rend", { { op = "done", ok = false, error = "console:2: unknown word foo" } })
      term:wait_for "console:2: unknown word foo\r\n  2 |   foo.bar()\r\n"
      leave()
    end)

    it("drops them all at Ctrl-C", function()
      open()
      term:type "for i = 1, 2 do\r"
      term:wait_for "\n    > "
      term:type("x" .. CTRL_C)
      term:wait_for "^C\27[J\r\nluka> "
      assert.equal("1", enter("1").source)
      leave()
    end)

    it("takes them pasted, with tabs as indents", function()
      open()
      term:type "for i = 1, 2 do\r\tprint(i)\rend\rprint 'x'\r"
      assert.equal("for i = 1, 2 do\n  print(i)\nend", server:answer({}).source)
      assert.equal("print 'x'", server:answer({}).source)
      term:wait_for "luka> print 'x'"
      leave()
    end)

    it("has them as one entry of the history", function()
      open()
      enter "do\r  print(1)\rend"
      term:wait_for "luka> "
      enter(UP)
      leave()
      assert.equal("do\\n  print(1)\\nend\n", unit.read_file(folder .. "/.local/state/luka/history"))
    end)
  end)

  describe("at Ctrl-C", function()
    it("drops the line", function()
      open()
      term:type "abc"
      term:wait_for "abc"
      term:type(CTRL_C)
      term:wait_for "^C\27[J\r\nluka> "
      assert.equal("1", enter("1").source)
      leave()
    end)

    it("asks the broker to stop what runs, and goes on", function()
      open()
      term:type "while true do end\r"
      local eval = server:take "eval"
      term:type(CTRL_C)
      assert.equal(eval.id, server:take("interrupt").id)
      server:send { op = "done", id = eval.id, ok = false, error = "interrupted", code = "interrupted" }
      leave()
      assert.is_nil(term.screen:find("interrupted", 1, true))
    end)

    it("leaves when it comes again and the broker has not stopped", function()
      open()
      term:type "x\r"
      server:take "eval"
      term:type(CTRL_C)
      server:take "interrupt"
      term:type(CTRL_C)
      assert.equal(130, term:wait_exit())
      assert.truthy(term.screen:find("luka: left while the broker was still busy\r\n", 1, true))
    end)
  end)

  it("goes on after Ctrl-Z", function()
    open()
    term:type("1 +" .. CTRL_Z)
    term:wait_for "luka> 1 +"
    assert.equal("1 + 2", enter(" 2").source)
    leave()
  end)

  --- Whether the terminal edits lines itself.
  local function is_cooked()
    return bit.band(termio.tcgetattr(term.fd).lflag, termio.ICANON) ~= 0
  end

  it("takes the terminal again when it was stopped by somebody else", function()
    open()
    term:type "1 +"
    term:wait_for "1 +"
    assert.is_false(is_cooked())
    term:kill(signal.SIGSTOP)
    local mode = termio.tcgetattr(term.fd)
    mode.lflag = bit.bor(mode.lflag, termio.ICANON, termio.ECHO)
    termio.tcsetattr(term.fd, termio.TCSANOW, mode)
    term:kill(signal.SIGCONT)
    term:wait_for "luka> 1 +"
    assert.is_false(is_cooked())
    assert.equal("1 + 2", enter(" 2").source)
    leave()
  end)

  describe("at Tab", function()
    local function complete(line, cursor, start, words)
      local asked = server:take "complete"
      assert.equal(line, asked.line)
      assert.equal(cursor, asked.cursor)
      server:send { op = "completions", id = asked.id, start = start, words = words }
    end

    it("inserts the only word that fits", function()
      open()
      term:type "brok\t"
      complete("brok", 4, 0, { "brokers" })
      term:wait_for "ers"
      assert.equal("brokers()", enter("()").source)
      leave()
    end)

    it("inserts what is common, then lists the words", function()
      open()
      term:type "to\t"
      complete("to", 2, 0, { "topic", "topics" })
      term:wait_for "pic"
      term:type "\t"
      complete("topic", 5, 0, { "topic", "topics" })
      term:wait_for "\r\ntopic   topics\r\nluka> topic"
      assert.equal("topics()", enter("s()").source)
      leave()
    end)

    it("completes in the middle of a line, in bytes of UTF-8", function()
      open()
      term:type 'x = "ä" .. to'
      term:wait_for "to"
      term:type "\t"
      complete('x = "ä" .. to', 14, 12, { "topics" })
      term:wait_for "pics"
      assert.equal('x = "ä" .. topics', enter("").source)
      leave()
    end)

    it("goes on when nothing fits, and takes no answer to another question", function()
      open()
      term:type "a\t"
      local asked = server:take "complete"
      server:send { op = "completions", id = asked.id + 1, start = 0, words = { "abc" } }
      server:send { op = "completions", id = asked.id, start = 99, words = { "abc", "a\27[2J" } }
      term:wait_for "\7"
      assert.equal("a + 1", enter(" + 1").source)
      leave()
    end)
  end)

  describe("with its history", function()
    it("finds what was typed before, also in the session before", function()
      open()
      enter "first()"
      term:wait_for "luka> "
      enter "second()"
      leave()
      open()
      term:type(UP)
      term:wait_for "second()"
      term:type(UP)
      term:wait_for "first()"
      assert.equal("first()", enter("").source)
      leave()
    end)

    it("searches in it", function()
      open()
      enter "needle()"
      term:wait_for "luka> "
      enter "hay()"
      term:wait_for "luka> "
      term:type "\18nee"
      term:wait_for "needle()"
      term:type "\27"
      assert.equal("needle()", enter("").source)
      leave()
    end)

    it("says once why it is not kept", function()
      open { env = { LUKA_HISTORY = "/proc/nowhere" } }
      enter "a"
      term:wait_for "luka: the history is not kept: /proc/nowhere: "
      term:wait_for "luka> "
      enter "b"
      leave()
      assert.equal(1, select(2, term.screen:gsub("is not kept", "")))
    end)
  end)

  describe("when the window gets another size", function()
    it("tells the broker and cuts to the new width", function()
      open { columns = 80 }
      term:set_size(24, 20)
      assert.same({ op = "resize", width = 20 }, server:take "resize")
      enter("x", { server_of.list({ "value" }, { { ("x"):rep(30) } }) })
      term:wait_for(("x"):rep(19) .. "…\r\n")
      leave()
    end)

    it("does so while something runs", function()
      open { columns = 80 }
      term:type "x\r"
      local eval = server:take "eval"
      term:set_size(24, 20)
      assert.equal(20, server:take("resize").width)
      local list = server_of.list({ "value" }, { { ("x"):rep(30) } })
      list.id = eval.id
      server:send(list)
      server:send { op = "done", id = eval.id, ok = true }
      term:wait_for(("x"):rep(19) .. "…\r\n")
      leave()
    end)
  end)

  describe("with a pager", function()
    local function rows(count)
      local out = {}
      for i = 1, count do out[i] = { i } end
      return server_of.list({ "n" }, out)
    end

    it("shows in it what is higher than the window", function()
      open { rows = 10, env = { LUKA_PAGER = "tail -n 1; echo paged" } }
      enter("x", { rows(20) })
      term:wait_for "\n20\r\npaged\r\n"
      leave()
    end)

    it("shows nothing in it that fits", function()
      open { rows = 10, env = { LUKA_PAGER = "echo paged" } }
      enter("x", { rows(5) })
      term:wait_for "\nn\r\n1\r\n2\r\n3\r\n4\r\n5\r\n"
      leave()
    end)

    it("shows nothing in it that is still coming", function()
      open { rows = 5, env = { LUKA_PAGER = "echo paged" } }
      term:type "tail('x')\r"
      local eval = server:take "eval"
      local list = rows(20)
      list.id = eval.id
      server:send(list)
      term:wait_for "\n20\r\n"
      server:send { op = "done", id = eval.id, ok = true }
      leave()
      assert.is_nil(term.screen:find("paged", 1, true))
    end)

    it("goes on when that is left before its end, or does not exist", function()
      for _, pager in ipairs { "true", "/nonexistent/pager 2>/dev/null" } do
        open { rows = 10, env = { LUKA_PAGER = pager } }
        enter("x", { rows(50000) })
        if pager ~= "true" then term:wait_for "\n50000\r\n" end
        leave()
      end
    end)

    it("leaves the terminal as it was, also when that is killed", function()
      term = terminal_of.start({ "sh", "-c", ("%s console %s/c.sock; stty -a"):format(PROGRAM, folder) },
        { rows = 10, env = { HOME = folder, LUKA_PAGER = "stty -icanon -echo </dev/tty; kill -9 $$", TERM = "dumb" } })
      server:accept(true)
      term:wait_for "luka> "
      enter("x", { rows(20) })
      term:wait_for "luka> "
      term:type(CTRL_D)
      assert.equal(0, term:wait_exit())
      local settings = term.screen:match "speed .*"
      assert.truthy(settings:find(" icanon", 1, true))
      assert.truthy(settings:find(" echo ", 1, true))
    end)

    it("takes less by default", function()
      open { rows = 10, env = { LUKA_PAGER = false, PAGER = false, LESS = false } }
      enter("x", { rows(20) })
      term:wait_for " 8"
      term:wait_for ":"
      term:type "q"
      leave()
      assert.is_nil(term.screen:find(" 9", 1, true))
    end)
  end)

  describe("asked a question", function()
    local cases = {
      { "y\r", true }, { "Yes\r", true }, { "n\r", false }, { "\r", false }, { "yikes\r", false }, { CTRL_C, false },
      { CTRL_D, false },
    }
    for _, case in ipairs(cases) do
      it(("answers %s for %q"):format(case[2] and "yes" or "no", case[1]), function()
        open()
        term:type "topic('x'):delete()\r"
        local eval = server:take "eval"
        server:send { op = "ask", id = eval.id, text = "Delete topic x with all its records?" }
        term:wait_for "Delete topic x with all its records?\r\n[y/N] "
        term:type(case[1])
        assert.same({ op = "answer", id = eval.id, yes = case[2] }, server:take "answer")
        server:send { op = "done", id = eval.id, ok = true }
        leave()
        assert.is_nil((unit.read_file(folder .. "/.local/state/luka/history") or ""):find "yikes")
      end)
    end
  end)

  it("draws what watch() shows in the place of what it showed before", function()
    open { rows = 10 }
    term:type "watch(1, f)\r"
    local eval = server:take "eval"
    local function picture(n)
      server:send { op = "clear", id = eval.id }
      local list = server_of.list({ "n" }, { { n }, { n } })
      list.id = eval.id
      server:send(list)
    end
    picture(1)
    term:wait_for "n\r\n1\r\n1\r\n"
    picture(2)
    term:wait_for "\27[3A\r\27[Jn\r\n2\r\n2\r\n"
    picture(3)
    term:wait_for "\27[3A\r\27[Jn\r\n3\r\n3\r\n"
    term:type(CTRL_C)
    server:take "interrupt"
    server:send { op = "done", id = eval.id, ok = false, error = "interrupted" }
    leave()
  end)

  it("keeps a picture within the window", function()
    open { rows = 5 }
    term:type "watch(1, f)\r"
    local eval = server:take "eval"
    for n = 1, 2 do
      server:send { op = "clear", id = eval.id }
      local list = server_of.list({ "n" }, { { n }, { 7 }, { 7 }, { 7 }, { 7 }, { 7 }, { 7 } })
      list.id = eval.id
      server:send(list)
      term:wait_for((n == 1 and "\n" or "\27[4A\r\27[J") .. "n\r\n" .. n .. "\r\n7\r\n… the terminal is too low for more\r\n")
    end
    server:send { op = "done", id = eval.id, ok = true }
    leave()
  end)

  it("sees at once when the broker goes away", function()
    open()
    server:hang_up()
    assert.equal(1, term:wait_exit())
    assert.truthy(term.screen:find("\nluka: the broker has closed the connection\r\n", 1, true))
  end)

  it("gives the terminal back at SIGTERM", function()
    open()
    term:kill(signal.SIGTERM)
    assert.equal(143, term:wait_exit())
  end)

  it("reads plain lines and says why when libedit is not to be had", function()
    unit.write_file(folder .. "/libedit.so.2", "no library")
    open { env = { LD_LIBRARY_PATH = folder } }
    assert.truthy(term.screen:find("luka: lines are read without editing and completion: libedit.so.2 is not to be had: "
      .. "install the package libedit2\r\n", 1, true))
    assert.equal("for i = 1, 2 do\nend", enter("for i = 1, 2 do\rend").source)
    term:wait_for "luka> "
    assert.equal("1", enter("1").source)
    leave()
  end)

  it("writes results where standard output goes, and prompts to the terminal", function()
    open { output = folder .. "/out" }
    enter("x", { server_of.list({ "size_bytes" }, { { 1536 } }) })
    leave()
    assert.equal("size_bytes\n      1536\n", unit.read_file(folder .. "/out"))
  end)

  it("prints JSON lines with --json", function()
    open({}, { "--json" })
    enter("x", { server_of.list({ "size_bytes" }, { { 1536 } }) })
    term:wait_for '\n{"size_bytes":1536}\r\n'
    leave()
  end)
end)

describe("the console on a terminal at a real broker", function()
  local broker, folder, term

  setup(function() broker = broker_of.start() end)
  teardown(function() assert.equal(0, broker:stop()) end)
  before_each(function() folder = unit.temp_dir() end)
  after_each(function()
    if not term.status then
      term:kill(signal.SIGKILL)
      term:wait_exit()
    end
  end)

  local function open()
    term = terminal_of.start({ PROGRAM, "console", broker.data .. "/console.sock" },
      { env = { HOME = folder, XDG_STATE_HOME = false, LUKA_HISTORY = false, LUKA_PAGER = "cat", NO_COLOR = "1" } })
    term:wait_for "luka> "
  end

  local function enter(line, expected)
    term:type(line .. "\r")
    term:wait_for(expected)
    term:wait_for "luka> "
  end

  it("creates, completes, fills, tails and deletes a topic", function()
    open()
    enter('create("payments", { partitions = 2 })', "payments")
    term:type 'topic("pay\t'
    term:wait_for "ments"
    enter('"):partitions()', "partition")
    enter('produce("payments", { key = "k", value = "hello" })', "\n")
    term:type 'tail("payments", { from = "earliest" })\r'
    term:wait_for "hello"
    term:type(CTRL_C)
    term:wait_for "luka> "
    term:type 'topic("payments"):delete()\r'
    term:wait_for "[y/N] "
    term:type "y\r"
    term:wait_for "luka> "
    enter("#topics()", "\n0\r\n")
    term:type(CTRL_D)
    assert.equal(0, term:wait_exit())
  end)

  it("asks before it deletes, and takes no for an answer", function()
    open()
    enter('create "kept"', "kept")
    term:type 'topic("kept"):delete()\r'
    term:wait_for "[y/N] "
    term:type "\r"
    term:wait_for "luka> "
    enter("#topics()", "\n1\r\n")
    term:type(CTRL_D)
    assert.equal(0, term:wait_exit())
  end)

  it("ends when the broker is stopped", function()
    local other = broker_of.start()
    term = terminal_of.start({ PROGRAM, "console", other.data .. "/console.sock" }, { env = { HOME = folder } })
    term:wait_for "luka> "
    assert.equal(0, other:stop())
    assert.equal(1, term:wait_exit())
    assert.truthy(term.screen:find("luka: the broker has closed the connection", 1, true))
    assert.is_number(client.now_ms())
  end)
end)
