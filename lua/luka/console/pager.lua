-- SPDX-License-Identifier: Apache-2.0
-- Shows a long text in the user's pager.
local libc = require "luka.ffi.libc"

local M = {}

--- less, where it is installed; it must not clear the screen at its end, must let colours through and must know UTF-8.
local DEFAULT = "command -v less >/dev/null 2>&1 || exit 127; LESSCHARSET=utf-8 exec less -FRX"
local NOT_FOUND = 127

--- Shows a text and waits until the pager has ended.
---
---@param whole string
---@param events luka.console.Events
---@return boolean is_shown  false: there is no pager
function M.show(whole, events)
  local command = os.getenv "LUKA_PAGER" or os.getenv "PAGER"
  if command and command:find "^%s*$" or command == "cat" then return false end
  local pid, pipe = libc.spawn_reader(command or DEFAULT)
  if not pid then return false end
  events:write(pipe, whole)
  libc.close(pipe --[[@as integer]])
  local status = libc.wait(pid)
  events:take_signals()
  events:take_interrupt() -- Ctrl-C was for the pager
  return status ~= NOT_FOUND
end

return M
