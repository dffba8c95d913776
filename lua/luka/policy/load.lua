-- SPDX-License-Identifier: Apache-2.0
-- Evaluates a configuration once more, in a state that is to run its functions, from the files as they were read when it
-- was checked (struct policy_set). Nothing is set up here: blocks are looked through for functions, which get the numbers
-- that they had in the checking evaluation (luka.config.policies).
local environment = require "luka.sandbox.environment"
local modules = require "luka.sandbox.modules"
local names = require "luka.policy.names"
local shared = require "luka.native.shared"
local units = require "luka.units"
local unsafe = require "luka.sandbox.unsafe"
local words_of_functions = require "luka.policy.words"

---@class (exact) luka.PolicySource
---@field path string
---@field text string

---@class (exact) luka.PolicyExpected
---@field kind string  of luka.policy.names.KINDS
---@field name string
---@field is_compiled boolean?  nil: it does not matter where it is loaded

---@class (exact) luka.PolicyHost
---@field is_deep fun(): boolean  whether C and Lua are nested too deep
---@field was_preempted (fun(co: thread): boolean)?  of a state with tasks
---@field log fun(level: "error"|"warn"|"info"|"debug", text: string)  a line, with the place of the call before it
---@field words table<string, any>?  what functions find in this state: reject, emit, admin, produce, and others
---@field globals table<string, any>?  in place of what the sandbox gives: pairs that knows headers
---@field is_unsafe boolean?
---@field expected luka.PolicyExpected[]  what the checking evaluation found, in its order
---@field seconds_ahead integer?  by how much clocks are ahead

---@class (exact) luka.LoadedPolicy
---@field kind string
---@field name string
---@field fn function
---@field is_compiled boolean
---@field ms number?  of a timer
---@field is_once boolean?  of a timer: after, not every

local M = {}

--- What user code gets from a word whose result does not matter.
local function nothing() end

local function is_true(value) return value == true end

--- The words that give functions; each adds to `list` what luka.config.policies would.
local function giving_words(list, is_loading)
  local words = {}
  local function add(kind, name, fn, is_compiled)
    if not is_loading() then
      error(("a %s is given where the configuration is evaluated: a function of it cannot give one"):format(kind), 3)
    end
    local policy = { kind = kind, name = name, fn = fn, is_compiled = is_compiled or false }
    list[#list + 1] = policy
    return policy
  end
  local function with_table(take)
    return function(name, ...)
      if select("#", ...) > 0 then return take(name, (...)) end
      return function(values) take(name, values) end
    end
  end
  words.broker = nothing
  words.defaults = function(values)
    local placement = rawget(values, "placement")
    if placement then add("placement", "placement", placement) end
  end
  words.topic = with_table(function(name, values)
    for _, key in ipairs(names.TOPIC_KEYS) do
      local fn = rawget(values, key)
      if type(fn) == "function" then
        add(key, name, fn, names.COMPILED_KEYS[key] and is_true(rawget(values, "jit")))
      end
    end
  end)
  words.view = with_table(function(name, values)
    local where = rawget(values, "where")
    if where then add("where", name, where, is_true(rawget(values, "jit"))) end
  end)
  words.policy = environment.read_only({
    partitioner = function(name, fn, options)
      add("partitioner", name, fn, options ~= nil and is_true(rawget(options, "jit")))
    end,
  }, "policy")
  words.hook = function(name, fn) add("hook", name, fn) end
  for _, word in ipairs { "every", "after" } do
    words[word] = function(ms, fn)
      local policy = add("timer", names.timer(word, tonumber(ms)), fn)
      policy.ms, policy.is_once = tonumber(ms), word == "after"
    end
  end
  words.on = environment.read_only({ request = function(name, fn) add("request", name, fn) end }, "on")
  return words
end

--- By what a function is known in all evaluations.
local function key_of(policy) return ("%s %s"):format(policy.kind, tostring(policy.name)) end

local function difference(policy, what)
  return ("the configuration is another one each time it is evaluated (by time or chance?): %s is not always %s"):format(
    key_of(policy), what)
end

--- Puts functions into the order of the checking evaluation: theirs may be another one, as pairs() goes through a table in
--- another order in each state. Of several that are called the same the first stays the first.
---
---@return luka.LoadedPolicy[]? list
---@return string? message  what is not as it was when the configuration was checked
local function arranged(list, expected)
  local found, taken, out = {}, {}, {}
  for _, policy in ipairs(list) do
    local key = key_of(policy)
    found[key] = found[key] or {}
    table.insert(found[key], policy)
  end
  for i, was in ipairs(expected) do
    local key = key_of(was)
    taken[key] = (taken[key] or 0) + 1
    local is = found[key] and found[key][taken[key]]
    if not is or type(is.fn) ~= "function" then return nil, difference(was, "given") end
    if was.is_compiled ~= nil and is.is_compiled ~= was.is_compiled then return nil, difference(was, "compiled") end
    out[i] = is
  end
  for _, policy in ipairs(list) do
    local key = key_of(policy)
    if #found[key] > (taken[key] or 0) then return nil, difference(policy, "given") end
  end
  return out
end

--- What to say about a name that is nothing.
local function unknown_word(name)
  return unsafe.NAMES[name] and ("%s %s"):format(name, unsafe.PROBLEM) or "unknown word " .. name
end

--- A state's global names: reading one that nothing has set is an error, as in the checking evaluation.
local function globals_of(env, words)
  return setmetatable(env, {
    __index = function(_, name)
      local word = words[name]
      if word == nil and type(name) == "string" then error(unknown_word(name), 2) end
      return word
    end,
    __newindex = function(_, name, value)
      if words[name] ~= nil then error(("%s is a word of the configuration and cannot be set"):format(name), 2) end
      rawset(env, name, value)
    end,
    __metatable = false,
  })
end

--- The place of a call in a file of the user's, as a line of a log begins.
local function place_of_call()
  for level = 3, 20 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    local path = info.source:match "^@(.*)"
    if path and info.currentline > 0 then return ("%s:%d: "):format(path, info.currentline) end
  end
  return ""
end

--- Evaluates.
---
---@param sources luka.PolicySource[]  the first is config.lua
---@param host luka.PolicyHost
---@return luka.LoadedPolicy[]? list  by their number, which is that of struct policy plus one
---@return string? message  one line
---@return boolean? is_another  that is because the configuration is another one than it was when it was checked
function M.load(sources, host)
  environment.seal(host)
  local list, texts = {}, {}
  local is_loading = true
  for _, file in ipairs(sources) do texts[file.path] = file.text end
  local function log(level, text)
    if not is_loading then host.log(level, place_of_call() .. text) end
  end
  local words = words_of_functions.base {
    log = log, refuse = function(word, text) error(("%s %s"):format(word, text), 3) end,
  }
  for name, value in pairs(units) do words[name] = value end
  for name, value in pairs(giving_words(list, function() return is_loading end)) do words[name] = value end
  for name, value in pairs(host.words or {}) do words[name] = value end
  if host.seconds_ahead then
    local now = words.now
    words.now = function() return now() + host.seconds_ahead * 1000 end
  end
  local bare, unlock = environment.new(host, host.globals or {}, true)
  local env = globals_of(bare, words)
  if host.is_unsafe then unlock() end
  env.print = words_of_functions.printer(log)
  local config = sources[1]
  local bundle = {
    is_deep = host.is_deep, is_unsafe = function() return host.is_unsafe == true end,
    is_loaded = function() return not is_loading end,
    read = function(path)
      if texts[path] then return texts[path] end
      return nil, "was not read when the configuration was checked", true
    end,
  }
  env.require = modules.new(bundle, env, config.path:match "^(.*/)[^/]*$" or "", nothing)
  local ok, err = pcall(modules.compile(config.path, config.text, env))
  is_loading = false
  shared.ready()
  if not ok then return nil, tostring(err) end
  local in_order, message = arranged(list, host.expected)
  if not in_order then return nil, ("%s: %s"):format(config.path, message), true end
  return in_order
end

return M
