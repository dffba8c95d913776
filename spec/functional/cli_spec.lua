-- SPDX-License-Identifier: Apache-2.0
-- The command line: verbs, options, help, and one line with status 2 for what is wrong.
local brokers = require "spec.support.broker"
local process = require "spec.support.process"
local requests = require "spec.support.requests"
local signal = require "posix.signal"
local unistd = require "posix.unistd"
local unit = require "spec.support.unit"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"

--- Runs the program to its end, with words of the shell before it; standard output, standard error and exit status.
--- Arguments are quoted for the shell.
local function run_with(before, ...)
  local folder = unit.temp_dir()
  local words = { before .. PROGRAM }
  for _, word in ipairs { ... } do words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'" end
  local command = ("%s >%s/out 2>%s/err </dev/null"):format(table.concat(words, " "), folder, folder)
  local status = os.execute("timeout 60 " .. command)
  return unit.read_file(folder .. "/out"), unit.read_file(folder .. "/err"), math.floor(status / 256)
end

local function run(...) return run_with("", ...) end

describe("luka version", function()
  it("prints the version and the build of LuaJIT", function()
    for _, words in ipairs { { "version" }, { "--version" } } do
      local out, err, status = run(unpack(words))
      assert.equal(0, status)
      assert.equal("", err)
      assert.truthy(out:match "^luka %S* ?%(LuaJIT 2%.1%S*, GC64%)\n$")
    end
  end)
end)

describe("luka help", function()
  it("lists the verbs", function()
    local out, err, status = run "help"
    assert.equal(0, status)
    assert.equal("", err)
    for _, verb in ipairs { "serve", "check", "console", "reload", "dump", "produce", "consume", "version", "help" } do
      assert.truthy(out:find("\n  " .. verb .. " ", 1, true))
    end
  end)

  it("explains a verb, in two spellings", function()
    local out, _, status = run("help", "serve")
    assert.equal(0, status)
    assert.truthy(out:find("usage: luka [serve] [CONFIG.LUA] [options]", 1, true))
    for _, option in ipairs { "--set", "--adopt", "--log-level", "--log-format", "--debug" } do
      assert.truthy(out:find("\n  " .. option .. " ", 1, true))
    end
    assert.equal(out, (run("serve", "--help")))
    assert.equal(out, (run("serve", "-h", "x.lua")))
    assert.equal((run "help"), (run "--help"))
  end)

  it("explains a key of a configuration, in each block that has it, as config.lua and as Kafka write it", function()
    local out, err, status = run("help", "retention_ms")
    assert.same({ "", 0 }, { err, status })
    for _, block in ipairs { "defaults", "a topic" } do
      assert.truthy(out:find("retention_ms of " .. block, 1, true))
    end
    for _, label in ipairs { "takes", "default", "new value", "example" } do
      assert.truthy(out:find("\n  " .. label .. "  ", 1, true))
    end
    assert.equal(out, (run("help", "retention.ms")))
  end)

  it("lists the keys of a block", function()
    for block, key in pairs { broker = "listen", defaults = "partitions", topic = "segment_bytes" } do
      local out, _, status = run("help", block)
      assert.equal(0, status)
      assert.truthy(out:find("\n  " .. key .. " ", 1, true))
    end
  end)

  it("tells about functions of a topic and words of the file", function()
    assert.truthy(run("help", "transform"):find("^transform of a topic\n  Gets each record that is produced"))
    local hooks = run("help", "hook")
    assert.truthy(hooks:find('hook("topic.create", function), a word of config.lua\n'
      .. "  a function that is asked before, or told after, something happens\n", 1, true))
    assert.truthy(hooks:find("  told after: broker.down, broker.start,", 1, true))
    assert.equal('hook("topic.create", function(request) ... end), a word of config.lua\n'
      .. "  A topic is to be created. The function is asked before, and may reject it.\n"
      .. "  request has: name, partitions*, replication_factor*, configs*, validate_only, auto, client_id, principal, address "
      .. "(* may be changed)\n", (run("help", "topic.create")))
    assert.truthy(run("help", "on.request"):find '^on.request%("Fetch", function%), a word of config.lua\n')
    assert.truthy(run("help", "unsafe"):find "^unsafe of broker\n")
    assert.truthy(run("help", "placement"):find "^placement of defaults\n")
  end)

  it("says what serves for a config of Kafka's that is none here", function()
    assert.equal("log_dirs, Kafka's log.dirs\n  Is set by `data` here.\n", (run("help", "log.dirs")))
    assert.equal("zookeeper is not supported yet.\n", (run("help", "zookeeper")))
    assert.equal("broker_heartbeat_interval_ms, Kafka's broker.heartbeat.interval.ms\n  Is not supported yet.\n",
      (run("help", "broker.heartbeat.interval.ms")))
  end)
end)

describe("luka", function()
  it("ends with status 1 and a line when standard output does not take what is printed", function()
    for _, verb in ipairs { "version", "help" } do
      local status = os.execute(("%s %s >/dev/full 2>%s"):format(PROGRAM, verb, unit.temp_dir() .. "/err"))
      assert.equal(1, math.floor(status / 256))
    end
    local path = unit.temp_dir() .. "/err"
    os.execute(("%s version >/dev/full 2>%s"):format(PROGRAM, path))
    assert.equal("luka: cannot write to standard output: No space left on device\n", unit.read_file(path))
  end)

  it("prints nothing that a terminal obeys", function()
    local _, err = run("help", "x\27[31m\194\15531m\195\188")
    assert.truthy(err:find("verb or key 'x?[31m??31m\195\188';", 1, true))
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, "print '\\27[31m\\194\\15531m\195\188' broker {}")
    local _, text = run("check", path)
    assert.truthy(text:find(":1: \\x1b[31m\\xc2\\x9b31m\195\188\n", 1, true))
    local _, object = run("help", "--log-format", "json", "x\27[31m\194\15531m\195\188")
    assert.truthy(object:find("'x\\u001b[31m\\u009b31m\195\188'", 1, true))
  end)

  it("puts no file where a standard descriptor was closed", function()
    local folder = unit.temp_dir()
    local started = process.start { "sh", "-c",
      ("exec %s serve --set data=%s/d --set listen=127.0.0.1:0 <&- >&- 2>&-"):format(PROGRAM, folder) }
    requests.wait_until("the console is there", function() return unistd.access(folder .. "/d/console.sock") end)
    local _, links = process.start({ "sh", "-c", ("cd /proc/%d/fd && readlink 0 1 2"):format(started.pid) }):wait()
    assert.equal("/dev/null\n/dev/null\n/dev/null\n", links)
    started:kill(signal.SIGTERM)
    assert.same({ 0, "", "" }, { started:wait() })
    assert.equal(1, math.floor(os.execute(("%s version >&- 2>%s/err"):format(PROGRAM, folder)) / 256))
    assert.equal("luka: cannot write to standard output: Bad file descriptor\n", unit.read_file(folder .. "/err"))
  end)

  it("has a line for an error of its own code, and a traceback with --debug", function()
    local folder = unit.temp_dir()
    os.execute(("cp -r lua/luka %s/"):format(folder))
    unit.write_file(folder .. "/luka/cli/version.lua", "return { run = function() error 'oops' end }")
    local before = ("env LUKA_LUA_PATH=%s "):format(folder)
    local out, err, status = run_with(before, "version")
    assert.same({ "", 1 }, { out, status })
    assert.truthy(err:match "^luka: internal error: [^\n]*/version%.lua:1: oops\n$")
    local _, traced = run_with(before, "version", "--debug")
    assert.truthy(traced:match "^luka: internal error: [^\n]*oops\nstack traceback:\n")
    unit.write_file(folder .. "/luka/cli/init.lua", "error 'worse'")
    out, err, status = run_with(before, "version")
    assert.truthy(err:match "^luka: internal error: [^\n]*/init%.lua:1: worse\n$")
    assert.same({ "", 1 }, { out, status })
  end)

  it("reads no module of the folder that it is started in", function()
    local folder = unit.temp_dir()
    os.execute(("mkdir %s/luka"):format(folder))
    unit.write_file(folder .. "/ffi.lua", "error 'taken'")
    unit.write_file(folder .. "/luka/cli.lua", "error 'taken'")
    local pipe = io.popen(("cd %s && LUA_PATH='./?.lua' $OLDPWD/%s version 2>&1"):format(folder, PROGRAM))
    assert.truthy(pipe:read("*a"):find "^luka ")
    pipe:close()
  end)
end)

describe("a wrong command line", function()
  local cases = {
    { { "sevre" }, "luka: there is no verb 'sevre' and no such file, did you mean serve?" },
    { { "frobnicate" }, "luka: there is no verb 'frobnicate' and no such file; `luka help` lists them" },
    { { "help", "vresion" }, "luka: there is no verb or key 'vresion', did you mean version?" },
    { { "help", "retnetion.ms" }, "luka: there is no verb or key 'retnetion.ms', did you mean retention_ms?" },
    { { "help", "frobnicate" }, "luka: there is no verb or key 'frobnicate'; `luka help` lists the verbs, "
      .. "`luka help broker` and `luka help topic` the keys" },
    { { "version", "x" }, "luka: version: unexpected argument 'x'" },
    { { "serve", "a.lua", "b.lua" }, "luka: serve: unexpected argument 'b.lua'" },
    { { "--sett", "id=1" }, "luka: there is no option --sett, did you mean --set?" },
    { { "--frobnicate" }, "luka: there is no option --frobnicate; `luka help serve` lists them" },
    { { "serve", "--workers", "2" }, "luka: there is no option --workers, did you mean --set workers=...?" },
    { { "--set" }, "luka: --set needs a value" },
    { { "--set", "id" }, "luka: --set: got 'id', expected key=value" },
    { { "--set", "=1" }, "luka: --set: got '=1', expected key=value" },
    { { "--log-level", "loud" }, "luka: --log-level: got 'loud', expected error, warn, info or debug" },
    { { "--adopt=yes" }, "luka: --adopt takes no value" },
    { { "--adpot" }, "luka: there is no option --adpot, did you mean --adopt?" },
    { { "--log-format=xml" }, "luka: --log-format: got 'xml', expected text or json" },
    { { "--debug=yes" }, "luka: --debug takes no value" },
    { { "version", "--adopt" }, "luka: there is no option --adopt; `luka help version` lists them" },
    { { "--adopt", "version" }, "luka: version takes no option --adopt; `luka help version` lists them" },
    { { "two\nlines" }, "luka: there is no verb 'two?lines' and no such file; `luka help` lists them" },
  }
  for _, case in ipairs(cases) do
    it(("gets one line and status 2: luka %s"):format(table.concat(case[1], " "):gsub("\n", "\\n")), function()
      local out, err, status = run(unpack(case[1]))
      assert.equal(case[2] .. "\n", err)
      assert.equal("", out)
      assert.equal(2, status)
    end)
  end
end)

describe("a wrong command line with --log-format json", function()
  it("is one JSON object", function()
    for _, words in ipairs { { "--log-format=json", "sevre" }, { "sevre", "--log-format", "json" } } do
      local out, err, status = run(unpack(words))
      assert.truthy(err:match '^{"time":"[^"]+","level":"error","text":"luka: there is no verb \'sevre\' [^"]+"}\n$')
      assert.same({ "", 2 }, { out, status })
    end
  end)
end)

describe("the completion for bash", function()
  it("offers the topics of the broker that runs in this folder", function()
    local folder = unit.temp_dir()
    unit.write_file(folder .. "/config.lua", "topic 'clicks' {}\ntopic 'visits' {}\nbroker { console = 'console.sock' }")
    local broker = brokers.start { config = folder .. "/config.lua", set = { "console=" .. folder .. "/console.sock" } }
    local script = [[
      completion=$PWD/completion/luka.bash program=$(realpath %s)
      cd %s && source "$completion" && COMP_WORDS=("$program" consume "") COMP_CWORD=2 && _luka && echo "${COMPREPLY[*]}"
    ]]
    unit.write_file(folder .. "/script", script:format(PROGRAM, folder))
    local pipe = io.popen("bash --norc " .. folder .. "/script 2>&1")
    assert.equal("clicks visits\n", pipe:read "*a")
    pipe:close()
    assert.equal(0, broker:stop())
  end)
end)

describe("what a configuration prints", function()
  it("is a line of the log, in JSON with --log-format json", function()
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, "print 'hello'\nbroker {}")
    assert.truthy(select(2, run("check", path)):match "^%d[^ ]*Z info  [^\n]*hello\n$")
    assert.truthy(select(2, run("check", path, "--log-format=json")):match '^{"time":"[^"]+","level":"info","text":"[^\n]*hello"}\n$')
  end)
end)

describe("a wrong configuration", function()
  local function config(text)
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, text)
    return path
  end

  it("gets one line with file and line, and status 2", function()
    local path = config "broker {\n  id = 'one',\n}"
    for _, words in ipairs { { path }, { "serve", path }, { "check", path }, { "console", path }, { "reload", path } } do
      local out, err, status = run(unpack(words))
      assert.equal(path .. ':2: broker.id: got "one", expected a whole number from 0 to 2147483647\n', err)
      assert.equal("", out)
      assert.equal(2, status)
    end
  end)

  it("may be on the command line", function()
    local _, err, status = run("--set", "workers=0")
    assert.equal('--set workers: got "0", expected a whole number from 1 to 256\n', err)
    assert.equal(2, status)
  end)

  it("may be a file that is missing", function()
    local _, err, status = run "nonexistent.lua"
    assert.equal("nonexistent.lua: cannot be read: No such file or directory\n", err)
    assert.equal(2, status)
  end)

  it("may start with a dash behind --", function()
    local _, err, status = run("--", "-x.lua")
    assert.equal("-x.lua: cannot be read: No such file or directory\n", err)
    assert.equal(2, status)
  end)

  it("is one JSON object with --log-format json", function()
    local _, err, status = run("--log-format", "json", "--set", "workers=0")
    assert.truthy(err:match '^{"time":"[^"]+","level":"error","text":"%-%-set workers: got \\"0\\", expected [^"]+"}\n$')
    assert.equal(2, status)
  end)

  it("has a traceback with --debug only", function()
    local path = config "local function f() error 'boom' end\nf()"
    assert.equal(path .. ":1: boom\n", (select(2, run(path))))
    local _, err, status = run("--debug", path)
    assert.equal(path .. ":1: boom\n", err:match "^[^\n]*\n")
    assert.truthy(err:find("stack traceback:", 1, true))
    assert.equal(2, status)
  end)

  it("is stopped when it loops", function()
    local path = config "\nwhile true do end"
    local _, err, status = run(path)
    assert.equal(path .. ":2: evaluation took longer than 800 ms (an endless loop?)\n", err)
    assert.equal(2, status)
  end)

  it("is stopped when a library function does not end", function()
    local path = config "local s = ('x'):rep(1e4)\nreturn s:find('.-.-.-.-b$')"
    local _, err, status = run(path)
    assert.equal(path .. ":2: evaluation took longer than 800 ms (an endless loop?)\n", err)
    assert.equal(2, status)
  end)

  it("is stopped when its file is a pipe that nobody writes to", function()
    local path = unit.temp_dir() .. "/pipe"
    os.execute("mkfifo " .. path)
    local _, err, status = run(path, "--log-format", "json")
    assert.truthy(err:match '^{"time":"%d+%-%d+%-%d+T%d+:%d+:%d+%.%d+Z","level":"error",'
      .. '"text":"/[^"]+/pipe: cannot be read: it is a pipe or a terminal, and nothing more comes"}\n$')
    assert.equal(2, status)
  end)
end)
