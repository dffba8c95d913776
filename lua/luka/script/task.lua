-- SPDX-License-Identifier: Apache-2.0
-- Tasks: user code runs in coroutines, side by side, a few milliseconds each. What they wait for has a ticket, a number;
-- core/lua/script.h says how other threads come by. Words call await(), show() and so on wherever they are, also in a
-- coroutine of the user's (luka.sandbox.coroutines).
--
-- A task that is ended from outside is not run any more, so no pcall can hold that up: the code of all tasks is
-- suspended whenever the events of luka.script come in. The hook may suspend a task at any instruction, internal code
-- that it called too: what several tasks share is left in order at every step.
local coroutines = require "luka.sandbox.coroutines"
local errors = require "luka.errors"
local json = require "luka.native.json"
local memory = require "luka.script.memory"
local view = require "luka.view"

local WAIT = coroutines.WAIT
local yield, is_yieldable = coroutine.yield, coroutine.isyieldable

local M = {}

--- Longest slice of a task, and how long all have together before events are looked at, ms.
M.SLICE_MS, M.TURN_MS = 5, 20
--- Bytes that a client has not taken at which its task waits; largest frame.
M.QUEUE_MAX, M.FRAME_MAX = 256 * 1024, 16 * 1024 * 1024

---@class luka.Task
---@field id integer
---@field co thread
---@field session luka.Session
---@field request integer  id of the client's request, for its frames
---@field on_end fun(task: luka.Task, ok: boolean, ...)  called once, by the scheduler; must not wait
---@field state "ready"|"waits"|"ended"
---@field values table  for its next resume
---@field ticket integer?  what it waits for
---@field results table<integer, table>  of tickets that it has not waited for yet
---@field budget_ms number?  processor time that it has from one wait to the next
---@field spent_ms number?  what it has used of that

local native
local by_id, ready = {}, {}
local last_id, last_ticket = 0, 0
local current

local NOTHING = { n = 0 }

local function pack(...) return { n = select("#", ...), ... } end

--- Called once, with the functions of C.
function M.open(functions) native = functions end

--- Starts a task.
---
---@param session luka.Session
---@param request integer
---@param fn function
---@param on_end fun(task: luka.Task, ok: boolean, ...)
---@return luka.Task
function M.spawn(session, request, fn, on_end)
  last_id = last_id + 1
  local task = {
    id = last_id, co = coroutine.create(fn), session = session, request = request, on_end = on_end, state = "ready",
    values = NOTHING, results = {},
  }
  coroutines.tasks[task.co] = true
  by_id[task.id] = task
  ready[#ready + 1] = task
  return task
end

local function finish(task, ok, ...)
  task.state, task.co = "ended", nil
  by_id[task.id] = nil
  native.abandon(task.id)
  task.on_end(task, ok, ...)
end

--- Ends a task, wherever it is.
---
---@param task luka.Task
---@param err any
function M.kill(task, err)
  if task.state == "ended" then return end
  for i = 1, #ready do
    if ready[i] == task then
      table.remove(ready, i)
      break
    end
  end
  finish(task, false, err)
end

local function make_ready(task, values)
  task.state, task.values, task.ticket = "ready", values, nil
  ready[#ready + 1] = task
end

local function after_slice(task, how, ...)
  current = nil
  if how == "preempted" then return make_ready(task, NOTHING) end
  if how == "yielded" then
    local mark, ticket = ...
    assert(mark == WAIT, "a task yields to nobody")
    if ticket == nil then return make_ready(task, NOTHING) end
    local values = task.results[ticket]
    if values then
      task.results[ticket] = nil
      return make_ready(task, values)
    end
    task.state, task.ticket = "waits", ticket
    return
  end
  finish(task, how == "done", ...)
end

--- Whether a task wants to go on.
---@return boolean
function M.has_work() return #ready > 0 end

--- Where code of the user's is that a task which does not run is in: "config.lua:12: ", or nothing.
---
---@param task luka.Task
---@return string
function M.place(task)
  local level = 0
  while task.co do
    local info = debug.getinfo(task.co, level, "Sl")
    if not info then break end
    local path = info.source:match "^@(.*)"
    if path and info.currentline > 0 then return ("%s:%d: "):format(path, info.currentline) end
    level = level + 1
  end
  return ""
end

--- Counts the time of a slice; ends a task that has no more.
local function spend(task, ms)
  if task.state ~= "ready" then
    task.spent_ms = 0
    return
  end
  task.spent_ms = (task.spent_ms or 0) + ms
  if task.spent_ms > task.budget_ms then
    M.kill(task, errors.new("budget", ("%stook longer than %d ms"):format(M.place(task), task.budget_ms)))
  end
end

--- Lets each task that can go on do so for a slice.
function M.turn()
  local batch = ready
  ready = {}
  local slice_ms = math.max(1, math.min(M.SLICE_MS, math.floor(M.TURN_MS / #batch)))
  for i = 1, #batch do
    local task = batch[i]
    if task.state == "ready" then
      local values = task.values
      task.values = NOTHING
      local before = task.budget_ms and native.cpu_ms()
      current = task
      after_slice(task, native.run(task.co, task.id, task.session.owner, slice_ms, unpack(values, 1, values.n)))
      if before then spend(task, native.cpu_ms() - before) end
      memory.watch()
    end
  end
end

--- What a ticket was for is there.
---
---@param task luka.Task
---@param ticket integer
---@param ok boolean
function M.complete(task, ticket, ok, ...)
  if task.state == "waits" and task.ticket == ticket then
    make_ready(task, pack(ok, ...))
  elseif task.state ~= "ended" then
    task.results[ticket] = pack(ok, ...)
  end
end

--- The task of a number, as C knows it.
---
---@param id integer
---@return luka.Task?
function M.find(id) return by_id[id] end

local function settle(ok, ...)
  if ok then return ... end
  error((...), 0)
end

--- Waits for a ticket.
---
---@param ticket integer
---@return any ... results
function M.await(ticket)
  if not is_yieldable() then error(coroutines.cannot_wait(), 0) end
  return settle(yield(WAIT, ticket))
end

--- The task that runs; nil in the scheduler.
---@return luka.Task?
function M.current() return current end

--- A ticket for the current task that M.complete() is for.
---@return integer
function M.new_ticket()
  last_ticket = last_ticket - 1
  return last_ticket
end

--- Waits.
---
---@param ms number  0 and above
function M.sleep(ms) M.await(native.sleep(ms)) end

--- Sends a frame to the client, once it has taken enough of what it was sent before.
local function emit(frame)
  local task = current
  frame.id = task.request
  local text = json.encode(frame)
  if #text > M.FRAME_MAX then
    errors.raise("too_large", "the result is larger than 16 MiB: ask for less of it")
  end
  while native.queued(task.session.id) > M.QUEUE_MAX do M.await(native.drained(task.session.id)) end
  native.send(task.session.id, text)
end

--- Shows a value, or a view, in the console.
---
---@param value any
function M.show(value)
  local frame = view.of(value)
  frame.op = "value"
  if frame.kind == "list" then json.array(frame.rows) end
  emit(frame)
end

--- Prints text in the console, one or more lines.
---
---@param text string
function M.print(text) emit { op = "print", text = view.text(text) } end

--- What is shown next takes the place of what was shown since the last clear.
function M.clear() emit { op = "clear" } end

--- Asks whether to go on with something that destroys. Nobody is asked but on a terminal.
---
---@param text string
---@return boolean
function M.confirm(text)
  local session = current.session
  if not session.terminal then return true end
  local ticket = M.new_ticket()
  session.question = ticket
  emit { op = "ask", text = view.text(text) }
  return M.await(ticket)
end

return M
