-- SPDX-License-Identifier: Apache-2.0
-- Kafka's configs, as core/metadata/ defines them, by the names and keys that a configuration uses: retention.ms is the
-- key retention_ms.
local names_of = require "luka.config.names"
local native = require "luka.native.config_defs"

---@class (exact) luka.KafkaConfig
---@field name string  "retention.ms"
---@field key string  "retention_ms"
---@field type string  Kafka's: BOOLEAN, INT, LONG, DOUBLE, STRING, LIST
---@field kind "bool"|"int"|"level"|"long"|"double"|"enum"|"flags"|"replicas"|"list"|"text"
---@field default string?
---@field min number?
---@field max number?
---@field valid string[]?
---@field takes string  in words
---@field doc string
---@field is_dynamic boolean  clients can change it while the broker runs
---@field is_reloadable boolean  a reload of the file puts it in force
---@field is_supported boolean  false: defined, but nothing heeds it yet
---@field broker_name string?  of a topic config: the broker config that is its default
---@field default_key string?  of a topic config that can stand in defaults { ... }: the broker's, as a key

local M = {}

---@type table<string, luka.KafkaConfig>  by name
M.BROKER = {}
---@type table<string, luka.KafkaConfig>
M.TOPIC = {}
---@type table<string, luka.KafkaConfig>  of groups; none of them is a key of config.lua
M.GROUP = {}
---@type table<string, string|false>  Kafka's other broker configs: what serves here instead
M.FOREIGN = native.foreign

--- Kafka's broker configs that mean the same in different units: the first given wins in Kafka.
M.FAMILIES = {
  { "log.retention.ms", "log.retention.minutes", "log.retention.hours" },
  { "log.roll.ms", "log.roll.hours" },
  { "log.roll.jitter.ms", "log.roll.jitter.hours" },
}

--- What only topics with a feature that is to come would heed: setting it is no error, as clients do, but does nothing.
M.IDLE = {
  ["errors.deadletterqueue.group.enable"] = "share groups",
  ["follower.replication.throttled.replicas"] = "replication", ["leader.replication.throttled.replicas"] = "replication",
  ["local.retention.bytes"] = "tiered storage", ["local.retention.ms"] = "tiered storage",
  ["remote.copy.lag.bytes"] = "tiered storage", ["remote.copy.lag.ms"] = "tiered storage",
  ["remote.log.copy.disable"] = "tiered storage", ["remote.log.delete.on.disable"] = "tiered storage",
  ["unclean.leader.election.enable"] = "replication", ["min.insync.replicas"] = "replication",
}

M.dotted, M.snake = names_of.dotted, names_of.snake

for _, def in ipairs(native.broker) do
  def.key = M.snake(def.name)
  M.BROKER[def.name] = def
end
for _, def in ipairs(native.topic) do
  def.key = M.snake(def.name)
  M.TOPIC[def.name] = def
  local default = def.broker_name and M.BROKER[def.broker_name]
  def.default_key = default and default.is_supported and default.key or nil
end

for _, def in ipairs(native.group) do
  def.key = M.snake(def.name)
  M.GROUP[def.name] = def
end

--- What a config of groups is for where such groups are to come; nil: it is heeded.
---
---@param name string
---@return string?
function M.idle_group(name)
  return name:find "^share%." and "share groups" or name:find "^streams%." and "streams groups"
    or name:find "^errors%.deadletterqueue%." and "share groups" or nil
end

--- The other names of a config's family, itself included.
---
---@param name string
---@return string[]
function M.family(name)
  for _, members in ipairs(M.FAMILIES) do
    for _, member in ipairs(members) do
      if member == name then return members end
    end
  end
  return { name }
end

--- The topic config whose default a broker config is, in whatever unit.
---
---@param name string  "log.retention.hours"
---@return luka.KafkaConfig?
function M.topic_of(name)
  for _, member in ipairs(M.family(name)) do
    for _, def in ipairs(native.topic) do
      if def.broker_name == member then return def end
    end
  end
  return nil
end

return M
