-- SPDX-License-Identifier: Apache-2.0
-- Memory that runs short hurts who took it. Whoever allocates the last bytes gets the error, and that need not be the one
-- who holds the rest; so it is not let come to that: after each slice of a task the heap is looked at, collected when it
-- has grown, and when even then little is free, the session that holds most loses its task and its globals.
--
-- C counts for each session what it has allocated and not freed (core/lua/state.c).
local M = {}

--- Share of the cap up to which the heap is left alone, and which may be in use after a collection.
M.COLLECT, M.FULL = 0.6, 0.75

--- By which the memory of the configuration's functions is counted; consoles have 1 to 64.
M.POLICIES = 65

local native
local sessions = {}
local collect_at, known_cap -- the cap changes with a reload

--- Called once, with the functions of C.
function M.open(functions) native = functions end

--- Registers a session: the number that its memory is counted by; nil when there are too many.
---
---@param session { on_full: fun(self: table, text: string) }  told when it has lost what it had
---@return integer? owner
function M.add(session)
  for owner = 1, 64 do
    if not sessions[owner] then
      sessions[owner] = session
      return owner
    end
  end
  return nil
end

--- Registers the configuration's functions.
---
---@param policies { on_full: fun(self: table, text: string) }
function M.add_policies(policies) sessions[M.POLICIES] = policies end

--- A session is over.
---@param owner integer
function M.remove(owner)
  sessions[owner] = nil
  if next(sessions) == nil then collectgarbage() end
end

--- What to say of memory that ran out.
---@return string
function M.text()
  local _, cap = native.memory()
  return ("not enough memory: all consoles, hooks and timers together may use %d MiB (lua_memory)"):format(math.floor(cap / 2 ^ 20))
end

local function heaviest()
  local worst, most
  for owner, session in pairs(sessions) do
    local bytes = native.memory(owner)
    if not most or bytes > most then worst, most = session, bytes end
  end
  return worst
end

--- Looks at the heap; not from within a task.
---
---@param is_short boolean?  an allocation has just failed
function M.watch(is_short)
  local used, cap = native.memory()
  if not is_short and cap == known_cap and used < collect_at then return end
  collectgarbage()
  used = native.memory()
  if used > cap * M.FULL then
    local session = heaviest()
    if session then session:on_full(M.text()) end
    collectgarbage()
    used = native.memory()
  end
  known_cap = cap
  -- What is in use now is not garbage: the next time when half of what is free is gone.
  collect_at = math.max(cap * M.COLLECT, used + (cap - used) / 2)
end

--- Whether no more may be begun: what was begun fills the cap, and a collection does not help.
---@return boolean
function M.is_full()
  local used, cap = native.memory()
  if used < cap then return false end
  M.watch(true)
  return native.memory() >= cap
end

return M
