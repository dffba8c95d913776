-- SPDX-License-Identifier: Apache-2.0
-- next() and pairs() where the compiler is on: where LuaJIT has the fault of core/lua/walk.h, they are not its own.
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")

local HAS_FAULT = jit.arch == "x64" and jit.version:find "beta" ~= nil

--- Runs Lua source in a state; its result, or the message.
local function run(is_compiled, text)
  local limits = ffi.new("struct lua_state_limits",
    { memory_bytes = 8 * 1024 * 1024, budget_ms = 1000, is_compiled = is_compiled })
  local out = ffi.new "struct lua_state *[1]"
  assert(C.lua_state_new(limits, out) == 0)
  local chunk, failure = ffi.new("struct lua_chunk", { text = text }), ffi.new "struct lua_state_failure"
  local result = C.lua_state_call(out[0], C.lua_chunk_run, chunk, failure)
  C.lua_state_delete(out[0])
  return result == 0 and ffi.string(chunk.result) or ffi.string(failure.message)
end

describe("Walking a table", function()
  -- LuaJIT's own are shown as "function: builtin#4".
  local NAMES = "return tostring(next) .. ' ' .. tostring(pairs)"
  local expected = HAS_FAULT and 0 or 2

  local function builtin(text) return select(2, text:gsub("builtin", "")) end

  it("is not left to LuaJIT's compiler where functions on records are compiled", function()
    assert.equal(expected, builtin(run(true, NAMES)))
  end)

  it("is LuaJIT's own where the compiler is off", function()
    assert.equal(2, builtin(run(false, NAMES)))
  end)

  it("is not left to it on the command line either, nor in specs", function()
    local path = unit.temp_dir() .. "/names.lua"
    unit.write_file(path, "print(tostring(next) .. tostring(pairs))")
    local pipe = assert(io.popen(("'%s' --lua '%s'"):format(arg[0], path)))
    local text = pipe:read "*a"
    pipe:close()
    assert.truthy(text:find("function: ", 1, true))
    assert.equal(expected, builtin(text))
    assert.equal(expected, builtin(tostring(next) .. tostring(pairs)))
  end)

  it("is what an FFI type says of itself, as with LuaJIT's own", function()
    local list = ffi.metatype(ffi.typeof "struct { int count; }", {
      __pairs = function(self)
        return function(_, i) if i < self.count then return i + 1, "v" .. i end end, self, 0
      end,
    })
    local seen = {}
    for i, v in pairs(list(3)) do seen[i] = v end
    assert.same({ "v0", "v1", "v2" }, seen)
    assert.has_error(function() pairs(ffi.new "int[1]") end)
  end)

  for name, case in pairs {
    ["goes through lists and keys"] = { [[
      local t, sum, names = { 1, 2, nil, 4, a = 5, b = 6 }, 0, {}
      for k, v in pairs(t) do sum = sum + v names[#names + 1] = tostring(k) end
      table.sort(names)
      return sum .. " " .. table.concat(names, " ")]], "18 1 2 4 a b" },
    ["gives values that are false, and ends with nil"] = { [[
      local t = { false }
      local k, v = next(t)
      return tostring(k) .. tostring(v) .. select("#", next(t, k)) .. tostring((next(t, k)))]], "1false1nil" },
    ["bears entries that are taken away meanwhile"] = { [[
      local t, count = {}, 0
      for i = 1, 1000 do t["k" .. i] = i end
      for k in pairs(t) do t[k] = nil count = count + 1 end
      return count .. tostring(next(t))]], "1000nil" },
    ["is the same in a loop that the compiler takes"] = { [[
      local t, sum = {}, 0
      for i = 1, 100 do t["k" .. i] = i end
      for _ = 1, 1000 do
        for _, v in pairs(t) do sum = sum + v end
        for _, v in next, t do sum = sum - v + 1 end
      end
      return sum]], "100000" },
    ["needs a table"] = { "pairs(nil)", "chunk.lua:1: bad argument #1 to 'pairs' (table expected, got nil)" },
    ["needs a table for each step"] = { "next(1)", "chunk.lua:1: bad argument #1 to 'next' (table expected, got number)" },
    ["needs a key of the table"] = { "return tostring(select(2, pcall(next, {}, 1)))", "invalid key to 'next'" },
  } do
    it(name, function()
      for _, is_compiled in ipairs { false, true } do assert.equal(case[2], run(is_compiled, case[1])) end
    end)
  end
end)
