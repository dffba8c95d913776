-- SPDX-License-Identifier: Apache-2.0
-- The script state: C (core/lua/script.c) calls the events that new() returns; what happens then is luka.script.session's,
-- luka.script.policies' and luka.script.task's. Events run outside of tasks, without limits: they do little, and run no code of the user's.
local environment = require "luka.sandbox.environment"
local memory = require "luka.script.memory"
local probes = require "luka.script.probes"
local policies = require "luka.script.policies"
local session = require "luka.script.session"
local task = require "luka.script.task"

---@class luka.Native
---@field run function  see core/lua/task.h, as are was_preempted, is_deep and memory
---@field send fun(session: integer, text: string, is_reply: boolean?): integer?  bytes queued; nil: the session is gone
---@field close fun(session: integer)  once all is sent
---@field queued fun(session: integer): integer  bytes that the client has not taken
---@field drained fun(session: integer): integer  a ticket
---@field channel fun(request: string): integer  a ticket, for a response, or nil and a sentence
---@field sleep fun(ms: number): integer  a ticket
---@field abandon fun(task: integer)  cancels what a task waits for
---@field probe_watch fun(keys: integer[], parts: string[])  see core/lua/script_private.h, as are the next ones
---@field probe_body fun(number: integer): string?
---@field probe_answer fun(number: integer, outcome: string, delay_ms: number, body: string?, code: integer?)
---@field probe_dropped fun(): integer
---@field loaded fun(message: string?)  these of functions of the configuration: core/lua/script_policies.c
---@field read fun(number: integer, event: table): string?
---@field answer fun(number: integer, how: string, text: string?)
---@field next_told fun(): string?, table?
---@field counted fun(generation: integer, number: integer, ms: number, text: string?): string?
---@field tick fun()
---@field mono_ms fun(): number
---@field cpu_ms fun(): number
---@field is_serving fun(): boolean
---@field log fun(level: string, text: string)
---@field services table<string, fun(json: string): integer>  see script_service in core/lua/script.h; tickets

local M = {}

--- Sets the state up.
---
---@param native luka.Native
---@param about { broker: integer, cluster: string, luka: string }
---@return table<string, function> events  each returns whether tasks want to go on
function M.new(native, about)
  environment.seal(native)
  memory.open(native)
  task.open(native)
  probes.open(native)
  local sessions = {}
  local events = {}
  local functions = policies.new(native)

  --- A client has connected.
  function events.opened(id)
    sessions[id] = session.new(id, native, about, function() sessions[id] = nil end)
    return task.has_work()
  end

  --- A client has sent a frame.
  function events.frame(id, text)
    if sessions[id] then sessions[id]:receive(text) end
    return task.has_work()
  end

  --- A client is gone.
  function events.closed(id)
    if sessions[id] then sessions[id]:finish() end
    return task.has_work()
  end

  --- What a task waits for is there.
  function events.ticket(task_id, ticket, ok, ...)
    local found = task.find(task_id)
    if found then task.complete(found, ticket, ok, ...) end
    return task.has_work()
  end

  --- A request waits for functions that see such requests.
  function events.asked(...)
    probes.asked(...)
    return task.has_work()
  end

  --- They have taken too long.
  function events.overdue(number)
    probes.overdue(number)
    return task.has_work()
  end

  --- A client that is traced has asked for something, or was answered.
  function events.noted(note, body)
    probes.noted(note, body)
    return task.has_work()
  end

  --- Tasks go on.
  function events.turn()
    task.turn()
    return task.has_work()
  end

  -- Functions of the configuration, see luka.script.policies.
  for _, name in ipairs { "load", "commit", "discard", "serve", "ask", "told", "tick" } do
    events[name] = function(...)
      functions[name](functions, ...)
      return task.has_work()
    end
  end

  return events
end

return M
