-- SPDX-License-Identifier: Apache-2.0
-- Runs functions of a configuration over the records of a batch (core/lua/policy_vm.c): makes a loop for each of them, and
-- the words that they find.
local load = require "luka.policy.load"

local M = {}

---@class (exact) luka.RunOptions
---@field sources luka.PolicySource[]
---@field expected luka.PolicyExpected[]
---@field natives table<string, any>  core/lua/policy_vm_native.c
---@field is_deep fun(): boolean
---@field log fun(level: string, text: string)
---@field is_unsafe boolean
---@field is_compiled boolean  whether the compiler is on, and this state is for functions with `jit = true`
---@field call userdata  struct policy_call
---@field call_bytes integer
---@field view_bytes integer

--- Headers of a table as two lists, names and values: those of its list part in order, then others by name. False is null.
--- Or nil and a sentence.
function M.spread(headers)
  local names, values, rest = {}, {}, {}
  for i = 1, #headers do
    local header = rawget(headers, i)
    local key = type(header) == "table" and rawget(header, "key")
    if type(key) ~= "string" then
      return nil, ("header number %d has to be a table { key =, value = }"):format(i)
    end
    names[i], values[i] = key, rawget(header, "value") or false
  end
  for key in next, headers do
    if type(key) == "string" then
      rest[#rest + 1] = key
    elseif not (type(key) == "number" and key >= 1 and key <= #headers and key % 1 == 0) then
      return nil, ("headers have names and numbers, and not a %s"):format(type(key))
    end
  end
  table.sort(rest)
  for _, key in ipairs(rest) do
    names[#names + 1] = key
    values[#names] = rawget(headers, key)
  end
  for i, value in ipairs(values) do
    if value and type(value) ~= "string" or value == true then
      return nil, ("the value of header %s has to be a string, not a %s"):format(names[i], type(value))
    end
  end
  return names, values
end

--- Loops of the interpreted state. Each step is one call of C, which takes what the function returned.
local function interpreted_loops(natives)
  local first, choose, sieve, decide = natives.first, natives.choose, natives.sieve, natives.decide
  local loops = {}
  function loops.partitioner(fn)
    return function(partitions)
      local record = first()
      while record do record = choose(fn(record, partitions)) end
    end
  end
  function loops.where(fn)
    return function()
      local record = first()
      while record do record = sieve(fn(record)) end
    end
  end
  function loops.transform(fn)
    return function()
      local record = first()
      while record do record = decide(fn(record)) end
    end
  end
  function loops.transform_fetch(fn)
    return function(client)
      local record = first()
      while record do record = decide(fn(record, client)) end
    end
  end
  -- Asked about a segment at a time.
  function loops.retention(fn) return fn end
  function loops.archive(fn) return fn end
  return loops
end

--- pairs and ipairs that know headers.
local function iterators(natives)
  local raw_pairs, raw_ipairs = pairs, ipairs
  local meta = natives.headers_meta
  local get_meta = debug.getmetatable
  local function next_header(headers, i)
    local header = headers[i + 1]
    if header then return i + 1, header end
  end
  return {
    pairs = function(value)
      if type(value) == "userdata" and get_meta(value) == meta then return meta.__pairs(value) end
      return raw_pairs(value)
    end,
    ipairs = function(value)
      if type(value) == "userdata" and get_meta(value) == meta then return next_header, value, 0 end
      return raw_ipairs(value)
    end,
  }
end

--- Evaluates the configuration.
---
---@param options luka.RunOptions
---@return (fun(number: integer, argument: any))? run
---@return function|string spread  or, without the first, what is wrong
---@return nil
function M.start(options)
  local natives = options.natives
  local words, loops, globals
  if options.is_compiled then
    words, loops, globals = require("luka.ffi.policy").new(options)
  else
    words = { emit = natives.emit, reject = natives.reject }
    loops, globals = interpreted_loops(natives), iterators(natives)
  end
  local list, message = load.load(options.sources, {
    is_deep = options.is_deep, log = options.log, is_unsafe = options.is_unsafe, expected = options.expected,
    words = words, globals = globals,
  })
  if not list then return nil, message end
  local runs = {}
  for i, policy in ipairs(list) do
    local make = loops[policy.kind]
    if make and policy.is_compiled == options.is_compiled then runs[i] = make(policy.fn) end
  end
  return function(number, argument) return runs[number](argument) end, M.spread
end

return M
