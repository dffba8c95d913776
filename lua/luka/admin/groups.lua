-- SPDX-License-Identifier: Apache-2.0
-- admin.groups, group, delete_group, remove_members, find_coordinator: groups and their members.
local arguments = require "luka.admin.arguments"
local calls = require "luka.admin.call"
local codec = require "luka.wire.codec"
local coordinator = require "luka.admin.coordinator"
local errors = require "luka.errors"
local members_of = require "luka.admin.members"
local offsets = require "luka.admin.offsets"
local sort = require "luka.sort"

---@class (exact) luka.Group
---@field name string
---@field type string  "classic", "consumer"
---@field state string  as Kafka calls it: "Stable", "Empty", "PreparingRebalance" ...
---@field protocol_type string?  of a classic group; nil: offsets alone
---@field protocol string?  what its members have agreed on: "range"
---@field assignor string?  of a consumer group
---@field epoch integer?  of a consumer group: of its members and subscriptions
---@field assignment_epoch integer?  and of its assignment
---@field members luka.Member[]
---@field offsets luka.GroupOffset[]  of partitions with an offset, and of those that a member has
---@field lag integer  records that are not consumed yet, of all partitions with an offset

local M = {}

--- Groups whose members and offsets are asked for at once.
local AT_ONCE = 100

local GROUP_ID_NOT_FOUND, CONSUMER_GROUP_DESCRIBE = 69, 69 -- an error code, and an api key

local function quoted(name) return ('group "%s"'):format(name) end

local function codes_of(list)
  local codes = {}
  for i, entry in ipairs(list) do codes[i] = entry.error_code end
  return codes
end

--- Raises that there is no such group.
local function missing(name) calls.check(GROUP_ID_NOT_FOUND, nil, quoted(name)) end

--- Makes the function that tells whether the broker has groups of the consumer protocol at all; it is asked once.
local function served_by(call)
  local is_served
  return function()
    if is_served == nil then
      is_served = false
      local body = { client_software_name = calls.CLIENT_ID, client_software_version = "1" }
      for _, api in ipairs(call("ApiVersions", body).api_keys) do
        is_served = is_served or api.api_key == CONSUMER_GROUP_DESCRIBE
      end
    end
    return is_served
  end
end

--- A group as DescribeGroups tells it.
local function classic_of(group)
  local found = { name = group.group_id, type = "classic", state = group.group_state, members = {},
    protocol_type = group.protocol_type ~= "" and group.protocol_type or nil,
    protocol = group.protocol_data ~= "" and group.protocol_data or nil }
  for i, member in ipairs(group.members) do found.members[i] = members_of.classic(member, group.protocol_type) end
  return found
end

--- A group as ConsumerGroupDescribe tells it.
local function consumer_of(group)
  local found = { name = group.group_id, type = "consumer", state = group.group_state, assignor = group.assignor_name,
    epoch = group.group_epoch, assignment_epoch = group.assignment_epoch, members = {} }
  for i, member in ipairs(group.members) do found.members[i] = members_of.consumer(member) end
  return found
end

--- What DescribeGroups and ConsumerGroupDescribe tell of groups, by name; those that are not there are left out. `failed`
--- gets the sentences of those with errors, by name; nil: they are raised.
local function describe(ask, has_consumer_groups, names, failed)
  local out, others = {}, {}
  local function codes(body) return codes_of(body.groups) end
  local answer = ask(names[1], "DescribeGroups", { groups = names }, codes, true, failed ~= nil)
  if not answer then return out end
  for _, group in ipairs(answer.groups) do
    if group.error_code == GROUP_ID_NOT_FOUND then
      others[#others + 1] = group.group_id -- it is not of this kind, or not there
    elseif calls.note(failed, group.group_id, group.error_code, group.error_message, quoted(group.group_id)) then
      out[group.group_id] = classic_of(group)
    end
  end
  if #others == 0 or not has_consumer_groups() then return out end
  answer = ask(others[1], "ConsumerGroupDescribe", { group_ids = others }, codes, true, failed ~= nil)
  for _, group in ipairs(answer and answer.groups or {}) do
    if group.error_code ~= GROUP_ID_NOT_FOUND
      and calls.note(failed, group.group_id, group.error_code, group.error_message, quoted(group.group_id)) then
      out[group.group_id] = consumer_of(group)
    end
  end
  return out
end

--- Which member of a group is meant.
local function find_member(group, given)
  local wanted = type(given) == "table" and (given.member_id or given.instance_id) or given
  if type(wanted) ~= "string" or wanted == "" then
    arguments.refuse("remove_members", given, 'a member id or an instance id, or "all"')
  end
  for _, field in ipairs { "member_id", "instance_id" } do
    for _, member in ipairs(group.members) do
      if member[field] == wanted then return member end
    end
  end
  local names = {}
  for i, member in ipairs(group.members) do names[i] = member.instance_id or member.member_id end
  table.sort(names)
  local shown = table.concat(names, ", ", 1, math.min(#names, 5)) .. (#names > 5 and " ..." or "")
  errors.raise("UNKNOWN_MEMBER_ID", '%s has no member "%s"%s', quoted(group.name), wanted:sub(1, 100),
    #names == 0 and ": it has none" or ", only " .. shown)
end

--- Adds the functions to admin.
---
---@param admin luka.Admin
---@param call fun(api: string, body: table): table
---@param transport luka.Transport
function M.add(admin, call, transport)
  local ask, has_consumer_groups = coordinator.new(admin, call, transport), served_by(call)

  --- All groups, by name. Options: part, of the names that are meant; lag = false leaves out members and lag, which take
  --- some requests more. Of a group that cannot be asked for them `error` says why.
  ---
  ---@param options { part: string?, lag: boolean? }?
  ---@return { name: string, type: string, state: string, protocol_type: string?, members: integer?, lag: integer?,
  ---   error: string? }[]
  function admin.groups(options)
    options = arguments.options("groups", options, { lag = true, part = true })
    local part = options.part
    if part ~= nil and type(part) ~= "string" then arguments.refuse("groups: part", part, "a part of a name") end
    local answer = ask("", "ListGroups", {}, function(body) return { body.error_code } end, true)
    if not answer then return {} end
    calls.check(answer.error_code, nil, "the groups")
    local list = {}
    for _, group in ipairs(answer.groups) do
      if not part or group.group_id:find(part, 1, true) then
        list[#list + 1] = { name = group.group_id, type = group.group_type:lower(), state = group.group_state,
          protocol_type = group.protocol_type ~= "" and group.protocol_type or nil }
      end
    end
    sort(list, function(a, b) return a.name < b.name end)
    if options.lag == false then return list end
    local ends = {}
    for from = 1, #list, AT_ONCE do
      local upto, names, failed = math.min(from + AT_ONCE - 1, #list), {}, {}
      for i = from, upto do names[#names + 1] = list[i].name end
      local groups, committed = describe(ask, has_consumer_groups, names, failed), offsets.fetch(ask, names, failed)
      for i = from, upto do
        local name = list[i].name
        list[i].members = groups[name] and #groups[name].members
        list[i].lag, list[i].error = committed[name] and offsets.add_lag(call, committed[name], ends), failed[name]
      end
    end
    return list
  end

  --- How far groups are behind, a row for each partition that they have committed something of; and why groups are left
  --- out, by name.
  ---
  ---@param part string?  of the names of groups that are meant
  ---@return { group: string, topic: string, partition: integer, offset: integer, end_offset: integer?, lag: integer? }[]
  ---@return table<string, string> failed
  function admin.lag(part)
    if part ~= nil and type(part) ~= "string" then arguments.refuse("lag", part, 'a part of a name: "orders"') end
    local list, rows, ends, failed = admin.groups { part = part, lag = false }, {}, {}, {}
    for from = 1, #list, AT_ONCE do
      local names = {}
      for i = from, math.min(from + AT_ONCE - 1, #list) do names[#names + 1] = list[i].name end
      local committed = offsets.fetch(ask, names, failed)
      for _, name in ipairs(names) do
        offsets.add_lag(call, committed[name] or {}, ends)
        for _, row in ipairs(committed[name] or {}) do
          row.group = name
          rows[#rows + 1] = row
        end
      end
    end
    return rows, failed
  end

  --- A group with its members, offsets and lag. Errors: GROUP_ID_NOT_FOUND and others.
  ---
  ---@param name string
  ---@return luka.Group
  function admin.group(name)
    name = arguments.group("group", name)
    local group = describe(ask, has_consumer_groups, { name })[name]
    if not group then missing(name) end
    group.offsets = offsets.with_assigned(offsets.fetch(ask, { name })[name] or {}, group.members)
    group.lag = offsets.add_lag(call, group.offsets, {})
    return group
  end

  --- Which broker coordinates a group. Makes the topic of offsets when it is not there.
  ---
  ---@param name string
  ---@return integer broker
  function admin.find_coordinator(name)
    name = arguments.group("find_coordinator", name)
    local found = ask(name, "FindCoordinator", { key_type = 0, coordinator_keys = { name } },
      function(body) return codes_of(body.coordinators) end).coordinators[1]
    calls.check(found.error_code, found.error_message, quoted(name))
    return found.node_id
  end

  --- Deletes a group without members, with its offsets. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP and others.
  ---
  ---@param name string
  function admin.delete_group(name)
    name = arguments.group("delete_group", name)
    local answer = ask(name, "DeleteGroups", { groups_names = { name } },
      function(body) return codes_of(body.results) end, true)
    if not answer then missing(name) end
    local result = answer.results[1]
    calls.check(result.error_code, result.error_message, quoted(name))
  end

  --- Takes members of the consumer protocol out: they leave, as if they had said so themselves.
  local function remove_consumer(name, member)
    local answer = ask(name, "ConsumerGroupHeartbeat", { group_id = name, member_id = member.member_id,
      instance_id = member.instance_id or codec.NULL, member_epoch = -1 },
      function(body) return { body.error_code } end)
    calls.check(answer.error_code, answer.error_message, ('%s, member "%s"'):format(quoted(name), member.member_id))
  end

  --- Takes members that speak the classic protocol out.
  local function remove_classic(name, leaving, reason)
    local body = {}
    for i, member in ipairs(leaving) do
      body[i] = { member_id = member.member_id, group_instance_id = member.instance_id or codec.NULL, reason = reason }
    end
    local answer = ask(name, "LeaveGroup", { group_id = name, members = body },
      function(got) return { got.error_code } end)
    calls.check(answer.error_code, nil, quoted(name))
    for i, result in ipairs(answer.members) do
      calls.check(result.error_code, nil, ('%s, member "%s"'):format(quoted(name), leaving[i].member_id))
    end
  end

  --- Takes members out of a group, as if they left: the others get their partitions. A consumer that is still there joins
  --- again.
  ---
  ---@param name string
  ---@param which "all"|string|(string|{ member_id: string? , instance_id: string? })[]  member ids or instance ids
  ---@param reason string?  shown with the rebalance that it brings about, as what the member says
  ---@return luka.Member[] removed
  function admin.remove_members(name, which, reason)
    name = arguments.group("remove_members", name)
    if reason ~= nil and type(reason) ~= "string" then arguments.refuse("remove_members: reason", reason, "a text") end
    local group = describe(ask, has_consumer_groups, { name })[name]
    if not group then missing(name) end
    local leaving = group.members
    if which ~= "all" then
      leaving = {}
      local list = type(which) == "table" and which[1] ~= nil and which or { which }
      if which == nil then find_member(group, nil) end
      for i, given in ipairs(list) do leaving[i] = find_member(group, given) end
    end
    local classic = {}
    for _, member in ipairs(leaving) do
      if member.protocol == "classic" then classic[#classic + 1] = member else remove_consumer(name, member) end
    end
    if #classic > 0 then remove_classic(name, classic, reason or "removed by an administrator") end
    return leaving
  end
end

return M
