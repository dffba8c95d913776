-- SPDX-License-Identifier: Apache-2.0
-- Broker configs that depend on each other, or have a form that their type does not tell. The parts that use them check
-- them too, when they are given them; here is said what is wrong before anything starts, and where.
local failure = require "luka.config.failure"
local kafka = require "luka.config.kafka"
local value_of = require "luka.config.value"

local M = {}

local COUNT_MAX = 2147483647

--- "host:count" lists. Whether there are such hosts only a start can know.
local function check_overrides(setting)
  for entry in (setting.value .. ","):gmatch "([^,]*)," do
    local count = entry:match "^%s*[^%s:].*:(%d+)%s*$"
    local is_none = setting.value:match "^%s*$"
    if not is_none and (not count or tonumber(count) > COUNT_MAX) then
      failure.raise(setting.origin, setting.path, "got %s, expected host:count, with a count from 0 to %d, or several with "
        .. "commas between", value_of.show(setting.value), COUNT_MAX)
    end
  end
end

--- Checks what was given to `broker`, `defaults` and --set.
---
---@param settings table<string, luka.Setting>  by Kafka's name; texts that each are right
function M.check(settings)
  local overrides = settings["max.connections.per.ip.overrides"]
  if overrides then check_overrides(overrides) end
  local per_ip = settings["max.connections.per.ip"]
  if per_ip and tonumber(per_ip.value) == 0 and not (overrides and overrides.value:find "%S") then
    failure.raise(per_ip.origin, per_ip.path, "can be 0 only if max_connections_per_ip_overrides is set")
  end
  local memory, largest = settings["queued.max.request.bytes"], settings["socket.request.max.bytes"]
  local bytes = tonumber(largest and largest.value or kafka.BROKER["socket.request.max.bytes"].default)
  if memory and tonumber(memory.value) > 0 and tonumber(memory.value) < bytes then
    failure.raise(memory.origin, memory.path, "got %s, expected at least socket_request_max_bytes (%d), or 0 for no bound",
      memory.value, bytes)
  end
end

return M
