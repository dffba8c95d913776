-- SPDX-License-Identifier: Apache-2.0
-- Values of settings, as a file or --set gives them: checks each against what its key takes, and says what that is.
local amount = require "luka.config.amount"
local failure = require "luka.config.failure"
local value_of = require "luka.config.value"

local M = {}

--- A range for an error message.
local function range(key)
  if key.unit then return ("a whole number of %s from %d to %d"):format(key.unit, key.min, key.max) end
  return ("a whole number from %d to %d"):format(key.min, key.max)
end

--- What to write where somebody gave "7d", "64MiB" or "days(7)" for a number.
local function hint(value, unit, origin)
  if type(value) ~= "string" or not unit then return "" end
  local source, number = amount.rewrite(value, unit)
  local is_set = origin.source == "--set"
  if source then return "; write " .. (is_set and ("%d"):format(number) or source) end
  return is_set and value:find "%d" and value:find "%a" and "; units work only in config.lua" or ""
end

local function read_integer(key, value, origin, path)
  local number = value_of.integer(value, origin.source == "--set")
  if not number or number < key.min or number > key.max then
    failure.raise(origin, path, "got %s, expected %s%s", value_of.show(value), range(key), hint(value, key.unit, origin))
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

--- true or false; --set gives texts.
local function read_boolean(_, value, origin, path)
  if origin.source == "--set" and (value == "true" or value == "false") then return value == "true" end
  if type(value) == "boolean" then return value end
  failure.raise(origin, path, "got %s, expected true or false", value_of.show(value))
end

local function read_function(key, value, origin, path)
  if type(value) == "function" then return value end
  if key.number_key and type(value) == "number" then
    failure.raise(origin, path, "got %s, expected a function; a time is given to %s", value_of.show(value), key.number_key)
  end
  failure.raise(origin, path, "got %s, expected a function: %s", value_of.show(value), key.example)
end

--- A function, or the name of one.
local function read_partitioner(key, value, origin, path)
  if type(value) == "function" then return value end
  if type(value) == "string" then return read_text("a name", value, origin, path) end
  failure.raise(origin, path, "got %s, expected a function or the name of a partitioner: %s", value_of.show(value), key.example)
end

local READERS = {
  integer = read_integer,
  boolean = read_boolean,
  ["function"] = read_function,
  partitioner = read_partitioner,
  choice = read_choice,
  socket = read_socket,
  path = function(_, value, origin, path) return read_text("a path", value, origin, path) end,
  paths = function(key, value, origin, path) return read_list(key, "a path", value, origin, path) end,
  listen = function(key, value, origin, path, host)
    return read_list(key, 'an address such as "127.0.0.1:9092"', value, origin, path, host.check_listen)
  end,
  advertise = function(key, value, origin, path, host)
    return read_list(key, 'an address such as "kafka.example.com:9092"', value, origin, path, host.check_advertised)
  end,
}

--- What one of our own keys takes, for documentation.
---
---@param key luka.ConfigKey
---@return string
function M.takes(key)
  if key.type == "integer" then return range(key) end
  if key.type == "choice" then return 'one of "' .. table.concat(key.choices, '", "') .. '"' end
  if key.type == "socket" then return "a path, or false" end
  if key.type == "path" then return "a path" end
  if key.type == "paths" then return "a path, or a list of paths" end
  if key.type == "boolean" then return "true or false" end
  if key.type == "function" then return "a function" end
  if key.type == "partitioner" then return "a function, or a name" end
  return "an address, or a list of them" .. (key.max and (", at most %d"):format(key.max) or "")
end

--- The value of one of our own keys.
---
---@param key luka.ConfigKey
---@param value any
---@param origin luka.Origin
---@param path string
---@param host luka.Host
---@return any
function M.own(key, value, origin, path, host)
  return READERS[key.type](key, value, origin, path, host)
end

--- What a Kafka config takes, with its unit.
---
---@param takes string
---@param unit string?
---@return string
function M.with_unit(takes, unit)
  if not unit then return takes end
  takes = takes:gsub("^a whole number of at least", "a whole number, at least")
  return (takes:gsub("^a whole number", "a whole number of " .. unit))
end

--- The text of a Kafka config's value.
---
---@param check fun(name: string, text: string): string?  what the config takes when the text is not that
---@param name string
---@param value any
---@param origin luka.Origin
---@param path string
---@return string
function M.kafka(check, name, value, origin, path)
  local text, problem, culprit = value_of.text(value)
  if not text then
    local lead = problem:match "^is " and "%s %s" or "got %s, %s"
    failure.raise(origin, path, lead, value_of.show(culprit), problem)
  end
  local expected = check(name, text)
  if expected then
    local unit = amount.unit(name)
    local shown = value_of.show(type(value) == "table" and text or value)
    local what_to_write = expected:match "^a whole number" and hint(value, unit, origin) or ""
    failure.raise(origin, path, "got %s, expected %s%s", shown, M.with_unit(expected, unit), what_to_write)
  end
  return text
end

return M
