-- SPDX-License-Identifier: Apache-2.0
-- reload() and stop(): the broker as a whole.
local view = require "luka.view"

local M = {}

---@type luka.Word[]
M.entries = {
  {
    name = "reload", group = "broker", type = "fun(): table[]", usage = "reload()",
    text = "Reads the configuration again; shows what came of it.",
    about = "All of the file is put in force, or with an error, which names the line, nothing. What is read at the start "
      .. "only is shown as \"needs restart\", and stays as it was. What clients have changed since stays too: on a topic "
      .. "until its block in the file changes, on the broker for good.",
    example = "reload()",
  },
  {
    name = "stop", group = "broker", type = "fun()", usage = "stop()",
    text = "Stops the broker cleanly; asks first on a terminal.",
    about = "It stops as with SIGTERM, once this code has ended. The console's connection ends with the broker.",
    example = "stop()",
  },
}

--- The words of a session.
---
---@param context luka.Words.Context
---@return table<string, any>
function M.new(context)
  local native, task = context.native, context.task
  local words = {}

  --- What came of it: outcome ("applied", "needs restart", "kept" or "unchanged"), what, old, new. Raises a luka.Error of
  --- the code "config" with the one line that says why nothing was done.
  function words.reload()
    local rows = native.reload()
    if #rows == 0 then rows = { { outcome = "unchanged", what = "the configuration" } } end
    return view.list(rows, { "outcome", "what", "old", "new" })
  end

  --- The broker stops when the client has been told that its code is through.
  function words.stop()
    if not task.confirm "Stop the broker?" then return end
    local current = task.current()
    local on_end = current.on_end
    function current.on_end(...)
      on_end(...)
      native.stop()
    end
  end

  return words
end

return M
