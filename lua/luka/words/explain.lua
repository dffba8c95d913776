-- SPDX-License-Identifier: Apache-2.0
-- Clearer words for what the broker refuses: it speaks to programs; people have misspelt a topic or a config.
local amount = require "luka.config.amount"
local errors = require "luka.errors"
local kafka = require "luka.config.kafka"
local names_of = require "luka.config.names"
local suggest = require "luka.config.suggest"
local word_texts = require "luka.config.word_texts"

local M = {}

--- A name that no topic has, to ask which configs a topic may have.
local PROBE = "luka.config.names"

--- The keys of all topic configs, sorted.
---
---@param context luka.Words.Context
---@return string[]
function M.topic_config_keys(context)
  if context.topic_config_keys then return context.topic_config_keys end
  local keys = {}
  for key in pairs(context.admin.create_topic(PROBE, { validate_only = true }).configs) do keys[#keys + 1] = key end
  -- Luka's own are shown only where they are set.
  for name, def in pairs(kafka.TOPIC) do
    if name:find "^luka%." then keys[#keys + 1] = def.key end
  end
  table.sort(keys)
  context.topic_config_keys = keys
  return keys
end

--- The keys that create() takes.
---
---@param context luka.Words.Context
---@return string[]
function M.create_keys(context) return { "partitions", "replication_factor", unpack(M.topic_config_keys(context)) } end

--- Names of all topics.
---
---@param context luka.Words.Context
---@return string[]
function M.topic_names(context)
  local names = {}
  for i, topic in ipairs(context.admin.topics()) do names[i] = topic.name end
  return names
end

--- Raises that there is no such topic, unless there is one: then it is one of its partitions that there is not.
local function unknown_topic(context, name)
  local names = M.topic_names(context)
  for _, known in ipairs(names) do
    if known == name then return end
  end
  local nearest = suggest.nearest(name, names)
  local hint = nearest and (', did you mean "%s"?'):format(nearest)
    or #names == 0 and (': there are none yet, create "%s" makes it'):format(name)
    or ": topics() lists them"
  errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'there is no topic "%s"%s', name, hint)
end

--- Raises that there is no such config.
---
---@param keys string[]
---@param key string
---@param whose string  "topic", "broker"
function M.unknown_config(keys, key, whose)
  key = names_of.snake(key)
  for _, candidate in ipairs(keys) do
    -- It was asked for with dots: another spelling has been put there by a hook, which sees Kafka's names.
    if candidate == key then
      errors.raise("INVALID_CONFIG", "there is no %s config %s: in a hook its name is %s", whose, key, names_of.dotted(key))
    end
  end
  local nearest = suggest.nearest(key, keys)
  -- Half of a long name is enough to know it by.
  for _, candidate in ipairs(not nearest and #key >= 4 and keys or {}) do
    if candidate:find(key, 1, true) then
      nearest = candidate
      break
    end
  end
  if not nearest and (key == "archive" or key:find "^transform") then
    errors.raise("INVALID_CONFIG", 'there is no %s config %s: config.lua has it, topic "name" { %s = function }', whose, key, key)
  end
  errors.raise("INVALID_CONFIG", "there is no %s config %s%s", whose, key,
    nearest and (", did you mean %s?"):format(nearest) or "")
end

local TYPES = {
  LONG = "a whole number", INT = "a whole number", SHORT = "a whole number", DOUBLE = "a number",
  BOOLEAN = "true or false",
}

--- "retention_ms: got abc, expected a whole number" of Kafka's sentence about a value; nil for other sentences.
---
---@param message string
---@return string?
function M.invalid_value(message)
  local value, name, why = message:match "^Invalid value (.-) for configuration ([%w._]+):? ?(.*)$"
  if not value then return nil end
  local kind = why:match "^Not a number of type (%u+)" or why:match "Expected value to be either true or false" and "BOOLEAN"
  local choices = why:match "^String must be one of: (.*)$"
  local rest = kind and "expected " .. (TYPES[kind] or "a number") or choices and "expected one of " .. choices
    or why:gsub("^Value must be", "expected")
  local unit = kind and amount.unit(name)
  local source = unit and amount.rewrite(value, unit)
  if source then rest = ("%s; write %s"):format(rest, source) end
  if #value > 80 then value = value:sub(1, 80) .. "..." end
  return ("%s: got %s, %s"):format(names_of.snake(name), value == "" and '""' or value, rest)
end

--- Names of all groups.
---
---@param context luka.Words.Context
---@return string[]
function M.group_names(context)
  local names = {}
  for i, group in ipairs(context.admin.groups { lag = false }) do names[i] = group.name end
  return names
end

local function unknown_group(context, name)
  local names = M.group_names(context)
  local nearest = suggest.nearest(name, names)
  local hint = nearest and (', did you mean "%s"?'):format(nearest) or #names == 0 and ": there are none yet"
    or ": groups() lists them"
  errors.raise("GROUP_ID_NOT_FOUND", 'there is no group "%s"%s', name, hint)
end

--- Raises that members are in the way.
---
---@param name string
---@param count integer?  how many, where that is known
---@param what string  what cannot be done: "deleted"
function M.has_members(name, count, what)
  errors.raise("NON_EMPTY_GROUP", 'group "%s" has %s: it can be %s when its consumers have stopped, or after kick("%s", "all")',
    name, count == 1 and "a member" or count and count .. " members" or "members", what, name)
end

--- What words are called elsewhere, and here.
local FOREIGN = {
  broker = "broker { ... } belongs in config.lua, then reload() reads it",
  defaults = "defaults { ... } belongs in config.lua, then reload() reads it",
  delete = 'topic "name":delete() deletes a topic', drop = 'topic "name":delete() deletes a topic',
  describe = 'topic "name" describes one', list = "topics() lists the topics", show = "topics() lists the topics",
  consume = 'tail "name" shows records', subscribe = 'tail "name" shows records', set = 'topic "name":set { ... } sets configs',
  alter = 'topic "name":set { ... } sets configs', configs = 'topic "name":configs() lists configs',
  offsets = 'group "name":offsets() shows offsets', members = 'group "name":members() shows members',
  consumers = "groups() lists the groups", consumer_groups = "groups() lists the groups", lag = "groups() shows the lag",
  leave = 'kick("group", member) takes a member out',
  reset = 'reset_offsets("group", { to = "earliest" }) puts offsets elsewhere',
}

--- What to write instead of a word of other tools, or of config.lua, that was used here; nil for other names.
---
---@param name string
---@return string?
function M.foreign_word(name)
  local word = word_texts.find(name)
  return rawget(FOREIGN, name) or word and ("%s belongs in config.lua, then reload() reads it"):format(word_texts.usage(word, name))
end

--- Words whose callers should not read the name of the function behind them.
local WORDS = { create_topic = "create", alter_configs = "set", create_partitions = "add_partitions", remove_members = "kick",
  commit_offsets = "commit" }

--- An error in the words of the console: what was called is not named as the function behind it.
local function raise_again(err)
  local message = M.invalid_value(err.message)
  local called, rest = err.message:match "^([%l_]+): (.*)$"
  if err.code == "usage" and WORDS[called] then message = WORDS[called] .. ": " .. rest end
  if message then errors.raise(err.code, "%s", message) end
  error(err, 0)
end

--- Calls a function of admin for a topic; what it raises is said in a person's words.
---
---@param context luka.Words.Context
---@param name string  the topic
---@param fn function
---@return any  what fn returns
function M.call(context, name, fn, ...)
  local results = { pcall(fn, ...) }
  if results[1] then return unpack(results, 2) end
  local err = results[2]
  if not errors.is(err) then error(err, 0) end
  if err.code == "UNKNOWN_TOPIC_OR_PARTITION" then unknown_topic(context, name) end
  local key = err.message:match "^Unknown topic config name: (.*)$"
  if key then
    local keys = fn == context.admin.create_topic and M.create_keys or M.topic_config_keys
    M.unknown_config(keys(context), key, "topic")
  end
  raise_again(err)
end

--- Calls a function of admin for a group; what it raises is said in a person's words.
---
---@param context luka.Words.Context
---@param name string  the group
---@param topic string?  that it is about
---@param fn function  called with the name and what follows
---@return any  what fn returns
function M.group(context, name, topic, fn, ...)
  local results = { pcall(fn, name, ...) }
  if results[1] then return unpack(results, 2) end
  local err = results[2]
  if not errors.is(err) then error(err, 0) end
  if err.code == "GROUP_ID_NOT_FOUND" then unknown_group(context, name) end
  if err.code == "UNKNOWN_TOPIC_OR_PARTITION" and topic then unknown_topic(context, topic) end
  local is_commit = fn == context.admin.commit_offsets
  if err.code == "NON_EMPTY_GROUP" or is_commit and err.code == "UNKNOWN_MEMBER_ID" then
    M.has_members(name, tonumber(err.message:match " has (%d+) member"),
      fn == context.admin.delete_group and "deleted" or "changed")
  end
  if err.code == "GROUP_SUBSCRIBED_TO_TOPIC" then
    errors.raise(err.code, 'group "%s" has members that are subscribed to topic "%s": its offsets stay', name, topic)
  end
  raise_again(err)
end

return M
