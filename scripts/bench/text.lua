-- SPDX-License-Identifier: Apache-2.0
-- The table on standard output: medians of the rounds, ratios with their spread, and what came of the checks.
local figures = require "scripts.bench.figures"
local verdict = require "scripts.bench.report"

local M = {}

local number = figures.number

--- "0.122 (0.118..0.130)"; of one round alone there is no spread.
local function spread(summary)
  if not summary then return "" end
  if summary.count == 1 then return number(summary.median) end
  return ("%s (%s..%s)"):format(number(summary.median), number(summary.min), number(summary.max))
end

local ROW = "  %-33s %-5s %11s %11s %11s %13s %6s   %-22s %s"

--- Lines of one scenario.
---
---@param scenario bench.Result
---@return string[]
function M.scenario(scenario)
  local lines = { scenario.title }
  for _, row in ipairs(scenario.rows) do
    local at = row.sides
    lines[#lines + 1] = (ROW:format(row.title, row.unit, number(at.luka and at.luka.median),
      number(at.kafka and at.kafka.median), number(at.limit and at.limit.median), row.reference or "",
      row.noise_percent and ("%.0f %%"):format(row.noise_percent) or "", spread(row.ratios.kafka),
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
  local lines = { (ROW:format("figure", "unit", "Luka", "Kafka", "limit", "reference", "noise", "Luka / Kafka", "Luka / limit")) }
  for _, scenario in ipairs(report.scenarios) do
    lines[#lines + 1] = ""
    for _, line in ipairs(M.scenario(scenario)) do lines[#lines + 1] = line end
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "limit: the limit program in the same rounds; reference: what was found earlier for the same work on a "
    .. "busy virtual machine of two cores"
  lines[#lines + 1] = "noise: how far the three middle rounds are apart, in percent of the median, of the side where that is most"
  for _, line in ipairs(report.notes) do lines[#lines + 1] = line end
  local counts, failed = verdict.verdict(report)
  for _, line in ipairs(failed) do lines[#lines + 1] = "FAILED " .. line end
  lines[#lines + 1] = ("%d round%s in %.0f s on %s; medians; ratios (least..most of all rounds); checks, on the worst of the three "
    .. "middle rounds: %d held, %d failed, %d skipped"):format(report.rounds, report.rounds == 1 and "" or "s", report.seconds,
    report.machine, counts.held, counts.failed, counts.skipped)
  return table.concat(lines, "\n") .. "\n"
end

return M
