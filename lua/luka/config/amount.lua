-- SPDX-License-Identifier: Apache-2.0
-- Durations and sizes as people write them. Config values are numbers: "7d" and "10MB" are refused, as nobody can say
-- for all of them what they mean, and the error says what to write instead: days(7), 10 * MiB. Documentation shows
-- numbers the same way.
local units = require "luka.units"

local M = {}

--- What people call a unit of time, and our word for it.
local DURATIONS = {}
for word, names in pairs {
  seconds = "s sec secs second seconds", minutes = "m min mins minute minutes", hours = "h hr hrs hour hours",
  days = "d day days", weeks = "w week weeks", ms = "ms msec millis millisecond milliseconds",
} do
  for name in names:gmatch "%a+" do DURATIONS[name] = word end
end
local SIZES = {}
for word, names in pairs {
  KiB = "k kb kib", MiB = "m mb mib", GiB = "g gb gib", TiB = "t tb tib", bytes = "b byte bytes",
} do
  for name in names:gmatch "%a+" do SIZES[name] = word end
end

--- Words that count milliseconds, from the largest.
local DURATION_WORDS = { "days", "hours", "minutes", "seconds" }
local SIZE_WORDS = { "GiB", "MiB", "KiB" }

--- What one of a unit that a key counts in is, in ms or bytes.
local COUNTED_MS = { ms = 1, minutes = 60000, hours = 3600000 }

--- The unit that a key counts in, by its name.
---
---@param key string
---@return "ms"|"bytes"|"minutes"|"hours"|nil unit
function M.unit(key)
  local last = key:match "[._](%a+)$"
  if last == "bytes" or COUNTED_MS[last] then return last end
  return nil
end

local function plain(number)
  return number == math.floor(number) and ("%d"):format(number) or tostring(number)
end

local function duration(count, name, unit)
  local word = DURATIONS[name:lower()]
  if not word then return nil end
  if word == "weeks" then count, word = count * 7, "days" end
  local ms = word == "ms" and count or units[word](count)
  local value = ms / COUNTED_MS[unit]
  if value ~= math.floor(value) or value > 2 ^ 53 then return nil end
  if unit ~= "ms" or word == "ms" then return plain(value), value end
  return ("%s(%s)"):format(word, plain(count)), value
end

local function size(count, name)
  local word = SIZES[name:lower()]
  if not word then return nil end
  if word == "TiB" then count, word = count * 1024, "GiB" end
  local value = count * (units[word] or 1)
  if value ~= math.floor(value) or value > 2 ^ 53 then return nil end
  return units[word] and ("%s * %s"):format(plain(count), word) or plain(value), value
end

--- What somebody who wrote a text such as "7d", "10MB", "days(7)" or "64 * MiB" would have to write.
---
---@param text string
---@param unit string  of the key, as M.unit() tells
---@return string? source  "days(7)"
---@return number? value
function M.rewrite(text, unit)
  local count, name = text:match "^%s*(%d+%.?%d*)%s*%*?%s*(%a+)%s*$"
  if not count then
    name, count = text:match "^%s*(%a+)%s*%(%s*(%d+%.?%d*)%s*%)%s*$"
  end
  count = tonumber(count)
  if not count then return nil end
  if unit == "bytes" then return size(count, name) end
  return duration(count, name, unit)
end

--- A number of ms or bytes as one would write it, "days(7)"; its digits when that says no more.
---
---@param value number|string  a text of digits is fine
---@param unit string?
---@return string source
function M.format(value, unit)
  local number = tonumber(value)
  if number and number > 0 and number < 2 ^ 53 then
    for _, word in ipairs(unit == "ms" and DURATION_WORDS or unit == "bytes" and SIZE_WORDS or {}) do
      local one = unit == "ms" and units[word](1) or units[word]
      if number % one == 0 then
        local count = plain(number / one)
        return unit == "ms" and ("%s(%s)"):format(word, count) or ("%s * %s"):format(count, word)
      end
    end
  end
  return type(value) == "number" and plain(value) or value
end

return M
