-- SPDX-License-Identifier: Apache-2.0
-- A classic group under a random schedule: consumers that join, sync, send heartbeats, pause, die, leave and come back,
-- a log that is slow or fails, a coordinator that is loaded anew in the middle. All time is a fake clock's. What must
-- hold is checked at every step; a failure names the seed, and SIM_SEED=that runs it again.
local classic = require "spec.support.classic"
local shard = require "spec.support.shard"

local E = classic.errors
local M = {}

local UNITS = 12          -- what the leader shares out: bytes "\1" to "\12"
local INITIAL_DELAY_MS = 500
local WRITE_MS = 3000     -- a write takes no longer
local STEP_MS = 400       -- the clock goes on by up to this
local TIMEOUTS = { session = { 3000, 6000, 10000 }, rebalance = { 4000, 8000, 15000 } }
local PROTOCOLS = { { "range", "roundrobin" }, { "roundrobin", "range" }, { "range" }, { "roundrobin" },
  { "sticky", "range", "roundrobin" } }
local SLOWEST_MS = 10000 + 2 * 15000 + 2 * WRITE_MS + 2 * STEP_MS

local Sim = {}
Sim.__index = Sim

--- Park and Miller's generator: the same numbers everywhere.
function Sim:random(n)
  self.state = self.state * 16807 % 2147483647
  return self.state % n + 1
end

function Sim:chance(percent) return self:random(100) <= percent end

function Sim:fail(format, ...)
  local lines = { format:format(...), "at step " .. self.step .. ", group:", self.s:dump "g" }
  for i = math.max(1, #self.story - 40), #self.story do lines[#lines + 1] = self.story[i] end
  error(("SIM_SEED=%d: %s"):format(self.seed, table.concat(lines, "\n")), 0)
end

function Sim:note(format, ...)
  self.story[#self.story + 1] = ("%4d %6d ms  "):format(self.step, self.s.now_ms - self.start_ms) .. format:format(...)
end

--- A request whose answer may take a while.
function Sim:sent(call)
  self.open[#self.open + 1] = { call = call, at = self.s.now_ms }
  return call
end

-- ---- consumers ----

function Sim:consumer(i)
  return {
    name = "c" .. i, phase = "idle", member = "", version = 9, metadata = classic.subscription "t",
    instance = self:chance(40) and "i" .. i or nil,
    names = PROTOCOLS[self.has_faults and self:random(#PROTOCOLS) or 1],
    session = TIMEOUTS.session[self:random(3)], rebalance = TIMEOUTS.rebalance[self:random(3)],
    heard = self.s.now_ms,
  }
end

--- It starts from nothing.
local function forget(c)
  c.member, c.phase, c.call = "", "idle", nil
end

--- What an error does to a consumer; true: it was one.
function Sim:on_error(c, code)
  if code == E.NONE then return false end
  self:note("%s %s: error %d", c.name, c.phase, code)
  if code == E.UNKNOWN_MEMBER_ID or code == E.FENCED_INSTANCE_ID then
    if self.strict and c.punctual then self:fail("%s kept all its appointments, and gets %d", c.name, code) end
    forget(c)
  elseif code == E.REBALANCE_IN_PROGRESS or code == E.ILLEGAL_GENERATION or code == E.NOT_COORDINATOR
    or code == E.COORDINATOR_NOT_AVAILABLE or code == E.UNKNOWN_SERVER_ERROR then
    c.phase = "idle"
  elseif code == E.INCONSISTENT_GROUP_PROTOCOL and #c.names < 3 then
    c.names, c.phase = PROTOCOLS[5], "idle" -- the others agreed on what it cannot do
  else
    self:fail("%s gets error %d", c.name, code)
  end
  return true
end

function Sim:join(c)
  local protocols = {}
  for i, name in ipairs(c.names) do protocols[i] = { name, c.metadata } end
  c.call = self:sent(classic.join(self.s, {
    member = c.member, instance = c.instance, session = c.session, rebalance = c.rebalance, protocols = protocols,
    version = c.version, client_id = c.name,
  }))
  c.phase = "joining"
end

function Sim:joined(c, answer)
  if answer.errorCode == E.MEMBER_ID_REQUIRED then
    c.member, c.phase = answer.memberId, "idle"
    return
  end
  if self:on_error(c, answer.errorCode) then return end
  local generation = answer.generationId
  self:note("%s joined generation %d as %s", c.name, generation, answer.memberId)
  c.member, c.generation, c.phase, c.assign, c.protocol = answer.memberId, generation, "joined", nil, answer.protocolName
  local can = false
  for _, name in ipairs(c.names) do can = can or name == c.protocol end
  if not can then self:fail("%s cannot do %s", c.name, c.protocol) end
  if answer.leader == answer.memberId and not answer.skipAssignment then
    c.assign = {}
    for unit = 1, UNITS do
      local id = answer.members[(unit - 1) % #answer.members + 1].memberId
      c.assign[id] = (c.assign[id] or "") .. string.char(unit)
    end
  end
end

function Sim:sync(c)
  c.call = self:sent(classic.sync(self.s, c.member, c.generation, c.assign,
    { instance = c.instance, protocol = c.protocol }))
  c.phase = "syncing"
end

--- An assignment: a generation gives a unit to one member only, and a member always the same.
function Sim:synced(c, answer)
  if self:on_error(c, answer.errorCode) then return end
  local generation, who = c.generation, c.instance or c.member
  local known = self.owners[generation] or { of = {}, by = {} }
  self.owners[generation] = known
  if known.of[who] and known.of[who] ~= answer.assignment then
    self:fail("%s has two assignments in generation %d", who, generation)
  end
  known.of[who] = answer.assignment
  for unit in answer.assignment:gmatch "." do
    if known.by[unit] and known.by[unit] ~= who then
      self:fail("generation %d gives unit %d to %s and %s", generation, unit:byte(), known.by[unit], who)
    end
    known.by[unit] = who
  end
  self.stable_generation = math.max(self.stable_generation, generation)
  self:note("%s synced generation %d: %d units", c.name, generation, #answer.assignment)
  c.phase, c.assignment, c.beat = "in", answer.assignment, self.s.now_ms
end

function Sim:beat(c)
  if self.s.now_ms - c.beat < c.session / 4 then return end
  c.beat = self.s.now_ms
  self:on_error(c, classic.heartbeat(self.s, c.member, c.generation, { instance = c.instance }))
end

--- What a consumer does on its own.
function Sim:act(c)
  if c.phase == "idle" then
    self:join(c)
  elseif c.phase == "joining" and c.call.response then
    self:joined(c, c.call.response)
  elseif c.phase == "joined" then
    self:sync(c)
  elseif c.phase == "syncing" and c.call.response then
    self:synced(c, c.call.response)
  elseif c.phase == "in" then
    self:beat(c)
  end
end

--- What goes wrong with it, or what its user does.
function Sim:mischief(c)
  local what = self:random(8)
  c.punctual = false
  if what == 1 then
    c.paused_until = self.s.now_ms + self:random(20000)
    self:note("%s pauses", c.name)
  elseif what == 2 then
    self:note("%s is killed, and starts again", c.name)
    forget(c)
  elseif what == 3 and c.member ~= "" and c.phase == "in" then
    self:note("%s leaves", c.name)
    classic.leave(self.s, { { c.member, c.instance } })
    forget(c)
    c.phase = "out"
  elseif what == 4 and c.phase == "in" then
    c.metadata = classic.subscription(self:chance(50) and "t" or "u")
    c.names = PROTOCOLS[self:random(#PROTOCOLS)]
    self:note("%s subscribes anew", c.name)
    c.phase = "idle"
  elseif what == 5 and c.phase == "in" then
    self:note("%s joins again, with nothing new", c.name)
    c.phase = "idle"
  elseif what == 6 then
    self:note("%s dies", c.name)
    c.phase, c.member, c.call = "out", "", nil
  elseif what == 7 and c.phase == "joined" then
    self:note("%s will not sync", c.name)
    c.phase, c.beat = "in", self.s.now_ms
  elseif what == 8 and c.phase == "out" then
    self:note("%s is back", c.name)
    forget(c)
  end
end

-- ---- log and coordinator ----

--- Ends the oldest write, well or not.
function Sim:settle(code)
  local is_creation = #self.s.log == 0
  self.is_dirty = (code or 0) ~= 0
  if self.is_dirty then
    self:check()
    self:note("a write fails with %d", code)
    self.strict = false
    self.may_go_back = self.may_go_back or is_creation
  end
  self.s:settle(1, code)
  self.write_at = self.s.now_ms
end

function Sim:writes()
  if #self.s.taken == 0 then
    self.write_at = self.s.now_ms
  elseif self.s.now_ms - self.write_at > WRITE_MS or self:chance(30) then
    local fails = self.has_faults and self:chance(8)
    self:settle(fails and ({ 7, 19, 10, 6 })[self:random(4)] or nil)
  end
end

--- The coordinator moves: what waits is answered, and another one has what the log says.
function Sim:reload()
  self:check()
  self:note("the coordinator is loaded anew")
  local is_settled = #self.s.taken == 0 and not self.is_dirty
  local state = classic.state(self.s)
  local before = self.s:dump "g"
  local after = self.s:reloaded { seed = self:random(100000) }
  if is_settled and (state == "Stable" or state == "Empty") and after:dump "g" ~= before then
    self:fail("loaded it is another group:\n%s", after:dump "g")
  end
  after.is_held = true
  self.s:close()
  self.s, self.strict, self.may_go_back, self.is_dirty = after, false, true, false
  self.write_at = after.now_ms
end

-- ---- what must hold ----

--- Generations only grow; but a coordinator that was loaded anew knows only those that were written.
function Sim:check_generation(answer, newest)
  local generation = answer.generationId
  if generation < self.stable_generation or (generation < self.seen_generation and not self.may_go_back) then
    self:fail("generation %d after %d, stable %d", generation, self.seen_generation, self.stable_generation)
  end
  return math.max(newest, generation)
end

function Sim:check()
  local open, newest = {}, 0
  for _, sent in ipairs(self.open) do
    local answer = sent.call.response
    if answer and sent.call.api == "JoinGroup" and answer.errorCode == E.NONE then
      newest = self:check_generation(answer, newest)
    elseif not answer then
      if self.s.now_ms - sent.at > SLOWEST_MS then self:fail("a %s is not answered", sent.call.api) end
      open[#open + 1] = sent
    end
  end
  self.open = open
  if newest > 0 then self.seen_generation, self.may_go_back = newest, false end
  local group = classic.describe(self.s)
  local state = group.groupState .. self.seen_generation
  if state ~= self.last_state then self.last_state, self.state_at = state, self.s.now_ms end
  local is_lasting = group.groupState == "Stable" or group.groupState == "Empty" or group.groupState == "Dead"
  if not is_lasting and self.s.now_ms - self.state_at > SLOWEST_MS then
    self:fail("%s for %d ms", group.groupState, self.s.now_ms - self.state_at)
  end
end

function Sim:tick()
  self.step = self.step + 1
  for _, c in ipairs(self.consumers) do
    if self.has_faults and self:chance(3) then self:mischief(c) end
    local is_paused = c.paused_until and c.paused_until > self.s.now_ms
    if c.phase ~= "out" and not is_paused then self:act(c) end
  end
  if self.has_faults and self:chance(1) then self:reload() end
  self:writes()
  self.s:advance(self:random(STEP_MS))
  self:writes()
  self:check()
end

--- All that is well: every consumer in one stable generation, and all units given out.
function Sim:is_well()
  local units, generation = 0, nil
  for _, c in ipairs(self.consumers) do
    if c.phase ~= "in" then return false end
    generation = generation or c.generation
    if c.generation ~= generation then return false end
    units = units + #c.assignment
  end
  return units == UNITS and classic.state(self.s) == "Stable" and #classic.describe(self.s).members == #self.consumers
end

--- Runs one schedule; raises with its seed when something does not hold.
---
---@param seed integer
---@param options table?  steps, faults (false: only joins, heartbeats and slow writes)
function M.run(seed, options)
  local self = setmetatable({
    seed = seed, state = seed % 2147483646 + 1, step = 0, story = {}, open = {}, owners = {}, consumers = {},
    stable_generation = 0, seen_generation = 0, has_faults = options.faults ~= false, strict = true,
  }, Sim)
  for _ = 1, 5 do self:random(2) end
  self.s = shard.new { seed = seed, topics = { t = UNITS },
    config = { group_min_session_timeout_ms = 1000,
      group_initial_rebalance_delay_ms = self:chance(50) and INITIAL_DELAY_MS or 0 } }
  self.s.is_held, self.start_ms, self.write_at = true, self.s.now_ms, self.s.now_ms
  for i = 1, 1 + self:random(5) do
    self.consumers[i] = self:consumer(i)
    self.consumers[i].punctual = true
  end
  for _ = 1, options.steps or 300 do self:tick() end
  -- The faults end: whoever is left finds together within a few timeouts.
  self.has_faults = false
  for _, c in ipairs(self.consumers) do
    c.paused_until = nil
    if c.phase == "out" then forget(c) end
  end
  local until_ms = self.s.now_ms + 3 * SLOWEST_MS
  while not self:is_well() do
    if self.s.now_ms > until_ms then self:fail("the group does not settle") end
    self:tick()
  end
  self.s.is_held = false
  self.s:settle(#self.s.taken)
  self.s:close()
  return self
end

return M
