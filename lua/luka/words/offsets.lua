-- SPDX-License-Identifier: Apache-2.0
-- Words that change groups: reset_offsets(), commit(), kick(), delete_offsets(), delete_group().
local arguments = require "luka.admin.arguments"
local errors = require "luka.errors"
local explain = require "luka.words.explain"
local text = require "luka.words.text"
local view = require "luka.view"

local M = {}

local SETUP = require("luka.words.groups").SETUP

---@type luka.Word[]
M.entries = {
  { name = "reset_offsets", group = "groups",
    type = "fun(group: string|luka.GroupObject, options: luka.ResetOptions): table[]?",
    text = "Puts a group's offsets elsewhere; asks first.",
    usage = 'reset_offsets("group", { to = | by = | ago = | time =, topic =, partition =, dry = true })',
    about = "The group must have no members: stop its consumers first. With a topic, a group that is not there is made.\n"
      .. 'to: "earliest", "latest", "current", an offset, offsets by partition ({ [0] = 42 }), a time ago ("90s", "15m", '
      .. '"1h", "7d"), or a date, in UTC unless it says otherwise ("2026-11-30", "2026-11-30T14:00:00+01:00"). by = -10 '
      .. "goes back by ten records, by = 10 skips ten. ago = hours(1) is a time ago as well, and time = ms one since 1970.\n"
      .. "topic or topics = { ... }: of these topics; without them all that the group has offsets of. partition or "
      .. "partitions = { ... }: only these.\n"
      .. "An offset that a partition has not becomes the nearest one that it has. dry = true shows what it would do, and "
      .. "does nothing. It asks on a terminal only.",
    example = 'reset_offsets("orders", { topic = "clicks", to = "earliest", dry = true })', setup = SETUP },
  { name = "commit", group = "groups",
    type = "fun(group: string|luka.GroupObject, topic: string|luka.TopicObject, partition: integer, offset: integer, "
      .. "metadata?: string): table",
    text = "Commits one offset in the name of a group.",
    usage = 'commit("group", "topic", partition, offset [, "metadata"])',
    about = "The group must have no members; one that is not there is made.",
    example = 'commit("orders", "clicks", 0, 1, "by hand")', setup = 'create("clicks", { partitions = 2 })' },
  { name = "kick", group = "groups",
    type = 'fun(group: string|luka.GroupObject, member: "all"|string|string[], reason?: string): table[]?',
    text = "Takes members out of a group.",
    usage = 'kick("group", "member id" | "instance id" | { ... } | "all" [, "reason"])',
    about = "The others get its partitions. A consumer that is still alive joins again: what this is for are static members "
      .. "that do not come back, and members that hold up a rebalance. The beginning of a member id will do if no other "
      .. "begins so. With \"all\" it asks first, on a terminal. The reason is shown with the rebalance of a classic group.",
    example = 'kick("orders", "all")', setup = SETUP },
  { name = "delete_offsets", group = "groups",
    type = "fun(group: string|luka.GroupObject, topic: string|luka.TopicObject, partitions?: integer|integer[]): table[]?",
    text = "Deletes what a group has committed; asks first.",
    usage = 'delete_offsets("group", "topic" [, partition | { partition, ... }])',
    about = "Members that are subscribed to the topic are in the way. It asks on a terminal only.",
    example = 'delete_offsets("orders", "clicks")', setup = SETUP },
  { name = "delete_group", group = "groups", type = "fun(name: string|luka.GroupObject)",
    text = "Deletes a group with its offsets; asks first.",
    usage = 'delete_group "name"',
    about = "The group must have no members. It asks on a terminal only.",
    example = 'delete_group "orders"', setup = SETUP },
}

local RESET = { "topic", "partition", "before", "offset", "lag" }
local COMMIT = { "topic", "partition", "before", "offset" }
local KICKED = { "client_id", "host", "instance_id", "member_id" }
local DELETED = { "topic", "partition", "before" }

--- Offsets that a group has of a topic, by partition.
local function committed(context, name, topic)
  local out = {}
  for _, row in ipairs(context.admin.offsets(name)) do
    if row.topic == topic then out[row.partition] = row.offset end
  end
  return out
end

--- The member ids that a beginning stands for, where that is clear.
local function full_ids(context, name, which)
  local list = type(which) == "table" and which or { which }
  local members = explain.group(context, name, nil, context.admin.group).members
  local out = {}
  for i, given in ipairs(list) do
    out[i] = given
    local found, count = nil, 0
    for _, member in ipairs(type(given) == "string" and given ~= "" and members or {}) do
      if member.member_id == given or member.instance_id == given then count = 2 end
      if member.member_id:sub(1, #given) == given then found, count = member.member_id, count + 1 end
    end
    if count == 1 then out[i] = found end
  end
  return out
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local admin, task = context.admin, context.task
  local words = {}

  -- Without a value: the console would show a nil.
  local function gives_up() task.print "nothing was changed" end

  function words.reset_offsets(name, options)
    name = arguments.group("reset_offsets", name)
    if options == nil then arguments.refuse("reset_offsets", options, 'options: { topic = "clicks", to = "earliest" }') end
    local asked = {}
    for key, value in pairs(arguments.options("reset_offsets", options)) do asked[key] = value end
    asked.dry = true
    local topic = type(asked.topic) == "table" and asked.topic.name or asked.topic
    local rows = explain.group(context, name, topic, admin.reset_offsets, asked)
    if not options.dry then
      local question = ('Reset %s of group "%s"?'):format(text.count(#rows, "partition"), name)
      if not task.confirm(question) then return gives_up() end
      local commits = {}
      for _, row in ipairs(rows) do
        commits[row.topic] = commits[row.topic] or {}
        commits[row.topic][row.partition] = row.offset
      end
      explain.group(context, name, topic, admin.commit_offsets, commits)
    end
    return view.list(rows, RESET)
  end

  function words.commit(name, topic, partition, offset, metadata)
    name = arguments.group("commit", name)
    topic = arguments.name("commit: topic", topic)
    partition = arguments.integer("commit: partition", partition, 0, 2 ^ 31 - 1)
    offset = arguments.offset("commit: offset", offset)
    if metadata ~= nil and type(metadata) ~= "string" then arguments.refuse("commit: metadata", metadata, "a text") end
    local count = #explain.call(context, topic, admin.describe_topic, topic).partitions
    if partition >= count then
      errors.raise("UNKNOWN_TOPIC_OR_PARTITION", 'topic "%s" has no partition %d, only %s', topic, partition,
        count == 1 and "0" or ("0 to %d"):format(count - 1))
    end
    local before = committed(context, name, topic)[partition]
    explain.group(context, name, topic, admin.commit_offsets,
      { [topic] = { [partition] = { offset = offset, metadata = metadata } } })
    return view.record({ topic = topic, partition = partition, before = before, offset = offset }, COMMIT)
  end

  function words.kick(name, which, reason)
    name = arguments.group("kick", name)
    if which == nil then arguments.refuse("kick", which, 'a member id or an instance id, or "all"') end
    if which == "all" then
      local count = #explain.group(context, name, nil, admin.group).members
      if count == 0 then
        task.print(('group "%s" has no members'):format(name))
        return
      end
      local question = ('Take %s out of group "%s"?'):format(text.count(count, "member"), name)
      if not task.confirm(question) then return gives_up() end
    else
      which = full_ids(context, name, which)
    end
    return view.list(explain.group(context, name, nil, admin.remove_members, which, reason), KICKED)
  end

  function words.delete_offsets(name, topic, partitions)
    name = arguments.group("delete_offsets", name)
    topic = arguments.name("delete_offsets: topic", topic)
    local before, wanted = committed(context, name, topic), {}
    if partitions ~= nil then
      for i, partition in ipairs(type(partitions) == "table" and partitions or { partitions }) do
        wanted[i] = arguments.integer("delete_offsets: partition", partition, 0, 2 ^ 31 - 1)
      end
    else
      for partition in pairs(before) do wanted[#wanted + 1] = partition end
    end
    table.sort(wanted)
    local rows = {}
    for _, partition in ipairs(wanted) do
      if before[partition] then rows[#rows + 1] = { topic = topic, partition = partition, before = before[partition] } end
    end
    if #rows == 0 then
      explain.group(context, name, nil, admin.group)
      task.print(('group "%s" has no offsets there'):format(name))
      return
    end
    local question = ('Delete the offsets of %s of topic "%s" in group "%s"?'):format(text.count(#rows, "partition"), topic,
      name)
    if not task.confirm(question) then return gives_up() end
    explain.group(context, name, topic, admin.delete_offsets, { [topic] = wanted })
    return view.list(rows, DELETED)
  end

  function words.delete_group(name)
    name = arguments.group("delete_group", name)
    local group = explain.group(context, name, nil, admin.group)
    local count = 0
    for _, row in ipairs(group.offsets) do count = count + (row.offset and 1 or 0) end
    if #group.members > 0 then explain.has_members(name, #group.members, "deleted") end
    if not task.confirm(('Delete group "%s" with %s?'):format(name, text.count(count, "offset"))) then return gives_up() end
    explain.group(context, name, nil, admin.delete_group)
    task.print(('group "%s" is deleted'):format(name))
  end

  return words
end

return M
