-- SPDX-License-Identifier: Apache-2.0
-- Plots as SVG text, drawn here so that the page needs nothing from elsewhere. Colours are the page's: class luka, kafka
-- or limit.
local figures = require "scripts.bench.figures"

local M = {}

--- The sides in the order in which they are drawn.
M.SIDES = { { "luka", "Luka" }, { "kafka", "Kafka" }, { "limit", "limit" } }

--- Text for markup.
---
---@param text string
---@return string
function M.escape(text) return (tostring(text):gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" })) end

local function svg(width, height, label, parts)
  return ('<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">%s</svg>'):format(width, height, width,
    height, M.escape(label), table.concat(parts))
end

local function text_at(x, y, text, class, anchor)
  return ('<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>'):format(x, y, class, anchor or "start", M.escape(text))
end

local function line(x1, y1, x2, y2, class)
  return ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>'):format(x1, y1, x2, y2, class)
end

--- Bars of one figure, one for each side that has it: the median, and a line from the least to the most.
---
---@param row bench.Row
---@return string
function M.bars(row)
  local WIDTH, LEFT, RIGHT, STEP = 420, 50, 80, 22
  local most, count = 0, 0
  for _, side in ipairs(M.SIDES) do
    local summary = row.sides[side[1]]
    if summary then
      most = math.max(most, summary.max)
      count = count + 1
    end
  end
  local scale = most > 0 and (WIDTH - LEFT - RIGHT) / most or 0
  local parts, y = {}, 4
  for _, side in ipairs(M.SIDES) do
    local summary = row.sides[side[1]]
    if summary then
      parts[#parts + 1] = text_at(LEFT - 6, y + 12, side[2], "label", "end")
      parts[#parts + 1] = ('<rect x="%d" y="%d" width="%.1f" height="16" rx="2" class="%s"><title>%s %s (%s to %s)</title></rect>')
        :format(LEFT, y, math.max(1, summary.median * scale), side[1], figures.number(summary.median), M.escape(row.unit),
          figures.number(summary.min), figures.number(summary.max))
      if summary.max > summary.min then
        local from, to = LEFT + summary.min * scale, LEFT + summary.max * scale
        parts[#parts + 1] = line(from, y + 8, to, y + 8, "spread") .. line(from, y + 4, from, y + 12, "spread")
          .. line(to, y + 4, to, y + 12, "spread")
      end
      parts[#parts + 1] = text_at(LEFT + summary.max * scale + 6, y + 12, figures.number(summary.median), "value")
      y = y + STEP
    end
  end
  return svg(WIDTH, count * STEP + 4, ("%s, %s"):format(row.title, row.unit), parts)
end

--- Powers of ten around a range.
local function decades(from, to)
  local low = math.floor(math.log10(math.max(from, 1e-9)))
  local high = math.max(low + 1, math.ceil(math.log10(math.max(to, 1e-9))))
  return low, high
end

local FRAME = { width = 560, height = 260, left = 64, right = 28, top = 12, bottom = 42 }

--- Latencies by how rare they are: the further right, the fewer requests took as long.
---
---@param tails table<string, number[][]>  by side: { share that took at least so long, us }, see statistics.tail
---@return string
function M.latency(tails)
  local least, most = math.huge, 0
  for _, points in pairs(tails) do
    for _, point in ipairs(points) do
      if point[1] >= 1e-4 then least, most = math.min(least, point[2]), math.max(most, point[2]) end
    end
  end
  if most == 0 then return "" end
  local low, high = decades(least, most)
  local wide, tall = FRAME.width - FRAME.left - FRAME.right, FRAME.height - FRAME.top - FRAME.bottom
  local function x_of(share) return FRAME.left + math.min(4, -math.log10(share)) / 4 * wide end
  local function y_of(us) return FRAME.top + (high - math.log10(us)) / (high - low) * tall end
  local parts = {}
  for decade = low, high do
    local y = y_of(10 ^ decade)
    parts[#parts + 1] = line(FRAME.left, y, FRAME.left + wide, y, "grid")
    parts[#parts + 1] = text_at(FRAME.left - 8, y + 4, decade >= 3 and ("%d ms"):format(10 ^ (decade - 3)) or ("%g us"):format(10 ^ decade),
      "label", "end")
  end
  for _, tick in ipairs { { 1, "all" }, { 0.5, "p50" }, { 0.1, "p90" }, { 0.01, "p99" }, { 0.001, "p99.9" }, { 1e-4, "p99.99" } } do
    local x = x_of(tick[1])
    parts[#parts + 1] = line(x, FRAME.top, x, FRAME.top + tall, "grid") .. text_at(x, FRAME.top + tall + 18, tick[2], "label", "middle")
  end
  for _, side in ipairs(M.SIDES) do
    local points = {}
    for _, point in ipairs(tails[side[1]] or {}) do
      if point[1] >= 1e-4 then points[#points + 1] = ("%.1f,%.1f"):format(x_of(point[1]), y_of(point[2])) end
    end
    if points[1] then
      parts[#parts + 1] = ('<polyline points="%s" class="curve %s"><title>%s</title></polyline>'):format(table.concat(points, " "), side[1],
        side[2])
    end
  end
  return svg(FRAME.width, FRAME.height, "latency by percentile", parts)
end

--- What grows with what: points on a logarithmic x, with their spread, and y from 0.
---
---@param series { x: string, y: string, points: { x: number, y: number, min: number, max: number }[] }
---@return string
function M.series(series)
  local most, points = 0, series.points
  for _, point in ipairs(points) do most = math.max(most, point.max) end
  local from, to = math.log10(points[1].x), math.log10(points[#points].x)
  local wide, tall = FRAME.width - FRAME.left - FRAME.right - 20, FRAME.height - FRAME.top - FRAME.bottom
  local function x_of(x) return FRAME.left + 10 + (math.log10(x) - from) / math.max(to - from, 1e-9) * wide end
  local function y_of(y) return FRAME.top + (1 - y / (most * 1.1)) * tall end
  local parts, path = {}, {}
  for step = 0, 4 do
    local value = most * 1.1 * step / 4
    parts[#parts + 1] = line(FRAME.left, y_of(value), FRAME.left + wide + 20, y_of(value), "grid")
      .. text_at(FRAME.left - 8, y_of(value) + 4, figures.number(value), "label", "end")
  end
  for at, point in ipairs(points) do
    local x = x_of(point.x)
    path[at] = ("%.1f,%.1f"):format(x, y_of(point.y))
    parts[#parts + 1] = line(x, y_of(point.min), x, y_of(point.max), "spread")
      .. ('<circle cx="%.1f" cy="%.1f" r="4" class="luka"><title>%s: %s</title></circle>'):format(x, y_of(point.y),
        figures.number(point.x), figures.number(point.y))
      .. text_at(x, FRAME.top + tall + 18, figures.number(point.x), "label", "middle")
  end
  parts[#parts + 1] = ('<polyline points="%s" class="curve luka"/>'):format(table.concat(path, " "))
  parts[#parts + 1] = text_at(FRAME.left + wide / 2, FRAME.height - 6, series.x, "label", "middle")
  return svg(FRAME.width, FRAME.height, ("%s by %s"):format(series.y, series.x), parts)
end

return M
