-- SPDX-License-Identifier: Apache-2.0
-- A configuration that tries to hang the broker, to eat its memory or to get out of its sandbox gets one line, within a
-- second.
local unit = require "spec.support.unit"
local evaluate = require "spec.unit.lua.evaluate"
local C = unit.load "os/clock.h"

-- Of processor time, which does not depend on who else uses the machine.
local PATIENCE_MS = (os.getenv "LUKA_SAN" or "") ~= "" and 10000 or 1100

local function refusal(text)
  local start = C.clock_thread_ms()
  local result, message = evaluate.text(text)
  assert.is_nil(result)
  assert.is_true(tonumber(C.clock_thread_ms() - start) < PATIENCE_MS)
  return message
end

describe("an endless configuration", function()
  for name, text in pairs {
    ["a loop"] = "\nwhile true do end",
    ["a loop around pcall"] = "\nwhile true do pcall(function() while true do end end) end",
    ["a loop in the handler of xpcall"] = "\nxpcall(function() while true do end end, function() while true do end end)",
    ["a loop around xpcall"] = "\nwhile true do xpcall(error, function() while true do end end) end",
    ["a loop in a coroutine"] = "\nwhile true do pcall(coroutine.wrap(function() while true do end end)) end",
    ["a loop in the text of an error"] = "\nlocal t = setmetatable({}, { __tostring = function() while true do end end }) print(t)",
    ["a loop in the index of a table"] = "\nlocal t = setmetatable({}, { __index = function() while true do end end }) return t.x",
    ["a loop in a comparison of tables"] =
      "\nlocal m = { __lt = function() while true do end end } return setmetatable({}, m) < setmetatable({}, m)",
    ["a loop in an iterator"] = "\nfor _ in function() return 1 end do pcall(error) end",
    ["a loop in an error object"] = "\nerror(setmetatable({}, { __tostring = function() while true do end end }))",
    ["a loop that a strict global is read in"] = "\nwhile true do pcall(function() return nothing end) end",
    ["a loop in code made by load"] = "\nload('while true do end')()",
    ["a loop that reads code for load"] = "\nload(function() return ' ' end)",
    ["large strings in a loop"] = "\nfor i = 1, 1e9 do local s = ('x'):rep(1e7) end",
    ["a stretch of a list that is moved"] = "\ntable.move({}, 1, 2 ^ 31 - 1, 1)",
    ["a stretch of a list that is moved far"] = "\ntable.move({ 1 }, -2 ^ 31, 2 ^ 31 - 1, 5)",
    ["the end of a list without one"] =
      "\nlocal t = {} for i = 1, 1e6 do t[i * 1.5] = i end while true do table.maxn(t) end",
    ["numbers of many digits"] = "\nlocal s = ('1'):rep(14e6) while true do tonumber(s) end",
    ["comparisons of long strings"] =
      "\nlocal a = ('a'):rep(14e6) local b = a .. 'b' a = a .. 'a' while true do local _ = a < b end",
    ["long strings in capitals"] = "\nlocal s = ('x'):rep(1e7) while true do s:upper() end",
    ["long strings that are formatted"] = "\nlocal s = ('\\0'):rep(3e6) while true do string.format('%q', s) end",
    ["long strings that come again"] = "\nlocal s = ('x'):rep(1e7) while true do local _ = ('x'):rep(1e7) end",
    ["entries that are looked for in an empty table"] =
      "\nlocal t = {} for i = 1, 1e6 do t[i * 1.5] = i end for k in pairs(t) do t[k] = nil end while true do next(t) end",
    ["sorting with an endless comparison"] = "\ntable.sort({ 3, 2, 1 }, function() while true do end end)",
  } do
    it("is stopped: " .. name, function()
      assert.equal("config.lua:2: evaluation took longer than 800 ms (an endless loop?)", refusal(text))
    end)
  end

  it("is stopped in a module, which is named", function()
    evaluate.write("endless.lua", "\n\nwhile true do end")
    assert.equal("endless.lua:3: evaluation took longer than 800 ms (an endless loop?)", refusal "require 'endless'")
  end)
end)

-- Each is out of memory in a fraction of the 800 ms of processor time that it has: a second takes longer on a machine
-- whose caches others use as well.
describe("a configuration that wants too much memory", function()
  for name, text in pairs {
    ["one string"] = "\nlocal s = ('x'):rep(1e9)",
    ["many strings"] = "\nlocal t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    ["many tables"] = "\nlocal t = {} while true do t[#t + 1] = {} end",
    ["a string that doubles"] = "\nlocal s = 'x' while true do s = s .. s end",
    ["a list that is joined"] = "\nlocal t = {} for i = 1, 1000 do t[i] = ('x'):rep(1e5) end table.concat(t)",
    ["a pattern that doubles"] = "\nlocal s = 'x' while true do s = s:gsub('x', 'xx') end",
    ["a long text of an error"] = "\nlocal s = 'x' while true do s = s .. s pcall(error, s) end",
    ["globals"] = "\nfor i = 1, 1e9 do _G['g' .. i] = ('x'):rep(1000) .. i end",
    ["coroutines in coroutines"] = "\nlocal function f(n) local s = ('x'):rep(1e6) .. n coroutine.wrap(f)(n + 1) end f(1)",
  } do
    it("is refused: " .. name, function()
      local message = refusal(text)
      -- Under an emulator (make arm64) or a sanitizer time may be up before memory is.
      if (os.getenv "LUKA_SAN" or "") ~= "" and message:find "took longer" then return end
      assert.equal("config.lua:2: not enough memory: evaluation may use 64 MiB", message)
    end)
  end

  it("may catch the refusal and go on", function()
    local config = evaluate.text "pcall(string.rep, 'x', 1e9) broker { id = 3 }"
    assert.equal(3, config.id)
  end)
end)

describe("a configuration that recurses", function()
  for name, case in pairs {
    ["through gsub"] = { "local function f() return (string.gsub('x', 'x', f)) end f()", "stack overflow" },
    ["through a method of strings"] = { "local function f() return (('x'):gsub('x', f)) end f()", "stack overflow" },
    ["through sort"] = { "local function f() table.sort({ 1, 2 }, f) end f()", "stack overflow" },
    ["through format"] = {
      "local function f() return string.format('%s', setmetatable({}, { __tostring = f })) end f()", "C stack overflow" },
    ["through coroutines"] = {
      "local function f() local ok, err = coroutine.resume(coroutine.create(f)) if not ok then error(err, 0) end end f()",
      "C stack overflow" },
    ["through itself"] = { "local function f() return 1 + f() end f()", "stack overflow" },
    ["through load"] = { "local function f() return load(f) end f()", "stack overflow" },
    ["through an index"] = {
      "local t = setmetatable({}, {}) getmetatable(t).__index = function(s, k) return s[k .. 1] end return t.x",
      "stack overflow" },
  } do
    it("is stopped " .. name, function() assert.equal("config.lua:1: " .. case[2], refusal(case[1])) end)
  end

  it("is stopped in the parser", function()
    local message = refusal(("("):rep(1e5) .. "1" .. (")"):rep(1e5))
    assert.equal("config.lua:1: chunk has too many syntax levels", message)
  end)
end)

describe("a file that is no configuration", function()
  it("is stopped in the parser when that takes a time that grows with the square of the text", function()
    assert.equal("config.lua: evaluation took longer than 800 ms (an endless loop?)",
      refusal("if x then " .. ("elseif x then "):rep(70000) .. "end"))
  end)

  it("is refused when it is binary", function()
    local bytes = {}
    for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
    assert.equal("config.lua:1: ", refusal(table.concat(bytes)):sub(1, 14))
  end)

  it("is refused when it is bytecode", function()
    local message = "config.lua:1: is compiled Lua, only source text is accepted"
    assert.equal(message, refusal(string.dump(function() end)))
    assert.equal(message, refusal "\27LJ")
  end)

  it("is refused when it is missing", function()
    local _, message = evaluate.file "/nonexistent/config.lua"
    assert.equal("/nonexistent/config.lua: cannot be read: No such file or directory", message)
  end)

  it("is refused when it is a folder", function()
    local _, message = evaluate.file "/tmp"
    assert.equal("/tmp: cannot be read: Is a directory", message)
  end)

  it("is refused when it does not end", function()
    local _, message = evaluate.file "/dev/zero"
    assert.equal("/dev/zero: is larger than 1048576 bytes", message)
  end)

  it("is refused with one printable line, whatever is in it", function()
    local seed = 1
    for _ = 1, 200 do
      local bytes = {}
      for i = 1, 60 do
        seed = (seed * 1103515245 + 12345) % 2147483648
        bytes[i] = string.char(math.floor(seed / 65536) % 256)
      end
      local result, message = evaluate.text(table.concat(bytes))
      if not result then
        assert.is_nil(message:match "[%z\1-\31\127]")
        assert.equal("config.lua:", message:sub(1, 11))
      end
    end
  end)
end)

describe("the sandbox", function()
  --- The text that a piece of configuration makes, handed out as the path of the metastore.
  local function value(text)
    local result, message = evaluate.text(("broker { metadata = tostring((function() %s end)()) }"):format(text))
    assert.is_nil(message)
    return result.metadata
  end

  it("has nothing that reads files, starts programs, or looks behind the scenes", function()
    for _, name in ipairs {
      "io", "ffi", "debug", "package", "jit", "dofile", "loadfile", "getfenv", "setfenv", "newproxy", "collectgarbage",
      "gcinfo", "module",
    } do
      assert.equal("nil", value(("return rawget(_G, '%s')"):format(name)))
      assert.equal(1, refusal("return " .. name):find(("config.lua:1: %s is out of reach of a configuration"):format(name), 1, true))
    end
    for _, name in ipairs {
      "os.execute", "os.remove", "os.rename", "os.exit", "os.tmpname", "os.setlocale", "string.dump",
    } do
      assert.equal("nil", value("return " .. name))
    end
  end)

  it("has no way from a string to string.dump", function()
    assert.equal("nil", value "return ('').dump")
    assert.equal("false", value "return getmetatable('')")
  end)

  it("loads no bytecode", function()
    assert.equal("attempt to load chunk with wrong mode", value "return (select(2, load('\\27LJ')))")
    assert.equal("attempt to load chunk with wrong mode", value "return (select(2, loadstring('\\27LJ', 'x', 'b')))")
  end)

  it("runs loaded code in the sandbox", function()
    assert.equal("nil", value [[return load('return rawget(_G, "io")')()]])
    assert.equal("true", value "return load('return _G')() == _G")
  end)

  it("has read-only libraries", function()
    assert.equal("string is read-only: cannot set format",
      (value "return (select(2, pcall(function() string.format = nil end)))":gsub("^.-: ", "")))
    assert.equal("false", value "return getmetatable(string)")
    assert.equal("a", value "rawset(string, 'format', 1) return ('%s'):format('a')")
  end)

  it("has read-only words of ours", function()
    assert.equal("luka.units is read-only: cannot set days",
      (value "return (select(2, pcall(function() require('luka.units').days = 1 end)))":gsub("^.-: ", "")))
  end)

  it("lets code catch errors with pcall and xpcall", function()
    assert.equal("false boom", value "local ok, err = pcall(error, 'boom') return tostring(ok) .. ' ' .. err")
    assert.equal("false <boom>", value [[
      local ok, text = xpcall(function() error("boom", 0) end, function(err) return "<" .. err .. ">" end)
      return tostring(ok) .. " " .. text
    ]])
    assert.equal("true 3", value "return table.concat({ tostring(xpcall(function(a, b) return a + b end, print, 1, 2)) }) .. ' 3'")
  end)

  it("lets coroutines pass values and yield through pcall", function()
    assert.equal("1 2 3", value [[
      local co = coroutine.wrap(function(a)
        local ok, b = pcall(coroutine.yield, a)
        return b + 1
      end)
      return co(1) .. " " .. 2 .. " " .. co(2)
    ]])
  end)
end)
