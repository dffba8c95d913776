-- SPDX-License-Identifier: Apache-2.0
-- Functions that see requests, and traces: who has registered which, and what runs when C says that a request waits, or
-- that a traced client was heard (core/lua/script_probe.c). Each function runs in a task of its own, one after another;
-- the first that answers or ends the request is the last.
local channel = require "luka.script.channel"
local clock = require "luka.native.clock"
local errors = require "luka.errors"
local request_of = require "luka.script.request"
local served = require "luka.wire.served"
local task = require "luka.script.task"

local M = {}

--- Most functions of one kind of request, and most traces, which is C's bound; lines that a trace may be behind.
M.FUNCTIONS_MAX, M.TRACES_MAX, M.LINES_MAX = 64, 16, 1000
--- Bytes of bodies that a trace may be behind.
M.BODIES_MAX = 1024 * 1024
--- What a function is told when it takes longer than core/policy/probes.h allows.
local OVERDUE = "took longer than 800 ms"
--- Longest error that is kept, bytes.
local ERROR_MAX = 500

---@class luka.Probe
---@field api string
---@field fn fun(request: luka.ProbedRequest)
---@field session table  whose memory it uses
---@field place string   "console:1", "config.lua:12"
---@field calls integer
---@field failures integer
---@field ns number       time of all calls
---@field last_error string?
---@field last_error_time integer?  ms since 1970
---@field start (fun(request: luka.ProbedRequest, done: fun(failure: string?)): luka.Task)?  of one of the configuration, in
---  place of `fn` and what is counted here
---@field is_removed boolean?

local native, transport
local by_api = {} ---@type table<string, luka.Probe[]>
local waiting = {} -- by number of the question
local traces = {}

--- Called once, with the functions of C.
function M.open(functions) native, transport = functions, channel.new(functions) end

--- Tells C what to look at.
local function publish()
  local keys, parts = {}, {}
  for api in pairs(by_api) do keys[#keys + 1] = served.key(api) end
  for i, trace in ipairs(traces) do parts[i] = trace.part end
  native.probe_watch(keys, parts)
end

-- ---- functions ----

--- Registers a function.
---
---@param session table
---@param api string  one of the requests that are served
---@param fn function
---@param place string
function M.add(session, api, fn, place)
  local list = by_api[api] or {}
  if #list >= M.FUNCTIONS_MAX then
    errors.raise("usage", "on.request: there are %d functions for %s already", M.FUNCTIONS_MAX, api)
  end
  list[#list + 1] = { api = api, fn = fn, session = session, place = place, calls = 0, failures = 0, ns = 0 }
  by_api[api] = list
  publish()
end

--- Takes a session's functions off: those of an api, or all. What they have in hand goes on.
---
---@param session table
---@param api string?
---@return integer count
function M.remove(session, api)
  local removed = 0
  for name, list in pairs(by_api) do
    local kept = {}
    for _, probe in ipairs(list) do
      if probe.session == session and (api == nil or api == name) then
        probe.is_removed = true
        removed = removed + 1
      else
        kept[#kept + 1] = probe
      end
    end
    by_api[name] = #kept > 0 and kept or nil
  end
  if removed > 0 then publish() end
  return removed
end

--- The configuration's functions, in place of those before; they come before those of consoles.
---
---@param owner table
---@param list { api: string, start: function }[]
function M.configure(owner, list)
  M.remove(owner)
  local counts = {}
  for _, probe in ipairs(list) do
    local all, at = by_api[probe.api] or {}, (counts[probe.api] or 0) + 1
    counts[probe.api], by_api[probe.api] = at, all
    table.insert(all, at, { api = probe.api, session = owner, start = probe.start })
  end
  publish()
end

--- Those of consoles, by api and in the order in which they are asked.
---
---@return luka.Probe[]
function M.list()
  local all, names = {}, {}
  for name in pairs(by_api) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, probe in ipairs(by_api[name]) do all[#all + 1] = not probe.start and probe or nil end
  end
  return all
end

--- Counts a call.
local function count(probe, ns, err)
  probe.calls, probe.ns = probe.calls + 1, probe.ns + ns
  if err ~= nil then
    local text = errors.is(err) and err.message or type(err) == "string" and err
      or ("the error raised is a %s, not a text"):format(type(err))
    probe.failures = probe.failures + 1
    probe.last_error, probe.last_error_time = text:sub(1, ERROR_MAX), clock.now()
  end
  if err ~= nil then
    native.probe_log(('on.request "%s" of a console: %s'):format(probe.api, probe.last_error))
  end
end

local function answer(entry)
  waiting[entry.number] = nil
  local decision = request_of.finish(entry.request)
  native.probe_answer(entry.number, decision.outcome or "go_on", decision.delay_ms, decision.answer, decision.code)
end

--- For tasks of a console's functions: what they print is shown while the console runs something.
local function stand_in(session)
  local running = session.task
  return { owner = session.owner, id = running and session.id or 0, terminal = false }, running and running.request or 0
end

--- Runs the functions from one on.
local function run(entry, i)
  local probe = entry.probes[i]
  while probe and probe.is_removed do
    i = i + 1
    probe = entry.probes[i]
  end
  if not probe then return answer(entry) end
  entry.current = probe
  local before, started = request_of.begin(entry.request), clock.ticks()
  local function done(failure)
    if failure ~= nil then request_of.undo(entry.request, before) end
    if entry.is_overdue or request_of.has_outcome(entry.request) then return answer(entry) end
    run(entry, i + 1)
  end
  if probe.start then
    entry.task = probe.start(entry.request, done)
    return
  end
  local session, id = stand_in(probe.session)
  entry.task = task.spawn(session, id, function() probe.fn(entry.request) end, function(_, ok, err)
    local failure = not ok and (err == nil and "the error raised is a nil, not a text" or err) or nil
    count(probe, clock.ticks() - started, failure)
    done(failure)
  end)
end

--- A request waits.
function M.asked(number, api, version, correlation_id, client_id, address, size)
  local probes = by_api[api]
  if not probes then return native.probe_answer(number, "go_on", 0) end
  local list = {}
  for i = 1, #probes do list[i] = probes[i] end
  local entry = { number = number, probes = list }
  entry.request = request_of.new({
    api = api, version = version, correlation_id = correlation_id, client_id = client_id, address = address, size = size,
  }, function() return native.probe_body(number) end, transport)
  waiting[number] = entry
  run(entry, 1)
end

--- Its functions have taken too long.
function M.overdue(number)
  local entry = waiting[number]
  if not entry then return end
  entry.is_overdue = true
  task.kill(entry.task, errors.new("overdue", OVERDUE))
end

--- A session is over, or has lost its variables.
function M.leave(session)
  M.remove(session)
  local left = {}
  for _, entry in pairs(waiting) do
    if entry.current.session == session then left[#left + 1] = entry.task end
  end
  for _, each in ipairs(left) do task.kill(each, errors.new("interrupted", "its console has ended")) end
end

-- ---- traces ----

---@class luka.Trace
---@field part string   of the client ids that it shows; "": all
---@field lines { note: table, body: string? }[]
---@field bytes integer  of their bodies
---@field dropped integer
local Trace = {}
Trace.__index = Trace

--- Begins a trace, which ends with the task that runs.
---
---@param part string
---@param seconds number?  and after this time
---@return luka.Trace
function M.trace(part, seconds)
  if #traces >= M.TRACES_MAX then errors.raise("usage", "trace: there are %d traces already", M.TRACES_MAX) end
  local current = task.current()
  local trace = setmetatable({ part = part, lines = {}, bytes = 0, dropped = 0, task = current, known = native.probe_dropped() }, Trace)
  local on_end = current.on_end
  function current.on_end(...)
    trace:finish()
    on_end(...)
  end
  traces[#traces + 1] = trace
  publish()
  if seconds then
    trace.timer = task.spawn({ owner = current.session.owner, id = 0 }, 0, function() task.sleep(seconds * 1000) end,
      function()
        trace.timer = nil
        trace.is_over = true
        trace:wake()
      end)
  end
  return trace
end

function Trace:finish()
  for i = #traces, 1, -1 do
    if traces[i] == self then table.remove(traces, i) end
  end
  if self.timer then task.kill(self.timer) end
  publish()
end

function Trace:wake()
  local ticket = self.ticket
  self.ticket = nil
  if ticket then task.complete(self.task, ticket, true) end
end

--- The next line; waits for it. How many were left out before it, when that is not known yet. Nil: the time is over.
---
---@return { note: table, body: string? }?
---@return integer dropped
function Trace:next()
  while #self.lines == 0 do
    if self.is_over then
      self:finish()
      return nil, 0
    end
    self.ticket = task.new_ticket()
    task.await(self.ticket)
  end
  local in_c = native.probe_dropped()
  local dropped = self.dropped + in_c - self.known
  self.dropped, self.known = 0, in_c
  local line = table.remove(self.lines, 1)
  self.bytes = self.bytes - (line.body and #line.body or 0)
  return line, dropped
end

--- A traced client was heard.
function M.noted(note, body)
  for _, trace in ipairs(traces) do
    if note.client_id:find(trace.part, 1, true) then
      local bytes = trace.bytes + (body and #body or 0)
      if #trace.lines >= M.LINES_MAX or bytes > M.BODIES_MAX then
        trace.dropped = trace.dropped + 1
      else
        trace.lines[#trace.lines + 1], trace.bytes = { note = note, body = body }, bytes
        trace:wake()
      end
    end
  end
end

--- What words of a session get.
---
---@param session luka.Session
---@return { add: function, remove: function, trace: function, list: function }
function M.of(session)
  return {
    add = function(api, fn, place) M.add(session, api, fn, place) end,
    remove = function(api) return M.remove(session, api) end,
    trace = M.trace, list = M.list,
  }
end

return M
