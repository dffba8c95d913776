-- SPDX-License-Identifier: Apache-2.0
-- What a configuration adds up to: takes each setting as it is given (by a block of the file or by --set), and checks
-- the whole at the end.
local amount = require "luka.config.amount"
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"
local read = require "luka.config.read"
local schema = require "luka.config.schema"
local together = require "luka.config.together"
local unknown = require "luka.config.unknown"
local value_of = require "luka.config.value"

---@class (exact) luka.Setting
---@field path string  as errors name it, "broker.log_retention_ms"
---@field origin luka.Origin
---@field value any  typed for our own keys, a text for Kafka's

---@class (exact) luka.TopicSetting
---@field name string
---@field path string  as errors name it
---@field origin luka.Origin
---@field own table<string, luka.Setting>  keys that are no configs: partitions, functions
---@field configs table<string, luka.Setting>  topic configs by dotted name
---@field is_complete boolean  its settings were given

---@class luka.Settings
---@field host luka.Host
---@field broker table<string, luka.Setting>  our own keys
---@field kafka table<string, luka.Setting>  Kafka's broker configs by dotted name, from `broker` and --set
---@field defaults table<string, luka.Setting>  the same from `defaults`
---@field topics luka.TopicSetting[]
---@field topic_by_name table<string, luka.TopicSetting>  by name with '_' for '.'
---@field policies luka.Policies
---@field is_unsafe boolean  the file may use what luka.sandbox.unsafe has
---@field is_unsafe_fixed boolean  --set says so or not, and the file does not matter
---@field unlock fun()?  called when the file may
local Settings = {}
Settings.__index = Settings

local M = {}

---@param host luka.Host
---@param policies luka.Policies
---@return luka.Settings
function M.new(host, policies)
  local self = {
    host = host, policies = policies, broker = {}, kafka = {}, defaults = {}, topics = {}, topic_by_name = {},
    is_unsafe = false, is_unsafe_fixed = false,
  }
  return setmetatable(self, Settings)
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- The names of settings in the order in which the file gives them; --set comes last.
local function in_order(settings)
  local names = sorted_keys(settings)
  local place = {}
  for i, name in ipairs(names) do place[name] = i end
  table.sort(names, function(a, b)
    local origin_a, origin_b = settings[a].origin, settings[b].origin
    local is_set_a, is_set_b = origin_a.line == nil, origin_b.line == nil
    if is_set_a ~= is_set_b then return is_set_b end
    if origin_a.source ~= origin_b.source then return origin_a.source < origin_b.source end
    if origin_a.line ~= origin_b.line then return origin_a.line < origin_b.line end
    return place[a] < place[b]
  end)
  return names
end

--- Takes one key of `broker { ... }` or of --set.
---
---@param key string
---@param value any
---@param origin luka.Origin
---@param path string
function Settings:set_broker(key, value, origin, path)
  local own = schema.BROKER[key]
  if own then
    self.broker[key] = { path = path, origin = origin, value = read.own(own, value, origin, path, self.host) }
    if key == "unsafe" and not self.is_unsafe_fixed then self:set_unsafe(self.broker.unsafe.value) end
    return
  end
  if schema.BROKER_LATER[key] then failure.raise(origin, path, "is not supported yet") end
  local def = schema.kafka_config("broker", key)
  if not def or not def.is_supported then unknown.broker(key, origin, path) end
  local text = read.kafka(self.host.check_broker, def.name, value, origin, path)
  self.kafka[def.name] = { path = path, origin = origin, value = text }
end

--- Whether the file may do everything from here on.
function Settings:set_unsafe(value)
  self.is_unsafe = value
  if value and self.unlock then self.unlock() end
end

--- Has a function called when the file may do everything, which may be now.
function Settings:when_unsafe(unlock)
  self.unlock = unlock
  if self.is_unsafe then unlock() end
end

--- Whether --set says that the file may do everything, or may not, whatever it says itself. Before the file is run.
function Settings:override_unsafe(sets)
  for _, set in ipairs(sets) do
    if set[1] == "unsafe" then self.is_unsafe_fixed, self.is_unsafe = true, set[2] == "true" end
  end
end

--- Takes one key of `defaults { ... }`.
function Settings:set_default(key, value, origin, path)
  local own = schema.DEFAULTS_OWN[key]
  if own then
    local fn = read.own(own, value, origin, path, self.host)
    self.policies.placement = self.policies:add(key, key, fn, origin, path)
    return
  end
  local def = schema.kafka_config("defaults", key)
  if not def then unknown.default(key, origin, path) end
  local text = read.kafka(self.host.check_broker, def.name, value, origin, path)
  self.defaults[def.name] = { path = path, origin = origin, value = text }
end

--- Starts a topic; its name is checked.
---
---@param name any
---@param origin luka.Origin
---@return luka.TopicSetting
function Settings:add_topic(name, origin)
  if type(name) ~= "string" then
    failure.raise(origin, "topic", 'got %s, expected a name: topic "clicks" { ... }', value_of.show(name))
  end
  local path = ("topic %s"):format(value_of.show(name))
  local wrong = self.host.check_topic_name(name)
  if wrong then failure.raise(origin, path, "%s", wrong) end
  local other = self.topic_by_name[kafka.snake(name)]
  if other and other.name == name then
    failure.raise(origin, path, "given already at %s", failure.where(other.origin))
  elseif other then
    failure.raise(origin, path, "collides with topic %s at %s: names may not differ in '.' and '_' alone",
      value_of.show(other.name), failure.where(other.origin))
  elseif #self.topics >= schema.TOPICS_MAX then
    failure.raise(origin, path, "is one too many: a configuration has at most %d topics, clients can create more",
      schema.TOPICS_MAX)
  end
  local topic = { name = name, path = path, origin = origin, own = {}, configs = {}, is_complete = false }
  self.topic_by_name[kafka.snake(name)] = topic
  self.topics[#self.topics + 1] = topic
  return topic
end

--- Takes one key of a topic.
function Settings:set_topic(topic, key, value, origin, path)
  local own = schema.TOPIC[key]
  if own then
    topic.own[key] = { path = path, origin = origin, value = read.own(own, value, origin, path, self.host) }
    return
  end
  local def = schema.kafka_config("topic", key)
  if not def then unknown.topic(key, origin, path) end
  local text = read.kafka(self.host.check_topic, def.name, value, origin, path)
  topic.configs[def.name] = { path = path, origin = origin, value = text }
end

--- Ends a topic, whose keys have all been taken. A partitioner that is a name is a config.
function Settings:complete_topic(topic)
  local chosen = topic.own.partitioner
  local config = chosen and topic.configs["luka.partitioner"]
  if config then failure.raise(config.origin, config.path, "given already as %s at %s", chosen.path, failure.where(chosen.origin)) end
  if chosen and type(chosen.value) == "string" then
    topic.own.partitioner = nil
    self:set_topic(topic, "luka_partitioner", chosen.value, chosen.origin, chosen.path)
  end
  self.policies:add_topic(topic)
  topic.is_complete = true
end

--- Takes all --set of the command line: each replaces what the file says.
---
---@param sets { [1]: string, [2]: string }[]  key and value in order
function Settings:override(sets)
  local values, order, typed = {}, {}, {}
  for _, set in ipairs(sets) do
    local key = kafka.snake(set[1])
    typed[key] = set[1]
    if not values[key] then
      values[key] = {}
      order[#order + 1] = key
    end
    table.insert(values[key], set[2])
  end
  local origin = { source = "--set" }
  for _, key in ipairs(order) do
    local given = values[key]
    local own, def = schema.BROKER[key], schema.kafka_config("broker", key)
    local is_address = own and (own.type == "listen" or own.type == "advertise")
    local is_list = is_address or own and own.type == "paths" or def and def.type == "LIST"
    for _, member in ipairs(kafka.family(kafka.dotted(key))) do
      self.kafka[member], self.defaults[member] = nil, nil
    end
    for _, value in ipairs(is_address and given or {}) do
      if value:find(",", 1, true) then
        failure.raise(origin, typed[key], "got %s: repeat --set %s= for each address", value_of.show(value), typed[key])
      end
    end
    self:set_broker(key, is_list and given or given[#given], origin, typed[key])
  end
end

--- Whether defaults and broker say the same thing twice.
function Settings:check_families()
  for _, name in ipairs(sorted_keys(self.defaults)) do
    local setting = self.defaults[name]
    for _, member in ipairs(kafka.family(name)) do
      local other = self.kafka[member]
      if other then
        local where = failure.where(other.origin)
        failure.raise(setting.origin, setting.path, "given already as %s at %s", other.path, where)
      end
    end
  end
end

--- Says what the core refuses about a setting as other errors do.
local function refuse(setting, name, wrong)
  local got, expected = wrong:match "^broker config [%w.]+ = (.-) is not allowed: it takes (.*)$"
  if got then wrong = ("got %s, expected %s"):format(got, read.with_unit(expected, amount.unit(name))) end
  failure.raise(setting.origin, setting.path, "%s", wrong)
end

--- Raises the error for settings that do not agree. To blame is the last one that made it so, as the file gives them.
---
---@param settings table<string, luka.Setting>
---@param check fun(names: string[]): string?  what is wrong with some of them, or nil
local function blame(settings, check)
  local culprit, culprit_name, wrong
  local added = {}
  for _, name in ipairs(in_order(settings)) do
    local was_wrong = wrong ~= nil
    added[#added + 1] = name
    wrong = check(added)
    if wrong and not was_wrong then culprit, culprit_name = settings[name], name end
  end
  refuse(culprit, culprit_name, wrong)
end

--- Gives Kafka's broker configs to the host.
---
---@return table<string, luka.Setting> merged  those of `defaults` too
function Settings:finish_kafka()
  local host = self.host
  self:check_families()
  local merged = {}
  for name, setting in pairs(self.defaults) do merged[name] = setting end
  for name, setting in pairs(self.kafka) do merged[name] = setting end
  local function check(names)
    for _, name in ipairs(names) do
      local setting = merged[name]
      local wrong = host.set_broker(name, setting.value, setting.path, failure.where(setting.origin))
      if wrong then return wrong end
    end
    return host.resolve_broker()
  end
  if check(sorted_keys(merged)) then
    host.clear_broker()
    blame(merged, check)
  end
  together.check(merged)
  -- As long as the metastore is a file of this broker, there is no other that could have a replica.
  local factor = merged["default.replication.factor"]
  if factor and tonumber(factor.value) > 1 then
    failure.raise(factor.origin, factor.path, "got %s, but this broker is alone: the replication factor is 1",
      factor.value)
  end
  return merged
end

--- Checks what belongs together, gives Kafka's broker configs to the host and returns the rest.
---
---@return table result  as core/lua/config.c reads it
function Settings:finish()
  local listen, advertise = self.broker.listen, self.broker.advertise
  local listen_count = listen and #listen.value or 1
  if advertise and #advertise.value ~= listen_count then
    failure.raise(advertise.origin, advertise.path, "got %d for the %d of listen, expected one for each", #advertise.value,
      listen_count)
  end
  self:finish_kafka()
  local result = { broker = self:broker_values(), topics = {} }
  for i, topic in ipairs(self.topics) do result.topics[i] = self:finish_topic(topic) end
  result.policies = self.policies:finish(self)
  return result
end

--- The value of each of our own keys of `broker`, given or by default.
function Settings:broker_values()
  local values = { is_id_set = self.broker.id ~= nil }
  for key, definition in pairs(schema.BROKER) do
    values[key] = definition.default
    if self.broker[key] then values[key] = self.broker[key].value end
  end
  for key, definition in pairs(schema.BROKER) do
    if definition.in_data and values[key] == nil then values[key] = values.data[1] .. "/" .. definition.in_data end
  end
  return values
end

function Settings:finish_topic(topic)
  if not topic.is_complete then
    failure.raise(topic.origin, topic.path, "has no settings: write %s {} to take the defaults", topic.path)
  end
  local factor = topic.own.replication_factor
  if factor and factor.value > 1 then
    failure.raise(factor.origin, factor.path, "got %d, but this broker is alone: the replication factor is 1",
      factor.value)
  end
  local names = sorted_keys(topic.configs)
  local function check(some)
    local configs = {}
    for i, name in ipairs(some) do configs[i] = { name, topic.configs[name].value } end
    return self.host.resolve_topic(configs), configs
  end
  local wrong, configs = check(names)
  if wrong then blame(topic.configs, check) end
  local lines = {}
  local partitions = topic.own.partitions and topic.own.partitions.value
  if partitions then lines[1] = ("partitions=%d\n"):format(partitions) end
  if factor then lines[#lines + 1] = ("replication_factor=%d\n"):format(factor.value) end
  for _, config in ipairs(configs) do lines[#lines + 1] = ("%s=%s\n"):format(config[1], config[2]) end
  return {
    name = topic.name, partitions = partitions or -1, replication_factor = factor and factor.value or -1,
    configs = configs, text = table.concat(lines), line = topic.origin.line or 0, source = topic.origin.source,
  }
end

return M
