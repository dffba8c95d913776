-- SPDX-License-Identifier: Apache-2.0
-- What `broker { unsafe = true }` adds for user code: programs, files and the FFI. No limit of time or memory holds what
-- they do, and ffi can do everything, so the sandbox is none from there on. os.exit, os.setlocale and debug stay away:
-- they would end or upset the broker, and nobody needs them for what this is for.
local library = require "luka.native.library"

local M = {}

--- What stands behind the name of something that is not there without it.
M.PROBLEM = "is out of reach of a configuration: it needs broker { unsafe = true } before it"

--- Functions of the library os.
M.OS = { "execute", "remove", "rename", "tmpname" }

--- Names that there are with it.
M.NAMES = { ffi = true, io = true }
for _, name in ipairs(M.OS) do M.NAMES["os." .. name] = true end

--- Adds them to an environment.
---
---@param env table
---@param os_functions table  what its read-only library os shows
function M.add(env, os_functions)
  for _, name in ipairs(M.OS) do os_functions[name] = os[name] end
  rawset(env, "io", library.standard "io")
end

return M
