-- SPDX-License-Identifier: Apache-2.0
-- What functions of a configuration may require beside its own files: lua-cjson, LPeg and MessagePack, within the limits
-- of user code; and, when it says so, what no limit holds.
local evaluate = require "spec.unit.lua.evaluate"
local function message_of(text, sets)
  local result, message = evaluate.text(text, sets)
  assert.is_nil(result)
  return message
end

--- Runs a text that raises if anything is not as it says.
local function holds(text, sets)
  local _, message = evaluate.text(text .. "\nbroker {}", sets)
  assert.is_nil(message)
end

local TOO_LONG = "config.lua:%d: evaluation took longer than 800 ms (an endless loop?)"

describe("require 'cjson'", function()
  it("gives lua-cjson", function()
    holds [[
      local cjson = require "cjson"
      assert(cjson._VERSION:find "^2%.1")
      assert(cjson.encode { a = { 1, 2, cjson.null } } == '{"a":[1,2,null]}')
      assert(cjson.decode('{"a":[1,"x"]}').a[2] == "x")
      assert(cjson.new().decode "[7]"[1] == 7)
      assert(require "cjson" == cjson)
    ]]
  end)

  it("gives the one that raises nothing", function()
    holds [[
      local cjson = require "cjson.safe"
      local value, err = cjson.decode "{"
      assert(value == nil and err:find "^Expected object key string")
      local text, why = cjson.encode(setmetatable({}, {}))
      assert(text == "{}" and why == nil)
      local cycle = {}
      cycle[1] = cycle
      assert(select(2, cjson.encode(cycle)):find "tables in tables")
    ]]
  end)

  for name, case in pairs {
    ["decodes at most 4 MiB"] = { "cjson.decode(('['):rep(4194305))", "the text is too long: at most 4194304 bytes are decoded" },
    ["goes at most 1000 levels deep"] = { "cjson.decode(('['):rep(5000))",
      "Found too many nested data structures (1001) at character 1001" },
    ["cannot be told to go deeper"] = { "cjson.decode_max_depth(1e9)",
      "bad argument #1 to 'decode_max_depth' (expected a number from 1 to 1000)" },
    ["cannot be told to encode deeper"] = { "cjson.encode_max_depth(0/0)",
      "bad argument #1 to 'encode_max_depth' (expected a number from 1 to 1000)" },
    ["fills no long gaps"] = { "cjson.encode_sparse_array(true, 0)",
      "bad argument #2 to 'encode_sparse_array' (expected a number from 1 to 10)" },
    ["fills no gaps of many elements"] = { "cjson.encode_sparse_array(false, 10, 11)",
      "bad argument #3 to 'encode_sparse_array' (expected a number from 0 to 10)" },
    ["says what cannot be encoded, in a large value too"] = { "cjson.encode { ('x'):rep(1e5), print }",
      "Cannot serialise function: type not supported" },
    ["encodes at most 250,000 values"] = { "local t = {} for i = 1, 250000 do t[i] = i end cjson.encode(t)",
      "the value is too large: it has too many parts" },
    ["counts a table that is there twice twice"] = { "local t = {} for i = 1, 60 do t = { t, t } end cjson.encode(t)",
      "the value is too large: it has too many parts" },
    ["encodes no cycle"] = { "local t = {} t[1] = t cjson.encode(t)",
      "the value is too large: there are more than 1000 tables in tables" },
    ["encodes at most 4 MiB of text"] = { "cjson.encode { ('x'):rep(4194305) }", "the value is too large: its texts are too long" },
    ["encodes no longer text"] = { "cjson.encode(('x'):rep(4194305))", "the value is too large: its texts are too long" },
  } do
    it(name, function()
      assert.equal("config.lua:2: " .. case[2], message_of("local cjson = require 'cjson'\n" .. case[1]))
    end)
  end

  it("gives large values, and keeps buffers as it is told", function()
    holds [[
      local cjson = require "cjson"
      local text = ("x\\1"):rep(1e5)
      for i, one in ipairs { cjson, cjson.new(), require "cjson.safe" } do
        for _ = 1, 3 do assert(one.decode(one.encode { text, { a = 1 } })[1] == text) end
        assert(one.encode_keep_buffer() == (i ~= 2) and one.encode_keep_buffer(true) == (i ~= 2))
        assert(one.encode_keep_buffer(false) == false)
        for _ = 1, 3 do assert(one.encode { 1 } == "[1]" and one.decode(one.encode { text })[1] == text) end
      end
    ]]
  end)

  it("runs in the time that there is", function()
    assert.equal(TOO_LONG:format(2), message_of [[
      local cjson, text = require "cjson", "[" .. ("1,"):rep(100000) .. "1]"
      while true do pcall(cjson.decode, text) end]])
  end)
end)

describe("require 'lpeg'", function()
  it("gives LPeg", function()
    holds [[
      local lpeg = require "lpeg"
      local P, R, S, C, Ct, V = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Ct, lpeg.V
      assert(lpeg.type(P"a") == "pattern" and lpeg.type "a" == nil)
      local word = C(R("az", "AZ")^1)
      local list = Ct(word * ("," * S" \t"^0 * word)^0) * -1
      assert(table.concat(list:match "ab, cd,ef", "|") == "ab|cd|ef")
      assert(list:match "ab,," == nil)
      local balanced = P { "(" * ((1 - S"()") + V(1))^0 * ")" }
      assert(balanced:match "(a(b)c)" == 8 and lpeg.match(balanced, "(a(b") == nil)
      local named = P { "list", list = V"item" * ("," * V"item")^0, item = C(R"09"^1) / tonumber }
      local a, b = named:match "12,7"
      assert(a == 12 and b == 7)
      assert(lpeg.Cs((P"a" / "b" + 1)^0):match "banana" == "bbnbnb")
      assert(lpeg.Cf(Ct"" * lpeg.Cg(C(1) * C(1))^0, rawset):match "a1b2".b == "2")
      assert((#P"a" * C(1) + -P"a" * C(2)):match "xy" == "xy")
      assert(lpeg.locale().digit:match "7" == 2)
      assert((P"a"^-2):match "aaa" == 3 and (P"ab"^2):match "abab" == 5)
      assert(lpeg.Cmt(P"a"^0, function(_, at, x) return x == "aa" and at end):match "aa" == 3)
    ]]
  end)

  for name, case in pairs {
    ["matches texts of at most 1 MiB"] = { "lpeg.match(1, ('x'):rep(1048577))",
      "the text is too long: at most 1048576 bytes are matched" },
    ["has patterns of 200 levels at most"] = { "local p = lpeg.P'a' for i = 1, 1000 do p = #p end",
      "pattern is nested too deep: at most 200 levels" },
    ["has grammars of 200 levels at most"] = { "local p = lpeg.P'a' for i = 1, 1000 do p = lpeg.P { p } end",
      "pattern is nested too deep: at most 200 levels" },
    ["counts to 1000 at most"] = { "local p = lpeg.P'a'^-1001", "a pattern is repeated at most 1000 times, or ^0" },
    ["has a bounded stack"] = { "lpeg.setmaxstack(1e9)",
      "bad argument #1 to 'setmaxstack' (expected a number from 1 to 1000)" },
    ["has patterns that fit the memory"] = { "local p = lpeg.P'a' for i = 1, 40 do p = p * p end",
      "not enough memory: evaluation may use 64 MiB" },
    ["calls itself as deep as the C stack is"] = { "local p p = lpeg.Cmt(1, function(s) return p:match(s) end) p:match 'x'",
      "C stack overflow" },
    ["shows nothing of its inside"] = { "getmetatable(lpeg.P'a').__index = 1", "attempt to index a boolean value" },
  } do
    it(name, function()
      assert.equal("config.lua:2: " .. case[2], message_of("local lpeg = require 'lpeg'\n" .. case[1]))
    end)
  end

  for name, text in pairs {
    ["a grammar that takes twice as long with each character"] =
      [[lpeg.P({ "S", S = "a" * lpeg.V"S" * "x" + "a" * lpeg.V"S" * "y" + lpeg.P"a" }):match(("a"):rep(60))]],
    ["repetitions within repetitions"] =
      [[local p = lpeg.P(1) for i = 1, 8 do p = (#p * lpeg.P(1))^0 * lpeg.P(1)^-1 end p:match(("a"):rep(100000))]],
    ["a function in a capture"] = "local p = lpeg.P(1) / function() while true do end end p:match 'x'",
    ["a table in a capture"] =
      "local p = lpeg.C(1) / setmetatable({}, { __index = function() while true do end end }) p:match 'x'",
    ["many matches"] = "while true do pcall(lpeg.match, lpeg.P(1)^0, ('x'):rep(100000)) end",
  } do
    it("stops " .. name, function()
      assert.equal(TOO_LONG:format(2), message_of("local lpeg = require 'lpeg'\n" .. text))
    end)
  end
end)

describe("require 'MessagePack'", function()
  it("gives MessagePack", function()
    holds [[
      local mp = require "MessagePack"
      local back = mp.unpack(mp.pack { a = 1.5, b = { "x", true, -7 } })
      assert(back.a == 1.5 and back.b[1] == "x" and back.b[2] == true and back.b[3] == -7)
      assert(mp.pack(7) == "\7")
    ]]
  end)

  it("tells errors where it was called", function()
    assert.truthy(message_of("local mp = require 'MessagePack'\n\nmp.unpack '\\223'"):find("^config.lua:3: .*missing bytes"))
  end)

  it("is one of the files of the configuration, for all states", function()
    local set = evaluate.text("require 'MessagePack' hook('reload', print)").policies
    assert.equal(2, #set.sources)
    assert.truthy(set.sources[2].path:find "/MessagePack.lua$")
  end)
end)

describe("a library that is not installed", function()
  it("is named with its Debian package", function()
    local path, preload = package.path, {}
    for name, module in pairs {
      ["luka.native.library"] = { open = function() return nil, "is not installed: it is in Debian's package lua-x" end },
      ["luka.native.clock"] = { poll = function() end },
    } do
      preload[name], package.preload[name] = package.preload[name] or false, function() return module end
    end
    package.path = "lua/?.lua;" .. path
    local libraries = require "luka.sandbox.libraries"
    package.path = path
    for name in pairs(preload) do package.preload[name] = nil end
    local host = { read = function() return nil end }
    for _, name in ipairs { "cjson", "cjson.safe", "lpeg" } do
      local module, problem = libraries.open(name, host, {}, function() end)
      assert.is_nil(module)
      assert.equal("is not installed: it is in Debian's package lua-x", problem)
    end
    local module, problem = libraries.open("MessagePack", host, {}, function() end)
    assert.is_nil(module)
    assert.equal("is not installed: it is in Debian's package lua-messagepack", problem)
  end)
end)

describe("what no limit holds", function()
  local NEEDS = "is out of reach of a configuration: it needs broker { unsafe = true } before it"
  for text, name in pairs {
    ["os.execute 'true'"] = "os.execute", ["io.open 'x'"] = "io", ["require 'ffi'"] = "module 'ffi'", ["os.remove 'x'"] = "os.remove",
    ["broker { unsafe = false } io.open 'x'"] = "io",
  } do
    it("is out of reach: " .. text, function() assert.equal(("config.lua:1: %s %s"):format(name, NEEDS), message_of(text)) end)
  end

  it("is there after broker { unsafe = true }", function()
    local config, message = evaluate.text [[
      broker { unsafe = true }
      assert(os.execute "true" == 0)
      assert(io.open("/dev/null", "w"):write "x")
      local ffi = require "ffi"
      assert(ffi.sizeof "int" == 4)
      hook("reload", print)
    ]]
    assert.is_nil(message)
    assert.is_true(config.is_unsafe)
    assert.is_true(config.policies.is_unsafe)
  end)

  it("is there with --set unsafe=true, and not with unsafe=false, whatever the file says", function()
    assert.is_nil(select(2, evaluate.text("assert(io.type) broker {}", { "unsafe=true" })))
    assert.equal("config.lua:1: io " .. NEEDS, message_of("broker { unsafe = true } io.open 'x'", { "unsafe=false" }))
  end)

  for _, name in ipairs { "os.exit", "debug", "newproxy", "string.dump", "collectgarbage", "jit", "package" } do
    it("does not have " .. name, function()
      assert.equal(("config.lua:1: %s is out of reach of a configuration"):format(name),
        message_of(("broker { unsafe = true } %s(%q)"):format(name, "x")))
    end)
  end

  it("takes no bytecode either", function()
    assert.equal("config.lua:1: loader: nil", message_of [[broker { unsafe = true } error("loader: " .. tostring(load "\27LJ\2"))]])
  end)
end)
