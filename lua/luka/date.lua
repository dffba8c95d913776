-- SPDX-License-Identifier: Apache-2.0
-- Dates and times as people write them, in ISO 8601.
local M = {}

local DAYS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_leap(year)
  return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

--- Days since 1970 of a date that exists; nil for one that does not.
local function days(year, month, day)
  if year < 1970 or month < 1 or month > 12 or day < 1 then return nil end
  if day > (month == 2 and is_leap(year) and 29 or DAYS[month]) then return nil end
  local count = (year - 1970) * 365 + math.floor((year - 1969) / 4) - math.floor((year - 1901) / 100)
    + math.floor((year - 1601) / 400) + day - 1
  for i = 1, month - 1 do count = count + (i == 2 and is_leap(year) and 29 or DAYS[i]) end
  return count
end

--- Milliseconds since 1970 of an ISO 8601 time; nil when it is none, or before 1970.
---
---@param text string  "2026-01-31", "2026-01-31T12:30", "...:15", "...:15.250", and Z, +01:00 or nothing (UTC) behind
---@return integer?
function M.parse(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  local count = year and days(tonumber(year), tonumber(month), tonumber(day))
  if not count then return nil end
  if rest == "" then return count * 86400000 end
  local hour, minute, tail = rest:match "^[T ](%d%d):(%d%d)(.*)$"
  if not hour then return nil end
  local second, fraction, zone = tail:match "^:(%d%d)(%.?%d*)(.*)$"
  if not second then second, fraction, zone = "0", "", tail end
  hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second)
  if hour > 23 or minute > 59 or second > 59 or fraction == "." or fraction ~= "" and fraction:sub(1, 1) ~= "." then return nil end
  local shift = 0
  if zone ~= "" and zone ~= "Z" then
    local sign, hours, minutes = zone:match "^([+-])(%d%d):?(%d%d)$"
    if not sign then return nil end
    shift = (tonumber(hours) * 60 + tonumber(minutes)) * (sign == "-" and -1 or 1)
  end
  local ms = fraction ~= "" and math.floor(tonumber("0" .. fraction) * 1000 + 1e-6) or 0
  local total = ((count * 24 + hour) * 60 + minute - shift) * 60000 + second * 1000 + ms
  return total >= 0 and total or nil
end

return M
