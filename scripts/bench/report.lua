-- SPDX-License-Identifier: Apache-2.0
-- What the rounds gave, put together for the table, the JSON and the page.
local json = require "luka.native.json"
local checks = require "scripts.bench.checks"
local figures = require "scripts.bench.figures"
local statistics = require "scripts.bench.statistics"

local M = {}

---@class (exact) bench.Row
---@field figure string
---@field title string
---@field unit string
---@field reference string?  what was found for the limit elsewhere
---@field noise_percent number?  of the noisiest side, see statistics.noise_percent
---@field sides table<string, { median: number, min: number, max: number, values: number[] }>
---@field ratios table<string, { median: number, min: number, max: number, values: number[] }>  Luka's to the other side's

---@class (exact) bench.Result
---@field name string
---@field title string
---@field rounds integer
---@field rows bench.Row[]
---@field checks table[]  bench.Verdict with figure and title
---@field latency table<string, number[][]>  by side: { upper bound in us, count } of all rounds
---@field series table[]  { x, y, points = { { x, y, min, max } } }: what grows with what

---@class (exact) bench.Report
---@field rounds integer
---@field seconds number  that all of it took
---@field machine string
---@field notes string[]  what was left out, and why
---@field failures string[]  measurements that gave nothing, and why
---@field scenarios bench.Result[]

--- What a figure's rounds say, with null for those that gave none: JSON has no holes.
local function summary(values, count)
  local out = statistics.summary(values, count)
  if not out then return nil end
  out.values = {}
  for round = 1, count do out.values[round] = values[round] or json.null end
  return out
end

--- The largest of the sides' noise.
local function noise_percent(figure, rounds)
  local most
  for side in pairs(checks.SIDES) do
    local found = statistics.noise_percent(statistics.of(rounds, side, figure), #rounds)
    if found then most = math.max(most or 0, found) end
  end
  return most
end

--- One scenario.
---
---@param scenario bench.Scenario
---@param rounds table<string, table<string, number>>[]
---@param series table[]?  of points that it gave
---@return bench.Result
function M.scenario(scenario, rounds, series)
  local result = { name = scenario.name, title = scenario.title, rounds = #rounds, rows = {}, checks = json.array {}, latency = {},
    series = series or json.array {} }
  local titles = {}
  for _, entry in ipairs(scenario.figures) do
    local figure = figures.get(entry)
    titles[figure.key] = figure.title
    local row = { figure = figure.key, title = figure.title, unit = figure.unit, sides = {}, ratios = {},
      reference = scenario.reference and scenario.reference[figure.key], noise_percent = noise_percent(figure.key, rounds) }
    for side in pairs(checks.SIDES) do
      row.sides[side] = summary(statistics.of(rounds, side, figure.key), #rounds)
      if side ~= "luka" then row.ratios[side] = summary(statistics.ratios(rounds, side, figure.key), #rounds) end
    end
    result.rows[#result.rows + 1] = row
  end
  for _, check in ipairs(scenario.checks or {}) do
    local verdict = checks.judge(check, rounds)
    verdict.figure, verdict.title = check.figure, titles[check.figure] or figures.get(check.figure).title
    result.checks[#result.checks + 1] = verdict
  end
  for side in pairs(checks.SIDES) do
    local histogram = statistics.histogram(rounds, side)
    if histogram[1] then result.latency[side] = histogram end
  end
  return result
end

--- How many checks came out how, and a line for each that failed, and for each measurement that did.
---
---@param report bench.Report
---@return { held: integer, failed: integer, skipped: integer } counts
---@return string[] failed
function M.verdict(report)
  local counts, failed = { held = 0, failed = 0, skipped = 0 }, {}
  for _, failure in ipairs(report.failures) do failed[#failed + 1] = failure:match "[^\n]*" end
  for _, scenario in ipairs(report.scenarios) do
    for _, check in ipairs(scenario.checks) do
      counts[check.state] = counts[check.state] + 1
      if check.state == "failed" then
        failed[#failed + 1] = ("%s: %s: %s, worst of the middle rounds %s"):format(scenario.name, check.title, check.asked,
          figures.number(check.worst))
      end
    end
  end
  return counts, failed
end

return M
