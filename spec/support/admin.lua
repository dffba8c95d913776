-- SPDX-License-Identifier: Apache-2.0
--
-- `admin.*` over a TCP connection, as the program has it over a channel in the process.
require "spec.support.wire"
local time = require "posix.time"
local admin = require "luka.admin"
local errors = require "luka.errors"

local M = {}

--- A transport for luka.admin over a connection.
---
---@param client spec.Client
---@return luka.Transport
function M.transport(client)
  local transport = {}
  function transport:call(request) -- luacheck: ignore self
    client:send_frame(request)
    local frame, why = client:receive_frame()
    if not frame then errors.raise("disconnected", "the broker did not answer: %s", why) end
    return frame
  end
  function transport:wait(ms) -- luacheck: ignore self
    time.nanosleep { tv_sec = math.floor(ms / 1000), tv_nsec = ms % 1000 * 1e6 }
  end
  return transport
end

--- The administration of a broker.
---
---@param broker spec.Broker
---@return luka.Admin
function M.of(broker) return admin.new(M.transport(broker:connect())) end

--- Calls a function that must fail; the error.
---
---@return luka.Error
function M.refusal(fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then error("it did not fail", 2) end
  if not errors.is(err) then error("not an error for users: " .. tostring(err), 2) end
  return err
end

return M
