-- SPDX-License-Identifier: Apache-2.0
-- What the figures of several rounds say together. Rounds alternate between the brokers, so that what is compared ran
-- close to each other on the same machine in the same mood: ratios are made round by round, never of averages.
local M = {}

--- The values in order, without the holes of rounds that gave none.
---
---@param values table<integer, number>
---@param count integer  rounds
---@return number[]
local function sorted(values, count)
  local out = {}
  for round = 1, count do out[#out + 1] = values[round] end
  table.sort(out)
  return out
end

--- Median, smallest and largest; nil without values.
---
---@param values table<integer, number>  by round, with holes where there is none
---@param count integer  rounds
---@return { median: number, min: number, max: number, count: integer, values: table<integer, number> }?
function M.summary(values, count)
  local list = sorted(values, count)
  local n = #list
  if n == 0 then return nil end
  local half = math.floor((n + 1) / 2)
  local median = n % 2 == 1 and list[half] or (list[half] + list[half + 1]) / 2
  return { median = median, min = list[1], max = list[n], count = n, values = values }
end

--- A figure of one side by round.
---
---@param rounds table<string, table<string, number>>[]  by round: by side: by figure
---@param side string  "luka", "kafka", "limit"
---@param figure string
---@return table<integer, number>
function M.of(rounds, side, figure)
  local out = {}
  for round, sides in ipairs(rounds) do out[round] = sides[side] and sides[side][figure] end
  return out
end

--- Luka's figure by that of another side, in each round that has both and can be divided.
---
---@param rounds table<string, table<string, number>>[]
---@param over string  the other side
---@param figure string
---@param over_figure string?  of the other side, where it has another name
---@return table<integer, number>
function M.ratios(rounds, over, figure, over_figure)
  local ours, theirs, out = M.of(rounds, "luka", figure), M.of(rounds, over, over_figure or figure), {}
  for round = 1, #rounds do
    if ours[round] and theirs[round] and theirs[round] > 0 then out[round] = ours[round] / theirs[round] end
  end
  return out
end

--- Latencies of all rounds together, per side: what a curve is drawn from.
---
---@param rounds table<string, table<string, any>>[]
---@param side string
---@return number[][]  { upper bound in us, count }, in order; empty when there are none
function M.histogram(rounds, side)
  local counts, bounds, out = {}, {}, {}
  for _, sides in ipairs(rounds) do
    for _, bucket in ipairs(sides[side] and sides[side].histogram or {}) do
      if not counts[bucket[1]] then bounds[#bounds + 1] = bucket[1] end
      counts[bucket[1]] = (counts[bucket[1]] or 0) + bucket[2]
    end
  end
  table.sort(bounds)
  for at, bound in ipairs(bounds) do out[at] = { bound, counts[bound] } end
  return out
end

--- A curve of a histogram: for each bucket the share of latencies that are longer than those before it, so that the end
--- of the tail has as much room as its middle.
---
---@param histogram number[][]
---@return number[][]  { share of requests that took at least so long, 0 to 1, us }
function M.tail(histogram)
  local total, below, out = 0, 0, {}
  for _, bucket in ipairs(histogram) do total = total + bucket[2] end
  for _, bucket in ipairs(histogram) do
    out[#out + 1] = { (total - below) / total, bucket[1] }
    below = below + bucket[2]
  end
  return out
end

--- The three values in the middle: what lies further out is a round that something else disturbed. Three or fewer, or
--- four, are all kept.
---
---@param values table<integer, number>
---@param count integer  rounds
---@return number[] middle  in order
function M.middle(values, count)
  local list = sorted(values, count)
  local cut = math.max(0, math.floor((#list - 3) / 2))
  local out = {}
  for at = 1 + cut, #list - cut do out[#out + 1] = list[at] end
  return out
end

--- How far the rounds in the middle are apart, in percent of the median: what a check can be trusted with. Nil for one
--- value, and for a median of nothing.
---
---@param values table<integer, number>
---@param count integer  rounds
---@return number?
function M.noise_percent(values, count)
  local summary, middle = M.summary(values, count), M.middle(values, count)
  if #middle < 2 or summary.median <= 0 then return nil end
  return 100 * (middle[#middle] - middle[1]) / summary.median
end

return M
