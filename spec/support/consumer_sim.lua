-- SPDX-License-Identifier: Apache-2.0
-- Random schedules of a consumer group: clients that join, beat, are slow to give up, lose answers, die, restart as
-- static members; topics that come, grow and go; writes that are late or fail; a shard that is loaded anew. What must
-- hold at every step: no partition belongs to two members, epochs only grow, and a reload gives the same state. When
-- the disturbances end, the group comes to rest with every partition owned once. With `classic`, half of the clients
-- speak the classic protocol (spec/support/classic_client.lua): the group changes its kind again and again.
local classic_client = require "spec.support.classic_client"
local consumer = require "spec.support.consumer_group"
local group_log = require "spec.support.group_log"
local shard = require "spec.support.shard"

local M = {}

local GROUP = "g"
local TOPICS = { "a", "b", "c" }
local FENCED = { [25] = true, [69] = true, [82] = true, [110] = true, [111] = true }
local LOG_ERROR = 16 -- NOT_COORDINATOR: what failed writes answer
local REST_ROUNDS, REST_STEP_MS, REST_STEPS = 60, 2500, 8

local Sim = {}
Sim.__index = Sim

local function random_from(seed)
  local state = seed * 7919 % 2147483646 + 1
  return function(n)
    state = state * 16807 % 2147483647
    return state % n
  end
end

-- ---- sets of partitions, as text like "a:0,1 b:2" ----

local function to_set(text)
  local set = {}
  for topic, numbers in (text or ""):gmatch "([^%s:]+):([%d,]+)" do
    for number in numbers:gmatch "%d+" do set[topic .. ":" .. number] = true end
  end
  return set
end

local function to_text(set)
  local by_topic, names = {}, {}
  for key in pairs(set) do
    local topic, number = key:match "^(.-):(%d+)$"
    if not by_topic[topic] then
      by_topic[topic] = {}
      names[#names + 1] = topic
    end
    table.insert(by_topic[topic], tonumber(number))
  end
  table.sort(names)
  local parts = {}
  for _, name in ipairs(names) do
    table.sort(by_topic[name])
    parts[#parts + 1] = name .. ":" .. table.concat(by_topic[name], ",")
  end
  return table.concat(parts, " ")
end

-- ---- clients ----

function Sim:new_client()
  self.made = self.made + 1
  local client = { id = ("m%03d"):format(self.made), epoch = 0, owned = {}, told = {} }
  if self.random(3) == 0 then client.instance = "i" .. self.made end
  client.topics = self:random_topics()
  client.regex = ({ "[ab]", "a|b", "[^c]" })[1 + self.random(12)]
  client.assignor = ({ false, false, "uniform", "range" })[1 + self.random(4)] or nil
  if self.has_classic and self.random(2) == 0 then classic_client.create(client, self.random(2) == 0) end
  self.clients[#self.clients + 1] = client
end

function Sim:random_topics()
  if not self.is_mixed then return TOPICS end
  local list = {}
  for _, name in ipairs(TOPICS) do
    if self.random(2) == 0 then list[#list + 1] = name end
  end
  return list
end

--- A client starts from nothing: what it had is given up.
local function restart(client)
  if client.is_classic then return classic_client.restart(client) end
  client.epoch, client.owned, client.told, client.next = 0, {}, {}, nil
end

--- It is told what it is to have. What is new may be used at once; giving up takes a while.
function Sim:take_parts(client, parts)
  client.next = parts
  local gives_up = false
  for key in pairs(client.owned) do gives_up = gives_up or not parts[key] end
  if not gives_up or self.random(2) == 0 then classic_client.give_up(client) end
end

function Sim:take_answer(client, call, is_lost)
  if client.is_classic then return classic_client.take_answer(self, client, call, is_lost) end
  client.call = nil
  local answer = call.response
  if is_lost then return end
  if answer.errorCode ~= 0 then
    if FENCED[answer.errorCode] then restart(client) end
    return
  end
  if call.epoch < 0 then return end
  client.epoch = answer.memberEpoch
  local text = consumer.text(self.s, answer.assignment)
  if text then self:take_parts(client, to_set(text)) end
end

function Sim:beat(client, epoch)
  if client.is_classic then return classic_client.act(self, client) end
  local more = {}
  epoch = epoch or client.epoch
  if epoch == 0 then
    more = { rebalanceTimeoutMs = 5000, subscribedTopicNames = client.topics, subscribedTopicRegex = client.regex or "",
      owned = "", serverAssignor = client.assignor }
  elseif epoch > 0 then
    local owned = to_text(client.owned)
    if client.said ~= owned or self.random(4) == 0 then
      more.owned = owned
      client.said = owned
    end
    if client.is_unsure or self.random(10) == 0 then -- one that says all there is to say is told all
      more.rebalanceTimeoutMs, more.subscribedTopicNames, more.owned = 5000, client.topics, owned
      more.subscribedTopicRegex = client.regex or ""
    end
  end
  more.instanceId = client.instance
  local call = consumer.send(self.s, GROUP, client.id, epoch, more)
  call.epoch = epoch
  client.call = call
  self:answers()
end

function Sim:answers()
  for _, client in ipairs(self.clients) do
    if client.call and client.call.response then
      local is_lost = self.has_faults and self.random(10) == 0
      client.is_unsure = is_lost or client.call.response.errorCode ~= 0
      self:take_answer(client, client.call, is_lost)
    end
  end
end

-- ---- what the group says ----

function Sim:look()
  local text, out = self.s:dump(GROUP), { members = {} }
  out.epoch, out.assignment = tonumber(text:match "epoch=(%d+)"), tonumber(text:match "assignment=(%d+)")
  out.state = text:match "\nconsumer.- state=(%w+)" or text:match "\nclassic (%w+)"
  out.is_classic = text:match "\nclassic " ~= nil
  out.generation = tonumber(text:match "\nclassic %w+ generation (%d+)")
  for id in text:gmatch "\nmember (%S+) instance" do out.members[id] = 0 end
  for id, epoch in text:gmatch "member=(%S+) epoch=(%-?%d+)" do out.members[id] = tonumber(epoch) end
  out.text = text
  return out
end

--- The target assignment gives each partition to one member.
local function check_targets(text)
  local owner = {}
  for id, target in text:gmatch "member=(%S+)[^\n]- target=([^\n]*)" do
    for topic, numbers in target:gmatch "([%w_-]+):([%d@,]+)" do
      for number in numbers:gmatch "(%d+)@" do
        local key = topic .. ":" .. number
        assert(not owner[key], ("the target gives %s to %s and %s"):format(key, tostring(owner[key]), id))
        owner[key] = id
      end
    end
  end
end

function Sim:check()
  self.log:read(self.s.log)
  local group = self:look()
  check_targets(group.text)
  assert(not group.epoch or group.epoch == math.max(self.log.epoch, group_log.FIRST_EPOCH)
    and group.assignment == math.max(self.log.assignment, group_log.FIRST_EPOCH),
    ("the group's epochs are %s and %s, those of its log %d and %d"):format(tostring(group.epoch), tostring(group.assignment),
      self.log.epoch, self.log.assignment))
  local owner = {}
  for _, client in ipairs(self.clients) do
    if client.is_classic then classic_client.look(client, group, self.log) end
    -- One that the group threw out may not know it yet: what it believes does not count.
    local epoch = group.members[client.id]
    if epoch and client.epoch > 0 and not client.is_dead and not client.is_stale then
      assert(client.is_classic or epoch < 0 or epoch >= client.epoch, client.id .. " has an epoch that the group does not know")
      for key in pairs(client.owned) do
        assert(not owner[key], ("%s belongs to %s and %s"):format(key, tostring(owner[key]), client.id))
        owner[key] = client.id
      end
    end
  end
  self.log:forget()
end

-- ---- disturbances ----

--- All that waits is written, and what follows from it.
function Sim:settle_all()
  repeat
    self.s:settle(100)
    self.s:run()
  until #self.s.taken == 0
  self:answers()
end

function Sim:reload()
  self:settle_all()
  for _, client in ipairs(self.clients) do
    if client.call then return end
  end
  -- Ids that it makes up are others than before.
  local seed = self.has_classic and self.random(1000000) or nil
  local before, other, now = self.s:dump_all(), self.s:reloaded { seed = seed }, self:look()
  -- What a classic group is about to do is in memory alone.
  local is_written = not now.is_classic or ((now.state == "Stable" or now.state == "Empty") and not self.is_dirty
    and not now.text:find(" generation 0 ", 1, true))
  assert(not is_written or other:dump_all() == before, "a reload gave another state:\n" .. before .. "---\n" .. other:dump_all())
  self.log:read(self.s.log)
  for _, client in ipairs(self.clients) do -- a generation that was not written is forgotten
    client.generation = client.generation and math.min(client.generation, now.generation and self.log.epoch or client.generation)
  end
  other.is_held, other.known_topics = self.s.is_held, self.s.known_topics
  other.are_searches_held = self.s.are_searches_held
  self.s:close()
  self.s = other
end

function Sim:change_topics()
  local name = TOPICS[1 + self.random(#TOPICS)]
  local now = self.s.topics[name] or 0
  if now > 0 and self.random(4) == 0 and not self.has_classic then
    self.s:topic(name, 0)
  elseif now < 8 then
    self.s:topic(name, now + 1 + self.random(3))
  end
  consumer.learn(self.s)
  self.s:topics_changed()
end

function Sim:leave(client)
  if client.call then return end
  if client.is_classic then
    classic_client.leave(self, client)
  else
    self:beat(client, -1)
    restart(client)
  end
  client.is_gone = true
end

--- A static member that is restarted: a new process, with a new member id.
function Sim:restart_static(client)
  if client.call or not client.instance or client.epoch <= 0 then return end
  if client.is_classic then return restart(client) end -- it does not say that it goes
  self:beat(client, -2)
  if client.call then
    self:settle_all()
  end
  restart(client)
  self.made = self.made + 1
  client.id = ("m%03d"):format(self.made)
end

function Sim:settle_some()
  if #self.s.taken == 0 then return end
  if self.has_faults and self.random(8) == 0 then
    self.is_dirty = true
    self.log:lost(self.s:records(1), self.s.log)
    self.s:settle(1, LOG_ERROR)
  else
    self.is_dirty = false
    self.s:settle(1)
  end
  self:answers()
end

function Sim:disturb(client)
  local dice = self.random(100)
  if dice < 2 and #self.clients < 8 then
    self:new_client()
  elseif dice < 3 then
    client.is_dead = true
  elseif dice < 5 then
    self:leave(client)
  elseif dice < 7 then
    self:change_topics()
  elseif dice < 10 then
    self:restart_static(client)
  elseif dice < 12 then
    self:reload()
  elseif dice < 15 then
    self.s.is_held = not self.s.is_held
    if not self.s.is_held then self:settle_all() end
  elseif dice < 18 then
    self.s.are_searches_held = not self.s.are_searches_held
    self.s:run()
  end
end

function Sim:step()
  local client = self.clients[1 + self.random(#self.clients)]
  if self.random(3) > 0 then
    if not client.is_dead and not client.is_gone and not client.call then self:beat(client) end
  elseif self.random(2) == 0 then
    classic_client.give_up(client)
  else
    self.s:advance(self.random(1500))
  end
  if self.random(2) == 0 then self:settle_some() end
  if #self.s.searches > 0 and self.random(2) == 0 then self.s:search(self.random(2) == 0 and 0 or nil) end
  self:disturb(client)
  self:answers()
  self:check()
end

-- ---- the end ----

--- Every partition of what is subscribed to has one owner, who is subscribed to it.
function Sim:check_rest()
  local owner, wanted = {}, {}
  self.shown = {}
  for name in pairs(self.s.topics) do
    self.shown[name] = consumer.text(self.s, { topicPartitions = { { topicId = self.s:topic_id(name), partitions = {} } } })
      :match "^(%w+):"
  end
  for _, client in ipairs(self.clients) do
    if not client.is_dead and not client.is_gone then
      local topics = {}
      for _, name in ipairs(client.topics) do topics[name] = true end
      if client.regex then topics.a, topics.b = true, true end
      for name in pairs(topics) do wanted[name] = true end
      for key in pairs(client.owned) do
        assert(not owner[key], key .. " belongs to two")
        assert(topics[key:match "^(%a+)%d*:"], key .. " belongs to one that is not subscribed to it")
        owner[key] = client.id
      end
    end
  end
  for name in pairs(wanted) do
    for partition = 0, (self.s.topics[name] or 0) - 1 do
      local key = self.shown[name] .. ":" .. partition
      assert(owner[key], key .. " belongs to nobody")
    end
  end
end

--- One does what it has to at once, as clients do, up to its next heartbeat.
function Sim:rest_client(client)
  for _ = 1, client.is_classic and REST_STEPS or 1 do
    classic_client.give_up(client)
    client.is_unsure = true
    if not client.is_dead and not client.is_gone then self:beat(client) end
    self:check()
    if client.is_classic and (client.call or not classic_client.is_busy(client)) then return end
  end
end

function Sim:rest()
  self.has_faults, self.s.is_held, self.s.are_searches_held = false, false, false
  self:settle_all()
  for _ = 1, REST_ROUNDS do
    for _, client in ipairs(self.clients) do self:rest_client(client) end
    self.s:advance(REST_STEP_MS)
    self:answers()
  end
  local state = self:look().state
  local live = 0
  for _, client in ipairs(self.clients) do live = live + ((client.is_dead or client.is_gone) and 0 or 1) end
  local is_none = live == 0 and not state and self.log.epoch == 0 -- an empty one ended, and nobody came
  assert(is_none or state == (live > 0 and "Stable" or "Empty"), "the group is " .. tostring(state) .. "\n" .. self.s:dump(GROUP))
  self:check_rest()
end

--- Runs one schedule; an error names the seed.
---
---@param seed integer
---@param options table  steps, faults (false: none), mixed (members with different topics), classic
function M.run(seed, options)
  local self = setmetatable({ random = random_from(seed), clients = {}, made = 0, log = group_log.new(),
    has_faults = options.faults ~= false, is_mixed = options.mixed, has_classic = options.classic }, Sim)
  self.s = shard.new { seed = seed, topics = { a = 3, b = 4 } }
  local ok, err = pcall(function()
    consumer.learn(self.s)
    self:new_client()
    self:new_client()
    for _ = 1, options.steps do self:step() end
    self:rest()
    self:reload()
  end)
  if not ok then
    error(("SIM_SEED=%d: %s\n%s"):format(seed, tostring(err), self.s:dump(GROUP)), 0)
  end
  self.s:close()
end

return M
