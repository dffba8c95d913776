-- SPDX-License-Identifier: Apache-2.0
-- The coroutine library of user code. Code that runs in a task (core/lua/task.h) is suspended from below, by the count
-- hook or by a word that waits, in whatever coroutine it is: then each coroutine around it is suspended too, and later
-- goes on, as if nothing had happened. What user code itself yields goes to whoever resumed it, as ever.
--
-- A C function that calls Lua back cannot be suspended. Around such a one a coroutine that was preempted goes on at once;
-- one that waits gets an error.
local errors = require "luka.errors"

local create, raw_resume, raw_status, raw_running = coroutine.create, coroutine.resume, coroutine.status, coroutine.running
local raw_yield, is_yieldable = coroutine.yield, coroutine.isyieldable
local select = select

local M = {}

--- The first value of a yield that is not user code's; then come what is waited for. Resumed with whether that went well,
--- and results or an error.
M.WAIT = {}

local WAIT = M.WAIT

--- What is raised where a suspension cannot pass.
---
---@return luka.Error
function M.cannot_wait()
  return errors.new("usage", "cannot wait inside a function that C calls back, such as __tostring for string.format")
end

--- Coroutines that are the first of a task; user code is not to see them.
M.tasks = setmetatable({}, { __mode = "k" })

local tasks = M.tasks

--- Coroutines that run or were suspended from below: nobody else may resume them, also when their task is gone.
local held = setmetatable({}, { __mode = "k" })

--- Coroutines within coroutines: each suspension from below goes through all of them.
M.NESTED_MAX = 100

--- How deep in coroutines each one is that runs.
local depths = setmetatable({}, { __mode = "k" })

local function user_yield(...)
  if tasks[raw_running()] then error("attempt to yield outside a coroutine", 2) end
  return raw_yield(...)
end

local function user_running()
  local co = raw_running()
  if co and tasks[co] then return nil end
  return co
end

local function user_is_yieldable()
  local co = raw_running()
  return co ~= nil and not tasks[co] and is_yieldable()
end

local function user_status(co)
  local status = raw_status(co)
  if status == "suspended" and held[co] then return "dead" end
  return status
end

--- The library.
---
---@param host { is_deep: fun(): boolean, was_preempted: (fun(co: thread): boolean)? }
---@return table<string, function>
function M.new(host)
  local is_deep, was_preempted = host.is_deep, host.was_preempted
  local pass

  --- Looks at what came back from a coroutine: user code's, or a suspension from below that is passed on.
  function pass(co, ...)
    local ok, first = ...
    if ok then
      if was_preempted and was_preempted(co) then
        if is_yieldable() then raw_yield(WAIT) end
        return pass(co, raw_resume(co))
      elseif first == WAIT then
        if is_yieldable() then return pass(co, raw_resume(co, raw_yield(select(2, ...)))) end
        return pass(co, raw_resume(co, false, M.cannot_wait()))
      end
    end
    held[co] = nil
    return ...
  end

  local function is_nested_too_deep(co)
    local outer = raw_running()
    depths[co] = (outer and depths[outer] or 0) + 1
    return depths[co] > M.NESTED_MAX or is_deep()
  end

  local function resume(co, ...)
    if type(co) ~= "thread" then
      error(("bad argument #1 to 'resume' (coroutine expected, got %s)"):format(type(co)), 2)
    end
    if raw_status(co) ~= "suspended" then return raw_resume(co, ...) end
    if held[co] then return false, "cannot resume dead coroutine" end
    if is_nested_too_deep(co) then error("C stack overflow", 2) end
    held[co] = true
    return pass(co, raw_resume(co, ...))
  end

  local function unwrap(ok, ...)
    if ok then return ... end
    error((...), 0)
  end

  local function wrap(fn)
    local co = create(fn)
    return function(...)
      if raw_status(co) == "suspended" and is_nested_too_deep(co) then error("C stack overflow", 2) end
      return unwrap(resume(co, ...))
    end
  end

  return {
    create = create, isyieldable = user_is_yieldable, resume = resume, running = user_running, status = user_status,
    wrap = wrap, yield = user_yield,
  }
end

return M
