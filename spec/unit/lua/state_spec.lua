-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")

local MEMORY = 8 * 1024 * 1024
local BUDGET_MS = 100

describe("a Lua state", function()
  local state

  before_each(function()
    local limits = ffi.new("struct lua_state_limits", { memory_bytes = MEMORY, budget_ms = BUDGET_MS, is_tracking = true })
    local out = ffi.new "struct lua_state *[1]"
    assert.equal(0, C.lua_state_new(limits, out))
    state = out[0]
  end)

  after_each(function() C.lua_state_delete(state) end)

  --- Runs Lua source; its result as a text, or nil, the message and whether a limit was hit.
  local function run(text)
    local chunk = ffi.new("struct lua_chunk", { text = text })
    local failure = ffi.new "struct lua_state_failure"
    local result = C.lua_state_call(state, C.lua_chunk_run, chunk, failure)
    if result == 0 then return ffi.string(chunk.result) end
    assert.equal(C.ERR_SCRIPT, result)
    return nil, ffi.string(failure.message), failure.is_limit
  end

  it("runs a chunk", function()
    assert.equal("42", run "return 6 * 7")
  end)

  it("gives the message of an error with file and line", function()
    local _, message, is_limit = run "\nerror 'boom'"
    assert.equal("chunk.lua:2: boom", message)
    assert.is_false(is_limit)
  end)

  it("says what kind of value was raised instead of a message", function()
    assert.equal("the error is a table", select(2, run "error({})"))
  end)

  it("has no io, no package and no jit library", function()
    assert.equal("nil nil nil nil", run "return tostring(io) .. ' ' .. tostring(package) .. ' ' .. tostring(jit) .. ' ' .. tostring(ffi)")
  end)

  for name, text in pairs {
    ["an endless loop"] = "while true do end",
    ["an endless loop around pcall"] = "while true do pcall(function() while true do end end) end",
    ["an endless loop around pcall of a failing function"] = "while true do pcall(error) end",
    ["an endless loop in a coroutine"] = "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    ["an endless loop in a comparison"] = "table.sort({ 3, 2, 1 }, function() while true do end end)",
    ["an endless loop in a replacement"] = "string.gsub('x', 'x', function() while true do end end)",
    ["an endless loop in a metamethod"] = "return tostring(setmetatable({}, { __tostring = function() while true do end end }))",
    ["endless tail calls"] = "local function f() return f() end return f()",
    ["large strings in a loop"] = "for i = 1, 1e9 do local s = ('x'):rep(1e6) end",
  } do
    it("stops " .. name, function()
      local _, message, is_limit = run(text)
      assert.equal("took longer than 100 ms", message)
      assert.is_true(is_limit)
      assert.is_true(C.lua_state_is_expired(state))
    end)
  end

  it("is usable after it ran out of time", function()
    run "while true do end"
    assert.equal("1", run "return 1")
    assert.is_false(C.lua_state_is_expired(state))
  end)

  it("refuses memory beyond its cap", function()
    local _, message, is_limit = run "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end"
    assert.equal("not enough memory", message)
    assert.is_true(is_limit)
  end)

  it("lets code catch the refusal of a large block and go on", function()
    assert.equal("false not enough memory", run [[
      local ok, err = pcall(string.rep, "x", 1e8)
      return tostring(ok) .. " " .. err
    ]])
  end)

  it("uses nearly all of its cap before it refuses", function()
    local count = tonumber(run [[
      local t = {}
      pcall(function() while true do t[#t + 1] = ("x"):rep(1e5) .. #t end end)
      local count = #t
      t = nil
      return count
    ]])
    assert.is_true(count * 1e5 > MEMORY * 0.6 and count * 1e5 <= MEMORY)
  end)

  it("is usable after it ran out of memory, and gives the memory back", function()
    run "kept = {} while true do kept[#kept + 1] = ('x'):rep(1e5) .. #kept end"
    assert.equal("1", run "kept = nil return 1")
    run "error 'collect'"
    local cap = ffi.new "size_t[1]"
    assert.is_true(tonumber(C.lua_state_memory(state, cap)) < 200000)
    assert.equal(MEMORY, tonumber(cap[0]))
  end)

  it("survives a stack overflow", function()
    local _, message = run "local function f() return 1 + f() end return f()"
    assert.equal("chunk.lua:1: stack overflow", message)
  end)

  it("knows where user code ran last", function()
    run "local x = 1\nlocal t = {}\nwhile true do t[#t + 1] = ('x'):rep(1e5) .. #t end"
    local position = C.lua_state_position(state)
    assert.equal("chunk.lua", ffi.string(position.source))
    assert.equal(3, position.line)
  end)

  it("requires the modules of lua/luka", function()
    assert.equal("604800000", run "return require('luka.units').days(7)")
  end)

  it("loads a module once", function()
    assert.equal("true", run "return tostring(require 'luka.units' == require 'luka.units')")
  end)

  it("does not find other modules", function()
    assert.equal("there is no module 'os.path'", (select(2, run "require 'os.path'"):gsub("^.-: ", "")))
  end)

  it("has at least 1 MiB, whatever is asked for", function()
    local limits = ffi.new("struct lua_state_limits", { memory_bytes = 1, budget_ms = BUDGET_MS })
    local out = ffi.new "struct lua_state *[1]"
    assert.equal(0, C.lua_state_new(limits, out))
    local cap = ffi.new "size_t[1]"
    C.lua_state_memory(out[0], cap)
    assert.equal(1024 * 1024, tonumber(cap[0]))
    C.lua_state_delete(out[0])
  end)
end)
