-- SPDX-License-Identifier: Apache-2.0
-- admin.describe_configs and alter_configs. Keys are in snake_case; Kafka's own spelling is accepted. Values are
-- booleans, numbers and strings by the type that the broker says; lists stay strings with commas.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local codec = require "luka.wire.codec"
local errors = require "luka.errors"
local names_of = require "luka.config.names"
local value_of = require "luka.config.value"

---@class (exact) luka.Config
---@field name string  "retention_ms"
---@field value any    nil: none, or a secret
---@field source "topic"|"group"|"broker"|"all brokers"|"file"|"default"|"unknown"
---@field type string  "boolean", "string", "integer", "number", "list", "class", "password"
---@field is_read_only boolean  cannot be changed while the broker runs
---@field is_sensitive boolean
---@field documentation string?

local M = {}

local KINDS = { topic = 2, broker = 4, group = 32 }
local SOURCES = { "topic", "broker", "all brokers", "file", "default", [8] = "group" }
local TYPES = { "boolean", "string", "integer", "integer", "integer", "number", "list", "class", "password" }
local OPERATIONS = { set = 0, unset = 1, append = 2, subtract = 3 }

--- The key of a config: "retention_ms" for "retention.ms".
---
---@param name string
---@return string
function M.key(name) return names_of.snake(name) end

--- A value of a config as the type says.
---
---@param text string?
---@param config_type integer  as in DescribeConfigs
---@return any
function M.value(text, config_type)
  local kind = TYPES[config_type]
  if text == nil then return nil end
  if kind == "boolean" then return text == "true" end
  if kind == "number" then return tonumber(text) end
  if kind ~= "integer" then return text end
  local number = tonumber(text)
  if not number or number >= -2 ^ 53 and number <= 2 ^ 53 then return number end
  return text:match "^%-?%d+$" and loadstring("return " .. text .. "LL")()
end

--- Values as Kafka's texts, by Kafka's names.
---
---@param where string
---@param values table<string, any>
---@return table<string, string>
function M.texts(where, values)
  local out = {}
  for key, value in pairs(values) do
    if type(key) ~= "string" then
      errors.raise("usage", "%s: got %s without a key, expected key = value", where, value_of.show(value))
    end
    local name = names_of.dotted(key)
    local text, problem, culprit = value_of.text(value)
    if not text then
      errors.raise("usage", "%s: %s: got %s, %s", where, M.key(key), value_of.show(culprit), problem)
    end
    if out[name] then errors.raise("usage", "%s: %s is given twice", where, M.key(key)) end
    out[name] = text
  end
  return out
end

--- The changes of an IncrementalAlterConfigs.
local function changes_of(where, changes)
  local list = {}
  for what, operation in pairs(OPERATIONS) do
    local values = changes[what]
    if values ~= nil and type(values) ~= "table" then arguments.refuse(where .. ": " .. what, values, "a table") end
    if what == "unset" then
      for _, key in ipairs(values or {}) do
        if type(key) ~= "string" then arguments.refuse(where .. ": unset", key, 'a key: "retention_ms"') end
        list[#list + 1] = { name = names_of.dotted(key), config_operation = operation, value = codec.NULL }
      end
    else
      for name, text in pairs(M.texts(where, values or {})) do
        list[#list + 1] = { name = name, config_operation = operation, value = text }
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- What a resource is called in the protocol, and in sentences.
local function resource(where, kind, name)
  local number = arguments.choice(where, kind, KINDS)
  if kind == "topic" then
    name = arguments.name(where, name)
    return number, name, ('topic "%s"'):format(name)
  end
  if kind == "group" then
    name = arguments.group(where, name)
    return number, name, ('group "%s"'):format(name)
  end
  if name == nil or name == "" then return number, "", "all brokers" end
  local id = arguments.integer(where .. ": broker", tonumber(name) or name, 0, 2 ^ 31 - 1)
  return number, ("%d"):format(id), ("broker %d"):format(id)
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
function M.add(admin, call)
  --- The configs of a topic, a group or a broker, by name. Options: keys, a list of those wanted; documentation.
  ---
  ---@param kind "topic"|"group"|"broker"
  ---@param name string|integer|nil  topic, group, broker id; no broker id: what is set for all brokers
  ---@param options { keys: string[]?, documentation: boolean? }?
  ---@return luka.Config[]
  function admin.describe_configs(kind, name, options)
    local number, text, what = resource("describe_configs", kind, name)
    options = arguments.options("describe_configs", options, { keys = true, documentation = true })
    local keys = codec.NULL
    if options.keys ~= nil then
      keys = {}
      for i, key in ipairs(arguments.list("describe_configs: keys", options.keys)) do
        if type(key) ~= "string" then arguments.refuse("describe_configs: keys", key, 'a key: "retention_ms"') end
        keys[i] = names_of.dotted(key)
      end
    end
    local answer = call("DescribeConfigs", { include_synonyms = false,
      include_documentation = options.documentation and true or false,
      resources = { { resource_type = number, resource_name = text, configuration_keys = keys } } }).results[1]
    calls.check(answer.error_code, answer.error_message, what)
    local list = {}
    for i, config in ipairs(answer.configs) do
      list[i] = { name = M.key(config.name), value = M.value(config.value, config.config_type),
        type = TYPES[config.config_type] or "string",
        source = SOURCES[config.config_source] or "unknown", is_read_only = config.read_only,
        is_sensitive = config.is_sensitive, documentation = config.documentation }
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
  end

  --- Changes configs of a topic, a group or a broker, all of them or none.
  ---
  ---@param kind "topic"|"group"|"broker"
  ---@param name string|integer|nil
  ---@param changes { set: table<string, any>?, unset: string[]?, append: table?, subtract: table?, validate_only: boolean? }
  function admin.alter_configs(kind, name, changes)
    local number, text, what = resource("alter_configs", kind, name)
    changes = arguments.options("alter_configs", changes, { set = true, unset = true, append = true, subtract = true,
      validate_only = true })
    local answer = call("IncrementalAlterConfigs", { validate_only = changes.validate_only and true or false,
      resources = { { resource_type = number, resource_name = text,
        configs = changes_of("alter_configs", changes) } } }).responses[1]
    calls.check(answer.error_code, answer.error_message, what)
  end
end

return M
