-- SPDX-License-Identifier: Apache-2.0
-- groups() and group "x": who consumes what, how far behind, and what a group waits for.
local arguments = require "luka.admin.arguments"
local coordinator = require "luka.admin.coordinator"
local explain = require "luka.words.explain"
local java_hash = require "luka.admin.java_hash"
local object = require "luka.words.object"
local sort = require "luka.sort"
local view = require "luka.view"
local waits = require "luka.words.waits"

local M = {}

--- What examples need that look at a group.
M.SETUP = 'create("clicks", { partitions = 2 })\nproduce("clicks", { key = "a", value = "1" })\ncommit("orders", "clicks", 0, 0)'

---@type luka.Word[]
M.entries = {
  { name = "groups", group = "groups", type = "fun(part?: string): table[]",
    text = "All groups: type, state, members, lag.",
    usage = "groups([part of a name])",
    about = "lag is the number of records that were written and not committed yet, of all partitions that the group has "
      .. "committed something of. shard is the partition of __consumer_offsets that keeps the group. Where a group cannot "
      .. "be asked, error says why.",
    example = "groups()", setup = M.SETUP },
  { name = "group", group = "groups", type = "fun(name: string|luka.GroupObject): luka.GroupObject",
    text = "A group: state, members, lag, and what it waits for.",
    usage = 'group "name"',
    about = "While the group rebalances, waits_for says for whom it waits, how long they have been silent, and until when "
      .. "it waits for each.\n\nIts methods are called with a colon: group \"orders\":offsets(). reset_offsets(), commit(), "
      .. "kick(), delete_offsets() and delete_group() change it.",
    example = 'group "orders"', setup = M.SETUP },
  { name = "group:describe", group = "groups", type = "fun(self: luka.GroupObject): table",
    text = "All of it as a record, with the lists in it.",
    usage = 'group "name":describe()', example = 'group "orders":describe().lag', setup = M.SETUP },
  { name = "group:members", group = "groups", type = "fun(self: luka.GroupObject): table[]",
    text = "Its members: client, host, partitions.",
    usage = 'group "name":members()',
    about = "assignment is what the member has, target what it is to have where that is something else. silent_ms is how "
      .. "long ago it was last heard of: a heartbeat, or whatever else counts as one.",
    example = 'group "orders":members()', setup = M.SETUP },
  { name = "group:offsets", group = "groups", type = "fun(self: luka.GroupObject): table[]",
    text = "What it has committed, and the lag, by partition.",
    usage = 'group "name":offsets()',
    about = "offset is that of the next record to be consumed; without one nothing is committed. end_offset is that of "
      .. "the next record to be written.",
    example = 'group "orders":offsets()', setup = M.SETUP },
}

local GROUPS = { "name", "type", "state", "members", "lag", "shard", "error" }
local DESCRIBE = { "name", "type", "state", "waits_for", "rebalance_time", "rebalance_reason", "protocol_type", "protocol",
  "assignor", "generation", "epoch", "assignment_epoch", "shard", "lag", "members", "offsets" }
-- A narrow terminal shows the first columns only.
local MEMBERS = { "client_id", "host", "silent_ms", "instance_id", "assignment", "target", "topics", "regex", "epoch", "rack", "member_id" }
local OFFSETS = { "topic", "partition", "offset", "end_offset", "lag", "client_id", "metadata", "member_id" }
--- Columns that are left out where no row has them.
local RARE_GROUPS = { error = true }
local RARE_MEMBERS = { silent_ms = true, instance_id = true, target = true, regex = true, epoch = true, rack = true }
local RARE_OFFSETS = { client_id = true, metadata = true, member_id = true }

--- How many shards there are; nil: none yet.
local function shard_count(context)
  for _, topic in ipairs(context.admin.topics()) do
    if topic.name == coordinator.TOPIC then return #topic.partitions end
  end
  return nil
end

--- The group as it is now, with all that words show of it.
local function look(context, name)
  local found = explain.group(context, name, nil, context.admin.group)
  local inside = context.task.await(context.native.group(name))
  found.shard = java_hash.partition(name, shard_count(context))
  local clients = {}
  for _, member in ipairs(found.members) do
    clients[member.member_id] = member.client_id
    member.silent_ms = inside and inside.silent[member.member_id]
  end
  for _, row in ipairs(found.offsets) do
    row.member_id, row.client_id, row.member = row.member, clients[row.member], nil
  end
  if found.type == "consumer" then
    found.waits_for = waits.consumer(found)
  elseif inside and inside.is_classic then
    found.generation, found.waits_for = inside.generation, waits.classic(inside)
    found.rebalance_time, found.rebalance_reason = inside.rebalance_time, inside.rebalance_reason
  end
  sort(found.members, function(a, b)
    if a.client_id ~= b.client_id then return a.client_id < b.client_id end
    return a.member_id < b.member_id
  end)
  view.list(found.members, view.used(found.members, MEMBERS, RARE_MEMBERS))
  view.list(found.offsets, view.used(found.offsets, OFFSETS, RARE_OFFSETS))
  return found
end

M.group_methods = {}

function M.group_methods.describe(context, name) return view.record(look(context, name), DESCRIBE) end

function M.group_methods.members(context, name) return look(context, name).members end

function M.group_methods.offsets(context, name) return look(context, name).offsets end

--- What changes a group is a word, not a method.
local HINTS = {
  delete = 'delete_group "name" deletes a group', delete_offsets = 'delete_offsets("name", "topic") deletes offsets',
  reset = 'reset_offsets("name", { to = "earliest" }) puts its offsets elsewhere',
  reset_offsets = 'reset_offsets("name", { to = "earliest" }) puts its offsets elsewhere',
  commit = 'commit("name", "topic", partition, offset) commits an offset',
  kick = 'kick("name", member) takes a member out', lag = 'group "name":offsets() shows the lag by partition',
}

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}
  local group_of = object.new(context, { name = "group", methods = context.group_methods, hints = HINTS,
    on_call = 'a group takes no options: group "orders":members()',
    on_set = "groups are changed with reset_offsets(), commit() and kick()" })

  function words.groups(part)
    if part ~= nil and type(part) ~= "string" then arguments.refuse("groups", part, 'a part of a name: "orders"') end
    local rows = context.admin.groups { part = part }
    local count = #rows > 0 and shard_count(context)
    for _, row in ipairs(rows) do row.shard = java_hash.partition(row.name, count) end
    return view.list(rows, view.used(rows, GROUPS, RARE_GROUPS))
  end

  function words.group(name)
    name = arguments.group("group", name)
    explain.group(context, name, nil, context.admin.group)
    return group_of(name)
  end

  return words
end

return M
