-- SPDX-License-Identifier: Apache-2.0
-- The transport of luka.admin inside the broker: requests go over connections within the process
-- (core/lua/script_channel.c), and only the task that asks waits.
local errors = require "luka.errors"
local task = require "luka.script.task"

local M = {}

--- A transport. It has no state: any number of tasks may use it.
---
---@param native luka.Native
---@param client_id string?  as what it asks; nil: the administration's own
---@return luka.Transport
function M.new(native, client_id)
  local transport = { client_id = client_id }

  function transport:call(request) -- luacheck: ignore self
    local response, message = task.await(native.channel(request))
    if not response then errors.raise("disconnected", "%s", message) end
    return response
  end

  function transport:wait(ms) task.sleep(ms) end -- luacheck: ignore self

  return transport
end

return M
