-- SPDX-License-Identifier: Apache-2.0
-- Times as people write them: "1h" ago, "2026-11-30T14:00:00Z".
local clock = require "luka.native.clock"
local date = require "luka.date"

local M = {}

local UNITS = {
  ms = 1, s = 1000, second = 1000, seconds = 1000, m = 60000, minute = 60000, minutes = 60000, h = 3600000, hour = 3600000,
  hours = 3600000, d = 86400000, day = 86400000, days = 86400000,
}

--- The time that lies as long ago as a text says: "90s", "15m", "1h", "7d".
---
---@param text string
---@return integer?  ms since 1970; nil: the text says no such thing
function M.ago(text)
  local number, unit = text:match "^(%d+%.?%d*)%s*(%a+)$"
  return UNITS[unit] and math.floor(clock.now() - tonumber(number) * UNITS[unit])
end

M.date = date.parse

return M
