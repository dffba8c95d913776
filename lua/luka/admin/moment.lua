-- SPDX-License-Identifier: Apache-2.0
-- Times as people write them: "1h" ago, "2026-11-30T14:00:00Z".
local clock = require "luka.native.clock"

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

--- Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that the leap day is the last.
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local months = (month + 9) % 12
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * months + 2) / 5) + day - 719469
end

--- Milliseconds of a time of day behind a date, "T14:00:05.5+02:00"; what is left out is 0, and UTC. Nil: it is none.
local function time_of_day(text)
  local hour, minute, rest = text:match "^[T ](%d%d):(%d%d)(.*)$"
  if not hour then return nil end
  local second, zone = rest:match "^:(%d%d%.?%d*)(.*)$"
  if not second then second, zone = "0", rest end
  hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second)
  if hour > 23 or minute > 59 or not second or second >= 60 then return nil end
  local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
  if zone ~= "" and zone ~= "Z" and not sign then return nil end
  local ahead = sign and (tonumber(hours) * 60 + tonumber(minutes)) * (sign == "+" and 60000 or -60000) or 0
  return hour * 3600000 + minute * 60000 + math.floor(second * 1000 + 0.5) - ahead
end

--- A date, with or without a time of day and an offset from UTC, which is meant without one.
---
---@param text string  "2026-11-30", "2026-11-30T14:00:00Z", "2026-11-30 14:00"
---@return integer?  ms since 1970; nil: the text is no date, or none from 1970 on
function M.date(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  if not year or month < 1 or month > 12 or day < 1 then return nil end
  local days = days_of(year, month, day)
  if days >= days_of(year + math.floor(month / 12), month % 12 + 1, 1) then return nil end
  local time = rest == "" and 0 or time_of_day(rest)
  local ms = time and days * 86400000 + time
  return ms and ms >= 0 and ms or nil
end

return M
