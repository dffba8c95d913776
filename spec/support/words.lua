-- SPDX-License-Identifier: Apache-2.0
--
-- The words of the console over a TCP connection, without a console: lines are run in an environment as the console's,
-- and what they show, print and ask is kept.
local admins = require "spec.support.admin"
local time = require "posix.time"
local admin = require "luka.admin"
local codec = require "luka.wire.codec"
local errors = require "luka.errors"
local view = require "luka.view"
local words = require "luka.words"

local M = {}

---@class spec.Words
---@field shown table[]     views
---@field printed string[]
---@field asked string[]
---@field says_yes boolean  what is answered
---@field patience integer  shows and sleeps until what runs is interrupted
---@field requests integer  requests until then
local Session = {}
Session.__index = Session

--- What C gives where a spec does not say: nothing is known of the coordinator's inside; which configs are set is asked for
--- as any client could.
local function native_of(self)
  local native = { group = function() return nil end }
  function native.set_configs()
    local resources, counts = {}, {}
    for i, topic in ipairs(self.context.admin.topics()) do
      resources[i] = { resource_type = 2, resource_name = topic.name, configuration_keys = codec.NULL }
    end
    for _, result in ipairs(self.context.admin.call("DescribeConfigs", { resources = resources }).results) do
      for _, config in ipairs(result.configs) do
        if config.config_source == 1 then counts[result.resource_name] = (counts[result.resource_name] or 0) + 1 end
      end
    end
    return counts
  end
  return native
end

--- The task that words run in.
local function task_of(self)
  local function tick()
    self.patience = self.patience - 1
    if self.patience <= 0 then errors.raise("interrupted", "interrupted") end
  end
  return {
    show = function(value)
      self.shown[#self.shown + 1] = view.of(value)
      tick()
    end,
    print = function(text) self.printed[#self.printed + 1] = text end,
    confirm = function(text)
      self.asked[#self.asked + 1] = text
      return self.says_yes
    end,
    await = function(...) return ... end,
    clear = function() self.cleared = self.cleared + 1 end,
    sleep = function(ms)
      tick()
      time.nanosleep { tv_sec = 0, tv_nsec = math.min(ms, 20) * 1e6 }
    end,
  }
end

--- A session with a broker.
---
---@param broker spec.Broker
---@param native table?  what C gives
---@return spec.Words
function M.session(broker, native)
  local self = setmetatable({ shown = {}, printed = {}, asked = {}, cleared = 0, says_yes = true, patience = 5,
    requests = math.huge }, Session)
  local transport = admins.transport(broker:connect())
  local interruptible = { call = function(_, request)
    self.requests = self.requests - 1
    if self.requests < 0 then errors.raise("interrupted", "interrupted") end
    return transport:call(request)
  end, wait = transport.wait }
  self.context = { admin = admin.new(interruptible), task = task_of(self), native = native or native_of(self) }
  self.words = words.new(self.context)
  self.env = setmetatable({}, { __index = function(_, name)
    local word = self.words[name]
    if word == nil then word = _G[name] end
    return word
  end })
  return self
end

--- Runs a line as the console does: an expression first. What it returns, plain.
function Session:run(source)
  local chunk = loadstring("return " .. source) or assert(loadstring(source))
  setfenv(chunk, self.env)
  return chunk()
end

--- Runs a line; the view of what it returns.
function Session:view(source) return view.of(self:run(source)) end

--- Runs a line that must fail; its sentence and its code.
function Session:refusal(source)
  local err = admins.refusal(self.run, self, source)
  return err.message, err.code
end

--- Runs a line that goes on until it is interrupted, after some shows or requests; the views it showed.
function Session:stream(source, patience, requests)
  self.shown, self.patience, self.requests = {}, patience or 5, requests or 10
  local ok, err = pcall(self.run, self, source)
  self.requests = math.huge
  if not ok and err.code ~= "interrupted" then error(err, 0) end
  return self.shown
end

return M
