-- SPDX-License-Identifier: Apache-2.0
-- `luka version`.
local host = require "luka.native.cli"

local M = {}

---@return integer status
function M.run()
  -- core/lua/state.c works with GC64 builds only, so that need not be found out.
  io.stdout:write(("luka %s (%s, GC64)\n"):format(host.version, jit.version))
  return 0
end

return M
