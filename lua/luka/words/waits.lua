-- SPDX-License-Identifier: Apache-2.0
-- What a group waits for, and for whom, in words. No request of Kafka's tells that: the facts come from the coordinator
-- itself (core/coordinator/inspect.h).
local text = require "luka.words.text"

---@class (exact) luka.GroupInside
---@field now integer  ms since 1970
---@field generation integer?  of a classic group
---@field wait "members"|"join"|"leader"|"sync"|"write"|"revoke"|nil
---@field until_time integer?  when the wait ends whoever has come, ms since 1970
---@field rebalance_time integer?  when the last rebalance began
---@field rebalance_reason string?
---@field [integer] luka.MemberInside

---@class (exact) luka.MemberInside
---@field member_id string
---@field client_id string
---@field host string
---@field instance_id string?
---@field silent_ms integer?  since it was last heard of
---@field timeout_ms integer  how long it may be silent
---@field until_time integer?  when the group goes on without it
---@field is_awaited boolean  the group waits for it
---@field is_new boolean  it has got an id, and has not joined with it yet

local M = {}

--- Members that are named.
local NAMED = 5

local function at(ms) return os.date("!%H:%M:%SZ", math.floor(tonumber(ms) / 1000)) end

local function silence(ms)
  return ms < 1000 and "heard of just now" or ("silent for %s"):format(text.duration(math.floor(tonumber(ms) / 1000) * 1000))
end

--- "consumer-3 (10.0.0.7, silent for 12 seconds, until 14:03:20Z)".
local function name_of(member)
  local about = { (member.host:gsub("^/", "")) }
  if member.is_new then about[#about + 1] = "new" end
  if member.silent_ms then about[#about + 1] = silence(member.silent_ms) end
  if member.until_time then about[#about + 1] = "until " .. at(member.until_time) end
  return ("%s (%s)"):format(member.instance_id or member.client_id ~= "" and member.client_id or member.member_id,
    table.concat(about, ", "))
end

--- Those that are waited for: the ones that are silent for the longest first.
local function awaited_of(inside)
  local list = {}
  for _, member in ipairs(inside) do
    if member.is_awaited then list[#list + 1] = member end
  end
  table.sort(list, function(a, b)
    if a.silent_ms ~= b.silent_ms then return (a.silent_ms or 0) > (b.silent_ms or 0) end
    return a.member_id < b.member_id
  end)
  local names = {}
  for i = 1, math.min(#list, NAMED) do names[i] = name_of(list[i]) end
  if #list > NAMED then names[#names + 1] = ("and %d more"):format(#list - NAMED) end
  return #list, table.concat(names, ", ")
end

local PURPOSES = { join = "to join", sync = "to take their assignment", revoke = "to give up partitions" }

--- What a group waits for; nil: for nothing.
---
---@param inside luka.GroupInside
---@return string?
function M.text(inside)
  local ends = inside.until_time and (", until %s"):format(at(inside.until_time)) or ""
  if inside.wait == "members" then return "more members that join" .. ends end
  if inside.wait == "write" then return "its assignment to be written" end
  local count, names = awaited_of(inside)
  if inside.wait == "leader" then return ("the assignment of its leader %s%s"):format(names, count == 0 and ends or "") end
  if not PURPOSES[inside.wait] or count == 0 then return nil end
  return ("%d of %s %s: %s"):format(count, text.count(#inside, "member"), PURPOSES[inside.wait], names)
end

--- Adds to members what only the coordinator knows.
---
---@param members luka.Member[]
---@param inside luka.GroupInside
function M.add(members, inside)
  local by_id = {}
  for _, member in ipairs(inside) do by_id[member.member_id] = member end
  for _, member in ipairs(members) do
    local known = by_id[member.member_id]
    if known then member.silent_ms, member.timeout_ms = known.silent_ms, known.timeout_ms end
  end
end

return M
