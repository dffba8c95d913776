-- SPDX-License-Identifier: Apache-2.0
-- topic "x": an object with methods, shown as what describe() gives at that moment.
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local explain = require "luka.words.explain"
local names_of = require "luka.config.names"
local object = require "luka.words.object"
local policies = require "luka.words.policies"
local sort = require "luka.sort"
local survey = require "luka.words.survey"
local text = require "luka.words.text"
local view = require "luka.view"

local M = {}

--- What examples need that look at a topic.
M.SETUP = 'create("clicks", { partitions = 2, retention_ms = days(1) })\nproduce("clicks", { key = "a", value = "1" })'

---@type luka.Word[]
M.entries = {
  { name = "topic", group = "topics", type = "fun(name: string|luka.TopicObject): luka.TopicObject",
    text = "A topic, with methods to look into it and change it.",
    usage = 'topic "name"',
    about = 'Shown are its partitions, records, size, the configs that were set on it, and which functions of '
      .. 'config.lua it has. The methods are called with a colon: topic "clicks":configs().\n\nRecords are counted by '
      .. 'offsets: what compaction or aborted transactions took is counted too.',
    example = 'topic "clicks"', setup = M.SETUP },
  { name = "topic:describe", group = "topics", type = "fun(self: luka.TopicObject): table",
    text = "Name, id, partitions, records, size, set configs.",
    usage = 'topic "name":describe()', example = 'topic "clicks":describe().records', setup = M.SETUP },
  { name = "topic:partitions", group = "topics", type = "fun(self: luka.TopicObject): table[]",
    text = "Its partitions: leader, offsets, size, directory.",
    usage = 'topic "name":partitions()', example = 'topic "clicks":partitions()', setup = M.SETUP },
  { name = "topic:configs", group = "topics", type = "fun(self: luka.TopicObject, part?: string): table[]",
    text = "Its configs: value, source; those set on it first.",
    usage = 'topic "name":configs([part of a key])',
    about = "With a part of a key only those configs that have it, and what each does.",
    example = 'topic "clicks":configs "retention"', setup = M.SETUP },
  { name = "topic:set", group = "topics", type = "fun(self: luka.TopicObject, values: table<string, any>): table[]",
    text = "Sets configs, all of them or none.",
    usage = 'topic "name":set { key = value, ... }',
    about = "Times are milliseconds and sizes bytes: seconds(), minutes(), hours(), days(), KiB, MiB and GiB help. Both "
      .. "spellings of a key will do, retention_ms and [\"retention.ms\"].",
    example = 'topic "clicks":set { retention_ms = hours(12), segment_bytes = 64 * MiB }', setup = M.SETUP },
  { name = "topic:unset", group = "topics", type = "fun(self: luka.TopicObject, ...: string): table[]",
    text = "Takes configs back to the broker's value.",
    usage = 'topic "name":unset(key, ...)', example = 'topic "clicks":unset "retention_ms"', setup = M.SETUP },
  { name = "topic:add_partitions", group = "topics", type = "fun(self: luka.TopicObject, how_many: integer): table",
    text = "Adds partitions; says how many there are then.",
    usage = 'topic "name":add_partitions(how_many)',
    about = "Keys move to other partitions when their number changes: new records of a key may go elsewhere than old ones.",
    example = 'topic "clicks":add_partitions(2)', setup = M.SETUP },
  { name = "topic:delete_records", group = "topics",
    type = 'fun(self: luka.TopicObject, before: "all"|table<integer, integer>): table[]?',
    text = "Deletes the records before an offset; asks first.",
    usage = 'topic "name":delete_records("all" | { [partition] = offset, ... })',
    about = "What goes is the beginning of a partition. The offsets of what is left stay as they are. It asks on a "
      .. "terminal only.",
    example = 'topic "clicks":delete_records "all"', setup = M.SETUP },
  { name = "topic:delete", group = "topics", type = "fun(self: luka.TopicObject)",
    text = "Deletes the topic with all its records; asks first.",
    usage = 'topic "name":delete()',
    about = "It asks on a terminal only.", example = 'topic "clicks":delete()', setup = M.SETUP },
}

--- A config that a topic may have, or an error with the nearest.
local function check_keys(context, keys)
  local known = {}
  local all = explain.topic_config_keys(context)
  for _, key in ipairs(all) do known[key] = true end
  for _, key in ipairs(keys) do
    if type(key) ~= "string" then arguments.refuse("unset", key, 'a key: "retention_ms"') end
    if not known[names_of.snake(key)] then explain.unknown_config(all, key, "topic") end
  end
end

--- The values of some configs of a topic, by key.
local function values_of(context, name, keys)
  local out = {}
  local options = { keys = keys }
  for _, config in ipairs(explain.call(context, name, context.admin.describe_configs, "topic", name, options)) do
    out[config.name] = config.value
  end
  return out
end

--- Changes configs; a list of what changed.
local function change(context, name, keys, changes)
  table.sort(keys)
  check_keys(context, keys)
  local before = values_of(context, name, keys)
  explain.call(context, name, context.admin.alter_configs, "topic", name, changes)
  local after, rows = values_of(context, name, keys), {}
  for i, key in ipairs(keys) do
    key = names_of.snake(key)
    rows[i] = { name = key, before = before[key], value = after[key], meaning = text.config(key, after[key]) }
  end
  return view.list(rows, { "name", "before", "value", "meaning" })
end

local RECORD = { "name", "view_of", "id", "partitions", "replication_factor", "records", "size_bytes", "configs", "policies" }
local PARTITIONS = { "partition", "leader", "replicas", "isr", "first_offset", "next_offset", "size_bytes", "log_dir" }

---@type table<string, fun(context: luka.Words.Context, name: string, ...): any>
M.topic_methods = {}

local methods = M.topic_methods

function methods.describe(context, name)
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  local records, size_bytes, offline = survey.sum(survey.partitions(context, { topic }))
  survey.note(context, offline)
  local configs, from = survey.set_configs(context, name)
  return view.record({ name = topic.name, view_of = from, id = topic.id, partitions = #topic.partitions,
    replication_factor = topic.partitions[1] and #topic.partitions[1].replicas, records = records,
    size_bytes = size_bytes, configs = configs, policies = policies.of_topic(context, name) }, RECORD)
end

function methods.partitions(context, name)
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  return view.list(survey.partitions(context, { topic }), PARTITIONS)
end

function methods.configs(context, name, part)
  if part ~= nil and type(part) ~= "string" then
    arguments.refuse("configs", part, 'a part of a key: "retention"')
  end
  part = part and names_of.snake(part)
  local all = explain.call(context, name, context.admin.describe_configs, "topic", name, { documentation = part ~= nil })
  local rows, others = {}, {}
  for _, config in ipairs(all) do
    if not part or config.name:find(part, 1, true) then
      local row = { name = config.name, value = config.value, source = config.source,
        meaning = text.config(config.name, config.value), text = config.documentation }
      table.insert(config.source == "topic" and rows or others, row)
    end
  end
  for _, row in ipairs(others) do rows[#rows + 1] = row end
  if #rows == 0 then
    local keys = {}
    for i, config in ipairs(all) do keys[i] = config.name end
    explain.unknown_config(keys, part, "topic")
  end
  return view.list(rows, { "name", "value", "meaning", "source", part and "text" })
end

function methods.set(context, name, values)
  if type(values) ~= "table" or next(values) == nil then
    arguments.refuse("set", values, "configs: { retention_ms = hours(1) }")
  end
  local keys = {}
  for key, value in pairs(values) do
    if type(key) ~= "string" then arguments.refuse("set", value, "key = value: { retention_ms = hours(1) }") end
    keys[#keys + 1] = key
  end
  return change(context, name, keys, { set = values })
end

function methods.unset(context, name, ...)
  local keys = type((...)) == "table" and ... or { ... }
  if #keys == 0 then arguments.refuse("unset", (...), 'keys: unset "retention_ms"') end
  local copy = {}
  for i = 1, #keys do copy[i] = keys[i] end
  return change(context, name, copy, { unset = keys })
end

function methods.add_partitions(context, name, more)
  more = arguments.integer("add_partitions", more, 1, 2 ^ 31 - 1)
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  local total = explain.call(context, name, context.admin.create_partitions, name, #topic.partitions + more)
  return view.record({ name = name, added = more, partitions = total }, { "name", "added", "partitions" })
end

--- Where records are to be deleted up to, by partition; checked before anybody is asked.
local function deletions(name, rows, before)
  if before == "all" then
    local all = {}
    for _, row in ipairs(rows) do all[row.partition] = row.next_offset end
    return all
  end
  if type(before) ~= "table" or next(before) == nil then
    arguments.refuse("delete_records", before, '"all", or offsets by partition: { [0] = 42 }')
  end
  local by_partition, offsets = {}, {}
  for _, row in ipairs(rows) do by_partition[row.partition] = row end
  for partition, offset in pairs(before) do
    local row = by_partition[partition]
    if not row then
      errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'topic "%s" has no partition %s, only 0 to %d', name,
        tostring(partition), #rows - 1)
    end
    offset = arguments.offset("delete_records", offset)
    if row.next_offset and offset > row.next_offset then
      errors.raise("OFFSET_OUT_OF_RANGE", 'delete_records: partition %d ends before %s: at most %s', partition,
        arguments.digits(offset), arguments.digits(row.next_offset))
    end
    offsets[partition] = offset
  end
  return offsets
end

function methods.delete_records(context, name, before)
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  local rows, count = survey.partitions(context, { topic }), 0
  local offsets = deletions(name, rows, before)
  for _, row in ipairs(rows) do
    local offset = offsets[row.partition]
    if offset and row.first_offset and offset > row.first_offset then count = count + (offset - row.first_offset) end
  end
  if count == 0 then
    context.task.print "there are no records before that"
    return
  end
  if not context.task.confirm(('Delete %s of topic "%s"?'):format(text.count(count, "record"), name)) then
    context.task.print "nothing was deleted"
    return
  end
  local first, out = explain.call(context, name, context.admin.delete_records, name, offsets), {}
  for partition, offset in pairs(first) do out[#out + 1] = { partition = partition, first_offset = offset } end
  sort(out, function(a, b) return a.partition < b.partition end)
  return view.list(out, { "partition", "first_offset" })
end

function methods.delete(context, name)
  local topic = explain.call(context, name, context.admin.describe_topic, name)
  local records, size_bytes, offline = survey.sum(survey.partitions(context, { topic }))
  survey.note(context, offline)
  local question = ('Delete topic "%s" with %s and %s (%s)?'):format(name, text.count(#topic.partitions, "partition"),
    text.count(records, "record"), text.size(size_bytes))
  if not context.task.confirm(question) then
    context.task.print "nothing was deleted"
    return
  end
  explain.call(context, name, context.admin.delete_topic, name)
  context.task.print(('topic "%s" is deleted'):format(name))
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  context.topic_of = object.new(context, { name = "topic", methods = context.topic_methods, hints = {},
    on_call = 'options go behind the name, create("clicks", { partitions = 3 }), configs to topic "clicks":set { ... }',
    on_set = "topics are changed with set: set { retention_ms = hours(1) }" })
  return {
    topic = function(name)
      name = arguments.name("topic", name)
      explain.call(context, name, context.admin.describe_topic, name)
      return context.topic_of(name)
    end,
  }
end

return M
