-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")

local MEMORY = 16 * 1024 * 1024
local BUDGET_MS = 5000

describe("luka.native.json", function()
  local state

  before_each(function()
    local limits = ffi.new("struct lua_state_limits", { memory_bytes = MEMORY, budget_ms = BUDGET_MS })
    local out = ffi.new "struct lua_state *[1]"
    assert.equal(0, C.lua_state_new(limits, out))
    state = out[0]
  end)

  after_each(function() C.lua_state_delete(state) end)

  --- Runs Lua source that knows `json`; its result as a text, or nil and the message.
  local function run(text)
    local source = 'local json = require "luka.native.json" ' .. text -- which the chunk borrows
    local chunk = ffi.new("struct lua_chunk", { text = source })
    local failure = ffi.new "struct lua_state_failure"
    if C.lua_state_call(state, C.lua_chunk_run, chunk, failure) == 0 then return ffi.string(chunk.result) end
    return nil, (ffi.string(failure.message):gsub("^chunk.lua:1: ", ""))
  end

  local encoded = {
    { "nil", "null" }, { "json.null", "null" }, { "true", "true" }, { "false", "false" },
    { "0", "0" }, { "-1", "-1" }, { "0.1", "0.1" }, { "1e15", "1000000000000000" }, { "2^53", "9007199254740992" },
    { "9223372036854775807LL", "9223372036854775807" }, { "-9223372036854775807LL-1LL", "-9223372036854775808" },
    { "1e300", "1e300" }, { "7ULL", "7" },
    { [["a\"\\\n\0\xc3\xa4"]], [["a\"\\\n\u0000ä"]] },
    { "{}", "{}" }, { "json.array {}", "[]" }, { "json.object({})", "{}" }, { "{ 1, 'a', { b = true } }", [=[[1,"a",{"b":true}]]=] },
    { "{ b = 1, a = 2, c = 3 }", [[{"a":2,"b":1,"c":3}]] },
    { "json.object({ b = 1, a = 2, c = 3, d = 4 }, { 'c', 'x', 'b' })", [[{"c":3,"b":1,"a":2,"d":4}]] },
  }
  for _, case in ipairs(encoded) do
    it(("encodes %s"):format(case[1]), function() assert.equal(case[2], run("return json.encode(" .. case[1] .. ")")) end)
  end

  it("indents", function()
    assert.equal('{\n  "a": [\n    1\n  ]\n}', run "return json.encode({ a = { 1 } }, 2)")
  end)

  local refused = {
    { "print", "JSON has no such function" }, { "0/0", "JSON has no such number" }, { "1/0", "JSON has no such number" },
    { "18446744073709551615ULL", "JSON has no such number" }, { [["\xff"]], "JSON has no such string" },
    { "{ [1.5] = 1 }", "JSON: a key is a number" }, { [[{ ["a\xff"] = 1 }]], "JSON: a key is not UTF-8" },
    { [[{ ["a\0b"] = 1 }]], "JSON: a key contains a zero byte" },
    { "(function() local t = {} t.t = t return t end)()", "JSON: tables are nested too deep, or in a circle" },
  }
  for _, case in ipairs(refused) do
    it(("raises for %s"):format(case[1]), function()
      local text, message = run("return json.encode(" .. case[1] .. ")")
      assert.is_nil(text)
      assert.equal(case[2], message)
    end)
  end

  it("decodes every kind of value", function()
    assert.equal("1 2.5 true false x nil userdata 0", run [==[
      local v = json.decode '{"a":1,"b":2.5,"c":[true,false,null],"d":"x","e":null,"f":[]}'
      return ("%s %s %s %s %s %s %s %d"):format(v.a, v.b, v.c[1], v.c[2], v.d, v.e, type(v.c[3]), #v.f)
    ]==])
  end)

  it("keeps all digits of numbers from 2^53 on", function()
    assert.equal("9007199254740991 9007199254740993LL -9223372036854775808LL", run [==[
      local v = json.decode '[9007199254740991,9007199254740993,-9223372036854775808]'
      return ("%.0f %s %s"):format(v[1], tostring(v[2]), tostring(v[3]))
    ]==])
  end)

  it("keeps zero bytes of texts", function()
    assert.equal("3", run [==[return tostring(#json.decode '"a\\u0000b"')]==])
  end)

  for _, text in ipairs { "", "{", "[1,]", "nul", '"\\xff"', "1 2", '{"a":1,"a":2}', "[" , "18446744073709551616" } do
    it(("says what is wrong with %q"):format(text), function()
      assert.truthy(run(("local v, err = json.decode(%q) return tostring(v) .. err"):format(text)):find "^nilbyte %d+: .")
    end)
  end

  it("refuses deep nesting without an error", function()
    assert.equal("nil nested too deep",
      run [[local v, err = json.decode(("["):rep(500) .. ("]"):rep(500)) return tostring(v) .. " " .. err]])
    assert.equal("table", run [[return type(json.decode(("["):rep(100) .. ("]"):rep(100)))]])
  end)

  it("does not leak when memory runs out in the middle", function()
    local text, message = run [==[
      local text = "[" .. ('"' .. ("x"):rep(1000) .. '",'):rep(5000) .. "1]"
      local kept = {}
      for i = 1, 1000 do kept[i] = json.decode(text) end
    ]==]
    assert.is_nil(text)
    assert.equal("not enough memory", message)
  end)
end)
