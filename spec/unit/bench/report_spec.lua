-- SPDX-License-Identifier: Apache-2.0
local json = require "luka.native.json"
local figures = require "scripts.bench.figures"
local main = require "scripts.bench.main"
local page = require "scripts.bench.page"
local report = require "scripts.bench.report"
local text = require "scripts.bench.text"

--- A report of one scenario with a check that fails.
local function invented()
  local scenario = {
    name = "open",
    title = "open loop <5,000>",
    reference = { p99_us = "20 - 45" },
    figures = { "p99_us", { key = "own", title = "its own figure", unit = "x" } },
    checks = { { figure = "p99_us", over = "kafka", at_most = 0.4 }, { figure = "p99_us", over = "limit", at_most = 1 } },
  }
  local rounds = {}
  for round = 1, 5 do
    rounds[round] = {
      luka = { p99_us = 50 * round, own = round, histogram = { { 50, 90 }, { 250, 10 } } },
      kafka = { p99_us = 200, histogram = { { 200, 100 } } },
    }
  end
  local points = { { x = 10, y = 8, min = 7, max = 9 }, { x = 1000, y = 9, min = 9, max = 9 } }
  local series = { { x = "partitions", y = "us", points = points } }
  return { rounds = 5, seconds = 61.4, machine = "2 cores", notes = { "Apache Kafka was here" },
    failures = { "small, round 2, kafka: no <answer>\nand more" },
    scenarios = { report.scenario(scenario, rounds, series) } }
end

describe("the report of the benchmark", function()
  it("has medians of the sides, and ratios with their spread", function()
    local row = invented().scenarios[1].rows[1]
    assert.same({ "latency p99", "us", 150, 200 }, { row.title, row.unit, row.sides.luka.median, row.sides.kafka.median })
    assert.same({ 0.75, 0.25, 1.25 }, { row.ratios.kafka.median, row.ratios.kafka.min, row.ratios.kafka.max })
    assert.is_nil(row.sides.limit)
  end)

  it("counts the checks and names those that failed", function()
    local counts, failed = report.verdict(invented())
    assert.same({ held = 0, failed = 1, skipped = 1 }, counts)
    assert.same({ "small, round 2, kafka: no <answer>", "open: latency p99: at most 0.4 x Kafka, worst of the middle rounds 1.00" }, failed)
  end)

  it("is a table in which every row has its unit", function()
    local out = text.report(invented())
    assert.truthy(out:find("latency p99 +us +150 +200 +%- +20 %- 45 +67 %%   0.750 %(0.250..1.25%)\n"))
    assert.truthy(out:find("its own figure +x +3.00 +%- +%- +67 %%\n"))
    assert.truthy(out:find("check: latency p99 at most 0.4 x Kafka: failed, worst 1.00", 1, true))
    assert.truthy(out:find("check: latency p99 at most 1 x limit: skipped: no figure of limit", 1, true))
    assert.truthy(out:find("\nFAILED open: latency p99", 1, true))
    assert.truthy(out:find("\nApache Kafka was here\n", 1, true))
  end)

  it("is a page that needs nothing from elsewhere, with its texts escaped", function()
    local html = page.html(invented())
    assert.truthy(html:find("open loop &lt;5,000&gt;", 1, true))
    assert.falsy(html:find("<script", 1, true))
    assert.falsy(html:find("http", 1, true))
    local _, opened = html:gsub("<svg", "")
    local _, closed = html:gsub("</svg>", "")
    assert.same({ 4, 4 }, { opened, closed })
    assert.falsy(html:find("nan", 1, true))
  end)

  it("is JSON with every round's value", function()
    local row = json.decode(json.encode(invented(), 1)).scenarios[1].rows[1]
    assert.same({ 50, 100, 150, 200, 250 }, row.sides.luka.values)
  end)

  it("has null for a round that gave nothing, be it the first", function()
    local rounds = { {}, { luka = { p99_us = 5 }, kafka = { p99_us = 10 } }, { luka = { p99_us = 7 } } }
    local result = report.scenario({ name = "open", title = "", figures = { "p99_us" } }, rounds)
    local row = json.decode(json.encode(result, 1)).rows[1]
    assert.same({ json.null, 5, 7 }, row.sides.luka.values)
    assert.same({ json.null, 0.5, json.null }, row.ratios.kafka.values)
  end)

  it("has empty lists where there are no checks and nothing grows", function()
    local out = json.encode(report.scenario({ name = "open", title = "", figures = {} }, {}))
    assert.truthy(out:find('"checks": ?%[%]'))
    assert.truthy(out:find('"series": ?%[%]'))
  end)

  it("has no spread of a single round", function()
    local result = report.scenario({ name = "open", title = "", figures = { "p99_us" } },
      { { luka = { p99_us = 5 }, kafka = { p99_us = 10 } } })
    assert.truthy(text.scenario(result)[2]:find("5.00 +10.0 +%- +0.500$"))
  end)

  it("calls what is asked of a scenario's own figure by that figure's title", function()
    local result = report.scenario({ name = "scale", title = "", figures = { { key = "own", title = "its own", unit = "x" } },
      checks = { { figure = "own", at_most = 2 } } }, { { luka = { own = 1 } } })
    assert.same({ "its own", "held" }, { result.checks[1].title, result.checks[1].state })
  end)

  it("writes numbers with three digits, and sets thousands off", function()
    local numbers = {}
    for at, value in ipairs { 0.1234, 1.234, 12.34, 123.4, 1234567, -1234 } do numbers[at] = figures.number(value) end
    assert.same({ "0.123", "1.23", "12.3", "123", "1,234,567", "-1,234" }, numbers)
    assert.equal("-", figures.number(nil))
  end)
end)

describe("the options of the benchmark", function()
  local function none() return nil end

  it("are five rounds of everything, beside Kafka", function()
    assert.same({ programs = "out", rounds = 5, kafka = true }, main.options({ "out" }, none))
  end)

  it("come from arguments before the environment", function()
    local function environment(name) return ({ ROUNDS = "7", KAFKA = "0" })[name] end
    assert.same({ programs = "out", rounds = 3, kafka = false, only = { fetch = true, small = true } },
      main.options({ "out", "ROUNDS=3", "ONLY=fetch,small" }, environment))
  end)

  it("are refused with a sentence when they are not known or make no sense", function()
    assert.has_error(function() main.options({ "out", "ROUND=3" }, none) end,
      "what is 'ROUND=3'? ROUNDS=5, ONLY=produce,fetch and KAFKA=0 are known")
    assert.has_error(function() main.options({ "out", "ROUNDS=0" }, none) end, "ROUNDS is a whole number from 1 to 99, not '0'")
  end)

  it("choose scenarios by name, in their order", function()
    local all = { { name = "a" }, { name = "b" }, { name = "c" } }
    assert.same({ { name = "a" }, { name = "c" } }, main.chosen(all, { c = true, a = true }))
    assert.equal(all, main.chosen(all, nil))
    assert.has_error(function() main.chosen(all, { x = true }) end, "no scenario is called 'x'; there are: a b c")
  end)

  it("have another side first in each round", function()
    local sides = { "luka", "kafka", "limit" }
    assert.same({ "luka", "kafka", "limit" }, main.turns(sides, 1))
    assert.same({ "kafka", "limit", "luka" }, main.turns(sides, 2))
    assert.same({ "luka", "kafka", "limit" }, main.turns(sides, 4))
  end)
end)
