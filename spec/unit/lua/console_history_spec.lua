-- SPDX-License-Identifier: Apache-2.0
-- What was typed at the console, kept in a file.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local history = require "luka.console.history"
local stdlib = require "posix.stdlib"
local stat = require "posix.sys.stat"
local unit = require "spec.support.unit"

describe("the history", function()
  local path

  before_each(function() path = unit.temp_dir() .. "/state/luka/history" end)

  it("is there in the next session, also lines of several lines", function()
    local first = history.open(path)
    for _, entry in ipairs { "topics()", "for i = 1, 3 do\n  print '\\n'\nend" } do assert.is_true(first:add(entry)) end
    assert.same(first.entries, history.open(path).entries)
    assert.equal(2, #first.entries)
  end)

  it("has nothing twice in a row, nothing empty and nothing endless", function()
    local first = history.open(path)
    assert.is_true(first:add "a")
    for _, entry in ipairs { "a", "", " \n", ("x"):rep(16385) } do assert.is_false(first:add(entry)) end
    assert.is_true(first:add "b")
    assert.is_true(first:add "a")
    assert.same({ "a", "b", "a" }, history.open(path).entries)
  end)

  it("is for its owner alone", function()
    history.open(path):add "secret"
    assert.equal(384, stat.stat(path).st_mode % 512)
    assert.equal(448, stat.stat(path:match "^(.*)/").st_mode % 512)
  end)

  it("is bounded: the newest thousand are read, and the file is shortened", function()
    local first = history.open(path)
    for i = 1, 2001 do first:add("entry " .. i) end
    local second = history.open(path)
    assert.equal(1000, #second.entries)
    assert.equal("entry 1002", second.entries[1])
    assert.equal("entry 2001", second.entries[1000])
    local _, lines = unit.read_file(path):gsub("\n", "")
    assert.equal(1000, lines)
  end)

  it("is shared by sessions at the same time", function()
    local first, second = history.open(path), history.open(path)
    first:add "a"
    second:add "b"
    first:add "c"
    assert.same({ "a", "b", "c" }, history.open(path).entries)
  end)

  it("is not written while another program holds it, and loses nothing of theirs when it is shortened", function()
    local first = history.open(path)
    for i = 1, 2001 do first:add("entry " .. i) end
    assert.equal(0, stat.mkfifo(path .. ".go"))
    local held = assert(io.popen(("flock %s sh -c 'echo held; read x <%s.go; echo last >>%s'"):format(path, path, path)))
    assert.equal("held", held:read "*l")
    local second = history.open(path)
    assert.equal(("the history is not kept: %s: another program has locked it"):format(path), second.problem)
    assert.equal("entry 2001", second.entries[1000])
    unit.write_file(path .. ".go", "\n")
    held:close()
    local third = history.open(path)
    assert.same({ "entry 2001", "last", 1000 }, { third.entries[999], third.entries[1000], #third.entries })
  end)

  it("does not wait for a file that is none", function()
    stat.mkdir(path:match "^(.*)/luka/", 448)
    local fifo = path:match "^(.*)/state/" .. "/fifo"
    assert.equal(0, stat.mkfifo(fifo))
    local first = history.open(fifo)
    assert.is_true(first:add "a")
    assert.equal(("the history is not kept: %s: No such device or address"):format(fifo), first.problem)
  end)

  it("says why it is not kept, and goes on without the file", function()
    local first = history.open "/proc/nowhere/history"
    assert.is_true(first:add "a")
    assert.truthy(first.problem:match "^the history is not kept: /proc/nowhere/history: ")
    assert.is_true(first:add "b")
    assert.same({ "a", "b" }, first.entries)
  end)

  it("may be kept nowhere", function()
    local first = history.open(nil)
    assert.is_true(first:add "a")
    assert.is_nil(first.problem)
  end)
end)

describe("the file of the history", function()
  local names = { "LUKA_HISTORY", "XDG_STATE_HOME", "HOME" }
  local before = {}
  before_each(function() for _, name in ipairs(names) do before[name] = os.getenv(name) end end)
  after_each(function() for _, name in ipairs(names) do stdlib.setenv(name, before[name]) end end)

  local cases = {
    { { HOME = "/users/x" }, "/users/x/.local/state/luka/history" },
    { { HOME = "/users/x", XDG_STATE_HOME = "/state" }, "/state/luka/history" },
    { { HOME = "/users/x", XDG_STATE_HOME = "relative" }, "/users/x/.local/state/luka/history" },
    { { HOME = "/users/x", LUKA_HISTORY = "mine" }, "mine" },
    { { HOME = "/users/x", LUKA_HISTORY = "" }, nil },
    { {}, nil },
  }
  for _, case in ipairs(cases) do
    it("is " .. tostring(case[2]), function()
      for _, name in ipairs(names) do stdlib.setenv(name, case[1][name]) end
      assert.equal(case[2], history.path())
    end)
  end
end)
