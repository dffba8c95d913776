-- SPDX-License-Identifier: Apache-2.0
-- What is asked of the figures, and whether it holds: on the worst of the three rounds in the middle.
local statistics = require "scripts.bench.statistics"

local M = {}

---@class (exact) bench.Check
---@field figure string  of the scenario
---@field over string?  the side whose figure Luka's is divided by; nil: Luka's figure itself
---@field over_figure string?  that side's figure, where it is another
---@field at_most number?  one of these three
---@field at_least number?
---@field below number?

---@class (exact) bench.Verdict
---@field asked string  "at most 0.45 x Kafka"
---@field state "held"|"failed"|"skipped"
---@field worst number?  of the middle rounds
---@field why string?  of "skipped"

M.SIDES = { luka = "Luka", kafka = "Kafka", limit = "limit" }

--- What a check asks for, in words.
---
---@param check bench.Check
---@return string
function M.asked(check)
  local words = check.at_most and "at most" or check.at_least and "at least" or "below"
  local number = check.at_most or check.at_least or check.below
  if not check.over then return ("%s %g"):format(words, number) end
  if number == 1 and check.below then return ("%s %s's"):format(words, M.SIDES[check.over]) end
  return ("%s %g x %s"):format(words, number, M.SIDES[check.over])
end

--- Whether a check holds.
---
---@param check bench.Check
---@param rounds table<string, table<string, number>>[]
---@return bench.Verdict
function M.judge(check, rounds)
  local asked = M.asked(check)
  local values = check.over and statistics.ratios(rounds, check.over, check.figure, check.over_figure)
    or statistics.of(rounds, "luka", check.figure)
  local middle = statistics.middle(values, #rounds)
  if #middle == 0 then
    local missing = check.over and next(statistics.of(rounds, "luka", check.figure)) and check.over or "luka"
    return { asked = asked, state = "skipped", why = ("no figure of %s"):format(M.SIDES[missing]) }
  end
  local worst = check.at_least and middle[1] or middle[#middle]
  local holds = check.at_most and worst <= check.at_most or check.at_least and worst >= check.at_least
    or check.below and worst < check.below
  return { asked = asked, state = holds and "held" or "failed", worst = worst }
end

return M
