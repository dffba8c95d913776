-- SPDX-License-Identifier: Apache-2.0
-- What there is to say about each key of a configuration: for docs/config.md, types/luka.lua and `luka help KEY`.
local amount = require "luka.config.amount"
local kafka = require "luka.config.kafka"
local read = require "luka.config.read"
local schema = require "luka.config.schema"
local suggest = require "luka.config.suggest"

---@class (exact) luka.KeyText
---@field block "broker"|"defaults"|"topic"
---@field key string
---@field name string?  Kafka's
---@field text string  a sentence or two
---@field takes string
---@field default string  Lua source, or in words
---@field effect "restart"|"reload"|"at once"  when a new value counts; at once: clients can set it as well
---@field example string  Lua source of a value
---@field lua_type string  for the Lua language server

local M = {}

--- For what nothing heeds yet.
M.IDLE = "Without effect yet: it belongs to %s."

--- Kafka's defaults that stand for none: the largest LONG, the largest DOUBLE.
local NO_LIMIT = { ["9223372036854775807"] = true, ["1.7976931348623157E308"] = true }

--- Examples where none can be made of the definition.
local EXAMPLES = {
  ["group.consumer.min.assignment.interval.ms"] = "100",
  ["broker.rack"] = '"eu-1a"', ["max.connections"] = "10000", ["max.connections.per.ip"] = "200",
  ["max.connections.per.ip.overrides"] = '"10.0.0.5:1000,10.0.0.6:50"', ["retention.bytes"] = "10 * GiB",
  ["cleanup.policy"] = '{ "compact", "delete" }', ["flush.messages"] = "1", ["flush.ms"] = "seconds(1)",
  ["log.retention.minutes"] = "90", ["log.retention.hours"] = "168", ["compression.type"] = '"lz4"',
  ["compression.gzip.level"] = "6", ["log.flush.scheduler.interval.ms"] = "seconds(1)",
  ["max.decompressed.message.bytes"] = "64 * MiB", ["log.roll.jitter.ms"] = "minutes(10)",
  ["luka.partitioner"] = '"murmur2"', ["segment.jitter.ms"] = "minutes(10)", ["remote.storage.enable"] = "false",
}

local function is_number(def)
  return def.kind == "int" or def.kind == "long" or def.kind == "level" or def.kind == "double"
end

--- A value of a Kafka config as one would write it.
local function source(def, text)
  if def.kind == "bool" then return text end
  if is_number(def) then
    return NO_LIMIT[text] and "no limit" or amount.format(text, amount.unit(def.name))
  end
  return ('"%s"'):format(text)
end

--- A number for an example: the default where it says something.
local function number_example(def, unit)
  local default = tonumber(def.default)
  if default and default > 0 and not NO_LIMIT[def.default] then return amount.format(def.default, unit) end
  if unit == "ms" then return "hours(1)" end
  return unit == "bytes" and "1 * GiB" or tostring(def.min and math.max(def.min, 1) or 1)
end

local function example(def)
  local topic = kafka.topic_of(def.name)
  local given = EXAMPLES[def.name] or topic and amount.unit(def.name) == amount.unit(topic.name) and EXAMPLES[topic.name]
  if given then return given end
  if def.kind == "bool" then return def.default == "true" and "false" or "true" end
  if is_number(def) then return number_example(def, amount.unit(def.name)) end
  for _, text in ipairs(def.valid or {}) do
    if text ~= def.default then return ('"%s"'):format(text) end
  end
  return '"*"'
end

local function union(texts) return '"' .. table.concat(texts, '"|"') .. '"' end

local function lua_type(def)
  if def.kind == "bool" then return "boolean" end
  if def.kind == "double" then return "number" end
  if is_number(def) then return "integer" end
  if def.kind == "enum" then return union(def.valid) end
  if def.kind == "flags" then return ("%s|(%s)[]"):format(union(def.valid), union(def.valid)) end
  return (def.kind == "replicas" or def.kind == "list") and "string|string[]" or "string"
end

local OWN_TYPES = { integer = "integer", boolean = "boolean", path = "string", paths = "string|string[]",
  socket = "string|false", listen = "string|string[]", advertise = "string|string[]", ["function"] = "function",
  partitioner = "string|function" }

local function own_default(key)
  if key.in_data then return ("%s in the first of data"):format(key.in_data) end
  if key.default == nil then return key.default_text end
  if type(key.default) == "table" then return ('{ "%s" }'):format(table.concat(key.default, '", "')) end
  if type(key.default) == "boolean" then return tostring(key.default) end
  return amount.format(key.default, key.unit)
end

local function own_key(block, key, definition)
  return {
    block = block, key = key, text = definition.text, takes = read.takes(definition), default = own_default(definition),
    effect = (definition.reload or block ~= "broker") and "reload" or "restart", example = definition.example,
    lua_type = definition.lua_type or definition.choices and union(definition.choices) or OWN_TYPES[definition.type],
  }
end

--- A sentence of the core's with keys for Kafka's names.
local function with_keys(text)
  return (text:gsub("%l[%l%d]*%.[%l%d.]*[%l%d]", function(name)
    return (kafka.BROKER[name] or kafka.TOPIC[name]) and kafka.snake(name) or nil
  end))
end

--- What a key of a block does; `shown` is the topic config behind a default.
local function text(block, def, shown)
  local topic = block == "broker" and kafka.topic_of(def.name)
  if not topic then return with_keys(shown.doc) end
  local unit = amount.unit(def.name)
  return ("%s of topics that do not say otherwise%s; the same as in defaults { ... }."):format(topic.key,
    unit ~= amount.unit(topic.key) and ", in " .. unit or "")
end

local function effect(def)
  if def.is_dynamic then return "at once" end
  return def.is_reloadable and "reload" or "restart"
end

--- All about one key of a block, which has it.
---
---@param block "broker"|"defaults"|"topic"
---@param key string
---@return luka.KeyText
function M.key(block, key)
  if block == "broker" and schema.BROKER[key] then return own_key(block, key, schema.BROKER[key]) end
  if block == "topic" and schema.TOPIC[key] then return own_key(block, key, schema.TOPIC[key]) end
  if block == "defaults" and schema.DEFAULTS_OWN[key] then return own_key(block, key, schema.DEFAULTS_OWN[key]) end
  local def = assert(schema.kafka_config(block, key))
  -- A default is described as what it is for topics.
  local topic = block == "defaults" and kafka.topic_of(def.name)
  local shown = topic or def
  local idle = block ~= "broker" and kafka.IDLE[kafka.dotted(key)]
  return {
    block = block, key = key, name = def.name, text = text(block, def, shown) .. (idle and " " .. M.IDLE:format(idle) or ""),
    takes = read.with_unit(shown.takes, amount.unit(shown.name)),
    default = shown.default and source(shown, shown.default) or "unset", effect = effect(def), example = example(shown),
    lua_type = lua_type(shown),
  }
end

--- All keys of a block, sorted.
---
---@param block "broker"|"defaults"|"topic"
---@return luka.KeyText[]
function M.block(block)
  local list = {}
  for i, key in ipairs(schema.keys(block)) do list[i] = M.key(block, key) end
  return list
end

local EFFECTS = {
  restart = "at the next start", reload = "at a reload", ["at once"] = "at a reload, or when a client sets it",
}
local WHERE = { broker = "broker { %s = %s }", defaults = "defaults { %s = %s }", topic = 'topic "clicks" { %s = %s }' }

--- All about a config of groups, as text; nil when it is none.
local function group_text(key)
  local def = kafka.GROUP[kafka.dotted(key)]
  if not def then return nil end
  local unit = amount.unit(def.name)
  local idle = kafka.idle_group(def.name)
  local broker = def.broker_name and kafka.BROKER[def.broker_name]
  local default = def.default ~= "" and source(def, def.default) or "empty"
  if broker and broker.is_supported then default = ("%s, or %s of broker"):format(default, broker.key) end
  return table.concat({
    ("%s of a group, Kafka's %s"):format(key, def.name), "  " .. def.doc .. (idle and " " .. M.IDLE:format(idle) or ""),
    "  takes      " .. read.with_unit(def.takes, unit), "  default    " .. default,
    "  new value  when a client sets it",
    ('  example    admin.alter_configs("group", "orders", { set = { %s = %s } })'):format(key, example(def)), "",
  }, "\n")
end

--- What `luka help KEY` prints; see luka.config.schema.describe().
function M.text(key)
  local parts, known = {}, {}
  key = kafka.snake(key)
  for _, block in ipairs(schema.BLOCKS) do
    local keys = schema.keys(block)
    local is_there = false
    for _, other in ipairs(keys) do
      known[#known + 1] = other
      is_there = is_there or other == key
    end
    if is_there then
      local about = M.key(block, key)
      local name = about.name and (", Kafka's %s"):format(about.name) or ""
      parts[#parts + 1] = table.concat({
        ("%s of %s%s"):format(key, block == "topic" and "a topic" or block, name), "  " .. about.text,
        "  takes      " .. about.takes, "  default    " .. about.default, "  new value  " .. EFFECTS[about.effect],
        "  example    " .. WHERE[block]:format(key, about.example), "",
      }, "\n")
    end
  end
  parts[1] = parts[1] or group_text(key)
  if parts[1] then return table.concat(parts, "\n") end
  for name in pairs(kafka.GROUP) do known[#known + 1] = kafka.snake(name) end
  return nil, (suggest.nearest(key, known))
end

return M
