-- SPDX-License-Identifier: Apache-2.0
-- The words of config.lua that give functions: policy.partitioner, view, hook, every, after, on.request. And those that
-- functions use: here, while the configuration is evaluated, those of them that need a record or a broker at work refuse.
local blocks = require "luka.config.blocks"
local failure = require "luka.config.failure"
local names = require "luka.policy.names"
local read = require "luka.config.read"
local served = require "luka.wire.served"
local suggest = require "luka.config.suggest"
local value_of = require "luka.config.value"
local words_of_functions = require "luka.policy.words"

local M = {}

local caller, each_field = blocks.caller, blocks.each_field

local VIEW = {
  from = { type = "path" },
  where = { type = "function", example = 'function(record) return record.headers.region == "eu" end' },
  jit = { type = "boolean" },
}

--- Options in the third argument of a word: { jit = true }.
local function read_jit(options, origin, path)
  if options == nil then return false end
  if type(options) ~= "table" then failure.raise(origin, path, "got %s, expected { jit = true }", value_of.show(options)) end
  for key in next, options do
    if key ~= "jit" then failure.raise(origin, path, "unknown option %s, expected { jit = true }", value_of.show(key)) end
  end
  local jit = rawget(options, "jit")
  return jit ~= nil and read.own({ type = "boolean" }, jit, origin, path .. ".jit")
end

--- Raises for a name that is none of a list; names the nearest.
local function refuse_name(origin, path, what, name, known)
  local nearest = suggest.nearest(name:lower(), known) or suggest.nearest(name, known)
  local all = (#known == 1 and "there is " or "there are ") .. table.concat(known, ", ")
  failure.raise(origin, path, "there is no %s %s, %s", what, value_of.show(name),
    nearest and ("did you mean %s?"):format(value_of.show(nearest)) or all)
end

local function read_function(fn, origin, path, example)
  if type(fn) ~= "function" then
    failure.raise(origin, path, "got %s, expected a function: %s", value_of.show(fn), example)
  end
  return fn
end

local function view_word(files, policies, calls)
  return function(name, ...)
    calls.count = calls.count + 1
    local view, path = policies:add_view(name, caller(files))
    local function take(values)
      local origin, given = caller(files), {}
      if view.from then failure.raise(origin, path, "given already at %s", failure.where(view.origin)) end
      each_field(files, "view", name, path, values, origin, function(key, value, key_origin, key_path)
        local definition = VIEW[key]
        if not definition then refuse_name(key_origin, key_path, "key", key, { "from", "where", "jit" }) end
        if key == "from" and type(value) ~= "string" then
          failure.raise(key_origin, key_path, 'got %s, expected the name of a topic: from = "orders"', value_of.show(value))
        end
        given[key] = { path = key_path, origin = key_origin, value = read.own(definition, value, key_origin, key_path) }
      end)
      policies:set_view(view, path, given, origin)
    end
    if select("#", ...) == 0 then return take end
    take((...))
  end
end

local function hook_word(files, policies, calls)
  local known = {}
  for i, hook in ipairs(names.HOOKS) do known[i] = hook.name end
  return function(name, fn)
    calls.count = calls.count + 1
    local origin = caller(files)
    if type(name) ~= "string" then
      failure.raise(origin, "hook", 'got %s, expected a name: hook("topic.create", function(request) end)', value_of.show(name))
    end
    local path = ("hook %s"):format(value_of.show(name))
    local is_known, is_asked = false, false
    for _, hook in ipairs(names.HOOKS) do
      if hook.name == name then is_known, is_asked = true, hook.is_before end
    end
    if not is_known then refuse_name(origin, path, "hook", name, known) end
    policies:add("hook", name, read_function(fn, origin, path, ('hook("%s", function(%s) end)'):format(name,
      is_asked and "request" or "event")), origin, path)
  end
end

local function timer_word(files, policies, calls, word)
  return function(ms, fn)
    calls.count = calls.count + 1
    local origin = caller(files)
    local number = value_of.integer(ms)
    if not number or number < names.TIMER_MIN_MS or number > names.TIMER_MAX_MS then
      failure.raise(origin, word, "got %s, expected a whole number of ms from %d to %.0f: %s(minutes(5), function() end)",
        value_of.show(ms), names.TIMER_MIN_MS, names.TIMER_MAX_MS, word)
    end
    fn = read_function(fn, origin, word, ("%s(minutes(5), function() end)"):format(word))
    policies:add("timer", names.timer(word, number), fn, origin, word)
  end
end

local function request_word(files, policies, calls)
  return function(name, fn)
    calls.count = calls.count + 1
    local origin = caller(files)
    if type(name) ~= "string" then
      failure.raise(origin, "on.request", 'got %s, expected a request: on.request("Fetch", function(request) end)',
        value_of.show(name))
    end
    local path = ("on.request %s"):format(value_of.show(name))
    local known = served.names()
    local is_known = false
    for _, other in ipairs(known) do is_known = is_known or other == name end
    if not is_known then refuse_name(origin, path, "request", name, known) end
    fn = read_function(fn, origin, path, ('on.request("%s", function(request) end)'):format(name))
    policies:add("request", name, fn, origin, path)
  end
end

--- A table of words that says which there are.
local function word_table(files, name, members)
  local known = {}
  for member in pairs(members) do known[#known + 1] = ("%s.%s"):format(name, member) end
  table.sort(known)
  return setmetatable({}, {
    __index = function(_, key)
      local member = members[key]
      if member == nil then refuse_name(caller(files), name, "word", ("%s.%s"):format(name, tostring(key)), known) end
      return member
    end,
    __newindex = function() failure.raise(caller(files), name, "is read-only") end,
    __call = function()
      failure.raise(caller(files), name, "is a table of words: %s(...)", known[1])
    end,
    __metatable = false,
  })
end

--- The words.
---
---@param files luka.Files
---@param settings luka.Settings
---@param calls { count: integer }
---@return table<string, any>
function M.new(files, settings, calls)
  local policies, host = settings.policies, settings.host
  local words = words_of_functions.base {
    log = function(level, text) host.log(level, ("%s: %s"):format(failure.where(caller(files)), text)) end,
    refuse = function(word, text) failure.raise(caller(files), word, "%s", text) end,
  }
  words.policy = word_table(files, "policy", {
    partitioner = function(name, fn, options)
      calls.count = calls.count + 1
      local origin = caller(files)
      policies:add_named(name, fn, origin, read_jit(options, origin, "policy.partitioner"))
    end,
  })
  words.view = view_word(files, policies, calls)
  words.hook = hook_word(files, policies, calls)
  words.every = timer_word(files, policies, calls, "every")
  words.after = timer_word(files, policies, calls, "after")
  words.on = word_table(files, "on", { request = request_word(files, policies, calls) })
  return words
end

return M
