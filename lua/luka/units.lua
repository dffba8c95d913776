-- SPDX-License-Identifier: Apache-2.0
-- Durations in milliseconds and sizes in bytes, for configuration files.
local M = {}

M.KiB = 1024
M.MiB = 1024 * 1024
M.GiB = 1024 * 1024 * 1024

local function check(word, count)
  if type(count) == "number" then return end
  local shown = type(count) == "string" and ('"%s"'):format(count) or tostring(count)
  error(("%s: got %s, expected a number: %s(7)"):format(word, shown, word), 3)
end

--- Milliseconds of so many seconds.
---
---@param count number
---@return number ms
function M.seconds(count)
  check("seconds", count)
  return count * 1000
end

--- Milliseconds of so many minutes.
---
---@param count number
---@return number ms
function M.minutes(count)
  check("minutes", count)
  return count * 60000
end

--- Milliseconds of so many hours.
---
---@param count number
---@return number ms
function M.hours(count)
  check("hours", count)
  return count * 3600000
end

--- Milliseconds of so many days.
---
---@param count number
---@return number ms
function M.days(count)
  check("days", count)
  return count * 86400000
end

return M
