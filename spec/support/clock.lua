-- SPDX-License-Identifier: Apache-2.0
--
-- A broker whose calendar is ahead, for what takes minutes or days: start one, stop it, start it again with
-- `env = clock.ahead(ms)` on the same data.
local unistd = require "posix.unistd"

local M = {}

--- The environment of such a broker.
---
---@param ms integer
---@return table<string, string>
function M.ahead(ms)
  local library = os.getenv "LUKA_FAULTS_SO"
  assert(library and library ~= "", "LUKA_FAULTS_SO does not name build/*/faults.so: run this by make test")
  return { LUKA_CLOCK_AHEAD_MS = ("%d"):format(ms),
    LD_PRELOAD = library:match "^/" and library or unistd.getcwd() .. "/" .. library,
    ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":verify_asan_link_order=0" }
end

return M
