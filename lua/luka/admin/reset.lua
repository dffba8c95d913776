-- SPDX-License-Identifier: Apache-2.0
-- admin.reset_offsets: puts a group's offsets elsewhere, by the rules of Kafka's own tool: only a group without members,
-- never outside of what a partition has, and a look at what it would do first, when that is asked for.
local arguments = require "luka.admin.arguments"
local clock = require "luka.native.clock"
local errors = require "luka.errors"
local moment = require "luka.admin.moment"
local sort = require "luka.sort"
local value_of = require "luka.config.value"

---@class (exact) luka.GroupReset
---@field topic string
---@field partition integer
---@field before integer?  what was committed; nil: nothing
---@field offset integer  what is committed now, or would be
---@field lag integer  records that are to be consumed then

local M = {}

local INT32_MAX = 2 ^ 31 - 1

local OPTIONS = { topic = true, topics = true, partition = true, partitions = true, to = true, by = true, ago = true,
  time = true, dry = true }

local WHERE = "reset_offsets"
local TO = '"earliest", "latest", "current", an offset, offsets by partition ({ [0] = 42 }), a time ago ("1h") or a date '
  .. '("2026-11-30T14:00:00Z")'

--- Raises that only one of some options may be given.
local function only_one(options, names)
  local found
  for _, name in ipairs(names) do
    if options[name] ~= nil then
      if found then errors.raise("usage", "%s: %s and %s are given, one is enough", WHERE, found, name) end
      found = name
    end
  end
  return found
end

--- Where to, as { kind =, value = }: checked, before anybody is asked.
local function target_of(options)
  local kind = only_one(options, { "to", "by", "ago", "time" })
  local to = options.to
  if not kind then errors.raise("usage", "%s: where to? to = %s; by = -10, ago = hours(1) or time = ms", WHERE, TO) end
  if kind == "by" then
    local by = value_of.integer(options.by)
    if not by then arguments.refuse(WHERE .. ": by", options.by, "a whole number: -10 goes back by ten records") end
    return { kind = "by", value = by }
  elseif kind == "ago" then
    return { kind = "time", value = math.max(0, clock.now() - arguments.integer(WHERE .. ": ago", options.ago, 0, 2 ^ 53)) }
  elseif kind == "time" then
    return { kind = "time", value = arguments.offset(WHERE .. ": time", options.time) }
  elseif to == "earliest" or to == "latest" or to == "current" then
    return { kind = to }
  elseif type(to) == "string" then
    local time = moment.ago(to) or moment.date(to)
    if not time then arguments.refuse(WHERE .. ": to", to, TO) end
    return { kind = "time", value = math.max(0, time) }
  elseif type(to) == "table" then
    local offsets = {}
    for partition, offset in pairs(to) do
      offsets[arguments.integer(WHERE .. ": to: partition", partition, 0, INT32_MAX)] = arguments.offset(WHERE .. ": to", offset)
    end
    if next(offsets) == nil then arguments.refuse(WHERE .. ": to", to, TO) end
    return { kind = "offsets", value = offsets }
  elseif type(to) == "number" or type(to) == "cdata" then
    return { kind = "offset", value = arguments.offset(WHERE .. ": to", to) }
  end
  arguments.refuse(WHERE .. ": to", to, TO)
end

--- The partitions of a topic that are meant; nil: all.
local function wanted_of(options, target)
  local kind = only_one(options, { "partition", "partitions" })
  local list = kind == "partition" and { options.partition } or options.partitions
  if kind == "partitions" and (type(list) ~= "table" or #list == 0) then
    arguments.refuse(WHERE .. ": partitions", list, "a list: { 0, 1 }")
  end
  if not list and target.kind ~= "offsets" then return nil end
  local wanted = {}
  for _, partition in ipairs(list or {}) do
    wanted[arguments.integer(WHERE .. ": partition", partition, 0, INT32_MAX)] = true
  end
  for partition in pairs(not list and target.value or {}) do wanted[partition] = true end
  return wanted
end

--- Names of the topics that are meant; nil: all that the group has offsets of.
local function topics_of(options, wanted)
  local kind = only_one(options, { "topic", "topics" })
  if not kind then
    if wanted then errors.raise("usage", '%s: partitions of which topic? topic = "clicks"', WHERE) end
    return nil
  end
  if kind == "topic" then return { arguments.name(WHERE .. ": topic", options.topic) } end
  local names = {}
  if type(options.topics) ~= "table" or #options.topics == 0 then
    arguments.refuse(WHERE .. ": topics", options.topics, 'a list: { "clicks", "views" }')
  end
  for i, name in ipairs(options.topics) do names[i] = arguments.name(WHERE .. ": topics", name) end
  if wanted then errors.raise("usage", "%s: partitions go with one topic: topic = %q", WHERE, names[1]) end
  return names
end

--- The group; with topics one that nobody knows will do, which has neither members nor offsets: it is made.
local function group_of(admin, name, topics)
  local ok, group = pcall(admin.group, name)
  if ok then return group end
  if not topics or not errors.is(group) or group.code ~= "GROUP_ID_NOT_FOUND" then error(group, 0) end
  return { members = {}, offsets = {} }
end

--- The partitions that are meant: { [topic] = { partition, ... } }.
local function partitions_of(admin, group, topics, wanted)
  local out = {}
  for _, row in ipairs(not topics and group.offsets or {}) do
    out[row.topic] = out[row.topic] or {}
    table.insert(out[row.topic], row.partition)
  end
  for _, name in ipairs(topics or {}) do
    local count = #admin.describe_topic(name).partitions
    out[name] = {}
    for partition in pairs(wanted or {}) do
      if partition >= count then
        errors.raise("UNKNOWN_TOPIC_OR_PARTITION", '%s: topic "%s" has no partition %d, only %s', WHERE, name, partition,
          count == 1 and "0" or ("0 to %d"):format(count - 1))
      end
    end
    for partition = 0, count - 1 do
      if not wanted or wanted[partition] then table.insert(out[name], partition) end
    end
  end
  return out
end

local function by_partition(list)
  local out = {}
  for _, entry in ipairs(list) do out[entry.partition] = entry.offset end
  return out
end

--- Where one partition goes.
local function offset_of(target, row, found)
  local kind = target.kind
  if kind == "earliest" then return row.first end
  if kind == "latest" then return row.last end
  if kind == "current" then return row.before or row.last end
  if kind == "time" then return found[row.partition] or row.last end
  if kind == "offset" then return target.value end
  if kind == "offsets" then return target.value[row.partition] or row.before end
  if row.before == nil then
    errors.raise("usage", '%s: by: nothing is committed of topic "%s" partition %d to go on from', WHERE, row.topic,
      row.partition)
  end
  return row.before + target.value
end

--- What becomes of the partitions of a topic.
local function plan(admin, topic, partitions, target, before, rows)
  local firsts = by_partition(admin.list_offsets(topic, "earliest", partitions))
  local ends = by_partition(admin.list_offsets(topic, "latest", partitions))
  local found = target.kind == "time" and by_partition(admin.list_offsets(topic, target.value, partitions)) or {}
  for _, partition in ipairs(partitions) do
    local row = { topic = topic, partition = partition, before = before[partition], first = firsts[partition],
      last = ends[partition] }
    local offset = offset_of(target, row, found)
    offset = offset < row.first and row.first or offset > row.last and row.last or offset
    rows[#rows + 1] = { topic = topic, partition = partition, before = row.before, offset = offset, lag = row.last - offset }
  end
end

--- Adds the function to admin.
---
---@param admin luka.Admin
function M.add(admin)
  --- Puts a group's offsets elsewhere. The group must have no members. Options: topic or topics, otherwise all that the
  --- group has offsets of; partition or partitions of one topic, otherwise all. Where to, one of: to ("earliest", "latest",
  --- "current", an offset, offsets by partition, a time ago as "1h", a date), by (records forth, or back), ago (ms), time
  --- (ms since 1970). An offset that a partition has not becomes the nearest that it has. dry = true changes nothing.
  --- Errors: GROUP_ID_NOT_FOUND (no topic is named either), NON_EMPTY_GROUP, UNKNOWN_TOPIC_OR_PARTITION and others.
  ---
  ---@param name string
  ---@param options table
  ---@return luka.GroupReset[]
  function admin.reset_offsets(name, options)
    name = arguments.group(WHERE, name)
    if options == nil then arguments.refuse(WHERE, options, 'options: { topic = "clicks", to = "earliest" }') end
    options = arguments.options(WHERE, options, OPTIONS)
    local target = target_of(options)
    local wanted = wanted_of(options, target)
    local topics = topics_of(options, wanted)
    local group = group_of(admin, name, topics)
    if #group.members > 0 then
      errors.raise("NON_EMPTY_GROUP", 'group "%s" has %s: its offsets can be reset when it has none', name,
        #group.members == 1 and "1 member" or #group.members .. " members")
    end
    local before = {}
    for _, row in ipairs(group.offsets) do
      before[row.topic] = before[row.topic] or {}
      before[row.topic][row.partition] = row.offset
    end
    local rows = {}
    for topic, partitions in pairs(partitions_of(admin, group, topics, wanted)) do
      plan(admin, topic, partitions, target, before[topic] or {}, rows)
    end
    if #rows == 0 then
      errors.raise("usage", '%s: group "%s" has no offsets to reset; name a topic: topic = "clicks"', WHERE, name)
    end
    sort(rows, function(a, b) return a.topic < b.topic or a.topic == b.topic and a.partition < b.partition end)
    if options.dry then return rows end
    local commits = {}
    for _, row in ipairs(rows) do
      commits[row.topic] = commits[row.topic] or {}
      commits[row.topic][row.partition] = row.offset
    end
    admin.commit_offsets(name, commits)
    return rows
  end
end

return M
