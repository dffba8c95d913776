-- SPDX-License-Identifier: Apache-2.0
-- The figures that scenarios give: what each is, its unit, and how it is written.
local M = {}

---@class (exact) bench.Figure
---@field title string
---@field unit string
---@field digits integer?  behind the point; 3 significant ones otherwise

M.ALL = {
  cpu_s_per_gb = { title = "broker CPU per GB", unit = "s/GB" },
  mb_per_s = { title = "throughput", unit = "MB/s" },
  cpu_us_per_request = { title = "broker CPU per request", unit = "us" },
  requests_per_s = { title = "requests", unit = "1/s" },
  requests_per_cpu_s = { title = "requests per CPU second", unit = "1/s" },
  p50_us = { title = "latency p50", unit = "us" },
  p99_us = { title = "latency p99", unit = "us" },
  p999_us = { title = "latency p99.9", unit = "us" },
}

--- A number with three significant digits, thousands set off.
---
---@param value number?
---@return string
function M.number(value)
  if not value then return "-" end
  local size = math.abs(value)
  if size >= 1000 then
    local text = ("%.0f"):format(value)
    local done
    repeat text, done = text:gsub("^(-?%d+)(%d%d%d)", "%1,%2") until done == 0
    return text
  end
  return (size >= 100 and "%.0f" or size >= 10 and "%.1f" or size >= 1 and "%.2f" or "%.3f"):format(value)
end

return M
