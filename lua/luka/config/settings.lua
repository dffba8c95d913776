-- SPDX-License-Identifier: Apache-2.0
-- What a configuration adds up to: checks each setting as it is given (by a block of the file or by --set), and the
-- whole at the end.
local failure = require "luka.config.failure"
local schema = require "luka.config.schema"
local suggest = require "luka.config.suggest"
local value_of = require "luka.config.value"

---@class (exact) luka.Setting
---@field path string  as errors name it, "broker.log_retention_ms"
---@field origin luka.Origin
---@field value any  typed for our own keys, a text for Kafka's

---@class luka.Settings
---@field host luka.Host
---@field broker table<string, luka.Setting>  our own keys
---@field kafka table<string, luka.Setting>  Kafka's broker configs by dotted name, from `broker` and --set
---@field defaults table<string, luka.Setting>  the same from `defaults`
---@field topics luka.TopicSetting[]
local Settings = {}
Settings.__index = Settings

local M = {}

--- @param host luka.Host
--- @return luka.Settings
function M.new(host)
  local self = { host = host, broker = {}, kafka = {}, defaults = {}, topics = {}, topic_by_name = {} }
  return setmetatable(self, Settings)
end

local function sorted_keys(...)
  local keys = {}
  for _, map in ipairs { ... } do
    for key in pairs(map) do keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

local function snake_names(types)
  local names = {}
  for name in pairs(types) do names[schema.snake(name)] = true end
  return names
end

local function unknown(origin, path, key, candidates, hint)
  local nearest = suggest.nearest(key, candidates)
  if nearest then failure.raise(origin, path, "unknown key, did you mean %s?", nearest) end
  if hint then failure.raise(origin, path, "%s", hint) end
  failure.raise(origin, path, "unknown key")
end

--- A range for an error message.
local function range(key)
  if key.unit then return ("a whole number of %s from %d to %d"):format(key.unit, key.min, key.max) end
  return ("a whole number from %d to %d"):format(key.min, key.max)
end

--- What to add where --set gives "64MiB" or "days(7)" for a number.
local function unit_hint(value, origin)
  local has_unit = origin.source == "--set" and type(value) == "string" and value:find "%d" and value:find "%a"
  return has_unit and "; units work only in config.lua" or ""
end

local function read_integer(key, value, origin, path)
  local number = value_of.integer(value, origin.source == "--set")
  if not number or number < key.min or number > key.max then
    failure.raise(origin, path, "got %s, expected %s%s", value_of.show(value), range(key), unit_hint(value, origin))
  end
  return number
end

local function read_choice(key, value, origin, path)
  for _, choice in ipairs(key.choices) do
    if value == choice then return value end
  end
  failure.raise(origin, path, "got %s, expected one of %s", value_of.show(value), table.concat(key.choices, ", "))
end

local function read_text(what, value, origin, path)
  if type(value) ~= "string" or value == "" or value:find "%z" then
    failure.raise(origin, path, "got %s, expected %s", value_of.show(value), what)
  end
  return value
end

--- One text, or a list of at least one; `check` gives the sentence that says what is wrong with one.
local function read_list(key, what, value, origin, path, check)
  if type(value) ~= "table" then value = { value } end
  local items, problem = value_of.list(value)
  if not items then failure.raise(origin, path, problem) end
  if #items == 0 then failure.raise(origin, path, "got an empty list, expected %s", what) end
  if key.max and #items > key.max then
    failure.raise(origin, path, "got %d of them, expected at most %d", #items, key.max)
  end
  local texts, seen = {}, {}
  for i, item in ipairs(items) do
    local item_path = #items > 1 and ("%s[%d]"):format(path, i) or path
    texts[i] = read_text(what, item, origin, item_path)
    local wrong = check and check(item)
    if wrong then failure.raise(origin, item_path, "%s", wrong) end
    if seen[item] then failure.raise(origin, item_path, "%s is in the list twice", value_of.show(item)) end
    seen[item] = true
  end
  return texts
end

--- A path, or nothing at all: false, or that text in --set.
local function read_socket(_, value, origin, path)
  if value == false or value == "false" and origin.source == "--set" then return false end
  return read_text("a path, or false for none", value, origin, path)
end

local READERS = {
  socket = read_socket,
  integer = read_integer,
  choice = read_choice,
  path = function(_, value, origin, path) return read_text("a path", value, origin, path) end,
  paths = function(key, value, origin, path) return read_list(key, "a path", value, origin, path) end,
  listen = function(key, value, origin, path, host)
    return read_list(key, 'an address such as "127.0.0.1:9092"', value, origin, path, host.check_listen)
  end,
  advertise = function(key, value, origin, path, host)
    return read_list(key, 'an address such as "kafka.example.com:9092"', value, origin, path, host.check_advertised)
  end,
}

--- What a Kafka config takes, with its unit.
local function with_unit(expected, key)
  local unit = key:match "[._]ms$" and "ms" or key:match "[._]bytes$" and "bytes"
  if not unit then return expected end
  expected = expected:gsub("^a whole number of at least", "a whole number, at least")
  return (expected:gsub("^a whole number", "a whole number of " .. unit))
end

--- The text of a Kafka config's value; `check` says what the config takes when that is not it.
local function read_config(check, name, value, origin, path)
  local text, problem, culprit = value_of.text(value)
  if not text then
    local lead = problem:match "^is " and "%s %s" or "got %s, %s"
    failure.raise(origin, path, lead, value_of.show(culprit), problem)
  end
  local expected = check(name, text)
  if expected then
    local hint = expected:match "^a whole number" and unit_hint(value, origin) or ""
    local shown = value_of.show(type(value) == "table" and text or value)
    failure.raise(origin, path, "got %s, expected %s%s", shown, with_unit(expected, path), hint)
  end
  return text
end

--- Takes one key of `broker { ... }` or of --set.
---
---@param key string
---@param value any
---@param origin luka.Origin
---@param path string
function Settings:set_broker(key, value, origin, path)
  local host = self.host
  local own = schema.BROKER[key]
  if own then
    self.broker[key] = { path = path, origin = origin, value = READERS[own.type](own, value, origin, path, host) }
    return
  end
  local name = schema.dotted(key)
  if schema.BROKER_LATER[key] then failure.raise(origin, path, "is not supported yet") end
  if not host.broker_types[name] then self:unknown_broker(key, name, origin, path) end
  local text = read_config(host.check_broker, name, value, origin, path)
  self.kafka[name] = { path = path, origin = origin, value = text }
end

--- Raises the error for a key that `broker { ... }` does not have.
function Settings:unknown_broker(key, name, origin, path)
  local foreign = self.host.foreign(name)
  if foreign then failure.raise(origin, path, "%s", foreign) end
  local is_default = self.host.topic_types[name] or schema.DEFAULTS[key]
  if is_default and origin.source ~= "--set" then
    failure.raise(origin, path, "belongs in defaults { ... } or in a topic")
  end
  if is_default then
    local broker_name = schema.DEFAULTS[key] or self.host.topic_broker_names[name]
    failure.raise(origin, path, broker_name and "unknown key, did you mean %s?" or "is a topic config",
      broker_name and schema.snake(broker_name))
  end
  if schema.BROKER_OTHERS[key] then failure.raise(origin, path, "unknown key, use %s", schema.BROKER_OTHERS[key]) end
  local candidates = sorted_keys(schema.BROKER, snake_names(self.host.broker_types))
  local topic_key = self:nearer_topic_key(key, candidates)
  local broker_name = topic_key
    and (schema.DEFAULTS[topic_key] or self.host.topic_broker_names[schema.dotted(topic_key)])
  if topic_key and origin.source ~= "--set" then
    failure.raise(origin, path, "unknown key, did you mean %s in defaults { ... } or in a topic?", topic_key)
  elseif broker_name then
    failure.raise(origin, path, "unknown key, did you mean %s?", schema.snake(broker_name))
  end
  unknown(origin, path, key, candidates)
end

--- The topic config that a key is nearer to than to any of the candidates.
function Settings:nearer_topic_key(key, candidates)
  local _, distance = suggest.nearest(key, candidates)
  local topic_key, topic_distance = suggest.nearest(key, sorted_keys(schema.TOPIC, snake_names(self.host.topic_types)))
  return topic_key and topic_distance < (distance or math.huge) and topic_key or nil
end

--- Takes one key of `defaults { ... }`.
function Settings:set_default(key, value, origin, path)
  local host = self.host
  local topic_name = schema.dotted(key)
  local name = schema.DEFAULTS[key] or host.topic_broker_names[topic_name]
  if schema.TOPIC_LATER[key] then failure.raise(origin, path, "is not supported yet") end
  if not name then
    if host.topic_types[topic_name] then
      failure.raise(origin, path, "has no default for all topics; set it in a topic")
    end
    unknown(origin, path, key, sorted_keys(schema.DEFAULTS, snake_names(host.topic_types)),
      (schema.BROKER[key] or host.broker_types[topic_name]) and "belongs in broker { ... }")
  end
  if not host.broker_types[name] then failure.raise(origin, path, "is not supported yet") end
  local text = read_config(host.check_broker, name, value, origin, path)
  self.defaults[name] = { path = path, origin = origin, value = text }
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
  local other = self.topic_by_name[name:gsub("%.", "_")]
  if other and other.name == name then
    failure.raise(origin, path, "given already at %s", failure.where(other.origin))
  elseif other then
    failure.raise(origin, path, "collides with topic %s at %s: names may not differ in '.' and '_' alone",
      value_of.show(other.name), failure.where(other.origin))
  end
  local topic = { name = name, path = path, origin = origin, configs = {}, is_complete = false }
  self.topic_by_name[name:gsub("%.", "_")] = topic
  self.topics[#self.topics + 1] = topic
  return topic
end

--- Takes one key of a topic.
function Settings:set_topic(topic, key, value, origin, path)
  local own = schema.TOPIC[key]
  if own then
    topic[key] = read_integer(own, value, origin, path)
    return
  end
  if schema.TOPIC_LATER[key] then failure.raise(origin, path, "is not supported yet") end
  local name = schema.dotted(key)
  if not self.host.topic_types[name] then
    local topic_key = schema.topic_key(name, self.host.topic_broker_names)
    if topic_key then failure.raise(origin, path, "unknown key, write %s", topic_key) end
    unknown(origin, path, key, sorted_keys(schema.TOPIC, snake_names(self.host.topic_types)),
      (schema.BROKER[key] or self.host.broker_types[name]) and "belongs in broker { ... }")
  end
  local text = read_config(self.host.check_topic, name, value, origin, path)
  topic.configs[name] = { path = path, origin = origin, value = text }
end

--- Takes all --set of the command line: each replaces what the file says.
---
---@param sets { [1]: string, [2]: string }[]  key and value in order
function Settings:override(sets)
  local values, order, typed = {}, {}, {}
  for _, set in ipairs(sets) do
    local key = schema.snake(set[1])
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
    local own, name = schema.BROKER[key], schema.dotted(key)
    local is_list = own and (own.type == "paths" or own.type == "listen" or own.type == "advertise")
      or self.host.broker_types[name] == "LIST"
    for _, member in ipairs(schema.family(name)) do
      self.kafka[member], self.defaults[member] = nil, nil
    end
    local is_address = own and (own.type == "listen" or own.type == "advertise")
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
    for _, member in ipairs(schema.family(name)) do
      local other = self.kafka[member]
      if other then
        local where = failure.where(other.origin)
        failure.raise(setting.origin, setting.path, "given already as %s at %s", other.path, where)
      end
    end
  end
end

--- The setting whose name an error message mentions, or any of them.
local function blame(settings, message)
  local first
  for _, name in ipairs(sorted_keys(settings)) do
    if message:find(name, 1, true) then return settings[name] end
    first = first or settings[name]
  end
  return first
end

--- Checks what belongs together, gives Kafka's broker configs to the host and returns the rest.
---
---@return table result  as core/lua/config.c reads it
function Settings:finish()
  local host = self.host
  local listen, advertise = self.broker.listen, self.broker.advertise
  local listen_count = listen and #listen.value or 1
  if advertise and #advertise.value ~= listen_count then
    failure.raise(advertise.origin, advertise.path, "got %d for the %d of listen, expected one for each", #advertise.value,
      listen_count)
  end
  self:check_families()
  local merged = {}
  for name, setting in pairs(self.defaults) do merged[name] = setting end
  for name, setting in pairs(self.kafka) do merged[name] = setting end
  for _, name in ipairs(sorted_keys(merged)) do
    local wrong = host.set_broker(name, merged[name].value)
    if wrong then failure.raise(merged[name].origin, merged[name].path, "%s", wrong) end
  end
  local wrong = host.resolve_broker()
  if wrong then
    local setting = blame(merged, wrong)
    failure.raise(setting.origin, setting.path, "%s", wrong)
  end
  -- As long as the metastore is a file of this broker, there is no other that could have a replica.
  local factor = merged["default.replication.factor"]
  if factor and tonumber(factor.value) > 1 then
    failure.raise(factor.origin, factor.path, "got %s, but this broker is alone: the replication factor is 1",
      factor.value)
  end
  local result = { broker = self:broker_values(), topics = {} }
  for i, topic in ipairs(self.topics) do result.topics[i] = self:finish_topic(topic) end
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
  local configs, lines = {}, {}
  if topic.partitions then lines[1] = ("partitions=%d\n"):format(topic.partitions) end
  if topic.replication_factor then lines[#lines + 1] = ("replication_factor=%d\n"):format(topic.replication_factor) end
  for _, name in ipairs(sorted_keys(topic.configs)) do
    configs[#configs + 1] = { name, topic.configs[name].value }
    lines[#lines + 1] = ("%s=%s\n"):format(name, topic.configs[name].value)
  end
  local wrong = self.host.resolve_topic(configs)
  if wrong then
    local setting = blame(topic.configs, wrong) or topic
    failure.raise(setting.origin, setting.path, "%s", wrong)
  end
  return {
    name = topic.name, partitions = topic.partitions or -1, replication_factor = topic.replication_factor or -1,
    configs = configs, text = table.concat(lines), line = topic.origin.line or 0, source = topic.origin.source,
  }
end

return M
