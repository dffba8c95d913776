-- SPDX-License-Identifier: Apache-2.0
-- What a start with a configuration would apply, as plain data: for `luka check`, and for the verbs that look for a
-- broker's console. It is made in the state that evaluates, and leaves it as JSON.
local failure = require "luka.config.failure"
local json = require "luka.native.json"
local kafka = require "luka.config.kafka"
local schema = require "luka.config.schema"

---@class (exact) luka.ReportSetting
---@field key string
---@field name string?  Kafka's name
---@field value any  text, number, boolean, or list of texts; nil: what `text` says
---@field text string?  what holds without a value, "one per core"
---@field from string  "config.lua:3", "--set" or "default"

---@class (exact) luka.ReportTopic
---@field name string
---@field from string
---@field partitions luka.ReportSetting
---@field replication_factor luka.ReportSetting
---@field configs luka.ReportSetting[]  sorted by key

---@class (exact) luka.ReportPolicy
---@field label string  as it is written in the file: topic "clicks".transform
---@field kind string  of luka.policy.names.KINDS
---@field name string
---@field from string
---@field jit boolean

---@class (exact) luka.ReportView
---@field name string
---@field of string  the topic that it shows
---@field from string

---@class (exact) luka.Report
---@field broker luka.ReportSetting[]  sorted by key: all of Luka's own keys, Kafka's where they are set
---@field defaults luka.ReportSetting[]  what `defaults { ... }` sets
---@field topics luka.ReportTopic[]
---@field views luka.ReportView[]
---@field functions luka.ReportPolicy[]  in the order of the file
---@field warnings string[]

local M = {}

--- A copy that JSON can hold.
local function plain(value)
  if type(value) == "string" then return failure.one_line(value) end
  if type(value) ~= "table" then return value end
  local list = {}
  for i, item in ipairs(value) do list[i] = failure.one_line(item) end
  return json.array(list)
end

local function from(setting) return setting and failure.one_line(failure.where(setting.origin)) or "default" end

local function sorted(list)
  table.sort(list, function(a, b) return a.key < b.key end)
  return json.array(list)
end

--- Kafka's configs that are set, under keys: `rename` gives the key of a name.
local function kafka_settings(settings, list, rename)
  for name, setting in pairs(settings) do
    list[#list + 1] = { key = rename(name), name = name, value = plain(setting.value), from = from(setting) }
  end
  return sorted(list)
end

--- The key of `defaults { ... }` that sets a broker config.
local function default_key(name)
  for key, broker_name in pairs(schema.DEFAULTS) do
    if broker_name == name then return key end
  end
  return kafka.topic_of(name).key
end

--- A topic's number of partitions or replicas, or the default for it.
local function count(settings, topic, key)
  local own = topic.own[key]
  if own then return { key = key, value = own.value, from = from(own) } end
  local name = schema.DEFAULTS[key]
  local default = settings.defaults[name] or settings.kafka[name]
  return { key = key, value = tonumber(default and default.value or kafka.BROKER[name].default), from = from(default) }
end

local function views_of(policies)
  local list = {}
  for i, view in ipairs(policies.views) do list[i] = { name = view.name, of = view.from, from = from(view) } end
  return json.array(list)
end

local function functions_of(policies)
  local list = {}
  for i, policy in ipairs(policies.list) do
    list[i] = { label = failure.one_line(policy.label), kind = policy.kind, name = policy.name, from = from(policy),
      jit = policy.is_compiled }
  end
  return json.array(list)
end

--- Makes the report.
---
---@param settings luka.Settings
---@param result table  as luka.Settings.finish() gave it, with its warnings
---@return luka.Report
function M.of(settings, result)
  local own = {}
  for key, definition in pairs(schema.BROKER) do
    local value = result.broker[key]
    own[#own + 1] = { key = key, value = plain(value), text = value == nil and definition.default_text or nil,
      from = from(settings.broker[key]) }
  end
  local topics = {}
  for i, topic in ipairs(settings.topics) do
    topics[i] = {
      name = topic.name, from = from(topic), partitions = count(settings, topic, "partitions"),
      replication_factor = count(settings, topic, "replication_factor"),
      configs = kafka_settings(topic.configs, {}, kafka.snake),
    }
  end
  return {
    broker = kafka_settings(settings.kafka, own, kafka.snake),
    defaults = kafka_settings(settings.defaults, {}, default_key),
    topics = json.array(topics), views = views_of(settings.policies), functions = functions_of(settings.policies),
    warnings = json.array(result.warnings),
  }
end

return M
