-- SPDX-License-Identifier: Apache-2.0
-- What a group waits for, and for whom, in words. Of classic groups no request of Kafka's tells that: the facts come from
-- the coordinator itself (core/lua/inspect.h, `group`). Members of consumer groups show it by their epochs.
local sort = require "luka.sort"
local text = require "luka.words.text"

---@class (exact) luka.GroupInside
---@field now integer  ms since 1970
---@field silent table<string, integer>  by member id: ms since it was last heard of
---@field is_classic boolean  it is of the classic protocol or without members: then there is the rest
---@field generation integer
---@field members integer  how many
---@field is_initial_delay boolean  it waits for more members to come
---@field is_storing boolean  it waits until its assignment is written
---@field until_time integer?  when the wait ends whoever has come, ms since 1970
---@field rebalance_time integer?  when the last rebalance began
---@field rebalance_reason string?
---@field awaited luka.AwaitedMember[]
---@field awaited_total integer  those that are not named too

---@class (exact) luka.AwaitedMember
---@field wait "join"|"first_join"|"assignment"|"sync"
---@field member_id string
---@field instance_id string?
---@field client_id string
---@field host string
---@field silent_ms integer  since it was last heard of
---@field until_time integer?  when it is out if nothing more is heard of it

local M = {}

--- Members that are named.
local NAMED = 5

local function at(ms) return os.date("!%H:%M:%SZ", math.floor(tonumber(ms) / 1000)) end

local function silence(ms)
  if ms < 1000 then return "heard of just now" end
  return ("silent for %s"):format(text.duration(math.floor(tonumber(ms) / 1000) * 1000))
end

--- "consumer-3 (10.0.0.7, silent for 12 seconds, until 14:03:20Z)".
local function name_of(member, until_time)
  local about = { (member.host:gsub("^/", "")) }
  if member.silent_ms then about[#about + 1] = silence(member.silent_ms) end
  local own = member.until_time
  local upto = own and until_time and math.min(own, until_time) or own or until_time
  if upto then about[#about + 1] = "until " .. at(upto) end
  local name = member.instance_id or member.client_id ~= "" and member.client_id or member.member_id
  return ("%s (%s)"):format(name, table.concat(about, ", "))
end

--- The names of members, those first that are silent for the longest.
local function names_of(list, total, until_time)
  sort(list, function(a, b)
    if a.silent_ms ~= b.silent_ms then return (a.silent_ms or 0) > (b.silent_ms or 0) end
    return a.member_id < b.member_id
  end)
  local names = {}
  for i = 1, math.min(#list, NAMED) do names[i] = name_of(list[i], until_time) end
  if total > #names then names[#names + 1] = ("and %d more"):format(total - #names) end
  return table.concat(names, ", ")
end

--- For what, in the order in which it is said: how the sentence begins, of how many and of how many members.
---@type { [1]: string, [2]: fun(count: integer, members: integer): string }[]
local WAITS = {
  { "join", function(count, members)
    return ("%d of %s to join again"):format(count, text.count(members, "member"))
  end },
  { "first_join", function(count)
    return count == 1 and "a new member to join with its id" or count .. " new members to join with their ids"
  end },
  { "assignment", function() return "the assignment by the leader" end },
  { "sync", function(count, members)
    return ("%d of %s to take the assignment"):format(count, text.count(members, "member"))
  end },
}

--- What a classic group waits for; nil: for nothing.
---
---@param inside luka.GroupInside
---@return string?
function M.classic(inside)
  if inside.is_initial_delay then return "more members that join, until " .. at(inside.until_time) end
  if inside.is_storing then return "its assignment to be written" end
  local by_wait, parts = {}, {}
  for _, member in ipairs(inside.awaited) do
    by_wait[member.wait] = by_wait[member.wait] or {}
    table.insert(by_wait[member.wait], member)
  end
  -- Those that the core does not name any more wait for the same as the last one that it does.
  local last, unnamed = inside.awaited[#inside.awaited], inside.awaited_total - #inside.awaited
  for _, pair in ipairs(WAITS) do
    local list = by_wait[pair[1]]
    if list then
      local total = #list + (last.wait == pair[1] and unnamed or 0)
      parts[#parts + 1] = ("%s: %s"):format(pair[2](total, inside.members), names_of(list, total, inside.until_time))
    end
  end
  return parts[1] and table.concat(parts, "; ") or nil
end

--- What a consumer group waits for: members that have not taken up the newest assignment, or still have partitions of
--- others. Nil: for nothing.
---
---@param group luka.Group
---@return string?
function M.consumer(group)
  if group.epoch ~= group.assignment_epoch then return "its assignment to be made" end
  local list = {}
  for _, member in ipairs(group.members) do
    if member.epoch ~= group.epoch or member.target then list[#list + 1] = member end
  end
  if #list == 0 then return nil end
  return ("%d of %s to take up the new assignment: %s"):format(#list, text.count(#group.members, "member"),
    names_of(list, #list))
end

return M
