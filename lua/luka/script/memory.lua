-- SPDX-License-Identifier: Apache-2.0
-- Memory that runs short hurts who took it. Whoever allocates the last bytes gets the error, and that need not be the one
-- who holds the rest; so it is not let come to that: after each slice of a task the heap is looked at, collected when it
-- has grown, and when even then little is free, the session that holds most loses its task and its globals.
--
-- C counts for each session what it has allocated and not freed (core/lua/state.c).
local M = {}

--- Share of the cap from which on the heap is collected, and which may be in use after that.
M.COLLECT, M.FULL = 0.6, 0.75

local native
local sessions = {}
local collect_at, cap

--- Called once, with the functions of C.
function M.open(functions)
  native = functions
  cap = select(2, native.memory())
  collect_at = cap * M.COLLECT
end

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

--- A session is over.
---@param owner integer
function M.remove(owner)
  sessions[owner] = nil
  if next(sessions) == nil then collectgarbage() end
end

--- What to say of memory that ran out.
---@return string
function M.text()
  return ("not enough memory: all consoles together may use %d MiB (lua_memory)"):format(math.floor(cap / 2 ^ 20))
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
  if not is_short and native.memory() < collect_at then return end
  collectgarbage()
  local used = native.memory()
  if used > cap * M.FULL then
    local session = heaviest()
    if session then session:on_full(M.text()) end
    collectgarbage()
    used = native.memory()
  end
  -- What is in use now is not garbage: the next time when half of what is free is gone.
  collect_at = math.max(cap * M.COLLECT, used + (cap - used) / 2)
end

--- Whether no more may be begun: what was begun fills the cap, and a collection does not help.
---@return boolean
function M.is_full()
  if native.memory() < cap then return false end
  M.watch(true)
  return native.memory() >= cap
end

return M
