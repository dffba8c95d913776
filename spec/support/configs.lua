-- SPDX-License-Identifier: Apache-2.0
--
-- Changing and describing configs for specs that talk to brokers.
local wire = require "spec.support.wire"

local M = { TOPIC = 2, BROKER = 4, LOGGER = 8, METRICS = 16, GROUP = 32, -- types of resources
  SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3, -- operations
  FROM_TOPIC = 1, FROM_OWN = 2, FROM_ALL = 3, FROM_STATIC = 4, FROM_DEFAULT = 5,
  FROM_LOGGER = 6, FROM_METRICS = 7, FROM_GROUP = 8 } -- sources

--- A resource of IncrementalAlterConfigs: { name, operation, value } each; a missing value is null.
function M.change(kind, name, entries)
  local configs = {}
  for i, entry in ipairs(entries) do
    configs[i] = { name = entry[1], config_operation = entry[2], value = entry[3] or wire.NULL }
  end
  return { resource_type = kind, resource_name = name, configs = configs }
end

--- A resource of AlterConfigs: { name, value } each.
function M.replacement(kind, name, entries)
  local configs = {}
  for i, entry in ipairs(entries) do configs[i] = { name = entry[1], value = entry[2] or wire.NULL } end
  return { resource_type = kind, resource_name = name, configs = configs }
end

--- Sends IncrementalAlterConfigs; the answers to its resources.
function M.incremental(client, resources, options)
  options = options or {}
  local answer, why = client:ask("IncrementalAlterConfigs", options.version or 1,
    { resources = resources, validate_only = options.validate_only or false })
  if not answer then error("not answered: " .. tostring(why), 2) end
  return answer.responses
end

--- Sends AlterConfigs; the answers to its resources.
function M.replace(client, resources, options)
  options = options or {}
  local answer, why = client:ask("AlterConfigs", options.version or 2,
    { resources = resources, validate_only = options.validate_only or false })
  if not answer then error("not answered: " .. tostring(why), 2) end
  return answer.responses
end

--- Changes one resource, or fails.
function M.alter(client, kind, name, entries)
  local answer = M.incremental(client, { M.change(kind, name, entries) })[1]
  if answer.error_code ~= 0 then
    error(("changing %s gave %d: %s"):format(name, answer.error_code, tostring(answer.error_message)), 2)
  end
end

--- Sets configs of a topic, or fails: { [name] = value }; false takes one away.
function M.set(client, topic, configs)
  local entries = {}
  for name, value in pairs(configs) do
    entries[#entries + 1] = { name, value and M.SET or M.DELETE, value or nil }
  end
  M.alter(client, M.TOPIC, topic.name or topic, entries)
end

--- Describes one resource: its configs by name, as the protocol has them.
function M.describe(client, kind, name, keys)
  local answer = client:ask("DescribeConfigs", 4, { include_synonyms = true,
    resources = { { resource_type = kind, resource_name = name, configuration_keys = keys or wire.NULL } } })
  local result = answer.results[1]
  if result.error_code ~= 0 then error(("describing %s gave %d"):format(name, result.error_code), 2) end
  local by_name = {}
  for _, config in ipairs(result.configs) do by_name[config.name] = config end
  return by_name
end

--- One config: its value, its source and its synonyms as { name, value, source }.
function M.shown(client, kind, name, key)
  local config = M.describe(client, kind, name, { key })[key]
  if not config then return nil end
  local synonyms = {}
  for i, synonym in ipairs(config.synonyms) do synonyms[i] = { synonym.name, synonym.value, synonym.source } end
  return config.value, config.config_source, synonyms
end

return M
