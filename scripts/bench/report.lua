-- SPDX-License-Identifier: Apache-2.0
-- What the rounds gave, put together for the table, the JSON and the page.
local checks = require "scripts.bench.checks"
local figures = require "scripts.bench.figures"
local statistics = require "scripts.bench.statistics"

local M = {}

---@class (exact) bench.Row
---@field figure string
---@field title string
---@field unit string
---@field sides table<string, { median: number, min: number, max: number, values: number[] }>
---@field ratios table<string, { median: number, min: number, max: number, values: number[] }>  Luka's to the other side's

---@class (exact) bench.Result
---@field name string
---@field title string
---@field rows bench.Row[]
---@field checks table[]  bench.Verdict with figure and title

--- One scenario.
---
---@param scenario bench.Scenario
---@param rounds table<string, table<string, number>>[]
---@return bench.Result
function M.scenario(scenario, rounds)
  local result = { name = scenario.name, title = scenario.title, rows = {}, checks = {} }
  for _, key in ipairs(scenario.figures) do
    local figure = figures.ALL[key]
    local row = { figure = key, title = figure.title, unit = figure.unit, sides = {}, ratios = {} }
    for side in pairs(checks.SIDES) do
      row.sides[side] = statistics.summary(statistics.of(rounds, side, key), #rounds)
      if side ~= "luka" then row.ratios[side] = statistics.summary(statistics.ratios(rounds, side, key), #rounds) end
    end
    result.rows[#result.rows + 1] = row
  end
  for _, check in ipairs(scenario.checks or {}) do
    local verdict = checks.judge(check, rounds)
    verdict.figure, verdict.title = check.figure, figures.ALL[check.figure].title
    result.checks[#result.checks + 1] = verdict
  end
  return result
end

return M
