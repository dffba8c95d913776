-- SPDX-License-Identifier: Apache-2.0
-- The allow list: all that user code (config.lua, its modules, later policies and hooks) can reach. Libraries are
-- read-only; nothing here reads or writes files, starts programs, loads bytecode, or leads back to internal code.
--
-- Limits of memory and time are core/lua/state.c's. What it cannot see is a C function that calls Lua back, which
-- calls it again, until the C stack ends: every such function asks `host.is_deep()` first and then tail-calls the
-- original, so that its errors name the line of the user's call. Functions that may run long without calling Lua are
-- replaced: text.lua, tables.lua, watched.lua.
local coroutines = require "luka.sandbox.coroutines"
local source = require "luka.sandbox.source"
local tables = require "luka.sandbox.tables"
local text = require "luka.sandbox.text"
local unsafe = require "luka.sandbox.unsafe"
local watched = require "luka.sandbox.watched"

local M = {}

local LIBRARIES = {
  string = {
    "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper",
  },
  table = { "concat", "insert", "maxn", "move", "remove", "sort" },
  math = {
    "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "huge",
    "ldexp", "log", "log10", "max", "min", "modf", "pi", "pow", "rad", "random", "randomseed", "sin", "sinh", "sqrt",
    "tan", "tanh",
  },
  bit = {
    "arshift", "band", "bnot", "bor", "bswap", "bxor", "lshift", "rol", "ror", "rshift", "tobit", "tohex",
  },
  os = { "clock", "date", "difftime", "getenv", "time" },
}

local NAMES = { "string", "table", "math", "bit", "coroutine", "os" }

local PLAIN = {
  "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
  "setmetatable", "tonumber", "tostring", "type", "unpack", "_VERSION",
}

--- Wraps a C function that may call Lua back.
local function bounded(host, fn)
  local is_deep = host.is_deep
  return function(...)
    if is_deep() then error("C stack overflow", 2) end
    return fn(...)
  end
end

--- xpcall that calls the handler after the stack has unwound, so that the handler has the time limit too.
local function protected(handler, ok, ...)
  if ok then return true, ... end
  return false, handler(...)
end

local function sandboxed_xpcall(fn, handler, ...)
  return protected(handler, pcall(fn, ...))
end

--- load and loadstring: source text only, in the caller's environment unless it names another.
local function loader(env)
  return function(chunk, name, _, chunk_env)
    if type(chunk) == "function" then
      local parts = {}
      for part in chunk do
        if type(part) ~= "string" then return nil, "reader function must return a string" end
        if part == "" then break end
        parts[#parts + 1] = part
      end
      chunk = table.concat(parts)
      name = name or "=(load)"
    end
    if type(chunk) ~= "string" then
      error(("bad argument #1 to 'load' (string expected, got %s)"):format(type(chunk)), 2)
    end
    if #chunk > source.MAX then return nil, ("chunk is longer than %d bytes"):format(source.MAX) end
    return source.compile(chunk, name or chunk, chunk_env or env)
  end
end

--- Moves clocks on. Dates that are asked for stay as they are.
local function move_clocks(functions, seconds)
  local time, date, clock = functions.time, functions.date, functions.clock
  functions.time = function(of) return of ~= nil and time(of) or time() + seconds end
  functions.date = function(format, at) return date(format, at or time() + seconds) end
  functions.clock = function() return clock() + seconds end
end

--- A view of a table that user code can read and not change.
---
---@param values table
---@param name string  what to call it in the error
---@return table view
function M.read_only(values, name)
  return setmetatable({}, {
    __index = values,
    __newindex = function(_, key) error(("%s is read-only: cannot set %s"):format(name, tostring(key)), 2) end,
    __metatable = false,
  })
end

--- Takes out of a fresh state what even methods of strings must not reach. Before any user code; once is enough.
---
---@param host luka.Host
function M.seal(host)
  if not string.dump then return end
  string.dump = nil
  for name, fn in pairs(text) do string[name] = fn end
  for name, fn in pairs(tables) do table[name] = fn end
  string.format = bounded(host, string.format)
  getmetatable("").__metatable = false
end

--- A new environment for user code.
---
---@param host luka.Host
---@param words table<string, any>  further words it knows
---@param names_unsafe boolean?  what luka.sandbox.unsafe could give raises an error that says so
---@return table env
---@return fun() unlock  adds what luka.sandbox.unsafe has
function M.new(host, words, names_unsafe)
  local env = {}
  for _, name in ipairs(PLAIN) do env[name] = _G[name] end
  for library, names in pairs(LIBRARIES) do
    local copy = {}
    for _, name in ipairs(names) do copy[name] = _G[library][name] end
    env[library] = copy
  end
  env.os.date, env.tonumber = watched.date, watched.text(tonumber)
  if host.seconds_ahead then move_clocks(env.os, host.seconds_ahead) end
  env.coroutine = coroutines.new(host)
  local os_functions = env.os
  if names_unsafe then
    setmetatable(os_functions, { __index = function(_, key)
      local name = "os." .. tostring(key)
      if unsafe.NAMES[name] then error(("%s %s"):format(name, unsafe.PROBLEM), 2) end
    end })
  end
  for _, library in ipairs(NAMES) do env[library] = M.read_only(env[library], library) end
  env.xpcall = sandboxed_xpcall
  env.load = loader(env)
  env.loadstring = env.load
  env._G = env
  for name, value in pairs(words) do env[name] = value end
  return env, function() unsafe.add(env, os_functions) end
end

--- The environment of a console's session: what its code sets stays in `globals`; all else is behind that and is not
--- changed by it.
---
---@param host luka.Host
---@param words table<string, any>
---@return table globals  the environment
---@return table known  what stands behind it
function M.session(host, words)
  local known = M.new(host, words)
  local globals = setmetatable({}, { __index = known, __metatable = false })
  known._G = globals
  known.load = loader(globals)
  known.loadstring = known.load
  return globals, known
end

return M
