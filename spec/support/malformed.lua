-- SPDX-License-Identifier: Apache-2.0
--
-- Requests that cannot be decoded: the broker closes the connection without an answer, and goes on serving others.
local wire = require "spec.support.wire"

local M = {}

--- Sends one frame on a connection of its own; returns what came back before it was closed, nil if it stays open.
---
---@param broker spec.Broker
---@param payload string
function M.send(broker, payload)
  local client = broker:connect()
  client:send_frame(payload)
  local answer = client:receive_end()
  client:close()
  return answer
end

--- Sends a request cut at every length, each on a connection of its own. Returns the first length that was answered or
--- left open, nil when all were refused.
---
---@param broker spec.Broker
---@param api string
---@param version integer
---@param body table
function M.first_accepted_prefix(broker, api, version, body)
  local payload = wire.request(api, version, body)
  for size = 1, #payload - 1 do
    if M.send(broker, payload:sub(1, size)) ~= "" then return size end
  end
  return nil
end

--- A request with bytes behind its body.
function M.with_trailing_bytes(api, version, body)
  return wire.request(api, version, body) .. "trailing"
end

return M
