-- SPDX-License-Identifier: Apache-2.0
-- admin.offsets, commit_offsets, delete_offsets: what groups have committed; and how far behind the ends they are.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local codec = require "luka.wire.codec"
local coordinator = require "luka.admin.coordinator"
local errors = require "luka.errors"
local sort = require "luka.sort"

---@class (exact) luka.GroupOffset
---@field topic string
---@field partition integer
---@field offset integer?  of the next record that is consumed; nil: none is committed
---@field end_offset integer?  that the next record gets; nil: not known
---@field lag integer?  records between the two
---@field metadata string?
---@field leader_epoch integer?
---@field member string?  id of the member that has the partition

local M = {}

local INT32_MAX = 2 ^ 31 - 1

local function by_partition(a, b)
  if a.topic ~= b.topic then return a.topic < b.topic end
  return a.partition < b.partition
end

local function what(group, topic, partition)
  return ('group "%s", topic "%s" partition %d'):format(group, topic, partition)
end

--- All error codes of an answer about topics and partitions.
local function codes_of(answer)
  local codes = { answer.error_code }
  for _, topic in ipairs(answer.topics) do
    for _, part in ipairs(topic.partitions) do codes[#codes + 1] = part.error_code end
  end
  return codes
end

--- What a group has committed; nil with an error, see calls.note().
local function rows_of(group, failed)
  local name, rows = group.group_id, {}
  if not calls.note(failed, name, group.error_code, nil, ('group "%s"'):format(name)) then return nil end
  for _, topic in ipairs(group.topics) do
    for _, part in ipairs(topic.partitions) do
      local whose = what(name, topic.name, part.partition_index)
      if not calls.note(failed, name, part.error_code, nil, whose) then return nil end
      if part.committed_offset ~= -1 then
        rows[#rows + 1] = { topic = topic.name, partition = part.partition_index, offset = part.committed_offset,
          metadata = part.metadata ~= "" and part.metadata or nil,
          leader_epoch = part.committed_leader_epoch ~= -1 and part.committed_leader_epoch or nil }
      end
    end
  end
  sort(rows, by_partition)
  return rows
end

--- The committed offsets of groups, by name.
---
---@param ask luka.Coordinator.Ask
---@param names string[]
---@param failed table<string, string>?  gets the sentences of groups with errors, which are left out; nil: they are raised
---@return table<string, luka.GroupOffset[]>  sorted; a group without any has an empty list
function M.fetch(ask, names, failed)
  local body, out = {}, {}
  for i, name in ipairs(names) do body[i] = { group_id = name, topics = codec.NULL } end
  local answer = ask(names[1], "OffsetFetch", { groups = body, require_stable = false }, function(got)
    local codes = {}
    for i, group in ipairs(got.groups) do codes[i] = group.error_code end
    return codes
  end, true, failed ~= nil)
  for _, group in ipairs(answer and answer.groups or {}) do
    out[group.group_id] = rows_of(group, failed)
  end
  return out
end

--- The offsets that the next records get, of partitions that are not in `known` yet; those that are not there stay out.
local function learn_ends(call, rows, known)
  local topics, body = {}, {}
  for _, row in ipairs(rows) do
    known[row.topic] = known[row.topic] or {}
    if known[row.topic][row.partition] == nil then
      known[row.topic][row.partition] = false
      local entry = topics[row.topic]
      if not entry then
        entry = { name = row.topic, partitions = {} }
        topics[row.topic], body[#body + 1] = entry, entry
      end
      table.insert(entry.partitions, { partition_index = row.partition, timestamp = -1 })
    end
  end
  if #body == 0 then return end
  for _, topic in ipairs(call("ListOffsets", { replica_id = -1, topics = body }).topics) do
    for _, part in ipairs(topic.partitions) do
      if part.error_code == 0 and part.offset ~= -1 then known[topic.name][part.partition_index] = part.offset end
    end
  end
end

--- Adds end_offset and lag to rows; the sum of what lags.
---
---@param call fun(api: string, body: table): table
---@param rows luka.GroupOffset[]
---@param ends table<string, table<integer, any>>  what is known already; added to
---@return integer lag
function M.add_lag(call, rows, ends)
  local sum = 0
  learn_ends(call, rows, ends)
  for _, row in ipairs(rows) do
    row.end_offset = ends[row.topic][row.partition] or nil
    if row.end_offset and row.offset then
      row.lag = row.end_offset - row.offset
      -- A topic that was made anew ends before the offset: nothing of it is waited for.
      if row.lag > 0 then sum = sum + row.lag end
    end
  end
  return sum
end

--- The rows of committed offsets, and of partitions that members have without one; each with its member.
---
---@param rows luka.GroupOffset[]
---@param members luka.Member[]
---@return luka.GroupOffset[]
function M.with_assigned(rows, members)
  local known = {}
  for _, row in ipairs(rows) do
    known[row.topic] = known[row.topic] or {}
    known[row.topic][row.partition] = row
  end
  for _, member in ipairs(members) do
    for topic, partitions in pairs(member.assignment or {}) do
      known[topic] = known[topic] or {}
      for _, partition in ipairs(partitions) do
        local row = known[topic][partition]
        if not row then
          row = { topic = topic, partition = partition }
          known[topic][partition], rows[#rows + 1] = row, row
        end
        row.member = member.member_id
      end
    end
  end
  sort(rows, by_partition)
  return rows
end

local OFFSET = { offset = true, metadata = true, leader_epoch = true }

--- What is to be committed for a partition.
local function commit_of(partition, given)
  local where = "commit_offsets"
  if type(given) ~= "table" then given = { offset = given } end
  arguments.options(where, given, OFFSET)
  if given.metadata ~= nil and type(given.metadata) ~= "string" then
    arguments.refuse(where .. ": metadata", given.metadata, "a text")
  end
  return { partition_index = arguments.integer(where .. ": partition", partition, 0, INT32_MAX),
    committed_offset = arguments.offset(where .. ": offset", given.offset), committed_metadata = given.metadata or "",
    committed_leader_epoch = arguments.optional_integer(where .. ": leader_epoch", given.leader_epoch, -1, INT32_MAX) or -1 }
end

--- What is given by topic, as the topics of a request.
local function topics_of(where, given, partitions_of)
  if type(given) ~= "table" or next(given) == nil then
    arguments.refuse(where, given, "a table by topic: { clicks = { [0] = 42 } }")
  end
  local body = {}
  for name, partitions in pairs(given) do
    local topic = { name = arguments.name(where, name), partitions = {} }
    partitions_of(topic, partitions)
    if #topic.partitions == 0 then arguments.refuse(where .. ": " .. topic.name, partitions, "some partitions") end
    body[#body + 1] = topic
  end
  table.sort(body, function(a, b) return a.name < b.name end)
  return body
end

--- Raises the first error of an answer, and says how many partitions it does not concern.
local function check_all(answer, group)
  local done, failed = 0, nil
  for _, topic in ipairs(answer.topics) do
    for _, part in ipairs(topic.partitions) do
      if part.error_code == 0 then
        done = done + 1
      elseif not failed then
        failed = { part.error_code, what(group, topic.name, part.partition_index) }
      end
    end
  end
  if failed then
    calls.check(failed[1], nil, failed[2],
      done > 0 and (" (those of %d %s are done)"):format(done, done == 1 and "partition" or "partitions"))
  end
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
---@param transport luka.Transport
function M.add(admin, call, transport)
  local ask = coordinator.new(admin, call, transport)

  --- What a group has committed. A group that nobody knows has nothing.
  ---
  ---@param name string
  ---@return luka.GroupOffset[]  with neither end_offset nor lag
  function admin.offsets(name)
    name = arguments.group("offsets", name)
    return M.fetch(ask, { name })[name] or {}
  end

  --- Commits offsets in the name of a group, from outside: a group that has members refuses that. Makes the group when
  --- there is none. Errors: UNKNOWN_MEMBER_ID (it has members), UNKNOWN_TOPIC_OR_PARTITION, OFFSET_METADATA_TOO_LARGE ...
  ---
  ---@param name string
  ---@param given table<string, table<integer, integer|{ offset: integer, metadata: string?, leader_epoch: integer? }>>
  function admin.commit_offsets(name, given)
    name = arguments.group("commit_offsets", name)
    local body = topics_of("commit_offsets", given, function(topic, partitions)
      for partition, offset in pairs(arguments.list("commit_offsets: " .. topic.name, partitions)) do
        table.insert(topic.partitions, commit_of(partition, offset))
      end
      sort(topic.partitions, function(a, b) return a.partition_index < b.partition_index end)
    end)
    local answer = ask(name, "OffsetCommit", { group_id = name, generation_id_or_member_epoch = -1, member_id = "",
      group_instance_id = codec.NULL, topics = body }, codes_of)
    check_all(answer, name)
  end

  --- Deletes what a group has committed. Members that are subscribed to the topic are in the way. Errors:
  --- GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC and others.
  ---
  ---@param name string
  ---@param given table<string, integer[]>  partitions by topic
  function admin.delete_offsets(name, given)
    name = arguments.group("delete_offsets", name)
    local body = topics_of("delete_offsets", given, function(topic, partitions)
      for i, partition in ipairs(arguments.list("delete_offsets: " .. topic.name, partitions)) do
        topic.partitions[i] = { partition_index = arguments.integer("delete_offsets: partition", partition, 0, INT32_MAX) }
      end
    end)
    local answer = ask(name, "OffsetDelete", { group_id = name, topics = body }, codes_of, true)
    if not answer then errors.raise("GROUP_ID_NOT_FOUND", 'there is no group "%s"', name) end
    calls.check(answer.error_code, nil, ('group "%s"'):format(name))
    check_all(answer, name)
  end
end

return M
