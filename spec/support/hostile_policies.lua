-- SPDX-License-Identifier: Apache-2.0
-- Functions of a configuration that mean no good, for specs: bodies, and configurations made of them.
local M = {}

--- A record that makes no end: `error` says what is wrong with it, nothing: it ends well. `is_endless`: where it is compiled,
--- nothing stops it.
M.BODIES = {
  { "an endless loop", "while true do end", "took longer than 50 ms", is_endless = true },
  { "an endless loop in pcall", "while true do pcall(function() while true do end end) end", "took longer than 50 ms",
    is_endless = true },
  { "an endless loop in a module", "slow.run()", "slow.lua:3: took longer than 50 ms", is_endless = true },
  { "an endless loop in __tostring", "tostring(setmetatable({}, { __tostring = function() while true do end end }))",
    "took longer than 50 ms", is_endless = true },
  { "an endless loop in __index", "local x = setmetatable({}, { __index = function() while true do end end }).x",
    "took longer than 50 ms", is_endless = true },
  { "an endless loop in __tostring of an error", "error(setmetatable({}, { __tostring = function() while true do end end }))",
    "", is_endless = true },
  { "an endless loop in a coroutine", "coroutine.wrap(function() while true do end end)()", "took longer than 50 ms",
    is_endless = true },
  { "a finalizer", "for _ = 1, 100 do setmetatable({}, { __gc = function() while true do end end }) end" },
  { "a finalizer of a proxy", "newproxy(true)", "newproxy" },
  { "collected garbage", "collectgarbage()", "collectgarbage" },
  { "a pattern that takes for ever", "local x = ('a'):rep(3000):find('.-.-.-.-b$')", "" },
  { "deep recursion", "local function f() return 1 + f() end f()", "stack overflow" },
  { "deep recursion in pcall", "local function f() pcall(f) f() end f()", "" , is_endless = true },
  { "recursion through C", "local t = setmetatable({}, {}) getmetatable(t).__tostring = function() "
    .. "return string.format('%s', t) end tostring(t)", "stack overflow" },
  { "a gigabyte string", "local s = ('x'):rep(2^30)", "not enough memory" },
  { "a string that doubles", "local s = 'x' while true do s = s .. s end", "not enough memory" },
  { "a table bomb", "local t = {} while true do t = { t, t, t, t, t, t, t, t } end", "not enough memory" },
  { "a table bomb that is kept", "kept = kept or {} while true do kept[#kept + 1] = ('x'):rep(10000) .. #kept end", "" },
  { "error(nil)", "error(nil)", "the error raised is nil" },
  { "error({})", "error({})", "the error raised is a table" },
  { "error(true)", "error(true)", "the error raised is a boolean" },
  { "error() of a function", "error(print)", "the error raised is a function" },
  { "an error whose __tostring raises", "error(setmetatable({}, { __tostring = function() error 'twice' end }))",
    "the error raised is a table" },
  { "an error whose __tostring gives a table", "error(setmetatable({}, { __tostring = function() return {} end }))",
    "the error raised is a table" },
  { "a text of a megabyte as an error", "error(('x'):rep(2^20), 0)", "" },
  { "an error with zeros and line ends", "error('a\\0b\\nc\\27[2J')", "a" },
  { "a yield", "coroutine.yield(1)", "yield" },
  { "a yield in pcall", "local ok, why = pcall(coroutine.yield, 1) error(why, 0)", "yield" },
  { "a yield in __index", "local x = setmetatable({}, { __index = function() coroutine.yield() end }).x", "yield" },
  { "a yield in a comparison", "table.sort({ 3, 2, 1 }, function(a, b) coroutine.yield() return a < b end)", "yield" },
  { "a yield in a replacement", "local x = ('x'):gsub('x', function() coroutine.yield() end)", "yield" },
  { "a coroutine that is left alone", "coroutine.wrap(function() coroutine.yield() end)()" },
  { "itself through produce", "produce('plain', { value = 'x' })", "produce is for hooks", in_hook = false },
  { "itself through admin", "admin.topics()", "admin is for hooks", in_hook = false },
}

--- What partitioners return, of 3 partitions.
M.PARTITIONS = { "-1", "n", "1.5", "0/0", "'2'", "nil", "2^31", "-2^31", "2^63", "1/0", "{}", "true", "print" }

--- What transforms return.
M.RESULTS = { "5", "'x'", "true", "print", "{ 5 }", "{ key = 5 }", "{ value = {} }", "{ headers = 5 }", "{ headers = { 5 } }",
  "{ timestamp = 1.5 }", "{ timestamp = 'now' }", "{ timestamp = 0/0 }",
  "{ { vlaue = 'x' } }", "{ topic = 'plain' }" }

--- What stands before and behind a body, by kind.
local FUNCTIONS = {
  partitioner = "function(record, n)\n%s\nreturn 0 end",
  transform = "function(record)\n%s\nreturn record end",
  transform_fetch = "function(record, client)\n%s\nreturn record end",
  where = "function(record)\n%s\nreturn true end",
}
M.KINDS = { "partitioner", "transform", "transform_fetch", "where" }

--- One topic, or view, for each case of a kind.
---
---@param cases { name: string, kind: string, body: string }[]
---@param jit boolean
---@return string config
function M.config(cases, jit)
  local lines = { 'local slow, kept = require "slow", nil', "broker { workers = 2, lua_memory = 16 * MiB }",
    'topic "plain" {}', 'topic "source" {}' }
  for _, case in ipairs(cases) do
    local fn = FUNCTIONS[case.kind]:gsub("%%s", (case.body:gsub("%%", "%%%%")))
    if case.kind == "where" then
      lines[#lines + 1] = ("view(%q, { from = 'source', jit = %s, where = %s })"):format(case.name, jit, fn)
    else
      lines[#lines + 1] = ("topic(%q) { partitions = 3, jit = %s, %s = %s }"):format(case.name, jit, case.kind, fn)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- More for hooks, which may ask the broker.
M.HOOKS = {
  { "admin in a coroutine of its own", "coroutine.wrap(function() admin.topics() end)()" },
  { "admin in a comparison", "table.sort({ 3, 2, 1 }, function(a, b) admin.topics() return a < b end)" },
  { "admin in __index", "local x = setmetatable({}, { __index = function() return admin.topics() end }).x" },
  { "admin in pcall", "pcall(admin.topics)" },
  { "admin that fails", "admin.describe_topic('there is none')", "" },
  { "requests without end", "while true do admin.topics() end", "" },
  { "itself through produce", "produce('source', { value = 'x' })" },
  { "a topic that it creates", "admin.create_topic('of.a.hook', { partitions = 1 }) admin.delete_topic('of.a.hook')" },
  { "a refusal in pcall", "pcall(reject, 'no')", "" },
  { "a refusal that is a table", "reject({})", "" },
  { "partitions that are none", "request.partitions = 0/0", "" },
  { "2^31 partitions", "request.partitions = 2^31", "" },
  { "configs that are a function", "request.configs = print", "" },
  { "configs that refer to themselves", "request.configs.x = request.configs", "" },
  { "a request that is emptied", "for key in pairs(request) do request[key] = nil end", "" },
}

--- Hooks on the creation of topics, one topic for each case; its place in the list is the end of its name.
---
---@param cases { body: string }[]
---@return string config
function M.hooks(cases)
  local lines = { 'local slow, kept = require "slow", nil', "broker { workers = 2, lua_memory = 16 * MiB }", 'topic "plain" {}',
    'topic "source" {}', "local bodies = {}" }
  for i, case in ipairs(cases) do
    lines[#lines + 1] = ("bodies[%d] = function(request)\n%s\nend"):format(i, case.body)
  end
  lines[#lines + 1] = 'hook("topic.create", function(request)\nlocal body = bodies[tonumber(request.name:match "^hook%.(%d+)$")]\n'
    .. "if body then body(request) end\nend)"
  return table.concat(lines, "\n") .. "\n"
end

return M
