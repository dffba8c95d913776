-- SPDX-License-Identifier: Apache-2.0
-- The command line: verbs, options, help, and one line with status 2 for what is wrong.
local unit = require "spec.support.unit"

local PROGRAM = os.getenv "LUKA_PROGRAM" or "build/luka"

--- Runs the program to its end; standard output, standard error and exit status. Arguments are quoted for the shell.
local function run(...)
  local folder = unit.temp_dir()
  local words = { PROGRAM }
  for _, word in ipairs { ... } do words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'" end
  local command = ("%s >%s/out 2>%s/err </dev/null"):format(table.concat(words, " "), folder, folder)
  local status = os.execute("timeout 60 " .. command)
  return unit.read_file(folder .. "/out"), unit.read_file(folder .. "/err"), math.floor(status / 256)
end

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
  it("lists the verbs that are there, and those to come", function()
    local out, err, status = run "help"
    assert.equal(0, status)
    assert.equal("", err)
    for _, verb in ipairs { "serve", "version", "help" } do assert.truthy(out:find("\n  " .. verb .. " ", 1, true)) end
    assert.truthy(out:find("refused until then: check console reload dump produce consume\n", 1, true))
  end)

  it("explains a verb, in two spellings", function()
    local out, _, status = run("help", "serve")
    assert.equal(0, status)
    assert.truthy(out:find("usage: luka [serve] [CONFIG.LUA] [options]", 1, true))
    for _, option in ipairs { "--set", "--adopt", "--log-level", "--log-format", "--debug" } do
      assert.truthy(out:find("\n  " .. option .. " ", 1, true))
    end
    assert.equal(out, (run("serve", "--help")))
  end)
end)

describe("a wrong command line", function()
  local cases = {
    { { "sevre" }, "luka: there is no verb 'sevre' and no such file, did you mean serve?" },
    { { "frobnicate" }, "luka: there is no verb 'frobnicate' and no such file; `luka help` lists them" },
    { { "help", "vresion" }, "luka: there is no verb 'vresion', did you mean version?" },
    { { "check" }, "luka: check is not supported yet" },
    { { "console", "config.lua" }, "luka: console is not supported yet" },
    { { "help", "dump" }, "luka: dump is not supported yet" },
    { { "version", "x" }, "luka: version: unexpected argument 'x'" },
    { { "serve", "a.lua", "b.lua" }, "luka: serve: unexpected argument 'b.lua'" },
    { { "--sett", "id=1" }, "luka: there is no option --sett, did you mean --set?" },
    { { "--frobnicate" }, "luka: there is no option --frobnicate; `luka help serve` lists them" },
    { { "--set" }, "luka: --set needs a value" },
    { { "--set", "id" }, "luka: --set: got 'id', expected key=value" },
    { { "--set", "=1" }, "luka: --set: got '=1', expected key=value" },
    { { "--log-level", "loud" }, "luka: --log-level: got 'loud', expected error, warn, info or debug" },
    { { "--adopt=yes" }, "luka: --adopt takes no value" },
    { { "--adpot" }, "luka: there is no option --adpot, did you mean --adopt?" },
    { { "--log-format=xml" }, "luka: --log-format: got 'xml', expected text or json" },
    { { "--debug=yes" }, "luka: --debug takes no value" },
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

describe("a wrong configuration", function()
  local function config(text)
    local path = unit.temp_dir() .. "/config.lua"
    unit.write_file(path, text)
    return path
  end

  it("gets one line with file and line, and status 2", function()
    local path = config "broker {\n  id = 'one',\n}"
    for _, words in ipairs { { path }, { "serve", path } } do
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
    local _, err, status = run(path)
    assert.equal("the configuration took too long to read\n", err)
    assert.equal(2, status)
  end)
end)
