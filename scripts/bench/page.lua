-- SPDX-License-Identifier: Apache-2.0
-- The report as one page of HTML that needs nothing else.
local figures = require "scripts.bench.figures"
local plot = require "scripts.bench.plot"
local report = require "scripts.bench.report"
local statistics = require "scripts.bench.statistics"

local M = {}

local escape, number = plot.escape, figures.number

local STYLE = [[
:root { color-scheme: light dark; --bg: #fbfbfa; --card: #ffffff; --ink: #1c1c1a; --dim: #6a6a64; --rule: #e2e1dc;
  --luka: #1f6fb2; --kafka: #c2701c; --limit: #8a8a83; --held: #2c7a43; --failed: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #161614; --card: #1f1f1c; --ink: #ecebe6; --dim: #a09f97; --rule: #383833;
  --luka: #5aa9e6; --kafka: #e39b4d; --limit: #92918a; --held: #6cc287; --failed: #f2857d; } }
body { margin: 0 auto; max-width: 1180px; padding: 24px 20px 60px; background: var(--bg); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 0 0 10px; font-weight: 600; }
p { margin: 4px 0; } .dim { color: var(--dim); }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 18px 20px; margin: 18px 0; }
.plots { display: flex; flex-wrap: wrap; gap: 16px 32px; } figure { margin: 0; } figcaption { font-size: 13px; color: var(--dim); }
svg { max-width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--dim); }
svg text.value { fill: var(--ink); } .grid { stroke: var(--rule); } .spread { stroke: var(--ink); opacity: .65; }
rect.luka, circle.luka, i.luka { fill: var(--luka); background: var(--luka); }
rect.kafka, i.kafka { fill: var(--kafka); background: var(--kafka); }
rect.limit, i.limit { fill: var(--limit); background: var(--limit); }
.curve { fill: none; stroke-width: 2; } .curve.luka { stroke: var(--luka); } .curve.kafka { stroke: var(--kafka); }
.curve.limit { stroke: var(--limit); }
i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin: 0 5px 0 14px; }
ul { list-style: none; margin: 10px 0 0; padding: 0; font-size: 14px; } .held b { color: var(--held); } .failed b { color: var(--failed); }
.skipped b { color: var(--dim); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; margin-top: 8px; }
th, td { padding: 3px 14px 3px 0; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } summary { cursor: pointer; color: var(--dim); font-size: 14px; margin-top: 12px; }
]]

local function spread(summary)
  if not summary then return "" end
  if summary.count == 1 then return number(summary.median) end
  return ("%s <span class=\"dim\">%s to %s</span>"):format(number(summary.median), number(summary.min), number(summary.max))
end

local function figure(caption, picture)
  return ("<figure><figcaption>%s</figcaption>%s</figure>"):format(escape(caption), picture)
end

local function numbers(scenario)
  local out = { "<details><summary>numbers</summary><div class=\"scroll\"><table><tr><th>figure</th><th>unit</th><th>Luka</th>"
    .. "<th>Kafka</th><th>limit</th><th>reference</th><th>noise</th><th>Luka / Kafka</th><th>Luka / limit</th></tr>" }
  for _, row in ipairs(scenario.rows) do
    out[#out + 1] = ("<tr>" .. ("<td>%s</td>"):rep(9) .. "</tr>"):format(
      escape(row.title), escape(row.unit), spread(row.sides.luka), spread(row.sides.kafka), spread(row.sides.limit),
      escape(row.reference or ""), row.noise_percent and ("%.0f %%"):format(row.noise_percent) or "", spread(row.ratios.kafka),
      spread(row.ratios.limit))
  end
  out[#out + 1] = "</table></div></details>"
  return table.concat(out)
end

local function check_list(scenario)
  local out = {}
  for _, check in ipairs(scenario.checks) do
    out[#out + 1] = ('<li class="%s"><b>%s</b> %s: %s%s</li>'):format(check.state, check.state, escape(check.title),
      escape(check.asked), escape(check.why and " (" .. check.why .. ")" or ", worst " .. number(check.worst)))
  end
  return #out > 0 and "<ul>" .. table.concat(out) .. "</ul>" or ""
end

--- The part of one scenario.
---
---@param scenario bench.Result
---@return string
function M.scenario(scenario)
  local out = { ('<section id="%s"><h2>%s</h2><div class="plots">'):format(scenario.name, escape(scenario.title)) }
  for _, row in ipairs(scenario.rows) do
    if next(row.sides) then out[#out + 1] = figure(("%s, %s"):format(row.title, row.unit), plot.bars(row)) end
  end
  for _, series in ipairs(scenario.series) do out[#out + 1] = figure(series.y, plot.series(series)) end
  local shows_latency = false
  for _, row in ipairs(scenario.rows) do shows_latency = shows_latency or row.figure == "p99_us" end
  if shows_latency then
    local tails = {}
    for side, histogram in pairs(scenario.latency) do tails[side] = statistics.tail(histogram) end
    out[#out + 1] = figure("latency of all rounds, by how rare it is", plot.latency(tails))
  end
  out[#out + 1] = "</div>" .. check_list(scenario) .. numbers(scenario) .. "</section>"
  return table.concat(out)
end

--- The page.
---
---@param result bench.Report
---@return string
function M.html(result)
  local counts = report.verdict(result)
  local out = { '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    .. "<title>Luka: benchmark</title><style>" .. STYLE .. "</style></head><body><h1>Luka, measured</h1>" }
  out[#out + 1] = ('<p class="dim">%d rounds in %.0f s on %s. Bars are medians, lines go from the least to the most. '
    .. 'Noise is how far the three rounds in the middle are apart, of the side where that is most.</p>'):format(result.rounds,
    result.seconds, escape(result.machine))
  for _, note in ipairs(result.notes) do out[#out + 1] = ("<p>%s</p>"):format(escape(note)) end
  for _, failure in ipairs(result.failures) do
    out[#out + 1] = ('<p class="failed"><b>failed</b> %s</p>'):format(escape(failure))
  end
  out[#out + 1] = ('<p>Checks, on the worst of the three rounds in the middle: <span class="held"><b>%d held</b></span>, '
    .. '<span class="failed"><b>%d failed</b></span>, %d skipped.'):format(counts.held, counts.failed, counts.skipped)
  for _, side in ipairs(plot.SIDES) do out[#out + 1] = ('<i class="%s"></i>%s'):format(side[1], side[2]) end
  out[#out + 1] = "</p>"
  for _, scenario in ipairs(result.scenarios) do out[#out + 1] = M.scenario(scenario) end
  out[#out + 1] = "</body></html>\n"
  return table.concat(out, "\n")
end

return M
