-- SPDX-License-Identifier: Apache-2.0
-- Functions of the configuration on the script thread: hooks, timers, placement (core/lua/script_policies.c). Each call is
-- a task, so none of them holds up another, a console or the broker. A set of functions is what one evaluation gave; a
-- reload brings another, and those of the one before that are still at work go on to their end.
local errors = require "luka.errors"
local load = require "luka.policy.load"
local memory = require "luka.script.memory"
local placement = require "luka.script.placement"
local probes = require "luka.script.probes"
local tasks = require "luka.script.task"
local words = require "luka.script.policy_words"

local M = {}

--- How long a hook that is asked may take, ms as they pass: before the asking side gives up, and says less.
M.ASK_MS = 800

--- How long a function may take that is told something.
M.TOLD_MS = 10000

--- Functions that nobody waits for have this much more processor time than lua_budget_ms.
M.PATIENCE = 10

--- Longest wait of a timer in one piece, ms.
local WAIT_MAX_MS = 2 ^ 30

--- How far up the place of a call is looked for.
local PLACE_LEVELS = 30

local NONE = {}

---@class (exact) luka.PolicySetState
---@field generation integer
---@field list luka.LoadedPolicy[]
---@field hooks table<string, integer[]>  numbers of functions, in their order
---@field timers integer[]
---@field requests integer[]  functions of on.request
---@field budget_ms number
---@field tasks table<luka.Task, boolean>  at work
---@field drivers table<luka.Task, boolean>  of timers
---@field busy table<integer, boolean>  timers at work

---@class luka.ScriptPolicies
---@field native luka.Native
---@field owner integer  by which memory is counted; a task's session has one
---@field options table?  what the set in force was loaded with
---@field current luka.PolicySetState?
---@field wanted luka.PolicySetState?
---@field previous luka.PolicySetState?
---@field loading luka.Task?  evaluates a configuration
---@field teller luka.Task?  tells what has happened, one after another
local Policies = {}
Policies.__index = Policies

--- Makes it; nothing is loaded yet.
---
---@param native luka.Native
---@return luka.ScriptPolicies
function M.new(native)
  local self = setmetatable({ native = native, owner = memory.POLICIES, timed = {} }, Policies)
  memory.add_policies(self)
  return self
end

-- ---- calls ----

--- A task of a set. `limits`: budget_ms, deadline_ms from now.
function Policies:spawn(set, fn, limits, on_end)
  local task
  task = tasks.spawn(self, 0, fn, function(_, ok, ...)
    set.tasks[task], self.timed[task] = nil, nil
    on_end(task, ok, ...)
    if (...) == "not enough memory" then memory.watch(true) end
  end)
  task.budget_ms = limits.budget_ms
  set.tasks[task] = true
  if limits.deadline_ms then
    task.deadline = self.native.mono_ms() + limits.deadline_ms
    task.limit_ms = limits.deadline_ms
    self.timed[task] = true
    self.native.tick()
  end
  return task
end

--- What to say of a value that was raised. In a task: __tostring is the user's.
local function describe(err)
  if type(err) == "string" then return err end
  if errors.is(err) then return rawget(err, "message") end
  local ok, text = pcall(tostring, err)
  if ok and type(text) == "string" and not text:find "^%a+: " then return text end
  return ("the error raised is a %s, not a text"):format(type(err))
end

--- Puts the place of the call before an error of a word, which has none: called where it is raised.
local function with_place(err)
  if not errors.is(err) then return err end
  for level = 2, PLACE_LEVELS do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    local path = info.source:match "^@(.*)"
    if path and info.currentline > 0 then return ("%s:%d: %s"):format(path, info.currentline, rawget(err, "message")) end
  end
  return err
end

--- Calls a function, in a task: "ok", "rejected" and why, or "failed" and a sentence. `check` looks at its result and at
--- what it has done: nil, or what is wrong with that.
function Policies:call(set, index, check, ...)
  local task, native = tasks.current(), self.native
  task.index, task.began_ms, task.rejection = index, native.mono_ms(), nil
  local fn, arguments, count = set.list[index].fn, { ... }, select("#", ...)
  local ok, result = xpcall(function() return fn(unpack(arguments, 1, count)) end, with_place)
  local wrong
  if not ok and not task.rejection then wrong = describe(result) end
  if ok and check and not task.rejection then wrong = check(result) end
  task.index = nil
  local text = native.counted(set.generation, index, native.mono_ms() - task.began_ms, wrong)
  if task.rejection then return "rejected", task.rejection end
  if wrong then return "failed", text or wrong end
  return "ok"
end

--- Counts what a function did that was ended in the middle of it; what to say of that.
function Policies:ended(set, task, err)
  local text = errors.is(err) and err.message or type(err) == "string" and err or "internal error"
  if err == "not enough memory" then text = memory.text() end
  if not task.index then return text end
  return self.native.counted(set.generation, task.index, self.native.mono_ms() - task.began_ms, text) or text
end

-- ---- sets ----

--- What a set's functions are for.
local function sorted(options, list)
  local set = {
    generation = options.generation, list = list, hooks = {}, timers = {}, requests = {}, budget_ms = options.budget_ms, tasks = {},
    drivers = {}, busy = {},
  }
  for index, policy in ipairs(list) do
    local name = policy.kind == "placement" and "placement" or policy.kind == "hook" and policy.name
    if name then
      set.hooks[name] = set.hooks[name] or {}
      table.insert(set.hooks[name], index)
    elseif policy.kind == "timer" then
      table.insert(set.timers, index)
    elseif policy.kind == "request" then
      table.insert(set.requests, index)
    end
  end
  return set
end

--- Evaluates a configuration in a task; `done(set or nil, message)`.
function Policies:evaluate(options, done)
  local native = self.native
  local list, message
  local loading = { tasks = {} }
  self.loading = self:spawn(loading, function()
    list, message = load.load(options.sources, {
      is_deep = native.is_deep, was_preempted = native.was_preempted, log = native.log, is_unsafe = options.is_unsafe,
      expected = options.expected, words = words.new(native),
    })
  end, { budget_ms = options.load_ms }, function(_, ok, err)
    self.loading = nil
    if not ok then list, message = nil, errors.is(err) and err.message or tostring(err) end
    if not list then return done(nil, message) end
    done(sorted(options, list))
  end)
end

--- Has a configuration evaluated; those in force stay.
function Policies:load(options)
  self:evaluate(options, function(set, message)
    self.wanted, self.wanted_options = set, options
    self.native.loaded(message)
  end)
end

function Policies:discard() self.wanted, self.wanted_options = nil, nil end

--- Ends all that a set has at work.
local function stop(set, which)
  local list = {}
  for task in pairs(set[which]) do list[#list + 1] = task end
  for _, task in ipairs(list) do tasks.kill(task, errors.new("reload", "the configuration was read again")) end
end

--- What was evaluated takes the place of what was in force.
function Policies:commit()
  if self.previous then stop(self.previous, "tasks") end
  if self.current then stop(self.current, "drivers") end
  self.previous, self.current, self.options = self.current, self.wanted, self.wanted_options
  self.wanted, self.wanted_options = nil, nil
  self:watch(self.current or { requests = {} })
  if self.native.is_serving() then self:serve() end
  self:told()
end

--- Memory has run out, and most of it is held by functions of the configuration: those that are being evaluated are not,
--- then; otherwise what they hold is given up, and they begin anew, as after a reload.
function Policies:on_full(text)
  if self.loading then return tasks.kill(self.loading, errors.new("memory", text)) end
  for _, which in ipairs { "previous", "current" } do
    local set = self[which]
    self[which] = nil
    if set then
      set.failure = errors.new("memory", text)
      for _, kind in ipairs { "drivers", "tasks" } do
        local list = {}
        for task in pairs(set[kind]) do list[#list + 1] = task end
        for _, task in ipairs(list) do tasks.kill(task, set.failure) end
      end
    end
  end
  local options = self.options
  if not options then return end
  self.native.log("error", text .. "; the hooks and timers of the configuration held most of it, and begin anew")
  self:evaluate(options, function(set, message)
    if not set then
      return self.native.log("error", ("hooks and timers do not run, and what is asked is refused: %s"):format(message))
    end
    if self.current or self.options ~= options then return end -- a reload was faster
    self.current = set
    self:watch(set)
    if self.native.is_serving() then self:serve() end
    self:told()
  end)
end

-- ---- requests ----

--- Has the functions of a set see requests, in place of those of the set before.
function Policies:watch(set)
  local list = {}
  for i, index in ipairs(set.requests) do
    --- Runs the function; `done` gets nothing, or what is wrong.
    local function start(request, done)
      local failure
      return self:spawn(set, function()
        local how, text = self:call(set, index, nil, request)
        if how ~= "ok" then failure = text end
      end, { budget_ms = set.budget_ms }, function(task, ok, err)
        if not ok then failure = self:ended(set, task, err) end
        done(failure)
      end)
    end
    list[i] = { api = set.list[index].name, start = start }
  end
  probes.configure(self, list)
end

-- ---- timers ----

--- Waits until a moment, in a task.
function Policies:wait_until(due_ms)
  local left = due_ms - self.native.mono_ms()
  while left > 0 do
    tasks.sleep(math.min(math.ceil(left), WAIT_MAX_MS))
    left = due_ms - self.native.mono_ms()
  end
end

--- Runs a timer's function, unless the run before is not over: then that is counted as an error.
function Policies:fire(set, index)
  if set.busy[index] then
    self.native.counted(set.generation, index, 0, "the run before is not over yet, this one is left out")
    return
  end
  set.busy[index] = true
  self:spawn(set, function() self:call(set, index) end, { budget_ms = set.budget_ms * M.PATIENCE }, function(task, ok, err)
    set.busy[index] = nil
    if not ok then self:ended(set, task, err) end
  end)
end

--- This broker serves: timers run.
function Policies:serve()
  local set = self.current
  if not set or set.is_serving then return end
  set.is_serving = true
  for _, index in ipairs(set.timers) do
    local policy = set.list[index]
    local driver
    driver = tasks.spawn(self, 0, function()
      local due_ms = self.native.mono_ms()
      repeat
        due_ms = math.max(due_ms + policy.ms, self.native.mono_ms())
        self:wait_until(due_ms)
        self:fire(set, index)
      until policy.is_once
    end, function() set.drivers[driver] = nil end)
    set.drivers[driver] = true
  end
end

-- ---- hooks ----

--- What is wrong with what a hook that is asked returned: somebody who returns false, or a reason, means to refuse.
local function refused_by_return(result)
  if result ~= false and type(result) ~= "string" then return nil end
  return ("returned %s; what refuses is reject \"reason\""):format(result == false and "false" or "a text")
end

--- Somebody waits for what the functions of a hook say.
function Policies:ask(number, hook, event)
  local set, native = self.current, self.native
  if not set then return native.answer(number, "failed", ("%s: its functions are being loaded anew"):format(hook)) end
  if memory.is_full() then return native.answer(number, "failed", memory.text()) end
  local how, text = "ok", nil
  self:spawn(set, function()
    tasks.current().is_asked = true
    for _, index in ipairs(set.hooks[hook] or NONE) do
      if hook == "placement" then
        how, text = self:call(set, index, function(result)
          return placement.take(event, result) or native.read(number, event)
        end, event.topic, event.partitions, event.replicas, placement.copy(event.brokers))
      else
        how, text = self:call(set, index, function(result)
          return refused_by_return(result) or native.read(number, event)
        end, event)
      end
      if how ~= "ok" then return end
    end
  end, { budget_ms = set.budget_ms, deadline_ms = M.ASK_MS }, function(task, ok, err)
    if not ok then how, text = task.is_late and "late" or "failed", self:ended(set, task, err) end
    native.answer(number, how, text)
  end)
end

--- Something has happened: tells it, one event after another, so that functions see their order.
function Policies:told()
  if self.teller or not self.current then return end
  local hook, event = self.native.next_told()
  if not hook then return end
  local set = self.current
  self.teller = self:spawn(set, function()
    for _, index in ipairs(set.hooks[hook] or NONE) do self:call(set, index, nil, event) end
  end, { budget_ms = set.budget_ms * M.PATIENCE, deadline_ms = M.TOLD_MS }, function(task, ok, err)
    self.teller = nil
    if not ok then self:ended(set, task, err) end
    self:told()
  end)
end

--- Ends what takes too long.
function Policies:tick()
  local now_ms, late = self.native.mono_ms(), {}
  for task in pairs(self.timed) do
    if task.deadline <= now_ms then late[#late + 1] = task end
  end
  for _, task in ipairs(late) do
    task.is_late = true
    tasks.kill(task, errors.new("late", ("%sis not done after %d ms"):format(tasks.place(task), task.limit_ms)))
  end
  if next(self.timed) then self.native.tick() end
end

return M
