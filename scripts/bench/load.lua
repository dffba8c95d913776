-- SPDX-License-Identifier: Apache-2.0
-- The load generator (scripts/bench/load.c), run against one broker: its line of JSON as a table, with the processor
-- time that the broker used from the first request to the last answer.
local json = require "luka.native.json"
local process = require "scripts.bench.process"

local M = { PROGRAM = nil }

---@class bench.Run
local Run = {}
Run.__index = Run

M.decode = json.decode

--- Starts it.
---
---@param broker { port: integer, pid: integer }
---@param words (string|number)[]  its arguments but for --brokers and what is to be printed
---@return bench.Run
function M.start(broker, words)
  local line = { M.PROGRAM }
  for _, word in ipairs(words) do line[#line + 1] = tostring(word) end
  for _, word in ipairs { "--brokers", "127.0.0.1:" .. broker.port, "--cpu-of", tostring(broker.pid), "--histogram" } do
    line[#line + 1] = word
  end
  return setmetatable({ line = line, process = process.start(line) }, Run)
end

--- Waits for its end; raises when the broker answered with errors, or not.
---
---@return table result  its figures, with those of its one side at the top
function Run:finish()
  local status, out, err = process.wait(self.process, 60)
  local all = json.decode(out)
  if status ~= 0 or not all then
    error(("%s: status %s\n%s%s"):format(table.concat(self.line, " "), status, out:gsub('"histogram_us":%[.-%]%],?', ""), err), 0)
  end
  for _, side in pairs(all) do
    if type(side) == "table" then
      for name, value in pairs(side) do all[name] = all[name] or value end
    end
  end
  return all
end

--- Whether it still runs.
function Run:is_running() return process.is_alive(self.process.pid) end

--- Runs it to its end.
function M.run(broker, words) return M.start(broker, words):finish() end

--- The figures of a run, by the names that scenarios use.
---
---@param result table
---@return table<string, number>  and `histogram`, a list of { upper bound in us, count }
function M.figures(result)
  local latency = result.latency_us or {}
  if result.requests == 0 then error("no request was answered", 0) end
  return {
    cpu_us_per_request = result.cpu_s / result.requests * 1e6,
    cpu_s_per_gb = result.bytes and result.bytes > 0 and result.cpu_s / result.bytes * 1e9 or nil,
    requests_per_cpu_s = result.requests / result.cpu_s,
    requests_per_s = result.requests_per_s,
    mb_per_s = result.mb_per_s,
    p50_us = latency.p50,
    p99_us = latency.p99,
    p999_us = latency["p99.9"],
    histogram = result.histogram_us,
  }
end

return M
