-- SPDX-License-Identifier: Apache-2.0
-- Numbers as people read them: sizes, durations and times, chosen by the name of the field.
local M = {}

local SIZES = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" }
local EXACT = 2 ^ 53
local LAST_TIME_MS = 253402300799999 -- the year 9999

--- Digits after the point without zeros at their end.
local function trimmed(number, digits)
  local text = ("%%.%df"):format(digits):format(number)
  return (text:gsub("%.?0+$", ""))
end

--- All digits of a number that is whole, otherwise as short as it is exact.
---
---@param value number|ffi.cdata*  a number, or an int64
---@return string
function M.number(value)
  if type(value) == "cdata" then return (tostring(value):gsub("U?LL$", "")) end
  if value == math.floor(value) and value > -EXACT and value < EXACT then return ("%.0f"):format(value) end
  local short = ("%.14g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

--- "1.5 GiB"
---
---@param bytes number
---@return string
function M.bytes(bytes)
  if math.abs(bytes) < 1024 then return M.number(bytes) .. " B" end
  local unit = 0
  repeat
    bytes = bytes / 1024
    unit = unit + 1
  until math.abs(bytes) < 1023.95 or unit == #SIZES
  local text = ("%.1f"):format(bytes):gsub("%.0$", "")
  return text .. " " .. SIZES[unit]
end

local STEPS = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } }

--- "250ms", "1.5s", "1h 30m", "7d": at most two units.
---
---@param ms number  not negative
---@return string
function M.duration(ms)
  if ms < 1000 then return (ms == math.floor(ms) and M.number(ms) or trimmed(ms, 3)) .. "ms" end
  if ms < 60000 then return (ms == math.floor(ms / 1000) * 1000 and M.number(ms / 1000) or trimmed(ms / 1000, 2)) .. "s" end
  for i = 1, #STEPS - 1 do
    local name, size = STEPS[i][1], STEPS[i][2]
    if ms >= size then
      local count = math.floor(ms / size)
      local below, below_size = STEPS[i + 1][1], STEPS[i + 1][2]
      local rest = math.floor((ms - count * size) / below_size)
      local text = M.number(count) .. name
      return rest > 0 and ("%s %d%s"):format(text, rest, below) or text
    end
  end
end

--- "2026-11-30T01:05:48.000Z"
---
---@param ms number  since 1970, from 0 to the end of the year 9999
---@return string
function M.time(ms)
  local seconds = math.floor(ms / 1000)
  return os.date("!%Y-%m-%dT%H:%M:%S", seconds) .. (".%03dZ"):format(math.floor(ms - seconds * 1000))
end

--- A number of a field, with the unit that its name says. What cannot be meant so (-1 for none) stays a number.
---
---@param name string
---@param value number|ffi.cdata*
---@return string
function M.field(name, value)
  if type(value) == "number" and value >= 0 and value < EXACT then
    if name:find "_bytes$" then return M.bytes(value) end
    if name:find "_bytes_per_s$" then return M.bytes(value) .. "/s" end
    if name:find "_per_s$" then return M.number(value) .. "/s" end
    if name:find "_ms$" then return M.duration(value) end
    if (name == "timestamp" or name:find "_time$") and value <= LAST_TIME_MS then return M.time(value) end
  end
  return M.number(value)
end

return M
