-- SPDX-License-Identifier: Apache-2.0
-- The table on standard output: medians of the rounds, ratios with their spread, and what came of the checks.
local figures = require "scripts.bench.figures"
local verdict = require "scripts.bench.report"

local M = {}

local number = figures.number

--- "0.122 (0.118..0.130)"
local function spread(summary)
  if not summary then return "" end
  return ("%s (%s..%s)"):format(number(summary.median), number(summary.min), number(summary.max))
end

local ROW = "  %-33s %-5s %12s %12s %12s   %-22s %s"

--- Lines of one scenario.
---
---@param scenario bench.Result
---@return string[]
function M.scenario(scenario)
  local lines = { scenario.title }
  for _, row in ipairs(scenario.rows) do
    local at = row.sides
    lines[#lines + 1] = (ROW:format(row.title, row.unit, number(at.luka and at.luka.median),
      number(at.kafka and at.kafka.median), number(at.limit and at.limit.median), spread(row.ratios.kafka),
      spread(row.ratios.limit)):gsub("%s+$", ""))
  end
  for _, check in ipairs(scenario.checks) do
    local tail = check.state == "skipped" and "skipped: " .. check.why or ("%s, worst %s"):format(check.state, number(check.worst))
    lines[#lines + 1] = ("    check: %s %s: %s"):format(check.title, check.asked, tail)
  end
  return lines
end

--- The whole report.
---
---@param report bench.Report
---@return string
function M.report(report)
  local lines = { (ROW:format("figure", "unit", "Luka", "Kafka", "limit", "Luka / Kafka", "Luka / limit")) }
  for _, scenario in ipairs(report.scenarios) do
    lines[#lines + 1] = ""
    for _, line in ipairs(M.scenario(scenario)) do lines[#lines + 1] = line end
  end
  lines[#lines + 1] = ""
  for _, line in ipairs(report.notes) do lines[#lines + 1] = line end
  local counts, failed = verdict.verdict(report)
  for _, line in ipairs(failed) do lines[#lines + 1] = "FAILED " .. line end
  lines[#lines + 1] = ("%d rounds in %.0f s on %s; medians, ratios with their spread; checks: %d held, %d failed, %d skipped")
    :format(report.rounds, report.seconds, report.machine, counts.held, counts.failed, counts.skipped)
  return table.concat(lines, "\n") .. "\n"
end

return M
