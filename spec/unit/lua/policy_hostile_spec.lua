-- SPDX-License-Identifier: Apache-2.0
-- Policies that would run for ever, or take all memory: each call ends with a failure that names the place, and the VM goes
-- on. What the compiler made looks at no clock, so the compiled state is asked for what holds there too.
local calls = require "spec.unit.lua.policy_calls"
local unit = require "spec.support.unit"

local BUDGET_MS, MEMORY = 50, 16 * 2 ^ 20

--- Bodies of a partitioner, that runs out of time.
local ENDLESS = {
  ["an endless loop"] = "while true do end",
  ["an endless loop that does something"] = "local i = 0 while true do i = i + 1 end",
  ["an endless loop in pcall"] = "pcall(function() while true do end end)",
  ["an endless loop around pcall"] = "while true do pcall(function() while true do end end) end",
  ["an endless loop around a pcall that fails"] = "while true do pcall(error) end",
  ["an endless loop in a required module"] = "slow.run()",
  ["an endless loop in __index"] = "return setmetatable({}, { __index = function() while true do end end }).x",
  ["an endless loop in __add"] = "return setmetatable({}, { __add = function() while true do end end }) + 1",
  ["an endless loop in __tostring"] = "return tostring(setmetatable({}, { __tostring = function() while true do end end }))",
  ["an endless loop in __tostring of an error"] =
    "error(setmetatable({}, { __tostring = function() while true do end end }))",
  ["an endless loop in a coroutine"] = "coroutine.wrap(function() while true do end end)()",
  ["an endless loop in xpcall's handler"] = "xpcall(error, function() while true do end end)",
  ["an endless loop in a comparison"] = "table.sort({ 3, 2, 1 }, function() while true do end end)",
  ["an endless loop in a replacement"] = "return (('x'):gsub('x', function() while true do end end))",
  ["a pattern that takes for ever"] = "local x = ('a'):rep(3000):find('.-.-.-.-b$')",
  ["a pattern that takes for ever in gsub"] = "local x = ('a'):rep(3000):gsub('.-.-.-.-b$', '')",
  ["a pattern that takes for ever in pcall"] = "while true do pcall(string.match, ('a'):rep(3000), '.-.-.-.-b$') end",
  ["endless tail calls"] = "local function f() return f() end return f()",
  ["coroutines that make coroutines"] = "local function f() local x = coroutine.wrap(f)() return x end while true do pcall(f) end",
  ["large strings in a loop"] = "for i = 1, 1e9 do local s = ('x'):rep(1e6) .. i end",
  ["records read in a loop"] = "while true do local k = record.key end",
}

--- Bodies that run out of memory or stack.
local LARGE = {
  ["a gigabyte string"] = { "local s = ('x'):rep(2^30)", "not enough memory" },
  ["a string that doubles"] = { "local s = 'x' while true do s = s .. s end", "not enough memory" },
  ["a table bomb"] = { "local t = {} while true do t = { t, t, t, t, t, t, t, t } end", "not enough memory" },
  ["a list that grows"] = { "local t = {} while true do t[#t + 1] = ('x'):rep(10000) .. #t end", "not enough memory" },
  ["deep recursion"] = { "local function f() return 1 + f() end return f()", "stack overflow" },
  ["deep recursion in pcall"] = { "local function f() return pcall(f) and 1 end error(tostring(f()), 0)", "1" },
  ["recursion through C"] = {
    "local t = setmetatable({}, {}) getmetatable(t).__tostring = function() return string.format('%s', t) end tostring(t)",
    "C stack overflow" },
  ["unpacking too much"] = { "return select('#', unpack({}, 1, 1e7))", "too many results to unpack" },
}

describe("a policy", function()
  local vm

  after_each(function()
    if vm then vm:close() end
    vm = nil
  end)

  local function make(jit, kind, body)
    vm = assert(calls.new(('local slow = require "slow" topic "clicks" { %s%s = function(record, n)\nif record.key == "bad" then %s end\n'
      .. "return %s end }"):format(jit, kind, body, kind == "partitioner" and "hash(record.key) % n" or "record"),
      { budget_ms = BUDGET_MS, memory = MEMORY,
        files = { ["slow.lua"] = "return { run = function()\n\nwhile true do end end }" } }))
    return vm
  end

  for name, body in pairs(ENDLESS) do
    it("is stopped in " .. name, function()
      make("", "partitioner", body)
      local before = vm:partition({ "a", "b" }, 7)
      local list, message, index = vm:partition({ "a", "bad", "b" }, 7)
      assert.is_nil(list)
      -- Time that is up when a large block is allocated has no line: then it is that of the function.
      local place = name:find "module" and "slow.lua:3" or name:find "large" and "config.lua:[12]" or "config.lua:2"
      assert.matches(("^partitioner of topic clicks: %s: took longer than %d ms$"):format(place, BUDGET_MS), message)
      assert.equal(1, index)
      assert.same(before, vm:partition({ "a", "b" }, 7))
    end)
  end

  for _, jit in ipairs { "", "jit = true, " } do
    for name, case in pairs(LARGE) do
      it(("%sis stopped in %s"):format(jit == "" and "" or "that is compiled ", name), function()
        make(jit, "partitioner", case[1])
        local before = vm:partition({ "a", "b" }, 7)
        local list, message = vm:partition({ "a", "bad", "b" }, 7)
        assert.is_nil(list)
        assert.matches("^partitioner of topic clicks: config.lua:[12]: ", message)
        assert.matches(case[2], message, 1, true)
        assert.same(before, vm:partition({ "a", "b" }, 7))
      end)
    end
  end

  it("may take its budget for each record of a batch", function()
    vm = assert(calls.new('topic "clicks" { partitioner = function() local x = 0 for i = 1, 3e5 do x = x + i end return 0 end }',
      { budget_ms = BUDGET_MS }))
    local keys = {}
    for i = 1, 40 do keys[i] = "k" .. i end
    assert.equal(40, #assert(vm:partition(keys, 2)))
  end)

  it("has twenty budgets for all records of a batch, and at least a second", function()
    vm = assert(calls.new([[topic "clicks" { partitioner = function()
      local t = os.clock() + 0.02 repeat until os.clock() > t
      return 0 end }]], { budget_ms = BUDGET_MS, memory = MEMORY }))
    local keys = {}
    for i = 1, 200 do keys[i] = tostring(i) end
    local _, message, index = vm:partition(keys, 2)
    assert.truthy(message:find("config.lua:%d: took longer than 1000 ms for the records of one batch$"), message)
    assert.is_true(index > 20 and index < 100, tostring(index))
    assert.same({ 0 }, vm:partition({ "a" }, 2))
  end)

  it("that is compiled ends at its next record when it is told to", function()
    vm = assert(calls.new([[topic "clicks" { jit = true, partitioner = function(record, n) return hash(record.key) % n end }]],
      { budget_ms = BUDGET_MS, memory = MEMORY }))
    vm.vm.progress.stop = vm.vm.progress.calls + 1
    local _, message = vm:partition({ "a" }, 2)
    assert.equal("partitioner of topic clicks: config.lua:1: took longer than 1000 ms for the records of one batch", message)
    assert.equal(1, #vm:partition({ "a" }, 2))
  end)

  -- Memory of C that no cap counts is to go with the call that took it.
  local function resident_mib()
    return tonumber(unit.read_file("/proc/self/statm"):match "^%d+ (%d+)") * 4 / 1024
  end
  for name, code in pairs {
    ["JSON that cannot be made"] = "local t = { ('x'):rep(5e5), print } while true do pcall(json.encode, t) end",
    ["JSON that is nested too deep"] =
      "local t = '[' .. ('1,'):rep(2e5) .. ('['):rep(200) .. (']'):rep(200) .. ']' while true do json.decode(t) end",
    ["cjson that does not fit"] = "local cjson, kept = require 'cjson', {} local t = '[' .. ('{},'):rep(1e5) .. '1]'\n"
      .. "pcall(function() while true do kept[#kept + 1] = ('x'):rep(1e5) .. #kept end end)\n"
      .. "while true do pcall(cjson.decode, t) end",
    ["buffers of cjson"] = "local cjson, kept = require 'cjson', {} local t = ('\\1'):rep(1e6)\n"
      .. "while true do local one = cjson.new() kept[#kept + 1] = one one.encode(t) end",
  } do
    it("does not take memory for " .. name, function()
      vm = assert(calls.new(("local cjson = require 'cjson'\ntopic 'clicks' { transform = function(record) %s end }"):format(code),
        { budget_ms = 500, memory = MEMORY }))
      local before = resident_mib()
      local result = vm:transform { { "a", "1" } }
      assert.is_nil(result)
      assert.is_true(resident_mib() - before < 100, ("%d MiB more"):format(resident_mib() - before))
    end)
  end

  it("about segments goes on after it has filled its state", function()
    vm = assert(calls.new([[local kept = {} topic "clicks" { archive = function()
      if #kept == 0 then while true do kept[#kept + 1] = ("x"):rep(10000) .. #kept end end end }]],
      { budget_ms = BUDGET_MS, memory = MEMORY }))
    for _ = 1, 3 do
      local _, message = vm:segment()
      assert.truthy(message and message:find("not enough memory", 1, true), message)
    end
  end)

  it("of another topic goes on after one has failed", function()
    vm = assert(calls.new('topic "a" { partitioner = function() while true do end end }\n'
      .. 'topic "b" { partitioner = function(record, n) return 1 end }', { budget_ms = BUDGET_MS }))
    for _ = 1, 3 do
      assert.is_nil((vm:partition({ "x" }, 2, { topic = "a" })))
      assert.same({ 1 }, vm:partition({ "x" }, 2, { topic = "b", number = 2 }))
    end
  end)

  it("cannot reach what is not meant for it", function()
    for _, jit in ipairs { "", "jit = true, " } do
      for _, body in ipairs {
        "return ffi", "return require 'ffi'", "return io", "return debug", "return package", "return jit",
        "return require 'luka.ffi.policy'", "return require 'luka.policy.run'", "return os.execute",
        "return getfenv", "return collectgarbage", "return newproxy", "return string.dump",
      } do
        make(jit, "partitioner", body:gsub("return (.+)", "local x = %1 if x ~= nil then return 0 end error 'nil'"))
        local list, message = vm:partition({ "bad" }, 2)
        assert.is_nil(list, body)
        assert.is_truthy(message)
        vm:close()
        vm = nil
      end
    end
  end)

  it("sees nothing behind records and headers", function()
    for _, jit in ipairs { "", "jit = true, " } do
      make(jit, "partitioner", [[
        local meta = getmetatable(record)
        if type(meta) == "table" then error "metatable" end
        if tostring(record) ~= "record" or tostring(record.headers) ~= "headers" then error(tostring(record)) end
        if pcall(setmetatable, record, {}) then error "setmetatable" end
        if pcall(rawget, record, "serial") then error "rawget" end
        if pcall(function() record.serial = 5 end) then error "serial" end
        if pcall(function() return record + 1 end) then error "arithmetic" end
        return 0
      ]])
      assert.same({ 0 }, { assert(vm:partition({ "bad" }, 2))[1] })
      vm:close()
      vm = nil
    end
  end)
end)

