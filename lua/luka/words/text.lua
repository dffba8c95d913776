-- SPDX-License-Identifier: Apache-2.0
-- Numbers in words, for the sentences that words of the console say themselves.
local M = {}

local SIZES = { { 1024 ^ 4, "TiB" }, { 1024 ^ 3, "GiB" }, { 1024 ^ 2, "MiB" }, { 1024, "KiB" } }
local TIMES = { { 86400000, "day" }, { 3600000, "hour" }, { 60000, "minute" }, { 1000, "second" } }

--- "1 topic", "3 topics".
---
---@param count number
---@param noun string
---@return string
function M.count(count, noun)
  return ("%.0f %s"):format(tonumber(count), tonumber(count) == 1 and noun or noun .. "s")
end

--- "1.5 GiB".
---
---@param bytes number
---@return string
function M.size(bytes)
  bytes = tonumber(bytes)
  for _, unit in ipairs(SIZES) do
    if bytes >= unit[1] then
      local number = bytes / unit[1]
      return (number == math.floor(number) and "%d %s" or "%.1f %s"):format(number, unit[2])
    end
  end
  return M.count(bytes, "byte")
end

--- "7 days", "1.5 hours".
---
---@param ms number
---@return string
function M.duration(ms)
  ms = tonumber(ms)
  for _, unit in ipairs(TIMES) do
    if ms >= unit[1] then
      local number = ms / unit[1]
      if number == math.floor(number) then return M.count(number, unit[2]) end
      return ("%.1f %ss"):format(number, unit[2])
    end
  end
  return ("%.0f ms"):format(ms)
end

--- What a config's number means; nil where the number says it all.
---
---@param name string  "retention_ms"
---@param value any
---@return string?
function M.config(name, value)
  if type(value) ~= "number" and type(value) ~= "cdata" then return nil end
  local number = tonumber(value)
  if number >= 2 ^ 62 then return "no limit" end
  local is_time, is_size = name:find "_ms$", name:find "_bytes$" or name:find "%.bytes$"
  if not is_time and not is_size then return nil end
  if number == -1 then return "no limit" end
  if is_time then return number >= 1000 and M.duration(number) or nil end
  return number >= 1024 and M.size(number) or nil
end

return M
