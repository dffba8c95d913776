-- SPDX-License-Identifier: Apache-2.0
-- The load generator (scripts/bench/load.c), run against one broker: its line of JSON as a table, with the CPU that the
-- broker used meanwhile.
local json = require "luka.native.json"
local process = require "scripts.bench.process"

local M = { PROGRAM = nil }

---@class bench.Run
local Run = {}
Run.__index = Run

--- Starts it.
---
---@param broker bench.Broker
---@param words (string|number)[]  its arguments but for --brokers
---@return bench.Run
function M.start(broker, words)
  local line = { M.PROGRAM }
  for _, word in ipairs(words) do line[#line + 1] = tostring(word) end
  line[#line + 1] = "--brokers"
  line[#line + 1] = "127.0.0.1:" .. broker.port
  local self = setmetatable({ broker = broker, line = line, cpu_s = broker:cpu_s() }, Run)
  self.process = process.start(line)
  return self
end

--- Waits for its end.
---
---@return table result  of load, with cpu_s of the broker
function Run:finish()
  local status, out, err = process.wait(self.process, 60)
  local cpu_s = self.broker:cpu_s() - self.cpu_s
  local all = json.decode(out)
  local result = all and (all.produce or all.fetch or all)
  if status ~= 0 or not result then
    error(("%s: status %s\n%s%s"):format(table.concat(self.line, " "), status, out, err), 0)
  end
  result.cpu_s = cpu_s
  return result
end

--- Runs it to its end.
function M.run(broker, words) return M.start(broker, words):finish() end

--- The figures of a run, by the names that scenarios use.
---
---@param result table
---@return table<string, number>
function M.figures(result)
  local latency = result.latency_us or {}
  return {
    cpu_us_per_request = result.cpu_s / result.requests * 1e6,
    cpu_s_per_gb = result.bytes and result.bytes > 0 and result.cpu_s / result.bytes * 1e9 or nil,
    requests_per_cpu_s = result.requests / result.cpu_s,
    requests_per_s = result.requests_per_s,
    mb_per_s = result.mb_per_s,
    p50_us = latency.p50,
    p99_us = latency.p99,
    p999_us = latency["p99.9"],
  }
end

return M
