-- SPDX-License-Identifier: Apache-2.0
-- Shows a long text in the user's pager.
local libc = require "luka.ffi.libc"

local M = {}

--- less has to let colours and UTF-8 through and not to clear the screen at its end, where the user has not set it up.
local SETTINGS = "export LESS=${LESS-FRX} LESSCHARSET=${LESSCHARSET-utf-8}\n"
local DEFAULT = "command -v less >/dev/null 2>&1 || exit 127\nexec less"
local NOT_FOUND, TERMINAL = 127, 0

--- Shows a text and waits until the pager has ended.
---
---@param whole string
---@param events luka.console.Events
---@return boolean is_shown  false: there is no pager
function M.show(whole, events)
  local command = os.getenv "LUKA_PAGER" or os.getenv "PAGER"
  if command and command:find "^%s*$" or command == "cat" then return false end
  local mode = libc.terminal_mode(TERMINAL)
  local pid, pipe = libc.spawn_reader(SETTINGS .. (command or DEFAULT))
  if not pid then return false end
  events:write(pipe, whole)
  libc.close(pipe --[[@as integer]])
  local status = libc.wait(pid)
  if mode then libc.set_terminal_mode(TERMINAL, mode) end -- a pager that was killed has left its own
  events:take_signals()
  events:take_interrupt() -- Ctrl-C was for the pager
  return status ~= NOT_FOUND
end

return M
