-- SPDX-License-Identifier: Apache-2.0
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("lua/state.h", "base/error.h", "lua_chunk.h")

local MEMORY, RESERVE, BUDGET_MS = 8 * 1024 * 1024, 4 * 1024 * 1024, 50

--- Runs user code as a task of slices of a millisecond: how it ended, with what, how often it was preempted, and for what
--- tickets it waited. wait(x) in it waits for ticket x, which gives x + 1, or an error when x is negative.
local PRELUDE = [[
local environment = require "luka.sandbox.environment"
local coroutines = require "luka.sandbox.coroutines"
environment.seal(native)
local function settle(ok, ...)
  if ok then return ... end
  error((...), 0)
end
local words = { wait = function(ticket) return settle(coroutine.yield(coroutines.WAIT, ticket)) end }
local env = environment.new(native, words)
local preempted, waited = 0, {}
function run(source)
  local co = coroutine.create(setfenv(assert(load(source, "@user")), env))
  coroutines.tasks[co] = true
  local how, a, b
  how, a, b = native.run(co, 1, 1, 1)
  while how == "preempted" or how == "yielded" do
    if how == "preempted" or b == nil then
      preempted = preempted + 1
      how, a, b = native.run(co, 1, 1, 1)
    else
      waited[#waited + 1] = b
      if b < 0 then
        how, a, b = native.run(co, 1, 1, 1, false, "refused")
      else
        how, a, b = native.run(co, 1, 1, 1, true, b + 1)
      end
    end
  end
  return how, a
end
]]

describe("a task", function()
  local state

  before_each(function()
    local limits = ffi.new("struct lua_state_limits", { memory_bytes = MEMORY, reserve_bytes = RESERVE, budget_ms = BUDGET_MS })
    local out = ffi.new "struct lua_state *[1]"
    assert.equal(0, C.lua_state_new(limits, out))
    state = out[0]
  end)

  after_each(function() C.lua_state_delete(state) end)

  --- Runs internal code behind the prelude; its result as a text.
  local function enter(text)
    local source = PRELUDE .. text -- which the chunk borrows
    local chunk = ffi.new("struct lua_chunk", { text = source })
    local failure = ffi.new "struct lua_state_failure"
    if C.lua_state_enter(state, C.lua_chunk_enter, chunk, failure) < 0 then
      error(ffi.string(failure.message), 2)
    end
    return ffi.string(chunk.result)
  end

  --- Runs a task: how it ended and with what, how often it was preempted, the tickets it waited for.
  local function run(source)
    local text = enter(("local how, result = run(%q) return table.concat({ how, tostring(result), preempted, "
      .. "table.concat(waited, ' ') }, '|')"):format(source))
    local how, result, preempted, waited = text:match "^(%a+)|(.*)|(%d+)|([%d %-]*)$"
    return how .. " " .. result, tonumber(preempted), waited
  end

  it("is preempted in a loop and ends with its result", function()
    local result, preempted = run "local sum = 0 for i = 1, 3e6 do sum = sum + i end return sum"
    assert.equal("done 4500001500000", result)
    assert.is_true(preempted >= 2)
  end)

  for name, source in pairs {
    ["a coroutine"] = [[return coroutine.wrap(function() for i = 1, 3e6 do end return "x" end)()]],
    ["a coroutine in a coroutine"] = [[
      return coroutine.wrap(function()
        return coroutine.wrap(function() for i = 1, 3e6 do end return "x" end)()
      end)()
    ]],
    ["pcall"] = [[return select(2, pcall(function() for i = 1, 3e6 do end return "x" end))]],
    ["xpcall"] = [[return select(2, xpcall(function() for i = 1, 3e6 do end return "x" end, print))]],
    ["a metamethod"] = [[
      return setmetatable({}, { __index = function() for i = 1, 3e6 do end return "x" end }).key
    ]],
    ["an iterator"] = [[
      for x in function(_, last) if last then return end for i = 1, 3e6 do end return "x" end do return x end
    ]],
    ["a comparison of table.sort"] = [[
      table.sort({ 1, 2 }, function(a, b) for i = 1, 3e6 do end return a < b end) return "x"
    ]],
    ["a replacement of string.gsub"] = [[
      return (("a"):gsub("a", function() for i = 1, 3e6 do end return "x" end))
    ]],
  } do
    it("is preempted inside " .. name, function()
      local result, preempted = run(source)
      assert.equal("done x", result)
      assert.is_true(preempted >= 2)
    end)
  end

  it("does not show preemption to the code that resumes a coroutine", function()
    local result, preempted = run [[
      local co = coroutine.create(function()
        for n = 1, 20 do
          for i = 1, 3e5 do end
          coroutine.yield(n)
        end
      end)
      local seen = {}
      while true do
        local ok, n = coroutine.resume(co)
        if n == nil then return tostring(ok) .. " " .. table.concat(seen, ",") end
        seen[#seen + 1] = n
      end
    ]]
    assert.equal("done true 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", result)
    assert.is_true(preempted >= 2)
  end)

  it("hands on what is yielded and resumed, however many values", function()
    assert.equal("done 0 3 2 1", (run [[
      local co = coroutine.create(function(...)
        local counts = select("#", coroutine.yield())
        counts = counts .. " " .. select("#", coroutine.yield(nil, nil, nil))
        return counts
      end)
      local first = select("#", coroutine.resume(co)) - 1
      local second = select("#", coroutine.resume(co, nil, nil, nil)) - 1
      local _, counts = coroutine.resume(co, 1, nil)
      return first .. " " .. second .. " " .. counts:sub(3) .. " " .. select("#", coroutine.resume(co)) - 1
    ]]))
  end)

  it("waits", function()
    local result, _, waited = run "return wait(1) + wait(10)"
    assert.equal("done 13", result)
    assert.equal("1 10", waited)
  end)

  it("waits inside coroutines", function()
    local result, _, waited = run [[
      local function numbers() for i = 1, 3 do coroutine.yield(wait(i)) end end
      local sum = 0
      for n in coroutine.wrap(function() for n in coroutine.wrap(numbers) do coroutine.yield(n) end end) do sum = sum + n end
      return sum
    ]]
    assert.equal("done 9", result)
    assert.equal("1 2 3", waited)
  end)

  it("gets the error of what it waited for", function()
    assert.equal("done refused", (run "return select(2, pcall(wait, -1))"))
  end)

  it("gets an error when it waits where it cannot be suspended", function()
    local result, _, waited = run [[
      local guard = setmetatable({}, { __tostring = function()
        return tostring(select(2, pcall(coroutine.wrap(function() return wait(1) end))))
      end })
      return string.format("%s", guard)
    ]]
    assert.equal("done cannot wait inside a function that C calls back, such as __tostring for string.format", result)
    assert.equal("", waited)
  end)

  it("is stopped at the budget where it cannot be suspended", function()
    assert.equal("failed took longer than 50 ms inside a function that cannot be interrupted", (run [[
      return string.format("%s", setmetatable({}, { __tostring = function() while true do end end }))
    ]]))
  end)

  it("is stopped there in spite of pcall and coroutines", function()
    assert.equal("failed took longer than 50 ms inside a function that cannot be interrupted", (run [[
      return string.format("%s", setmetatable({}, { __tostring = function()
        while true do pcall(coroutine.wrap(function() while true do end end)) end
      end }))
    ]]))
  end)

  it("goes on after it was stopped there", function()
    local result, preempted = run [[
      local bad = setmetatable({}, { __tostring = function() while true do end end })
      local ok = pcall(string.format, "%s", bad)
      for i = 1, 3e6 do end
      return ok
    ]]
    assert.equal("done false", result)
    assert.is_true(preempted >= 2)
  end)

  it("cannot yield to nobody", function()
    assert.equal("done user:1: attempt to yield outside a coroutine", (run [[
      return select(2, pcall(function() coroutine.yield(1) end))
    ]]))
  end)

  it("does not see its own coroutine", function()
    assert.equal("done nil false", (run "return tostring(coroutine.running()) .. ' ' .. tostring(coroutine.isyieldable())"))
  end)

  it("may yield in a coroutine of its own", function()
    assert.equal("done thread true", (run [[
      return coroutine.wrap(function() return type(coroutine.running()) .. " " .. tostring(coroutine.isyieldable()) end)()
    ]]))
  end)

  it("gets the error of a coroutine as it was raised", function()
    assert.equal("done user:1: boom", (run "return select(2, pcall(coroutine.wrap(function() error 'boom' end)))"))
  end)

  it("gets the very value that a coroutine raised", function()
    assert.equal("done true", (run [[
      local t = {}
      return select(2, coroutine.resume(coroutine.create(function() error(t) end))) == t
    ]]))
  end)

  it("cannot resume a coroutine that was suspended under a task that is gone", function()
    assert.equal("false cannot resume dead coroutine dead", enter [[
      local co = coroutine.create(setfenv(assert(load("kept = coroutine.create(function() while true do end end) "
        .. "coroutine.resume(kept)")), env))
      coroutines.tasks[co] = true
      assert(native.run(co, 1, 1, 1) ~= "done")
      local _, result = run "local ok, err = coroutine.resume(kept, 1) return tostring(ok) .. ' ' .. err .. ' ' .. coroutine.status(kept)"
      return result
    ]])
  end)

  it("ends when its coroutines are nested too deep", function()
    assert.equal("done C stack overflow", (run [[
      local function nest() return coroutine.wrap(nest)() end
      return (tostring(select(2, pcall(nest))):gsub("^user:%d+: ", ""))
    ]]))
  end)

  it("has no more memory than the cap", function()
    assert.equal("failed not enough memory", (run "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end"))
  end)

  it("leaves the reserve to internal code", function()
    assert.equal("failed 1000000", enter [[
      local how = run "kept = {} while true do kept[#kept + 1] = ('x'):rep(1e4) .. #kept end"
      return how .. " " .. #("y"):rep(1e6)
    ]])
  end)

  it("is usable after memory ran out", function()
    assert.equal("failed done 1", enter [[
      local first = run "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end"
      local second, result = run "return 1"
      return first .. " " .. second .. " " .. result
    ]])
  end)

  it("is preempted after memory ran out in coroutines", function()
    local result, preempted = run [[
      local kept, failed = {}, 0
      pcall(function() while true do kept[#kept + 1] = ('x'):rep(1000) .. #kept end end)
      local function work(...)
        for i = 1, 2e4 do end
        return coroutine.wrap(function(...) for i = 1, 2e4 do end return ... end)(...)
      end
      local function nest(i) return coroutine.wrap(work)(unpack(kept, 1, i)) end
      local function fill(i) kept[#kept + 1] = ('y'):rep(i) end
      for i = 1, 300 do
        if not pcall(nest, i) then failed = failed + 1 end
        pcall(fill, i)
      end
      kept = nil
      for i = 1, 3e6 do end
      return failed > 0
    ]]
    assert.equal("done true", result)
    assert.is_true(preempted >= 2)
  end)

  it("is counted with what it has allocated", function()
    local bytes = tonumber(enter [[
      run "kept = ('x'):rep(1e6)"
      collectgarbage()
      return native.memory(1)
    ]])
    assert.is_true(bytes > 1e6 and bytes < 1.2e6)
  end)

  it("is counted no more with what was collected", function()
    local bytes = tonumber(enter [[
      run "kept = ('x'):rep(1e6)"
      run "kept = nil"
      collectgarbage()
      return native.memory(1)
    ]])
    assert.is_true(bytes < 1e5)
  end)

  it("is preempted soon when each search in a text takes long", function()
    local result, preempted = run "local s, n = ('x'):rep(3e5), 0 for i = 1, 100 do if not s:find '[yz]' then n = n + 1 end end return n"
    assert.equal("done 100", result)
    assert.is_true(preempted >= 5)
  end)

  it("is preempted soon when each step takes long", function()
    local _, preempted = run "for i = 1, 200 do local s = ('x'):rep(2e6) end"
    assert.is_true(preempted >= 5)
  end)

  it("is preempted soon when each instruction takes long", function()
    local result, preempted = run [[
      local a, b, n = ("x"):rep(1e6) .. "a", ("x"):rep(1e6) .. "b", 0
      for i = 1, 200 do if a < b then n = n + 1 end end
      return n
    ]]
    assert.equal("done 200", result)
    assert.is_true(preempted >= 3, preempted)
  end)

  it("is stopped in the parser, which cannot be interrupted", function()
    local result = run [[
      local chunk, err = load("if x then " .. ("elseif x then "):rep(70000) .. " end")
      return tostring(chunk) .. " " .. err
    ]]
    assert.equal("done nil took longer than 50 ms inside a function that cannot be interrupted", result)
  end)

  it("loads a long text in the environment that it names", function()
    local result = run [[
      local text = "return x, --[" .. "[" .. ("-"):rep(100000) .. "]" .. "] y"
      local chunk = load(text, "=long", "t", { x = 1, y = 2 })
      return table.concat({ chunk() }, " ") .. " " .. tostring(pcall(load, text, "=long", "t", 5))
    ]]
    assert.equal("done 1 2 false", result)
  end)
end)
